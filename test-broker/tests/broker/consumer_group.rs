//! Groups whose members the broker assigns (KIP-848).

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup;
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    GroupId, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, OffsetCommitRequest,
};
use kafka_protocol::protocol::StrBytes;
use test_broker::{GroupProtocol, GroupState, TestBroker};

use crate::client::{Client, client, text, topic_name};

const GROUP: &str = "billing";

fn broker() -> TestBroker {
    let broker = TestBroker::builder().topic("orders", 4).start_in_memory();
    broker.expect("a broker")
}

struct Member {
    client: Client,
    id: StrBytes,
    instance: Option<StrBytes>,
    epoch: i32,
    owned: Vec<i32>,
    topic_id: uuid::Uuid,
}

impl Member {
    fn new(broker: &TestBroker, id: &str, instance: Option<&str>) -> Self {
        Self {
            client: client(broker, broker.coordinator(GROUP).expect("a live node")),
            id: text(id),
            instance: instance.map(text),
            epoch: 0,
            owned: Vec::new(),
            topic_id: broker.topic_id("orders").expect("a topic"),
        }
    }

    fn request(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest::default()
            .with_group_id(GroupId(text(GROUP)))
            .with_member_id(self.id.clone())
            .with_member_epoch(self.epoch)
            .with_instance_id(self.instance.clone())
            .with_rebalance_timeout_ms(-1)
    }

    fn join_request(&self) -> ConsumerGroupHeartbeatRequest {
        self.request()
            .with_rebalance_timeout_ms(20_000)
            .with_subscribed_topic_names(Some(vec![topic_name("orders")]))
            .with_topic_partitions(Some(Vec::new()))
    }

    /// Sends a request and does what the answer says.
    async fn call(&mut self, request: &ConsumerGroupHeartbeatRequest) -> Option<ResponseError> {
        let answer = self.ask(request).await;
        if answer.error_code == 0 {
            self.epoch = answer.member_epoch;
            if let Some(assignment) = answer.assignment {
                let topics = assignment.topic_partitions.into_iter();
                self.owned = topics.flat_map(|topic| topic.partitions).collect();
            }
        }
        ResponseError::try_from_code(answer.error_code)
    }

