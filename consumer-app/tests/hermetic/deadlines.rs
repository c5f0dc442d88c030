//! Whatever asks a broker ends by `default.api.timeout.ms`, with an error that can be retried.

use std::pin::Pin;
use std::time::Duration;

use consumer_app::{Error, OffsetSpec, Result};
use tokio::time::Instant;

use crate::support::{broker, builder, produce, read, run, tp};

/// What the application asked, without the answer.
type Question<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

const LIMIT: Duration = Duration::from_secs(7);

#[test]
fn every_question_ends_by_its_deadline_when_the_brokers_say_nothing() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 3);
        let mut consumer = builder(&broker)
            .set("group.id", "g")
            .set("enable.auto.commit", "false")
            .set("default.api.timeout.ms", &LIMIT.as_millis().to_string())
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 3).await;
        // what an earlier answer told is told at once
        consumer.partitions_for("t").await.unwrap();
        broker.freeze_node(1).unwrap();
        let partition = tp(0);
        let handle = consumer.handle();
        let questions: Vec<(&str, Question<'_>)> = vec![
            (
                "list_topics",
                Box::pin(async { handle.list_topics().await.map(drop) }),
            ),
            (
                "partitions_for",
                Box::pin(async { handle.partitions_for("other").await.map(drop) }),
            ),
            (
                "beginning_offsets",
                Box::pin(async { handle.beginning_offsets([&partition]).await.map(drop) }),
            ),
            (
                "end_offsets",
                Box::pin(async { handle.end_offsets([&partition]).await.map(drop) }),
            ),
            (
                "offsets_for_times",
                Box::pin(async {
                    handle
                        .offsets_for_times([(partition.clone(), 1)])
                        .await
                        .map(drop)
                }),
            ),
            (
                "list_offsets",
                Box::pin(async {
                    let specs = [(partition.clone(), OffsetSpec::MaxTimestamp)];
                    handle.list_offsets(specs).await.map(drop)
                }),
            ),
            (
                "seek_to_end",
                Box::pin(async { handle.seek_to_end(&partition).await.map(drop) }),
            ),
            (
                "committed",
                Box::pin(async { handle.committed([&partition]).await.map(drop) }),
            ),
            (
                "commit",
                Box::pin(async { handle.commit_offsets([(partition.clone(), 3)]).await }),
            ),
        ];
        for (name, question) in questions {
            let begun = Instant::now();
            let error = question.await.expect_err(name);
            assert!(
                begun.elapsed() <= LIMIT + Duration::from_millis(1),
                "{name}: {:?}",
                begun.elapsed()
            );
            assert!(error.is_retriable(), "{name}: {error}");
            assert!(
                !matches!(error, Error::Closed | Error::Failed),
                "{name}: {error}"
            );
        }
        // and none of them has broken anything
        broker.unfreeze_node(1).unwrap();
        produce(&broker, 0, 1);
        assert_eq!(
            handle.end_offsets([&partition]).await.unwrap()[&partition],
            4
        );
    });
}
