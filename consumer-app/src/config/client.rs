//! Keys of the client as a whole: brokers, connections, retries, metadata.

use std::time::Duration;

use super::ConsumerConfig;
use super::bootstrap::BootstrapServers;
use super::choice::{MetadataRecoveryStrategy, SecurityProtocol};
use super::key::{ConfigKey, Field, Nature, Slot};
use super::kind::{
    Flag, Kind, Number, OneOf, OrMinusOne, Protocol, Servers, Shown, Span, Text, shown_by_copy,
};
use super::section::{returned, section};

shown_by_copy!(MetadataRecoveryStrategy, SecurityProtocol);

section! {
    /// Brokers, connections, retries, metadata.
    Client in client, None;

    /// The brokers to begin with; the others are learned from them. Name two or more, in case one is down.
    "bootstrap.servers" => pub bootstrap_servers: BootstrapServers as &BootstrapServers
        = Servers, BootstrapServers::default();

    /// The name under which brokers log and limit this client's requests.
    "client.id" => pub client_id: String as &str = Text::SENT, String::new();

    /// The rack or zone of this client, so that it may read from the nearest replica (KIP-392).
    "client.rack" => pub client_rack: String as &str = Text::SENT, String::new();

    /// How connections are secured.
    "security.protocol" => pub security_protocol: SecurityProtocol
        = Protocol, SecurityProtocol::Plaintext;

    /// How long a request may wait for its answer before the connection is given up.
    "request.timeout.ms" => pub request_timeout: Duration = Span::int_ms(0), Duration::from_secs(30);

    /// How long a call like commit or a lookup of offsets may take, retries included, and how long no broker may be
    /// reachable before `poll` says so.
    "default.api.timeout.ms" => pub default_api_timeout: Duration = Span::int_ms(0), Duration::from_secs(60);

    /// The pause before a failed request is sent again; it doubles with each failure (KIP-580).
    "retry.backoff.ms" => pub retry_backoff: Duration = Span::long_ms(0), Duration::from_millis(100);

    /// The longest pause before a failed request is sent again.
    "retry.backoff.max.ms" => pub retry_backoff_max: Duration = Span::long_ms(0), Duration::from_secs(1);

    /// The pause before a lost connection is opened again; it doubles with each failure.
    "reconnect.backoff.ms" => pub reconnect_backoff: Duration = Span::long_ms(0), Duration::from_millis(50);

    /// The longest pause before a lost connection is opened again.
    "reconnect.backoff.max.ms" => pub reconnect_backoff_max: Duration
        = Span::long_ms(0), Duration::from_secs(1);

    /// How long a connection may take to be there; it doubles with each failure (KIP-601).
    "socket.connection.setup.timeout.ms" => pub socket_connection_setup_timeout: Duration
        = Span::long_ms(1), Duration::from_secs(10);

    /// The longest that a connection may ever take to be there.
    "socket.connection.setup.timeout.max.ms" => pub socket_connection_setup_timeout_max: Duration
        = Span::long_ms(1), Duration::from_secs(30);

    /// A connection without traffic is closed after this time.
    "connections.max.idle.ms" => pub connections_max_idle: Option<Duration>
        = OrMinusOne::new(Span::long_ms(0), "never"), Some(Duration::from_secs(540));

    /// The socket's send buffer in bytes.
    "send.buffer.bytes" => pub send_buffer_bytes: Option<u32>
        = OrMinusOne::new(Number::int(1), "the operating system decides"), Some(131_072);

    /// The socket's receive buffer in bytes. Java's default of 65536 allows no more than about 1 MB/s over a link of
    /// 100 ms, so here the operating system decides, which adapts.
    "receive.buffer.bytes" => pub receive_buffer_bytes: Option<u32>
        = OrMinusOne::new(Number::int(1), "the operating system decides"), None;

    /// How old metadata may become before it is asked for again; also how long a nearer replica is read before the
    /// leader is asked anew.
    "metadata.max.age.ms" => pub metadata_max_age: Duration = Span::long_ms(0), Duration::from_secs(300);

    /// What happens when none of the known brokers can be reached (KIP-899).
    "metadata.recovery.strategy" => pub metadata_recovery_strategy: MetadataRecoveryStrategy
        = OneOf::<MetadataRecoveryStrategy>::in_any_case(), MetadataRecoveryStrategy::Rebootstrap;

    /// How long no known broker may give metadata before the client begins again with `bootstrap.servers` (KIP-1102).
    "metadata.recovery.rebootstrap.trigger.ms" => pub metadata_recovery_rebootstrap_trigger: Duration
        = Span::long_ms(0), Duration::from_secs(300);

    /// Whether asking for a topic that does not exist may create it, if the broker allows that.
    "allow.auto.create.topics" => pub allow_auto_create_topics: bool = Flag, true;
}
