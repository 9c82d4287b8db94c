//! Arrow IPC: the file format, which begins with `ARROW1` and ends with a footer, and the stream format.
//!
//! Every length is compared with the length of the file before memory is allocated for it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, Footer, root_as_footer};
use arrow_schema::{Schema, SchemaRef};

use super::arrow::{Batches, Table};
use super::error::ColumnarError;
use super::ipc_validate::{self, CONTINUATION};
use super::kind::ColumnarKind;
use super::limits::ColumnarLimits;
use super::schema::{Layout, Purpose};
use crate::parse::schema::SchemaOptions;

const KIND: ColumnarKind = ColumnarKind::Ipc;
const FILE_MAGIC: &[u8] = b"ARROW1";
const FEATHER_1_MAGIC: &[u8] = b"FEA1";
const TRAILER: u64 = 10;
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

pub(super) fn open(
    mut file: File,
    options: &SchemaOptions,
    limits: ColumnarLimits,
    purpose: Purpose,
) -> Result<Table, ColumnarError> {
    let length = file.seek(SeekFrom::End(0))?;
    let start = read_at(&mut file, 0, length.min(FILE_MAGIC.len() as u64))?;
    if start.starts_with(FEATHER_1_MAGIC) {
        return Err(damaged("it is Feather version 1; write it again as version 2 (pyarrow.feather.write_feather)"));
    }
    let (schema, batches): (SchemaRef, Batches) = if start == FILE_MAGIC {
        let batches = FileBatches::open(file, length, limits)?;
        (batches.schema.clone(), Box::new(batches))
    } else {
        let batches = StreamBatches::open(file, length, limits)?;
        (batches.schema.clone(), Box::new(batches))
    };
    let layout = Layout::new(&schema, options)?.for_purpose(purpose);
    let used = layout.used.clone();
    let project = move |batch: RecordBatch| batch.project(&used).map_err(damaged);
    let batches = batches.map(move |batch| batch.and_then(&project));
    Ok(Table::new(KIND, schema, layout, options, limits, Box::new(batches)))
}

fn damaged(reason: impl std::fmt::Display) -> ColumnarError {
    ColumnarError::damaged(KIND, reason)
}

/// Checks a message before it is decoded.
fn check(head: &[u8], body: &[u8], limits: ColumnarLimits) -> Result<(), ColumnarError> {
    match ipc_validate::decompressed_length(head, body).map_err(damaged)? {
        needed if needed > limits.batch => Err(ColumnarError::LargeBatch { needed, limit: limits.batch }),
        _ => Ok(()),
    }
}

fn read_at(file: &mut File, start: u64, length: u64) -> Result<Vec<u8>, ColumnarError> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The batches of a file, found by its footer.
struct FileBatches {
    file: File,
    length: u64,
    schema: SchemaRef,
    decoder: FileDecoder,
    blocks: std::vec::IntoIter<Block>,
    limits: ColumnarLimits,
}

impl FileBatches {
    fn open(mut file: File, length: u64, limits: ColumnarLimits) -> Result<Self, ColumnarError> {
        let bytes = footer(&mut file, length)?;
        let footer = root_as_footer(&bytes).map_err(damaged)?;
        let schema = Arc::new(schema(&footer)?);
        let blocks: Vec<Block> = footer.recordBatches().into_iter().flatten().copied().collect();
        let decoder = FileDecoder::new(schema.clone(), footer.version());
        let mut batches = FileBatches { file, length, schema, decoder, blocks: blocks.into_iter(), limits };
        for block in footer.dictionaries().into_iter().flatten() {
            let bytes = batches.bytes(block)?;
            batches.decoder.read_dictionary(block, &bytes).map_err(damaged)?;
        }
        Ok(batches)
    }

    fn bytes(&mut self, block: &Block) -> Result<Buffer, ColumnarError> {
        let whole = |number: i64| u64::try_from(number).ok();
        let bounds = || {
            let (start, head) = (whole(block.offset())?, whole(block.metaDataLength().into())?);
            let length = head.checked_add(whole(block.bodyLength())?)?;
            (start.checked_add(length)? <= self.length).then_some((start, head, length))
        };
        let (start, head, length) = bounds().ok_or_else(|| damaged("a batch lies outside the file"))?;
        let bytes = read_at(&mut self.file, start, length)?;
        let (head, body) = bytes.split_at(head as usize);
        check(ipc_validate::unframed(head).map_err(damaged)?, body, self.limits)?;
        Ok(Buffer::from_vec(bytes))
    }

    fn read(&mut self, block: &Block) -> Result<Option<RecordBatch>, ColumnarError> {
        let bytes = self.bytes(block)?;
        self.decoder.read_record_batch(block, &bytes).map_err(damaged)
    }
}

fn footer(file: &mut File, length: u64) -> Result<Vec<u8>, ColumnarError> {
    let cut_short = || damaged("it has no footer; the file may be truncated");
    let end = length.checked_sub(TRAILER).ok_or_else(cut_short)?;
    let trailer: [u8; TRAILER as usize] = read_at(file, end, TRAILER)?.try_into().map_err(|_| cut_short())?;
    let size = read_footer_length(trailer).map_err(|_| cut_short())? as u64;
    read_at(file, end.checked_sub(size).ok_or_else(cut_short)?, size)
}

fn schema(footer: &Footer<'_>) -> Result<Schema, ColumnarError> {
    let schema = footer.schema().ok_or_else(|| damaged("it has no schema"))?;
    if !schema.endianness().equals_to_target_endianness() {
        return Err(damaged("it was written on a machine with another byte order"));
    }
    Ok(fb_to_schema(schema))
}

