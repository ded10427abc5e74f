//! A fixed ring of decisions: one writer that never waits, readers that never hold it up.
//!
//! Each slot is a sequence lock over atomic words. The writer marks a slot odd, stores the words
//! and marks it even; a reader that finds the mark changed has lost that decision and says so.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use crate::decision::{Decision, WORDS};

struct Slot {
    /// 2·i + 1 while decision i is being written, 2·i + 2 once it can be read.
    mark: AtomicU64,
    words: [AtomicU64; WORDS],
}

pub(crate) struct Ring {
    slots: Box<[Slot]>,
    written: AtomicU64,
    closed: AtomicBool,
}

impl Ring {
    /// `capacity` is rounded up to a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        let slots = (0..capacity.next_power_of_two())
            .map(|_| Slot {
                mark: AtomicU64::new(0),
                words: [const { AtomicU64::new(0) }; WORDS],
            })
            .collect();
        Self {
            slots,
            written: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Decisions ever written.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn slot(&self, index: u64) -> &Slot {
        &self.slots[(index & (self.capacity() - 1)) as usize]
    }

    /// Write decision number `index`. Only the ring's one writer calls this, with 0, 1, 2, ...
    #[inline]
    pub(crate) fn write(&self, index: u64, decision: &Decision) {
        let slot = self.slot(index);
        slot.mark.store(2 * index + 1, Ordering::Relaxed);
        // The mark is seen odd before any of the words changes.
        fence(Ordering::Release);
        for (word, value) in slot.words.iter().zip(decision.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        slot.mark.store(2 * index + 2, Ordering::Release);
        self.written.store(index + 1, Ordering::Release);
    }

    /// Decision number `index`, or `None` when it has been overwritten.
    pub(crate) fn read(&self, index: u64) -> Option<Decision> {
        let slot = self.slot(index);
        let expected = 2 * index + 2;
        if slot.mark.load(Ordering::Acquire) != expected {
            return None;
        }
        let words = std::array::from_fn(|word| slot.words[word].load(Ordering::Relaxed));
        // The words are read before the mark is looked at again.
        fence(Ordering::Acquire);
        (slot.mark.load(Ordering::Relaxed) == expected).then(|| Decision::from_words(words))
    }
}
