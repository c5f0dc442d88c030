//! What must hold of what consumers were given, and the record of all that happened.

pub(crate) mod group;
pub(crate) mod journal;
pub(crate) mod order;
