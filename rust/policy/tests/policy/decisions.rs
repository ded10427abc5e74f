//! What the decision log says of a selection.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_kv_router::{KvRouterConfig, SchedulingRequest, WorkerLoadProjection, WorkerType};
use dynamo_regime_core::DECISIONS_PER_WRITER;
use dynamo_regime_policy::Target;

use crate::support::{Plugin, Worker, Workers, change, request, select};

const BLOCK_SIZE: u32 = 16;

/// Worker 0 is busy and holds 6 of the prompt's 10 blocks; worker 1 is idle and holds 2.
fn pool() -> (Workers, SchedulingRequest) {
    let workers: Workers = (0..2)
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
    let mut request = request(160);
    for (id, prefill_tokens, decode_blocks, requests, overlap) in
        [(0, 320, 30, 4, 6), (1, 32, 1, 1, 2)]
    {
        let worker = WorkerWithDpRank::from_worker_id(id);
        request.worker_loads.insert(
            worker,
            WorkerLoadProjection {
                active_prefill_tokens: prefill_tokens,
                active_decode_blocks: decode_blocks,
                active_requests: requests,
                additional_active_blocks: 2,
            },
        );
        request
            .overlap
            .tier_overlap_blocks
            .device
            .insert(worker, overlap);
    }
    (workers, request)
}

fn plugin() -> Plugin {
    Plugin::with_parameters(
        "{temperature: 0, prefill_weight: 2}",
        KvRouterConfig {
            host_cache_hit_weight: 0.0,
            disk_cache_hit_weight: 0.0,
            ..KvRouterConfig::default()
        },
    )
}

#[test]
fn a_decision_holds_the_choice_and_its_grounds() {
    let (workers, request) = pool();
    let plugin = plugin();
    let before = SystemTime::now();
    let policy = plugin.policy(WorkerType::Prefill);
    select(&policy, &workers, &request, BLOCK_SIZE).unwrap();
    let (pool, decision) = plugin.pools.recent_decisions(None, 10)[0];
    assert_eq!(pool, WorkerType::Prefill);
    assert_eq!(
        (decision.worker_id, decision.dp_rank, decision.candidates),
        (1, 0, 2)
    );
    assert_eq!(
        (
            decision.version,
            decision.temperature,
            decision.prefill_weight
        ),
        (1, 0.0, 2.0)
    );
    // Prefill: (backlog + prompt) / 16 − overlap; active: running blocks + the request's 2.
    let idle = 2.0 * ((32.0 + 160.0) / 16.0 - 2.0) + 3.0;
    let busy = 2.0 * ((320.0 + 160.0) / 16.0 - 6.0) + 32.0;
    assert_eq!(
        (decision.cost, decision.min_cost, decision.max_cost),
        (idle, idle, busy)
    );
    assert_eq!(
        (decision.prefill_blocks, decision.active_blocks),
        (2.0, 3.0)
    );
    assert_eq!(decision.request_blocks, Some(10.0));
    assert_eq!(decision.active_requests, Some(1.0));
    assert_eq!(
        (decision.overlap_blocks, decision.best_overlap_blocks),
        (Some(2.0), Some(6.0))
    );
    let decided = UNIX_EPOCH + Duration::from_nanos(decision.time_ns);
    // The host's clock may be set between two readings; a day tells an epoch from an uptime.
    let day = Duration::from_secs(86_400);
    assert!(decided > before - day && decided < before + day);
}

#[test]
fn every_64th_choice_is_timed() {
    let (workers, request) = pool();
    let plugin = plugin();
    let policy = plugin.policy(WorkerType::Prefill);
    for _ in 0..200 {
        select(&policy, &workers, &request, BLOCK_SIZE).unwrap();
    }
    let decisions = plugin.pools.recent_decisions(None, 200);
    let timed: Vec<(usize, f64)> = decisions
        .iter()
        .enumerate()
        .filter_map(|(place, (_, decision))| Some((place, decision.elapsed_ns?)))
        .collect();
    assert_eq!(
        timed.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
        [63, 127, 191]
    );
    assert!(timed.iter().all(|(_, elapsed_ns)| *elapsed_ns > 0.0));
}

#[test]
fn plain_decode_says_nothing_of_a_cache_it_does_not_look_at() {
    let (workers, request) = pool();
    let plugin = plugin();
    select(
        &plugin.policy(WorkerType::Decode),
        &workers,
        &request,
        BLOCK_SIZE,
    )
    .unwrap();
    let decision = plugin.decision();
    assert_eq!(
        (decision.overlap_blocks, decision.best_overlap_blocks),
        (None, None)
    );
    assert_eq!(decision.active_blocks, 3.0);
}

