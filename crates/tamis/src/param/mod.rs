//! The names of parameters, in the library and in its front ends.
//!
//! A parameter has one name in the library, one on the command line and one in Python; [`names`] is the table of all of
//! them. Errors hold a [`ParamName`] and never a flag. Their `Display` writes the library's name in backticks; a front end
//! writes an error with its own names through [`worded`]:
//!
//! ```
//! use tamis::param::{ParamName, names, worded};
//!
//! let flags = |name: ParamName, _: Option<&str>| format!("--{}", name.flag);
//! assert_eq!(names::K.to_string(), "`k`");
//! assert_eq!(worded(&names::K, flags), "--k");
//! ```

pub mod names;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

/// The name of a parameter in the library and in each front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamName {
    /// The name in recipes, files and grids, in kebab-case.
    pub name: &'static str,
    /// The flag of the program, without dashes.
    pub flag: &'static str,
    /// The parameter of Python's estimators and functions.
    pub python: &'static str,
}

impl ParamName {
    /// The parameter with a value, as a user would give it.
    pub fn with(self, value: impl fmt::Display) -> Mention {
        Mention { name: self, value: Some(value.to_string()) }
    }
}

/// A parameter in a sentence, alone or with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    name: ParamName,
    value: Option<String>,
}

impl From<ParamName> for Mention {
    fn from(name: ParamName) -> Self {
        Mention { name, value: None }
    }
}

/// How a front end writes a parameter, alone or with a value.
pub type Wording = fn(ParamName, Option<&str>) -> String;

/// The library's own wording.
fn neutral(name: ParamName, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("`{} = {value}`", name.name),
        None => format!("`{}`", name.name),
    }
}

thread_local! {
    // `Display` takes no argument but the value, so the wording of the text being written is kept here.
    static WORDING: Cell<Wording> = const { Cell::new(neutral) };
}

/// The text of an error, or of anything else, with parameters named by a front end.
pub fn worded(text: &(impl fmt::Display + ?Sized), wording: Wording) -> String {
    struct Restore(Wording);
    impl Drop for Restore {
        fn drop(&mut self) {
            WORDING.set(self.0);
        }
    }
    let _restore = Restore(WORDING.replace(wording));
    text.to_string()
}

impl fmt::Display for ParamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&WORDING.get()(*self, None))
    }
}

impl fmt::Display for Mention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&WORDING.get()(self.name, self.value.as_deref()))
    }
}

/// A sentence about parameters. The names are written when the sentence is shown, not when it is made.
///
/// `{}` in the text stands for the next parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(Box<(Cow<'static, str>, Vec<Mention>)>);

impl Message {
    /// A sentence with a `{}` for each of the parameters.
    pub fn new(text: impl Into<Cow<'static, str>>, params: impl IntoIterator<Item = impl Into<Mention>>) -> Self {
        let (text, params) = (text.into(), params.into_iter().map(Into::into).collect::<Vec<Mention>>());
        debug_assert_eq!(text.matches("{}").count(), params.len(), "{text}");
        Message(Box::new((text, params)))
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Message {
    fn from(text: T) -> Self {
        Message(Box::new((text.into(), Vec::new())))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, params) = &*self.0;
        let (mut parts, mut params) = (text.split("{}"), params.iter());
        f.write_str(parts.next().unwrap_or_default())?;
        for part in parts {
            match params.next() {
                Some(param) => param.fmt(f)?,
                None => f.write_str("{}")?,
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shouted(name: ParamName, value: Option<&str>) -> String {
        name.flag.to_uppercase() + value.unwrap_or_default()
    }

    #[test]
    fn a_front_end_words_what_is_written() {
        let text = Message::new("{} and {} are exclusive", [names::K, names::L1]);
        assert_eq!(text.to_string(), "`k` and `l1` are exclusive");
        assert_eq!(worded(&text, shouted), "K and L1 are exclusive");
        assert_eq!(worded(&names::TASK.with("binary"), shouted), "TASKbinary");
        assert_eq!(names::TASK.with("binary").to_string(), "`task = binary`", "the wording is put back");
    }

    #[test]
    fn names_are_spelled_as_their_front_end_spells() {
        let kebab = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        for one in names::ALL {
            assert!(kebab(one.name) && kebab(one.flag), "{one:?}");
            assert!(kebab(&one.python.replace('_', "-")) && !one.python.contains('-'), "{one:?}");
        }
    }
}
