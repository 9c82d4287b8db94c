//! The recipe as flags. Its numbers come from the library's table, so help and checks cannot drift apart.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use tamis::data::ScaleKind;
use tamis::loss::LossKind;
use tamis::recipe::{Law, Method, PARAMETERS, RateKind, Recipe};
use tamis::stabilized::published::Settings;

/// The recipe, made of flags.
pub struct RecipeArgs {
    pub recipe: Recipe,
    /// Flags that were given, for resuming: they may not contradict the checkpoint.
    pub given: Vec<&'static str>,
}

/// A choice by name: flag, names, help.
fn choice(flag: &'static str, names: Vec<&'static str>, help: String) -> Arg {
    Arg::new(flag).long(flag).value_name("NAME").value_parser(names).help(help)
}

impl Args for RecipeArgs {
    fn augment_args(command: Command) -> Command {
        let methods: Vec<String> = Method::ALL.iter().map(|m| format!("  {:<19} {}", m.name(), m.about())).collect();
        let command = command
            .next_help_heading("Learning")
            .arg(
                choice("method", Method::ALL.map(Method::name).into(), "How to learn [default: stabilized]".into())
                    .long_help(format!("How to learn [default: stabilized]\n{}", methods.join("\n")))
                    .hide_possible_values(true),
            )
            .arg(choice(
                "loss",
                LossKind::ALL.map(LossKind::name).into(),
                "The loss [default: logistic for classes, squared for numbers]".into(),
            ))
            .arg(
                Arg::new("k")
                    .long("k")
                    .value_name("N")
                    .value_parser(clap::value_parser!(u64))
                    .help("Exactly this many features (with --refit their weights are learned alone)"),
            )
            .arg(choice(
                "rate",
                RateKind::ALL.map(RateKind::name).into(),
                "How step sizes fall [default: the method's own]".into(),
            ))
            .arg(choice(
                "scale",
                ScaleKind::ALL.map(ScaleKind::name).into(),
                "How columns are scaled; the model takes raw values all the same [default: auto]".into(),
            ))
            .arg(choice(
                "law",
                Law::ALL.map(Law::name).into(),
                "How two-stage draws features: by their part in predictions or by weight [default: distribution]"
                    .into(),
            ))
            .arg(
                Arg::new("key")
                    .long("key")
                    .value_name("COLUMN")
                    .help("Column that tells rows apart, or #row for the row's number [default: a row's content]"),
            )
            .arg(choice(
                "preset",
                vec!["paper"],
                "paper: the stabilized learner as it was published, to check the paper, not to get a model".into(),
            ))
            .arg(
                Arg::new("paper")
                    .long("paper")
                    .value_name("NAME=VALUE")
                    .requires("preset")
                    .action(clap::ArgAction::Append)
                    .value_delimiter(',')
                    .help("A number or switch of --preset paper, such as burst=5, cutoff=0.7, count=present"),
            )
            .arg(flag("refit", "Learn the chosen features again without penalty"))
            .arg(flag("average", "Average the weights over all steps"))
            .arg(flag("no-intercept", "Leave the intercept out"))
            .arg(
                Arg::new("passes")
                    .long("passes")
                    .value_name("N")
                    .value_parser(clap::value_parser!(u32))
                    .help("Passes over the data [default: 1, more for small data]"),
            )
            .arg(flag("shuffle", "Visit rows in random order [default for several passes, and for two-stage]"))
            .arg(flag("no-shuffle", "Visit rows in the order of the input").conflicts_with("shuffle"))
            .arg(
                Arg::new("seed")
                    .long("seed")
                    .value_name("N")
                    .value_parser(clap::value_parser!(u64))
                    .help("Seed of all randomness [default: 0]"),
            )
            .arg(
                Arg::new("hash-bits")
                    .long("hash-bits")
                    .value_name("BITS")
                    .value_parser(clap::value_parser!(u32))
                    .help("Hash names into 2^BITS features to bound memory"),
            );
        PARAMETERS.iter().fold(command.next_help_heading("Numbers"), |command, parameter| {
            let default = if parameter.default.is_nan() { "by method".into() } else { parameter.default.to_string() };
            let help = format!("{} [default: {default}]", parameter.help);
            command.arg(
                Arg::new(parameter.name)
                    .long(parameter.name)
                    .value_name("X")
                    .value_parser(clap::value_parser!(f64))
                    .allow_hyphen_values(true)
                    .help(help),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(clap::ArgAction::SetTrue).help(help)
}

/// The numbers of `--preset paper`: its defaults with what `--paper` says put in.
fn paper_settings(matches: &ArgMatches) -> Result<Option<Settings>, clap::Error> {
    if matches.get_one::<String>("preset").is_none() {
        return Ok(None);
    }
    let wrong = |text: String| clap::Error::raw(clap::error::ErrorKind::ValueValidation, text + "\n");
    let mut fields = serde_json::to_value(Settings::default()).expect("plain data becomes JSON");
    for word in matches.get_many::<String>("paper").into_iter().flatten() {
        let (name, text) =
            word.split_once('=').ok_or_else(|| wrong(format!("--paper {word}: NAME=VALUE is expected")))?;
        let known: Vec<String> = fields.as_object().expect("fields").keys().cloned().collect();
        if !known.iter().any(|one| one == name) {
            return Err(wrong(format!("--paper {name}: no such number; there are {}", known.join(", "))));
        }
        fields[name] = serde_json::from_str(text).unwrap_or_else(|_| text.into());
    }
    let settings = serde_json::from_value(fields).map_err(|error| wrong(format!("--paper: {error}")))?;
    Ok(Some(settings))
}

impl FromArgMatches for RecipeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Vec::new();
        let mut recipe = Recipe::default();
        let mut name = |flag: &'static str| {
            let found = matches.get_one::<String>(flag).cloned();
            given.extend(found.is_some().then_some(flag));
            found
        };
        if let Some(text) = name("method") {
            recipe.method = Method::ALL.into_iter().find(|method| method.name() == text).expect("clap checked");
        }
        recipe.loss = name("loss").and_then(|text| LossKind::ALL.into_iter().find(|loss| loss.name() == text));
        recipe.rate = name("rate").and_then(|text| RateKind::ALL.into_iter().find(|rate| rate.name() == text));
        recipe.law = name("law").and_then(|text| Law::ALL.into_iter().find(|law| law.name() == text));
        if let Some(text) = name("scale") {
            recipe.scale = ScaleKind::ALL.into_iter().find(|scale| scale.name() == text).expect("clap checked");
        }
        if let Some(&k) = matches.get_one::<u64>("k") {
            recipe.k = Some(k as usize);
            given.push("k");
        }
        if let Some(&passes) = matches.get_one::<u32>("passes") {
            recipe.passes = Some(passes);
            given.push("passes");
        }
        if let Some(&seed) = matches.get_one::<u64>("seed") {
            recipe.seed = seed;
            given.push("seed");
        }
        if let Some(&bits) = matches.get_one::<u32>("hash-bits") {
            recipe.hash_bits = Some(bits);
            given.push("hash-bits");
        }
        recipe.key = matches.get_one::<String>("key").cloned();
        given.extend(recipe.key.is_some().then_some("key"));
        if let Some(settings) = paper_settings(matches)? {
            recipe.paper = Some(settings);
            given.push("preset");
        }
        let mut on = |flag: &'static str| {
            let on = matches.get_flag(flag);
            given.extend(on.then_some(flag));
            on
        };
        recipe.refit = on("refit");
        recipe.average = on("average");
        recipe.intercept = !on("no-intercept");
        recipe.shuffle = match (on("shuffle"), on("no-shuffle")) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        for parameter in &PARAMETERS {
            if let Some(&value) = matches.get_one::<f64>(parameter.name) {
                recipe.numbers.insert(parameter.name.to_string(), value);
                given.push(parameter.name);
            }
        }
        Ok(RecipeArgs { recipe, given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
