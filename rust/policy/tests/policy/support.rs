//! Building our policy and Dynamo's, and selecting with either.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use dynamo_kv_router::plugins::WorkerSelectionPolicyRegistryError;
use dynamo_kv_router::plugins::worker_selection::{
    WorkerSelectionPolicy, WorkerSelectionPolicyFactory,
};
use dynamo_kv_router::protocols::{RoutingConstraints, WorkerConfigLike, WorkerSelectionResult};
use dynamo_kv_router::scheduling::{OverlapSignals, ScheduleMode};
use dynamo_kv_router::{
    KvRouterConfig, KvSchedulerError, RoutingPartitionRef, SchedulingRequest, WorkerSelectionInput,
    WorkerSelector, WorkerType,
};
use dynamo_regime_core::{Decision, PolicyChange, PrefillWeight, Temperature};
use dynamo_regime_policy::{Pools, register};

pub const ROLES: [WorkerType; 4] = [
    WorkerType::Aggregated,
    WorkerType::Prefill,
    WorkerType::Decode,
    WorkerType::Encode,
];

/// A worker as the host describes it to a selector.
#[derive(Clone, Debug, Default)]
pub struct Worker {
    pub ranks: u32,
    pub taints: HashSet<String>,
}

impl WorkerConfigLike for Worker {
    fn data_parallel_start_rank(&self) -> u32 {
        0
    }

    fn data_parallel_size(&self) -> u32 {
        self.ranks
    }

    fn max_num_batched_tokens(&self) -> Option<u64> {
        None
    }

    fn total_kv_blocks(&self) -> Option<u64> {
        None
    }

    fn taints(&self) -> &HashSet<String> {
        &self.taints
    }
}

pub type Workers = HashMap<u64, Worker>;

/// A request of `prompt_tokens` tokens that nothing is known about yet.
pub fn request(prompt_tokens: usize) -> SchedulingRequest {
    SchedulingRequest {
        mode: ScheduleMode::QueryOnly { request_id: None },
        token_seq: None,
        isl_tokens: prompt_tokens,
        lora_name: None,
        expected_output_tokens: None,
        affinity_target: None,
        pinned_worker: None,
        allowed_worker_ids: None,
        routing_constraints: RoutingConstraints::default(),
        router_config_override: None,
        track_prefill_tokens: true,
        priority_jump: 0.0,
        strict_priority: 0,
        policy_class: None,
        session_context: None,
        overlap: OverlapSignals::default(),
        kv_transfer_candidates: None,
        retain_kv_transfer_chain: false,
        shared_cache_hits: None,
        worker_loads: Default::default(),
        resp_tx: None,
    }
}

pub fn select(
    policy: &WorkerSelectionPolicy,
    workers: &Workers,
    request: &SchedulingRequest,
    block_size: u32,
) -> Result<WorkerSelectionResult, KvSchedulerError> {
    policy.select_worker(WorkerSelectionInput::configured(
        workers,
        request,
        request.eligibility(),
        block_size,
    ))
}

pub const PARTITION: RoutingPartitionRef<'static> = RoutingPartitionRef::new("model", "default");

/// Dynamo's default policy, built as Dynamo's hosts build it.
pub fn default_policy(config: &KvRouterConfig, role: WorkerType) -> WorkerSelectionPolicy {
    dynamo_custom_policy_builtin::default_factory()(config, role, PARTITION)
}

/// The plug-in as one host has it: registered, configured by YAML and resolved.
pub struct Plugin {
    pub pools: Pools,
    pub config: KvRouterConfig,
    pub factory: WorkerSelectionPolicyFactory,
}

impl Plugin {
    /// Every role routed by one instance named `regime-test` with these YAML parameters.
    pub fn with_parameters(parameters: &str, config: KvRouterConfig) -> Self {
        Self::resolve(&every_role(parameters), config).unwrap()
    }

    /// The plug-in with nothing set, so that all comes from `config`.
    pub fn unset(config: KvRouterConfig) -> Self {
        Self::with_parameters("{}", config)
    }

    pub fn resolve(
        yaml: &str,
        mut config: KvRouterConfig,
    ) -> Result<Self, WorkerSelectionPolicyRegistryError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(yaml.as_bytes()).unwrap();
        config.router_policy_config = Some(file.path().display().to_string());
        let mut registry = dynamo_custom_policy_builtin::default_registry();
        let pools = register(&mut registry).unwrap();
        // Resolving parses the file once and keeps it in the configuration.
        let factory = registry.resolve(&config)?.unwrap();
        Ok(Self {
            pools,
            config,
            factory,
        })
    }

    pub fn policy(&self, role: WorkerType) -> WorkerSelectionPolicy {
        (self.factory)(&self.config, role, PARTITION)
    }

    /// The latest decision of any pool.
    pub fn decision(&self) -> Decision {
        self.pools.recent_decisions(None, 1)[0].1
    }
}

pub fn every_role(parameters: &str) -> String {
    format!(
        "worker_selection:
  aggregated: regime-test
  prefill: regime-test
  decode: regime-test
  encode: regime-test
  instances:
    - name: regime-test
      type: regime
      parameters: {parameters}
"
    )
}

pub fn change(temperature: Option<f64>, prefill_weight: Option<f64>) -> PolicyChange {
    PolicyChange {
        temperature: temperature.map(|value| Temperature::try_from(value).unwrap()),
        prefill_weight: prefill_weight.map(|value| PrefillWeight::try_from(value).unwrap()),
    }
}

/// Our policy and Dynamo's, with generators that give the same draws.
///
/// Dynamo's default draws from the thread's generator, ours from one seeded by it when the policy
/// is built. Nothing else may draw from the thread's generator in between.
pub fn seeded_alike(
    plugin: &Plugin,
    role: WorkerType,
    seed: u64,
) -> (WorkerSelectionPolicy, WorkerSelectionPolicy) {
    fastrand::seed(seed);
    let ours = plugin.policy(role);
    fastrand::seed(fastrand::Rng::with_seed(seed).u64(..));
    (ours, default_policy(&plugin.config, role))
}
