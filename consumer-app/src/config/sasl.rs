//! Keys of authentication, in effect when `security.protocol` is `SASL_PLAINTEXT` or `SASL_SSL`.

use std::time::Duration;

use super::ConsumerConfig;
use super::choice::SaslMechanism;
use super::feature::Feature;
use super::key::{ConfigKey, Field, Nature, Slot};
use super::kind::{
    Flag, Kind, Number, OneOf, Optional, Password, Shown, Span, Text, shown_by_copy,
};
use super::secret::Secret;
use super::section::{returned, section};

shown_by_copy!(SaslMechanism);

section! {
    /// SASL.
    Sasl in sasl, Some(Feature::Sasl);

    /// How this client authenticates.
    "sasl.mechanism" => pub sasl_mechanism: SaslMechanism
        = OneOf::<SaslMechanism>::exactly(), SaslMechanism::Gssapi;

    /// The credentials, in the notation of a JAAS entry.
    "sasl.jaas.config" => pub sasl_jaas_config: Option<Secret> as Option<&Secret> = Password, None;

    /// A token is renewed when this share of its life is over.
    "sasl.login.refresh.window.factor" => pub sasl_login_refresh_window_factor: f64
        = Number::double(0.5, 1.0), 0.8;

    /// The most that chance adds to that share.
    "sasl.login.refresh.window.jitter" => pub sasl_login_refresh_window_jitter: f64
        = Number::double(0.0, 0.25), 0.05;

    /// The least time between two renewals of a token.
    "sasl.login.refresh.min.period.seconds" => pub sasl_login_refresh_min_period: Duration
        = Span::short_seconds(900), Duration::from_secs(60);

    /// A token is renewed this long before its end at the latest.
    "sasl.login.refresh.buffer.seconds" => pub sasl_login_refresh_buffer: Duration
        = Span::short_seconds(3_600), Duration::from_secs(300);

    /// How long the connection to the token's provider may take.
    "sasl.login.connect.timeout.ms" => pub sasl_login_connect_timeout: Option<Duration>
        = Optional(Span::int_ms(0)), None;

    /// How long the answer of the token's provider may take.
    "sasl.login.read.timeout.ms" => pub sasl_login_read_timeout: Option<Duration>
        = Optional(Span::int_ms(0)), None;

    /// The pause before the token's provider is asked again; it doubles with each failure.
    "sasl.login.retry.backoff.ms" => pub sasl_login_retry_backoff: Duration
        = Span::long_ms(0), Duration::from_millis(100);

    /// The longest pause before the token's provider is asked again.
    "sasl.login.retry.backoff.max.ms" => pub sasl_login_retry_backoff_max: Duration
        = Span::long_ms(0), Duration::from_secs(10);

    /// Where tokens are given out.
    "sasl.oauthbearer.token.endpoint.url" => pub sasl_oauthbearer_token_endpoint_url: Option<String> as Option<&str>
        = Optional(Text::ANY), None;

    /// The scope that is asked for with a token.
    "sasl.oauthbearer.scope" => pub sasl_oauthbearer_scope: Option<String> as Option<&str>
        = Optional(Text::ANY), None;

    /// This client's name at the token's provider.
    "sasl.oauthbearer.client.credentials.client.id" => pub sasl_oauthbearer_client_id: Option<String> as Option<&str>
        = Optional(Text::ANY), None;

    /// This client's password at the token's provider.
    "sasl.oauthbearer.client.credentials.client.secret" => pub sasl_oauthbearer_client_secret: Option<Secret> as Option<&Secret>
        = Password, None;

    /// Whether name and password are URL-encoded for the provider (RFC 6749, section 2.3.1).
    "sasl.oauthbearer.header.urlencode" => pub sasl_oauthbearer_header_urlencode: bool = Flag, false;

    /// The claim of a token that holds its scope.
    "sasl.oauthbearer.scope.claim.name" => pub sasl_oauthbearer_scope_claim_name: String as &str
        = Text::ANY, "scope".to_owned();

    /// The claim of a token that holds its subject.
    "sasl.oauthbearer.sub.claim.name" => pub sasl_oauthbearer_sub_claim_name: String as &str
        = Text::ANY, "sub".to_owned();
}
