use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

/// Where a broker listens. Made from what `bootstrap.servers` or a metadata response says; resolved at every connection
/// attempt, never before.
///
/// Parses what the Java client takes: blanks around it, a scheme before it, an IPv6 address in brackets.
///
/// ```
/// use session_actor::wire::Address;
///
/// let address: Address = " PLAINTEXT://[::1]:9092".parse()?;
/// assert_eq!((address.host(), address.port()), ("::1", 9092));
/// assert_eq!(address.to_string(), "[::1]:9092");
/// # Ok::<(), session_actor::wire::AddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    host: Arc<str>,
    port: u16,
}

impl Address {
    /// `host` is a name or an address without brackets.
    pub fn new(host: impl Into<Arc<str>>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
        }
    }

    /// Host name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The entries of a list such as `bootstrap.servers`, each once and in order, and the faults of those that are none: one
    /// bad entry is worth a warning, only a list without a good one is an error.
    pub fn parse_list(list: &str) -> (Vec<Self>, Vec<AddressError>) {
        let mut good = Vec::new();
        let mut bad = Vec::new();
        for entry in list
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            match entry.parse() {
                Ok(address) if good.contains(&address) => {}
                Ok(address) => good.push(address),
                Err(error) => bad.push(error),
            }
        }
        (good, bad)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(entry: &str) -> Result<Self, AddressError> {
        let fault = |reason| AddressError {
            entry: entry.into(),
            reason,
        };
        let trimmed = entry.trim();
        let bare = trimmed.split_once("://").map_or(trimmed, |(_, rest)| rest);
        let (host, port) = match bare.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest
                    .split_once(']')
                    .ok_or_else(|| fault("no ']' ends the IPv6 address"))?;
                (host, port.strip_prefix(':'))
            }
            None if bare
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_ipv6()) =>
            {
                return Err(fault("write an IPv6 address in brackets, as in [::1]:9092"));
            }
            None => match bare.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (bare, None),
            },
        };
        let port = port.ok_or_else(|| fault("the port is missing, as in :9092"))?;
        let port = port
            .parse()
            .map_err(|_| fault("the port is not a number up to 65535"))?;
        let printable = |c: char| c.is_alphanumeric() || "-._%:".contains(c);
        match host {
            "" => Err(fault("the host is missing")),
            _ if port == 0 => Err(fault("port 0 cannot be connected to")),
            _ if !host.chars().all(printable) => {
                Err(fault("the host has a character that no host name has"))
            }
            _ => Ok(Self::new(host, port)),
        }
    }
}

/// An entry that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} is not HOST:PORT: {reason}")]
pub struct AddressError {
    entry: Box<str>,
    reason: &'static str,
}

/// The other end of a connection, for connecting to it and for telling the user which one failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Node id, `None` for a bootstrap address of which nothing is known yet.
    pub node: Option<i32>,
    /// Where it listens.
    pub address: Address,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(f, "broker {node} at {}", self.address),
            None => write!(f, "bootstrap server {}", self.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    fn parsed(list: &str) -> (Vec<String>, usize) {
        let (good, bad) = Address::parse_list(list);
        (good.iter().map(Address::to_string).collect(), bad.len())
    }

    #[test]
    fn f078_bootstrap_lists() {
        let table: [(&str, &[&str], usize); 9] = [
            ("a:9092, b:9092", &["a:9092", "b:9092"], 0),
            ("PLAINTEXT://a:9092", &["a:9092"], 0),
            ("[::1]:9092", &["[::1]:9092"], 0),
            ("SSL://[fe80::1%eth0]:9093", &["[fe80::1%eth0]:9093"], 0),
            ("a:9092,a:9092,b:1", &["a:9092", "b:1"], 0),
            ("a:9092,", &["a:9092"], 0),
            ("a:9092,b,c:9094", &["a:9092", "c:9094"], 1),
            ("\u{fc}ber.example:9092", &["\u{fc}ber.example:9092"], 0),
            (" , ", &[], 0),
        ];
        for (list, good, bad) in table {
            assert_eq!(
                parsed(list),
                (good.iter().map(ToString::to_string).collect(), bad),
                "{list}"
            );
        }
    }

    #[test]
    fn f078_what_is_no_address_says_why() {
        for (entry, reason) in [
            ("a", "port is missing"),
            ("a:", "not a number"),
            ("a:65536", "not a number"),
            ("a:0", "port 0"),
            (":9092", "host is missing"),
            ("::1", "in brackets"),
            ("[::1:9092", "no ']'"),
            ("[::1]", "port is missing"),
            ("[::1]9092", "port is missing"),
            ("a b:9092", "no host name has"),
            ("a:9092/path", "not a number"),
        ] {
            let error = entry.parse::<Address>().expect_err(entry).to_string();
            assert!(error.contains(reason) && error.contains(entry), "{error}");
        }
    }
}
