//! Sources: file names, directories, patterns, and `-` for standard input.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ReadError;

/// Makes [`Format`] of a table: one row a format, with its extensions; the first of them is its name.
macro_rules! formats {
    ($($Format:ident = $extensions:expr;)*) => {
        /// A file format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "named for the formats")]
        pub enum Format { $($Format,)* }

        impl Format {
            /// All formats, in the order of the documentation.
            pub const ALL: [Format; [$(stringify!($Format)),*].len()] = [$(Format::$Format),*];

            /// The extensions of its files.
            pub fn extensions(self) -> &'static [&'static str] {
                match self { $(Format::$Format => &$extensions,)* }
            }
        }
    };
}

formats! {
    Svmlight = ["svm", "libsvm", "svmlight"];
    VowpalWabbit = ["vw"];
    Csv = ["csv"];
    Tsv = ["tsv"];
    JsonLines = ["jsonl", "ndjson"];
    Parquet = ["parquet"];
    Arrow = ["arrow", "feather", "ipc"];
    Npz = ["npz"];
    RowLog = ["tamislog"];
}

/// A compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named for the compressions")]
pub enum Compression {
    None,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// Extensions looked for in directories, for messages.
pub(super) fn known_extensions() -> String {
    let formats: String =
        Format::ALL.iter().flat_map(|format| format.extensions()).map(|one| format!(".{one} ")).collect();
    format!("{}, each also .gz .zst .bz2 .xz", formats.trim_end())
}

impl Format {
    /// The format with this extension, which is also its name in front ends.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.extensions().contains(&name))
    }

    /// Its name in front ends.
    pub fn name(self) -> &'static str {
        self.extensions()[0]
    }
}

impl Compression {
    /// The compression an extension stands for.
    pub fn from_extension(extension: &str) -> Option<Compression> {
        Some(match extension {
            "gz" => Compression::Gzip,
            "zst" => Compression::Zstd,
            "bz2" => Compression::Bzip2,
            "xz" => Compression::Xz,
            _ => return None,
        })
    }

    /// What the extension stands for, in words.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        }
    }
}

/// A file, standard input or bytes in memory, and how to read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The name in messages.
    pub name: String,
    /// Where it is; `None` is standard input, unless there is content.
    pub path: Option<PathBuf>,
    /// The content, if it is in memory. It is read as it is: compressed bytes are not decompressed.
    pub content: Option<Arc<[u8]>>,
    /// The format.
    pub format: Format,
    /// The compression by the extension (the content decides).
    pub compression: Compression,
}

impl Source {
    /// Bytes in memory; `name` is for messages.
    pub fn in_memory(name: &str, content: Arc<[u8]>, format: Format) -> Source {
        let (name, compression) = (name.to_string(), Compression::None);
        Source { name, path: None, content: Some(content), format, compression }
    }

    /// Whether it is standard input, a named pipe or a device, which may be silent for hours.
    pub(super) fn is_pipe(&self) -> bool {
        match &self.path {
            Some(path) => std::fs::metadata(path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()),
            None => self.content.is_none(),
        }
    }
}

/// Format and compression by a file's name.
pub fn recognise(path: &Path) -> (Option<Format>, Compression) {
    let extension = |path: &Path| path.extension().and_then(|e| e.to_str()).map(str::to_lowercase).unwrap_or_default();
    match Compression::from_extension(&extension(path)) {
        None => (Format::from_name(&extension(path)), Compression::None),
        Some(compression) => (Format::from_name(&extension(&path.with_extension(""))), compression),
    }
}

/// All files of `inputs`, in order: directories and patterns sorted by name.
pub fn expand(inputs: &[String], format: Option<Format>) -> Result<Vec<Source>, ReadError> {
    let mut sources = Vec::new();
    for input in inputs {
        match input.as_str() {
            "-" => sources.push(standard_input(format)?),
            _ if Path::new(input).is_dir() => sources.extend(directory(Path::new(input), format)?),
            _ if !Path::new(input).exists() && input.contains(['*', '?', '[']) => {
                sources.extend(pattern(input, format)?)
            }
            _ => sources.push(file(Path::new(input), format)?),
        }
    }
    Ok(sources)
}

fn standard_input(format: Option<Format>) -> Result<Source, ReadError> {
    let name = "<stdin>".to_string();
    let format = format.ok_or_else(|| ReadError::UnknownFormat { file: name.clone() })?;
    Ok(Source { name, path: None, content: None, format, compression: Compression::None })
}

