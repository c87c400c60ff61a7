//! Bodies that are sent bit by bit, to clients that may not read them.

use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::Receiver;
use tokio::time::{Sleep, sleep};

/// How long a client may take to read what is written to it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A body of what a channel gives. No part of it is taken before the client reads.
pub(super) struct ChannelBody(pub Receiver<Bytes>);

impl Body for ChannelBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(context)
            .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// How much of its answers a connection has not sent.
#[derive(Clone, Default)]
pub(super) struct Unsent(Arc<AtomicUsize>);

/// Something that is not sent until this is dropped.
pub(super) struct UnsentPart(Arc<AtomicUsize>);

impl Unsent {
    /// One thing more is not sent.
    pub(super) fn part(&self) -> UnsentPart {
        self.0.fetch_add(1, Ordering::Relaxed);
        UnsentPart(Arc::clone(&self.0))
    }

    /// Whether there is nothing that is not sent.
    pub(super) fn is_nothing(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

impl Drop for UnsentPart {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer, which is not sent before its end.
pub(super) struct UnsentBody {
    body: axum::body::Body,
    _part: UnsentPart,
}

impl UnsentBody {
    pub(super) fn new(body: axum::body::Body, part: UnsentPart) -> Self {
        Self { body, _part: part }
    }
}

impl Body for UnsentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection that fails if its client reads nothing for a while.
pub(super) struct ImpatientStream<S> {
    inner: S,
    unsent: Unsent,
    /// What to write, and when the wait for the client ends.
    until: Option<(UnsentPart, Pin<Box<Sleep>>)>,
}

impl<S> ImpatientStream<S> {
    pub(super) fn new(inner: S, unsent: Unsent) -> Self {
        Self {
            inner,
            unsent,
            until: None,
        }
    }
}

impl<S: Unpin> ImpatientStream<S> {
    /// Watches over a write: one that waits too long fails.
    fn watch<T>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.until = None;
            return written;
        }
        let Self { unsent, until, .. } = &mut *self;
        let (_, until) = until.get_or_insert_with(|| (unsent.part(), Box::pin(sleep(PATIENCE))));
        match until.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ImpatientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ImpatientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.watch(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
