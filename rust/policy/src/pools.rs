//! The pools that the plug-in routes, and the handle by which they are read and swapped.

use std::sync::Arc;

use dynamo_kv_router::config::WorkerSelectionPolicyConfigError;
use dynamo_kv_router::plugins::WorkerSelectionPolicyRegistryError;
use dynamo_kv_router::plugins::worker_selection::{
    WorkerSelectionPolicy, WorkerSelectionPolicyFactory, WorkerSelectionPolicyProviderError,
};
use dynamo_kv_router::{KvRouterConfig, WorkerType};
use dynamo_regime_core::cost::CostForm;
use dynamo_regime_core::{
    Decision, DecisionLog, Drained, PolicyCell, PolicyChange, VersionedPolicy,
};
use parking_lot::Mutex;
use serde::Deserialize;

use crate::POLICY_TYPE;
use crate::parameters::Parameters;
use crate::picker::Picker;
use crate::scorer::Scorer;

const ROLES: [WorkerType; 4] = [
    WorkerType::Aggregated,
    WorkerType::Prefill,
    WorkerType::Decode,
    WorkerType::Encode,
];

/// Handle on every pool that the plug-in routes; clones share them.
///
/// A pool is all workers of one role, of whatever model and routing group: its partitions share one
/// policy and one decision log. A pool appears when [`Pools::prepare`] finds it configured or when
/// the host builds its first router, and keeps its policy when models come and go. No call here
/// holds up a request.
#[derive(Clone, Default)]
pub struct Pools(Arc<Mutex<Vec<Pool>>>);

#[derive(Clone)]
struct Pool {
    role: WorkerType,
    instance: String,
    cell: Arc<PolicyCell>,
    log: Arc<DecisionLog>,
}

/// The present policy of one pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolPolicy {
    /// The role of the pool's workers.
    pub pool: WorkerType,
    /// Name of the `worker_selection` instance that routes the pool.
    pub instance: String,
    /// Its policy and the version of it.
    pub policy: VersionedPolicy,
}

/// Which pools a swap is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every pool.
    All,
    /// The pool of one worker role.
    Pool(WorkerType),
    /// Every pool that a named `worker_selection` instance routes.
    Instance(String),
}

/// A swap that was refused; nothing has changed. The message is one sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwapError {
    /// There is nothing to swap.
    #[error(
        "no pool is routed by a policy of type regime: select one under worker_selection in the router-policy file"
    )]
    NoPool,
    /// No pool of that role is routed by the plug-in.
    #[error("pool {pool} is not routed by a policy of type regime; these are: {known}")]
    UnknownPool {
        /// The role that was asked for.
        pool: WorkerType,
        /// The roles there are.
        known: String,
    },
    /// No pool is routed by an instance of that name.
    #[error("no pool is routed by an instance named {instance:?}; the instances are: {known}")]
    UnknownInstance {
        /// The name that was asked for.
        instance: String,
        /// The names there are.
        known: String,
    },
}

impl Pools {
    /// Create the pools that `config` selects an instance of type `regime` for, so that they can be
    /// read and swapped before the first worker is there.
    ///
    /// # Errors
    /// When the router-policy file cannot be read or an instance's parameters are refused, as
    /// `RouterPluginRegistry::resolve` has it.
    pub fn prepare(
        &self,
        config: &KvRouterConfig,
    ) -> Result<(), WorkerSelectionPolicyRegistryError> {
        let Some(selection) = config
            .worker_selection_config()
            .map_err(|source| WorkerSelectionPolicyConfigError::Config { source })?
        else {
            return Ok(());
        };
        for role in ROLES {
            let Some(name) = config.selected_worker_selection_policy_instance_for(role)? else {
                continue;
            };
            let Some(instance) = selection
                .instance(&name)
                .filter(|instance| instance.policy_type() == POLICY_TYPE)
            else {
                continue;
            };
            let parameters = Parameters::deserialize(instance.parameters()).map_err(|error| {
                WorkerSelectionPolicyRegistryError::Provider {
                    policy_type: POLICY_TYPE.to_owned(),
                    source: WorkerSelectionPolicyProviderError::new(error.to_string()),
                }
            })?;
            self.pool(role, config, &parameters);
        }
        Ok(())
    }

    /// A factory that routes every pool by the router configuration's own values, for a host whose
    /// configuration selects no worker-selection instance.
    pub fn factory(&self) -> WorkerSelectionPolicyFactory {
        self.factory_with(Parameters::default())
    }

    /// A factory that routes every pool by the router configuration's own values, and by this form
    /// of the cost.
    pub fn factory_of(&self, form: CostForm) -> WorkerSelectionPolicyFactory {
        self.factory_with(Parameters::of(form))
    }

    /// The factory of an instance with these parameters.
    pub(crate) fn factory_with(&self, parameters: Parameters) -> WorkerSelectionPolicyFactory {
        let pools = self.clone();
        Arc::new(move |config, role, _partition| pools.selection_policy(config, role, &parameters))
    }

