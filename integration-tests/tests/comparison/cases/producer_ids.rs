//! InitProducerId without a transaction (KIP-98, KIP-360).

use anyhow::Result;
use kafka_protocol::messages::{InitProducerIdRequest, ProducerId, TransactionalId};

use super::versions;
use crate::engine::Pair;
use crate::requests::text;

/// Until then a request has no id and epoch of its own.
const GOES_ON: i16 = 3;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.wait_for_producer_ids(1).await?;
    let new = InitProducerIdRequest::default()
        .with_transactional_id(None)
        .with_transaction_timeout_ms(1_000);
    let going_on = |id, epoch| {
        let request = new.clone().with_producer_id(ProducerId(id));
        request.with_producer_epoch(epoch)
    };
    let rows = [
        ("new", new.clone(), 0),
        (
            "new, timeout 0",
            new.clone().with_transaction_timeout_ms(0),
            0,
        ),
        (
            "new, timeout -1",
            new.clone().with_transaction_timeout_ms(-1),
            0,
        ),
        (
            "no transactional id",
            new.clone()
                .with_transactional_id(Some(TransactionalId(text("")))),
            0,
        ),
        ("goes on", going_on(1_000, 0), GOES_ON),
        ("goes on, largest epoch", going_on(1_000, i16::MAX), GOES_ON),
        ("id without an epoch", going_on(1_000, -1), GOES_ON),
        ("epoch without an id", going_on(-1, 0), GOES_ON),
        ("negative id", going_on(-2, -2), GOES_ON),
    ];
    for version in versions::<InitProducerIdRequest>() {
        for (case, request, since) in &rows {
            if version >= *since {
                pair.compare(case, version, |_| request.clone()).await?;
            }
        }
    }
    Ok(())
}
