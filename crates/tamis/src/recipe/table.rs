//! Tables of parameters: name, type, default, range and help of each field.
//!
//! [`params!`](crate::recipe::table) makes the struct of the table, with its `Default`, its form in files and its
//! [`Params`]: what front ends need to set parameters by name, to show them and to make flags of them.

use std::fmt;

use super::RecipeError;
use crate::param::ParamName;

/// What values a parameter takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number.
    Number,
    /// A whole number of at least 0.
    Count,
    /// True or false.
    Switch,
    /// One of these names.
    Choice(fn() -> Vec<&'static str>),
    /// Any text.
    Text,
    /// A text of some form: the name of the value in help texts, and what is expected.
    #[allow(missing_docs, reason = "named for what they are")]
    Written { name: &'static str, expected: &'static str },
}

/// The interval of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    low: f64,
    /// Whether `low` itself is outside.
    above: bool,
    high: f64,
    /// Whether `high` itself is outside.
    below: bool,
    infinite: bool,
}

impl Range {
    /// All finite numbers.
    pub const FINITE: Range =
        Range { low: f64::NEG_INFINITY, above: true, high: f64::INFINITY, below: false, infinite: false };

    /// Finite numbers from `low` on.
    pub const fn at_least(low: f64) -> Self {
        Range { low, above: false, ..Range::FINITE }
    }

    /// Finite numbers above `low`.
    pub const fn above(low: f64) -> Self {
        Range { low, ..Range::FINITE }
    }

    /// The same up to `high`.
    pub const fn at_most(self, high: f64) -> Self {
        Range { high, ..self }
    }

    /// The same below `high`.
    pub const fn below(self, high: f64) -> Self {
        Range { high, below: true, ..self }
    }

    /// The same with infinity.
    pub const fn or_infinite(self) -> Self {
        Range { infinite: true, ..self }
    }

    /// Whether a number lies in the interval.
    pub fn contains(&self, number: f64) -> bool {
        let above = if self.above { number > self.low } else { number >= self.low };
        let below = if self.below { number < self.high } else { number <= self.high };
        above && below && (self.infinite || number.is_finite())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low.is_finite(), self.above) {
            (true, true) => write!(f, " above {}", self.low)?,
            (true, false) => write!(f, " of at least {}", self.low)?,
            _ => {}
        }
        if self.high.is_finite() {
            let and = if self.low.is_finite() { " and" } else { " of" };
            write!(f, "{and} {} {}", if self.below { "below" } else { "at most" }, self.high)?;
        }
        Ok(())
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The names.
    pub name: ParamName,
    /// What values it takes.
    pub kind: Kind,
    /// The interval of its numbers.
    pub range: Range,
    default: fn() -> Option<String>,
    help: &'static str,
}

impl Param {
    #[doc(hidden)]
    pub const fn new(
        name: ParamName,
        kind: Kind,
        range: Range,
        default: fn() -> Option<String>,
        help: &'static str,
    ) -> Self {
        Param { name, kind, range, default, help }
    }

    /// The default as text; `None` where the method decides, or the data do.
    pub fn default(&self) -> Option<String> {
        (self.default)()
    }

    /// What it does, in a sentence.
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }

    /// Its type and range in words.
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Number if self.range == Range::FINITE => "a finite number".into(),
            Kind::Number => format!("a number{}", self.range),
            Kind::Count => format!("a whole number{}", self.range),
            Kind::Switch => "true or false".into(),
            Kind::Choice(names) => format!("one of {}", names().join(", ")),
            Kind::Text => "a text".into(),
            Kind::Written { expected, .. } => expected.into(),
        }
    }

    pub(super) fn wrong(&self, found: impl fmt::Display) -> RecipeError {
        RecipeError::Value { param: self.name, expected: self.expected(), found: found.to_string() }
    }
}

/// A type that parameters may have.
pub trait Value: Sized {
    /// What values there are.
    const KIND: Kind;

    /// The value a text stands for.
    fn parse(text: &str) -> Option<Self>;

    /// The value as text; `None` where none is given.
    fn show(&self) -> Option<String>;

    /// The value as a number, for the check of its range.
    fn number(&self) -> Option<f64> {
        None
    }
}

