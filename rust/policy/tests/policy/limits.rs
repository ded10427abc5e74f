//! Extreme values: a plug-in never takes the router down.

use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_kv_router::{KvRouterConfig, SharedCacheHits, WorkerLoadProjection};
use proptest::prelude::*;

use crate::support::{Plugin, ROLES, Worker, Workers, change, request, select};

const EXTREMES: [f64; 5] = [0.0, 5e-324, 1.0, 1e308, f64::MAX];

fn extreme() -> impl Strategy<Value = f64> {
    prop::sample::select(EXTREMES.to_vec())
}

fn extreme_count() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![0, 1, usize::MAX / 4, usize::MAX / 2])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_weights_and_loads_a_worker_is_chosen_at_a_finite_cost(
        role in prop::sample::select(ROLES.to_vec()),
        (temperature, prefill_weight) in (extreme(), extreme()),
        (overlap, decay, host, disk, shared, active) in
            (extreme(), extreme(), extreme(), extreme(), extreme(), extreme()),
        loads in prop::collection::vec(
            (extreme_count(), extreme_count(), extreme_count(), extreme_count(), any::<bool>()),
            1..6,
        ),
        (prompt_tokens, tracks_prefill, preferred) in (extreme_count(), any::<bool>(), -90.0..90.0_f32),
        conditional_disagg_enabled: bool,
    ) {
        let workers: Workers = (0..loads.len() as u64)
            .map(|id| (id, Worker { ranks: 1, taints: ["zone".to_owned()].into() }))
            .collect();
        let mut request = request(prompt_tokens);
        request.track_prefill_tokens = tracks_prefill;
        request.shared_cache_hits = Some(SharedCacheHits::from_hits(&[true; 40]));
        request.routing_constraints.preferred_taints.insert("zone".to_owned(), preferred);
        for ((prefill, decode, requests, overlap, has_load), id) in loads.into_iter().zip(0_u64..) {
            let worker = WorkerWithDpRank::from_worker_id(id);
            let tiers = &mut request.overlap.tier_overlap_blocks;
            tiers.device.insert(worker, overlap);
            tiers.host_pinned.insert(worker, overlap);
            tiers.disk.insert(worker, overlap);
            request.overlap.effective_cached_tokens.insert(worker, overlap);
            if has_load {
                request.worker_loads.insert(worker, WorkerLoadProjection {
                    active_prefill_tokens: prefill,
                    active_decode_blocks: decode,
                    active_requests: requests,
                    additional_active_blocks: 0,
                });
            }
        }
        let plugin = Plugin::unset(KvRouterConfig {
            overlap_score_credit: overlap,
            overlap_score_credit_decay: decay,
            host_cache_hit_weight: host,
            disk_cache_hit_weight: disk,
            shared_cache_multiplier: Some(shared),
            decode_active_request_weight: active,
            conditional_disagg_enabled,
            ..KvRouterConfig::default()
        });
        let policy = plugin.policy(role);
        plugin
            .pools
            .swap(&dynamo_regime_policy::Target::All, change(Some(temperature), Some(prefill_weight)))
            .unwrap();
        for _ in 0..4 {
            select(&policy, &workers, &request, 16).unwrap();
        }
        for (_, decision) in plugin.pools.recent_decisions(None, 4) {
            prop_assert!(decision.cost.is_finite());
            prop_assert!(decision.min_cost <= decision.cost && decision.cost <= decision.max_cost);
        }
    }
}

#[test]
fn a_router_configuration_that_no_host_has_validated_still_routes() {
    let workers: Workers = (0..3)
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
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
        let plugin = Plugin::unset(KvRouterConfig {
            router_temperature: value,
            prefill_load_scale: value,
            overlap_score_credit: value,
            overlap_score_credit_decay: value,
            host_cache_hit_weight: value,
            disk_cache_hit_weight: value,
            shared_cache_multiplier: Some(value),
            decode_active_request_weight: value,
            ..KvRouterConfig::default()
        });
        for role in ROLES {
            let policy = plugin.policy(role);
            let mut request = request(64);
            for id in 0..3 {
                let worker = WorkerWithDpRank::from_worker_id(id);
                request
                    .overlap
                    .tier_overlap_blocks
                    .device
                    .insert(worker, id as usize);
                request.worker_loads.insert(
                    worker,
                    WorkerLoadProjection {
                        active_prefill_tokens: 16 * id as usize,
                        active_requests: id as usize,
                        ..WorkerLoadProjection::default()
                    },
                );
            }
            select(&policy, &workers, &request, 16).unwrap();
        }
        for pool in plugin.pools.policies() {
            assert_eq!(pool.policy.policy.temperature.get(), 0.0);
            assert_eq!(pool.policy.policy.prefill_weight.get(), 1.0);
        }
    }
}
