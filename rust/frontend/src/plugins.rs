//! Which worker-selection policies the frontend knows, and which of them it is to use.

use std::env;

use dynamo_kv_router::KvRouterConfig;
use dynamo_kv_router::plugins::{
    DYN_ROUTER_WORKER_SELECTION_POLICY, RouterPluginRegistryError, RouterPlugins,
    WorkerSelectionPolicyRegistryError,
};
use dynamo_regime_policy::Pools;

/// Resolve the configured policies among Dynamo's own and ours; with the handle on ours.
///
/// Whoever selects nothing gets `regime` in every pool with the router configuration's values: it
/// routes as Dynamo's default does, and can be swapped. An error names the router-policy file.
pub fn resolve(config: &KvRouterConfig) -> Result<(RouterPlugins, Pools), String> {
    resolve_named(config).map_err(|error| match &config.router_policy_config {
        Some(file) if !error.to_string().contains(file) => format!("{file}: {error}"),
        _ => error.to_string(),
    })
}

fn resolve_named(
    config: &KvRouterConfig,
) -> Result<(RouterPlugins, Pools), RouterPluginRegistryError> {
    let mut registry = dynamo_custom_policy_builtin::default_registry();
    dynamo_custom_policy_builtin::register(&mut registry)?;
    let pools = dynamo_regime_policy::register(&mut registry)?;
    let plugins = registry.resolve_plugins(config)?;
    if is_selective(config)? {
        pools.prepare(config)?;
        Ok((plugins, pools))
    } else {
        let factory = pools.factory();
        Ok((plugins.with_worker_selection(factory), pools))
    }
}

/// Whether anybody has chosen a policy, be it Dynamo's default by name.
fn is_selective(config: &KvRouterConfig) -> Result<bool, WorkerSelectionPolicyRegistryError> {
    let in_file = config
        .worker_selection_config()
        .map_err(
            |source| dynamo_kv_router::config::WorkerSelectionPolicyConfigError::Config { source },
        )?
        .is_some();
    let by_flag = config.router_prefill_policy.is_some() || config.router_decode_policy.is_some();
    let in_environment =
        env::var(DYN_ROUTER_WORKER_SELECTION_POLICY).is_ok_and(|name| !name.trim().is_empty());
    Ok(in_file || by_flag || in_environment)
}
