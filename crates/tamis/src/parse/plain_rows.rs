//! Plain svmlight rows, 64 bytes at a time: the fast path of svmlight text.
//!
//! A plain row is a label, then numbers and values with one blank between them, and nothing else. In such a row the bytes that
//! are not digits say where everything begins and ends. They are found 64 at a time by comparing vectors, as bits of a word. So
//! nothing waits for the end of the number before it, and digits are joined eight at a time ([`swar`]).
//!
//! Values of at most eight digits before and after the point are read here, others by [`number`]. A row that is not plain (a
//! comment, two blanks, an error, the last bytes of a block) is left to [`super::svmlight`], which is the literal version and
//! has the messages.
//!
//! Measured on one core (200,000 rows of 75 of a million features): 1.3 GB/s, where going number by number has 0.84.

use super::{number, swar};
use crate::data::{Label, RawRows};

/// The longest label that is looked for.
const LONGEST_LABEL: usize = 24;
/// Powers of ten up to the longest count of decimals, as whole numbers and as doubles.
const TENS: [(u64, f64); 9] = [
    (1, 1e0),
    (10, 1e1),
    (100, 1e2),
    (1_000, 1e3),
    (10_000, 1e4),
    (100_000, 1e5),
    (1_000_000, 1e6),
    (10_000_000, 1e7),
    (100_000_000, 1e8),
];

/// Reads plain rows from `start` on; the first has the line number `first`. Returns where the next line begins and the number of
/// lines read.
pub(super) fn read(text: &[u8], start: usize, zero_based: bool, first: u32, rows: &mut RawRows) -> (usize, u32) {
    // For the newest instructions on bits that the processor has.
    pulp::Arch::new().dispatch(|| read_rows(text, start, zero_based, first, rows))
}

#[inline(always)]
fn read_rows(text: &[u8], start: usize, zero_based: bool, first: u32, rows: &mut RawRows) -> (usize, u32) {
    let mut others = Others { text, base: start, bits: 0 };
    let (mut at, mut lines) = (start, 0);
    if others.load().is_none() {
        return (at, lines);
    }
    while let Some((label, start)) = label(&mut others, at) {
        let (indices, values) = rows.index_columns();
        let entries = indices.len();
        let Some(end) = entries_of(&mut others, start, zero_based, indices, values) else {
            indices.truncate(entries);
            values.truncate(entries);
            break;
        };
        rows.end_row(Label::Number(label), 1.0, first + lines);
        (at, lines) = (end, lines + 1);
    }
    (at, lines)
}

/// The places of the bytes that are not digits, ascending, as long as there are 64 bytes to look at.
struct Others<'a> {
    text: &'a [u8],
    /// Where the current 64 bytes begin.
    base: usize,
    /// Those that are not digits and were not returned yet, the first in the lowest bit.
    bits: u64,
}

impl Others<'_> {
    #[inline(always)]
    fn load(&mut self) -> Option<()> {
        let bytes = self.text.get(self.base..self.base + 64)?;
        self.bits = not_digits(bytes.try_into().expect("64 bytes"));
        Some(())
    }

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.base += 64;
            self.load()?;
        }
        let place = self.base + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(place)
    }
}

/// The label of the row at `at`, and where its entries begin.
#[inline(always)]
fn label(others: &mut Others<'_>, at: usize) -> Option<(f64, usize)> {
    let text = others.text.get(at..)?;
    let length = text.iter().take(LONGEST_LABEL).position(|&byte| byte == b' ')?;
    let label = number::whole(&text[..length]).filter(|label| label.is_finite())?;
    while others.next()? < at + length {}
    Some((label, at + length + 1))
}

/// Reads the entries that begin at `at`; returns where the next line begins, or `None` if they are not plain.
#[inline(always)]
fn entries_of(
    others: &mut Others<'_>,
    mut at: usize,
    zero_based: bool,
    indices: &mut Vec<u32>,
    values: &mut Vec<f64>,
) -> Option<usize> {
    let text = others.text;
    let mut least = u32::from(!zero_based);
    loop {
        let colon = others.next()?;
        if text[colon] != b':' {
            return (colon == at && text[colon] == b'\n').then_some(colon + 1);
        }
        let index = natural(text, at, colon).filter(|&index| index >= least)?;
        let Value { value, is_zero, end, last } = value(others, colon + 1)?;
        least = index + 1;
        if !is_zero {
            indices.push(index);
            values.push(value);
        }
        match last {
            b' ' => at = end + 1,
            b'\n' => return Some(end + 1),
            _ => return (others.next()? == end + 1 && text[end + 1] == b'\n').then_some(end + 2),
        }
    }
}

/// A value, where it ends, and the byte there: a blank, or one at the end of a line.
struct Value {
    value: f64,
    /// Known before the value is, which takes a division.
    is_zero: bool,
    end: usize,
    last: u8,
}

/// The value at `start`.
#[inline(always)]
fn value(others: &mut Others<'_>, start: usize) -> Option<Value> {
    let text = others.text;
    let mut end = others.next()?;
    let mut last = text[end];
    let is_negative = end == start && last == b'-';
    let digits = start + usize::from(is_negative);
    if is_negative {
        end = others.next()?;
        last = text[end];
    }
    let mantissa = if last == b'.' {
        let point = end;
        end = others.next()?;
        last = text[end];
        decimal(text, digits, point, end)
    } else {
        natural(text, digits, end).map(|number| (u64::from(number), 1.0))
    };
    match mantissa.filter(|_| ends(last)) {
        Some((mantissa, divisor)) => {
            let size = mantissa as i64 as f64 / divisor;
            Some(Value { value: if is_negative { -size } else { size }, is_zero: mantissa == 0, end, last })
        }
        None => other_value(others, start, end),
    }
}

/// A value of another form that has a byte which is not a digit at `at`.
#[cold]
fn other_value(others: &mut Others<'_>, start: usize, at: usize) -> Option<Value> {
    let mut end = at;
    while !ends(others.text[end]) {
        end = others.next()?;
    }
    let value = number::whole(&others.text[start..end]).filter(|value| value.is_finite())?;
    Some(Value { value, is_zero: value == 0.0, end, last: others.text[end] })
}

#[inline(always)]
fn ends(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r')
}

/// The digits `start..point` and `point + 1..end` as a whole number, and the power of ten to divide it by. Both are exact
/// doubles, so that the quotient is rounded correctly.
#[inline(always)]
fn decimal(text: &[u8], start: usize, point: usize, end: usize) -> Option<(u64, f64)> {
    let whole = if point == start + 1 { u32::from(text[start] - b'0') } else { natural(text, start, point)? };
    let decimals = natural(text, point + 1, end)?;
    let (unit, divisor) = TENS[end - point - 1];
    let mantissa = u64::from(whole) * unit + u64::from(decimals);
    (mantissa < 1 << 53).then_some((mantissa, divisor))
}

/// The whole number with the digits `start..end`, if these are one to eight.
#[inline(always)]
fn natural(text: &[u8], start: usize, end: usize) -> Option<u32> {
    let others = 8_usize.wrapping_sub(end - start);
    if others >= 8 {
        return None;
    }
    let bytes = text.get(end.wrapping_sub(8)..end)?;
    Some(swar::eight_digits(bytes.try_into().expect("eight bytes"), others))
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
