//! `GET /v1/events`: the model in numbers each time it changes, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::stream::{self, Stream, StreamExt};
use tokio::sync::broadcast::error::RecvError;

use crate::app::App;

/// The last events at once, then new ones until the client or the server ends.
pub async fn events(State(app): State<Arc<App>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (past, future) = app.listen();
    let event = |text: Arc<str>| Ok(Event::default().event("model").data(&*text));
    let live = stream::unfold((future, app.stopping()), move |(mut future, mut stop)| async move {
        loop {
            let received = tokio::select! {
                received = future.recv() => received,
                _ = stop.wait_for(|stop| *stop) => return None,
            };
            match received {
                Ok(text) => return Some((event(text), (future, stop))),
                // A slow client misses events; the next one has all numbers.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    let all = stream::iter(past.into_iter().map(event)).chain(live);
    Sse::new(all).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}
