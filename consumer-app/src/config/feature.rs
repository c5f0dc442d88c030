//! What the configuration can already ask for and the consumer does not do yet. The one place to change when it does.

/// A part of the consumer that has keys of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    Groups,
    Tls,
    Sasl,
}

impl Feature {
    /// Whether the consumer has it.
    pub(super) const fn is_built(self) -> bool {
        match self {
            Self::Groups => true,
            Self::Tls => false,
            Self::Sasl => false,
        }
    }

    /// What a user asks for who asks for it.
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::Groups => "membership of a group",
            Self::Tls => "encrypted connections (TLS)",
            Self::Sasl => "authentication (SASL)",
        }
    }
}
