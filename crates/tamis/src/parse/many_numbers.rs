//! Many short numbers at once: the fast path of svmlight text.
//!
//! A number of at most eight bytes is a word, loaded so that its last byte is the highest one. Words are converted side by side,
//! with the steps that [`swar`] takes for one of them, and without branches, so that the loops are those of vectors. What is not a
//! short number is found in the same loops and left to the caller.

use super::swar::{self, ZEROS};

/// The most bytes of a short number.
pub(super) const LONGEST: u32 = 8;
/// Numbers that are converted together.
pub(super) const MANY: usize = 128;
/// Loops go over this many words at a time. Those after the last number are ones.
const STEP: usize = 32;
const ONE: u64 = u64::from_be_bytes(*b"10000000");
/// A minus sign and a point where `ZEROS` are digits.
const POINTS: u64 = u64::from_le_bytes([b'.' ^ b'0'; 8]);
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
const HIGHEST: u64 = 1 << 63;

/// Pairs of numbers, a whole one and a decimal one, as text, and what they are.
pub(super) struct ManyNumbers {
    count: usize,
    whole_words: [u64; MANY],
    whole_lengths: [u64; MANY],
    whole: [u32; MANY],
    words: [u64; MANY],
    lengths: [u64; MANY],
    /// The bits that are wrong with each: none, or it is not a short number.
    wrong: [u64; MANY],
    divisors: [f64; MANY],
    values: [f64; MANY],
}

impl ManyNumbers {
    pub(super) fn new() -> Self {
        ManyNumbers {
            count: 0,
            whole_words: [ONE; MANY],
            whole_lengths: [1; MANY],
            whole: [0; MANY],
            words: [ONE; MANY],
            lengths: [1; MANY],
            wrong: [0; MANY],
            divisors: [1.0; MANY],
            values: [0.0; MANY],
        }
    }

    /// Takes pairs from a text, at most [`MANY`]: the first number is between `starts` and `colons`, the second one between the
    /// colon and `ends`.
    #[inline(always)]
    pub(super) fn load(&mut self, text: &[u8], starts: &[u32], colons: &[u32], ends: &[u32]) {
        self.count = starts.len();
        let first = self.whole_words.iter_mut().zip(&mut self.whole_lengths);
        let second = self.words.iter_mut().zip(&mut self.lengths);
        let places = starts.iter().zip(colons).zip(ends);
        for (((&start, &colon), &end), ((whole, whole_length), (word, length))) in places.zip(first.zip(second)) {
            (*whole, *whole_length) = (eight_before(text, colon as usize), u64::from(colon.wrapping_sub(start)));
            (*word, *length) = (eight_before(text, end as usize), u64::from(end.wrapping_sub(colon + 1)));
        }
        let rest = self.count..self.padded();
        for words in [&mut self.whole_words, &mut self.words] {
            words[rest.clone()].fill(ONE);
        }
        for lengths in [&mut self.whole_lengths, &mut self.lengths] {
            lengths[rest.clone()].fill(1);
        }
    }

    #[inline(always)]
    fn padded(&self) -> usize {
        self.count.next_multiple_of(STEP)
    }

    /// Reads the first numbers; returns whether all are whole, without a sign and of at most eight digits.
    #[inline(always)]
    pub(super) fn read_whole_numbers(&mut self) -> bool {
        let padded = self.padded();
        let texts = self.whole_words[..padded].iter().zip(&self.whole_lengths[..padded]);
        let mut wrong = 0;
        for ((&word, &length), whole) in texts.zip(&mut self.whole[..padded]) {
            let shift = 64_u64.wrapping_sub(8 * length) & 63;
            let digits = (word ^ ZEROS) >> shift << shift;
            wrong |= swar::others(digits) | not_within(1, length);
            *whole = joined(digits) as u32;
        }
        wrong == 0
    }

    /// The first numbers.
    #[inline(always)]
    pub(super) fn whole_numbers(&self) -> &[u32] {
        &self.whole[..self.count]
    }

