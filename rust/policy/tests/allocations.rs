//! After warm-up a selection by the plug-in allocates nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../benches/fixture/mod.rs"]
mod fixture;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use dynamo_kv_router::plugins::worker_selection::WorkerSelectionPolicy;
use dynamo_kv_router::{
    KvRouterConfig, RouterConfigOverride, SchedulingRequest, SharedCacheHits, WorkerType,
};

use fixture::{BLOCK_SIZE, Plugin, Workers, both, pool, select};

thread_local! {
    /// Allocations of this thread; `Cell<u64>` needs neither a destructor nor an allocation itself.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[allow(unsafe_code, reason = "a global allocator cannot be had without")]
// SAFETY: every call is passed on to the system allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the ones the system allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count() {
    // A thread that is ending has no counter any more, and no test in it either.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

/// Allocations of 5,000 selections, more than a decision ring holds, after a first one.
fn allocations(
    policy: &WorkerSelectionPolicy,
    workers: &Workers,
    request: &SchedulingRequest,
) -> u64 {
    select(policy, workers, request, BLOCK_SIZE).unwrap();
    let before = ALLOCATIONS.get();
    for _ in 0..5_000 {
        select(policy, workers, request, BLOCK_SIZE).unwrap();
    }
    ALLOCATIONS.get() - before
}

#[test]
fn a_selection_allocates_nothing_beyond_the_host_in_any_pool_at_any_temperature() {
    let (workers, mut request) = pool(64);
    request.shared_cache_hits = Some(SharedCacheHits::from_hits(&[true; 128]));
    for role in [
        WorkerType::Aggregated,
        WorkerType::Prefill,
        WorkerType::Decode,
    ] {
        for router_temperature in [0.0, 0.7] {
            let config = KvRouterConfig {
                router_temperature,
                overlap_score_credit_decay: 0.5,
                shared_cache_multiplier: Some(0.5),
                decode_active_request_weight: 0.3,
                ..KvRouterConfig::default()
            };
            let (plugin, ours, dynamos) = both(&config, role);
            let host = allocations(&dynamos, &workers, &request);
            assert_eq!(
                host, 0,
                "Dynamo's own share, {role} at τ = {router_temperature}"
            );
            assert_eq!(
                allocations(&ours, &workers, &request),
                host,
                "{role} at τ = {router_temperature}"
            );
            assert_eq!(plugin.pools.drain_decisions().len(), 1);
        }
    }
}

#[test]
fn the_toll_allocates_nothing_either() {
    let (workers, mut request) = pool(64);
    request.shared_cache_hits = Some(SharedCacheHits::from_hits(&[true; 128]));
    for temperature in [0.0, 0.7] {
        let parameters = format!("{{mode: toll, kv_blocks: 4096, temperature: {temperature}}}");
        let plugin = Plugin::with_parameters(&parameters, KvRouterConfig::default());
        let policy = plugin.policy(WorkerType::Aggregated);
        assert_eq!(allocations(&policy, &workers, &request), 0);
    }
}

#[test]
fn neither_a_pin_nor_an_override_nor_a_swap_makes_a_selection_allocate() {
    let (workers, mut request) = pool(64);
    let (plugin, ours, _) = both(&KvRouterConfig::default(), WorkerType::Aggregated);
    request.router_config_override = Some(RouterConfigOverride {
        router_temperature: Some(1.0),
        ..RouterConfigOverride::default()
    });
    assert_eq!(allocations(&ours, &workers, &request), 0);
    plugin
        .pools
        .swap(&dynamo_regime_policy::Target::All, Default::default())
        .unwrap();
    assert_eq!(allocations(&ours, &workers, &request), 0);
    request.pinned_worker = Some(dynamo_kv_router::protocols::WorkerWithDpRank::from_worker_id(3));
    assert_eq!(allocations(&ours, &workers, &request), 0);
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1_u64)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}
