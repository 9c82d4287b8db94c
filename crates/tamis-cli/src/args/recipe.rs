//! The flags of a recipe, generated from the tables of the library, so that help and checks agree.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use tamis::param::names;
use tamis::recipe::{Kind, Method, Param, Recipe, RecipeError};
use tamis::tune::Axis;

use super::recipe_file;

/// The flag of a recipe file.
const RECIPE: &str = "recipe";

/// A recipe from flags.
pub struct RecipeArgs {
    pub recipe: Recipe,
    /// Flags that were given, for resuming: they may not contradict the checkpoint.
    pub given: Vec<&'static str>,
    error: Option<RecipeError>,
}

impl RecipeArgs {
    /// The recipe, or an error if a flag does not apply.
    pub fn checked(&self) -> Result<&Recipe, RecipeError> {
        self.error.clone().map_or(Ok(&self.recipe), Err)
    }
}

/// Parameters that only some methods have.
fn of_methods() -> Vec<&'static Param> {
    let shared = |param: &&Param| Recipe::PARAMS.iter().any(|other| other.name == param.name);
    Method::all_params().into_iter().filter(|param| !shared(param)).collect()
}

fn all_params() -> impl Iterator<Item = &'static Param> {
    Recipe::PARAMS.iter().chain(of_methods())
}

/// Whether a flag can be given a list of values to try.
fn may_vary(param: &Param) -> bool {
    let fixed = [names::SEED, names::HASH_BITS];
    matches!(param.kind, Kind::Number | Kind::Count | Kind::Choice(_)) && !fixed.contains(&param.name)
}

/// Whether a switch can also be turned off.
fn has_opposite(param: &Param) -> bool {
    param.default().as_deref() != Some("false")
}

/// The flag that turns a switch off. Flags are known when the program is compiled.
fn opposite(param: &Param) -> &'static str {
    match param.name {
        names::SHUFFLE => "no-shuffle",
        names::INTERCEPT => "no-intercept",
        names::REFIT => "no-refit",
        other => unreachable!("{} has no opposite", other.flag),
    }
}

/// The flags of a parameter: a switch that is on by default has two.
fn flags(param: &'static Param, help: String) -> Vec<Arg> {
    let arg = Arg::new(param.name.flag).long(param.name.flag).help(help);
    match param.kind {
        Kind::Switch if has_opposite(param) => {
            let off = Arg::new(opposite(param)).long(opposite(param)).action(ArgAction::SetTrue);
            let off = off.help(format!("The opposite of --{}", param.name.flag)).conflicts_with(param.name.flag);
            vec![arg.action(ArgAction::SetTrue), off]
        }
        Kind::Switch => vec![arg.action(ArgAction::SetTrue)],
        Kind::Number => vec![arg.value_name("X").allow_hyphen_values(true)],
        Kind::Count => vec![arg.value_name("N").allow_hyphen_values(true)],
        Kind::Choice(names) => vec![arg.value_name("NAME").value_parser(names())],
        Kind::Text => vec![arg.value_name("COLUMN")],
        Kind::Written { name, .. } => vec![arg.value_name(name)],
    }
}

/// The help with the default, unless the sentence contains it.
fn help(param: &Param) -> String {
    let text = param.help().trim_end_matches('.').replace("].", "]");
    match param.default().filter(|_| !text.contains("[default") && !matches!(param.kind, Kind::Switch)) {
        Some(default) => format!("{text} [default: {default}]"),
        None => text,
    }
}

