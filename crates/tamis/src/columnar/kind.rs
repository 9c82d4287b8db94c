//! The columnar formats.

use std::fmt;

/// The columnar formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnarKind {
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC: the file format (Feather version 2) or the stream format.
    Ipc,
    /// A CSR matrix as `scipy.sparse.save_npz` writes it.
    Npz,
    /// Record batches in memory.
    Memory,
}

impl fmt::Display for ColumnarKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnarKind::Parquet => "Parquet",
            ColumnarKind::Ipc => "Arrow IPC",
            ColumnarKind::Npz => "npz",
            ColumnarKind::Memory => "Arrow",
        })
    }
}
