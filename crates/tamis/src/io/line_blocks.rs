//! Cutting a byte stream into blocks of whole lines.

use std::io::{self, Read};

use super::decompress::{read_once, read_up_to};

/// Bytes of a block, and of one of a table. Small enough that its rows are learned before they leave the cache.
const BLOCK: usize = 1 << 16;
const TABLE_BLOCK: usize = 1 << 17;

/// Cuts at line ends; in tables only at those outside quotes. Every byte is examined once, so that a long line costs
/// no more than many short ones.
pub(super) struct BlockCutter {
    reader: Box<dyn Read + Send>,
    rest: Vec<u8>,
    quotes: bool,
    size: usize,
    /// Whether lines are handed on as they come: a block is then what one read gives.
    live: bool,
    longest_line: usize,
    ended: bool,
}

/// The result of a request for a block.
pub(super) enum NextBlock {
    Block(Vec<u8>),
    End,
    LongLine,
}

/// What is known of the block so far. Blocks begin outside quotes.
#[derive(Default)]
struct Scan {
    is_quoted: bool,
    /// One past the last line end that ends a record.
    end: Option<usize>,
}

impl BlockCutter {
    /// Lines may have `longest_line` bytes.
    pub(super) fn new(reader: Box<dyn Read + Send>, quotes: bool, live: bool, longest_line: usize) -> Self {
        let size = if quotes && !live { TABLE_BLOCK } else { BLOCK };
        BlockCutter { reader, rest: Vec::new(), quotes, size, live, longest_line, ended: false }
    }

    pub(super) fn next(&mut self) -> io::Result<NextBlock> {
        let mut block = std::mem::take(&mut self.rest);
        let mut scan = Scan::default();
        scan.examine(&block, 0, self.quotes);
        while !self.ended {
            let start = block.len();
            block.resize(start + self.size, 0);
            let length = match self.live {
                true => read_once(&mut self.reader, &mut block[start..])?,
                false => read_up_to(&mut self.reader, &mut block[start..])?,
            };
            block.truncate(start + length);
            self.ended = if self.live { length == 0 } else { length < self.size };
            scan.examine(&block, start, self.quotes);
            match scan.end {
                _ if self.ended => break,
                Some(end) => {
                    self.rest = block.split_off(end);
                    return Ok(NextBlock::Block(block));
                }
                None if block.len() > self.longest_line => return Ok(NextBlock::LongLine),
                None => {}
            }
        }
        if block.len() - scan.end.unwrap_or(0) > self.longest_line {
            return Ok(NextBlock::LongLine);
        }
        Ok(if block.is_empty() { NextBlock::End } else { NextBlock::Block(block) })
    }
}

impl Scan {
    /// Examines the bytes of the block from `start` on.
    fn examine(&mut self, block: &[u8], start: usize, quotes: bool) {
        let new = &block[start..];
        if !quotes || (!self.is_quoted && memchr::memchr(b'"', new).is_none()) {
            self.end = memchr::memrchr(b'\n', new).map(|at| start + at + 1).or(self.end);
            return;
        }
        for at in memchr::memchr2_iter(b'"', b'\n', new) {
            match new[at] {
                b'"' => self.is_quoted = !self.is_quoted,
                _ if !self.is_quoted => self.end = Some(start + at + 1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: Vec<u8>, quotes: bool) -> Vec<Vec<u8>> {
        let mut cutter = BlockCutter::new(Box::new(io::Cursor::new(text)), quotes, false, 1 << 30);
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
        let mut cutter = BlockCutter::new(Box::new(Pieces(pieces)), false, true, 1 << 30);
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

    #[test]
    fn every_byte_is_examined_once() {
        // A quote in the first piece of a long record: the state must survive from piece to piece.
        let long = [b"1,\"".to_vec(), vec![b'\n'; 5 << 20], b"\"\n2,x\n".to_vec()].concat();
        let blocks = cut(long.clone(), true);
        assert_eq!(blocks.concat(), long);
        assert!(blocks[0].len() > 5 << 20, "the quoted line ends do not cut");
        let started = std::time::Instant::now();
        cut(vec![b' '; 256 << 20], false);
        let once = started.elapsed();
        // Examined from the start for each piece, this line takes minutes.
        assert!(once < std::time::Duration::from_secs(20), "{once:?}");
    }

    #[test]
    fn a_line_beyond_the_limit_is_refused_with_and_without_an_end() {
        for end in [&b""[..], b"\n1 2:3\n"] {
            for quotes in [false, true] {
                let text = [vec![b' '; 3 << 20], end.to_vec()].concat();
                let mut cutter = BlockCutter::new(Box::new(io::Cursor::new(text)), quotes, false, 1 << 20);
                assert!(matches!(cutter.next().unwrap(), NextBlock::LongLine));
            }
        }
    }
}
