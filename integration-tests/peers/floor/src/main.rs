//! The floor: the least that any client has to do to read a topic, and nothing else.
//!
//! One thread, one connection, Fetch requests without a session. The next request leaves when only the headers of the batches that came
//! were looked at; then each batch is checked (CRC), decompressed into a buffer that is used again, and every record in it is walked. There
//! are no groups, no errors that could be dealt with, and no API. It is a floor for this way of reading, with these decoders, not a law of
//! nature.

mod batch;
mod protocol;

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use contract::{Arguments, Meter, Tally};

use batch::{Decoder, next_offset};
use protocol::{Request, Section};

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let request = Request::new(&arguments)?;
    let mut decoder = Decoder::new()?;
    for _ in 0..arguments.passes {
        pass(&arguments, &request, &mut decoder)?;
    }
    Ok(())
}

fn pass(arguments: &Arguments, request: &Request, decoder: &mut Decoder) -> Result<()> {
    let meter = Meter::begin(arguments)?;
    let mut stream = TcpStream::connect(&arguments.bootstrap_server)?;
    stream.set_nodelay(true)?;
    let mut tally = Tally::default();
    let mut next = vec![0; usize::try_from(arguments.partitions)?];
    let (mut frame, mut reply, mut sections) = (Vec::new(), Vec::new(), Vec::new());
    let mut asked = next.clone();
    request.write(&next, &mut frame);
    stream.write_all(&frame)?;
    while tally.records() < arguments.records {
        meter.check(&tally)?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = usize::try_from(i32::from_be_bytes(length))?;
        if reply.len() < length {
            reply.resize(length, 0);
        }
        let reply = reply.get_mut(..length).context("no room")?;
        stream.read_exact(reply)?;
        tally.polled();
        protocol::read(reply, &mut sections)?;
        asked.clone_from(&next);
        for section in &sections {
            if let Some(offset) = next_offset(section.records(reply)?)? {
                *slot(&mut next, section)? = offset;
            }
        }
        request.write(&next, &mut frame);
        stream.write_all(&frame)?;
        for section in &sections {
            let from = *slot(&mut asked, section)?;
            decoder.read(section.records(reply)?, from, &mut tally)?;
        }
    }
    ensure!(
        tally.records() == arguments.records,
        "more records than there are"
    );
    meter.end("bare reader", &tally)
}

/// The offset of a section's partition.
fn slot<'a>(offsets: &'a mut [i64], section: &Section) -> Result<&'a mut i64> {
    let index = usize::try_from(section.partition)?;
    offsets
        .get_mut(index)
        .context("a partition that was not asked for")
}
