//! Keys and values as the application wants them.

use consumer_app::{Field, NotDecodable, Record};
use test_broker::ProducerRecord;

use crate::support::{broker, consumer, poll, run, tp};

/// Offsets 0 to 4: good, a bad value, null, a bad key, good.
fn produce(broker: &test_broker::TestBroker) {
    let records = [
        ProducerRecord::new("1").key("a"),
        ProducerRecord::new(vec![0xff, 0xfe]).key("b"),
        ProducerRecord::tombstone("c"),
        ProducerRecord::new("4").key(vec![0xff]),
        ProducerRecord::new("5"),
    ];
    broker.produce("t", 0, records).unwrap();
}

fn place(error: &NotDecodable) -> (i64, Field) {
    (error.offset, error.field)
}

/// Unlike in Java, a record that cannot be decoded was given like the others, and the position is behind it.
#[test]
fn b083_b084_what_cannot_be_decoded_is_told_with_its_place_and_its_bytes_are_there() {
    run(async {
        let broker = broker(1);
        produce(&broker);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let records = poll(&mut consumer).await;
        let values: Vec<_> = records.iter().map(|record| record.value_str()).collect();
        assert_eq!(values[0].as_ref().unwrap(), &Some("1"));
        let error = values[1].as_ref().unwrap_err();
        assert_eq!(place(error), (1, Field::Value));
        assert!(
            error
                .to_string()
                .starts_with("t-0 at offset 1: its value cannot be decoded"),
            "{error}"
        );
        assert_eq!(values[2].as_ref().unwrap(), &None);
        assert_eq!(values[4].as_ref().unwrap(), &Some("5"));
        let keys: Vec<_> = records.iter().map(|record| record.key_str()).collect();
        assert_eq!(place(keys[3].as_ref().unwrap_err()), (3, Field::Key));
        assert_eq!(keys[4].as_ref().unwrap(), &None);
        let bad: Vec<Record<'_>> = records
            .iter()
            .filter(|record| record.value_str().is_err())
            .collect();
        assert_eq!(bad[0].value(), Some(&[0xff, 0xfe][..]));
        assert_eq!(consumer.position(&tp(0)), Some(5));
    });
}

#[test]
fn values_are_decoded_by_serde_and_by_decoders_of_ones_own() {
    #[derive(serde::Deserialize)]
    struct Order<'a> {
        customer: &'a str,
        cents: u64,
    }
    run(async {
        let broker = broker(1);
        let records = [
            r#"{"customer":"ada","cents":1250}"#,
            r#"{"customer":"bob"}"#,
            "17",
        ];
        broker.produce("t", 0, records).unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let records = poll(&mut consumer).await;
        let mut records = records.iter();
        let record = records.next().unwrap();
        let order: Order<'_> = record.value_json().unwrap().unwrap();
        assert_eq!((order.customer, order.cents), ("ada", 1250));
        let error = records
            .next()
            .unwrap()
            .value_json::<Order<'_>>()
            .err()
            .unwrap();
        assert_eq!(place(&error), (1, Field::Value));
        assert!(error.to_string().contains("cents"), "{error}");
        let number = |bytes: &[u8]| String::from_utf8_lossy(bytes).parse::<u8>();
        let record = records.next().unwrap();
        assert_eq!(record.decode(Field::Value, number).unwrap(), Some(17));
        assert_eq!(record.key_json::<u8>().unwrap(), None);
    });
}
