//! How fast one thread turns a file of any format into rows, with the roles of its columns known: `read_speed FILE [ROUNDS]`.
//! It prints the median of the rounds.

use std::time::Instant;

use tamis::io::{ReadOptions, RowStream, expand};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: read_speed FILE [ROUNDS]");
    let rounds: usize = arguments.next().map_or(5, |text| text.parse().expect("a number of rounds"));
    let bytes = std::fs::metadata(&file).expect("the file can be read").len();
    let mut times = Vec::new();
    let mut counts = (0, 0);
    for _ in 0..rounds {
        let started = Instant::now();
        counts = (0, 0);
        let sources = expand(std::slice::from_ref(&file), None).expect("the format is known by the name");
        let mut stream = RowStream::open(sources, ReadOptions { threads: 1, ..ReadOptions::default() });
        while let Some(block) = stream.next_block().expect("the file is a table") {
            counts.0 += block.rows.len();
            counts.1 += (0..block.rows.len()).map(|row| block.rows.first_and_last(row).0).sum::<usize>();
        }
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!("{:.0} MB/s, {} rows, {} entries, {median:.3} s", bytes as f64 / 1e6 / median, counts.0, counts.1);
}
