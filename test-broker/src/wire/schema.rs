//! The layouts of the requests that the broker answers, as far as it takes to check them without decoding them.

use kafka_protocol::messages::ApiKey;

use super::guard::{Budget, Malformed};

/// What a field looks like on the wire.
pub(super) enum Shape {
    /// A number, flag or id of this many bytes.
    Fixed(usize),
    /// A string, nullable or not.
    Text,
    /// Bytes, nullable or not.
    Blob,
    /// An array, nullable or not, of structures with these fields.
    Array(&'static [Field], &'static [Tag]),
    /// An array of plain values.
    ArrayOf(&'static Self),
    /// A structure with these fields.
    Struct(&'static [Field]),
}

/// A field and the versions that have it.
pub(super) struct Field {
    shape: Shape,
    first: i16,
    last: i16,
}

/// A tagged field that the decoder knows (KIP-482), and the first version that has it.
pub(super) struct Tag {
    number: u32,
    first: i16,
    shape: Shape,
}

/// The layout of one request.
pub(super) struct Layout {
    flexible: i16,
    fields: &'static [Field],
    tags: &'static [Tag],
}

impl Layout {
    pub(super) fn check(
        &self,
        reader: &mut Reader<'_>,
        version: i16,
        budget: &mut Budget,
    ) -> Result<(), Malformed> {
        let walk = Walk {
            version,
            flexible: version >= self.flexible,
        };
        walk.structure(reader, self.fields, self.tags, budget)
    }
}

struct Walk {
    version: i16,
    flexible: bool,
}

impl Walk {
    fn structure(
        &self,
        reader: &mut Reader<'_>,
        fields: &'static [Field],
        tags: &'static [Tag],
        budget: &mut Budget,
    ) -> Result<(), Malformed> {
        for field in fields {
            if (field.first..=field.last).contains(&self.version) {
                self.value(reader, &field.shape, budget)?;
            }
        }
        if self.flexible {
            reader.tags(tags, self.version, budget)?;
        }
        Ok(())
    }

    fn value(
        &self,
        reader: &mut Reader<'_>,
        shape: &'static Shape,
        budget: &mut Budget,
    ) -> Result<(), Malformed> {
        match shape {
            Shape::Fixed(size) => reader.skip(*size),
            Shape::Text => reader.string(self.flexible).map(drop),
            Shape::Blob => reader.blob(self.flexible),
            Shape::Struct(fields) => self.structure(reader, fields, &[], budget),
            Shape::Array(fields, tags) => {
                for _ in 0..reader.count(self.flexible, budget)? {
                    self.structure(reader, fields, tags, budget)?;
                }
                Ok(())
            }
            Shape::ArrayOf(shape) => {
                for _ in 0..reader.count(self.flexible, budget)? {
                    self.value(reader, shape, budget)?;
                }
                Ok(())
            }
        }
    }
}

/// Steps over the primitive types of the protocol; every length is held against what is there.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8], Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..size).ok_or(Malformed::Cut)?;
        self.at += size;
        Ok(taken)
    }

