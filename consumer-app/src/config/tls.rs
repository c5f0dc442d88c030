//! Keys of encrypted connections, in effect when `security.protocol` is `SSL` or `SASL_SSL`.

use super::ConsumerConfig;
use super::choice::{EndpointIdentification, StoreType, TlsVersion};
use super::feature::Feature;
use super::key::{ConfigKey, Field, Nature, Slot};
use super::kind::{Kind, ListOf, OneOf, Optional, Password, Shown, Text, shown_by_copy};
use super::secret::Secret;
use super::section::{returned, section};

shown_by_copy!(EndpointIdentification, StoreType, TlsVersion);

section! {
    /// TLS.
    Tls in tls, Some(Feature::Tls);

    /// The version of TLS that is tried first.
    "ssl.protocol" => pub ssl_protocol: TlsVersion = OneOf::<TlsVersion>::exactly(), TlsVersion::Tls13;

    /// The versions of TLS that are allowed.
    "ssl.enabled.protocols" => pub ssl_enabled_protocols: Vec<TlsVersion> as &[TlsVersion]
        = ListOf(OneOf::<TlsVersion>::exactly()), vec![TlsVersion::Tls12, TlsVersion::Tls13];

    /// The cipher suites that are allowed; empty for all.
    "ssl.cipher.suites" => pub ssl_cipher_suites: Vec<String> as &[String]
        = ListOf(Text::NOT_EMPTY), Vec::new();

    /// How the broker's name is checked against its certificate; an empty value turns the check off.
    "ssl.endpoint.identification.algorithm" => pub ssl_endpoint_identification_algorithm: EndpointIdentification
        = OneOf::<EndpointIdentification>::in_any_case(), EndpointIdentification::Https;

    /// The form of the store with this client's own key.
    "ssl.keystore.type" => pub ssl_keystore_type: StoreType
        = OneOf::<StoreType>::in_any_case(), StoreType::Jks;

    /// The file with this client's own key and certificates.
    "ssl.keystore.location" => pub ssl_keystore_location: Option<String> as Option<&str>
        = Optional(Text::ANY), None;

    /// The password of that file.
    "ssl.keystore.password" => pub ssl_keystore_password: Option<Secret> as Option<&Secret> = Password, None;

    /// This client's own key, as PEM text (KIP-651).
    "ssl.keystore.key" => pub ssl_keystore_key: Option<Secret> as Option<&Secret> = Password, None;

    /// The certificates of that key, as PEM text (KIP-651).
    "ssl.keystore.certificate.chain" => pub ssl_keystore_certificate_chain: Option<Secret> as Option<&Secret>
        = Password, None;

    /// The password of the key itself.
    "ssl.key.password" => pub ssl_key_password: Option<Secret> as Option<&Secret> = Password, None;

    /// The form of the store with the certificates that are trusted.
    "ssl.truststore.type" => pub ssl_truststore_type: StoreType
        = OneOf::<StoreType>::in_any_case(), StoreType::Jks;

    /// The file with the certificates that are trusted.
    "ssl.truststore.location" => pub ssl_truststore_location: Option<String> as Option<&str>
        = Optional(Text::ANY), None;

    /// The password of that file.
    "ssl.truststore.password" => pub ssl_truststore_password: Option<Secret> as Option<&Secret>
        = Password, None;

    /// The certificates that are trusted, as PEM text (KIP-651).
    "ssl.truststore.certificates" => pub ssl_truststore_certificates: Option<Secret> as Option<&Secret>
        = Password, None;
}
