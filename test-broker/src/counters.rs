/// What one node counted since the broker was started, and what it has now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeCounters {
    /// Requests taken in, of all APIs.
    pub requests: u64,
    /// Fetch requests among them.
    pub fetch_requests: u64,
    /// Fetch answers with at least one byte of records.
    pub fetches_with_records: u64,
    /// Bytes of records in Fetch answers.
    pub record_bytes_sent: u64,
    /// Bytes of all answers, their length fields included.
    pub bytes_sent: u64,
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Connections that are open now.
    pub connections_open: u64,
    /// Incremental fetch sessions now (NumIncrementalFetchSessions).
    pub fetch_sessions: usize,
    /// Their partitions, as counted when each was last touched (NumIncrementalFetchPartitionsCached).
    pub cached_partitions: usize,
    /// Sessions evicted to make room (IncrementalFetchSessionEvictionsPerSec, the count).
    pub sessions_evicted: u64,
}

impl NodeCounters {
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.fetch_requests += other.fetch_requests;
        self.fetches_with_records += other.fetches_with_records;
        self.record_bytes_sent += other.record_bytes_sent;
        self.bytes_sent += other.bytes_sent;
        self.connections_accepted += other.connections_accepted;
        self.connections_open += other.connections_open;
        self.fetch_sessions += other.fetch_sessions;
        self.cached_partitions += other.cached_partitions;
        self.sessions_evicted += other.sessions_evicted;
    }
}
