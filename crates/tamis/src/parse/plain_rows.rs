//! Plain svmlight rows, 64 bytes at a time: the fast path of svmlight text.
//!
//! A plain row is a label, then numbers and values with one blank between them, and nothing else. In such a row the bytes that
//! are not digits say where everything begins and ends. They are found 64 at a time by comparing vectors, as bits of a word. So
//! nothing waits for the end of the number before it, and digits are joined eight at a time ([`swar`]). Values are whole numbers
//! divided by powers of ten, several at once when a row ends.
//!
//! Values of at most eight digits, or seven and a point, are read here, others by [`number`]. A row that is not plain (a comment,
//! two blanks, an error, the last bytes of a block) is left to [`super::svmlight`], which is the literal version and has the
//! messages.
//!
//! Measured on one core (200,000 rows of 75 of a million features): 1.5 GB/s, where going number by number has 0.84. A list of the
//! places of all such bytes, instead of the bits of the next 64, has 1.2; dividing each value as it is read, 1.3.

use pulp::NullaryFnOnce;

use super::{number, swar};
use crate::data::{Label, RawRows};

/// The longest label that is looked for.
const LONGEST_LABEL: usize = 24;
/// An entry has at most this many bytes that are not digits: a colon, a sign, a point, and the byte after it.
const MOST_NON_DIGITS: u32 = 4;
/// Entries that are stored at once.
const ENTRIES: usize = 256;
/// Powers of ten for up to seven decimals. They are exact doubles, and so are whole numbers of eight digits: the quotient of both is
/// rounded correctly.
const DIVISORS: [f64; 8] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

/// Reads plain rows from `start` on; the first has the line number `first`. Returns where the next line begins and the number of
/// lines read.
pub(super) fn read(text: &[u8], start: usize, zero_based: bool, first: u32, rows: &mut RawRows) -> (usize, u32) {
    pulp::Arch::new().dispatch(ReadRows { text, start, zero_based, first, rows })
}

/// Reads rows with the newest instructions on bits that the processor has: a closure would not be compiled for them.
struct ReadRows<'a> {
    text: &'a [u8],
    start: usize,
    zero_based: bool,
    first: u32,
    rows: &'a mut RawRows,
}

impl NullaryFnOnce for ReadRows<'_> {
    type Output = (usize, u32);

    #[inline(always)]
    fn call(self) -> (usize, u32) {
        let ReadRows { text, start, zero_based, first, rows } = self;
        let (mut at, mut lines, mut entries) = (start, 0, Entries::new());
        while let Some((label, start)) = label(text, at) {
            let (indices, values) = rows.index_columns();
            let before = indices.len();
            let Some(end) = entries_of(text, start, zero_based, &mut entries, (indices, values)) else {
                indices.truncate(before);
                values.truncate(before);
                break;
            };
            rows.end_row(Label::Number(label), 1.0, first + lines);
            (at, lines) = (end, lines + 1);
        }
        (at, lines)
    }
}

/// The label of the row at `at`, and where its entries begin.
#[inline(always)]
fn label(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let text = text.get(at..)?;
    let length = text.iter().take(LONGEST_LABEL).position(|&byte| byte == b' ')?;
    let label = number::whole(&text[..length]).filter(|label| label.is_finite())?;
    Some((label, at + length + 1))
}

/// Which of 64 bytes are not digits.
#[derive(Clone, Copy)]
struct NonDigits {
    /// Where the bytes begin.
    base: usize,
    /// Those that are not digits and were not returned yet, the first in the lowest bit.
    bits: u64,
}

impl NonDigits {
    #[inline(always)]
    fn at(text: &[u8], base: usize) -> Option<Self> {
        let bytes = text.get(base..base + 64)?;
        Some(NonDigits { base, bits: not_digits(bytes.try_into().expect("64 bytes")) })
    }

    #[inline(always)]
    fn are_enough(&self) -> bool {
        self.bits.count_ones() >= MOST_NON_DIGITS
    }

    /// The next place; there must be one.
    #[inline(always)]
    fn next(&mut self) -> usize {
        let place = self.base + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits.wrapping_sub(1);
        place
    }
}

/// Entries of a row before they are stored: numbers of features, and values as quotients.
struct Entries {
    indices: [u32; ENTRIES],
    dividends: [f64; ENTRIES],
    divisors: [f64; ENTRIES],
    count: usize,
}

impl Entries {
    fn new() -> Self {
        Entries { indices: [0; ENTRIES], dividends: [0.0; ENTRIES], divisors: [1.0; ENTRIES], count: 0 }
    }

    /// Adds an entry; the caller stores them before there are more than [`ENTRIES`].
    #[inline(always)]
    fn push(&mut self, index: u32, (dividend, divisor): (f64, f64)) {
        let at = self.count % ENTRIES;
        (self.indices[at], self.dividends[at], self.divisors[at]) = (index, dividend, divisor);
        self.count += 1;
    }

    #[inline(always)]
    fn store(&mut self, indices: &mut Vec<u32>, values: &mut Vec<f64>) {
        indices.extend_from_slice(&self.indices[..self.count]);
        let quotients = self.dividends[..self.count].iter().zip(&self.divisors[..self.count]);
        values.extend(quotients.map(|(dividend, divisor)| dividend / divisor));
        self.count = 0;
    }
}

