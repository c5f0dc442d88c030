//! Groups of the classic protocol.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ApiKey, DescribeGroupsRequest, GroupId, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, SyncGroupRequest, SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;
use test_broker::{Fault, GroupDescription, GroupState, TestBroker, TopicPartition};
use tokio::time::Instant;

use crate::client::{Client, client, text};

const GROUP: &str = "billing";
const JOIN: i16 = 9;
const SYNC: i16 = 5;

fn broker() -> TestBroker {
    let broker = TestBroker::builder().topic("orders", 4).start_in_memory();
    broker.expect("a broker")
}

fn state(broker: &TestBroker) -> GroupDescription {
    broker.group(GROUP).expect("a group")
}

struct Member {
    client: Client,
    id: StrBytes,
    instance: Option<StrBytes>,
    generation: i32,
}

impl Member {
    fn new(broker: &TestBroker, instance: Option<&str>) -> Self {
        Self {
            client: client(broker, broker.coordinator(GROUP).expect("a live node")),
            id: StrBytes::default(),
            instance: instance.map(text),
            generation: -1,
        }
    }

    fn join_request(&self) -> JoinGroupRequest {
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(text("range"))
            .with_metadata(Bytes::from_static(b"topics"));
        JoinGroupRequest::default()
            .with_group_id(GroupId(text(GROUP)))
            .with_session_timeout_ms(10_000)
            .with_rebalance_timeout_ms(60_000)
            .with_member_id(self.id.clone())
            .with_group_instance_id(self.instance.clone())
            .with_protocol_type(text("consumer"))
            .with_protocols(vec![protocol])
    }

    /// Sends a JoinGroup with the id that the broker gives, and does not wait for the answer.
    async fn begin_join(&mut self) {
        if self.id.is_empty() && self.instance.is_none() {
            let request = self.join_request();
            let told = self.client.call(&request, JOIN).await;
            assert_eq!(told.error_code, ResponseError::MemberIdRequired.code());
            self.id = told.member_id;
        }
        let request = self.join_request();
        self.client.send(&request, JOIN).await;
    }

    async fn joined(&mut self) -> JoinGroupResponse {
        let joined = self.client.receive::<JoinGroupRequest>(JOIN).await;
        let joined = joined.expect("an answer");
        if joined.error_code == 0 {
            self.id = joined.member_id.clone();
            self.generation = joined.generation_id;
        }
        joined
    }

    async fn begin_sync(&mut self, assignments: &[(&StrBytes, i32)]) {
        let assignments = assignments.iter().map(|(id, partition)| {
            SyncGroupRequestAssignment::default()
                .with_member_id((*id).clone())
                .with_assignment(assignment(*partition))
        });
        let request = SyncGroupRequest::default()
            .with_group_id(GroupId(text(GROUP)))
            .with_generation_id(self.generation)
            .with_member_id(self.id.clone())
            .with_group_instance_id(self.instance.clone())
            .with_protocol_type(Some(text("consumer")))
            .with_protocol_name(Some(text("range")))
            .with_assignments(assignments.collect());
        self.client.send(&request, SYNC).await;
    }

    async fn synced(&mut self) -> SyncGroupResponse {
        let synced = self.client.receive::<SyncGroupRequest>(SYNC).await;
        synced.expect("an answer")
    }

    async fn heartbeat(&mut self) -> Option<ResponseError> {
        let request = HeartbeatRequest::default()
            .with_group_id(GroupId(text(GROUP)))
            .with_generation_id(self.generation)
            .with_member_id(self.id.clone())
            .with_group_instance_id(self.instance.clone());
        let answer = self.client.call(&request, 4).await;
        ResponseError::try_from_code(answer.error_code)
    }
}

/// An assignment of one partition, as consumers write it.
fn assignment(partition: i32) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    bytes.put_i32(1);
    bytes.put_i16(6);
    bytes.put_slice(b"orders");
    bytes.put_i32(1);
    bytes.put_i32(partition);
    bytes.put_i32(-1);
    bytes.freeze()
}

