//! Our assignors against those of the Java client, with the same random groups.

mod assignors {
    pub(crate) mod cases;
    pub(crate) mod judge;
    pub(crate) mod oracle;
}
