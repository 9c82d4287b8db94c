//! Cutting a byte stream into blocks of whole lines.

use std::io::{self, Read};

use super::decompress::{read_once, read_up_to};

/// Bytes of a block. Small enough that its rows are learned before they leave the cache.
const BLOCK: usize = 1 << 16;
/// Bytes of a block of a table. The types of the columns are inferred from the first block, so its size is fixed and
/// does not depend on threads or memory.
const TABLE_BLOCK: usize = 1 << 20;
const LONGEST_LINE: usize = 1 << 30;

/// Cuts at line ends; in tables only at those outside quotes.
pub(super) struct BlockCutter {
    reader: Box<dyn Read + Send>,
    rest: Vec<u8>,
    quotes: bool,
    size: usize,
    /// Whether lines are handed on as they come: a block is then what one read gives.
    live: bool,
    ended: bool,
}

/// The result of a request for a block.
pub(super) enum NextBlock {
    Block(Vec<u8>),
    End,
    LongLine,
}

impl BlockCutter {
    pub(super) fn new(reader: Box<dyn Read + Send>, quotes: bool, live: bool) -> Self {
        let size = if quotes && !live { TABLE_BLOCK } else { BLOCK };
        BlockCutter { reader, rest: Vec::new(), quotes, size, live, ended: false }
    }

    pub(super) fn next(&mut self) -> io::Result<NextBlock> {
        let mut block = std::mem::take(&mut self.rest);
        while !self.ended {
            let start = block.len();
            block.resize(start + self.size, 0);
            let length = match self.live {
                true => read_once(&mut self.reader, &mut block[start..])?,
                false => read_up_to(&mut self.reader, &mut block[start..])?,
            };
            block.truncate(start + length);
            self.ended = if self.live { length == 0 } else { length < self.size };
            match self.last_line_end(&block) {
                _ if self.ended => break,
                Some(end) => {
                    self.rest = block.split_off(end);
                    return Ok(NextBlock::Block(block));
                }
                None if block.len() > LONGEST_LINE => return Ok(NextBlock::LongLine),
                None => {}
            }
        }
        Ok(if block.is_empty() { NextBlock::End } else { NextBlock::Block(block) })
    }

    /// One past the last line end that ends a record. Blocks begin outside quotes.
    fn last_line_end(&self, block: &[u8]) -> Option<usize> {
        if !self.quotes || memchr::memchr(b'"', block).is_none() {
            return memchr::memrchr(b'\n', block).map(|at| at + 1);
        }
        let (mut quoted, mut end) = (false, None);
        for at in memchr::memchr2_iter(b'"', b'\n', block) {
            match block[at] {
                b'"' => quoted = !quoted,
                _ if !quoted => end = Some(at + 1),
                _ => {}
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: Vec<u8>, quotes: bool) -> Vec<Vec<u8>> {
        let mut cutter = BlockCutter::new(Box::new(io::Cursor::new(text)), quotes, false);
        let mut blocks = Vec::new();
        while let NextBlock::Block(block) = cutter.next().unwrap() {
            blocks.push(block);
        }
        blocks
    }

    #[test]
    fn blocks_are_whole_lines_and_lose_nothing() {
        let text: Vec<u8> = (0..300_000).flat_map(|i| format!("line {i}\n").into_bytes()).chain(*b"no end").collect();
        let blocks = cut(text.clone(), false);
        assert!(blocks.len() > 3);
        assert!(blocks[..blocks.len() - 1].iter().all(|block| block.ends_with(b"\n")));
        assert_eq!(blocks.concat(), text);
    }

    #[test]
    fn quoted_line_ends_do_not_end_a_record() {
        let record = b"1,\"two\nlines\"\n".to_vec();
        let text = record.repeat(200_000);
        for block in cut(text, true) {
            assert_eq!(block.len() % record.len(), 0);
        }
    }

    /// A pipe whose writer pauses after each piece.
    struct Pieces(Vec<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0);
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn live_lines_do_not_wait_for_a_full_block() {
        let pieces: Vec<&[u8]> = vec![b"one\ntw", b"o\n", b"thr", b"ee\nfour"];
        let mut cutter = BlockCutter::new(Box::new(Pieces(pieces)), false, true);
        let mut next = || match cutter.next().unwrap() {
            NextBlock::Block(block) => String::from_utf8(block).unwrap(),
            _ => String::new(),
        };
        assert_eq!([next(), next(), next(), next(), next()], ["one\n", "two\n", "three\n", "four", ""]);
    }

    #[test]
    fn nothing_gives_no_block() {
        assert!(cut(Vec::new(), false).is_empty());
    }
}