/// Two members with a partition each.
async fn two_members(broker: &TestBroker, instances: [Option<&str>; 2]) -> [Member; 2] {
    let [mut a, mut b] = instances.map(|instance| Member::new(broker, instance));
    a.begin_join().await;
    assert_eq!(a.joined().await.members.len(), 1);
    let alone = a.id.clone();
    a.begin_sync(&[(&alone, 0)]).await;
    assert_eq!(a.synced().await.assignment, assignment(0));
    b.begin_join().await;
    broker
        .wait_for_group(GROUP, |g| g.state == GroupState::PreparingRebalance)
        .await;
    assert_eq!(
        a.heartbeat().await,
        Some(ResponseError::RebalanceInProgress)
    );
    a.begin_join().await;
    let (leader, follower) = (a.joined().await, b.joined().await);
    assert_eq!((leader.generation_id, follower.generation_id), (2, 2));
    assert_eq!((leader.members.len(), follower.members.len()), (2, 0));
    assert_eq!(follower.leader, a.id);
    b.begin_sync(&[]).await;
    let (of_a, of_b) = (a.id.clone(), b.id.clone());
    a.begin_sync(&[(&of_a, 1), (&of_b, 2)]).await;
    assert_eq!(a.synced().await.assignment, assignment(1));
    assert_eq!(b.synced().await.assignment, assignment(2));
    [a, b]
}

#[tokio::test(start_paused = true)]
async fn b140_members_join_sync_and_are_seen_from_outside() {
    let broker = broker();
    let [mut a, mut b] = two_members(&broker, [None, None]).await;
    let group = state(&broker);
    assert_eq!((group.state, group.generation), (GroupState::Stable, 2));
    assert_eq!(group.leader.as_deref(), Some(a.id.as_str()));
    let assigned: Vec<_> = group.members.iter().map(|m| m.assignment.clone()).collect();
    let orders = |partition| vec![TopicPartition::new("orders", partition)];
    assert_eq!(assigned, [orders(1), orders(2)]);
    assert_eq!((a.heartbeat().await, b.heartbeat().await), (None, None));

    let leave = MemberIdentity::default().with_member_id(b.id.clone());
    let request = LeaveGroupRequest::default()
        .with_group_id(GroupId(text(GROUP)))
        .with_members(vec![leave]);
    assert_eq!(b.client.call(&request, 5).await.error_code, 0);
    assert_eq!(b.heartbeat().await, Some(ResponseError::UnknownMemberId));
    assert_eq!(
        a.heartbeat().await,
        Some(ResponseError::RebalanceInProgress)
    );
}

#[tokio::test(start_paused = true)]
async fn b146_a_member_that_is_silent_is_out_after_its_session() {
    let broker = broker();
    let [mut a, mut b] = two_members(&broker, [None, None]).await;
    let begin = Instant::now();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(4)).await;
        a.heartbeat().await;
    }
    let group = state(&broker);
    assert_eq!(
        (group.state, group.members.len()),
        (GroupState::PreparingRebalance, 1)
    );
    assert_eq!(b.heartbeat().await, Some(ResponseError::UnknownMemberId));
    a.begin_join().await;
    assert_eq!(a.joined().await.generation_id, 3);
    // the leader never assigns: it is out when the rebalance timeout ends
    let gone = broker.wait_for_group(GROUP, |g| g.members.is_empty()).await;
    assert_eq!(gone.state, GroupState::Empty);
    assert!(begin.elapsed() >= Duration::from_secs(12 + 10));
}

#[tokio::test(start_paused = true)]
async fn b141_a_rebalance_waits_for_all_up_to_the_rebalance_timeout() {
    let broker = broker();
    let [mut a, mut b] = two_members(&broker, [None, None]).await;
    let begin = Instant::now();
    b.begin_join().await;
    // b keeps waiting on its connection; a's heartbeats keep it in the group, and it does not join
    let answered = async {
        let joined = b.joined().await;
        (joined.generation_id, begin.elapsed().as_secs())
    };
    let heartbeats = async {
        loop {
            tokio::time::sleep(Duration::from_secs(3)).await;
            a.heartbeat().await;
        }
    };
    let (generation, after) = tokio::select! {
        answered = answered => answered,
        () = heartbeats => unreachable!("they do not end"),
    };
    // a follower that joins with what it had is told the same again
    assert_eq!((generation, after), (2, 0));
    broker.expel_member(GROUP, a.id.as_str());
    b.begin_join().await;
    assert_eq!(b.joined().await.leader, b.id);
}

#[tokio::test(start_paused = true)]
async fn b152_a_static_member_is_back_without_a_rebalance_and_fences_the_old_one() {
    let broker = broker();
    let [mut a, mut b] = two_members(&broker, [Some("a"), Some("b")]).await;
    let mut again = Member::new(&broker, Some("a"));
    again.begin_join().await;
    let joined = again.joined().await;
    assert_eq!((joined.error_code, joined.generation_id), (0, 2));
    assert!(joined.skip_assignment, "it leads, and is not to assign");
    again.begin_sync(&[]).await;
    assert_eq!(again.synced().await.assignment, assignment(1));
    assert_eq!(a.heartbeat().await, Some(ResponseError::FencedInstanceId));
    assert_eq!((again.heartbeat().await, b.heartbeat().await), (None, None));
}

