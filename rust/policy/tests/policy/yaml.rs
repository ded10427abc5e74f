//! The plug-in's parameters in Dynamo's router-policy YAML, resolved as Dynamo does at start-up.

use dynamo_kv_router::KvRouterConfig;
use dynamo_kv_router::plugins::{RouterPluginRegistry, WorkerSelectionPolicyRegistryError};
use dynamo_regime_policy::{POLICY_TYPE, WorkerType, register};

use crate::support::{Plugin, ROLES, every_role};

const DOCUMENTED: &str = "
worker_selection:
  aggregated: R
  prefill: P
  decode: R
  encode: R
  instances:
    - name: R
      type: regime
    - name: P
      type: regime
      parameters:
        temperature: 0.3
        prefill_weight: 2
        overlap_score_credit: 1.0
        overlap_score_credit_decay: 0.5
        host_cache_hit_weight: 0.75
        disk_cache_hit_weight: 0.25
        shared_cache_multiplier: 0.5
        decode_active_request_weight: 0.1
";

/// The sentence with which these parameters are refused.
fn refusal(parameters: &str) -> String {
    let Err(error) = Plugin::resolve(&every_role(parameters), KvRouterConfig::default()) else {
        panic!("{parameters} was accepted");
    };
    assert!(matches!(
        &error,
        WorkerSelectionPolicyRegistryError::Provider { policy_type, .. } if policy_type == POLICY_TYPE
    ));
    error.to_string()
}

#[test]
fn the_documented_yaml_resolves_for_all_four_roles() {
    let plugin = Plugin::resolve(DOCUMENTED, KvRouterConfig::default()).unwrap();
    for role in ROLES {
        plugin.policy(role);
    }
    let seen: Vec<_> = plugin
        .pools
        .policies()
        .into_iter()
        .map(|pool| {
            let policy = pool.policy.policy;
            (
                pool.pool,
                pool.instance,
                policy.temperature.get(),
                policy.prefill_weight.get(),
            )
        })
        .collect();
    let unset = |role| (role, "R".to_owned(), 0.0, 1.0);
    assert_eq!(
        seen,
        [
            unset(WorkerType::Aggregated),
            unset(WorkerType::Decode),
            unset(WorkerType::Encode),
            (WorkerType::Prefill, "P".to_owned(), 0.3, 2.0),
        ]
    );
}

#[test]
fn what_is_not_set_comes_from_the_router_configuration() {
    let config = KvRouterConfig {
        router_temperature: 0.4,
        prefill_load_scale: 3.0,
        ..KvRouterConfig::default()
    };
    for (parameters, temperature, prefill_weight) in [
        ("{}", 0.4, 3.0),
        ("{temperature: 0}", 0.0, 3.0),
        ("{prefill_weight: 0.5}", 0.4, 0.5),
        ("{temperature: null}", 0.4, 3.0),
    ] {
        let plugin = Plugin::with_parameters(parameters, config.clone());
        plugin.policy(WorkerType::Aggregated);
        let policy = plugin.pools.policies()[0].policy.policy;
        assert_eq!(
            (policy.temperature.get(), policy.prefill_weight.get()),
            (temperature, prefill_weight),
            "{parameters}"
        );
    }
}

#[test]
fn a_wrong_value_is_refused_in_a_sentence_that_names_its_key() {
    for (parameters, sentence) in [
        (
            "{temperature: -1}",
            "temperature must be finite and not negative, but is -1",
        ),
        (
            "{temperature: .nan}",
            "temperature must be finite and not negative, but is NaN",
        ),
        (
            "{prefill_weight: .inf}",
            "prefill_weight must be finite and not negative, but is inf",
        ),
        (
            "{prefill_weight: -.inf}",
            "prefill_weight must be finite and not negative, but is -inf",
        ),
        ("{temperature: warm}", "temperature must be a number"),
        (
            "{prefill_weight: [1, 2]}",
            "prefill_weight must be a number",
        ),
    ] {
        assert_eq!(
            refusal(parameters),
            format!("invalid parameters for worker-selection policy type \"regime\": {sentence}")
        );
    }
}

#[test]
fn every_weight_is_checked() {
    for key in [
        "overlap_score_credit",
        "overlap_score_credit_decay",
        "host_cache_hit_weight",
        "disk_cache_hit_weight",
        "shared_cache_multiplier",
        "decode_active_request_weight",
    ] {
        for (value, shown) in [("-0.5", "-0.5"), (".inf", "inf"), (".nan", "NaN")] {
            let refusal = refusal(&format!("{{{key}: {value}}}"));
            assert!(
                refusal.ends_with(&format!(
                    "{key} must be finite and not negative, but is {shown}"
                )),
                "{refusal}"
            );
        }
    }
}

#[test]
fn an_unknown_key_is_refused_by_name_with_the_known_ones() {
    let refusal = refusal("{temprature: 0.5}");
    assert!(refusal.contains("unknown field `temprature`"), "{refusal}");
    assert!(
        refusal.contains("`temperature`") && refusal.contains("`prefill_weight`"),
        "{refusal}"
    );
}

#[test]
fn a_second_registration_in_one_registry_is_refused() {
    let mut registry = RouterPluginRegistry::default();
    register(&mut registry).unwrap();
    let error = register(&mut registry).err().unwrap();
    assert!(
        error
            .to_string()
            .contains("\"regime\" is already registered"),
        "{error}"
    );
}

#[test]
fn the_builtin_policies_and_regime_live_in_one_registry() {
    let mut registry = dynamo_custom_policy_builtin::default_registry();
    dynamo_custom_policy_builtin::register(&mut registry).unwrap();
    register(&mut registry).unwrap();
}