    /// Reads those that are not short, by their place; returns whether all could be read.
    #[cold]
    pub(super) fn read_others(&mut self, read: impl Fn(usize) -> Option<f64>) -> bool {
        for place in (0..self.count).filter(|&place| self.wrong[place] != 0) {
            let Some(value) = read(place) else { return false };
            self.values[place] = value;
        }
        true
    }

    /// The second numbers.
    #[inline(always)]
    pub(super) fn decimals(&self) -> &[f64] {
        &self.values[..self.count]
    }

    /// Reads the second numbers, which may have a sign and a point; returns whether some are left to [`ManyNumbers::read_others`].
    #[inline(always)]
    pub(super) fn read_decimals(&mut self) -> bool {
        let padded = self.padded();
        let ManyNumbers { words, lengths, wrong: wrongs, values, divisors, .. } = self;
        let mut any_wrong = 0;
        let texts = words[..padded].iter_mut().zip(&lengths[..padded]);
        let found = wrongs[..padded].iter_mut().zip(&mut divisors[..padded]);
        for ((word, &length), (wrong, divisor)) in texts.zip(found) {
            let shift = 64_u64.wrapping_sub(8 * length) & 63;
            let is_negative = u64::from((*word >> shift) & 0xff == u64::from(b'-'));
            let shift = (shift + 8 * is_negative) & 63;
            let digits = (*word ^ ZEROS) >> shift << shift;
            let points = zero_bytes(digits ^ POINTS);
            let point = points & points.wrapping_neg();
            let has_point = u64::from(points != 0);
            // The digits before the point move to where it is.
            let up_to_point = (point << 1).wrapping_sub(1) & 0_u64.wrapping_sub(has_point);
            let digits = (digits & !up_to_point) | ((digits << 8) & up_to_point);
            *wrong = swar::others(digits) | not_within(1 + is_negative + has_point, length);
            any_wrong |= *wrong;
            *word = digits;
            let last = if has_point == 1 { point } else { HIGHEST };
            *divisor = f64::from_bits(power_of_ten(last).to_bits() | is_negative << 63);
        }
        for ((&digits, divisor), value) in words[..padded].iter().zip(&divisors[..padded]).zip(&mut values[..padded]) {
            *value = to_f64(joined(digits)) / divisor;
        }
        any_wrong != 0
    }
}

/// A bit that is set if a length is less than `least` or more than eight.
#[inline(always)]
fn not_within(least: u64, length: u64) -> u64 {
    (length.wrapping_sub(least) | u64::from(LONGEST).wrapping_sub(length)) & HIGHEST
}

/// The same as [`swar::join`], with products of 32 bits only.
#[inline(always)]
fn joined(digits: u64) -> u64 {
    let pairs = (digits << 3).wrapping_add(digits << 1).wrapping_add(digits >> 8);
    let pair = |at: u32| (pairs >> (16 * at)) & 0xff;
    pair(0) * 1_000_000 + pair(1) * 10_000 + pair(2) * 100 + pair(3)
}

/// A whole number below 2³² as a double: the last bits of 2⁵² plus the number.
#[inline(always)]
fn to_f64(whole: u64) -> f64 {
    const TWO_52: f64 = (1_u64 << 52) as f64;
    f64::from_bits(TWO_52.to_bits() | whole) - TWO_52
}

/// Ten to the number of bytes after that of a bit.
#[inline(always)]
fn power_of_ten(bit: u64) -> f64 {
    let factor = |bytes: u64, factor: f64| if bit & bytes != 0 { 1.0 } else { factor };
    let [upper, second, odd] = [0xffff_ffff_0000_0000, 0xffff_0000_ffff_0000, 0xff00_ff00_ff00_ff00];
    factor(upper, 1e4) * factor(second, 1e2) * factor(odd, 1e1)
}

/// The highest bits of the bytes that are zero.
#[inline(always)]
fn zero_bytes(word: u64) -> u64 {
    !(((word & !HIGH) + !HIGH) | word | !HIGH)
}