#[tokio::test(start_paused = true)]
async fn b154_who_waits_is_sent_away_when_the_coordinator_moves() {
    let broker = TestBroker::builder().nodes(2).topic("orders", 4);
    let broker = broker.start_in_memory().expect("a broker");
    let [mut a, mut b] = two_members(&broker, [None, None]).await;
    a.begin_join().await;
    broker
        .wait_for_group(GROUP, |g| g.state == GroupState::PreparingRebalance)
        .await;
    let other = 3 - broker.coordinator(GROUP).expect("a live node");
    broker.move_coordinator(GROUP, other).expect("a live node");
    let not_here = ResponseError::NotCoordinator.code();
    assert_eq!(a.joined().await.error_code, not_here);
    assert_eq!(b.heartbeat().await, Some(ResponseError::NotCoordinator));
    b.client = client(&broker, other);
    assert_eq!(b.heartbeat().await, None, "the group is as it was logged");
}

#[tokio::test(start_paused = true)]
async fn any_error_can_be_forced_and_the_request_applied_all_the_same() {
    let broker = broker();
    let [mut a, _b] = two_members(&broker, [None, None]).await;
    broker.inject(
        Fault::error(ResponseError::IllegalGeneration)
            .on(ApiKey::Heartbeat)
            .times(1),
    );
    assert_eq!(a.heartbeat().await, Some(ResponseError::IllegalGeneration));
    assert_eq!(a.heartbeat().await, None);
    broker.inject(
        Fault::error(ResponseError::RequestTimedOut)
            .on(ApiKey::JoinGroup)
            .after_applying()
            .times(1),
    );
    a.begin_join().await;
    assert_eq!(
        a.joined().await.error_code,
        ResponseError::RequestTimedOut.code()
    );
    assert_eq!(state(&broker).state, GroupState::PreparingRebalance);
}

#[tokio::test(start_paused = true)]
async fn the_first_rebalance_waits_for_more_members() {
    let delay = Duration::from_secs(3);
    let broker = TestBroker::builder().group_initial_rebalance_delay(delay);
    let broker = broker.start_in_memory().expect("a broker");
    let begin = Instant::now();
    let mut a = Member::new(&broker, Some("a"));
    let mut b = Member::new(&broker, Some("b"));
    a.begin_join().await;
    broker.wait_for_group(GROUP, |g| g.members.len() == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    b.begin_join().await;
    let (leader, follower) = (a.joined().await, b.joined().await);
    assert_eq!((leader.members.len(), follower.generation_id), (2, 1));
    assert_eq!(
        begin.elapsed().as_secs(),
        6,
        "it is put off once more for the second"
    );
}

#[tokio::test(start_paused = true)]
async fn an_assignment_is_seen_until_the_next_one() {
    let broker = broker();
    let [mut a, mut b] = two_members(&broker, [None, None]).await;
    let described = DescribeGroupsRequest::default().with_groups(vec![GroupId(text(GROUP))]);
    a.begin_join().await;
    broker
        .wait_for_group(GROUP, |g| g.state == GroupState::PreparingRebalance)
        .await;
    let answer = b.client.call(&described, 6).await;
    let members: Vec<(&[u8], &[u8])> = answer.groups[0]
        .members
        .iter()
        .map(|m| (&*m.member_metadata, &*m.member_assignment))
        .collect();
    let (of_a, of_b) = (assignment(1), assignment(2));
    assert_eq!(members, [(&b""[..], &*of_a), (&b""[..], &*of_b)]);
}

#[tokio::test(start_paused = true)]
async fn who_joins_elsewhere_is_told_no_member_id() {
    let broker = TestBroker::builder().nodes(2).topic("orders", 4);
    let broker = broker.start_in_memory().expect("a broker");
    let mut member = Member::new(&broker, None);
    member.client = client(&broker, 3 - broker.coordinator(GROUP).expect("a live node"));
    member.id = text("a");
    let request = member.join_request();
    let answer = member.client.call(&request, JOIN).await;
    assert_eq!(answer.error_code, ResponseError::NotCoordinator.code());
    assert_eq!(answer.member_id.as_str(), "");
    // what is wrong with the request itself is told with its own id
    let request = request.with_session_timeout_ms(1);
    let answer = member.client.call(&request, JOIN).await;
    assert_eq!(
        answer.error_code,
        ResponseError::InvalidSessionTimeout.code()
    );
    assert_eq!(answer.member_id.as_str(), "a");
}