    /// The present policy of every pool, ordered by the pool's name.
    pub fn policies(&self) -> Vec<PoolPolicy> {
        self.0.lock().iter().map(Pool::present).collect()
    }

    /// Change the policy of the target's pools and return what they have now.
    ///
    /// # Errors
    /// When the target names no pool; then nothing has changed.
    pub fn swap(
        &self,
        target: &Target,
        change: PolicyChange,
    ) -> Result<Vec<PoolPolicy>, SwapError> {
        let pools = self.0.lock();
        let swapped: Vec<PoolPolicy> = pools
            .iter()
            .filter(|pool| pool.is_in(target))
            .map(|pool| PoolPolicy {
                policy: pool.cell.swap(change),
                ..pool.present()
            })
            .collect();
        if swapped.is_empty() {
            return Err(refusal(&pools, target));
        }
        Ok(swapped)
    }

    /// Take the decisions of every pool since the last drain.
    pub fn drain_decisions(&self) -> Vec<(WorkerType, Drained)> {
        let pools = self.0.lock().clone();
        pools
            .iter()
            .map(|pool| (pool.role, pool.log.drain()))
            .collect()
    }

    /// The latest decisions of one pool or of all, oldest first, at most `limit` in all. Takes
    /// nothing away.
    pub fn recent_decisions(
        &self,
        pool: Option<WorkerType>,
        limit: usize,
    ) -> Vec<(WorkerType, Decision)> {
        let pools = self.0.lock().clone();
        let mut recent: Vec<(WorkerType, Decision)> = pools
            .iter()
            .filter(|candidate| pool.is_none_or(|role| candidate.role == role))
            .flat_map(|pool| {
                let decisions = pool.log.recent(limit);
                decisions.into_iter().map(|decision| (pool.role, decision))
            })
            .collect();
        recent.sort_by_key(|(_, decision)| decision.time_ns);
        recent.drain(..recent.len().saturating_sub(limit));
        recent
    }

    /// Decisions of all pools that were overwritten before a drain came for them.
    pub fn dropped_decisions(&self) -> u64 {
        self.0.lock().iter().map(|pool| pool.log.dropped()).sum()
    }

    /// Build the policy of one partition of the role's pool.
    fn selection_policy(
        &self,
        config: &KvRouterConfig,
        role: WorkerType,
        parameters: &Parameters,
    ) -> WorkerSelectionPolicy {
        let pool = self.pool(role, config, parameters);
        let scorer = Scorer::new(parameters.terms(config), parameters.form, config, role);
        let picker = Picker::new(scorer, pool.cell, pool.log.writer());
        WorkerSelectionPolicy::new(
            config.clone(),
            role.default_selector_label(),
            Vec::new(),
            Box::new(picker),
        )
        .with_exclusive_affinity(true)
    }

    /// The role's pool, created with the policy of these parameters if it is not there yet.
    fn pool(&self, role: WorkerType, config: &KvRouterConfig, parameters: &Parameters) -> Pool {
        let mut pools = self.0.lock();
        if let Some(pool) = pools.iter().find(|pool| pool.role == role) {
            return pool.clone();
        }
        // A model card may carry a router configuration of its own, whose policy file is not here:
        // then the pool goes by the name of the plug-in type.
        let instance = config
            .selected_worker_selection_policy_instance_for(role)
            .ok()
            .flatten()
            .unwrap_or_else(|| POLICY_TYPE.to_owned());
        let pool = Pool {
            role,
            instance,
            cell: Arc::new(PolicyCell::new(parameters.policy(config))),
            log: Arc::new(DecisionLog::default()),
        };
        pools.push(pool.clone());
        pools.sort_by_key(|pool| pool.role.as_str());
        pool
    }
}

impl Pool {
    fn present(&self) -> PoolPolicy {
        PoolPolicy {
            pool: self.role,
            instance: self.instance.clone(),
            policy: self.cell.load(),
        }
    }

    fn is_in(&self, target: &Target) -> bool {
        match target {
            Target::All => true,
            Target::Pool(role) => self.role == *role,
            Target::Instance(name) => self.instance == *name,
        }
    }
}

/// Why `target` names none of `pools`.
fn refusal(pools: &[Pool], target: &Target) -> SwapError {
    let known = |name: fn(&Pool) -> &str| {
        let mut names: Vec<&str> = pools.iter().map(name).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    };
    match target {
        _ if pools.is_empty() => SwapError::NoPool,
        Target::All => SwapError::NoPool,
        Target::Pool(role) => SwapError::UnknownPool {
            pool: *role,
            known: known(|pool| pool.role.as_str()),
        },
        Target::Instance(name) => SwapError::UnknownInstance {
            instance: name.clone(),
            known: known(|pool| &pool.instance),
        },
    }
}

#[cfg(test)]
mod tests;