/// Reads the entries that begin at `at`; returns where the next line begins, or `None` if they are not plain.
#[inline(always)]
fn entries_of(
    text: &[u8],
    mut at: usize,
    zero_based: bool,
    entries: &mut Entries,
    (indices, values): (&mut Vec<u32>, &mut Vec<f64>),
) -> Option<usize> {
    entries.count = 0;
    let (mut least, mut non_digits) = (u32::from(!zero_based), NonDigits::at(text, at)?);
    let end = loop {
        if !non_digits.are_enough() {
            non_digits = NonDigits::at(text, at).filter(NonDigits::are_enough)?;
        }
        let colon = non_digits.next();
        if text[colon] != b':' {
            break (colon == at).then_some(colon)?;
        }
        let index = natural(text, at, colon).filter(|&index| index >= least)?;
        least = index + 1;
        let (quotient, end) = match short_value(text, colon + 1, &mut non_digits) {
            Some(found) => found,
            None => {
                let found = long_value(text, colon + 1)?;
                non_digits.bits = 0;
                found
            }
        };
        if quotient.0 != 0.0 {
            entries.push(index, quotient);
        }
        if text[end] != b' ' {
            break end;
        }
        if entries.count == ENTRIES {
            entries.store(indices, values);
        }
        at = end + 1;
    };
    entries.store(indices, values);
    match &text[end..] {
        [b'\n', ..] => Some(end + 1),
        [b'\r', b'\n', ..] => Some(end + 2),
        _ => None,
    }
}

/// The value at `start` as a quotient, and where it ends, if it is short.
#[inline(always)]
fn short_value(text: &[u8], start: usize, non_digits: &mut NonDigits) -> Option<((f64, f64), usize)> {
    let first = non_digits.next();
    if first == start && text[first] == b'-' {
        let point = non_digits.next();
        let ((dividend, divisor), end) = unsigned_value(text, start + 1, point, non_digits)?;
        return Some(((dividend, -divisor), end));
    }
    unsigned_value(text, start, first, non_digits)
}

/// The same without a sign; `point` is the first byte that is not a digit.
#[inline(always)]
fn unsigned_value(text: &[u8], start: usize, point: usize, non_digits: &mut NonDigits) -> Option<((f64, f64), usize)> {
    let has_point = text[point] == b'.';
    let end = if has_point { non_digits.next() } else { point };
    let length = end - start;
    if length.wrapping_sub(1 + usize::from(has_point)) >= 8 - usize::from(has_point) || !ends_value(text[end]) {
        return None;
    }
    let bytes = eight_before(text, end)?;
    if has_point {
        let decimals = end - point - 1;
        let dividend = swar::digits_and_point(bytes, length - 1, decimals);
        return Some(((f64::from(dividend), DIVISORS[decimals & 7]), end));
    }
    Some(((f64::from(swar::eight_digits(bytes, 8 - length)), 1.0), end))
}

/// A value of another form.
#[cold]
#[inline(never)]
fn long_value(text: &[u8], start: usize) -> Option<((f64, f64), usize)> {
    let end = start + text[start..].iter().position(|&byte| ends_value(byte))?;
    let value = number::whole(&text[start..end]).filter(|value| value.is_finite())?;
    Some(((value, 1.0), end))
}

#[inline(always)]
fn ends_value(byte: u8) -> bool {
    byte == b' ' || byte == b'\n' || byte == b'\r'
}

/// The whole number with the digits `start..end`, if these are one to eight.
#[inline(always)]
fn natural(text: &[u8], start: usize, end: usize) -> Option<u32> {
    let before = 8_usize.wrapping_sub(end - start);
    if before >= 8 {
        return None;
    }
    Some(swar::eight_digits(eight_before(text, end)?, before))
}

#[inline(always)]
fn eight_before(text: &[u8], end: usize) -> Option<[u8; 8]> {
    text.get(end.wrapping_sub(8)..end)?.try_into().ok()
}
/// The bytes that are not digits, as bits. Every x86-64 has these instructions (SSE2).
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn not_digits(bytes: &[u8; 64]) -> u64 {
    let Some(simd) = pulp::core_arch::x86::Sse2::try_new() else { return not_digits_by_words(bytes) };
    let word = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let (zero, nine) = (simd._mm_set1_epi8(b'0' as i8), simd._mm_set1_epi8(9));
    let digits_at = |at: usize| {
        let sixteen = simd._mm_set_epi64x(word(at + 8), word(at));
        let above_nine = simd._mm_subs_epu8(simd._mm_sub_epi8(sixteen, zero), nine);
        simd._mm_movemask_epi8(simd._mm_cmpeq_epi8(above_nine, simd._mm_setzero_si128())) as u64
    };
    !(digits_at(0) | digits_at(16) << 16 | digits_at(32) << 32 | digits_at(48) << 48)
}

#[cfg(not(target_arch = "x86_64"))]
use not_digits_by_words as not_digits;

