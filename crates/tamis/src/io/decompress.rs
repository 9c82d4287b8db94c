//! Opens and decompresses sources. The content's first bytes decide on the compression, the name only warns.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::pipe::{Pipe, Stopped};
use super::read_options::{LARGEST_UNPACKED, ReadOptions};
use super::{Compression, ReadError, Source};

/// A reader that counts the bytes it takes from the file, for progress.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// An open, decompressed source.
pub(super) struct Opened {
    pub reader: Box<dyn Read + Send>,
    pub compression: Compression,
}

/// Opens a source; `count` grows with the bytes read from disk.
pub(super) fn open(source: &Source, count: Arc<AtomicU64>, stop: &Arc<AtomicBool>) -> Result<Opened, ReadError> {
    if let Some(content) = &source.content {
        return Ok(Opened { reader: Box::new(io::Cursor::new(content.clone())), compression: Compression::None });
    }
    let raw: Box<dyn Read + Send> = match &source.path {
        None => Box::new(Pipe::standard_input(stop.clone())),
        Some(path) if source.is_pipe() => Box::new(Pipe::named(path.clone(), stop.clone())),
        Some(path) => {
            let failed = |source| ReadError::Open { path: path.clone(), source };
            Box::new(File::open(path).map_err(failed)?)
        }
    };
    let mut raw = Counted { inner: raw, count };
    let mut magic = [0; 6];
    let length = read_magic(&mut raw, &mut magic).map_err(|error| io_error(source, Compression::None, error))?;
    let compression = by_magic(&magic[..length]);
    if source.compression != Compression::None && compression != source.compression {
        return Err(ReadError::NotCompressed { file: source.name.clone(), named: source.compression.name() });
    }
    let whole = io::Cursor::new(magic[..length].to_vec()).chain(raw);
    let reader = decoder(source, compression, whole)?;
    Ok(Opened { reader, compression })
}

#[cfg(feature = "compression")]
fn decoder(
    source: &Source,
    compression: Compression,
    bytes: impl Read + Send + 'static,
) -> Result<Box<dyn Read + Send>, ReadError> {
    Ok(match compression {
        Compression::None => Box::new(bytes),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(bytes)),
        Compression::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(bytes)),
        Compression::Zstd => {
            let failed = |error| io_error(source, Compression::Zstd, error);
            Box::new(zstd::stream::read::Decoder::new(bytes).map_err(failed)?)
        }
    })
}

#[cfg(not(feature = "compression"))]
fn decoder(
    source: &Source,
    compression: Compression,
    bytes: impl Read + Send + 'static,
) -> Result<Box<dyn Read + Send>, ReadError> {
    match compression {
        Compression::None => Ok(Box::new(bytes)),
        _ => Err(ReadError::CompressionOff { file: source.name.clone(), compression: compression.name() }),
    }
}

fn by_magic(magic: &[u8]) -> Compression {
    match magic {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
        _ => Compression::None,
    }
}

/// The first bytes: up to six, fewer if a line ends before, since the next one may be long in coming. No compressed file
/// needs more bytes than that to be recognised.
fn read_magic(reader: &mut impl Read, magic: &mut [u8; 6]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < magic.len() && !magic[..filled].contains(&b'\n') {
        match read_once(reader, &mut magic[filled..])? {
            0 => break,
            length => filled += length,
        }
    }
    Ok(filled)
}

/// Fills the buffer as far as the reader goes.
pub(super) fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(length) => filled += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// One read, of as many bytes as are there; 0 at the end.
pub(super) fn read_once(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// An error while reading: damaged data if there was compression, else the error of the system.
pub(super) fn io_error(source: &Source, compression: Compression, error: io::Error) -> ReadError {
    let file = source.name.clone();
    match compression {
        _ if error.get_ref().is_some_and(|reason| reason.is::<Stopped>()) => ReadError::Interrupted,
        Compression::Zstd if error.to_string().contains("requires too much memory") => ReadError::LargeWindow { file },
        Compression::None => ReadError::Io { file, source: error },
        _ => ReadError::Damaged { file, source: error },
    }
}

/// The source as a seekable file: itself, or a decompressed copy without a name.
pub(super) fn seekable(source: &Source, options: &ReadOptions, count: Arc<AtomicU64>) -> Result<File, ReadError> {
    let opened = open(source, count, &options.stop)?;
    if let (Some(path), Compression::None) = (&source.path, opened.compression) {
        return File::open(path).map_err(|error| ReadError::Open { path: path.clone(), source: error });
    }
    let limit = options.max_unpacked.unwrap_or(LARGEST_UNPACKED);
    let mut reader = opened.reader.take(limit.saturating_add(1));
    let spool = |action| move |source| ReadError::Spool { action, source };
    let made = options.cache_folder.as_ref().map_or_else(tempfile::tempfile, tempfile::tempfile_in);
    let mut file = made.map_err(spool("made"))?;
    let (mut buffer, mut size) = (vec![0; 1 << 16], 0);
    loop {
        let length =
            read_up_to(&mut reader, &mut buffer).map_err(|error| io_error(source, opened.compression, error))?;
        size += length as u64;
        if size > limit {
            return Err(ReadError::LargeUnpacked { file: source.name.clone(), limit });
        }
        if options.stop.load(Ordering::Relaxed) {
            return Err(ReadError::Interrupted);
        }
        if length == 0 {
            break;
        }
        file.write_all(&buffer[..length]).map_err(spool("written"))?;
    }
    file.rewind().map_err(spool("read"))?;
    Ok(file)
}
