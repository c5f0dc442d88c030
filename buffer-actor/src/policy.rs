//! What to do with a node some of whose partitions are buffered: the default, and for comparison the four options that
//! were weighed in KAFKA-17182.

use std::str::FromStr;

/// The planner's strategy for buffered partitions.
///
/// Everything but [`Policy::ReadAhead`] is there for the lab that compares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// Ask for the offset after what is buffered. The partition stays in its session and fetching goes on (I5).
    #[default]
    ReadAhead,
    /// Leave buffered partitions out of the request, so that the session forgets them (option 1, Java before 4.0).
    OmitBuffered,
    /// Send nothing to any node while anything is buffered (option 2).
    StopWhileBuffered,
    /// Name buffered partitions with a partition limit of one byte (option 3).
    MaxBytesOne,
    /// Send nothing to a node that leads a buffered partition (option 4, Java from 4.0 on).
    SkipNode,
}

impl Policy {
    /// Whether the second lane is used. The variants are measured as their authors meant them: with one lane.
    pub const fn uses_quick_lane(self) -> bool {
        matches!(self, Self::ReadAhead)
    }

    /// Whether the end of a lease changes what may be asked for.
    pub(crate) const fn looks_at_leases(self) -> bool {
        !matches!(self, Self::ReadAhead)
    }

    /// What becomes of one partition that is ready to be fetched.
    ///
    /// `buffered`: it has records that the application was not given yet. `any_buffered`: some assigned partition has.
    pub(crate) const fn treat(self, buffered: bool, any_buffered: bool) -> Treatment {
        match self {
            Self::ReadAhead => Treatment::Ask,
            Self::StopWhileBuffered if any_buffered => Treatment::HoldNode,
            Self::OmitBuffered if buffered => Treatment::LeaveOut,
            Self::MaxBytesOne if buffered => Treatment::AskOneByte,
            Self::SkipNode if buffered => Treatment::HoldNode,
            Self::OmitBuffered | Self::StopWhileBuffered | Self::MaxBytesOne | Self::SkipNode => {
                Treatment::Ask
            }
        }
    }
}

/// The answer of [`Policy::treat`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    Ask,
    AskOneByte,
    LeaveOut,
    HoldNode,
}

/// The text is not the name of a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown fetch policy {0:?}: one of read-ahead, omit, stop, max-bytes-1, skip-node is allowed"
)]
pub struct UnknownPolicy(String);

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        Ok(match name {
            "read-ahead" => Self::ReadAhead,
            "omit" => Self::OmitBuffered,
            "stop" => Self::StopWhileBuffered,
            "max-bytes-1" => Self::MaxBytesOne,
            "skip-node" => Self::SkipNode,
            _ => return Err(UnknownPolicy(name.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_treats_a_buffered_partition_its_own_way() {
        use Treatment::*;
        // policy, then (buffered, any buffered): (no, no), (no, yes), (yes, yes)
        let table = [
            ("read-ahead", [Ask, Ask, Ask]),
            ("omit", [Ask, Ask, LeaveOut]),
            ("stop", [Ask, HoldNode, HoldNode]),
            ("max-bytes-1", [Ask, Ask, AskOneByte]),
            ("skip-node", [Ask, Ask, HoldNode]),
        ];
        for (name, [clean, other, own]) in table {
            let policy: Policy = name.parse().unwrap();
            assert_eq!(policy.treat(false, false), clean, "{name}");
            assert_eq!(policy.treat(false, true), other, "{name}");
            assert_eq!(policy.treat(true, true), own, "{name}");
        }
        assert!(
            "fastest"
                .parse::<Policy>()
                .unwrap_err()
                .to_string()
                .contains("read-ahead")
        );
    }
}
