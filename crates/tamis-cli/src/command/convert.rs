//! `tamis convert`: converts data to another format, or a model to CSV.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use tamis::columnar::{ColumnarKind, ColumnarWriter, writer};
use tamis::data::replace_file;
use tamis::io::{Compression, Format, RowStream, recognise};
use tamis::model::Model;

use crate::args::input::{InputArgs, format_parser};
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::output::name_map::NameMap;
use crate::output::row_writer::{RowWriter, WriteError};
use crate::output::{csv, note, print_data, warn_skipped};
use crate::output_file::{OutputFile, check_files, paths};

#[derive(Args)]
pub struct ConvertArgs {
    /// Data, or a model (.json)
    #[arg(value_name = "IN")]
    pub from: String,
    /// File to write; - for standard output (with --to)
    #[arg(value_name = "OUT")]
    pub to_file: String,
    /// Format to write [default: by the extension of OUT]
    #[arg(long, value_parser = format_parser)]
    pub to: Option<Format>,
    /// Number the names of features for svmlight, and write the names to FILE, one a line
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: ConvertArgs) -> Result<(), CliError> {
    if args.output.json && args.to_file == "-" {
        return Err(CliError::Message("--json needs an output file: standard output holds the data".into()));
    }
    if args.from.ends_with(".json") && args.input.format.is_none() {
        return convert_model(&args);
    }
    let (format, compression) = target(&args)?;
    if format == Format::RowLog {
        return Err(CliError::of_file(&args.to_file, "only a server writes its log; write jsonl or vw"));
    }
    if args.map.is_some() && format != Format::Svmlight {
        return Err(CliError::Message("--map numbers features for svmlight; other formats hold names".into()));
    }
    let sources = args.input.sources(std::slice::from_ref(&args.from))?;
    let out = PathBuf::from(&args.to_file);
    check_files([&out], paths(&sources).chain(args.input.labels.as_deref()))?;
    let by_number = sources.iter().all(|source| matches!(source.format, Format::Svmlight | Format::Npz));
    let columnar = sources.iter().any(|source| matches!(source.format, Format::Parquet | Format::Arrow));
    let mut stream = RowStream::open(sources, args.input.options(false));
    let kind = match format {
        Format::Parquet => Some(ColumnarKind::Parquet),
        Format::Arrow => Some(ColumnarKind::Ipc),
        Format::Npz => Some(ColumnarKind::Npz),
        _ => None,
    };
    let file = OutputFile::create(&args.to_file)?;
    match kind {
        Some(_) if compression != Compression::None => {
            let text = format!("this format has its own compression; omit .{}", compression.name());
            return Err(CliError::of_file(&args.to_file, text));
        }
        Some(kind) => {
            let writer = writer(kind, file.file()?).map_err(message)?;
            // A text format may hold names in any row, so its columns take names from the start.
            let named = !by_number && !columnar && kind != ColumnarKind::Npz;
            write_columnar(&mut stream, if named { writer.named() } else { writer })?
        }
        None => {
            let mut map = NameMap::default();
            let numbering = args.map.as_ref().map(|_| &mut map);
            write_text(&mut stream, format, compression, file.file()?, numbering)?;
            if let Some(path) = &args.map {
                replace_file(path, map.text().as_bytes()).map_err(|error| CliError::of_file(path.display(), error))?;
                let class = |(number, class): (usize, &String)| format!("{number} = {class}");
                let classes: Vec<String> = map.classes().iter().enumerate().map(class).collect();
                if !classes.is_empty() && !args.output.quiet {
                    note!("labels: {}", classes.join(", "));
                }
            }
        }
    }
    file.persist()?;
    if !args.output.quiet {
        warn_skipped(stream.skipped(), stream.first_skipped());
    }
    if args.output.json {
        print_data!("{}", json!({"file": args.to_file, "format": format.name(), "skipped": stream.skipped()}))?;
    }
    Ok(())
}

fn message(error: impl std::fmt::Display) -> CliError {
    CliError::Message(error.to_string())
}

/// The format and compression to write.
fn target(args: &ConvertArgs) -> Result<(Format, Compression), CliError> {
    let (by_name, compression) = recognise(Path::new(&args.to_file));
    let unknown = || CliError::of_file(&args.to_file, "unknown extension; name the format with --to");
    let format = args.to.or(by_name).ok_or_else(unknown)?;
    Ok((format, compression))
}

fn write_columnar(stream: &mut RowStream, mut writer: ColumnarWriter) -> Result<(), CliError> {
    while let Some(block) = stream.next_block()? {
        writer.write(&block.rows).map_err(message)?;
    }
    writer.finish().map_err(message)
}

fn write_text(
    stream: &mut RowStream,
    format: Format,
    compression: Compression,
    file: File,
    map: Option<&mut NameMap>,
) -> Result<(), CliError> {
    let buffered = BufWriter::with_capacity(1 << 20, file);
    match compression {
        Compression::None => write_rows(stream, format, buffered, map).map(drop),
        Compression::Zstd => {
            let encoder = zstd::Encoder::new(buffered, 3)?;
            Ok(write_rows(stream, format, encoder, map)?.finish()?.flush()?)
        }
        Compression::Gzip => {
            let encoder = flate2::write::GzEncoder::new(buffered, flate2::Compression::default());
            Ok(write_rows(stream, format, encoder, map)?.finish()?.flush()?)
        }
        other => Err(CliError::Message(format!("tamis reads {} but does not write it; use .gz or .zst", other.name()))),
    }
}

fn write_rows<W: Write>(
    stream: &mut RowStream,
    format: Format,
    out: W,
    mut map: Option<&mut NameMap>,
) -> Result<W, CliError> {
    let mut writer = RowWriter::new(out, format);
    while let Some(block) = stream.next_block()? {
        let place = |row: u32| format!("{}:{}", block.file, block.first_line + u64::from(row));
        let written = match &mut map {
            Some(map) => writer.write(&map.numbered(&block.rows)),
            None => writer.write(&block.rows),
        };
        written.map_err(|error| failure(error, place(0)))?;
    }
    writer.finish().map_err(|error| failure(error, "end of data".into()))
}

fn failure(error: WriteError, place: String) -> CliError {
    match error {
        WriteError::Io(error) => CliError::Output(error),
        WriteError::NotPossible(text) => CliError::Message(format!("{text} (after {place})")),
    }
}

/// Writes the features of a model as CSV.
fn convert_model(args: &ConvertArgs) -> Result<(), CliError> {
    let model = Model::load(Path::new(&args.from))?;
    let (format, _) = target(args)?;
    if format != Format::Csv {
        return Err(CliError::Message("a model can only be converted to .csv".into()));
    }
    let text = csv::features(&model, usize::MAX);
    let out = PathBuf::from(&args.to_file);
    check_files([&out], [Path::new(&args.from)])?;
    if args.to_file == "-" {
        return Ok(io::stdout().write_all(text.as_bytes())?);
    }
    let failed = |error| CliError::of_file(&args.to_file, error);
    replace_file(Path::new(&args.to_file), text.as_bytes()).map_err(failed)?;
    if args.output.json {
        print_data!("{}", json!({"file": args.to_file, "format": format.name()}))?;
    }
    Ok(())
}
