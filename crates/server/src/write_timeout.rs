//! Connections with a time limit for writes: one whose other end takes nothing for too long is closed, and
//! with it all that was held for it.

use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use timestrata_engine::{Error, ErrorKind, Result};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;

/// A connection that fails when its other end has taken no byte for as long as it may.
#[derive(Debug)]
pub(crate) struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Runs from when a write began to wait until the other end takes something.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, timeout: Duration) -> Self {
        Self { stream, timeout, waiting: None }
    }

    /// What a write came to, or an error once it has waited for too long.
    fn bounded<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let timeout = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        waiting.as_mut().poll(context).map(|()| Err(timed_out(timeout)))
    }
}

fn timed_out(timeout: Duration) -> io::Error {
    let message = format!("the other end took nothing for {} ms", timeout.as_millis());
    io::Error::new(io::ErrorKind::TimedOut, message)
}

impl WriteTimeout<TcpStream> {
    /// Waits until the other end takes more: for who keeps nothing to be written meanwhile.
    ///
    /// # Errors
    /// `TimedOut` once it has waited for too long.
    pub(crate) async fn writable(&mut self) -> io::Result<()> {
        let timeout = self.timeout;
        self.waiting = None;
        let writable = tokio::time::timeout(timeout, self.stream.writable()).await;
        writable.unwrap_or_else(|_| Err(timed_out(timeout)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.bounded(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A listener whose connections are so.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: TcpListener,
    timeout: Duration,
}

impl Listener {
    /// Listens on an address.
    ///
    /// # Errors
    /// `Io` where it can't be listened on.
    pub(crate) async fn bind(address: SocketAddr, timeout: Duration) -> Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let message = format!("can't listen on {address}: {error}");
            Error::new(ErrorKind::Io, message).caused_by(error)
        })?;
        Ok(Self { listener, timeout })
    }

    /// Where it listens: a port of 0 has become another.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(|error| {
            Error::new(ErrorKind::Io, "the listener has no address").caused_by(error)
        })
    }
}

impl axum::serve::Listener for Listener {
    type Io = WriteTimeout<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        // Axum's own way to accept, which waits where there are no more file descriptors.
        let (stream, peer) = axum::serve::Listener::accept(&mut self.listener).await;
        // An answer in pieces must not wait for the client to confirm the one before.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection that delays small packets");
        }
        (WriteTimeout::new(stream, self.timeout), peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn who_takes_something_now_and_then_is_waited_for() {
        let (near, mut far) = duplex(8);
        let mut near = WriteTimeout::new(near, Duration::from_secs(1));
        let slow = tokio::spawn(async move {
            let mut taken = [0; 4];
            for _ in 0..6 {
                tokio::time::sleep(Duration::from_millis(250)).await;
                far.read_exact(&mut taken).await.unwrap();
            }
            far
        });
        near.write_all(&[1; 24]).await.unwrap();
        let _far = slow.await.unwrap();
        near.write_all(&[1; 8]).await.unwrap();
        let error = near.write_all(&[1; 8]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("1000 ms"), "{error}");
    }
}
