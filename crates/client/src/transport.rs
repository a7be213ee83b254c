//! Waiting for bytes in short looks, so that whoever waits can be told to stop.
//!
//! It stands between the socket and TLS, so that both wait in the same way.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

/// How long one look for bytes takes at most: as long it may take to give up.
const LOOK: Duration = Duration::from_millis(100);

/// Says whether an answer is still wanted.
pub(crate) type IsWanted = Arc<dyn Fn() -> bool + Send + Sync>;

/// Makes connections that give up when nobody wants their answer any more.
pub(crate) struct WatchedConnector(pub(crate) Option<IsWanted>);

impl fmt::Debug for WatchedConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedConnector")
    }
}

impl<In: Transport> Connector<In> for WatchedConnector {
    type Out = WatchedTransport<In>;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(|inner| WatchedTransport { inner, is_wanted: self.0.clone() }))
    }
}

/// A connection that somebody watches.
pub(crate) struct WatchedTransport<T> {
    inner: T,
    is_wanted: Option<IsWanted>,
}

impl<T: Transport> fmt::Debug for WatchedTransport<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: Transport> Transport for WatchedTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let whole = timeout.for_read();
        let mut left = *whole.after;
        loop {
            let look = left.min(LOOK);
            let one = NextTimeout { after: look.into(), per_read: None, ..whole };
            match self.inner.await_input(one) {
                Err(Error::Timeout(_)) => {}
                done => return done,
            }
            if self.is_wanted.as_ref().is_some_and(|is_wanted| !is_wanted()) {
                return Err(io::Error::other("nobody wants the answer any more").into());
            }
            left -= look;
            if left.is_zero() {
                return Err(Error::Timeout(whole.reason));
            }
        }
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
