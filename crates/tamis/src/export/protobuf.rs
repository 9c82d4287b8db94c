//! The wire format of Protocol Buffers, as far as ONNX needs it: numbers, texts and messages in fields.

/// A message in the making.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// With a number in a field.
    pub fn number(mut self, field: u32, number: i64) -> Self {
        self.varint(u64::from(field) << 3);
        // Negative numbers take ten bytes: their two's complement in 64 bits.
        self.varint(number as u64);
        self
    }

    /// With bytes in a field.
    pub fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// With text in a field.
    pub fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// With a message in a field.
    pub fn message(self, field: u32, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }

    /// With messages in a field that may occur several times.
    pub fn messages(self, field: u32, messages: &[Message]) -> Self {
        messages.iter().fold(self, |all, one| all.message(field, one))
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification of the wire format.
    #[test]
    fn the_examples_of_the_specification() {
        assert_eq!(Message::default().number(1, 150).finish(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").finish(), [&[0x12, 0x07], &b"testing"[..]].concat());
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, &inner).finish(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let negative = Message::default().number(1, -2).finish();
        assert_eq!(negative, [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }
}