#[test]
fn a_pinned_request_is_recorded_as_a_choice_among_one() {
    let (workers, mut request) = pool();
    request.pinned_worker = Some(WorkerWithDpRank::from_worker_id(0));
    let plugin = plugin();
    select(
        &plugin.policy(WorkerType::Aggregated),
        &workers,
        &request,
        BLOCK_SIZE,
    )
    .unwrap();
    let decision = plugin.decision();
    assert_eq!((decision.worker_id, decision.candidates), (0, 1));
    assert_eq!(
        (decision.min_cost, decision.max_cost),
        (decision.cost, decision.cost)
    );
}

#[test]
fn a_worker_without_a_load_report_has_no_number_of_running_requests() {
    let (workers, mut request) = pool();
    request.worker_loads.clear();
    let plugin = plugin();
    select(
        &plugin.policy(WorkerType::Prefill),
        &workers,
        &request,
        BLOCK_SIZE,
    )
    .unwrap();
    let decision = plugin.decision();
    assert_eq!(decision.active_requests, None);
}

#[test]
fn a_failed_selection_leaves_no_decision() {
    let plugin = plugin();
    let policy = plugin.policy(WorkerType::Prefill);
    select(&policy, &Workers::new(), &request(16), BLOCK_SIZE).unwrap_err();
    assert!(plugin.pools.recent_decisions(None, 10).is_empty());
}

#[test]
fn a_drain_takes_the_decisions_of_every_partition_of_a_pool_once() {
    let (workers, request) = pool();
    let plugin = plugin();
    let partitions = [
        plugin.policy(WorkerType::Prefill),
        plugin.policy(WorkerType::Prefill),
    ];
    for policy in &partitions {
        select(policy, &workers, &request, BLOCK_SIZE).unwrap();
    }
    let drained = plugin.pools.drain_decisions();
    assert_eq!(drained.len(), 1);
    assert_eq!(
        (drained[0].0, drained[0].1.decisions.len()),
        (WorkerType::Prefill, 2)
    );
    assert!(plugin.pools.drain_decisions()[0].1.decisions.is_empty());
    assert_eq!(plugin.pools.recent_decisions(None, 10).len(), 2);
}

#[test]
fn the_latest_decisions_are_those_of_the_pool_that_is_asked_for() {
    let (workers, request) = pool();
    let plugin = plugin();
    let (prefill, decode) = (
        plugin.policy(WorkerType::Prefill),
        plugin.policy(WorkerType::Decode),
    );
    for _ in 0..3 {
        select(&prefill, &workers, &request, BLOCK_SIZE).unwrap();
        select(&decode, &workers, &request, BLOCK_SIZE).unwrap();
    }
    let recent = |pool, limit| plugin.pools.recent_decisions(pool, limit);
    assert_eq!(recent(None, 100).len(), 6);
    assert_eq!(recent(None, 4).len(), 4);
    assert_eq!(recent(Some(WorkerType::Decode), 2).len(), 2);
    assert!(
        recent(Some(WorkerType::Decode), 9)
            .iter()
            .all(|(pool, _)| *pool == WorkerType::Decode)
    );
    assert!(recent(Some(WorkerType::Encode), 9).is_empty());
}

#[test]
fn a_swap_shows_in_the_very_next_decision() {
    let (workers, request) = pool();
    let plugin = plugin();
    let policy = plugin.policy(WorkerType::Prefill);
    select(&policy, &workers, &request, BLOCK_SIZE).unwrap();
    plugin
        .pools
        .swap(&Target::All, change(None, Some(0.0)))
        .unwrap();
    select(&policy, &workers, &request, BLOCK_SIZE).unwrap();
    let decisions: Vec<_> = plugin
        .pools
        .recent_decisions(None, 2)
        .into_iter()
        .map(|(_, decision)| (decision.version, decision.cost))
        .collect();
    assert_eq!(decisions, [(1, 23.0), (2, 3.0)]);
}

#[test]
fn models_that_come_and_go_leave_no_rings_behind() {
    let (workers, request) = pool();
    let plugin = plugin();
    let mut selected = 0;
    for _ in 0..200 {
        let partition = plugin.policy(WorkerType::Prefill);
        for _ in 0..3 {
            select(&partition, &workers, &request, BLOCK_SIZE).unwrap();
            selected += 1;
        }
    }
    // Nobody drained meanwhile: a handful of rings is kept, the rest is counted.
    let kept = plugin.pools.drain_decisions().remove(0).1.decisions.len() as u64;
    assert!(
        kept < 3 * 10,
        "{kept} decisions of partitions that are gone"
    );
    assert_eq!(kept + plugin.pools.dropped_decisions(), selected);
}

#[test]
fn what_is_overwritten_is_counted() {
    let (workers, request) = pool();
    let plugin = plugin();
    let policy = plugin.policy(WorkerType::Prefill);
    for _ in 0..DECISIONS_PER_WRITER + 7 {
        select(&policy, &workers, &request, BLOCK_SIZE).unwrap();
    }
    let drained = plugin.pools.drain_decisions().remove(0).1;
    assert_eq!(
        (drained.decisions.len(), drained.dropped),
        (DECISIONS_PER_WRITER, 7)
    );
}
