use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;

use super::ClassicGroup;

impl ClassicGroup {
    /// Takes members out, each named by its id, or by its instance id alone (KIP-345). What became of each, in order.
    pub(crate) fn leave(
        &mut self,
        members: &[(&str, Option<&str>)],
        now: Duration,
        initial_delay: Duration,
    ) -> Vec<Result<(), ResponseError>> {
        let left = members.iter();
        let left = left.map(|(id, instance)| self.let_go(id, *instance));
        let left: Vec<_> = left.collect();
        if left.iter().any(Result::is_ok) {
            self.after_removal(now, initial_delay);
        }
        left
    }

    fn let_go(&mut self, id: &str, instance: Option<&str>) -> Result<(), ResponseError> {
        let id: Arc<str> = match (id, instance) {
            ("", None) => return Err(ResponseError::UnknownMemberId),
            ("", Some(instance)) => {
                let holder = self.of_instance(instance);
                let holder = holder.ok_or(ResponseError::UnknownMemberId)?;
                Arc::clone(&holder.id)
            }
            _ if self.pending.contains(id) => Arc::from(id),
            _ => {
                self.check_member(id, instance)?;
                Arc::from(id)
            }
        };
        if let Some(member) = self.member_mut(&id) {
            member.refuse("", ResponseError::UnknownMemberId);
        }
        self.remove(&id);
        Ok(())
    }
}
