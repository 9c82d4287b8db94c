//! What a columnar file may ask for.

/// What a file may ask for, checked before memory is used.
#[derive(Clone, Copy, Debug)]
pub struct ColumnarLimits {
    /// Bytes of the entries of one row.
    pub row: u64,
    /// Bytes of a compressed batch of Arrow IPC in memory.
    pub batch: u64,
}

impl Default for ColumnarLimits {
    fn default() -> Self {
        ColumnarLimits { row: 64 << 20, batch: 4 << 30 }
    }
}

#[cfg(feature = "columnar")]
impl ColumnarLimits {
    /// Bytes of an entry: its id and its value.
    const ENTRY: u64 = 12;

    /// The largest number of entries of a row.
    pub(super) fn entries(&self) -> u64 {
        self.row / Self::ENTRY
    }
}
