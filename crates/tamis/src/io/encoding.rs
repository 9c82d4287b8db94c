//! Text in other encodings than UTF-8, decoded while it is read.

use std::io::{self, Read};

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8; UTF-16 if the file begins with its mark.
    #[default]
    Auto,
    /// Windows-1252, of which Latin-1 (ISO 8859-1) is a part.
    Latin1,
    /// UTF-16 with the least significant byte first.
    Utf16Le,
    /// UTF-16 with the most significant byte first.
    Utf16Be,
}

impl Encoding {
    /// All encodings, in the order of the documentation.
    pub const ALL: [Encoding; 4] = [Encoding::Auto, Encoding::Latin1, Encoding::Utf16Le, Encoding::Utf16Be];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Auto => "utf-8",
            Encoding::Latin1 => "latin-1",
            Encoding::Utf16Le => "utf-16",
            Encoding::Utf16Be => "utf-16be",
        }
    }

    /// The encoding with a name as people write it.
    pub fn from_name(name: &str) -> Option<Encoding> {
        Some(match name.to_lowercase().replace(['-', '_', ' '], "").as_str() {
            "utf8" => Encoding::Auto,
            "latin1" | "iso88591" | "windows1252" | "cp1252" | "ansi" => Encoding::Latin1,
            "utf16" | "utf16le" => Encoding::Utf16Le,
            "utf16be" => Encoding::Utf16Be,
            _ => return None,
        })
    }

    /// The reader, decoded to UTF-8.
    pub(super) fn decode(self, mut reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        let mut mark = [0; 2];
        let length = super::decompress::read_up_to(&mut reader, &mut mark)?;
        let (encoding, skip) = match (&mark[..length], self) {
            ([0xff, 0xfe], Encoding::Auto | Encoding::Utf16Le) => (Encoding::Utf16Le, 2),
            ([0xfe, 0xff], Encoding::Auto | Encoding::Utf16Le | Encoding::Utf16Be) => (Encoding::Utf16Be, 2),
            _ => (self, 0),
        };
        let whole = Box::new(io::Cursor::new(mark[skip..length].to_vec()).chain(reader));
        Ok(match encoding {
            Encoding::Auto => whole,
            encoding => Box::new(Decoder { reader: whole, encoding, rest: Vec::new(), text: Vec::new(), at: 0 }),
        })
    }
}

/// A reader that decodes blocks.
struct Decoder<R> {
    reader: R,
    encoding: Encoding,
    /// Bytes of a character that is not whole yet.
    rest: Vec<u8>,
    text: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.fill()?;
        }
        let length = buffer.len().min(self.text.len() - self.at);
        buffer[..length].copy_from_slice(&self.text[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

impl<R: Read> Decoder<R> {
    fn fill(&mut self) -> io::Result<()> {
        let mut block = std::mem::take(&mut self.rest);
        let start = block.len();
        block.resize(start + (1 << 16), 0);
        let length = super::decompress::read_up_to(&mut self.reader, &mut block[start..])?;
        block.truncate(start + length);
        let is_end = length == 0;
        let text: String = match self.encoding {
            Encoding::Latin1 | Encoding::Auto => block.iter().map(|&byte| windows_1252(byte)).collect(),
            encoding => {
                let unit = |pair: &[u8]| match encoding {
                    Encoding::Utf16Be => u16::from_be_bytes([pair[0], pair[1]]),
                    _ => u16::from_le_bytes([pair[0], pair[1]]),
                };
                let mut whole = block.len() / 2 * 2;
                // The first half of a pair waits for the second.
                if !is_end && whole >= 2 && (0xd800..0xdc00).contains(&unit(&block[whole - 2..whole])) {
                    whole -= 2;
                }
                let units: Vec<u16> = block[..whole].chunks_exact(2).map(unit).collect();
                if !is_end {
                    self.rest = block[whole..].to_vec();
                }
                String::from_utf16_lossy(&units)
            }
        };
        (self.text, self.at) = (text.into_bytes(), 0);
        Ok(())
    }
}

/// The character of a byte: Latin-1, with the signs that Windows put between 128 and 159.
fn windows_1252(byte: u8) -> char {
    const SIGNS: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";
    match byte {
        128..=159 => SIGNS.chars().nth(usize::from(byte) - 128).unwrap_or('\u{fffd}'),
        byte => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: Vec<u8>, encoding: Encoding) -> String {
        let mut text = String::new();
        encoding.decode(Box::new(io::Cursor::new(bytes))).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_same_text_in_every_encoding() {
        let text = "town,y\nZürich – 5 €,1\n𝄞,0\n".repeat(9_001);
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        assert_eq!(decoded(text.clone().into_bytes(), Encoding::Auto), text);
        assert_eq!(decoded(little.clone(), Encoding::Utf16Le), text);
        assert_eq!(decoded(marked(&[0xff, 0xfe], &little), Encoding::Auto), text, "the mark tells");
        assert_eq!(decoded(marked(&[0xfe, 0xff], &big), Encoding::Auto), text);
        assert_eq!(decoded(big, Encoding::Utf16Be), text);
        assert_eq!(decoded(b"Z\xfcrich \x80".to_vec(), Encoding::Latin1), "Zürich €");
    }

    #[test]
    fn names_are_forgiving() {
        assert_eq!(Encoding::from_name("ISO-8859-1"), Some(Encoding::Latin1));
        assert_eq!(Encoding::from_name("UTF8"), Some(Encoding::Auto));
        assert!(Encoding::ALL.iter().all(|one| Encoding::from_name(one.name()) == Some(*one)));
        assert_eq!(Encoding::from_name("klingon"), None);
    }
}
