//! Keys that are known and can have no effect: they name classes of the JVM, are for other programs, or what they ask
//! for is still to come. The value that asks for nothing is taken, so that a Java client's file that spells out
//! defaults can be used.

use super::key::{ConfigKey, KeyStatus, Slot};

const fn row(
    name: &'static str,
    type_name: &'static str,
    accepted: &'static [&'static str],
    status: KeyStatus,
    meaning: &'static str,
) -> ConfigKey {
    ConfigKey {
        name,
        meaning,
        slot: Slot::Nowhere {
            type_name,
            accepted,
            status,
        },
    }
}

const BYTES_ONLY: KeyStatus =
    KeyStatus::Refused("keys and values are given as bytes, the application decodes them");
const JVM_CLASS: KeyStatus = KeyStatus::Refused("it names classes of the JVM");
const JVM_TLS: KeyStatus = KeyStatus::Refused("it chooses a part of the JVM's own TLS");
const KERBEROS: KeyStatus =
    KeyStatus::Refused("Kerberos is not offered; use SCRAM-SHA-512 or OAUTHBEARER");
const TOKEN_CHECK: KeyStatus = KeyStatus::Refused("brokers check tokens, clients only send them");
const SHARE_GROUPS: KeyStatus = KeyStatus::Refused("it is for share consumers, which this is not");
const RESOLVED_WHEN_NEEDED: KeyStatus = KeyStatus::Refused(
    "names are resolved with every attempt to connect, for as long as default.api.timeout.ms allows",
);
const NO_REVERSE_LOOKUP: KeyStatus =
    KeyStatus::Refused("names are not looked up in reverse, which only Kerberos needs");
const INSIDE: KeyStatus = KeyStatus::Refused("it belongs to the inside of the JVM client");

const ASSERTIONS: KeyStatus = KeyStatus::NotYet("tokens in exchange for a signed assertion");
const METRICS_PUSH: KeyStatus = KeyStatus::NotYet("metrics sent to the brokers (KIP-714)");
const SAMPLED_METRICS: KeyStatus = KeyStatus::NotYet("other windows than two of 30 s");
const CLUSTER_CHECK: KeyStatus =
    KeyStatus::NotYet("telling brokers which cluster and node a connection is meant for");
const IO_THREADS: KeyStatus = KeyStatus::NotYet("connections on more than one thread");

const BYTE_ARRAYS: &[&str] = &["org.apache.kafka.common.serialization.ByteArrayDeserializer"];
const NONE: &[&str] = &[""];

