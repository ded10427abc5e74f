//! With nothing set, the plug-in routes as Dynamo's default policy does, bit for bit.

use std::collections::HashMap;

use dynamo_kv_router::plugins::worker_selection::{WorkerInputs, WorkerSelectionPolicy};
use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_kv_router::{KvRouterConfig, SchedulingRequest, WorkerSelector};
use proptest::prelude::*;

use crate::logits::observe;
use crate::support::{
    Plugin, ROLES, Worker, Workers, default_policy, request, seeded_alike, select,
};
use crate::world::{World, world};

/// What a selection comes to, errors included, in a form that can be compared.
fn outcome(
    policy: &WorkerSelectionPolicy,
    workers: &Workers,
    request: &SchedulingRequest,
    block_size: u32,
) -> String {
    format!("{:?}", select(policy, workers, request, block_size))
}

/// The cost of every worker that can be selected, found by selecting nearly uniformly until each
/// has come up. `select` answers with a worker and its cost.
fn costs(
    workers: &Workers,
    request: &SchedulingRequest,
    mut select: impl FnMut() -> (WorkerWithDpRank, f64),
) -> HashMap<WorkerWithDpRank, u64> {
    let allowed = |id| {
        request
            .allowed_worker_ids
            .as_ref()
            .is_none_or(|allowed| allowed.contains(id))
    };
    let eligible: usize = workers
        .iter()
        .filter(|(id, _)| allowed(id))
        .map(|(_, worker)| worker.ranks as usize)
        .sum();
    let mut costs = HashMap::new();
    while costs.len() < eligible {
        let (worker, cost) = select();
        let before = costs.insert(worker, cost.to_bits());
        assert!(before.is_none_or(|before| before == cost.to_bits()));
    }
    costs
}

fn draws_agree(world: &World, seed: u64, draws: usize) -> Result<(), TestCaseError> {
    let (workers, request) = (world.workers(), world.request());
    let plugin = Plugin::unset(world.config.clone());
    let (ours, dynamos) = seeded_alike(&plugin, world.role, seed);
    for draw in 0..draws {
        let our_outcome = outcome(&ours, &workers, &request, world.block_size);
        let (outcome, logits) = observe(|| outcome(&dynamos, &workers, &request, world.block_size));
        prop_assert_eq!(our_outcome, outcome, "draw {}", draw);
        // For a pinned worker Dynamo logs no exact cost.
        for cost in logits {
            prop_assert_eq!(plugin.decision().cost.to_bits(), cost.to_bits());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn from_the_same_random_numbers_both_policies_make_the_same_choices_at_the_same_costs(
        world in world(1..=48),
        seed: u64,
    ) {
        draws_agree(&world, seed, 24)?;
    }

    #[test]
    fn every_worker_has_the_same_cost_to_the_last_bit_and_so_the_minima_are_the_same(
        mut world in world(1..=24),
    ) {
        // So warm that every worker comes up soon.
        world.config.router_temperature = 1e9;
        let (workers, mut request) = (world.workers(), world.request());
        request.pinned_worker = None;
        let block_size = world.block_size;
        let plugin = Plugin::unset(world.config.clone());
        let (ours, dynamos) = (plugin.policy(world.role), default_policy(&world.config, world.role));
        let costs_of_ours = costs(&workers, &request, || {
            let worker = select(&ours, &workers, &request, block_size).unwrap().worker;
            (worker, plugin.decision().cost)
        });
        let dynamos_costs = costs(&workers, &request, || {
            let (selected, logits) =
                observe(|| select(&dynamos, &workers, &request, block_size).unwrap());
            (selected.worker, logits[0])
        });
        prop_assert_eq!(&costs_of_ours, &dynamos_costs);

        // At τ = 0 both then choose among the same workers, each of which comes up.
        world.config.router_temperature = 0.0;
        let least = costs_of_ours.values().map(|bits| f64::from_bits(*bits)).fold(f64::INFINITY, f64::min);
        let minima = costs_of_ours.values().filter(|bits| f64::from_bits(**bits) == least).count();
        for policy in [Plugin::unset(world.config.clone()).policy(world.role), default_policy(&world.config, world.role)] {
            let mut chosen = std::collections::HashSet::new();
            while chosen.len() < minima {
                let worker = select(&policy, &workers, &request, block_size).unwrap().worker;
                prop_assert_eq!(f64::from_bits(costs_of_ours[&worker]), least);
                chosen.insert(worker);
            }
        }
    }

    #[test]
    fn both_policies_ask_the_host_for_the_same_inputs(world in world(1..=1)) {
        let ours = Plugin::unset(world.config.clone()).policy(world.role);
        let dynamos = default_policy(&world.config, world.role);
        prop_assert_eq!(inputs(&ours), inputs(&dynamos));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_choices_agree_up_to_1024_workers(world in world(256..=1024), seed: u64) {
        draws_agree(&world, seed, 8)?;
    }
}

fn inputs(policy: &WorkerSelectionPolicy) -> WorkerInputs {
    <WorkerSelectionPolicy as WorkerSelector<Worker>>::required_worker_inputs(policy)
}

#[test]
fn an_eligible_affinity_target_is_exclusive_in_every_pool() {
    let plugin = Plugin::unset(KvRouterConfig::default());
    for role in ROLES {
        assert!(
            <WorkerSelectionPolicy as WorkerSelector<Worker>>::uses_exclusive_affinity_target(
                &plugin.policy(role)
            )
        );
    }
}

#[test]
fn a_pin_is_kept_and_draws_nothing() {
    let workers: Workers = (0..8)
        .map(|id| {
            (
                id,
                Worker {
                    ranks: 2,
                    ..Worker::default()
                },
            )
        })
        .collect();
    let config = KvRouterConfig {
        router_temperature: 0.7,
        ..KvRouterConfig::default()
    };
    let (ours, dynamos) = seeded_alike(
        &Plugin::unset(config),
        dynamo_kv_router::WorkerType::Prefill,
        5,
    );
    let pinned = WorkerWithDpRank::new(3, 1);
    for is_pinned in [true, false, true, true, false, false, true, false] {
        let mut request = request(64);
        request.pinned_worker = is_pinned.then_some(pinned);
        let selected = select(&ours, &workers, &request, 16).unwrap().worker;
        assert_eq!(
            selected,
            select(&dynamos, &workers, &request, 16).unwrap().worker
        );
        assert!(!is_pinned || selected == pinned);
    }
}
