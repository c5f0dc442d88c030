//! `bootstrap.servers`: the brokers to begin with.

use std::fmt;
use std::net::Ipv6Addr;

use super::choice::{Choice, SecurityProtocol};
use super::error::excerpt;

/// A broker's name or address, and its port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    host: String,
    port: u16,
}

impl HostPort {
    /// The name or address; an IPv6 address without its brackets, as `TcpStream::connect` takes it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, 1 to 65535.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.port == other.port && self.host.eq_ignore_ascii_case(&other.host)
    }
}

/// `host:port`, an IPv6 address in brackets.
impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The brokers to begin with, in the order given, none twice. Empty only while the key is not set.
///
/// An entry that cannot be read does not spoil the others: it is in [`ignored`](Self::ignored), for a warning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootstrapServers {
    servers: Vec<HostPort>,
    ignored: Vec<IgnoredServer>,
    protocol: Option<SecurityProtocol>,
}

/// An entry of `bootstrap.servers` that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredServer {
    entry: String,
    reason: String,
}

impl IgnoredServer {
    /// The entry as given, shortened when it is long.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// What is wrong with it, and what to write instead.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for IgnoredServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.entry, self.reason)
    }
}

impl BootstrapServers {
    /// Reads a list like `a:9092, [::1]:9092, PLAINTEXT://b:9092`. Blanks, empty entries and repeated brokers do no
    /// harm.
    ///
    /// # Errors
    /// What is wrong with each entry, when not one can be used.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut list = Self::default();
        for entry in text
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            match list.parse_entry(entry) {
                Ok(server) if list.servers.iter().any(|known| known.is_same_as(&server)) => {}
                Ok(server) => list.servers.push(server),
                Err(reason) => list.ignored.push(IgnoredServer {
                    entry: shown(entry),
                    reason,
                }),
            }
        }
        if !list.servers.is_empty() {
            return Ok(list);
        }
        if list.ignored.is_empty() {
            return Err("no broker is named".to_owned());
        }
        Err(list
            .ignored
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; "))
    }

    fn parse_entry(&mut self, entry: &str) -> Result<HostPort, String> {
        let Some((scheme, address)) = entry.split_once("://") else {
            return parse_address(entry);
        };
        let server = parse_address(address)?;
        // other names are those of listeners, which say nothing about the connection
        if let Some(protocol) = SecurityProtocol::ALL
            .iter()
            .find(|known| known.name().eq_ignore_ascii_case(scheme))
        {
            match self.protocol {
                Some(other) if other != *protocol => {
                    return Err(format!(
                        "an earlier entry says {other}, all must say the same"
                    ));
                }
                _ => self.protocol = Some(*protocol),
            }
        }
        Ok(server)
    }

    /// The brokers.
    pub fn iter(&self) -> std::slice::Iter<'_, HostPort> {
        self.servers.iter()
    }

    /// Whether the key is not set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// How many brokers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// The entries that were left out.
    #[must_use]
    pub fn ignored(&self) -> &[IgnoredServer] {
        &self.ignored
    }

    /// The security protocol that entries like `SSL://a:9093` name.
    pub(super) const fn protocol(&self) -> Option<SecurityProtocol> {
        self.protocol
    }
}

impl<'a> IntoIterator for &'a BootstrapServers {
    type Item = &'a HostPort;
    type IntoIter = std::slice::Iter<'a, HostPort>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As the key's value: what was understood of it.
impl fmt::Display for BootstrapServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, server) in self.servers.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            if let Some(protocol) = self.protocol {
                write!(f, "{protocol}://")?;
            }
            write!(f, "{server}")?;
        }
        Ok(())
    }
}

fn parse_address(address: &str) -> Result<HostPort, String> {
    if address.contains('@') {
        return Err("a user or password has no place here, see sasl.jaas.config".to_owned());
    }
    if let Some(bracketed) = address.strip_prefix('[') {
        let (host, rest) = bracketed
            .split_once(']')
            .ok_or("the bracket is not closed, write [address]:port")?;
        let digits = host.split_once('%').map_or(host, |(digits, _zone)| digits);
        digits
            .parse::<Ipv6Addr>()
            .map_err(|_| "only an IPv6 address stands in brackets")?;
        let port = rest
            .strip_prefix(':')
            .ok_or("the port is missing, write [address]:port")?;
        return Ok(HostPort {
            host: host.to_owned(),
            port: parse_port(port)?,
        });
    }
    let (host, port) = address
        .rsplit_once(':')
        .ok_or("the port is missing, write host:port (Kafka's usual one is 9092)")?;
    if host.contains(':') {
        return Err("an IPv6 address stands in brackets, write [address]:port".to_owned());
    }
    if host.is_empty() {
        return Err("the host is missing, write host:port".to_owned());
    }
    if !host.is_ascii() {
        return Err("a name with other than ASCII letters is written in its xn-- form".to_owned());
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if !host.bytes().all(is_name) || host.len() > LONGEST_NAME {
        return Err("not the name of a host".to_owned());
    }
    Ok(HostPort {
        host: host.to_owned(),
        port: parse_port(port)?,
    })
}

/// RFC 1035, section 2.3.4, with the root's dot.
const LONGEST_NAME: usize = 254;

fn parse_port(text: &str) -> Result<u16, String> {
    let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if digits_only && port != 0 => Ok(port),
        _ => Err("the port is no number from 1 to 65535".to_owned()),
    }
}

/// The entry for a message, without a user and password that were put into it.
fn shown(entry: &str) -> String {
    excerpt(entry.rsplit_once('@').map_or(entry, |(_hidden, host)| host))
}
