//! One row a key: its default, values that are taken (and as what, where that differs), values that are not.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{given, with};
use crate::config::key::{Slot, find};
use crate::config::*;

/// key | default | taken | refused; `~` between values, `->` before what a value becomes, `∅` for an empty one.
const SUPPORTED: &str = "
bootstrap.servers | | a:9092 ~ a:9092, b:9093 -> a:9092,b:9093 | a ~ ∅ ~ ,
client.id | ∅ | billing-1 ~ a b ~ ∅ |
client.rack | ∅ | eu-1a ~ ∅ |
security.protocol | PLAINTEXT | SSL ~ sasl_ssl -> SASL_SSL ~ Plaintext -> PLAINTEXT ~ SASL_PLAINTEXT | TLS ~ ∅
request.timeout.ms | 30000 | 0 ~ 2147483647 | -1 ~ 2147483648 ~ x ~ 1.5 ~ ∅
default.api.timeout.ms | 60000 | 0 ~ 2147483647 | -1 ~ 2147483648 ~ 1s
retry.backoff.ms | 100 | 0 ~ 9223372036854775807 | -1 ~ 9223372036854775808 ~ x
retry.backoff.max.ms | 1000 | 0 ~ 9223372036854775807 | -1 ~ x
reconnect.backoff.ms | 50 | 0 ~ 9223372036854775807 | -1 ~ x
reconnect.backoff.max.ms | 1000 | 0 ~ 9223372036854775807 | -1 ~ x
socket.connection.setup.timeout.ms | 10000 | 1 ~ 9223372036854775807 | 0 ~ -1
socket.connection.setup.timeout.max.ms | 30000 | 1 ~ 9223372036854775807 | 0 ~ -1
connections.max.idle.ms | 540000 | 0 ~ -1 ~ -7 -> -1 ~ 9223372036854775807 | x ~ 9223372036854775808
send.buffer.bytes | 131072 | -1 ~ 1 ~ 2147483647 | 0 ~ -2 ~ 2147483648
receive.buffer.bytes | -1 | -1 ~ 1 ~ 65536 | 0 ~ -2 ~ 2147483648
metadata.max.age.ms | 300000 | 0 ~ 9223372036854775807 | -1 ~ x
metadata.recovery.strategy | rebootstrap | none ~ NONE -> none ~ Rebootstrap -> rebootstrap | ∅ ~ retry
metadata.recovery.rebootstrap.trigger.ms | 300000 | 0 ~ 9223372036854775807 | -1
allow.auto.create.topics | true | true ~ False -> false | 1 ~ yes ~ ∅
fetch.min.bytes | 1 | 0 ~ +5 -> 5 ~ 2147483647 | -1 ~ 2147483648 ~ 0x10 ~ 1e3 ~ 5 0
fetch.max.wait.ms | 500 | 0 ~ 2147483647 | -1 ~ 2147483648
fetch.max.bytes | 52428800 | 0 ~ 2147483647 | -1 ~ 50MB
max.partition.fetch.bytes | 1048576 | 0 ~ 2147483647 | -1
max.poll.records | 500 | 1 ~ 2147483647 | 0 ~ -1
auto.offset.reset | latest | latest ~ earliest ~ none ~ by_duration:PT1H -> by_duration:PT3600S ~ by_duration:pt0.5s -> by_duration:PT0.500000000S | EARLIEST ~ smallest ~ by_duration: ~ by_duration:1h ~ by_duration:-PT1H ~ BY_DURATION:PT1H
isolation.level | read_uncommitted | read_committed ~ read_uncommitted | READ_COMMITTED ~ ∅
check.crcs | true | false ~ TRUE -> true | no
buffer.memory | 67108864 | 1048576 ~ 9223372036854775807 | 1048575 ~ 0 ~ -1 ~ 64MiB
max.decompressed.batch.bytes | 134217728 | 1 ~ 2147483647 | 0 ~ -1 ~ 2147483648
group.id | | billing ~ ü | ∅
group.instance.id | | node-1 ~ a.b_C | ∅ ~ . ~ .. ~ a b ~ ü
group.protocol | classic | consumer ~ CONSUMER -> consumer ~ Classic -> classic | ∅ ~ kip848
group.remote.assignor | | uniform ~ range | ∅
partition.assignment.strategy | range,cooperative-sticky | range ~ sticky, roundrobin -> sticky,roundrobin ~ org.apache.kafka.clients.consumer.CooperativeStickyAssignor -> cooperative-sticky | ∅ ~ range,range ~ range, ~ Range ~ com.example.MyAssignor
session.timeout.ms | 45000 | 1 ~ 2147483647 | 0 ~ -1
heartbeat.interval.ms | 3000 | 1 ~ 2147483647 | 0 ~ -1
max.poll.interval.ms | 300000 | 1 ~ 2147483647 | 0 ~ 2147483648
enable.auto.commit | true | false ~ true | on
auto.commit.interval.ms | 5000 | 0 ~ 2147483647 | -1
exclude.internal.topics | true | false | 0
ssl.protocol | TLSv1.3 | TLSv1.2 | SSLv3 ~ tlsv1.3
ssl.enabled.protocols | TLSv1.2,TLSv1.3 | TLSv1.3 | TLSv1.1 ~ TLSv1.3,
ssl.cipher.suites | ∅ | A, B -> A,B ~ ∅ | A,,B
ssl.endpoint.identification.algorithm | https | ∅ ~ HTTPS -> https | LDAPS
ssl.keystore.type | JKS | PEM ~ pkcs12 -> PKCS12 | BKS
ssl.keystore.location | | key.pem ~ ∅ |
ssl.keystore.password | | x -> [hidden] ~ ∅ -> [hidden] |
ssl.keystore.key | | x -> [hidden] |
ssl.keystore.certificate.chain | | x -> [hidden] |
ssl.key.password | | x -> [hidden] |
ssl.truststore.type | JKS | PEM | x
ssl.truststore.location | | ca.pem |
ssl.truststore.password | | x -> [hidden] |
ssl.truststore.certificates | | x -> [hidden] |
sasl.mechanism | GSSAPI | PLAIN ~ SCRAM-SHA-256 ~ SCRAM-SHA-512 ~ OAUTHBEARER | plain ~ ∅
sasl.jaas.config | | x -> [hidden] |
sasl.login.refresh.window.factor | 0.8 | 0.5 ~ 1.0 -> 1 ~ 0.75 | 0.49 ~ 1.01 ~ NaN ~ inf ~ x
sasl.login.refresh.window.jitter | 0.05 | 0 ~ 0.25 | 0.26 ~ -0.1 ~ NaN
sasl.login.refresh.min.period.seconds | 60 | 0 ~ 900 | 901 ~ -1
sasl.login.refresh.buffer.seconds | 300 | 0 ~ 3600 | 3601 ~ -1
sasl.login.connect.timeout.ms | | 0 ~ 2147483647 | -1
sasl.login.read.timeout.ms | | 0 ~ 2147483647 | -1
sasl.login.retry.backoff.ms | 100 | 0 ~ 9223372036854775807 | -1
sasl.login.retry.backoff.max.ms | 10000 | 0 ~ 9223372036854775807 | -1
sasl.oauthbearer.token.endpoint.url | | https://idp/token |
sasl.oauthbearer.scope | | kafka |
sasl.oauthbearer.client.credentials.client.id | | me |
sasl.oauthbearer.client.credentials.client.secret | | x -> [hidden] |
sasl.oauthbearer.header.urlencode | false | true | 1
sasl.oauthbearer.scope.claim.name | scope | scp |
sasl.oauthbearer.sub.claim.name | sub | client_id |
";

