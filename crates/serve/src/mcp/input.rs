//! Stdin, which tells at once that it has ended.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch::Sender;

/// Reads from `inner` and sets `ended` at its end. Without it, a subscription would hold the end up for seconds: the
/// protocol waits for answers that are still to be sent.
pub(super) struct EndingInput<R> {
    pub inner: R,
    pub ended: Sender<bool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for EndingInput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if read.is_ready() && buffer.filled().len() == before {
            self.ended.send_replace(true);
        }
        read
    }
}
