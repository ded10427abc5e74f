//! The decisions of one router pool: a ring per writer, read together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::decision::Decision;
use crate::ring::Ring;

/// Decisions that each writer's ring holds before the oldest is overwritten (480 KiB a ring).
pub const DECISIONS_PER_WRITER: usize = 4096;

/// Rings of writers that are gone and that nobody has drained yet: more are given up, oldest first.
const CLOSED_RINGS: usize = 4;

/// Collects decisions in bounded memory. Writers never wait; readers lock among themselves only.
#[derive(Default)]
pub struct DecisionLog {
    rings: Mutex<Vec<Tail>>,
    written_and_gone: AtomicU64,
    dropped: AtomicU64,
}

/// A ring and how far it has been drained.
struct Tail {
    ring: Arc<Ring>,
    drained: u64,
}

/// What [`DecisionLog::drain`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drained {
    /// Decisions since the last drain, oldest first.
    pub decisions: Vec<Decision>,
    /// Decisions since the last drain that were overwritten before they could be read.
    pub dropped: u64,
}

impl DecisionLog {
    /// A writer for one router partition or one thread. Its ring goes when it has been dropped
    /// and drained.
    pub fn writer(&self) -> DecisionWriter {
        let ring = Arc::new(Ring::new(DECISIONS_PER_WRITER));
        let mut rings = self.rings.lock();
        let closed = rings.iter().filter(|tail| tail.ring.is_closed()).count();
        let mut surplus = closed.saturating_sub(CLOSED_RINGS);
        rings.retain(|tail| {
            let give_up = surplus > 0 && tail.ring.is_closed();
            if give_up {
                surplus -= 1;
                let written = tail.ring.written();
                self.dropped
                    .fetch_add(written - tail.drained, Ordering::Relaxed);
                self.written_and_gone.fetch_add(written, Ordering::Relaxed);
            }
            !give_up
        });
        rings.push(Tail {
            ring: Arc::clone(&ring),
            drained: 0,
        });
        DecisionWriter { ring, next: 0 }
    }

    /// Take the decisions since the last drain.
    pub fn drain(&self) -> Drained {
        let mut drained = Drained::default();
        self.rings.lock().retain_mut(|tail| {
            let closed = tail.ring.is_closed();
            let written = tail.ring.written();
            drained.dropped += tail.skip_overwritten(written);
            for index in tail.drained..written {
                match tail.ring.read(index) {
                    Some(decision) => drained.decisions.push(decision),
                    None => drained.dropped += 1,
                }
            }
            tail.drained = written;
            if closed {
                self.written_and_gone.fetch_add(written, Ordering::Relaxed);
            }
            !closed
        });
        drained.decisions.sort_by_key(|decision| decision.time_ns);
        self.dropped.fetch_add(drained.dropped, Ordering::Relaxed);
        drained
    }

    /// The latest decisions, oldest first, at most `limit`; drained or not. Takes nothing away.
    pub fn recent(&self, limit: usize) -> Vec<Decision> {
        let mut recent = Vec::new();
        for tail in self.rings.lock().iter() {
            let written = tail.ring.written();
            let kept = tail.ring.capacity().min(limit as u64);
            recent.extend(
                (written.saturating_sub(kept)..written).filter_map(|index| tail.ring.read(index)),
            );
        }
        recent.sort_by_key(|decision| decision.time_ns);
        recent.drain(..recent.len().saturating_sub(limit));
        recent
    }

    /// Decisions ever written.
    pub fn written(&self) -> u64 {
        let rings = self.rings.lock();
        let live: u64 = rings.iter().map(|tail| tail.ring.written()).sum();
        live + self.written_and_gone.load(Ordering::Relaxed)
    }

    /// Decisions that were lost to drains so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Tail {
    /// Move past what the writer has surely overwritten; the number of decisions lost by it.
    fn skip_overwritten(&mut self, written: u64) -> u64 {
        let oldest = written.saturating_sub(self.ring.capacity());
        let lost = oldest.saturating_sub(self.drained);
        self.drained += lost;
        lost
    }
}

/// The single writer of one ring. Pushing takes no lock and allocates nothing.
pub struct DecisionWriter {
    ring: Arc<Ring>,
    next: u64,
}

impl DecisionWriter {
    /// Record a decision, over the oldest one when the ring is full.
    #[inline]
    pub fn push(&mut self, decision: &Decision) {
        self.ring.write(self.next, decision);
        self.next += 1;
    }
}

impl Drop for DecisionWriter {
    fn drop(&mut self) {
        self.ring.close();
    }
}

#[cfg(test)]
mod tests;
