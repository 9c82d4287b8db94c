//! Names that collide, for the tests of this crate and of the program.

/// Names of 32 bytes that all have one value under the hash of `rustc-hash`, which has no key: the last eight bytes
/// equal the state before them, so that the last product is zero, whatever the eight bytes in the middle are. They have no
/// comma and no quote, so that they can be cells of CSV.
pub fn colliding_names(count: usize) -> Vec<String> {
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let start = (0_u64..).map(|number| format!("{number:016}")).find_map(|head| {
        let word = |at: usize| u64::from_le_bytes(head.as_bytes()[at..at + 8].try_into().unwrap());
        let state = mix(0x243f_6a88_85a3_08d3 ^ word(0), 0xa409_3822_299f_31d0 ^ word(8)).to_le_bytes();
        let tail = std::str::from_utf8(&state).ok()?.to_string();
        tail.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',' && byte != b'"').then_some((head, tail))
    });
    let (head, tail) = start.expect("one state in a few thousand is plain text");
    (0..count).map(|number| format!("{head}{number:08}{tail}")).collect()
}