    async fn ask(
        &mut self,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse {
        self.client.call(request, 1).await
    }

    async fn join(&mut self) -> Option<ResponseError> {
        self.epoch = 0;
        let request = self.join_request();
        self.call(&request).await
    }

    async fn beat(&mut self) -> Option<ResponseError> {
        let request = self.request();
        self.call(&request).await
    }

    /// Says what it owns, as after a revocation.
    async fn acknowledge(&mut self) -> Option<ResponseError> {
        let owned = TopicPartitions::default()
            .with_topic_id(self.topic_id)
            .with_partitions(self.owned.clone());
        let request = self.request().with_topic_partitions(Some(vec![owned]));
        self.call(&request).await
    }

    async fn commit(&mut self, partition: i32, epoch: i32) -> i16 {
        let partition = OffsetCommitRequestPartition::default()
            .with_partition_index(partition)
            .with_committed_offset(7);
        let topic = OffsetCommitRequestTopic::default()
            .with_name(topic_name("orders"))
            .with_partitions(vec![partition]);
        let request = OffsetCommitRequest::default()
            .with_group_id(GroupId(text(GROUP)))
            .with_member_id(self.id.clone())
            .with_generation_id_or_member_epoch(epoch)
            .with_topics(vec![topic]);
        let answer = self.client.call(&request, 9).await;
        answer.topics[0].partitions[0].error_code
    }
}

#[tokio::test(start_paused = true)]
async fn b169_a_partition_goes_to_its_new_owner_once_the_old_one_has_given_it_up() {
    let broker = broker();
    let (mut a, mut b) = (
        Member::new(&broker, "a", None),
        Member::new(&broker, "b", None),
    );
    assert_eq!(a.join().await, None);
    assert_eq!((a.epoch, a.owned.len()), (2, 4), "a group begins with 1");
    assert_eq!(b.join().await, None);
    assert_eq!((b.epoch, b.owned.len()), (3, 0), "all is still a's");
    let group = broker.group(GROUP).expect("a group");
    assert_eq!(
        (group.protocol, group.state),
        (GroupProtocol::Consumer, GroupState::Reconciling)
    );

    assert_eq!(a.beat().await, None);
    assert_eq!((a.epoch, a.owned.len()), (2, 2), "two are to be given up");
    b.beat().await;
    assert_eq!(b.owned.len(), 0);
    assert_eq!(a.acknowledge().await, None);
    assert_eq!(a.epoch, 3);
    b.beat().await;
    assert_eq!((b.epoch, b.owned.len()), (3, 2));
    let group = broker.group(GROUP).expect("a group");
    assert_eq!((group.state, group.generation), (GroupState::Stable, 3));
    assert_eq!(
        group.members[0].assignment.len() + group.members[1].assignment.len(),
        4
    );

    let leave = b.request().with_member_epoch(-1);
    assert_eq!(b.call(&leave).await, None);
    a.beat().await;
    assert_eq!((a.epoch, a.owned.len()), (4, 4));
    let describe =
        ConsumerGroupDescribeRequest::default().with_group_ids(vec![GroupId(text(GROUP))]);
    let described = a.client.call(&describe, 1).await;
    assert_eq!(described.groups[0].members[0].member_epoch, 4);
}

#[tokio::test(start_paused = true)]
async fn members_are_fenced_by_epoch_session_and_rebalance_timeout() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    let unknown = a.request().with_member_epoch(1);
    assert_eq!(a.call(&unknown).await, Some(ResponseError::GroupIdNotFound));
    a.join().await;
    let ahead = a.request().with_member_epoch(9);
    assert_eq!(a.call(&ahead).await, Some(ResponseError::FencedMemberEpoch));
    let mut b = Member::new(&broker, "b", None);
    let stranger = b.request().with_member_epoch(1);
    assert_eq!(
        b.call(&stranger).await,
        Some(ResponseError::UnknownMemberId)
    );

    // a is asked to give partitions up, keeps its session, and never says that it did
    b.join().await;
    a.beat().await;
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        b.beat().await;
    }
    assert_eq!(a.beat().await, Some(ResponseError::UnknownMemberId));
    assert_eq!(b.owned.len(), 4);
    // and b says nothing for a whole session
    tokio::time::sleep(Duration::from_secs(46)).await;
    assert_eq!(
        broker.group(GROUP).map(|group| group.state),
        Some(GroupState::Empty)
    );
    assert_eq!(b.beat().await, Some(ResponseError::UnknownMemberId));
    assert_eq!(b.join().await, None);
}

#[tokio::test(start_paused = true)]
async fn b167_a_commit_from_an_older_epoch_is_stale_unless_the_partition_was_its_own() {
    let broker = broker();
    let (mut a, mut b) = (
        Member::new(&broker, "a", None),
        Member::new(&broker, "b", None),
    );
    a.join().await;
    b.join().await;
    a.beat().await;
    a.acknowledge().await;
    b.beat().await;
    let stale = ResponseError::StaleMemberEpoch.code();
    let (kept, given_up) = (a.owned[0], b.owned[0]);
    assert_eq!(a.commit(kept, 3).await, 0);
    assert_eq!(a.commit(kept, 2).await, 0, "it has had it since epoch 2");
    assert_eq!(a.commit(given_up, 2).await, stale);
    assert_eq!(a.commit(kept, 4).await, stale);
    assert_eq!(
        b.commit(given_up, 2).await,
        stale,
        "it has had it since epoch 3 only"
    );
    let mut stranger = Member::new(&broker, "c", None);
    let unknown = ResponseError::UnknownMemberId.code();
    assert_eq!(stranger.commit(0, 3).await, unknown);
}