fn file(path: &Path, format: Option<Format>) -> Result<Source, ReadError> {
    let (by_name, compression) = recognise(path);
    let name = path.display().to_string();
    if let Err(source) = std::fs::metadata(path) {
        return Err(ReadError::Open { path: path.to_path_buf(), source });
    }
    let format = format.or(by_name).ok_or_else(|| ReadError::UnknownFormat { file: name.clone() })?;
    Ok(Source { name, path: Some(path.to_path_buf()), content: None, format, compression })
}

fn directory(path: &Path, format: Option<Format>) -> Result<Vec<Source>, ReadError> {
    let mut files = Vec::new();
    data_files(path, MOST_LEVELS, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(ReadError::EmptyDirectory { path: path.to_path_buf() });
    }
    files.iter().map(|path| file(path, format)).collect()
}

/// Adds the data files of a directory and of its sub-directories. Hidden ones, and those that begin with an underscore,
/// hold no data.
fn data_files(path: &Path, levels: usize, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let entries = std::fs::read_dir(path).map_err(|source| ReadError::Open { path: path.to_path_buf(), source })?;
    for entry in entries.filter_map(Result::ok) {
        let (path, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() && levels > 0 {
            data_files(&path, levels - 1, files)?;
        } else if path.is_file() && recognise(&path).0.is_some() {
            files.push(path);
        }
    }
    Ok(())
}

/// How deep data may lie below a directory; a link that leads back up ends here, too.
const MOST_LEVELS: usize = 8;

fn pattern(pattern: &str, format: Option<Format>) -> Result<Vec<Source>, ReadError> {
    let bad = |error: glob::PatternError| ReadError::BadPattern { pattern: pattern.into(), reason: error.msg.into() };
    let mut files: Vec<PathBuf> =
        glob::glob(pattern).map_err(bad)?.filter_map(Result::ok).filter(|p| p.is_file()).collect();
    files.sort();
    if files.is_empty() {
        return Err(ReadError::NoMatch { pattern: pattern.to_string() });
    }
    files.iter().map(|path| file(path, format)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_of_its_own() {
        for format in Format::ALL {
            assert!(format.extensions().iter().all(|name| Format::from_name(name) == Some(format)), "{format:?}");
        }
        let known = known_extensions();
        assert!(
            known.starts_with(".svm .libsvm") && known.ends_with(".tamislog, each also .gz .zst .bz2 .xz"),
            "{known}"
        );
    }

    #[test]
    fn names_tell_format_and_compression() {
        let recognised = |name: &str| recognise(Path::new(name));
        assert_eq!(recognised("a/b.svm"), (Some(Format::Svmlight), Compression::None));
        assert_eq!(recognised("b.tar.CSV.gz"), (Some(Format::Csv), Compression::Gzip));
        assert_eq!(recognised("x.jsonl.zst"), (Some(Format::JsonLines), Compression::Zstd));
        assert_eq!(recognised("x.txt"), (None, Compression::None));
        assert_eq!(recognised("gz"), (None, Compression::None));
    }

    #[test]
    fn directories_patterns_and_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let complaint = |input: String| expand(&[input], None).unwrap_err().to_string();
        assert!(complaint(folder.path().display().to_string()).contains("no data files in this directory"));
        for name in ["b.svm", "a.svm.gz", "notes.txt"] {
            std::fs::write(at(name), "").unwrap();
        }
        let names = |inputs: &[String]| expand(inputs, None).unwrap().into_iter().map(|s| s.name).collect::<Vec<_>>();
        assert_eq!(names(&[folder.path().display().to_string()]), [at("a.svm.gz"), at("b.svm")]);
        for part in ["p/year=2023", "p/year=2024/month=1", "p/_tmp", "p/.cache"] {
            std::fs::create_dir_all(at(part)).unwrap();
            std::fs::write(at(&format!("{part}/part.csv")), "").unwrap();
        }
        assert_eq!(names(&[at("p")]), [at("p/year=2023/part.csv"), at("p/year=2024/month=1/part.csv")]);
        assert_eq!(names(&[at("*.svm"), at("a.svm.gz")]), [at("b.svm"), at("a.svm.gz")]);
        assert!(complaint(at("*.vw")).ends_with("no file matches"));
        assert!(complaint(at("none.svm")).contains("No such file"));
        assert!(complaint(at("notes.txt")).contains("use `format"));
        assert!(complaint("-".into()).contains("use `format"));
        assert_eq!(expand(&["-".into()], Some(Format::Csv)).unwrap()[0].name, "<stdin>");
    }
}
