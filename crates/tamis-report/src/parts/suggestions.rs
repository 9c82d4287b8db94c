//! What to try next: commands with the user's own file names.

use crate::html::{Html, command, plain, tag};
use crate::page::Section;

/// Something to try: why, and the command.
#[derive(Clone, Debug)]
pub struct Idea {
    /// Why.
    pub why: Html,
    /// What to type.
    pub command: String,
}

/// The section.
pub fn section(ideas: &[Idea]) -> Option<Section> {
    if ideas.is_empty() {
        return None;
    }
    let item = |idea: &Idea| plain("li", plain("span", idea.why.clone()).with(command(&idea.command)));
    let list = tag("ul", &[("class", "next")], ideas.iter().map(item).collect::<Html>());
    Some(Section::new("next", "What to try next", list))
}