    fn skip(&mut self, size: usize) -> Result<(), Malformed> {
        self.take(size).map(drop)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed::Cut)
    }

    /// An unsigned varint of 32 bits; one that is longer or larger is refused, whatever a decoder would make of it.
    fn varint(&mut self) -> Result<u32, Malformed> {
        let mut value = 0_u64;
        for group in 0..5 {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << (7 * group);
            if byte < 0x80 {
                return u32::try_from(value).map_err(|_| Malformed::Varint);
            }
        }
        Err(Malformed::Varint)
    }

    /// A length of 16 or 32 bits, or a compact one; `None` is null.
    fn length<const N: usize>(&mut self, compact: bool) -> Result<Option<usize>, Malformed> {
        if compact {
            let length = self.varint()?.checked_sub(1);
            return Ok(length.map(|length| length as usize));
        }
        let bytes = self.array::<N>()?;
        let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
        let length = bytes
            .iter()
            .fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
        match negative {
            false => Ok(Some(length)),
            true if bytes.iter().all(|byte| *byte == 0xff) => Ok(None),
            true => Err(Malformed::NegativeLength),
        }
    }

    pub(super) fn string(&mut self, compact: bool) -> Result<Option<&'a [u8]>, Malformed> {
        match self.length::<2>(compact)? {
            Some(length) => self.take(length).map(Some),
            None => Ok(None),
        }
    }

    fn blob(&mut self, compact: bool) -> Result<(), Malformed> {
        match self.length::<4>(compact)? {
            Some(length) => self.skip(length),
            None => Ok(()),
        }
    }

    /// The declared count of an array: never more than there are bytes left, nor than the request may hold in all.
    fn count(&mut self, compact: bool, budget: &mut Budget) -> Result<usize, Malformed> {
        let count = self.length::<4>(compact)?.unwrap_or(0);
        let left = self.bytes.len() - self.at;
        if count > left {
            return Err(Malformed::Count { count, left });
        }
        budget.spend(count)?;
        Ok(count)
    }

    /// Tagged fields. A known one must be as long as it says, since the decoder goes by its type and not by its size.
    pub(super) fn tags(
        &mut self,
        known: &'static [Tag],
        version: i16,
        budget: &mut Budget,
    ) -> Result<(), Malformed> {
        for _ in 0..self.varint()? {
            budget.spend(1)?;
            let number = self.varint()?;
            let size = self.varint()? as usize;
            let end = self.at.saturating_add(size);
            match known.iter().find(|tag| tag.number == number) {
                Some(tag) if version >= tag.first => {
                    let walk = Walk {
                        version,
                        flexible: true,
                    };
                    walk.value(self, &tag.shape, budget)?;
                    if self.at != end {
                        return Err(Malformed::TagSize { number, size });
                    }
                }
                _ => self.skip(size)?,
            }
        }
        Ok(())
    }
}

const INT8: Shape = Shape::Fixed(1);
const INT16: Shape = Shape::Fixed(2);
const INT32: Shape = Shape::Fixed(4);
const INT64: Shape = Shape::Fixed(8);
const UUID: Shape = Shape::Fixed(16);
const BOOLEAN: Shape = Shape::Fixed(1);

const fn field(shape: Shape) -> Field {
    span(shape, 0, i16::MAX)
}

const fn since(shape: Shape, first: i16) -> Field {
    span(shape, first, i16::MAX)
}

const fn span(shape: Shape, first: i16, last: i16) -> Field {
    Field { shape, first, last }
}

/// An array of structures without tagged fields that the decoder knows.
const fn list(fields: &'static [Field]) -> Shape {
    Shape::Array(fields, &[])
}

const fn layout(flexible: i16, fields: &'static [Field]) -> Layout {
    Layout {
        flexible,
        fields,
        tags: &[],
    }
}

/// The layout of the requests of `api`; `None` if the broker does not answer it.
pub(super) fn layout_of(api: ApiKey) -> Option<&'static Layout> {
    Some(match api {
        ApiKey::ApiVersions => &API_VERSIONS,
        ApiKey::Metadata => &METADATA,
        ApiKey::CreateTopics => &CREATE_TOPICS,
        ApiKey::DeleteTopics => &DELETE_TOPICS,
        ApiKey::InitProducerId => &INIT_PRODUCER_ID,
        ApiKey::Produce => &PRODUCE,
        ApiKey::Fetch => &FETCH,
        ApiKey::ListOffsets => &LIST_OFFSETS,
        ApiKey::OffsetForLeaderEpoch => &OFFSET_FOR_LEADER_EPOCH,
        ApiKey::FindCoordinator => &FIND_COORDINATOR,
        ApiKey::JoinGroup => &JOIN_GROUP,
        ApiKey::SyncGroup => &SYNC_GROUP,
        ApiKey::Heartbeat => &HEARTBEAT,
        ApiKey::LeaveGroup => &LEAVE_GROUP,
        ApiKey::ListGroups => &LIST_GROUPS,
        ApiKey::DescribeGroups => &DESCRIBE_GROUPS,
        ApiKey::ConsumerGroupHeartbeat => &CONSUMER_GROUP_HEARTBEAT,
        ApiKey::ConsumerGroupDescribe => &CONSUMER_GROUP_DESCRIBE,
        ApiKey::OffsetCommit => &OFFSET_COMMIT,
        ApiKey::OffsetFetch => &OFFSET_FETCH,
        _ => return None,
    })
}