/// The bytes that are not digits, as bits.
fn not_digits_by_words(bytes: &[u8; 64]) -> u64 {
    let words = bytes.chunks_exact(8).map(|eight| swar::not_digits(eight.try_into().expect("eight bytes")));
    words.enumerate().fold(0, |bits, (place, eight)| bits | eight << (8 * place))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parse::LineParser;
    use crate::parse::svmlight::Svmlight;

    /// The lines one by one, by the literal reader.
    fn literally(text: &[u8], zero_based: bool, lines: u32) -> RawRows {
        let mut rows = RawRows::by_index();
        let each = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        for (number, line) in (0..lines).zip(each) {
            Svmlight { zero_based }.line(line, number, &mut rows).expect("a plain row has no error");
        }
        rows
    }

    fn read_all(text: &str, zero_based: bool) -> (RawRows, usize, u32) {
        let mut rows = RawRows::by_index();
        let (bytes, lines) = read(text.as_bytes(), 0, zero_based, 0, &mut rows);
        (rows, bytes, lines)
    }

    /// What comes after the rows under test, so that there are bytes to look at.
    const TAIL: &str = "9 1:2 3:4 5:6 7:8 9:10 11:12 13:14 15:16 17:18 19:20 21:22 23:24 25:26 27:28 29:30 31:32 33:34";

    #[test]
    fn plain_rows_are_read_as_the_literal_reader_reads_them() {
        let rows = "9 9999999:1\n-1 6892:0.6931 22727:-1.5 99999999:12.25\r\n+2 1:0 2:1e-3 3:0.123456789012 4:-7 \n1 3:.5 4:5.\n";
        let text = format!("{rows}{TAIL}");
        let (found, bytes, lines) = read_all(&text, false);
        assert_eq!((bytes, lines), (rows.len(), 4));
        assert_eq!(found, literally(text.as_bytes(), false, 4));
    }

    #[test]
    fn rows_with_short_numbers_are_plain_where_bytes_precede_them() {
        let text = format!("1 2:3\n1 2:3\n-1 4:5\n{TAIL}");
        let mut rows = RawRows::by_index();
        assert_eq!(
            read(text.as_bytes(), 0, false, 0, &mut rows),
            (0, 0),
            "fewer than eight bytes before the first colon"
        );
        assert_eq!(read(text.as_bytes(), 6, false, 1, &mut rows), (19, 2));
    }

    #[test]
    fn what_is_not_plain_is_left() {
        let left = [
            "1 5",
            "1 a:1",
            "1 5:1 5:2",
            "1 5:1 4:2",
            "1 0:1",
            "x 5:1",
            "1  5:1",
            "1 5:1  6:1",
            "1\t5:1",
            "1 5:1\t6:1",
            "1",
            "",
            "1 5:1 # 7",
            "1 qid:4 5:1",
            "1 5:nan",
            "1 5:1x",
            "1 5:",
            "1 :5",
            "1 -5:1",
            "1 123456789:1",
            "inf 5:1",
            "1 5:--1",
        ];
        for line in left {
            let text = format!("3 123456:0.5\n{line}\n{TAIL}");
            let (rows, bytes, lines) = read_all(&text, false);
            assert_eq!((rows.len(), rows.entries(0).count(), bytes, lines), (1, 1, 13, 1), "{line:?}");
        }
        assert_eq!(read_all("1 5:1\n", false).1, 0, "too few bytes to look at");
        assert_eq!(read_all(&format!("12345678 0:1\n{TAIL}"), true).2, 1);
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_by_the_literal_reader(
            cells in prop::collection::vec(("[0-9]{1,9}", "(-?[0-9]{1,9}(\\.[0-9]{0,9})?(e-?[0-9])?|-|\\.|)", "[ \n\r\t#]"), 0..40),
            ascending: bool,
        ) {
            let mut text = String::from("1 ");
            for (number, (index, value, blank)) in cells.iter().enumerate() {
                let index = if ascending { (number + 1).to_string() } else { index.clone() };
                text.push_str(&format!("{index}:{value}{blank}"));
                if blank == "\n" {
                    text.push_str("-2 ");
                }
            }
            text.push_str(TAIL);
            let (found, bytes, lines) = read_all(&text, false);
            prop_assert_eq!(&found, &literally(&text.as_bytes()[..bytes], false, lines));
            prop_assert_eq!(text.as_bytes()[..bytes].iter().filter(|&&byte| byte == b'\n').count(), lines as usize);
        }

        #[test]
        fn bits_are_the_bytes_that_are_not_digits(bytes in prop::array::uniform32(any::<u8>())) {
            let mut all = [0; 64];
            all[..32].copy_from_slice(&bytes);
            all[32..].iter_mut().zip(&bytes).for_each(|(place, byte)| *place = b'0' - 2 + byte % 14);
            let one_by_one = (0..64).filter(|&at| !all[at].is_ascii_digit()).fold(0, |bits, at| bits | 1_u64 << at);
            prop_assert_eq!(not_digits(&all), one_by_one);
            prop_assert_eq!(not_digits_by_words(&all), one_by_one);
        }
    }
}