/// The eight bytes before `end`; before the text there are zeros.
#[inline(always)]
fn eight_before(text: &[u8], end: usize) -> u64 {
    match text.get(end.wrapping_sub(8)..end) {
        Some(bytes) => u64::from_le_bytes(bytes.try_into().expect("eight bytes")),
        None => first_bytes(&text[..end]),
    }
}

#[cold]
fn first_bytes(text: &[u8]) -> u64 {
    let mut bytes = [b'0'; 8];
    bytes[8 - text.len()..].copy_from_slice(text);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parse::number;

    /// Converts pairs of texts; `None` is a number that is not short.
    fn converted(pairs: &[(String, String)]) -> (bool, Vec<u32>, Vec<Option<f64>>) {
        let (mut text, mut places) = (String::new(), [Vec::new(), Vec::new(), Vec::new()]);
        for (whole, decimal) in pairs {
            for (place, part) in places.iter_mut().zip([whole, ":", decimal]) {
                place.push(text.len() as u32);
                text.push_str(part);
            }
            places[2].pop();
            places[2].push(text.len() as u32);
            text.push(' ');
        }
        let mut numbers = ManyNumbers::new();
        numbers.load(text.as_bytes(), &places[0], &places[1], &places[2]);
        let are_whole = numbers.read_whole_numbers();
        let has_others = numbers.read_decimals();
        assert_eq!(has_others, numbers.wrong[..pairs.len()].iter().any(|&wrong| wrong != 0));
        let decimals =
            numbers.decimals().iter().zip(&numbers.wrong).map(|(&value, &wrong)| (wrong == 0).then_some(value));
        let decimals: Vec<Option<f64>> = decimals.collect();
        assert!(!numbers.read_others(|_| None) || !has_others);
        assert!(numbers.read_others(|place| Some(place as f64)));
        let others = decimals.iter().enumerate().map(|(place, value)| value.unwrap_or(place as f64));
        assert_eq!(numbers.decimals(), others.collect::<Vec<_>>());
        (are_whole, numbers.whole_numbers().to_vec(), decimals)
    }

    fn one(whole: &str, decimal: &str) -> (bool, Option<f64>) {
        let (are_whole, _, decimals) = converted(&[(whole.into(), decimal.into())]);
        (are_whole, decimals[0])
    }

    #[test]
    fn short_numbers_have_at_most_eight_bytes() {
        for text in ["0", "7", "12.5", "-0.25", ".5", "5.", "-.125", "12345678", "-1234567", "0.123456", "-12.3456"] {
            assert_eq!(one("1", text).1, Some(text.parse().unwrap()), "{text}");
        }
        for text in ["", "-", ".", "-.", "+1", "1e3", "1-", "--1", "1.2.3", "..", "123456789", "-0.123456", "a", " 1"] {
            assert_eq!(one("1", text).1, None, "{text:?}");
        }
        assert!(one("12345678", "1").0 && one("0", "1").0);
        for text in ["", "-1", "1.5", "123456789", "x", " 1", "/1", "1\u{7f}"] {
            assert!(!one(text, "1").0, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_one_at_a_time(
            pairs in prop::collection::vec(("[0-9]{1,8}", "-?[0-9]{0,5}(\\.[0-9]{0,4})?|[-.0-9e]{0,9}"), 1..MANY),
        ) {
            let (are_whole, whole, decimals) = converted(&pairs);
            prop_assert!(are_whole);
            let expected: Vec<u32> = pairs.iter().map(|(text, _)| text.parse().unwrap()).collect();
            prop_assert_eq!(whole, expected);
            for ((_, text), found) in pairs.iter().zip(decimals) {
                let expected = number::whole(text.as_bytes());
                match found {
                    Some(value) => prop_assert_eq!(Some(value.to_bits()), expected.map(f64::to_bits), "{}", text),
                    None => prop_assert!(text.len() > 8 || expected.is_none() || text.contains('e'), "{}", text),
                }
            }
        }
    }
}