impl Value for f64 {
    const KIND: Kind = Kind::Number;
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Value for bool {
    const KIND: Kind = Kind::Switch;
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for String {
    const KIND: Kind = Kind::Text;
    fn parse(text: &str) -> Option<Self> {
        Some(text.into())
    }
    fn show(&self) -> Option<String> {
        Some(self.clone())
    }
}

/// A whole number, perhaps written as 1e6 or 3.0.
fn whole(text: &str) -> Option<u64> {
    let written =
        || text.parse::<f64>().ok().filter(|n| n.fract() == 0.0 && (0.0..=9e15).contains(n)).map(|n| n as u64);
    text.parse().ok().or_else(written)
}

macro_rules! counts {
    ($($type:ty),*) => {
        $(impl Value for $type {
            const KIND: Kind = Kind::Count;
            fn parse(text: &str) -> Option<Self> {
                whole(text)?.try_into().ok()
            }
            fn show(&self) -> Option<String> {
                Some(self.to_string())
            }
            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }
        })*
    };
}
counts!(u32, u64, usize);

impl<T: Value> Value for Option<T> {
    const KIND: Kind = T::KIND;
    fn parse(text: &str) -> Option<Self> {
        T::parse(text).map(Some)
    }
    fn show(&self) -> Option<String> {
        self.as_ref()?.show()
    }
    fn number(&self) -> Option<f64> {
        self.as_ref()?.number()
    }
}

/// Makes parameters of types that are one of a list of names.
macro_rules! choices {
    ($($type:ty),*) => {
        $(impl $crate::recipe::table::Value for $type {
            const KIND: $crate::recipe::table::Kind =
                $crate::recipe::table::Kind::Choice(|| <$type>::ALL.iter().map(|one| one.name()).collect());
            fn parse(text: &str) -> Option<Self> {
                <$type>::ALL.iter().copied().find(|one| one.name() == text)
            }
            fn show(&self) -> Option<String> {
                Some(self.name().into())
            }
        })*
    };
}
pub(super) use choices;

/// A parameter and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The row of the table.
    pub param: &'static Param,
    /// The value as text; `None` where none is given.
    pub value: Option<String>,
    /// The value as a number, where it is one.
    pub number: Option<f64>,
    /// Whether the value is the default.
    pub is_default: bool,
}

/// A struct made of a table.
pub trait Params {
    /// The rows of the table.
    fn table(&self) -> &'static [Param];

    /// All values, in the order of the table.
    fn entries(&self) -> Vec<Entry>;

    /// Sets a parameter from text. `Ok(false)` says that there is no such parameter.
    fn assign(&mut self, name: &str, text: &str) -> Result<bool, RecipeError>;

    /// Checks that every number lies in its interval.
    fn check_ranges(&self) -> Result<(), RecipeError> {
        for entry in self.entries() {
            if let Some(number) = entry.number.filter(|number| !entry.param.range.contains(*number)) {
                return Err(entry.param.wrong(number));
            }
        }
        Ok(())
    }
}

/// Declares a struct of parameters. A row is `/// help`, then `field: type = default, NAME, range;`; NAME is a row of
/// [`crate::param::names`], the range may be left out. `also` declares fields that are no parameters.
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $Struct:ident {
            $(also $(#[$also_meta:meta])* $also:ident: $also_type:ty = $also_default:expr;)*
            $($(#[doc = $help:literal])+ $field:ident: $type:ty = $default:expr, $name:ident $(, $range:expr)?;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct $Struct {
            $($(#[$also_meta])* pub $also: $also_type,)*
            $($(#[doc = $help])+ pub $field: $type,)*
        }

        impl Default for $Struct {
            fn default() -> Self {
                $Struct { $($also: $also_default,)* $($field: $default,)* }
            }
        }

        impl $Struct {
            /// The table: name, type, default, range and help of each parameter.
            pub const PARAMS: &'static [$crate::recipe::table::Param] = &[$(
                $crate::recipe::table::Param::new(
                    $crate::param::names::$name,
                    <$type as $crate::recipe::table::Value>::KIND,
                    $crate::recipe::table::params!(@range $($range)?),
                    || $crate::recipe::table::Value::show(&{ let value: $type = $default; value }),
                    concat!($($help),+),
                ),
            )*];
        }

        impl $crate::recipe::table::Params for $Struct {
            fn table(&self) -> &'static [$crate::recipe::table::Param] {
                Self::PARAMS
            }

            #[allow(unused_mut, unused_variables, reason = "a method may have no parameters")]
            fn entries(&self) -> Vec<$crate::recipe::table::Entry> {
                use $crate::recipe::table::{Entry, Value};
                let default = Self::default();
                let mut rows = Self::PARAMS.iter();
                vec![$({
                    let param = rows.next().expect("a row for each field");
                    let (value, number) = (self.$field.show(), self.$field.number());
                    Entry { param, value, number, is_default: self.$field == default.$field }
                },)*]
            }

            #[allow(unused_variables, reason = "a method may have no parameters")]
            fn assign(&mut self, name: &str, text: &str) -> Result<bool, $crate::recipe::RecipeError> {
                $(if name == $crate::param::names::$name.name {
                    let row = Self::PARAMS.iter().find(|param| param.name.name == name).expect("a row for each field");
                    self.$field = $crate::recipe::table::Value::parse(text).ok_or_else(|| row.wrong(format!("{text:?}")))?;
                    return Ok(true);
                })*
                Ok(false)
            }
        }
    };
    (@range) => { $crate::recipe::table::Range::FINITE };
    (@range $range:expr) => { $range };
}
pub(super) use params;