impl Iterator for FileBatches {
    type Item = Result<RecordBatch, ColumnarError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let block = self.blocks.next()?;
            if let Some(batch) = self.read(&block).transpose() {
                return Some(batch);
            }
        }
    }
}

/// The batches of a stream, message by message.
struct StreamBatches {
    file: File,
    left: u64,
    schema: SchemaRef,
    decoder: StreamDecoder,
    first: Option<RecordBatch>,
    finished: bool,
    limits: ColumnarLimits,
}

impl StreamBatches {
    fn open(mut file: File, left: u64, limits: ColumnarLimits) -> Result<Self, ColumnarError> {
        file.rewind()?;
        let (decoder, schema) = (StreamDecoder::new(), Arc::new(Schema::empty()));
        let mut batches = StreamBatches { file, left, schema, decoder, first: None, finished: false, limits };
        batches.first = batches.read()?;
        batches.schema = batches.decoder.schema().ok_or_else(|| damaged("it has no schema"))?;
        Ok(batches)
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ColumnarError> {
        while !self.finished {
            let mut message = Buffer::from_vec(self.message()?);
            if let Some(batch) = self.decoder.decode(&mut message).map_err(damaged)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// The bytes of the next message, or of the end.
    fn message(&mut self) -> Result<Vec<u8>, ColumnarError> {
        let mut bytes = Vec::new();
        if self.left > 0 {
            self.take(4, &mut bytes)?;
            if bytes == CONTINUATION {
                self.take(4, &mut bytes)?;
            }
        }
        let framing = bytes.len();
        let size = bytes.last_chunk().map_or(0, |size| u32::from_le_bytes(*size));
        if size == 0 {
            self.finished = true;
            return match self.left {
                0 => Ok(END_OF_STREAM.into()),
                left => Err(damaged(format!("{left} bytes follow the end of the stream"))),
            };
        }
        self.take(size.into(), &mut bytes)?;
        let head = bytes.len();
        self.take(ipc_validate::body_length(&bytes[framing..]).map_err(damaged)?, &mut bytes)?;
        check(&bytes[framing..head], &bytes[head..], self.limits)?;
        Ok(bytes)
    }

    fn take(&mut self, count: u64, bytes: &mut Vec<u8>) -> Result<(), ColumnarError> {
        let cut_short = || damaged("the stream ends within a message; the file may be truncated");
        self.left = self.left.checked_sub(count).ok_or_else(cut_short)?;
        let start = bytes.len();
        bytes.resize(start + count as usize, 0);
        Ok(self.file.read_exact(&mut bytes[start..])?)
    }
}

impl Iterator for StreamBatches {
    type Item = Result<RecordBatch, ColumnarError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.first.take() {
            Some(batch) => Some(Ok(batch)),
            None => self.read().transpose(),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int32Array};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

    use super::*;
    use crate::columnar::ColumnarReader;
    use crate::columnar::fixtures::{damage, file, ipc_bytes, read, stream_bytes, table};

    fn batch() -> RecordBatch {
        table(vec![
            ("y", Arc::new(Int32Array::from(vec![1, 2]))),
            ("c", Arc::new(vec!["u", "v"].into_iter().collect::<DictionaryArray<Int32Type>>())),
        ])
    }

    fn lines(bytes: &[u8]) -> Result<Vec<String>, String> {
        let lines = read(file(bytes), KIND, &SchemaOptions::default()).map_err(|error| error.to_string())?;
        lines.into_iter().map(|line| line.map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn a_file_and_a_stream_say_the_same() {
        let expected = ["1 1 c=u:1", "2 1 c=v:1"];
        assert_eq!(lines(&ipc_bytes(&batch())).unwrap(), expected);
        assert_eq!(lines(&stream_bytes(&batch())).unwrap(), expected);
    }

    #[test]
    fn packed_batches_are_read() {
        let batch = table(vec![("a", Arc::new(Int32Array::from(vec![7; 300])))]);
        for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
            let options = IpcWriteOptions::default().try_with_compression(Some(compression)).unwrap();
            let mut bytes = Vec::new();
            let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            drop(writer);
            assert_eq!(lines(&bytes).unwrap(), vec!["(none) 1 a:7"; 300]);
            damage(&bytes, KIND, &SchemaOptions::default());
            // What a batch declares is compared with the limit before it is decompressed.
            let limits = ColumnarLimits { batch: 1000, ..ColumnarLimits::default() };
            let mut reader = ColumnarReader::open(file(&bytes), KIND, &SchemaOptions::default(), limits).unwrap();
            let error = reader.next().unwrap().unwrap_err().to_string();
            assert!(error.contains("bytes when decompressed, and 1000 are allowed; "), "{error}");
        }
    }

    #[test]
    fn a_file_or_stream_cut_short_says_so() {
        let (file, stream) = (ipc_bytes(&batch()), stream_bytes(&batch()));
        assert!(lines(&file[..file.len() - 1]).unwrap_err().ends_with("it has no footer; the file may be truncated"));
        let half = lines(&stream[..stream.len() / 2]).unwrap_err();
        assert!(half.starts_with("not a readable Arrow IPC file: the stream ends within a message"), "{half}");
        let twice = lines(&stream.repeat(2)).unwrap_err();
        assert!(twice.ends_with(&format!("{} bytes follow the end of the stream", stream.len())), "{twice}");
        assert!(lines(b"").unwrap_err().ends_with("it has no schema"));
        assert!(lines(b"FEA1....").unwrap_err().contains("Feather version 1"));
    }

    #[test]
    fn damage_never_panics() {
        damage(&ipc_bytes(&batch()), KIND, &SchemaOptions::default());
        damage(&stream_bytes(&batch()), KIND, &SchemaOptions::default());
    }
}