/// key | values that ask for nothing, hence are taken | others.
const WITHOUT_EFFECT: &str = "
key.deserializer | org.apache.kafka.common.serialization.ByteArrayDeserializer | org.apache.kafka.common.serialization.StringDeserializer ~ ∅
value.deserializer | org.apache.kafka.common.serialization.ByteArrayDeserializer | org.apache.kafka.common.serialization.StringDeserializer
interceptor.classes | ∅ | com.example.Audit
metric.reporters | ∅ ~ org.apache.kafka.common.metrics.JmxReporter | com.example.Reporter
config.providers | ∅ | file
config.providers.file.class | | org.apache.kafka.common.config.provider.FileConfigProvider ~ ∅
security.providers | ∅ | com.example.Provider
bootstrap.resolve.timeout.ms | 0 | 1000
client.dns.lookup | use_all_dns_ips | resolve_canonical_bootstrap_servers_only
metadata.cluster.check.enable | false | true
enable.metrics.push | false ~ FALSE | true
metrics.sample.window.ms | 30000 | 1000
metrics.num.samples | 2 | 3
metrics.recording.level | INFO | DEBUG
io.threads | 1 | 2 ~ 0 ~ x
share.acknowledgement.mode | | implicit ~ explicit
share.acquire.mode | | batch_optimized ~ record_limit
ssl.provider | ∅ | SunJSSE
ssl.engine.factory.class | ∅ | com.example.Engine
ssl.keymanager.algorithm | SunX509 ~ PKIX | x
ssl.trustmanager.algorithm | PKIX | x
ssl.secure.random.implementation | ∅ | SHA1PRNG
sasl.client.callback.handler.class | ∅ | com.example.Handler
sasl.login.callback.handler.class | ∅ | com.example.Handler
sasl.login.class | ∅ | com.example.Login
sasl.kerberos.service.name | ∅ | kafka
sasl.kerberos.kinit.cmd | /usr/bin/kinit | /bin/kinit
sasl.kerberos.ticket.renew.window.factor | 0.8 | 0.5
sasl.kerberos.ticket.renew.jitter | 0.05 | 0.1
sasl.kerberos.min.time.before.relogin | 60000 | 1
sasl.oauthbearer.jwt.retriever.class | org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever | x
sasl.oauthbearer.jwt.validator.class | org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator | x
sasl.oauthbearer.assertion.algorithm | RS256 ~ rs256 | ES256
sasl.oauthbearer.assertion.claim.aud | ∅ | x
sasl.oauthbearer.assertion.claim.exp.seconds | 300 | 1
sasl.oauthbearer.assertion.claim.iss | ∅ | x
sasl.oauthbearer.assertion.claim.jti.include | false | true
sasl.oauthbearer.assertion.claim.nbf.seconds | 60 | 1
sasl.oauthbearer.assertion.claim.sub | ∅ | x
sasl.oauthbearer.assertion.file | ∅ | x
sasl.oauthbearer.assertion.private.key.file | ∅ | x
sasl.oauthbearer.assertion.private.key.passphrase | ∅ | x
sasl.oauthbearer.assertion.template.file | ∅ | x
sasl.oauthbearer.expected.audience | ∅ | x
sasl.oauthbearer.expected.issuer | ∅ | x
sasl.oauthbearer.allow.unverified.audience | false | true
sasl.oauthbearer.allow.unverified.issuer | false | true
sasl.oauthbearer.clock.skew.seconds | 30 | 1
sasl.oauthbearer.jwks.endpoint.url | ∅ | x
sasl.oauthbearer.jwks.endpoint.refresh.ms | 3600000 | 1
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms | 100 | 1
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms | 10000 | 1
internal.throw.on.fetch.stable.offset.unsupported | false | true
internal.leave.group.on.close | | true ~ false
";

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.split('|').map(str::trim).collect())
}