impl Args for RecipeArgs {
    fn augment_args(command: Command) -> Command {
        let line = |method: Method| format!("  {:<20} {}", method.name(), method.info().about);
        let methods = Method::ALL.map(line).join("\n");
        let method = Arg::new(names::METHOD.flag)
            .long(names::METHOD.flag)
            .value_name("NAME")
            .value_parser(Method::ALL.map(Method::name))
            .hide_possible_values(true)
            .help("The learner [default: stabilized]")
            .long_help(format!("The learner [default: stabilized]\n{methods}"));
        let file = Arg::new(RECIPE).long(RECIPE).value_name("FILE").value_parser(clap::value_parser!(PathBuf));
        let file = file.help("Recipe file, written by tune or by inspect --recipe; flags override it");
        let command = command.next_help_heading("Learning").arg(method).arg(file);
        let command = Recipe::PARAMS.iter().fold(command, |command, param| command.args(flags(param, help(param))));
        let published = Method::StabilizedPublished.name();
        let owners =
            |param: &Param| -> Vec<&str> { Method::owners(param.name.name).into_iter().map(Method::name).collect() };
        let (only_published, others): (Vec<_>, Vec<_>) =
            of_methods().into_iter().partition(|param| owners(param) == [published]);
        let command = others.into_iter().fold(command.next_help_heading("Parameters of methods"), |command, param| {
            command.args(flags(param, format!("{} ({})", help(param), owners(param).join(", "))))
        });
        only_published.into_iter().fold(
            command.next_help_heading("Parameters of stabilized-published, for comparison with the paper"),
            |command, param| command.args(flags(param, help(param))),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The given values of a parameter, as text.
fn values(matches: &ArgMatches, param: &Param) -> Vec<String> {
    match param.kind {
        Kind::Switch if matches.get_flag(param.name.flag) => vec!["true".into()],
        Kind::Switch if has_opposite(param) && matches.get_flag(opposite(param)) => vec!["false".into()],
        Kind::Switch => Vec::new(),
        _ => matches.get_many::<String>(param.name.flag).into_iter().flatten().cloned().collect(),
    }
}

/// The recipe of all parameters with one value, the given flags, and the parameters with several values.
fn parsed(matches: &ArgMatches) -> Result<(RecipeArgs, Vec<Axis>), clap::Error> {
    let mut args = RecipeArgs { recipe: Recipe::default(), given: Vec::new(), error: None };
    let mut axes = Vec::new();
    let written = match matches.get_one::<PathBuf>(RECIPE) {
        Some(path) => {
            recipe_file::read(path).map_err(|text| clap::Error::raw(ErrorKind::ValueValidation, text + "\n"))?
        }
        None => Vec::new(),
    };
    if let Some(method) = matches.get_one::<String>(names::METHOD.flag) {
        args.given.push(names::METHOD.flag);
        args.error = args.recipe.set(names::METHOD.name, method).err();
    }
    for (flag, value) in &written {
        let is_overridden = *flag == names::METHOD.flag && !args.given.is_empty();
        if !is_overridden {
            args.given.push(flag);
            let set = args.recipe.set(recipe_file::library_name(flag), value);
            args.error = args.error.take().or(set.err());
        }
    }
    for param in all_params() {
        let values = values(matches, param);
        let Some(first) = values.first() else { continue };
        let is_off = matches!(param.kind, Kind::Switch) && first == "false";
        args.given.push(if is_off { opposite(param) } else { param.name.flag });
        if values.len() > 1 {
            axes.push(Axis::new(param.name.name, &values));
        } else {
            let set = args.recipe.set(param.name.name, first);
            args.error = args.error.take().or(set.err());
        }
    }
    Ok((args, axes))
}

impl FromArgMatches for RecipeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(parsed(matches)?.0)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags of a recipe, each of which may hold a list of values.
pub struct GridArgs {
    /// Parameters with one value.
    pub recipe: Recipe,
    /// Parameters with several values.
    pub axes: Vec<Axis>,
    error: Option<RecipeError>,
}

impl GridArgs {
    /// The recipe, or an error if a flag does not apply.
    pub fn checked(&self) -> Result<&Recipe, RecipeError> {
        self.error.clone().map_or(Ok(&self.recipe), Err)
    }
}

impl Args for GridArgs {
    fn augment_args(command: Command) -> Command {
        let lists = all_params().filter(|param| may_vary(param));
        lists.fold(RecipeArgs::augment_args(command), |command, param| {
            command.mut_arg(param.name.flag, |arg| arg.value_delimiter(','))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GridArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (args, axes) = parsed(matches)?;
        Ok(GridArgs { recipe: args.recipe, axes, error: args.error })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
