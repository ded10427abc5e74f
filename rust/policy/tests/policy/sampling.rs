//! How often each worker is chosen, against the published softmax over Dynamo's own costs.

use std::collections::BTreeMap;

use dynamo_kv_router::plugins::worker_selection::WorkerSelectionPolicy;
use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_kv_router::{KvRouterConfig, SchedulingRequest, WorkerLoadProjection, WorkerType};
use dynamo_regime_core::{Temperature, sample};
use proptest::prelude::*;

use crate::logits::observe;
use crate::support::{Plugin, Worker, Workers, default_policy, request, select};
use crate::world::world;

const BLOCK_SIZE: u32 = 16;

/// Six workers of different cost and a seventh that ties with the first.
fn uneven_pool() -> (Workers, SchedulingRequest) {
    let workers: Workers = (0..7)
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
    for id in 0..7 {
        let worker = WorkerWithDpRank::from_worker_id(id);
        let step = id as usize % 6;
        request.worker_loads.insert(
            worker,
            WorkerLoadProjection {
                active_prefill_tokens: 24 * step * step,
                active_decode_blocks: 3 * step,
                ..WorkerLoadProjection::default()
            },
        );
        request
            .overlap
            .tier_overlap_blocks
            .device
            .insert(worker, 5 - step);
    }
    (workers, request)
}

fn config(router_temperature: f64) -> KvRouterConfig {
    KvRouterConfig {
        router_temperature,
        ..KvRouterConfig::default()
    }
}

/// The cost of every worker, as Dynamo's default policy logs it.
fn dynamos_costs(
    config: &KvRouterConfig,
    role: WorkerType,
    workers: &Workers,
    request: &SchedulingRequest,
    block_size: u32,
) -> BTreeMap<WorkerWithDpRank, f64> {
    let warm = KvRouterConfig {
        router_temperature: 1e9,
        ..config.clone()
    };
    let policy = default_policy(&warm, role);
    let ranks: usize = workers.values().map(|worker| worker.ranks as usize).sum();
    let mut costs = BTreeMap::new();
    while costs.len() < ranks {
        let (selected, logits) = observe(|| select(&policy, workers, request, block_size).unwrap());
        costs.insert(selected.worker, logits[0]);
    }
    costs
}