#[tokio::test(start_paused = true)]
async fn a_static_member_keeps_its_partitions_while_it_is_away() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", Some("i"));
    a.join().await;
    let mut again = Member::new(&broker, "a2", Some("i"));
    assert_eq!(
        again.join().await,
        Some(ResponseError::UnreleasedInstanceId)
    );
    let leave = a.request().with_member_epoch(-2);
    assert_eq!(a.call(&leave).await, None);
    let mut b = Member::new(&broker, "b", None);
    b.join().await;
    assert_eq!(b.owned.len(), 0, "they are a's");
    assert_eq!(again.join().await, None);
    assert_eq!(again.owned.len(), 2);
    let kept = again.owned[0];
    assert_eq!(again.commit(kept, 0).await, 0, "it has it from the first");
    a.epoch = 2;
    assert_eq!(a.beat().await, Some(ResponseError::FencedInstanceId));
}

#[tokio::test(start_paused = true)]
async fn b169_new_topics_and_partitions_raise_the_epoch() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    let pattern = a
        .join_request()
        .with_subscribed_topic_names(None)
        .with_subscribed_topic_regex(Some(text("orders|or.*new")));
    assert_eq!(a.call(&pattern).await, None);
    assert_eq!((a.epoch, a.owned.len()), (2, 4));
    broker.add_partitions("orders", 6).expect("a topic");
    broker.create_topic("orders-new", 1).expect("a name");
    broker.create_topic("my-orders", 1).expect("a name");
    a.beat().await;
    assert_eq!((a.epoch, a.owned.len()), (3, 7));
    // an empty pattern is none; it does not fit everything
    let none = a.request().with_subscribed_topic_regex(Some(text("")));
    a.call(&none).await;
    assert_eq!(a.owned.len(), 0);
    for wrong in ["(", "a)(b", "(?=look)"] {
        let wrong = a.request().with_subscribed_topic_regex(Some(text(wrong)));
        let refused = Some(ResponseError::InvalidRegularExpression);
        assert_eq!(a.call(&wrong).await, refused);
    }
}

#[tokio::test(start_paused = true)]
async fn a_bad_pattern_makes_no_group() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    let bad = a
        .join_request()
        .with_subscribed_topic_regex(Some(text("(")));
    let refused = Some(ResponseError::InvalidRegularExpression);
    assert_eq!(a.call(&bad).await, refused);
    assert_eq!(broker.group(GROUP), None);
    broker
        .set_committed(GROUP, "orders", 0, 1)
        .expect("a topic");
    assert_eq!(a.call(&bad).await, refused);
    let group = broker.group(GROUP).expect("a group");
    assert_eq!(group.protocol, GroupProtocol::Classic);
}

#[tokio::test(start_paused = true)]
async fn requests_that_say_too_little_are_refused() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    let good = a.join_request();
    let invalid = Some(ResponseError::InvalidRequest);
    for wrong in [
        good.clone().with_group_id(GroupId::default()),
        good.clone().with_group_id(GroupId(text(" "))),
        good.clone().with_rack_id(Some(text(" "))),
        good.clone().with_member_id(StrBytes::default()),
        good.clone().with_rebalance_timeout_ms(-1),
        good.clone().with_subscribed_topic_names(None),
        good.clone().with_topic_partitions(None),
        good.clone().with_instance_id(Some(text(""))),
        good.clone().with_member_epoch(-3),
        good.clone().with_member_epoch(-2),
    ] {
        assert_eq!(a.call(&wrong).await, invalid, "{wrong:?}");
    }
    let assignor = good.clone().with_server_assignor(Some(text("mine")));
    assert_eq!(
        a.call(&assignor).await,
        Some(ResponseError::UnsupportedAssignor)
    );
    let told = a
        .client
        .call(&good.with_member_id(StrBytes::default()), 0)
        .await;
    assert_eq!(
        told.member_id.expect("an id").len(),
        22,
        "version 0 lets the broker choose"
    );
}

