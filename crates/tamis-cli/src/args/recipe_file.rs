//! Recipes as files: flat TOML whose keys are flags. Parameters that have their default are left out.

use std::path::Path;

use tamis::param::{names, worded};
use tamis::recipe::{Entry, Kind, Method, Param, Params, Recipe};

use crate::flag::flag;

/// Reads a recipe file: the settings by flag, the method first. Names and values are checked.
pub fn read(path: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let failed = |text: String| format!("{}: {text}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| failed(error.to_string()))?;
    let mut settings = Vec::new();
    for (key, value) in &table {
        let name = param_names().find(|name| *name == key.as_str());
        let name =
            name.ok_or_else(|| failed(format!("{key} is no parameter; the names are those of flags, such as l1")))?;
        let text = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Boolean(flag) => flag.to_string(),
            _ => return Err(failed(format!("{key} must be a text, a number, true or false"))),
        };
        settings.push((name, text));
    }
    // The method decides which parameters there are.
    settings.sort_by_key(|(name, _)| *name != names::METHOD.flag);
    let mut recipe = Recipe::default();
    for (name, text) in &settings {
        let library = library_name(name);
        recipe.set(library, text).map_err(|error| failed(worded(&error, flag)))?;
    }
    Ok(settings)
}

/// The recipe as a file. Only what differs from the defaults is written, so that the file says what was chosen.
pub fn text(recipe: &Recipe) -> String {
    let mut text =
        String::from("# A recipe of tamis: fit --recipe FILE. Parameters that are not listed have their defaults.\n");
    text += &format!("{} = {}\n", names::METHOD.flag, quoted(recipe.method.name()));
    for Entry { param, value, is_default, .. } in recipe.entries().into_iter().chain(recipe.method.params().entries()) {
        if let Some(value) = value.filter(|_| !is_default) {
            let plain = matches!(param.kind, Kind::Number | Kind::Count | Kind::Switch);
            text += &format!("{} = {}\n", param.name.flag, if plain { value } else { quoted(&value) });
        }
    }
    text
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn params() -> impl Iterator<Item = &'static Param> {
    Recipe::PARAMS.iter().chain(Method::all_params())
}

fn param_names() -> impl Iterator<Item = &'static str> {
    std::iter::once(names::METHOD.flag).chain(params().map(|param| param.name.flag))
}

/// The name in the library of a flag.
pub fn library_name(flag: &str) -> &'static str {
    params().map(|param| param.name).find(|name| name.flag == flag).map_or(names::METHOD.name, |name| name.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.toml");
        for method in Method::ALL {
            let mut recipe = Recipe::new(method);
            recipe.seed = 7;
            if method == Method::Ftrl {
                recipe = recipe.with("l1", 1e-7).with("class-weight", "a \"b\"=5,c=1").with("intercept", false);
            }
            std::fs::write(&path, text(&recipe)).unwrap();
            let mut found = Recipe::default();
            for (flag, value) in read(&path).unwrap() {
                found.set(library_name(flag), &value).unwrap();
            }
            assert_eq!(found, recipe, "{}", text(&recipe));
        }
    }

    #[test]
    fn what_is_no_recipe_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.toml");
        let error = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err()
        };
        assert!(error("lambda1 = 3").contains("r.toml: lambda1 is no parameter"));
        assert!(error("method = \"best\"").contains("one of"));
        assert!(error("method = \"ftrl\"\nl1 = \"many\"").contains("--l1"));
        assert!(error("method = [1]").contains("must be a text, a number, true or false"));
        assert!(error("method = ").contains("r.toml: "));
        assert!(read(&folder.path().join("none.toml")).unwrap_err().contains("none.toml: "));
    }
}
