//! The page of a scorecard.

use tamis::export::{Scorecard, ScorecardRow};

use super::html::{clipped, paragraph};
use super::page::{Report, Section};
use super::table::{Cell, LONGEST_NAME, Table};

/// The page of a scorecard; `file` is what it calls the model.
pub fn of_scorecard(card: &Scorecard, file: &str) -> Report {
    let lead = match (&card.points, &card.towards) {
        (Some(points), Some(class)) => paragraph(
            "The score of a row is the sum of its points. *{} points* are odds of {} to 1 for *{}*; {} points more double the odds.",
            &[&points.base_points.to_string(), &points.base_odds.to_string(), class, &points.double_odds.to_string()],
        ),
        (Some(points), None) => paragraph(
            "The score of a row for a class is the sum of its points. *{} points* are odds of {} to 1 for the class; {} points \
             more double the odds. The class with the highest score is predicted.",
            &[&points.base_points.to_string(), &points.base_odds.to_string(), &points.double_odds.to_string()],
        ),
        (None, Some(class)) => {
            paragraph("The score of a row is the sum of its points; a high one means *{}*.", &[class])
        }
        (None, None) => paragraph("The score of a row is the sum of its points.", &[]),
    };
    let title = format!("Scorecard: {}", clipped(file, 120));
    let report = Report { title, lead, ..Report::default() };
    report.with(Some(Section::new("points", "Points", table(&card.rows).html())))
}

fn table(rows: &[ScorecardRow]) -> Table {
    let has_class = rows.iter().any(|row| row.class.is_some());
    let names: Vec<&str> = has_class.then_some("class").into_iter().chain(COLUMNS).collect();
    let mut table = Table::new("Points", &names).searchable();
    for row in rows {
        let text = |text: &str| Cell::Text(clipped(text, LONGEST_NAME));
        let class = row.class.iter().map(|class| text(class));
        let points = Cell::Shown(row.points, format!("{:.2}", row.points));
        let fill = row.if_missing.map_or(Cell::Empty, Cell::Number);
        let cells = [text(&row.column), text(&row.condition), points, fill, text(&row.reason)];
        table.row(class.chain(cells).collect());
    }
    table
}

const COLUMNS: [&str; 5] = ["column", "condition", "points", "if missing", "reason"];

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::export::Points;

    #[test]
    fn names_are_text_on_the_page() {
        let row = ScorecardRow {
            class: None,
            column: "<script>alert(1)</script>".into(),
            condition: "is \"a\" & b".into(),
            points: -12.345,
            if_missing: Some(2.5),
            reason: "takes <b>".into(),
        };
        let card = Scorecard { rows: vec![row], points: Some(Points::default()), towards: Some("<i>yes".into()) };
        let page = of_scorecard(&card, "m.json").html();
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("&lt;i&gt;yes"));
        assert!(!page.contains("<script>alert") && !page.contains("<i>yes") && !page.contains("takes <b>"));
        assert!(page.contains("-12.35") || page.contains("−12.35") || page.contains("-12.34"));
        assert!(page.contains("600 points") && page.contains("odds of 50 to 1"));
    }
}
