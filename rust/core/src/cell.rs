//! The one mutable thing on the hot path: a cell that holds the present policy.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::policy::{Policy, PolicyChange, VersionedPolicy};

/// Holds the present policy of one router pool and lets it be swapped while requests are routed.
///
/// Readers never wait, see a policy whole or not at all, and see versions that only grow.
#[derive(Debug)]
pub struct PolicyCell(ArcSwap<VersionedPolicy>);

impl PolicyCell {
    /// A cell with `policy` as version 1.
    pub fn new(policy: Policy) -> Self {
        Self(ArcSwap::from_pointee(VersionedPolicy {
            version: 1,
            policy,
        }))
    }

    /// The present policy with its version. Wait-free.
    #[inline]
    pub fn load(&self) -> VersionedPolicy {
        **self.0.load()
    }

    /// Publish the changed policy under the next version and return it.
    ///
    /// Concurrent swaps all take effect, one after another; each gets a version of its own.
    pub fn swap(&self, change: PolicyChange) -> VersionedPolicy {
        let mut published = self.load();
        self.0.rcu(|current| {
            published = VersionedPolicy {
                version: current.version + 1,
                policy: change.apply(current.policy),
            };
            Arc::new(published)
        });
        published
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::policy::{PrefillWeight, Temperature};

    fn pair(value: f64) -> PolicyChange {
        PolicyChange {
            temperature: Temperature::try_from(value).ok(),
            prefill_weight: PrefillWeight::try_from(2.0 * value).ok(),
        }
    }

    fn cell() -> PolicyCell {
        PolicyCell::new(Policy {
            temperature: Temperature::ZERO,
            prefill_weight: PrefillWeight::try_from(0.0).unwrap(),
        })
    }

    #[test]
    fn a_swap_is_answered_with_what_it_published() {
        let cell = cell();
        assert_eq!(cell.load().version, 1);
        let published = cell.swap(pair(3.0));
        assert_eq!(published.version, 2);
        assert_eq!(cell.load(), published);
    }

    #[test]
    fn eight_readers_never_see_a_torn_pair_or_a_version_that_falls() {
        let cell = cell();
        let done = AtomicBool::new(false);
        let start = Barrier::new(9);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let seen = cell.load();
                        let temperature = seen.policy.temperature.get();
                        assert_eq!(seen.policy.prefill_weight.get(), 2.0 * temperature);
                        assert_eq!(seen.version, temperature as u64 + 1);
                        assert!(seen.version >= last);
                        last = seen.version;
                    }
                });
            }
            start.wait();
            for value in 1..=100_000 {
                cell.swap(pair(f64::from(value)));
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(cell.load().version, 100_001);
    }

    #[test]
    fn concurrent_swaps_all_get_versions_of_their_own() {
        let cell = cell();
        let mut versions: Vec<u64> = thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..1_000)
                            .map(|_| cell.swap(pair(1.0)).version)
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            writers
                .into_iter()
                .flat_map(|writer| writer.join().unwrap())
                .collect()
        });
        versions.sort_unstable();
        assert_eq!(versions, (2..=4_001).collect::<Vec<_>>());
    }
}
