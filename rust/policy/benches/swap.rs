//! Whether a selection takes longer while policies are swapped: p99.9 with a swap every millisecond,
//! as a ratio to p99.9 without, in rounds that take turns. Prints JSON.
//!
//! `cargo bench --bench swap -- --max-ratio 1.5` ends with status 1 when the ratio is higher.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on should stop"
)]

mod fixture;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dynamo_kv_router::{KvRouterConfig, WorkerType};
use dynamo_regime_core::{PolicyChange, PrefillWeight};
use dynamo_regime_policy::{Pools, Target};
use serde_json::json;

use fixture::{BLOCK_SIZE, both, pool, select};

const WORKERS: u64 = 8;
const PAIRS: usize = 40;
/// Of each half of a pair: 0.2 s or so.
const SELECTIONS: usize = 200_000;
const SWAP_EVERY: Duration = Duration::from_millis(1);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).filter(|one| one != "--bench");
    let max_ratio: Option<f64> = match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => None,
        (Some("--max-ratio"), Some(value)) if value.parse::<f64>().is_ok() => value.parse().ok(),
        _ => {
            eprintln!("There is --max-ratio RATIO.");
            return ExitCode::from(2);
        }
    };
    let (workers, request) = pool(WORKERS);
    let (plugin, policy, _) = both(&KvRouterConfig::default(), WorkerType::Aggregated);
    let swapping = AtomicBool::new(false);
    let done = AtomicBool::new(false);
    let swaps = AtomicU64::new(0);
    let mut ratios = Vec::new();
    let (mut still, mut swapped) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| swap(&plugin.pools, &swapping, &done, &swaps));
        let mut elapsed_ns = vec![0_u64; SELECTIONS];
        for pair in 0..PAIRS {
            let mut half = |is_swapping: bool| {
                swapping.store(is_swapping, Ordering::Relaxed);
                for slot in &mut elapsed_ns {
                    let start = Instant::now();
                    black_box(select(&policy, &workers, &request, BLOCK_SIZE).unwrap());
                    *slot = start.elapsed().as_nanos() as u64;
                }
                p999(&mut elapsed_ns)
            };
            // Take turns at going first.
            let first = half(pair % 2 == 0);
            let second = half(pair % 2 == 1);
            let (with, without) = if pair % 2 == 0 {
                (first, second)
            } else {
                (second, first)
            };
            ratios.push(with / without);
            swapped.push(with);
            still.push(without);
        }
        done.store(true, Ordering::Relaxed);
    });
    let ratio = median(ratios);
    let passed = max_ratio.is_none_or(|limit| ratio <= limit);
    let report = json!({
        "benchmark": "p99.9 of one worker selection, a swap every millisecond / no swap",
        "workers": WORKERS,
        "pairs": PAIRS,
        "selections_per_round": SELECTIONS,
        "swaps": swaps.into_inner(),
        "p999_with_swaps_ns": median(swapped),
        "p999_without_ns": median(still),
        "ratio": ratio,
        "max_ratio": max_ratio,
        "passed": passed,
    });
    println!("{}", serde_json::to_string_pretty(&report).unwrap());
    ExitCode::from(u8::from(!passed))
}

fn swap(pools: &Pools, swapping: &AtomicBool, done: &AtomicBool, swaps: &AtomicU64) {
    let weights = [1.0, 2.0].map(|weight| PrefillWeight::try_from(weight).unwrap());
    let mut due = Instant::now();
    for weight in weights.into_iter().cycle() {
        if done.load(Ordering::Relaxed) {
            return;
        }
        if swapping.load(Ordering::Relaxed) {
            let change = PolicyChange {
                prefill_weight: Some(weight),
                ..PolicyChange::default()
            };
            pools.swap(&Target::All, change).unwrap();
            swaps.fetch_add(1, Ordering::Relaxed);
        }
        due += SWAP_EVERY;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn p999(elapsed_ns: &mut [u64]) -> f64 {
    let place = elapsed_ns.len() - elapsed_ns.len() / 1000 - 1;
    *elapsed_ns.select_nth_unstable(place).1 as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
