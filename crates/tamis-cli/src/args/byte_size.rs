//! Numbers of bytes on the command line.

use bytesize::ByteSize;

/// A number of bytes. As in GNU tools, `M` and `MiB` are 2²⁰ bytes and `MB` is 10⁶.
pub fn bytes_parser(text: &str) -> Result<u64, String> {
    let is_prefix = text.ends_with(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't']);
    let text = if is_prefix { format!("{text}iB") } else { text.to_string() };
    let bytes = text.parse::<ByteSize>().ok().filter(|bytes| bytes.as_u64() < 1 << 50);
    bytes.map(|bytes| bytes.as_u64()).ok_or_else(|| "expected a number of bytes such as 500M or 2G".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes_parser("500M"), Ok(500 << 20));
        assert_eq!(bytes_parser("1.5GiB"), Ok(3 << 29));
        assert_eq!(bytes_parser("2MB"), Ok(2_000_000));
        assert_eq!(bytes_parser("77"), Ok(77));
        assert!(bytes_parser("much").is_err() && bytes_parser("-1G").is_err());
        assert!(bytes_parser("5MG").is_err(), "one unit, not two");
        assert!(bytes_parser("9999999G").is_err() && bytes_parser("G").is_err() && bytes_parser("").is_err());
    }
}
