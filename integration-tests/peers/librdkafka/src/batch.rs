//! Up to 10,000 records per call, through the C API.

#![expect(unsafe_code, reason = "the crate has no safe wrapper of the batch API")]

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use anyhow::{Result, ensure};
use contract::{Arguments, Meter, Tally};
use rdkafka::bindings as c;
use rdkafka::types::{RDKafkaConfRes, RDKafkaErrorCode, RDKafkaRespErr};

const WAIT_MS: i32 = 1000;
const MOST: usize = 10_000;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let consumer = Consumer::new(arguments)?;
    let mut messages = vec![ptr::null_mut(); MOST];
    for _ in 0..arguments.passes {
        let meter = Meter::begin(arguments)?;
        consumer.assign(&arguments.topic, arguments.partitions)?;
        let mut tally = Tally::default();
        while tally.records() < arguments.records {
            meter.check(&tally)?;
            tally.polled();
            consumer.consume(&mut messages, &mut tally)?;
        }
        meter.end(&crate::client(), &tally)?;
        consumer.assign(&arguments.topic, 0)?;
    }
    Ok(())
}

/// A consumer with the queue that it gives its records to.
struct Consumer {
    client: *mut c::rd_kafka_t,
    queue: *mut c::rd_kafka_queue_t,
}

impl Consumer {
    fn new(arguments: &Arguments) -> Result<Self> {
        let mut error = [0; 512];
        let text = |error: &[c_char]| {
            // SAFETY: librdkafka ends what it writes to the buffer with a zero, and the buffer began with zeros.
            unsafe { CStr::from_ptr(error.as_ptr()) }
                .to_string_lossy()
                .into_owned()
        };
        // SAFETY: no arguments; the configuration belongs to us until `rd_kafka_new` takes it.
        let config = unsafe { c::rd_kafka_conf_new() };
        for (key, value) in crate::properties(arguments) {
            let (name, value) = (CString::new(key)?, CString::new(value)?);
            // SAFETY: the configuration is live, the strings end with a zero, and the buffer has the length that is told.
            let set = unsafe {
                c::rd_kafka_conf_set(
                    config,
                    name.as_ptr(),
                    value.as_ptr(),
                    error.as_mut_ptr(),
                    error.len(),
                )
            };
            ensure!(
                set == RDKafkaConfRes::RD_KAFKA_CONF_OK,
                "{key}: {}",
                text(&error)
            );
        }
        // SAFETY: the configuration is live and is given away here.
        let client = unsafe {
            c::rd_kafka_new(
                c::rd_kafka_type_t::RD_KAFKA_CONSUMER,
                config,
                error.as_mut_ptr(),
                error.len(),
            )
        };
        ensure!(!client.is_null(), "{}", text(&error));
        // SAFETY: the client is live.
        let queue = unsafe {
            c::rd_kafka_poll_set_consumer(client);
            c::rd_kafka_queue_get_consumer(client)
        };
        Ok(Self { client, queue })
    }

    /// Assigns the first so many partitions, from their beginnings.
    fn assign(&self, topic: &str, partitions: i32) -> Result<()> {
        let topic = CString::new(topic)?;
        // SAFETY: client and list are live, the name ends with a zero and is copied, and so is the list by `rd_kafka_assign`.
        let refused = unsafe {
            let list = c::rd_kafka_topic_partition_list_new(partitions);
            for partition in 0..partitions {
                let added = c::rd_kafka_topic_partition_list_add(list, topic.as_ptr(), partition);
                (*added).offset = c::RD_KAFKA_OFFSET_BEGINNING.into();
            }
            let refused = c::rd_kafka_assign(self.client, list);
            c::rd_kafka_topic_partition_list_destroy(list);
            refused
        };
        check(refused)
    }

    fn consume(
        &self,
        messages: &mut [*mut c::rd_kafka_message_t],
        tally: &mut Tally,
    ) -> Result<()> {
        // SAFETY: the queue is live, and the slice has room for so many pointers.
        let count = unsafe {
            c::rd_kafka_consume_batch_queue(
                self.queue,
                WAIT_MS,
                messages.as_mut_ptr(),
                messages.len(),
            )
        };
        let count = usize::try_from(count)?;
        let mut checked = Ok(());
        for &message in &messages[..count] {
            // SAFETY: the first `count` pointers are messages that belong to us, each of which is destroyed once.
            unsafe {
                let record = &*message;
                match check(record.err) {
                    Ok(()) => tally.add(record.offset, record.key_len, record.len),
                    failed => checked = failed,
                }
                c::rd_kafka_message_destroy(message);
            }
        }
        checked
    }
}

fn check(code: RDKafkaRespErr) -> Result<()> {
    ensure!(
        code == RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR,
        "{}",
        RDKafkaErrorCode::from(code)
    );
    Ok(())
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // SAFETY: both are live and not used afterwards; the queue goes before the client that it is of.
        unsafe {
            c::rd_kafka_queue_destroy(self.queue);
            c::rd_kafka_consumer_close(self.client);
            c::rd_kafka_destroy(self.client);
        }
    }
}
