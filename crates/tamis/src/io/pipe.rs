//! Standard input and named pipes that can be left while they wait: a pipe may be silent for hours, and a request to stop
//! must be heard.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often a waiting reader looks whether it should stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Bytes read at once, and how many such pieces are read ahead.
const PIECE: usize = 1 << 16;
const AHEAD: usize = 2;

/// The reason of an [`io::Error`] after a request to stop.
#[derive(Debug, thiserror::Error)]
#[error("stopped")]
pub(super) struct Stopped;

/// A reader fed by a thread of its own, which is the only one that waits for input.
pub(super) struct Pipe {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
    stop: Arc<AtomicBool>,
}

impl Pipe {
    pub(super) fn standard_input(stop: Arc<AtomicBool>) -> Self {
        Self::of(|| Ok(io::stdin()), stop)
    }

    /// A named pipe, or a device. To open it waits for somebody who writes.
    pub(super) fn named(path: PathBuf, stop: Arc<AtomicBool>) -> Self {
        Self::of(|| File::open(path), stop)
    }

    fn of<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static, stop: Arc<AtomicBool>) -> Self {
        let (sender, pieces) = sync_channel(AHEAD);
        std::thread::spawn(move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => return drop(sender.send(Err(error))),
            };
            let mut buffer = vec![0; PIECE];
            loop {
                let piece = match input.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(length) => Ok(buffer[..length].to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let is_last = piece.is_err();
                if sender.send(piece).is_err() || is_last {
                    return;
                }
            }
        });
        Pipe { pieces, piece: Cursor::default(), stop }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.piece.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            match self.pieces.recv_timeout(LOOK_EVERY) {
                Ok(piece) => self.piece = Cursor::new(piece?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Err(io::Error::other(Stopped));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive_in_order() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|byte| byte as u8).collect();
        let (mut read, copy) = (Vec::new(), Cursor::new(bytes.clone()));
        Pipe::of(|| Ok(copy), Arc::default()).read_to_end(&mut read).unwrap();
        assert_eq!(read, bytes);
    }

    /// Never has anything to say.
    struct Silent;

    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_secs(3600));
            Ok(0)
        }
    }

    #[test]
    fn a_silent_input_is_left_when_that_is_asked() {
        let stop = Arc::new(AtomicBool::new(false));
        let mut input = Pipe::of(|| Ok(Silent), stop.clone());
        stop.store(true, Ordering::Relaxed);
        let error = input.read(&mut [0; 8]).unwrap_err();
        assert!(error.get_ref().is_some_and(|reason| reason.is::<Stopped>()));
    }
}
