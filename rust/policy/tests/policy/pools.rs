//! The handle on the pools: what it shows, and whom a swap reaches.

use dynamo_kv_router::{KvRouterConfig, RoutingPartitionRef};
use dynamo_regime_policy::{PoolPolicy, SwapError, Target, WorkerType};

use crate::support::{Plugin, ROLES, change};

/// Prefill by an instance of its own, aggregated and decode by a shared one, encode by Dynamo.
const MIXED: &str = "
worker_selection:
  aggregated: shared
  prefill: own
  decode: shared
  instances:
    - name: shared
      type: regime
    - name: own
      type: regime
      parameters: {temperature: 0.5}
";

fn mixed() -> Plugin {
    Plugin::resolve(MIXED, KvRouterConfig::default()).unwrap()
}

fn prepared() -> Plugin {
    let plugin = mixed();
    plugin.pools.prepare(&plugin.config).unwrap();
    plugin
}

/// Pool, version, τ and ω.
fn seen(policies: &[PoolPolicy]) -> Vec<(WorkerType, u64, f64, f64)> {
    policies
        .iter()
        .map(|pool| {
            let policy = pool.policy.policy;
            (
                pool.pool,
                pool.policy.version,
                policy.temperature.get(),
                policy.prefill_weight.get(),
            )
        })
        .collect()
}

#[test]
fn preparing_creates_the_pools_that_regime_is_selected_for() {
    assert!(mixed().pools.policies().is_empty());
    let policies = prepared().pools.policies();
    assert_eq!(
        seen(&policies),
        [
            (WorkerType::Aggregated, 1, 0.0, 1.0),
            (WorkerType::Decode, 1, 0.0, 1.0),
            (WorkerType::Prefill, 1, 0.5, 1.0),
        ]
    );
    let instances: Vec<_> = policies.iter().map(|pool| pool.instance.as_str()).collect();
    assert_eq!(instances, ["shared", "shared", "own"]);
}

#[test]
fn without_a_policy_file_there_is_nothing_to_prepare() {
    let plugin = mixed();
    plugin.pools.prepare(&KvRouterConfig::default()).unwrap();
    assert!(plugin.pools.policies().is_empty());
}

#[test]
fn preparing_reports_a_policy_file_that_cannot_be_read() {
    let config = KvRouterConfig {
        router_policy_config: Some("no-such-file.yaml".to_owned()),
        ..KvRouterConfig::default()
    };
    let error = mixed().pools.prepare(&config).unwrap_err().to_string();
    assert!(error.contains("no-such-file.yaml"), "{error}");
}

#[test]
fn preparing_after_a_swap_keeps_the_swapped_policy() {
    let plugin = prepared();
    plugin
        .pools
        .swap(&Target::All, change(Some(0.9), None))
        .unwrap();
    plugin.pools.prepare(&plugin.config).unwrap();
    assert!(
        seen(&plugin.pools.policies())
            .iter()
            .all(|pool| pool.2 == 0.9)
    );
}

#[test]
fn a_swap_reaches_the_pools_of_its_target_only() {
    let shared = Target::Instance("shared".to_owned());
    for (target, reached) in [
        (
            Target::All,
            vec![
                WorkerType::Aggregated,
                WorkerType::Decode,
                WorkerType::Prefill,
            ],
        ),
        (Target::Pool(WorkerType::Prefill), vec![WorkerType::Prefill]),
        (shared, vec![WorkerType::Aggregated, WorkerType::Decode]),
    ] {
        let plugin = prepared();
        let answer = plugin
            .pools
            .swap(&target, change(Some(0.7), Some(0.1)))
            .unwrap();
        let expected: Vec<_> = reached.iter().map(|role| (*role, 2, 0.7, 0.1)).collect();
        assert_eq!(seen(&answer), expected);
        for pool in plugin.pools.policies() {
            let version = if reached.contains(&pool.pool) { 2 } else { 1 };
            assert_eq!(pool.policy.version, version, "{target:?}");
        }
    }
}

#[test]
fn an_unknown_target_is_refused_with_the_known_ones_and_changes_nothing() {
    let plugin = prepared();
    for (target, sentence) in [
        (
            Target::Pool(WorkerType::Encode),
            "pool encode is not routed by a policy of type regime; these are: aggregated, decode, prefill",
        ),
        (
            Target::Instance("other".to_owned()),
            "no pool is routed by an instance named \"other\"; the instances are: own, shared",
        ),
    ] {
        let error = plugin
            .pools
            .swap(&target, change(Some(0.7), None))
            .unwrap_err();
        assert_eq!(error.to_string(), sentence);
    }
    assert!(
        seen(&plugin.pools.policies())
            .iter()
            .all(|pool| pool.1 == 1)
    );
}

#[test]
fn with_no_pool_a_swap_says_how_to_get_one() {
    for target in [Target::All, Target::Pool(WorkerType::Prefill)] {
        let error = mixed()
            .pools
            .swap(&target, change(Some(0.7), None))
            .unwrap_err();
        assert_eq!(error, SwapError::NoPool);
        assert!(error.to_string().contains("worker_selection"));
    }
}

#[test]
fn a_pool_is_shared_by_its_models_and_keeps_its_policy_when_they_go() {
    let plugin = mixed();
    let model = |name| {
        (plugin.factory)(
            &plugin.config,
            WorkerType::Prefill,
            RoutingPartitionRef::new(name, "default"),
        )
    };
    let (first, second) = (model("first"), model("second"));
    assert_eq!(plugin.pools.policies().len(), 1);
    plugin
        .pools
        .swap(&Target::All, change(None, Some(4.0)))
        .unwrap();
    drop((first, second));
    let _third = model("third");
    assert_eq!(
        seen(&plugin.pools.policies()),
        [(WorkerType::Prefill, 2, 0.5, 4.0)]
    );
}

#[test]
fn a_pool_whose_model_brings_another_router_configuration_goes_by_the_type() {
    let plugin = mixed();
    for role in ROLES {
        (plugin.factory)(
            &KvRouterConfig::default(),
            role,
            RoutingPartitionRef::new("model", "default"),
        );
    }
    let policies = plugin.pools.policies();
    assert_eq!(policies.len(), 3);
    assert!(policies.iter().all(|pool| pool.instance == "regime"));
}
