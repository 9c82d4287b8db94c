//! Markup that is safe by construction: text becomes [`Html`] in one way only, and is escaped on that way.

use super::glossary::meaning;
use super::svg::escape;

/// A fragment of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Html(String);

impl Html {
    /// An empty fragment.
    pub fn new() -> Self {
        Html::default()
    }

    /// Markup made by this crate: charts, the style sheet, the script.
    pub(super) fn raw(markup: impl Into<String>) -> Self {
        Html(markup.into())
    }

    /// Appends a fragment.
    pub fn with(mut self, piece: impl Into<Html>) -> Self {
        self.0.push_str(&piece.into().0);
        self
    }

    /// The markup.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the fragment is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Html {
    fn from(text: &str) -> Self {
        Html(escape(text))
    }
}

impl From<String> for Html {
    fn from(text: String) -> Self {
        Html(escape(&text))
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<T: IntoIterator<Item = Html>>(pieces: T) -> Self {
        Html(pieces.into_iter().map(|piece| piece.0).collect())
    }
}

/// An element. Attributes with an empty name are omitted.
pub fn tag(name: &'static str, attributes: &[(&'static str, &str)], inside: impl Into<Html>) -> Html {
    let named = attributes.iter().filter(|(key, _)| !key.is_empty());
    let attributes: String = named.map(|(key, value)| format!(" {key}=\"{}\"", escape(value))).collect();
    let inside = inside.into().0;
    match name {
        "input" | "br" | "hr" => Html(format!("<{name}{attributes}>")),
        _ => Html(format!("<{name}{attributes}>{inside}</{name}>")),
    }
}

/// An element without attributes.
pub fn plain(name: &'static str, inside: impl Into<Html>) -> Html {
    tag(name, &[], inside)
}

/// A sentence. `{}` takes the next value, `*…*` is strong, `` `…` `` is code, `[word]` or `[word|term]` is a term of the
/// glossary, with a link and a tooltip. Only the pattern is interpreted; values are plain text.
pub fn prose(pattern: &'static str, values: &[&str]) -> Html {
    let (mut out, mut values, mut strong, mut code) = (String::new(), values.iter(), false, false);
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '*', '`', '[']) {
        out.push_str(&escape(&rest[..at]));
        let mark = &rest[at..];
        rest = &mark[1..];
        match mark.as_bytes()[0] {
            b'{' => {
                out.push_str(&escape(values.next().copied().unwrap_or_default()));
                rest = rest.strip_prefix('}').unwrap_or(rest);
            }
            b'*' => {
                out.push_str(if strong { "</strong>" } else { "<strong>" });
                strong = !strong;
            }
            b'`' => {
                out.push_str(if code { "</code>" } else { "<code>" });
                code = !code;
            }
            _ => {
                let (word, after) = rest.split_once(']').unwrap_or((rest, ""));
                out.push_str(term(word).as_str());
                rest = after;
            }
        }
    }
    out.push_str(&escape(rest));
    Html(out)
}

/// A paragraph of [`prose`].
pub fn paragraph(pattern: &'static str, values: &[&str]) -> Html {
    plain("p", prose(pattern, values))
}

/// A term of the glossary: `word`, or `word|term` where the text has another form of it.
pub fn term(word: &str) -> Html {
    let (shown, name) = word.split_once('|').unwrap_or((word, word));
    match meaning(name) {
        Some(meaning) => {
            let place = format!("#term-{}", name.replace(' ', "-"));
            tag("a", &[("class", "term"), ("href", &place), ("title", meaning)], shown)
        }
        None => shown.into(),
    }
}

/// A command with a button that copies it.
pub fn command(text: &str) -> Html {
    let button = tag("button", &[("type", "button"), ("class", "copy"), ("data-copy", text)], "Copy");
    tag("div", &[("class", "command")], plain("code", text).with(button))
}

/// A file name as an argument of a shell command, quoted where necessary.
pub fn shell(name: &str) -> String {
    // No file name contains NUL, the one character that cannot be quoted.
    shlex::try_quote(&name.replace('\0', "")).expect("there is no NUL").into_owned()
}

/// At most `most` characters of a name, with its length if it is longer.
pub fn clipped(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        Some((end, _)) => format!("{}… ({} characters)", &name[..end], name.chars().count()),
        None => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_text_and_patterns_are_marked() {
        let found = prose("*{}* of `{}`", &["<b>*a*", "[x]{}"]);
        assert_eq!(found.as_str(), "<strong>&lt;b&gt;*a*</strong> of <code>[x]{}</code>");
    }

    #[test]
    fn terms_are_links_with_their_meaning() {
        let found = prose("its [density]", &[]);
        assert!(found.as_str().contains("href=\"#term-density\" title=\""), "{found:?}");
        assert!(prose("[dense|density]", &[]).as_str().ends_with(">dense</a>"));
        assert_eq!(prose("[no such term]", &[]).as_str(), "no such term");
    }

    #[test]
    fn attributes_cannot_be_left() {
        let found = tag("a", &[("title", "\" onclick=\"alert(1)"), ("", "gone")], "<i>");
        assert_eq!(found.as_str(), "<a title=\"&quot; onclick=&quot;alert(1)\">&lt;i&gt;</a>");
    }

    #[test]
    fn names_are_quoted_for_the_shell() {
        assert_eq!(shell("a/b-1.json"), "a/b-1.json");
        assert_eq!(shell("my model.json"), "'my model.json'");
        assert_eq!(shell("it's; rm"), "\"it's; rm\"");
        assert_eq!(shell(""), "''");
        for name in ["a b", "$(x) `y`", "'\"\\", "é*?\n", "--flag!"] {
            assert_eq!(shlex::split(&shell(name)), Some(vec![name.to_string()]));
        }
    }

    #[test]
    fn long_names_say_how_long_they_are() {
        assert_eq!(clipped("short", 10), "short");
        assert_eq!(clipped(&"é".repeat(50), 3), "ééé… (50 characters)");
    }
}
