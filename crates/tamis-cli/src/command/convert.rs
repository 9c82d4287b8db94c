//! `tamis convert`: data in another format, or a model as a table.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::Path;

use tamis::columnar::{ColumnarKind, ColumnarWriter, writer};
use tamis::model::Model;
use tamis::read::{Compression, Format, RowStream, recognise};

use super::{Failure, warn_of_skipped};
use crate::args::ConvertArgs;
use crate::output::rows::{RowWriter, WriteError};
use crate::output::table;

pub fn run(args: ConvertArgs) -> Result<(), Failure> {
    if args.input.ends_with(".json") && args.reading.format.is_none() {
        return convert_model(&args);
    }
    let (format, compression) = target(&args)?;
    let sources = args.reading.sources(std::slice::from_ref(&args.input))?;
    let by_number = sources.iter().all(|source| matches!(source.format, Format::Svmlight | Format::Npz));
    let columnar = sources.iter().any(|source| matches!(source.format, Format::Parquet | Format::Arrow));
    let mut stream = RowStream::open(sources, args.reading.options(false));
    let kind = match format {
        Format::Parquet => Some(ColumnarKind::Parquet),
        Format::Arrow => Some(ColumnarKind::Ipc),
        Format::Npz => Some(ColumnarKind::Npz),
        _ => None,
    };
    let temporary = Pending::new(&args.output)?;
    match kind {
        Some(_) if compression != Compression::None => {
            let text = format!("{}: this format compresses itself; leave .{} out", args.output, compression.name());
            return Err(Failure::Text(text));
        }
        Some(kind) => {
            let writer = writer(kind, temporary.file()?).map_err(text_of)?;
            // Text formats may bring names at any time, so their columns are made for names from the start.
            let named = !by_number && !columnar && kind != ColumnarKind::Npz;
            write_columnar(&mut stream, if named { writer.named() } else { writer })?
        }
        None => write_text(&mut stream, format, compression, temporary.file()?)?,
    }
    temporary.keep()?;
    warn_of_skipped(stream.skipped(), stream.first_skipped());
    Ok(())
}

fn text_of(error: impl std::fmt::Display) -> Failure {
    Failure::Text(error.to_string())
}

/// The format and compression to write.
fn target(args: &ConvertArgs) -> Result<(Format, Compression), Failure> {
    let (by_name, compression) = recognise(Path::new(&args.output));
    let format = args.to.or(by_name).ok_or_else(|| {
        Failure::Text(format!("{}: cannot tell the format to write by the name; use --to", args.output))
    })?;
    Ok((format, compression))
}

/// A file that takes its name when it is whole; standard output and devices are written directly.
enum Pending {
    Named(tempfile::NamedTempFile, std::path::PathBuf),
    Direct(std::path::PathBuf),
    Standard,
}

impl Pending {
    fn new(output: &str) -> Result<Self, Failure> {
        if output == "-" {
            return Ok(Pending::Standard);
        }
        // A link stays a link: what it leads to is replaced.
        let path = std::fs::canonicalize(output).unwrap_or_else(|_| output.into());
        if std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(Pending::Direct(path));
        }
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new().prefix(".tamis-").tempfile_in(folder);
        Ok(Pending::Named(file.map_err(|error| Failure::Text(format!("{}: {error}", path.display())))?, path))
    }

    fn file(&self) -> Result<File, Failure> {
        Ok(match self {
            Pending::Named(file, _) => file.as_file().try_clone()?,
            Pending::Direct(path) => File::options().write(true).open(path)?,
            Pending::Standard => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        })
    }

    fn keep(self) -> Result<(), Failure> {
        if let Pending::Named(file, path) = self {
            use std::os::unix::fs::PermissionsExt;
            file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
            file.persist(&path).map_err(|error| error.error)?;
        }
        Ok(())
    }
}

fn write_columnar(stream: &mut RowStream, mut writer: ColumnarWriter) -> Result<(), Failure> {
    while let Some(block) = stream.next_block()? {
        writer.write(&block.rows).map_err(text_of)?;
    }
    writer.finish().map_err(text_of)
}

fn write_text(stream: &mut RowStream, format: Format, compression: Compression, file: File) -> Result<(), Failure> {
    let buffered = BufWriter::with_capacity(1 << 20, file);
    match compression {
        Compression::None => write_rows(stream, format, buffered).map(drop),
        Compression::Zstd => {
            let encoder = zstd::Encoder::new(buffered, 3)?;
            Ok(write_rows(stream, format, encoder)?.finish()?.flush()?)
        }
        Compression::Gzip => {
            let encoder = flate2::write::GzEncoder::new(buffered, flate2::Compression::default());
            Ok(write_rows(stream, format, encoder)?.finish()?.flush()?)
        }
        other => Err(Failure::Text(format!("{} can be read but not written; use .gz or .zst", other.name()))),
    }
}

fn write_rows<W: Write>(stream: &mut RowStream, format: Format, out: W) -> Result<W, Failure> {
    let mut writer = RowWriter::new(out, format);
    while let Some(block) = stream.next_block()? {
        let place = |row: u32| format!("{}:{}", block.file, block.first_line + u64::from(row));
        writer.write(&block.rows).map_err(|error| failure(error, place(0)))?;
    }
    writer.finish().map_err(|error| failure(error, "end of data".into()))
}

fn failure(error: WriteError, place: String) -> Failure {
    match error {
        WriteError::Io(error) => Failure::Output(error),
        WriteError::NotPossible(text) => Failure::Text(format!("{text} (after {place})")),
    }
}

/// A model as a table of its features.
fn convert_model(args: &ConvertArgs) -> Result<(), Failure> {
    let model = Model::load(Path::new(&args.input))?;
    let (format, _) = target(args)?;
    if format != Format::Csv {
        return Err(Failure::Text("a model can be written as .csv".into()));
    }
    let text = table::features_csv(&model, usize::MAX);
    if args.output == "-" {
        return Ok(io::stdout().write_all(text.as_bytes())?);
    }
    let failed = |error| Failure::Text(format!("{}: {error}", args.output));
    tamis::data::replace_file(Path::new(&args.output), text.as_bytes()).map_err(failed)
}