// client software name and version
static API_VERSIONS: Layout = layout(3, &[since(Shape::Text, 3), since(Shape::Text, 3)]);

// topics {id, name}, allow auto creation, include operations of the cluster and of topics
static METADATA: Layout = layout(
    9,
    &[
        field(list(&[since(UUID, 10), field(Shape::Text)])),
        since(BOOLEAN, 4),
        span(BOOLEAN, 8, 10),
        since(BOOLEAN, 8),
    ],
);

// topics {name, partitions, replication factor, assignments {partition, brokers}, configs {name, value}}, timeout,
// validate only
static CREATE_TOPICS: Layout = layout(
    5,
    &[
        field(list(&[
            field(Shape::Text),
            field(INT32),
            field(INT16),
            field(list(&[field(INT32), field(Shape::ArrayOf(&INT32))])),
            field(list(&[field(Shape::Text), field(Shape::Text)])),
        ])),
        field(INT32),
        since(BOOLEAN, 1),
    ],
);

// topics {name, id}, names, timeout
static DELETE_TOPICS: Layout = layout(
    4,
    &[
        since(list(&[field(Shape::Text), field(UUID)]), 6),
        span(Shape::ArrayOf(&Shape::Text), 0, 5),
        field(INT32),
    ],
);

// transactional id, timeout, producer id and epoch
static INIT_PRODUCER_ID: Layout = layout(
    2,
    &[
        field(Shape::Text),
        field(INT32),
        since(INT64, 3),
        since(INT16, 3),
    ],
);

// transactional id, acks, timeout, topics {name, id, partitions {index, records}}
static PRODUCE: Layout = layout(
    9,
    &[
        since(Shape::Text, 3),
        field(INT16),
        field(INT32),
        field(list(&[
            span(Shape::Text, 0, 12),
            since(UUID, 13),
            field(list(&[field(INT32), field(Shape::Blob)])),
        ])),
    ],
);

// replica, max wait, min and max bytes, isolation level, session id and epoch, topics {name, id, partitions {index,
// leader epoch, offset, last fetched epoch, log start offset, max bytes}}, forgotten {name, id, partitions}, rack;
// tagged: cluster id, replica state; per partition: directory id, high watermark
static FETCH: Layout = Layout {
    flexible: 12,
    fields: &[
        span(INT32, 0, 14),
        field(INT32),
        field(INT32),
        field(INT32),
        field(INT8),
        since(INT32, 7),
        since(INT32, 7),
        field(list(&[
            span(Shape::Text, 0, 12),
            since(UUID, 13),
            field(Shape::Array(
                &[
                    field(INT32),
                    since(INT32, 9),
                    field(INT64),
                    since(INT32, 12),
                    since(INT64, 5),
                    field(INT32),
                ],
                &[
                    Tag {
                        number: 0,
                        first: 17,
                        shape: UUID,
                    },
                    Tag {
                        number: 1,
                        first: 18,
                        shape: INT64,
                    },
                ],
            )),
        ])),
        since(
            list(&[
                span(Shape::Text, 0, 12),
                since(UUID, 13),
                field(Shape::ArrayOf(&INT32)),
            ]),
            7,
        ),
        since(Shape::Text, 11),
    ],
    tags: &[
        Tag {
            number: 0,
            first: 12,
            shape: Shape::Text,
        },
        Tag {
            number: 1,
            first: 15,
            shape: Shape::Struct(&[field(INT32), field(INT64)]),
        },
    ],
};

// replica, isolation level, topics {name, partitions {index, leader epoch, timestamp}}, timeout
static LIST_OFFSETS: Layout = layout(
    6,
    &[
        field(INT32),
        since(INT8, 2),
        field(list(&[
            field(Shape::Text),
            field(list(&[field(INT32), since(INT32, 4), field(INT64)])),
        ])),
        since(INT32, 10),
    ],
);

// replica, topics {name, partitions {index, current leader epoch, leader epoch}}
static OFFSET_FOR_LEADER_EPOCH: Layout = layout(
    4,
    &[
        since(INT32, 3),
        field(list(&[
            field(Shape::Text),
            field(list(&[field(INT32), since(INT32, 2), field(INT32)])),
        ])),
    ],
);