/// p ∝ exp(−(c − min) / ((max − min) · τ)); at τ = 0 alike among the minima.
fn published_probabilities(costs: &[f64], temperature: f64) -> Vec<f64> {
    let min = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let max = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = costs
        .iter()
        .map(|cost| {
            if min == max {
                1.0
            } else if temperature == 0.0 {
                f64::from(u8::from(*cost == min))
            } else {
                (-(cost - min) / ((max - min) * temperature)).exp()
            }
        })
        .collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// Pearson's statistic of how often `policy` chose each worker, and its degrees of freedom. Workers
/// expected fewer than five times share one cell.
fn chi_square(
    policy: &WorkerSelectionPolicy,
    probabilities: &BTreeMap<WorkerWithDpRank, f64>,
    workers: &Workers,
    request: &SchedulingRequest,
    draws: u32,
) -> (f64, usize) {
    let mut counts: BTreeMap<WorkerWithDpRank, u32> = BTreeMap::new();
    for _ in 0..draws {
        let worker = select(policy, workers, request, BLOCK_SIZE).unwrap().worker;
        *counts.entry(worker).or_default() += 1;
    }
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut rare = (0.0, 0.0);
    for (worker, probability) in probabilities {
        let observed = f64::from(counts.get(worker).copied().unwrap_or(0));
        let expected = probability * f64::from(draws);
        if expected == 0.0 {
            assert_eq!(observed, 0.0, "{worker:?} can never be chosen");
        } else if expected < 5.0 {
            rare = (rare.0 + observed, rare.1 + expected);
        } else {
            cells.push((observed, expected));
        }
    }
    if rare.1 > 0.0 {
        cells.push(rare);
    }
    let statistic = cells
        .iter()
        .map(|(observed, expected)| (observed - expected).powi(2) / expected)
        .sum();
    (statistic, cells.len() - 1)
}

/// The 99.9 % quantile of χ² for 1 to 6 degrees of freedom.
const QUANTILE: [f64; 6] = [10.828, 13.816, 16.266, 18.467, 20.515, 22.458];

#[test]
fn a_hundred_thousand_choices_follow_the_published_probabilities() {
    let (workers, request) = uneven_pool();
    for (seed, temperature) in [0.0, 0.1, 0.3, 0.7, 1.0, 10.0].into_iter().enumerate() {
        let config = config(temperature);
        let costs = dynamos_costs(&config, WorkerType::Prefill, &workers, &request, BLOCK_SIZE);
        let values: Vec<f64> = costs.values().copied().collect();
        let probabilities = costs
            .keys()
            .copied()
            .zip(published_probabilities(&values, temperature))
            .collect();
        fastrand::seed(seed as u64);
        for policy in [
            Plugin::unset(config.clone()).policy(WorkerType::Prefill),
            default_policy(&config, WorkerType::Prefill),
        ] {
            let (statistic, freedom) =
                chi_square(&policy, &probabilities, &workers, &request, 100_000);
            assert!(
                statistic < QUANTILE[freedom - 1],
                "χ² = {statistic} with {freedom} degrees of freedom at τ = {temperature}"
            );
        }
    }
}

#[test]
fn choices_at_one_temperature_do_not_follow_the_probabilities_of_another() {
    let (workers, request) = uneven_pool();
    let costs = dynamos_costs(
        &config(0.0),
        WorkerType::Prefill,
        &workers,
        &request,
        BLOCK_SIZE,
    );
    let values: Vec<f64> = costs.values().copied().collect();
    let probabilities = costs
        .keys()
        .copied()
        .zip(published_probabilities(&values, 0.7))
        .collect();
    fastrand::seed(1);
    let policy = Plugin::unset(config(1.0)).policy(WorkerType::Prefill);
    let (statistic, freedom) = chi_square(&policy, &probabilities, &workers, &request, 100_000);
    assert!(statistic > 10.0 * QUANTILE[freedom - 1], "χ² = {statistic}");
}

#[test]
fn a_temperature_override_of_the_request_replaces_the_pools_when_it_is_valid() {
    let (workers, mut request) = uneven_pool();
    let plugin = Plugin::unset(config(0.0));
    let policy = plugin.policy(WorkerType::Prefill);
    let costs = dynamos_costs(
        &config(0.0),
        WorkerType::Prefill,
        &workers,
        &request,
        BLOCK_SIZE,
    );
    let values: Vec<f64> = costs.values().copied().collect();
    for (asked, applied) in [
        (None, 0.0),
        (Some(0.7), 0.7),
        (Some(0.0), 0.0),
        (Some(-1.0), 0.0),
        (Some(f64::NAN), 0.0),
        (Some(f64::INFINITY), 0.0),
    ] {
        request.router_config_override = Some(dynamo_kv_router::RouterConfigOverride {
            router_temperature: asked,
            ..Default::default()
        });
        let probabilities = costs
            .keys()
            .copied()
            .zip(published_probabilities(&values, applied))
            .collect();
        fastrand::seed(17);
        let (statistic, freedom) = chi_square(&policy, &probabilities, &workers, &request, 20_000);
        assert!(
            statistic < QUANTILE[freedom - 1],
            "χ² = {statistic} for an override of {asked:?}"
        );
        assert_eq!(plugin.decision().temperature, applied);
    }
    assert_eq!(plugin.pools.policies()[0].policy.version, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_probabilities_over_dynamos_own_costs_are_the_published_ones(world in world(1..=24)) {
        let (workers, mut request) = (world.workers(), world.request());
        request.pinned_worker = None;
        request.allowed_worker_ids = None;
        let costs: Vec<f64> =
            dynamos_costs(&world.config, world.role, &workers, &request, world.block_size)
                .into_values()
                .collect();
        let mut ours = Vec::new();
        for temperature in [0.0, 0.1, 0.3, 0.7, 1.0, 10.0] {
            sample::probabilities(
                costs.iter().copied(),
                Temperature::try_from(temperature).unwrap(),
                &mut ours,
            );
            for (ours, published) in ours.iter().zip(published_probabilities(&costs, temperature)) {
                prop_assert!((ours - published).abs() <= 1e-12, "{} ≠ {}", ours, published);
            }
        }
    }
}
