//! Swapping while eight threads select.
//!
//! No selection waits for a swap by construction: the way to a worker reads the pool's cell once,
//! which is wait-free for readers, and takes no lock; the pools' lock is taken by factories, swaps
//! and readers of the handle only (`pools::tests` selects while it is held). Here progress is
//! checked without a clock: swapping goes on until every thread has selected often enough.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use dynamo_kv_router::plugins::worker_selection::WorkerSelectionPolicy;
use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_kv_router::{
    KvRouterConfig, RouterConfigOverride, SchedulingRequest, WorkerLoadProjection, WorkerType,
};
use dynamo_regime_core::Decision;
use dynamo_regime_policy::Target;

use crate::support::{Plugin, Worker, Workers, change, request, select};

const THREADS: usize = 8;
const SWAPS: u64 = 100_000;
const SELECTIONS_PER_THREAD: u64 = 2_000;
const WORKERS: u64 = 32;

/// The (τ, ω) of a version: recognisable, and no two versions have a member in common.
fn pair(version: u64) -> (f64, f64) {
    let step = version as f64;
    (step, 2.0 * step)
}

/// Workers of falling prefill backlog and rising active blocks, such that the cheapest one moves
/// from the first to the last as ω grows to what it is after all swaps.
fn pool() -> (Workers, SchedulingRequest) {
    let workers: Workers = (0..WORKERS)
        .map(|id| {
            (
                id,
                Worker {
                    ranks: 1,
                    ..Worker::default()
                },
            )
        })
        .collect();
    let mut request = request(16);
    let mut active_blocks = 0;
    for id in 0..WORKERS {
        // Of one block less to prefill, this worker is cheaper than the one before once ω exceeds
        // the step. Steps are odd and ω is even: no two workers ever tie.
        active_blocks += 2 * SWAPS / WORKERS * id + 1;
        request.worker_loads.insert(
            WorkerWithDpRank::from_worker_id(id),
            WorkerLoadProjection {
                active_prefill_tokens: 16 * (WORKERS - id) as usize,
                active_decode_blocks: active_blocks as usize,
                ..WorkerLoadProjection::default()
            },
        );
    }
    (workers, request)
}

/// Sampler's τ, scorer's ω and version belong to one swap, and the cost was computed with that ω.
fn assert_whole(decision: &Decision) {
    let (temperature, prefill_weight) = pair(decision.version);
    assert!(
        decision.temperature == temperature || decision.temperature == 0.0,
        "{decision:?}"
    );
    assert_eq!(decision.prefill_weight, prefill_weight, "{decision:?}");
    // The request adds one block to the worker's backlog.
    let prefill_blocks = decision.prefill_blocks + 1.0;
    assert_eq!(
        decision.cost,
        prefill_weight * prefill_blocks + decision.active_blocks,
        "{decision:?}"
    );
}

/// Select by the pool's τ and at τ = 0 in turn, until told to end. At τ = 0 the choice tells which ω
/// it was made with: it must never move back.
fn keep_selecting(policy: &WorkerSelectionPolicy, selected: &AtomicU64, done: &AtomicBool) {
    // Should a check fail, nobody waits for this thread.
    let _end = EndOnDrop(done);
    let (workers, by_temperature) = pool();
    let (_, mut cheapest) = pool();
    cheapest.router_config_override = Some(RouterConfigOverride {
        router_temperature: Some(0.0),
        ..RouterConfigOverride::default()
    });
    let mut last = 0;
    while !done.load(Ordering::Relaxed) {
        select(policy, &workers, &by_temperature, 16).unwrap();
        let worker = select(policy, &workers, &cheapest, 16)
            .unwrap()
            .worker
            .worker_id;
        assert!(worker >= last, "after worker {last} came worker {worker}");
        last = worker;
        selected.fetch_add(2, Ordering::Relaxed);
    }
    assert_eq!(last, WORKERS - 1);
}

#[test]
fn eight_threads_select_by_whole_policies_of_growing_versions_while_another_swaps() {
    let (temperature, prefill_weight) = pair(1);
    let plugin = Plugin::with_parameters(
        &format!("{{temperature: {temperature}, prefill_weight: {prefill_weight}}}"),
        KvRouterConfig::default(),
    );
    let selected: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    let mut recorded = 0;
    let mut check = || {
        for (_, drained) in plugin.pools.drain_decisions() {
            drained.decisions.iter().for_each(assert_whole);
            recorded += drained.decisions.len() as u64;
        }
    };
    let has_selected = |goal: u64| {
        done.load(Ordering::Relaxed)
            || selected
                .iter()
                .all(|counter| counter.load(Ordering::Relaxed) >= goal)
    };
    thread::scope(|scope| {
        for counter in &selected {
            let policy = plugin.policy(WorkerType::Prefill);
            scope.spawn(|| {
                // Rust moves the policy into its thread, as a host does with its scheduler.
                let policy = policy;
                keep_selecting(&policy, counter, &done);
            });
        }
        // Should a check fail here, the threads must still be told to end.
        let _end = EndOnDrop(&done);
        let mut version = 1;
        while version <= SWAPS || !has_selected(SELECTIONS_PER_THREAD) {
            version += 1;
            let (temperature, prefill_weight) = pair(version);
            let swapped = plugin
                .pools
                .swap(
                    &Target::All,
                    change(Some(temperature), Some(prefill_weight)),
                )
                .unwrap();
            assert_eq!(swapped[0].policy.version, version);
            if version % 500 == 0 {
                check();
            }
        }
        // Everybody gets to select by the last policy before the end.
        let goal = selected
            .iter()
            .map(|counter| counter.load(Ordering::Relaxed))
            .max();
        while !has_selected(goal.unwrap_or(0) + 4) {
            thread::yield_now();
        }
    });
    check();
    assert!(recorded > SELECTIONS_PER_THREAD);
    assert!(plugin.pools.policies()[0].policy.version > SWAPS);
}

struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
