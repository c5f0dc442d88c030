//! Values that are one of a few names: each is an enum whose texts are those of the Java client.

use std::fmt;

use session_actor::wire::fetch::IsolationLevel;

use super::feature::Feature;

/// A value that is one of a few names.
pub(super) trait Choice: Copy + PartialEq + 'static {
    /// All values, in the order in which they are shown to the user.
    const ALL: &'static [Self];

    /// The name in a configuration.
    fn name(self) -> &'static str;
}

macro_rules! choice {
    ($(#[$about:meta])* $choice:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $choice {
            $($(#[$doc])* $variant,)+
        }

        impl $choice {
            /// The name that Kafka's configuration has for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl Choice for $choice {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn name(self) -> &'static str {
                self.as_str()
            }
        }

        impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// `isolation.level` (KIP-98). The type is the one that requests carry.
impl Choice for IsolationLevel {
    const ALL: &'static [Self] = &[Self::ReadUncommitted, Self::ReadCommitted];

    fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read_uncommitted",
            Self::ReadCommitted => "read_committed",
        }
    }
}

choice! {
    /// The protocol that a group speaks, `group.protocol`.
    GroupProtocol {
        /// JoinGroup and SyncGroup: the members compute the assignment.
        Classic = "classic",
        /// One heartbeat request: the coordinator computes the assignment (KIP-848).
        Consumer = "consumer",
    }
}

choice! {
    /// How the members of a classic group divide the partitions, `partition.assignment.strategy`.
    Assignor {
        /// Ranges of each topic's partitions.
        Range = "range",
        /// All partitions dealt out in turn.
        RoundRobin = "roundrobin",
        /// Even, and as little moved as possible; stops all members for a rebalance.
        Sticky = "sticky",
        /// As `Sticky`, but only what moves is stopped (KIP-429).
        CooperativeSticky = "cooperative-sticky",
    }
}

choice! {
    /// What happens when no known broker can be reached, `metadata.recovery.strategy` (KIP-899).
    MetadataRecoveryStrategy {
        /// Begin again with `bootstrap.servers`.
        Rebootstrap = "rebootstrap",
        /// Go on with the brokers known.
        None = "none",
    }
}

choice! {
    /// How connections are secured, `security.protocol`.
    SecurityProtocol {
        /// Neither encrypted nor authenticated.
        Plaintext = "PLAINTEXT",
        /// TLS.
        Ssl = "SSL",
        /// SASL over an unencrypted connection.
        SaslPlaintext = "SASL_PLAINTEXT",
        /// SASL over TLS.
        SaslSsl = "SASL_SSL",
    }
}

impl SecurityProtocol {
    /// Whether connections are encrypted.
    #[must_use]
    pub const fn uses_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether connections are authenticated with SASL.
    #[must_use]
    pub const fn uses_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }

    /// What the consumer must have for it.
    pub(super) fn features(self) -> impl Iterator<Item = Feature> {
        let tls = self.uses_tls().then_some(Feature::Tls);
        let sasl = self.uses_sasl().then_some(Feature::Sasl);
        tls.into_iter().chain(sasl)
    }
}

choice! {
    /// How SASL authenticates, `sasl.mechanism`.
    SaslMechanism {
        /// Kerberos.
        Gssapi = "GSSAPI",
        /// User name and password, sent as they are.
        Plain = "PLAIN",
        /// Salted challenge and response (RFC 5802, RFC 7677).
        ScramSha256 = "SCRAM-SHA-256",
        /// Salted challenge and response with the longer hash.
        ScramSha512 = "SCRAM-SHA-512",
        /// A bearer token (KIP-255, KIP-768).
        OauthBearer = "OAUTHBEARER",
    }
}

choice! {
    /// The form of a key store or trust store, `ssl.keystore.type` and `ssl.truststore.type`.
    StoreType {
        /// Java's own key store.
        Jks = "JKS",
        /// PKCS #12.
        Pkcs12 = "PKCS12",
        /// PEM, in a file or inline (KIP-651).
        Pem = "PEM",
    }
}

choice! {
    /// A version of TLS, `ssl.protocol` and `ssl.enabled.protocols`.
    TlsVersion {
        /// TLS 1.2.
        Tls12 = "TLSv1.2",
        /// TLS 1.3.
        Tls13 = "TLSv1.3",
    }
}

choice! {
    /// How the broker's name is checked against its certificate, `ssl.endpoint.identification.algorithm`.
    EndpointIdentification {
        /// As HTTPS does it (RFC 2818).
        Https = "https",
        /// Not at all.
        Off = "",
    }
}
