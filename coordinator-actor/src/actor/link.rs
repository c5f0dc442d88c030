//! The connection to one broker, made when it is first needed.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use session_actor::wire::connect::Connect;
use session_actor::wire::control::{ControlClient, MAX_RESPONSE_BYTES};
use session_actor::wire::{Peer, WireError};
use tokio::sync::OnceCell;

/// How connections are made.
#[derive(Clone)]
pub struct LinkOptions {
    /// `client.id`.
    pub client_id: Arc<str>,
    /// `socket.connection.setup.timeout.ms`.
    pub setup_timeout: Duration,
    /// Makes them.
    pub connector: Arc<dyn Connect>,
}

/// Cheap to clone; the connection closes with the last clone.
#[derive(Clone)]
pub(super) struct Link {
    peer: Peer,
    options: LinkOptions,
    client: Rc<OnceCell<ControlClient>>,
}

impl Link {
    pub(super) fn new(peer: Peer, options: LinkOptions) -> Self {
        Self {
            peer,
            options,
            client: Rc::default(),
        }
    }

    pub(super) fn leads_to(&self, peer: &Peer) -> bool {
        self.peer == *peer
    }

    /// The connection, which the first who needs it makes while others wait for it.
    pub(super) async fn client(&self, limit: Duration) -> Result<ControlClient, WireError> {
        let connect = || async {
            ControlClient::connect(
                self.options.connector.as_ref(),
                self.peer.clone(),
                &self.options.client_id,
                MAX_RESPONSE_BYTES,
                limit.min(self.options.setup_timeout),
            )
            .await
        };
        self.client.get_or_try_init(connect).await.cloned()
    }
}
