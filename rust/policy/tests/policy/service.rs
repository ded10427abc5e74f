//! Both policies inside Dynamo's own `SelectionService`, with its scheduler, queue and load books.

use std::collections::{BTreeMap, HashMap};

use dynamo_kv_router::plugins::RouterPluginRegistry;
use dynamo_kv_router::protocols::WorkerAffinityTarget;
use dynamo_kv_router::services::selection::{
    PromptRequest, SelectAndReserveRequest, SelectRequest, SelectionService,
    SelectionServiceBuilder, WorkerRequest,
};
use dynamo_kv_router::{KvRouterConfig, RoutingPartitionId, WorkerType};
use dynamo_regime_policy::{Pools, register};
use serde_json::json;

use crate::support::every_role;

const WORKERS: u64 = 6;

/// A service that routes by Dynamo's default policy and one that routes by the plug-in.
async fn services(
    config: KvRouterConfig,
    role: WorkerType,
) -> [(SelectionService, Option<Pools>); 2] {
    let default = dynamo_custom_policy_builtin::default_registry();
    let mut with_regime = default.clone();
    let pools = register(&mut with_regime).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), every_role("{}")).unwrap();
    let by_regime = KvRouterConfig {
        router_policy_config: Some(file.path().display().to_string()),
        ..config.clone()
    };
    [
        (service(config, role, default).await, None),
        (service(by_regime, role, with_regime).await, Some(pools)),
    ]
}

async fn service(
    config: KvRouterConfig,
    role: WorkerType,
    registry: RouterPluginRegistry,
) -> SelectionService {
    let service = SelectionServiceBuilder::new(config, role, registry)
        .indexer_threads(1)
        .build()
        .await
        .unwrap();
    for worker_id in 0..WORKERS {
        service.upsert_worker(worker(worker_id)).await.unwrap();
    }
    // The scheduler takes workers in on a task of its own.
    while scheduled_workers(&service) < WORKERS as usize {
        tokio::task::yield_now().await;
    }
    service
}

fn scheduled_workers(service: &SelectionService) -> usize {
    let loads = service.loads(None, None);
    loads.iter().map(|partition| partition.loads.len()).sum()
}

/// Each worker has a taint of its own, so that a request can prefer them all to different degrees.
fn worker(worker_id: u64) -> WorkerRequest {
    serde_json::from_value(json!({
        "worker_id": worker_id,
        "endpoint": format!("http://127.0.0.1:{}", 8000 + worker_id),
        "block_size": 16,
        "max_num_batched_tokens": 8192,
        "total_kv_blocks": 4096,
        "taints": [format!("worker-{worker_id}")],
    }))
    .unwrap()
}

fn config(router_temperature: f64) -> KvRouterConfig {
    KvRouterConfig {
        // The index is fed by routing decisions; no sockets.
        use_kv_events: false,
        router_queue_threshold: None,
        decode_active_request_weight: 0.3,
        overlap_score_credit_decay: 0.2,
        router_temperature,
        ..KvRouterConfig::default()
    }
}

/// Sixteen conversations that share long prefixes, with tails of their own.
fn prompt(turn: u32) -> Vec<u32> {
    let conversation = turn % 16;
    let shared = (0..16 * (4 + conversation)).map(|token| 1_000 * conversation + token);
    shared
        .chain((0..16 * (1 + turn % 7)).map(|token| 1_000_000 + 1_000 * turn + token))
        .collect()
}

/// Distinct preferences for all workers: no two ever cost the same, so that at τ = 0 nothing is
/// left to chance.
fn preferences() -> HashMap<String, f32> {
    (0..WORKERS)
        .map(|id| (format!("worker-{id}"), 0.01 * id as f32))
        .collect()
}

fn booking(turn: u32) -> SelectAndReserveRequest {
    let mut request: SelectAndReserveRequest = serde_json::from_value(json!({
        "selection_id": format!("turn-{turn}"),
        "token_ids": prompt(turn),
        "expected_output_tokens": 64,
    }))
    .unwrap();
    request.routing_constraints.preferred_taints = preferences();
    if turn % 11 == 3 {
        request.affinity_target = Some(WorkerAffinityTarget::new(u64::from(turn) % WORKERS, None));
    }
    if turn % 13 == 5 {
        request.allowed_worker_ids = Some([1, 2, 4].into());
    }
    request
}

