//! The same values as an exporter gets them.

use consumer_app::{Consumer, MetricsExporter, TopicPartition};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};

use crate::support::{broker, builder, produce, read, run, tp};

/// What Prometheus would scrape after one more reading.
async fn scrape(
    consumer: &Consumer,
    recorder: &PrometheusRecorder,
    exporter: &mut MetricsExporter,
) -> Vec<String> {
    let metrics = consumer.metrics().await.unwrap();
    metrics::with_local_recorder(recorder, || {
        MetricsExporter::describe();
        exporter.record(&metrics);
    });
    let text = recorder.handle().render();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn prometheus_shows_javas_names_with_tags_as_labels() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 10);
        let mut consumer = builder(&broker)
            .set("client.id", "billing")
            .set("max.poll.records", "3")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 3).await;
        let recorder = PrometheusBuilder::new().build_recorder();
        let mut exporter = MetricsExporter::default();
        let lines = scrape(&consumer, &recorder, &mut exporter).await;
        let has = |line: &str| lines.iter().any(|other| other == line);
        let group = "kafka_consumer_fetch_manager_metrics";
        let all = format!("{group}_records_consumed_total{{client_id=\"billing\"}} 3");
        assert!(has(&all), "{lines:#?}");
        let tags = "client_id=\"billing\",topic=\"t\",partition=\"0\"";
        assert!(
            has(&format!("{group}_records_lag{{{tags}}} 7")),
            "{lines:#?}"
        );
        assert!(has(&format!("# TYPE {group}_records_lag gauge")));
        assert!(has(&format!(
            "# TYPE {group}_records_consumed_total counter"
        )));
        // the counter goes on, and the lag of what is not assigned any more is no lag
        read(&mut consumer, 3).await;
        consumer.assign(None::<TopicPartition>).await.unwrap();
        let lines = scrape(&consumer, &recorder, &mut exporter).await;
        let has = |line: &str| lines.iter().any(|other| other == line);
        assert!(has(&all.replace(" 3", " 6")), "{lines:#?}");
        assert!(
            has(&format!("{group}_records_lag{{{tags}}} NaN")),
            "{lines:#?}"
        );
    });
}