#[tokio::test(start_paused = true)]
async fn the_two_protocols_do_not_mix() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    a.join().await;
    let classic = HeartbeatRequest::default()
        .with_group_id(GroupId(text(GROUP)))
        .with_member_id(text("a"))
        .with_generation_id(1);
    let answer = a.client.call(&classic, 4).await;
    assert_eq!(answer.error_code, ResponseError::UnknownMemberId.code());
    let join = JoinGroupRequest::default()
        .with_group_id(GroupId(text(GROUP)))
        .with_member_id(text("a"))
        .with_session_timeout_ms(10_000)
        .with_protocol_type(text("consumer"));
    let answer = a.client.call(&join, 9).await;
    let refused = ResponseError::InconsistentGroupProtocol.code();
    assert_eq!((answer.error_code, &*answer.member_id), (refused, ""));
}

#[tokio::test(start_paused = true)]
async fn who_joins_again_in_a_rebalance_has_given_everything_up() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    let mut b = Member::new(&broker, "b", None);
    a.join().await;
    b.join().await;
    a.beat().await;
    let described = describe(&mut a).await;
    let held = |group: &DescribedGroup, member: usize| {
        let assignment = &group.members[member].assignment;
        let topics = assignment.topic_partitions.iter();
        topics.map(|topic| topic.partitions.len()).sum::<usize>()
    };
    assert_eq!(held(&described, 0), 4, "it has not given up any yet");
    assert_eq!(a.join().await, None);
    assert_eq!((a.epoch, a.owned.len()), (3, 2));
    b.beat().await;
    assert_eq!(b.owned.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn only_a_subscription_takes_the_epoch_on() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    a.join().await;
    let mut b = Member::new(&broker, "b", None);
    let nothing = b.join_request().with_subscribed_topic_names(Some(vec![]));
    assert_eq!(b.call(&nothing).await, None);
    assert_eq!((a.epoch, b.epoch), (2, 2));
    let of_nothing = b
        .request()
        .with_subscribed_topic_regex(Some(text("nothing")));
    assert_eq!(b.call(&of_nothing).await, None);
    assert_eq!(b.epoch, 2);
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_went_with_its_last_subscriber_takes_the_epoch_on_once() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    let mut b = Member::new(&broker, "b", None);
    let nothing = b.join_request().with_subscribed_topic_names(Some(vec![]));
    a.join().await;
    b.call(&nothing).await;
    let leave = a.request().with_member_epoch(-1);
    assert_eq!((a.call(&leave).await, b.beat().await), (None, None));
    assert_eq!(b.epoch, 3);
    // and if nobody is left
    b.call(&nothing.clone().with_member_epoch(-1)).await;
    a.join().await;
    assert_eq!(a.epoch, 5);
    a.call(&leave).await;
    b.call(&nothing).await;
    assert_eq!(b.epoch, 6);
}

#[tokio::test(start_paused = true)]
async fn members_are_taken_out_by_administrators() {
    let broker = broker();
    let mut a = Member::new(&broker, "a", None);
    let mut b = Member::new(&broker, "b", Some("i"));
    a.join().await;
    b.join().await;
    let named = |id: &str, instance: Option<&str>| {
        MemberIdentity::default()
            .with_member_id(text(id))
            .with_group_instance_id(instance.map(text))
    };
    let request = LeaveGroupRequest::default()
        .with_group_id(GroupId(text(GROUP)))
        .with_members(vec![
            named("a", None),
            named("nobody", None),
            named("a", Some("i")),
            named("", Some("i")),
        ]);
    let answer = a.client.call(&request, 5).await;
    let codes: Vec<i16> = answer.members.iter().map(|m| m.error_code).collect();
    let unknown = ResponseError::UnknownMemberId.code();
    let fenced = ResponseError::FencedInstanceId.code();
    assert_eq!(codes, [0, unknown, fenced, 0]);
    let group = describe(&mut a).await;
    assert_eq!(group.group_state.as_str(), "Empty");
    assert_eq!((group.group_epoch, group.assignment_epoch), (4, 4));
}

async fn describe(member: &mut Member) -> DescribedGroup {
    let request =
        ConsumerGroupDescribeRequest::default().with_group_ids(vec![GroupId(text(GROUP))]);
    let answer = member.client.call(&request, 1).await;
    answer.groups[0].clone()
}