// key, type, keys
static FIND_COORDINATOR: Layout = layout(
    3,
    &[
        span(Shape::Text, 0, 3),
        since(INT8, 1),
        since(Shape::ArrayOf(&Shape::Text), 4),
    ],
);

// group, generation, member, instance, retention, topics {name, partitions {index, offset, leader epoch, metadata}}
static OFFSET_COMMIT: Layout = layout(
    8,
    &[
        field(Shape::Text),
        field(INT32),
        field(Shape::Text),
        since(Shape::Text, 7),
        span(INT64, 2, 4),
        field(list(&[
            field(Shape::Text),
            field(list(&[
                field(INT32),
                field(INT64),
                since(INT32, 6),
                field(Shape::Text),
            ])),
        ])),
    ],
);

// group, topics {name, partitions}, groups {group, member, epoch, topics {name, partitions}}, require stable
static OFFSET_FETCH: Layout = layout(
    6,
    &[
        span(Shape::Text, 0, 7),
        span(
            list(&[field(Shape::Text), field(Shape::ArrayOf(&INT32))]),
            0,
            7,
        ),
        since(
            list(&[
                field(Shape::Text),
                since(Shape::Text, 9),
                since(INT32, 9),
                field(list(&[field(Shape::Text), field(Shape::ArrayOf(&INT32))])),
            ]),
            8,
        ),
        since(BOOLEAN, 7),
    ],
);

// group, session and rebalance timeout, member, instance, protocol type, protocols {name, metadata}, reason
static JOIN_GROUP: Layout = layout(
    6,
    &[
        field(Shape::Text),
        field(INT32),
        since(INT32, 1),
        field(Shape::Text),
        since(Shape::Text, 5),
        field(Shape::Text),
        field(list(&[field(Shape::Text), field(Shape::Blob)])),
        since(Shape::Text, 8),
    ],
);

// group, generation, member, instance, protocol type and name, assignments {member, assignment}
static SYNC_GROUP: Layout = layout(
    4,
    &[
        field(Shape::Text),
        field(INT32),
        field(Shape::Text),
        since(Shape::Text, 3),
        since(Shape::Text, 5),
        since(Shape::Text, 5),
        field(list(&[field(Shape::Text), field(Shape::Blob)])),
    ],
);

// group, generation, member, instance
static HEARTBEAT: Layout = layout(
    4,
    &[
        field(Shape::Text),
        field(INT32),
        field(Shape::Text),
        since(Shape::Text, 3),
    ],
);

// group, member, members {id, instance, reason}
static LEAVE_GROUP: Layout = layout(
    4,
    &[
        field(Shape::Text),
        span(Shape::Text, 0, 2),
        since(
            list(&[
                field(Shape::Text),
                field(Shape::Text),
                since(Shape::Text, 5),
            ]),
            3,
        ),
    ],
);

// states, types
static LIST_GROUPS: Layout = layout(
    3,
    &[
        since(Shape::ArrayOf(&Shape::Text), 4),
        since(Shape::ArrayOf(&Shape::Text), 5),
    ],
);

// groups, include operations
static DESCRIBE_GROUPS: Layout =
    layout(5, &[field(Shape::ArrayOf(&Shape::Text)), since(BOOLEAN, 3)]);

// group, member, epoch, instance, rack, rebalance timeout, topics, regex, assignor, owned {topic id, partitions}
static CONSUMER_GROUP_HEARTBEAT: Layout = layout(
    0,
    &[
        field(Shape::Text),
        field(Shape::Text),
        field(INT32),
        field(Shape::Text),
        field(Shape::Text),
        field(INT32),
        field(Shape::ArrayOf(&Shape::Text)),
        since(Shape::Text, 1),
        field(Shape::Text),
        field(list(&[field(UUID), field(Shape::ArrayOf(&INT32))])),
    ],
);

// groups, include operations
static CONSUMER_GROUP_DESCRIBE: Layout =
    layout(0, &[field(Shape::ArrayOf(&Shape::Text)), field(BOOLEAN)]);
