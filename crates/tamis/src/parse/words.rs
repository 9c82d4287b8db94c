//! Words and pairs of words of a text, for columns of free text.

/// The words of a text in lower case: runs of letters, digits and apostrophes.
pub(super) fn words(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '\'' || c == '’';
    let runs = text.split(|c| !is_part(c)).map(|word| word.trim_matches(['\'', '’']));
    runs.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The distinct words, and the distinct pairs of neighbours as `first second`.
pub(super) fn words_and_pairs(text: &str) -> Vec<String> {
    let words = words(text);
    let pairs = words.windows(2).map(|pair| format!("{} {}", pair[0], pair[1]));
    let mut all: Vec<String> = words.iter().cloned().chain(pairs).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_pairs_come_once_each() {
        assert_eq!(words("Don't panic, Ä-B 42!"), ["don't", "panic", "ä", "b", "42"]);
        assert_eq!(words_and_pairs("no no No yes"), ["no", "no no", "no yes", "yes"]);
        assert!(words_and_pairs(" … ").is_empty());
    }
}
