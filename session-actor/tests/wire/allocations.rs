//! Counts what the current thread allocates, so that tests can say how much a hostile input made us ask for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // the thread's own end may allocate after the counter is gone
    let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get().saturating_add(bytes)));
}

#[expect(
    unsafe_code,
    reason = "an allocator is the only way to see every allocation; it forwards to the system's"
)]
// SAFETY: every call goes to the system allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        unsafe { System.dealloc(old, layout) }
    }
}

/// What `work` returns, and the bytes it asked for in all, freed ones included.
pub(crate) fn allocated<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.get();
    let done = work();
    (done, ALLOCATED.get() - before)
}

#[test]
fn the_counter_counts() {
    let (kept, bytes) = allocated(|| Vec::<u8>::with_capacity(12_345));
    assert_eq!((kept.capacity(), bytes), (12_345, 12_345));
}
