//! A report: a summary, a few numbers, sections and a glossary, in one file that needs no network.

use super::glossary::TERMS;
use super::html::{Html, plain, tag};
use super::script_hash::source_of;
use super::svg::STYLE;

const PAGE_STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");

/// A part of a report: a title and a body.
#[derive(Clone, Debug)]
pub struct Section {
    /// The anchor in the page.
    pub id: &'static str,
    /// The heading.
    pub title: String,
    /// The content.
    pub body: Html,
}

impl Section {
    /// A section.
    pub fn new(id: &'static str, title: &str, body: Html) -> Self {
        Section { id, title: title.into(), body }
    }
}

/// A number shown at the top of the page.
#[derive(Clone, Debug)]
pub struct Tile {
    /// The number.
    pub value: String,
    /// What it is.
    pub what: Html,
}

/// A report in the making.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The title.
    pub title: String,
    /// The result in one or two sentences.
    pub lead: Html,
    /// The numbers shown at the top.
    pub tiles: Vec<Tile>,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

impl Report {
    /// Adds a section if there is one.
    pub fn with(mut self, section: Option<Section>) -> Self {
        self.sections.extend(section);
        self
    }

    /// The whole page.
    pub fn html(&self) -> String {
        let links = self
            .sections
            .iter()
            .map(|section| plain("li", tag("a", &[("href", &format!("#{}", section.id))], section.title.as_str())));
        let nav = tag("nav", &[("aria-label", "Contents")], plain("ul", links.collect::<Html>()));
        let tiles = self
            .tiles
            .iter()
            .map(|tile| tag("li", &[], tag("b", &[], tile.value.as_str()).with(plain("span", tile.what.clone()))));
        let tiles = tag("ul", &[("class", "tiles")], tiles.collect::<Html>());
        let head =
            plain("h1", self.title.as_str()).with(tag("div", &[("class", "lead")], self.lead.clone())).with(tiles);
        let sections: Html = self.sections.iter().map(section).collect();
        let glossary = glossary(sections.as_str().to_string() + head.as_str());
        let main = plain("main", plain("header", head).with(nav).with(sections).with(glossary));
        let foot = plain(
            "footer",
            plain("p", format!("Made by tamis {}. This page works offline.", env!("CARGO_PKG_VERSION"))),
        );
        document(&self.title, main.with(foot))
    }
}

fn section(section: &Section) -> Html {
    let heading = format!("{}-title", section.id);
    let title = tag("h2", &[("id", &heading)], section.title.as_str());
    tag("section", &[("id", section.id), ("aria-labelledby", &heading)], title.with(section.body.clone()))
}

/// The glossary entries that the page links to.
fn glossary(page: String) -> Html {
    let mut list = Html::new();
    for &(name, meaning) in TERMS {
        let place = format!("term-{}", name.replace(' ', "-"));
        if page.contains(&format!("#{place}\"")) {
            let entry = tag("dt", &[("id", &place), ("tabindex", "-1")], name).with(plain("dd", meaning));
            list = list.with(plain("div", entry));
        }
    }
    if list.is_empty() {
        return list;
    }
    section(&Section::new("glossary", "Glossary", plain("dl", list)))
}

/// The whole document. The content security policy allows one script, by its hash: no text of the data can be another.
fn document(title: &str, body: Html) -> String {
    page_with(title, &body, SCRIPT, "")
}

/// The page of a server: `body` is its own markup, and its script may ask the server it came from.
pub fn live_page(title: &str, body: &'static str, script: &'static str) -> String {
    page_with(title, &Html::raw(body), script, " connect-src 'self';")
}

fn page_with(title: &str, body: &Html, script: &str, sources: &str) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src '{}';{sources} img-src data:; base-uri 'none'; form-action 'none'",
        source_of(script)
    );
    let title = plain("title", format!("{} – tamis", super::html::clipped(title, 120)));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n{}\n\
         <style>{STYLE}\n{PAGE_STYLE}</style>\n</head>\n<body>\n{}\n<script>{script}</script>\n</body>\n</html>\n",
        title.as_str(),
        body.as_str(),
    )
}

/// A chart with its caption.
pub fn figure(svg: String, caption: impl Into<Html>) -> Html {
    plain("figure", plain("figcaption", caption).with(Html::raw(svg)))
}

/// Figures side by side where there is room.
pub fn row(figures: impl IntoIterator<Item = Html>) -> Html {
    tag("div", &[("class", "row")], figures.into_iter().collect::<Html>())
}

/// A part that the reader can open; in print it is open.
pub fn details(summary: &str, body: Html) -> Html {
    plain("details", plain("summary", summary).with(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{paragraph, prose};

    fn report() -> Report {
        let body = paragraph("By [selection frequency].", &[]);
        Report { title: "a <b>".into(), lead: prose("*{}*", &["</script>"]), ..Report::default() }
            .with(Some(Section::new("stability", "Stability", body)))
            .with(None)
    }

    #[test]
    fn a_page_is_complete_and_self_contained() {
        let page = report().html();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert_eq!(page.matches("<script").count(), 1, "its own");
        assert!(!page.contains("src=\"http") && !page.contains("@import") && !page.contains("url(http"));
        assert!(page.contains("&lt;/script&gt;") && page.contains("a &lt;b&gt;"));
    }

    #[test]
    fn the_glossary_has_the_terms_in_use() {
        let page = report().html();
        assert!(page.contains("id=\"term-selection-frequency\"") && !page.contains("id=\"term-AUC\""));
    }

    #[test]
    fn only_the_script_with_the_hash_may_run() {
        let page = report().html();
        let script = page.split("<script>").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
        assert!(page.contains(&format!("script-src '{}';", source_of(script))));
        assert!(!page.contains("nonce-") && !page.contains("script-src 'unsafe"));
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("innerHTML"));
    }
}
