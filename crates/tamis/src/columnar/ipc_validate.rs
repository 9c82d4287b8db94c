//! Validates Arrow IPC messages before they are decoded, because the decoder trusts the lengths it finds.

use arrow_ipc::{Message, MessageHeader, RecordBatch, root_as_message};

/// The marker before a message; older files lack it.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];

/// The largest ratio of decompressed to compressed size: four bytes of zstd can expand to 128 KiB.
const MAX_EXPANSION: u64 = 1 << 15;
/// A declared size up to this is always allowed.
const SMALL: u64 = 1 << 20;

/// The metadata of a message without its length prefix.
pub(super) fn unframed(head: &[u8]) -> Result<&[u8], String> {
    let framing = if head.starts_with(&CONTINUATION) { 8 } else { 4 };
    head.get(framing..).ok_or_else(|| "a message is too short".to_string())
}

fn root(head: &[u8]) -> Result<Message<'_>, String> {
    root_as_message(head).map_err(|error| error.to_string())
}

/// The length of a message's body.
pub(super) fn body_length(head: &[u8]) -> Result<u64, String> {
    let length = root(head)?.bodyLength();
    u64::try_from(length).map_err(|_| format!("a message declares {length} bytes"))
}

/// Checks that the buffers of a batch lie within the body and that compressed ones declare a possible size. Returns the
/// bytes that they declare together.
pub(super) fn decompressed_length(head: &[u8], body: &[u8]) -> Result<u64, String> {
    let message = root(head)?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
        _ => return Ok(0),
    };
    check_buffers(&batch.ok_or("a message has no batch")?, body)
}

fn check_buffers(batch: &RecordBatch<'_>, body: &[u8]) -> Result<u64, String> {
    let mut declared = 0_u64;
    let is_compressed = batch.compression().is_some();
    for buffer in batch.buffers().into_iter().flatten() {
        let bounds = || {
            let start = usize::try_from(buffer.offset()).ok()?;
            Some(start..start.checked_add(usize::try_from(buffer.length()).ok()?)?)
        };
        let bytes = bounds().and_then(|bounds| body.get(bounds)).ok_or("a buffer lies outside its batch")?;
        if is_compressed && !bytes.is_empty() {
            declared = declared.saturating_add(check_compressed(bytes)?);
        }
    }
    Ok(declared)
}

/// A compressed buffer starts with its decompressed size, or with -1 if it is stored uncompressed. Returns the size.
fn check_compressed(bytes: &[u8]) -> Result<u64, String> {
    let size = bytes.first_chunk().map(|size| i64::from_le_bytes(*size)).ok_or("a compressed buffer has no size")?;
    let most = (bytes.len() as u64).saturating_mul(MAX_EXPANSION).max(SMALL);
    match u64::try_from(size) {
        Ok(size) if size <= most => Ok(size),
        Err(_) if size == -1 => Ok(0),
        _ => Err(format!("a compressed buffer of {} bytes declares {size} bytes", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_sizes_are_refused() {
        let packed = |size: i64| [size.to_le_bytes(), [0; 8]].concat();
        assert!(check_compressed(&packed(-1)).is_ok() && check_compressed(&packed(1 << 20)).is_ok());
        assert_eq!(
            check_compressed(&packed(1 << 40)).unwrap_err(),
            "a compressed buffer of 16 bytes declares 1099511627776 bytes"
        );
        assert!(check_compressed(&packed(-2)).is_err() && check_compressed(&[0; 7]).is_err());
    }

    #[test]
    fn noise_is_no_message() {
        assert!(decompressed_length(&[7; 64], &[]).is_err() && body_length(&[]).is_err());
        assert_eq!(unframed(&[0xff; 6]).unwrap_err(), "a message is too short");
    }
}
