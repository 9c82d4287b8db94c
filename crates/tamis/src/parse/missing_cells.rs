//! The texts that stand for a missing value in tables.

/// Texts for a missing value in every column but the label.
const EVERYWHERE: [&str; 12] = ["NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NULL", "null", "Null", "None", "?", "NaT"];
/// Texts for a missing value in columns of numbers and dates only: elsewhere they may be categories.
const AMONG_NUMBERS: [&str; 15] =
    ["-", "--", "–", "—", ".", "..", "na", "none", "nil", "n.a.", "missing", "unknown", "#REF!", "#VALUE!", "#DIV/0!"];

/// Which texts of a column are missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Labels: a few texts only, since `-` and `?` may be classes.
    Labels,
    /// Categories and texts.
    Categories,
    /// Numbers and dates.
    Numbers,
}

/// Whether a trimmed cell is missing; `more` are the texts that the user adds.
pub(super) fn is_missing(cell: &str, among: Among, more: &[String]) -> bool {
    if cell.is_empty() || cell.eq_ignore_ascii_case("nan") || more.iter().any(|text| text == cell) {
        return true;
    }
    match among {
        // The longest marker has eight bytes.
        _ if cell.len() > 8 => false,
        Among::Labels => matches!(cell, "NA" | "NULL" | "null"),
        Among::Categories => EVERYWHERE.contains(&cell),
        Among::Numbers => EVERYWHERE.contains(&cell) || AMONG_NUMBERS.contains(&cell),
    }
}

/// All texts that stand for a missing value; `more` are those that the user adds. `NaN` may be written in any case.
pub(crate) fn missing_texts(among: Among, more: &[String]) -> Vec<String> {
    let usual: Vec<&str> = match among {
        Among::Labels => vec!["NA", "NULL", "null"],
        Among::Categories => EVERYWHERE.to_vec(),
        Among::Numbers => EVERYWHERE.into_iter().chain(AMONG_NUMBERS).collect(),
    };
    let always = ["", "nan", "NaN", "NAN"].into_iter();
    always.chain(usual).map(String::from).chain(more.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_depend_on_the_column() {
        for cell in ["", "NA", "nan", "NaN", "null"] {
            let kinds = [Among::Labels, Among::Categories, Among::Numbers];
            assert!(kinds.iter().all(|kind| is_missing(cell, *kind, &[])), "{cell}");
        }
        assert!(is_missing("?", Among::Categories, &[]) && !is_missing("?", Among::Labels, &[]));
        assert!(is_missing("-", Among::Numbers, &[]) && !is_missing("-", Among::Categories, &[]));
        assert!(!is_missing("none", Among::Categories, &[]), "a level of a category");
        assert!(is_missing("-999", Among::Numbers, &["-999".into()]));
    }

    #[test]
    fn the_list_of_markers_is_what_cells_are_compared_with() {
        for among in [Among::Labels, Among::Categories, Among::Numbers] {
            let listed = missing_texts(among, &["-999".into()]);
            assert!(listed.iter().all(|text| is_missing(text, among, &["-999".into()])), "{listed:?}");
            let all = EVERYWHERE.into_iter().chain(AMONG_NUMBERS).chain(["", "nan", "-999"]);
            for text in all.filter(|text| is_missing(text, among, &["-999".into()])) {
                assert!(listed.iter().any(|one| one == text), "{text:?} {among:?}");
            }
        }
    }
}
