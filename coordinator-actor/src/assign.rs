//! Who reads what: the assignors of the classic protocol, and what members tell each other through the coordinator.
