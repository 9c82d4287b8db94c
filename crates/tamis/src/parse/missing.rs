//! NaN as a missing value, for the text formats that have no other way to write one.

use super::{LineError, LineParser, Missing, number};
use crate::data::RawRows;

/// A parser of lines, and what to do about feature values (and, where rows are left out, labels) that are NaN.
#[derive(Clone, Copy, Debug, Default)]
pub struct MissingPolicy<P> {
    /// The parser, for which NaN is an error.
    pub parser: P,
    /// The policy for missing values.
    pub missing: Missing,
}

impl<P: LineParser> LineParser for MissingPolicy<P> {
    fn line(&self, line: &[u8], number: u32, rows: &mut RawRows) -> Result<(), (usize, LineError)> {
        let mark = rows.mark();
        let error = match self.parser.line(line, number, rows) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        rows.rollback(mark);
        let (what, is_nan) = match &error.1 {
            LineError::NotFinite { what, found } => (*what, is_nan(found.as_bytes())),
            _ => return Err(error),
        };
        match self.missing {
            Missing::SkipRow if is_nan => {
                rows.left_out.push(number);
                Ok(())
            }
            Missing::Zero if is_nan && what == "feature value" => {
                self.parser.line(&zeroed(line), number, rows).inspect_err(|_| rows.rollback(mark))
            }
            _ => Err(error),
        }
    }

    fn usual_lines(&self, block: &[u8], start: usize, first: u32, rows: &mut RawRows) -> (usize, u32) {
        self.parser.usual_lines(block, start, first, rows)
    }
}

fn is_nan(text: &[u8]) -> bool {
    number::whole(text).is_some_and(f64::is_nan)
}

/// The line with every NaN replaced by 0 and spaces, so that offsets stay the same.
fn zeroed(line: &[u8]) -> Vec<u8> {
    let mut copy = line.to_vec();
    for colon in memchr::memchr_iter(b':', line) {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'#' | b'|');
        let length = line[colon + 1..].iter().take(5).position(blank).unwrap_or((line.len() - colon - 1).min(5));
        let value = colon + 1..colon + 1 + length;
        if is_nan(&line[value.clone()]) {
            copy[value.clone()].fill(b' ');
            copy[value.start] = b'0';
        }
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::svmlight::Svmlight;
    use crate::parse::vw::VowpalWabbit;
    use crate::parse::{ParseError, parse_lines};

    fn parse<P: LineParser>(parser: P, missing: Missing, text: &str, rows: RawRows) -> (RawRows, Vec<ParseError>) {
        let (mut rows, mut errors) = (rows, Vec::new());
        parse_lines(text.as_bytes(), &MissingPolicy { parser, missing }, &mut rows, &mut errors);
        (rows, errors)
    }

    const SVM: &str = "1 1:NaN 2:5 3:-nan # x:nan\n-1 2:1\nnan 1:1\n1 2:inf\n";
    const VW: &str = "1 |a x:nan y:2 z:nan|b w\n-1 | x:1\nnan | x\n1 | x:inf\n";

    #[test]
    fn nan_is_an_error_by_default() {
        assert_eq!(parse(Svmlight::default(), Missing::Error, SVM, RawRows::by_index()).1.len(), 3);
        assert_eq!(parse(VowpalWabbit, Missing::Error, VW, RawRows::by_name()).1.len(), 3);
    }

    #[test]
    fn nan_may_be_zero_in_features_only() {
        let (rows, errors) = parse(Svmlight::default(), Missing::Zero, SVM, RawRows::by_index());
        assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [2, 3]);
        assert_eq!([0, 1].map(|row| rows.entries(row).count()), [1, 1]);
        let (rows, errors) = parse(VowpalWabbit, Missing::Zero, VW, RawRows::by_name());
        assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [2, 3]);
        assert_eq!([0, 1].map(|row| rows.entries(row).count()), [2, 1]);
    }

    #[test]
    fn nan_may_leave_the_row_out() {
        let (rows, errors) = parse(Svmlight::default(), Missing::SkipRow, SVM, RawRows::by_index());
        assert_eq!((rows.len(), errors.len(), errors[0].line), (1, 1, 3), "an infinite value is no missing one");
        let (rows, errors) = parse(VowpalWabbit, Missing::SkipRow, VW, RawRows::by_name());
        assert_eq!((rows.len(), errors.len()), (1, 1));
    }
}
