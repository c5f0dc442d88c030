//! Ports that nobody else takes while a cluster lives.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use super::cache;
use super::error::{Error, Result};

/// Below the ports that systems hand out for outgoing connections (Linux from 32768, others from 49152): a broker that is restarted finds
/// its port free.
const RANGE: Range<u16> = 20_000..32_000;

/// A port of this machine, locked against other test processes until dropped.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Takes a port on which nobody listens.
    pub(crate) fn take() -> Result<Self> {
        let folder = cache::folder()?.join("ports");
        cache::create(&folder)?;
        let width = RANGE.end - RANGE.start;
        let first = (RandomState::new().hash_one(0) % u64::from(width)) as u16;
        for step in 0..width {
            let number = RANGE.start + (first + step) % width;
            let Some(lock) = cache::try_lock(&folder.join(number.to_string()))? else {
                continue;
            };
            if TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self {
                    number,
                    _lock: lock,
                });
            }
        }
        Err(Error::Io {
            what: format!("find a free port in {RANGE:?}"),
            source: std::io::ErrorKind::AddrInUse.into(),
        })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_port_is_given_twice() {
        let ports: Vec<Port> = (0..50).map(|_| Port::take().unwrap()).collect();
        let numbers: HashSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), 50);
        assert!(numbers.iter().all(|number| RANGE.contains(number)));
    }
}
