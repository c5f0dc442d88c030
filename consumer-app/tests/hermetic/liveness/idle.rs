//! A consumer without traffic asks twice a second of each node, and does little else.

use std::time::Duration;

use tokio::time::sleep;

use super::warm_up;
use crate::support::traffic::fetches;
use crate::support::{broker_of, consumer, partitions, run};

const NODES: usize = 3;
const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn an_idle_minute_is_two_requests_a_second_of_each_node_and_few_messages() {
    for polls in [false, true] {
        run(async {
            let broker = broker_of(NODES as i32, 12);
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(12)).await.unwrap();
            warm_up(&broker, &mut consumer, &[0, 1, 2]).await;
            sleep(Duration::from_secs(2)).await;
            let before = consumer.metrics().await.unwrap();
            broker.clear_requests();
            if polls {
                let records = consumer.poll(MINUTE).await.unwrap();
                assert!(records.is_empty());
            } else {
                sleep(MINUTE).await;
            }
            // fetch.max.wait.ms is 500
            let requests = fetches(&broker).len();
            assert!(requests <= NODES * 121, "{requests} requests");
            let others = broker.requests().len() - requests;
            assert!(others <= 4, "{others} other requests");
            // a request: Reserve, Granted, StartJob, FetchDone, LaneIdle; besides, the watchdog looks 8 times
            let messages = consumer.metrics().await.unwrap().messages - before.messages;
            let allowed = 5 * requests as u64 + 30;
            assert!(messages <= allowed, "{messages} messages");
        });
    }
}
