//! How fast one core turns svmlight text in memory into rows: `parse_speed FILE [ROUNDS]`. It prints the median of the rounds.

use std::time::Instant;

use tamis::data::RawRows;
use tamis::parse::parse_lines;
use tamis::parse::svmlight::Svmlight;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: parse_speed FILE [ROUNDS]");
    let rounds: usize = arguments.next().map_or(5, |text| text.parse().expect("a number of rounds"));
    let text = std::fs::read(&file).expect("the file can be read");
    let mut times = Vec::new();
    let mut counts = (0, 0);
    for _ in 0..rounds {
        let started = Instant::now();
        counts = (0, 0);
        let mut start = 0;
        while start < text.len() {
            // Blocks as the program reads them: rows stay in the cache.
            let end = text.len().min(start + (1 << 20));
            let end = memchr::memchr(b'\n', &text[end..]).map_or(text.len(), |length| end + length + 1);
            let (mut rows, mut errors) = (RawRows::for_text(end - start), Vec::new());
            parse_lines(&text[start..end], &Svmlight::default(), &mut rows, &mut errors);
            assert!(errors.is_empty(), "{errors:?}");
            counts.0 += rows.len();
            counts.1 += (0..rows.len()).map(|row| rows.first_and_last(row).0).sum::<usize>();
            start = end;
        }
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!("{:.0} MB/s, {} rows, {} entries, {median:.3} s", text.len() as f64 / 1e6 / median, counts.0, counts.1);
}
