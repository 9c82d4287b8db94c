//! Rows as svmlight text: `label id:value …`, each number the shortest text that reads back as the same number.

use std::io::{self, Write};

use super::Row;

/// Text is handed on in pieces of about this many bytes.
const PIECE: usize = 1 << 16;

/// Writes one line a row; returns the number of rows.
pub fn write_svmlight(rows: impl IntoIterator<Item = Row>, out: &mut impl Write) -> io::Result<usize> {
    let mut text = Vec::with_capacity(2 * PIECE);
    let mut count = 0;
    for row in rows {
        push_number(&mut text, row.target);
        for (&id, &value) in row.ids.iter().zip(&row.values) {
            text.push(b' ');
            push_integer(&mut text, u64::from(id));
            text.push(b':');
            push_number(&mut text, value);
        }
        text.push(b'\n');
        count += 1;
        if text.len() >= PIECE {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)?;
    Ok(count)
}

/// A number with at most four decimals by hand, any other by the standard library.
fn push_number(text: &mut Vec<u8>, value: f64) {
    let units = (value * 1e4).round();
    // The quotient is the double nearest to the decimal written, hence what a correct reader makes of it.
    if units.abs() < 1e15 && units / 1e4 == value {
        push_decimal(text, units as i64);
    } else {
        write!(text, "{value:?}").expect("a vector takes any bytes");
    }
}

/// `units`/10000 without trailing zeros.
fn push_decimal(text: &mut Vec<u8>, units: i64) {
    if units < 0 {
        text.push(b'-');
    }
    let units = units.unsigned_abs();
    push_integer(text, units / 10_000);
    let mut rest = units % 10_000;
    if rest > 0 {
        text.push(b'.');
    }
    while rest > 0 {
        text.push(b'0' + (rest / 1000) as u8);
        rest = rest % 1000 * 10;
    }
}

fn push_integer(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut bytes = Vec::new();
        push_number(&mut bytes, value);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lines_by_hand() {
        let rows = [
            Row { target: 1.0, ids: vec![3, 1_000_000], values: vec![1.0986, -2.5] },
            Row { target: -1.0, ids: vec![], values: vec![] },
            Row { target: 0.123456, ids: vec![1], values: vec![1e-9] },
        ];
        let mut out = Vec::new();
        assert_eq!(write_svmlight(rows, &mut out).unwrap(), 3);
        assert_eq!(String::from_utf8(out).unwrap(), "1 3:1.0986 1000000:-2.5\n-1\n0.123456 1:1e-9\n");
    }

    #[test]
    fn decimals_by_hand() {
        let cases = [(0.0, "0"), (0.0001, "0.0001"), (-0.05, "-0.05"), (10.0, "10"), (1234.5678, "1234.5678")];
        for (value, expected) in cases {
            assert_eq!(text(value), expected);
        }
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let row = Row { target: 1.0, ids: vec![], values: vec![] };
        let mut full: &mut [u8] = &mut [];
        assert!(write_svmlight([row], &mut full).is_err());
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_number(bits: u64, units in -100_000_000..100_000_000i64) {
            let any = f64::from_bits(bits);
            prop_assume!(any.is_finite());
            for value in [any, units as f64 / 1e4, units as f64 / 1e6, units as f64 * 1e7] {
                prop_assert_eq!(text(value).parse::<f64>().unwrap(), value);
            }
        }
    }
}
