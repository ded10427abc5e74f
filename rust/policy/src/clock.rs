//! The time of a decision, and how long it took.

use std::time::Instant;

/// Nanoseconds since the UNIX epoch, as of the kernel's last tick: up to 4 ms ago.
///
/// Reading the precise clock would cost a tenth of a selection among eight workers. What decisions
/// are matched with, requests and their latencies, takes milliseconds.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn unix_time_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    nanoseconds(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u64::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Nanoseconds since the UNIX epoch.
#[cfg(not(target_os = "linux"))]
pub(crate) fn unix_time_ns() -> u64 {
    let elapsed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    nanoseconds(elapsed.as_secs(), u64::from(elapsed.subsec_nanos()))
}

/// 64 bits last until 2554.
fn nanoseconds(seconds: u64, nanoseconds: u64) -> u64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

/// Every so many selections one is timed: the precise clock is read twice for it.
const TIMED: u32 = 64;

/// Says which selections to time.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    selections: u32,
}

impl Stopwatch {
    /// Begin a selection; the time of it, if it is one to be timed.
    #[inline]
    pub(crate) fn start(&mut self) -> Option<Instant> {
        self.selections = self.selections.wrapping_add(1);
        self.selections.is_multiple_of(TIMED).then(Instant::now)
    }
}
