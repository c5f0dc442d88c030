//! Secrets are shown nowhere.

use crate::config::key::find;
use crate::config::{ConfigError, ConfigKey, ConsumerConfig};

const MARK: &str = "hunter2";

fn secret_keys() -> Vec<&'static str> {
    ConsumerConfig::keys()
        .filter(|key| key.is_secret())
        .map(ConfigKey::name)
        .collect()
}

#[test]
fn the_secret_keys_are_the_password_keys_of_java() {
    let java = include_str!("java/keys.tsv")
        .lines()
        .filter(|line| line.split('\t').nth(1) == Some("PASSWORD"));
    let mut ours = secret_keys();
    ours.sort_unstable();
    assert_eq!(
        ours,
        java.filter_map(|line| line.split('\t').next())
            .collect::<Vec<_>>()
    );
    assert_eq!(ours.len(), 9);
}

#[test]
fn a_secret_is_in_no_debug_output_error_warning_or_document() {
    for key in secret_keys() {
        let mut config = ConsumerConfig::default();
        let set = config.set(key, MARK);
        let shown = [
            format!("{config:?} {config:#?}"),
            format!(
                "{set:?} {}",
                set.clone()
                    .err()
                    .map_or_else(String::new, |error| error.to_string())
            ),
            format!("{:?} {}", config.validate(), config.validate().unwrap_err()),
            serde_json::to_string(&config).unwrap(),
            toml::to_string(&config).unwrap(),
        ];
        for text in shown {
            assert!(!text.contains(MARK), "{key}: {text}");
        }
        assert!(
            set.is_err() || format!("{config:?}").contains(key),
            "that it was given is shown"
        );
    }
}

#[test]
fn no_kind_of_error_shows_the_value_of_a_secret_key() {
    for key in secret_keys() {
        let error = ConfigError::invalid(find(key).unwrap(), MARK, None);
        assert!(!format!("{error} {error:?}").contains(MARK), "{error}");
    }
}

#[test]
fn a_secret_reaches_the_one_who_asks_for_it() {
    let jaas = format!(
        "org.apache.kafka.common.security.plain.PlainLoginModule required password=\"{MARK}\";"
    );
    let config = ConsumerConfig::from_pairs([("sasl.jaas.config", &jaas)]).unwrap();
    let secret = config.sasl_jaas_config().unwrap();
    assert_eq!(secret.expose(), jaas);
    assert_eq!(format!("{secret:?}"), "[hidden]");
}

#[test]
fn a_value_of_an_unknown_key_or_a_line_that_cannot_be_read_is_not_shown() {
    let text = format!(
        "sasl.jaas.confg={MARK}\npassword \\u{MARK}\n{}={MARK}",
        "k".repeat(200)
    );
    let errors = ConsumerConfig::from_properties(&text).unwrap_err();
    assert_eq!(errors.as_slice().len(), 3);
    assert!(!format!("{errors} {errors:?}").contains(MARK), "{errors}");

    let variables = [
        ("KAFKA_SASL_JAAS_CONFG", MARK),
        ("KAFKA_SSL_KEY_PASSWRD", MARK),
    ];
    let errors = ConsumerConfig::from_env("KAFKA_", variables).unwrap_err();
    assert_eq!(errors.as_slice().len(), 2);
    assert!(!format!("{errors} {errors:?}").contains(MARK), "{errors}");

    let document = format!("{{\"sasl.jaas.config\": {{\"x\": \"{MARK}\"}}}}");
    let error = serde_json::from_str::<ConsumerConfig>(&document).unwrap_err();
    assert!(!format!("{error} {error:?}").contains(MARK), "{error}");
}
