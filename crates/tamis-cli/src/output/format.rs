//! Numbers and words as text.

use bytesize::ByteSize;
use indicatif::HumanCount;
use tamis::model::summary::plural;
use tamis::tune::Measure;

/// A count with thousands separators.
pub fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// A number of bytes with a unit.
pub fn bytes(number: u64) -> String {
    ByteSize(number).display().iec().to_string()
}

/// A number with all its digits, with an exponent where it would begin or end with many zeros.
pub fn exact(value: f64) -> String {
    let size = value.abs();
    let is_usual = size == 0.0 || (1e-5..1e16).contains(&size) || !size.is_finite();
    if is_usual { value.to_string() } else { format!("{value:e}") }
}

/// A fraction in percent.
pub fn percent(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

/// About seven characters of a loss of any size.
pub fn loss(value: f64) -> String {
    match value.abs() {
        size if size >= 1e5 || (size < 1e-4 && size > 0.0) => format!("{value:.2e}"),
        size if size >= 100.0 => format!("{value:.2}"),
        _ => format!("{value:.6}"),
    }
}

/// A value of a measure: errors in percent, other measures as they are.
pub fn measure(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Error => percent(value),
        _ => format!("{value:.6}"),
    }
}

/// "1 feature", "1,234 features".
pub fn features(number: u64) -> String {
    plural(number, "feature")
}

/// "1 row", "1,234 rows".
pub fn rows(number: u64) -> String {
    plural(number, "row")
}

/// "1 pass", "2 passes".
pub fn passes(number: u32) -> String {
    if number == 1 { "1 pass".into() } else { format!("{number} passes") }
}

/// A word quoted for a shell.
pub fn shell_word(word: &str) -> String {
    // Quoting fails only for NUL, which no argument of a program holds.
    shlex::try_quote(word).map_or_else(|_| word.to_string(), |quoted| quoted.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_bytes() {
        assert_eq!(["7", "1,000", "12,345,678"], [7, 1000, 12_345_678].map(count));
        assert_eq!(bytes(5 << 20), "5.0 MiB");
    }

    #[test]
    fn exact_numbers_have_all_digits_and_few_zeros() {
        let numbers = [0.0, -1.5, 0.1 + 0.2, 4.5e-6, -1e300, f64::INFINITY];
        assert_eq!(numbers.map(exact), ["0", "-1.5", "0.30000000000000004", "4.5e-6", "-1e300", "inf"]);
    }

    #[test]
    fn words_are_quoted_where_needed() {
        assert_eq!(["model.json", "my model"].map(shell_word), ["model.json", "'my model'"]);
    }
}
