//! Numbers from bytes, correctly rounded, fast on the short decimals data files are made of.

/// Powers of ten that a double holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Reads a number at the start of `text`: the value and its length in bytes. Does not look at what follows.
///
/// A mantissa below 2^53 and a power of ten up to 22 are both exact doubles, so one division rounds correctly
/// (Clinger's fast path); anything else goes to `fast-float2`.
#[inline(always)]
pub fn prefix(text: &[u8]) -> Option<(f64, usize)> {
    let mut at = 0;
    let negative = matches!(text.first(), Some(b'-'));
    if matches!(text.first(), Some(b'-' | b'+')) {
        at = 1;
    }
    let (mut mantissa, start) = (0_u64, at);
    while let Some(digit) = digit(text, at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let mut digits = at - start;
    let mut decimals = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let point = at;
        while let Some(digit) = digit(text, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        decimals = at - point;
        digits += decimals;
    }
    let exponent_follows = matches!(text.get(at), Some(b'e' | b'E'));
    if digits == 0 || digits > 18 || mantissa >= 1 << 53 || exponent_follows {
        return general(text);
    }
    let size = mantissa as f64 / TENS[decimals];
    Some((if negative { -size } else { size }, at))
}

#[inline]
fn digit(text: &[u8], at: usize) -> Option<u64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

#[cold]
fn general(text: &[u8]) -> Option<(f64, usize)> {
    let plus = usize::from(matches!(text, [b'+', next, ..] if *next != b'-' && *next != b'+'));
    let (value, length) = fast_float2::parse_partial::<f64, _>(&text[plus..]).ok()?;
    (length > 0).then_some((value, length + plus))
}

/// Reads a number that fills `text` entirely.
pub fn whole(text: &[u8]) -> Option<f64> {
    match prefix(text) {
        Some((value, length)) if length == text.len() => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_numbers() {
        for text in ["0", "1", "-1", "0.5", "-0.0625", "123456789.125", "1e5", "1E-7", "0.1e3", ".5", "5.", "1e-400"] {
            assert_eq!(whole(text.as_bytes()), Some(text.parse().unwrap()), "{text}");
        }
        assert_eq!(whole(b"+1"), Some(1.0));
        assert_eq!(whole(b"+1e2"), Some(100.0));
        assert!(whole(b"nan").unwrap().is_nan());
        assert_eq!(whole(b"-inf"), Some(f64::NEG_INFINITY));
    }

    #[test]
    fn not_numbers() {
        for text in ["", "-", "+", ".", "e5", "0.3x", "1 ", "--1", "+-1", "1e", "0x10", "1_000"] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn rounds_as_the_standard_library(bits: u64, decimals in 0..17usize, small in -1e6..1e6f64) {
            let value = f64::from_bits(bits);
            for text in [format!("{small:.decimals$}"), format!("{value}"), format!("{value:e}")] {
                if value.is_finite() {
                    prop_assert_eq!(whole(text.as_bytes()).map(f64::to_bits), text.parse().ok().map(f64::to_bits), "{}", text);
                }
            }
        }
    }
}
