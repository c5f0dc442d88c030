//! State that follows from other state.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// What is kept only so that it need not be computed anew: it says nothing about which state a machine is in, so two that differ in
/// it alone are the same.
#[derive(Debug, Clone, Default)]
pub struct Derived<T>(pub T);

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Derived<T> {}

impl<T> Hash for Derived<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T> Deref for Derived<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Derived<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
