//! Little-endian encoding of `f64` arrays, and a checksum over named arrays.

/// Numbers as little-endian bytes.
pub fn bytes_of(numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let numbers = numbers.into_iter();
    let mut bytes = Vec::with_capacity(8 * numbers.size_hint().0);
    numbers.for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    bytes
}

/// The numbers that [`bytes_of`] encoded; a remainder of fewer than eight bytes is ignored.
pub fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|word| f64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

/// The checksum of a text and of arrays with their names, in this order.
pub fn checksum<'a>(text: &str, arrays: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut sum = Checksum::of(text);
    for (name, bytes) in arrays {
        sum.update(name.as_bytes());
        sum.update(bytes);
    }
    sum.finish()
}

/// A checksum that is computed piece by piece.
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// The checksum of a text, to be continued.
    pub fn of(text: &str) -> Self {
        let mut sum = crc32fast::Hasher::new();
        sum.update(text.as_bytes());
        Checksum(sum)
    }

    /// Continues with bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum as text.
    pub fn finish(self) -> String {
        format!("crc32:{:08x}", self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_survive_bit_for_bit() {
        let numbers = [0.1 + 0.2, -0.0, 5e-324, f64::MAX, f64::INFINITY];
        let again = doubles(&bytes_of(numbers));
        assert!(numbers.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()) && again.len() == 5);
    }
}
