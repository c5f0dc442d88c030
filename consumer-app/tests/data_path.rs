//! The whole data path, hermetic: consumer, actors and broker in one process on a paused clock.

mod common;

use std::time::Duration;

use common::{builder, offsets, poll, run, tp};
use test_broker::TestBroker;

#[test]
fn b018_what_is_produced_is_consumed_in_order() {
    run(async {
        let broker = TestBroker::builder()
            .topic("t", 1)
            .start_in_memory()
            .unwrap();
        for batch in 0..10 {
            let values = (0..10).map(|record| format!("{}", batch * 10 + record));
            broker.produce("t", 0, values).unwrap();
        }
        let mut consumer = builder(&broker).spawn_local().unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        let mut read = Vec::new();
        while read.len() < 100 {
            let records = poll(&mut consumer).await;
            for record in &records {
                let value = String::from_utf8(record.value().unwrap().to_vec()).unwrap();
                assert_eq!(value, record.offset().to_string());
            }
            read.extend(offsets(&records));
        }
        assert_eq!(read, (0..100).collect::<Vec<_>>());
        assert_eq!(consumer.position(&tp(0)), Some(100));
        consumer.close(Duration::from_secs(1)).await.unwrap();
    });
}