/// The keys, as they are documented.
pub(super) static KEYS: &[ConfigKey] = &[
    row(
        "key.deserializer",
        "class",
        BYTE_ARRAYS,
        BYTES_ONLY,
        "The class that decodes keys.",
    ),
    row(
        "value.deserializer",
        "class",
        BYTE_ARRAYS,
        BYTES_ONLY,
        "The class that decodes values.",
    ),
    row(
        "interceptor.classes",
        "list",
        NONE,
        JVM_CLASS,
        "Classes that see records before the application does.",
    ),
    row(
        "metric.reporters",
        "list",
        &["", "org.apache.kafka.common.metrics.JmxReporter"],
        JVM_CLASS,
        "Classes that report metrics.",
    ),
    row(
        "config.providers",
        "list",
        NONE,
        JVM_CLASS,
        "Classes that replace placeholders in values.",
    ),
    row(
        "security.providers",
        "string",
        NONE,
        JVM_CLASS,
        "Classes that bring algorithms.",
    ),
    row(
        "bootstrap.resolve.timeout.ms",
        "long",
        &["0"],
        RESOLVED_WHEN_NEEDED,
        "How long the first names may fail to resolve.",
    ),
    row(
        "client.dns.lookup",
        "string",
        &["use_all_dns_ips"],
        NO_REVERSE_LOOKUP,
        "How the addresses of a name are used: all, in turn.",
    ),
    row(
        "metadata.cluster.check.enable",
        "boolean",
        &["false"],
        CLUSTER_CHECK,
        "Whether brokers refuse misrouted connections.",
    ),
    row(
        "enable.metrics.push",
        "boolean",
        &["false"],
        METRICS_PUSH,
        "Whether brokers may collect this client's metrics.",
    ),
    row(
        "metrics.sample.window.ms",
        "long",
        &["30000"],
        SAMPLED_METRICS,
        "The length of a window.",
    ),
    row(
        "metrics.num.samples",
        "int",
        &["2"],
        SAMPLED_METRICS,
        "How many windows are kept.",
    ),
    row(
        "metrics.recording.level",
        "string",
        &["INFO"],
        SAMPLED_METRICS,
        "How detailed metrics are.",
    ),
    row(
        "io.threads",
        "int",
        &["1"],
        IO_THREADS,
        "How many threads serve the connections.",
    ),
    row(
        "share.acknowledgement.mode",
        "string",
        &[],
        SHARE_GROUPS,
        "How records are acknowledged.",
    ),
    row(
        "share.acquire.mode",
        "string",
        &[],
        SHARE_GROUPS,
        "How records are acquired.",
    ),
    row(
        "ssl.provider",
        "string",
        NONE,
        JVM_TLS,
        "The implementation of TLS.",
    ),
    row(
        "ssl.engine.factory.class",
        "class",
        NONE,
        JVM_CLASS,
        "The class that makes TLS engines.",
    ),
    row(
        "ssl.keymanager.algorithm",
        "string",
        &["SunX509", "PKIX"],
        JVM_TLS,
        "The algorithm of the key manager.",
    ),
    row(
        "ssl.trustmanager.algorithm",
        "string",
        &["PKIX"],
        JVM_TLS,
        "The algorithm of the trust manager.",
    ),
    row(
        "ssl.secure.random.implementation",
        "string",
        NONE,
        JVM_TLS,
        "The source of randomness.",
    ),
    row(
        "sasl.client.callback.handler.class",
        "class",
        NONE,
        JVM_CLASS,
        "The class that gives credentials.",
    ),
    row(
        "sasl.login.callback.handler.class",
        "class",
        NONE,
        JVM_CLASS,
        "The class that gives credentials at login.",
    ),
    row(
        "sasl.login.class",
        "class",
        NONE,
        JVM_CLASS,
        "The class that logs in.",
    ),
    row(
        "sasl.kerberos.service.name",
        "string",
        NONE,
        KERBEROS,
        "The brokers' Kerberos principal.",
    ),
    row(
        "sasl.kerberos.kinit.cmd",
        "string",
        &["/usr/bin/kinit"],
        KERBEROS,
        "The command that gets tickets.",
    ),
    row(
        "sasl.kerberos.ticket.renew.window.factor",
        "double",
        &["0.8"],
        KERBEROS,
        "When a ticket is renewed.",
    ),
    row(
        "sasl.kerberos.ticket.renew.jitter",
        "double",
        &["0.05"],
        KERBEROS,
        "What chance adds to that.",
    ),
    row(
        "sasl.kerberos.min.time.before.relogin",
        "long",
        &["60000"],
        KERBEROS,
        "The least time between two logins.",
    ),
    row(
        "sasl.oauthbearer.jwt.retriever.class",
        "class",
        &["org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"],
        JVM_CLASS,
        "The class that gets tokens.",
    ),
    row(
        "sasl.oauthbearer.jwt.validator.class",
        "class",
        &["org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"],
        JVM_CLASS,
        "The class that checks tokens.",
    ),
    row(
        "sasl.oauthbearer.assertion.algorithm",
        "string",
        &["RS256"],
        ASSERTIONS,
        "How the assertion is signed.",
    ),
    row(
        "sasl.oauthbearer.assertion.claim.aud",
        "string",
        NONE,
        ASSERTIONS,
        "The assertion's audience.",
    ),
    row(
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "int",
        &["300"],
        ASSERTIONS,
        "How long the assertion is valid.",
    ),
    row(
        "sasl.oauthbearer.assertion.claim.iss",
        "string",
        NONE,
        ASSERTIONS,
        "The assertion's issuer.",
    ),
    row(
        "sasl.oauthbearer.assertion.claim.jti.include",
        "boolean",
        &["false"],
        ASSERTIONS,
        "Whether the assertion has an id.",
    ),
    row(
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "int",
        &["60"],
        ASSERTIONS,
        "How far back the assertion begins to be valid.",
    ),
    row(
        "sasl.oauthbearer.assertion.claim.sub",
        "string",
        NONE,
        ASSERTIONS,
        "The assertion's subject.",
    ),
    row(
        "sasl.oauthbearer.assertion.file",
        "string",
        NONE,
        ASSERTIONS,
        "A file with a finished assertion.",
    ),
    row(
        "sasl.oauthbearer.assertion.private.key.file",
        "string",
        NONE,
        ASSERTIONS,
        "The key that signs the assertion.",
    ),
    row(
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "password",
        NONE,
        ASSERTIONS,
        "The password of that key.",
    ),
    row(
        "sasl.oauthbearer.assertion.template.file",
        "string",
        NONE,
        ASSERTIONS,
        "A file with claims for the assertion.",
    ),
    row(
        "sasl.oauthbearer.expected.audience",
        "list",
        NONE,
        TOKEN_CHECK,
        "The audiences that are accepted.",
    ),
    row(
        "sasl.oauthbearer.expected.issuer",
        "string",
        NONE,
        TOKEN_CHECK,
        "The issuer that is accepted.",
    ),
    row(
        "sasl.oauthbearer.allow.unverified.audience",
        "boolean",
        &["false"],
        TOKEN_CHECK,
        "Whether any audience is accepted.",
    ),
    row(
        "sasl.oauthbearer.allow.unverified.issuer",
        "boolean",
        &["false"],
        TOKEN_CHECK,
        "Whether any issuer is accepted.",
    ),
    row(
        "sasl.oauthbearer.clock.skew.seconds",
        "int",
        &["30"],
        TOKEN_CHECK,
        "How much clocks may differ.",
    ),
    row(
        "sasl.oauthbearer.jwks.endpoint.url",
        "string",
        NONE,
        TOKEN_CHECK,
        "Where the keys of tokens are.",
    ),
    row(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "long",
        &["3600000"],
        TOKEN_CHECK,
        "How often these are read again.",
    ),
    row(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "long",
        &["100"],
        TOKEN_CHECK,
        "The first pause after a failure.",
    ),
    row(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "long",
        &["10000"],
        TOKEN_CHECK,
        "The longest pause after a failure.",
    ),
    row(
        "internal.throw.on.fetch.stable.offset.unsupported",
        "boolean",
        &["false"],
        INSIDE,
        "Whether old coordinators are an error.",
    ),
];
