//! Connectors are code of users: a panic in one is an error of that connection, not the end of an actor.

use std::any::Any;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use super::{Connect, Stream};

/// As [`Connect::connect`], whatever happens in it.
pub(crate) async fn connect(connector: &dyn Connect, host: &str, port: u16) -> io::Result<Stream> {
    // after a panic nothing of it is touched again but to be dropped
    let begun = catch_unwind(AssertUnwindSafe(|| connector.connect(host, port)));
    let mut connecting = begun.map_err(|panic| panicked(&*panic))?;
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| connecting.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    })
    .await
}

fn panicked(panic: &(dyn Any + Send)) -> io::Error {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    io::Error::other(format!(
        "the connector panicked: {}",
        said.unwrap_or("it did not say why")
    ))
}
