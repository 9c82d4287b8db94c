//! Parameters of the library as flags of the program.

use tamis::param::ParamName;

/// A parameter as the program calls it.
pub fn flag(name: ParamName, value: Option<&str>) -> String {
    value.map_or_else(|| format!("--{}", name.flag), |value| format!("--{} {value}", name.flag))
}
