//! Mutation of files: what the tests of hostile input share. `TORTURE_SECONDS` and `TORTURE_SEED` are those of the
//! program's torture: about a minute of fixed cases in `make test`, longer and with new cases in `make torture`.

use std::time::Duration;

/// The time of one test of mutations, and the seed of its cases.
pub fn time_and_seed() -> (Duration, u64) {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = Duration::from_millis(variable("TORTURE_SECONDS").unwrap_or(60) * 1000 / 10);
    (time, variable("TORTURE_SEED").unwrap_or(1))
}

/// A small generator: the seed decides the cases.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// Pieces that mean something to some parser.
const PIECES: [&[u8]; 22] = [
    b"nan",
    b"inf",
    b"-1",
    b"1e308",
    b"5e-324",
    b"1e400",
    b"0",
    b"4294967295",
    b"18446744073709551616",
    b"\"",
    b",",
    b"\n",
    b"\r\n",
    b"\0",
    b":",
    b"|",
    b"{",
    b"}",
    b"[",
    b"null",
    b"\xff\xfe",
    b" ",
];

/// A seed with parts changed, removed, repeated, and joined with parts of another seed.
pub fn mutated(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(5) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(32)).min(bytes.len());
        match random.below(7) {
            _ if bytes.is_empty() => break,
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let to = (from + random.below(64)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => drop(bytes.splice(at..end.min(at + 3), PIECES[random.below(PIECES.len())].iter().copied())),
        }
    }
    bytes
}
