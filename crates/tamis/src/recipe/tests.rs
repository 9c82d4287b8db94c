//! Laws of recipes: the tables, the checks and the form in files.

use super::*;
use crate::param::worded;

#[test]
fn every_default_is_allowed_for_every_method() {
    for method in Method::ALL {
        let recipe = Recipe::new(method);
        assert_eq!(recipe.check(), Ok(()), "{method:?}");
        assert_eq!(recipe.method.kind(), method);
        assert_eq!(Method::of_name(method.name()), Some(method));
        for entry in recipe.method.params().entries() {
            assert!(entry.is_default, "{method:?} {:?}", entry.param.name);
            assert_eq!(entry.value, entry.param.default(), "{method:?} {:?}", entry.param.name);
        }
    }
}

#[test]
fn a_name_means_the_same_for_every_method() {
    let tables = Method::ALL.into_iter().flat_map(Method::params);
    for param in tables.clone().chain(Recipe::PARAMS).chain(SolveRecipe::PARAMS) {
        assert!(!param.help().is_empty() && !param.help().contains("--"), "{param:?}");
        for other in tables.clone().filter(|other| other.name.name == param.name.name) {
            assert_eq!(other.name, param.name);
            let same = std::mem::discriminant(&other.kind) == std::mem::discriminant(&param.kind);
            assert!(same, "{param:?} and {other:?}");
        }
    }
}

#[test]
fn fields_in_files_have_the_names_of_the_table() {
    for method in Method::ALL {
        let json = serde_json::to_value(method.with_defaults()).unwrap();
        let mut fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let mut names: Vec<&str> = method.params().iter().map(|param| param.name.name).chain(["name"]).collect();
        fields.sort_unstable();
        names.sort_unstable();
        assert_eq!(fields, names, "{method:?}");
        assert_eq!(json["name"], method.name());
    }
    let json = serde_json::to_value(Recipe::default()).unwrap();
    for param in Recipe::PARAMS {
        assert!(json.get(param.name.name).is_some(), "{:?}", param.name);
    }
}

#[test]
fn bad_values_are_told_with_what_is_expected() {
    let message = |name: &str, text: &str| {
        let mut recipe = Recipe::new(Method::TruncatedGradient);
        recipe.set(name, text).and_then(|()| recipe.check()).unwrap_err().to_string()
    };
    assert_eq!(message("l1", "-0.1"), "`l1` must be a number of at least 0, got -0.1");
    assert_eq!(message("l1", "inf"), "`l1` must be a number of at least 0, got inf");
    assert_eq!(message("l1", "x"), "`l1` must be a number of at least 0, got \"x\"");
    assert_eq!(message("learning-rate", "0"), "`learning-rate` must be a number above 0, got 0");
    assert_eq!(message("power", "2"), "`power` must be a number of at least 0 and at most 1, got 2");
    assert_eq!(message("power", "NaN"), "`power` must be a number of at least 0 and at most 1, got NaN");
    assert_eq!(message("period", "0"), "`period` must be a whole number of at least 1 and at most 1000000000, got 0");
    assert_eq!(message("period", "1.5").split(", got").last(), Some(" \"1.5\""));
    assert_eq!(message("k", "0"), "`k` must be a whole number of at least 1, got 0");
    assert_eq!(message("average", "yes"), "`average` must be true or false, got \"yes\"");
    assert!(message("loss", "fun").starts_with("`loss` must be one of logistic, hinge"));
    assert!(message("method", "fun").starts_with("`method` must be one of stabilized, "));
    assert_eq!(message("gama", "1"), "there is no parameter \"gama\"");
    assert_eq!(message("gamma", "1"), "truncated-gradient has no parameter `gamma`; rda has");
    assert_eq!(message("l2", "1"), "truncated-gradient has no parameter `l2`; fobos, rda, ftrl have");
}

#[test]
fn a_parameter_of_another_method_is_refused_by_name() {
    for method in Method::ALL {
        for param in Method::all_params() {
            let mut recipe = Recipe::new(method);
            let text = param.default().unwrap_or("1".into());
            match recipe.method.set(param.name.name, &text) {
                Err(RecipeError::NotOfMethod { param: output, owners, .. }) => {
                    assert!(!method.has(param.name.name) && output == param.name && !owners.contains(&method.name()));
                }
                _ => assert!(method.has(param.name.name), "{method:?} {:?}", param.name),
            }
        }
    }
}

