use bytes::Bytes;

/// Where the buffers for decompressed batches come from and go to, so that whoever decodes can recycle them and charge
/// them to a budget (KIP-81).
///
/// The decoder takes one vector for each compressed batch, fills it, and has it sealed; nothing is taken for a batch
/// that is not compressed.
pub trait Buffers {
    /// A vector with about `capacity` bytes of room: a guess, the decoder grows it as needed up to its cap.
    ///
    /// Its contents do not matter. Hand over a recycled one as it is: clearing it would cost the decoder to
    /// initialise it again.
    fn take(&mut self, capacity: usize) -> Vec<u8>;

    /// Makes a filled vector immutable. What it occupies is its capacity.
    fn seal(&mut self, filled: Vec<u8>) -> Bytes;

    /// Takes back a vector that was not needed, since the batch is corrupt.
    fn give_back(&mut self, unused: Vec<u8>) {
        drop(unused);
    }
}

/// [`Buffers`] that allocates a new vector each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct FreshBuffers;

impl Buffers for FreshBuffers {
    fn take(&mut self, capacity: usize) -> Vec<u8> {
        Vec::with_capacity(capacity)
    }

    fn seal(&mut self, filled: Vec<u8>) -> Bytes {
        Bytes::from(filled)
    }
}
