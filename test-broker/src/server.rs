use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::connection::Connection;
use crate::listener::Listener;
use crate::shared::Shared;

/// Between two attempts to accept a connection when there is something wrong, such as too many open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Serves the connections of a listener as those of a node, until the node is stopped.
pub(crate) fn serve<L: Listener>(shared: &Arc<Shared>, node: i32, mut listener: L) {
    let Some(tasks) = shared.node(node) else {
        return;
    };
    let for_task = Arc::clone(shared);
    tasks.spawn(async move {
        loop {
            match listener.accept().await {
                Ok(stream) => connect(&for_task, node, stream),
                Err(error) => {
                    tracing::warn!(node, %error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    });
}

/// Serves one connection as one of a node.
pub(crate) fn connect<S>(shared: &Arc<Shared>, node: i32, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if let Some(tasks) = shared.node(node) {
        tasks.spawn(Connection::open(Arc::clone(shared), node, stream).run());
    }
}