#[test]
fn choices_that_do_not_go_together_are_told() {
    let message = |recipe: Recipe| recipe.check().unwrap_err().to_string();
    let two = "`k` and `l1` are exclusive: both determine how sparse the model is";
    assert_eq!(message(Recipe::new(Method::Ftrl).with("k", 3).with("l1", 1.0)), two);
    let dense = "`refit` needs `k` or `l1`, to select features first";
    assert_eq!(message(Recipe::new(Method::Sgd).with("refit", true)), dense);
    assert_eq!(message(Recipe::new(Method::Ftrl).with("l1", 0.0).with("refit", true)), dense);
    assert_eq!(Recipe::new(Method::Ftrl).with("refit", true).check(), Ok(()));
    let rates = message(Recipe::new(Method::Tsgd).with("schedule", "auto"));
    assert!(rates.starts_with("tsgd does not support `schedule = auto`: it needs one rate"), "{rates}");
    let fobos = Recipe::new(Method::Fobos).with("l2", 1.0).with("average", true);
    assert_eq!(fobos.check(), Ok(()));
    assert!(message(fobos.with("schedule", "adagrad")).starts_with("fobos does not support `average`"));
    let two_stage = Recipe::new(Method::TwoStage);
    let sizes = "`k`, `n-draws` and `epsilon` are exclusive: each determines the number of features";
    assert_eq!(message(two_stage.with("k", 3).with("n-draws", 9).with("epsilon", 0.1)), sizes);
    assert!(message(Recipe::default().with("refit", true)).starts_with("stabilized does not support `refit`"));
    assert!(message(Recipe::default().with("loss", "clipped-squared")).ends_with(": use truncated-gradient"));
    assert!(
        message(Recipe::default().with("row-id", "id").with("hash-bits", 9)).starts_with("`row-id` and `hash-bits`")
    );
    let published = Recipe::new(Method::StabilizedPublished).with("k", 3);
    assert_eq!(message(published), "stabilized-published does not support `k`: it finds its own size");
}

#[test]
fn front_ends_word_errors_with_their_own_names() {
    let error = Recipe::new(Method::Ftrl).with("k", 3).with("l1", 1.0).check().unwrap_err();
    let reason = "are exclusive: both determine how sparse the model is";
    assert_eq!(worded(&error, |name, _| format!("--{}", name.flag)), format!("--k and --l1 {reason}"));
    assert_eq!(worded(&error, |name, _| name.python.into()), format!("n_features_to_select and alpha {reason}"));
}

#[test]
fn defaults_that_depend_on_other_choices() {
    let l1 = |method, k| Recipe { k, ..Recipe::new(method) }.l1();
    assert_eq!((l1(Method::Ftrl, None), l1(Method::Ftrl, Some(3))), (Some(3.0), Some(0.0)));
    assert_eq!((l1(Method::Rda, None), l1(Method::Rda, Some(3)), l1(Method::Sgd, None)), (Some(1e-4), Some(0.0), None));
    let steps = |method| Recipe::new(method).method.steps().unwrap();
    let first = |method| (steps(method).schedule.name(), steps(method).learning_rate);
    assert_eq!(first(Method::Sgd), ("auto", 0.5));
    assert_eq!(first(Method::Fobos), ("inverse-sqrt", 1.0));
    assert_eq!(first(Method::Fofs), ("constant", 0.2));
    assert_eq!(first(Method::Sadmm), ("inverse-sqrt", 0.5));
    let inverse = Recipe::new(Method::Tsgd).with("schedule", "inverse");
    assert_eq!(inverse.method.steps().unwrap().learning_rate, 1.0);
    assert_eq!(Recipe::default().scaling(), ScaleKind::SqrtStd);
    assert_eq!(Recipe::new(Method::StabilizedPublished).scaling(), ScaleKind::UnitVariance);
    assert_eq!(Recipe::default().with("scale", "none").scaling(), ScaleKind::None);
}

#[test]
fn recipes_survive_json() {
    for method in Method::ALL {
        let recipe = Recipe { hash_bits: Some(5), ..Recipe::new(method) };
        let text = serde_json::to_string(&recipe).unwrap();
        assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
    }
    let recipe = Recipe { k: Some(5), ..Recipe::new(Method::SingleStage) }.with("radius", 2.5);
    let text = serde_json::to_string(&recipe).unwrap();
    assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
    assert!(text.starts_with(r#"{"method":{"name":"single-stage","radius":2.5,"#), "{text}");
    let shorter = r#"{"method": {"name": "ftrl", "l1": 2}, "k": null}"#;
    assert_eq!(serde_json::from_str::<Recipe>(shorter).unwrap(), Recipe::new(Method::Ftrl).with("l1", 2.0));
    assert!(serde_json::from_str::<Recipe>(r#"{"method": {"name": "ftrl", "gamma": 2}}"#).is_err());
    assert!(serde_json::from_str::<Recipe>(r#"{"methods": {"name": "ftrl"}}"#).is_err());
}

#[test]
fn the_method_comes_before_a_parameter_of_all_methods() {
    let mut published = Recipe::new(Method::StabilizedPublished);
    published.set("passes", "7").unwrap();
    let MethodParams::StabilizedPublished(params) = &published.method else { panic!("{published:?}") };
    assert_eq!((params.passes, published.passes, published.get("passes")), (7, None, Some("7".into())));
}
