use std::sync::Arc;

use kafka_protocol::ResponseError;

use super::{Beaten, ConsumerGroup, Timer};

/// Epochs that are none.
pub(crate) const LEAVE: i32 = -1;
pub(crate) const LEAVE_STATIC: i32 = -2;

impl ConsumerGroup {
    /// Takes a member out that says so itself, or keeps a static member's place until its session runs out.
    pub(super) fn leave(
        &mut self,
        member: &str,
        instance: Option<&str>,
        epoch: i32,
    ) -> Result<Beaten, ResponseError> {
        let id = self.find(member, instance)?;
        if epoch == LEAVE_STATIC {
            self.timers.cancel(&Timer::Rebalance(Arc::clone(&id)));
            if let Some(member) = self.member_mut(&id) {
                member.epoch = LEAVE_STATIC;
                member.to_revoke.clear();
            }
        } else {
            self.fence(&id);
        }
        Ok(Beaten {
            epoch,
            assignment: None,
        })
    }

    /// Takes members out that a LeaveGroup names, as administrators send it, each by its id or by its instance id alone. What
    /// became of each, in order.
    pub(crate) fn remove(
        &mut self,
        members: &[(&str, Option<&str>)],
    ) -> Vec<Result<(), ResponseError>> {
        let found = members.iter().map(|(id, instance)| match (*id, *instance) {
            ("", Some(instance)) => {
                let holder = self.of_instance(instance);
                let holder = holder.ok_or(ResponseError::UnknownMemberId)?;
                Ok(Arc::clone(&holder.id))
            }
            (id, instance) => self.find(id, instance),
        });
        let found: Vec<Result<Arc<str>, ResponseError>> = found.collect();
        let left: Vec<Arc<str>> = found.iter().flatten().map(Arc::clone).collect();
        if !left.is_empty() {
            self.fence_all(&left);
        }
        found.into_iter().map(|found| found.map(drop)).collect()
    }

    /// The id of a member that is known, and holds its instance id if it says one.
    fn find(&self, id: &str, instance: Option<&str>) -> Result<Arc<str>, ResponseError> {
        let found = match instance {
            None => self.member(id),
            Some(instance) => self.of_instance(instance),
        };
        let found = found.ok_or(ResponseError::UnknownMemberId)?;
        match *found.id == *id {
            true => Ok(Arc::clone(&found.id)),
            false => Err(ResponseError::FencedInstanceId),
        }
    }
}
