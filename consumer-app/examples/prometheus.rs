//! A consumer whose metrics Prometheus can scrape:
//!
//! ```text
//! cargo run -p consumer-app --example prometheus -- localhost:9092 orders 127.0.0.1:9184
//! curl http://127.0.0.1:9184/metrics
//! ```

use std::error::Error;
use std::time::Duration;

use consumer_app::{Consumer, OffsetReset};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(brokers), Some(topic), Some(address)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: prometheus BROKERS TOPIC ADDRESS".into());
    };
    let recorder = PrometheusBuilder::new().install_recorder()?;
    let listener = TcpListener::bind(&address).await?;
    tokio::spawn(serve(listener, recorder));

    let mut consumer = Consumer::builder()
        .bootstrap_servers(&brokers)
        .group_id("prometheus-example")
        .client_id("example")
        .auto_offset_reset(OffsetReset::Earliest)
        .build()
        .await?;
    tokio::spawn(consumer.export_metrics(Duration::from_secs(5)));
    consumer.subscribe([topic]).await?;
    println!("metrics are at http://{address}/metrics; ctrl-c ends");
    loop {
        tokio::select! {
            records = consumer.poll(Duration::from_millis(500)) => {
                let records = records?;
                if !records.is_empty() {
                    println!("{} records", records.len());
                }
            }
            () = interrupted() => break,
        }
    }
    consumer.close(Duration::from_secs(5)).await?;
    Ok(())
}

async fn interrupted() {
    // without a signal handler the process just ends
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Answers every request with the metrics: all that a scraper asks for.
async fn serve(listener: TcpListener, recorder: PrometheusHandle) {
    while let Ok((mut connection, _)) = listener.accept().await {
        let mut request = [0; 1024];
        if connection.read(&mut request).await.is_err() {
            continue;
        }
        let body = recorder.render();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n",
            body.len()
        );
        // a scraper that has gone away comes again
        let _ = connection.write_all((head + &body).as_bytes()).await;
        recorder.run_upkeep();
    }
}
