//! Compressed files, for the tests of this crate and of the program.

use std::io::Write as _;

/// The bytes in the compression of a file extension such as `.gz`; other extensions leave them as they are.
pub fn compressed(bytes: &[u8], extension: &str) -> Vec<u8> {
    match extension {
        ".gz" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        ".zst" => zstd::encode_all(bytes, 1).unwrap(),
        ".bz2" => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        ".xz" => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => bytes.to_vec(),
    }
}