fn values(cell: &'static str) -> impl Iterator<Item = &'static str> {
    let cells = cell.split(" ~ ").filter(|value| !value.is_empty());
    cells.map(|value| if value == "∅" { "" } else { value })
}

#[test]
fn every_key_has_its_default_and_takes_what_is_allowed_and_nothing_else() {
    for row in rows(SUPPORTED) {
        let [key, default, taken, refused] = row[..] else {
            panic!("{row:?}")
        };
        let description = find(key).unwrap();
        assert_eq!(
            description.default_value().as_deref(),
            values(default).next(),
            "{key}"
        );
        for value in values(taken) {
            let (value, becomes) = value.split_once("->").unwrap_or((value, value));
            let becomes = if becomes.trim() == "∅" {
                ""
            } else {
                becomes.trim()
            };
            let value = if value.trim() == "∅" {
                ""
            } else {
                value.trim()
            };
            let config = with(key, value).unwrap_or_else(|error| panic!("{key}={value}: {error}"));
            assert_eq!(
                given(&config, key).as_deref(),
                Some(becomes),
                "{key}={value}"
            );
        }
        for value in values(refused) {
            match with(key, value) {
                Err(ConfigError::InvalidValue {
                    key: named,
                    value: shown,
                    default,
                    ..
                }) => {
                    assert_eq!((named, shown.as_str()), (key, value));
                    assert_eq!(default, description.default_value());
                }
                other => panic!("{key}={value}: {other:?}"),
            }
        }
    }
}

#[test]
fn keys_without_effect_take_only_what_asks_for_nothing() {
    for row in rows(WITHOUT_EFFECT) {
        let [key, taken, refused] = row[..] else {
            panic!("{row:?}")
        };
        for value in values(taken) {
            let config = with(key, value).unwrap_or_else(|error| panic!("{key}={value}: {error}"));
            assert_eq!(config, ConsumerConfig::default(), "{key}={value}");
        }
        for value in values(refused) {
            let error = with(key, value).unwrap_err();
            let is_refused = matches!(
                error,
                ConfigError::NotSupported { .. } | ConfigError::NotYetSupported { .. }
            );
            assert!(
                is_refused && error.to_string().starts_with(key),
                "{key}={value}: {error}"
            );
        }
    }
}

#[test]
fn every_key_is_in_one_of_the_tables_above_once() {
    let listed = |table| rows(table).map(|row| row[0]).collect::<Vec<_>>();
    let names = |has_field: bool| {
        let keys = ConsumerConfig::keys()
            .filter(move |key| matches!(key.slot, Slot::Field(_)) == has_field);
        keys.map(ConfigKey::name).collect::<BTreeSet<_>>()
    };
    let supported = listed(SUPPORTED);
    assert_eq!(supported.len(), names(true).len());
    assert_eq!(supported.into_iter().collect::<BTreeSet<_>>(), names(true));

    // these two stand for families of keys that are not listed one by one
    let families = [
        "config.providers.file.class",
        "internal.leave.group.on.close",
    ];
    let without_effect = listed(WITHOUT_EFFECT)
        .into_iter()
        .filter(|key| !families.contains(key));
    assert_eq!(without_effect.clone().count(), names(false).len());
    assert_eq!(without_effect.collect::<BTreeSet<_>>(), names(false));
}

#[test]
fn getters_are_typed() {
    let config = ConsumerConfig::from_pairs([
        ("fetch.max.wait.ms", "250"),
        ("connections.max.idle.ms", "-1"),
        ("receive.buffer.bytes", "65536"),
        ("send.buffer.bytes", "-1"),
        ("buffer.memory", "9223372036854775807"),
        ("auto.offset.reset", "by_duration:P1DT1.5S"),
        ("isolation.level", "read_committed"),
        ("group.protocol", "Consumer"),
        ("partition.assignment.strategy", "sticky,range"),
        ("security.protocol", "sasl_ssl"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.login.refresh.min.period.seconds", "90"),
        ("sasl.login.refresh.window.factor", "0.75"),
        ("ssl.enabled.protocols", "TLSv1.3"),
        ("ssl.cipher.suites", "A,B"),
        ("ssl.truststore.type", "pem"),
        ("ssl.key.password", " p w "),
        ("check.crcs", "false"),
    ])
    .unwrap();
    assert_eq!(config.fetch_max_wait(), Duration::from_millis(250));
    assert_eq!(config.connections_max_idle(), None);
    assert_eq!(config.receive_buffer_bytes(), Some(65_536));
    assert_eq!(config.send_buffer_bytes(), None);
    assert_eq!(config.buffer_memory(), i64::MAX.unsigned_abs());
    let reset = Duration::from_secs(86_401) + Duration::from_millis(500);
    assert_eq!(config.auto_offset_reset(), OffsetReset::ByDuration(reset));
    assert_eq!(config.isolation_level(), IsolationLevel::ReadCommitted);
    assert_eq!(config.group_protocol(), GroupProtocol::Consumer);
    assert_eq!(
        config.partition_assignment_strategy(),
        [Assignor::Sticky, Assignor::Range]
    );
    assert!(config.security_protocol().uses_tls() && config.security_protocol().uses_sasl());
    assert_eq!(config.sasl_mechanism(), SaslMechanism::ScramSha512);
    assert_eq!(
        config.sasl_login_refresh_min_period(),
        Duration::from_secs(90)
    );
    assert!((config.sasl_login_refresh_window_factor() - 0.75).abs() < f64::EPSILON);
    assert_eq!(config.ssl_enabled_protocols(), [TlsVersion::Tls13]);
    assert_eq!(config.ssl_cipher_suites(), ["A", "B"]);
    assert_eq!(config.ssl_truststore_type(), StoreType::Pem);
    assert_eq!(config.ssl_key_password().map(Secret::expose), Some("p w"));
    assert!(!config.check_crcs());
    assert_eq!(config.group_id(), None);
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_known_one_and_without_its_value() {
    let cases = [
        ("fetch.min.byte", Some("fetch.min.bytes")),
        ("fetch_min_bytes", Some("fetch.min.bytes")),
        ("Fetch.Min.Bytes", Some("fetch.min.bytes")),
        ("max.poll.record", Some("max.poll.records")),
        ("bootstrap.server", Some("bootstrap.servers")),
        ("auto.ofset.reset", Some("auto.offset.reset")),
        ("group-id", Some("group.id")),
        ("buffer.memroy", Some("buffer.memory")),
        ("max.poll.interval", Some("max.poll.interval.ms")),
        ("group", None),
        ("acks", None),
        ("linger.ms", None),
        ("", None),
        ("password", None),
    ];
    for (key, nearest) in cases {
        let error = with(key, "the-value").unwrap_err();
        let expected = ConfigError::UnknownKey {
            key: key.to_owned(),
            did_you_mean: nearest,
        };
        assert_eq!(error, expected);
        assert!(!error.to_string().contains("the-value"));
        assert_eq!(
            error.to_string().contains("did you mean"),
            nearest.is_some()
        );
    }
    let hostile = format!("{}\n\u{1b}[31m", "k".repeat(100_000));
    let message = with(&hostile, "x").unwrap_err().to_string();
    assert!(
        message.len() < 200 && !message.contains('\u{1b}'),
        "{message}"
    );
    assert_eq!(
        with("\u{1b}[31m", "x").unwrap_err().to_string(),
        "\\u{1b}[31m: unknown key"
    );
}

#[test]
fn blanks_around_a_value_are_those_of_java() {
    // String.trim: all up to U+0020, and no others
    assert_eq!(
        with("fetch.min.bytes", "\t\r\n 7\u{1}\0")
            .unwrap()
            .fetch_min_bytes(),
        7
    );
    assert_eq!(
        with("client.id", " \u{a0}a b\u{2003} ")
            .unwrap()
            .client_id(),
        "\u{a0}a b\u{2003}"
    );
}

#[test]
fn a_refused_value_leaves_the_configuration_as_it_was() {
    let mut config = with("fetch.min.bytes", "7").unwrap();
    let before = config.clone();
    config.set("fetch.min.bytes", "-7").unwrap_err();
    config.set("bootstrap.servers", "nowhere").unwrap_err();
    assert_eq!(config, before);
}

#[test]
fn the_message_names_key_value_what_is_allowed_and_the_default() {
    let message = |key, value| with(key, value).unwrap_err().to_string();
    assert_eq!(
        message("fetch.min.bytes", "-1"),
        "fetch.min.bytes=\"-1\": not allowed; allowed is int: 0 to 2147483647; default is 1"
    );
    assert_eq!(
        message("isolation.level", "committed"),
        "isolation.level=\"committed\": not allowed; allowed is string: read_uncommitted, read_committed; \
         default is read_uncommitted"
    );
    assert_eq!(
        message("interceptor.classes", "com.example.Audit"),
        "interceptor.classes: not supported: it names classes of the JVM; only an empty value is taken"
    );
    assert_eq!(
        message("enable.metrics.push", "true"),
        "enable.metrics.push: not supported yet: metrics sent to the brokers (KIP-714); only false is taken"
    );
}

#[test]
fn all_errors_of_a_configuration_are_told_at_once() {
    let pairs = [
        ("fetch.min.bytes", "x"),
        ("no.such.key", "1"),
        ("max.poll.records", "0"),
        ("check.crcs", "true"),
    ];
    let errors = ConsumerConfig::from_pairs(pairs).unwrap_err();
    assert_eq!(errors.as_slice().len(), 3);
    assert_eq!(errors.to_string().lines().count(), 4);
}

#[test]
fn later_layers_override_only_what_they_were_given() {
    let file = ConsumerConfig::from_pairs([
        ("fetch.min.bytes", "7"),
        ("max.poll.records", "8"),
        ("ssl.key.password", "a"),
    ]);
    let environment = ConsumerConfig::from_pairs([("fetch.min.bytes", "1"), ("group.id", "g")]);
    let config = file.unwrap().overridden_by(&environment.unwrap());
    let expected = [
        ("fetch.min.bytes", "1"),
        ("max.poll.records", "8"),
        ("group.id", "g"),
        ("ssl.key.password", "a"),
    ];
    assert_eq!(config, ConsumerConfig::from_pairs(expected).unwrap());
}

/// Older versions of requests give the length of a text two bytes.
#[test]
fn texts_that_no_request_can_hold_are_refused() {
    for key in [
        "client.id",
        "client.rack",
        "group.id",
        "group.remote.assignor",
    ] {
        let longest = "x".repeat(32_767);
        assert!(ConsumerConfig::from_pairs([(key, longest.as_str())]).is_ok());
        let error = ConsumerConfig::from_pairs([(key, format!("{longest}x").as_str())]);
        let told = error.unwrap_err().to_string();
        assert!(told.contains(key) && told.contains("32767 bytes"), "{key}");
    }
}