/// Wait until the index has taken in what was booked; `dump_events` passes through its queue.
async fn settle(service: &SelectionService) {
    let key = RoutingPartitionId::new("default", "default");
    let partition = service.core().partition(&key).unwrap();
    partition.indexer().dump_events().await.unwrap();
}

/// The answers to a stream of bookings, prefills that complete and requests that end.
async fn answers(service: &SelectionService) -> Vec<serde_json::Value> {
    let mut answers = Vec::new();
    for turn in 0..240_u32 {
        let answer = service.select_and_reserve(booking(turn)).await.unwrap();
        answers.push(serde_json::to_value(&answer).unwrap());
        settle(service).await;
        if turn >= 4 && turn % 3 == 0 {
            service
                .prefill_complete(&format!("turn-{}", turn - 4))
                .await
                .unwrap();
        }
        if turn >= 20 {
            service
                .free_reservation(&format!("turn-{}", turn - 20))
                .await
                .unwrap();
        }
    }
    answers
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn a_stream_of_bookings_is_answered_alike_in_every_pool() {
    for role in [
        WorkerType::Aggregated,
        WorkerType::Prefill,
        WorkerType::Decode,
    ] {
        run(async {
            let [(default, _), (regime, pools)] = services(config(0.0), role).await;
            let expected = answers(&default).await;
            let actual = answers(&regime).await;
            for (turn, (actual, expected)) in actual.iter().zip(&expected).enumerate() {
                assert_eq!(actual, expected, "turn {turn} in the {role} pool");
            }
            let chosen: std::collections::HashSet<_> = actual
                .iter()
                .map(|answer| answer["worker_id"].as_u64())
                .collect();
            assert!(chosen.len() > 2, "the stream exercises {chosen:?} only");
            assert_eq!(
                pools.unwrap().recent_decisions(Some(role), 1_000).len(),
                actual.len()
            );
            default.shutdown().await;
            regime.shutdown().await;
        });
    }
}

/// How often each worker is chosen for one prompt, from books that stay as they are.
async fn shares(service: &SelectionService, draws: u32) -> BTreeMap<u64, f64> {
    for turn in 0..12 {
        service
            .select_and_reserve(booking_of_worker(turn))
            .await
            .unwrap();
        settle(service).await;
    }
    let mut shares = BTreeMap::new();
    for _ in 0..draws {
        let request = SelectRequest {
            prompt: PromptRequest {
                token_ids: Some(prompt(5)),
                ..PromptRequest::default()
            },
            ..serde_json::from_value(json!({ "advisory": true })).unwrap()
        };
        let answer = service.select(request).await.unwrap();
        *shares.entry(answer.worker_id).or_default() += 1.0;
    }
    shares
}

/// A booking that can go to one worker only, so that both services come to the same books.
fn booking_of_worker(turn: u32) -> SelectAndReserveRequest {
    let mut request = booking(turn);
    request.affinity_target = None;
    request.allowed_worker_ids = Some([u64::from(turn * turn) % WORKERS].into());
    request
}

#[test]
fn from_the_same_books_both_policies_spread_a_request_over_the_same_shares() {
    const DRAWS: u32 = 20_000;
    run(async {
        let [(default, _), (regime, _)] = services(config(0.7), WorkerType::Aggregated).await;
        let expected = shares(&default, DRAWS).await;
        let actual = shares(&regime, DRAWS).await;
        assert_eq!(expected.len() as u64, WORKERS);
        // Two samples of equal size; the rows' order, and with it the draws, is the host's to choose.
        let statistic: f64 = expected
            .iter()
            .map(|(worker, expected)| {
                let actual = actual.get(worker).copied().unwrap_or(0.0);
                (actual - expected).powi(2) / (actual + expected)
            })
            .sum();
        // Beyond this with a chance of 1e-9 for five degrees of freedom.
        assert!(
            statistic < 50.7,
            "χ² = {statistic}: {actual:?} against {expected:?}"
        );
        default.shutdown().await;
        regime.shutdown().await;
    });
}
