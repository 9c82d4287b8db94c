//! What a handler left of a request body. A client that sends its body before it reads must get its answer all the same: a
//! connection that is closed with unread bytes is reset, and the answer may be lost with it.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a connection is read from after its last answer, if the client still sends.
const LINGER: Duration = Duration::from_secs(2);

/// Whether the client of a connection may still send a body that nobody reads.
#[derive(Clone, Default)]
pub struct Unread(Arc<AtomicBool>);

/// The place where an unread body is left.
#[derive(Clone, Default)]
pub struct Leftover {
    body: Arc<Mutex<Option<Body>>>,
    unread: Unread,
}

/// A body that is left for [`Leftover::drain`] when its reader drops it.
struct Lent {
    body: Option<Body>,
    left: Leftover,
}

impl Unread {
    /// A client that certainly sends.
    pub fn certain() -> Self {
        Unread(Arc::new(AtomicBool::new(true)))
    }
}

impl Leftover {
    /// The request with a body that is left here when it is dropped.
    pub fn of(request: Request) -> (Request, Leftover) {
        let unread = request.extensions().get::<Unread>().cloned().unwrap_or_default();
        let (left, body) = (Leftover { body: Arc::default(), unread }, request.body());
        if body.is_end_stream() {
            return (request, left);
        }
        let lent = left.clone();
        (request.map(|body| Body::new(Lent { body: Some(body), left: lent })), left)
    }

    /// Reads what is left of the body, at most `bytes` and for at most `time`; nothing is kept. If there is more, the
    /// answer says that the connection ends. A client that waits for `100 Continue` has sent nothing and is not asked to.
    pub async fn drain<T>(&self, answer: &mut Response<T>, waits: bool, bytes: usize, time: Duration) {
        let body = self.body.lock().expect("no thread panicked").take();
        let Some(body) = body else { return };
        let is_drained = !waits
            && body.size_hint().lower() <= bytes as u64
            && tokio::time::timeout(time, discard(body, bytes)).await.unwrap_or(false);
        if !is_drained {
            self.unread.0.store(true, Ordering::Relaxed);
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads a body to its end; whether it had at most `most` bytes.
async fn discard(mut body: Body, most: usize) -> bool {
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > most {
            return false;
        }
    }
    true
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = self.body.as_mut().map_or(Poll::Ready(None), |body| Pin::new(body).poll_frame(context));
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.left.body.lock().expect("no thread panicked") = Some(body);
        }
    }
}

/// A connection that is read from for a while after it is shut down for writing if its client still sends, so that the
/// client can read its answer before the connection ends.
pub struct Lingering<S> {
    stream: S,
    unread: Unread,
    end: Option<Pin<Box<Sleep>>>,
}

impl<S> Lingering<S> {
    /// The connection.
    pub fn new(stream: S, unread: Unread) -> Self {
        Lingering { stream, unread, end: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, from)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        if self.end.is_none() {
            std::task::ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            if !self.unread.0.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
            self.end = Some(Box::pin(tokio::time::sleep(LINGER)));
        }
        loop {
            let this = &mut *self;
            if this.end.as_mut().is_none_or(|end| end.as_mut().poll(context).is_ready()) {
                return Poll::Ready(Ok(()));
            }
            let mut bytes = [0; 8192];
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = std::task::ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
