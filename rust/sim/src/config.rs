//! What to simulate, as plain values.

use std::fmt;
use std::sync::Arc;

use aisimulate_core::engine::{EngineLaunchConfig, TimingModel};
use dynamo_kv_router::KvRouterConfig;
use dynamo_regime_core::{Policy, Toll};

use crate::error::SimulationError;
use crate::latency::{PoleModel, PrefillLoad};
use crate::rivals::Rival;
use crate::workload::Workload;

/// One run. Equal simulations give equal outcomes.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The workers.
    pub cluster: Cluster,
    /// How requests are routed to them.
    pub router: RouterSettings,
    /// The requests.
    pub workload: Workload,
    /// Seeds the plug-in's sampling and tie-breaking.
    pub seed: u64,
    /// Virtual time between two samples for the observer, in seconds. `None` takes none.
    pub sample_interval_seconds: Option<f64>,
}

/// The topology.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of these in a run: a box would only be in the way"
)]
pub enum Cluster {
    /// Every worker prefills and decodes.
    Aggregated(PoolSpec),
    /// xP/yD: prefill workers hand their KV blocks over to decode workers.
    Disaggregated {
        /// The prefill workers.
        prefill: PoolSpec,
        /// The decode workers.
        decode: PoolSpec,
    },
}

/// Workers of one role.
#[derive(Clone, Debug)]
pub struct PoolSpec {
    /// How many workers there are, those that join later included.
    pub workers: usize,
    /// What each of them runs.
    pub engine: Engine,
    /// The workers that are not there from the beginning to the end.
    pub lifetimes: Vec<Lifetime>,
}

/// When a worker takes requests. It joins with an empty cache; what runs on it when it leaves is
/// finished there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetime {
    /// Index of the worker in its pool.
    pub worker: usize,
    /// When it joins, in seconds of virtual time.
    pub from_seconds: f64,
    /// When it leaves, in seconds of virtual time; infinite if it stays.
    pub until_seconds: f64,
}

/// The engine model of a pool's workers.
#[derive(Clone, Default)]
pub struct Engine {
    /// Scheduler, cache and built-in timing, as Dynamo's mocker takes them.
    pub launch: EngineLaunchConfig,
    /// Latency model of a forward pass, in place of the one `launch` names.
    pub timing: Option<Timing>,
}

/// How long a pass takes.
#[derive(Clone)]
pub enum Timing {
    /// A latency curve with a pole, and which requests are its n in a prefill pass.
    Pole(PoleModel, PrefillLoad),
    /// Any other model.
    Model(Arc<dyn TimingModel>),
}

/// The router in front of the cluster.
#[derive(Clone, Debug)]
pub struct RouterSettings {
    /// Dynamo's router configuration. `router_temperature` and `prefill_load_scale` are the τ and
    /// the ω that every pool starts with.
    pub config: KvRouterConfig,
    /// What chooses the worker.
    pub routing: Routing,
    /// Router replicas that share requests in turn and do not tell each other what they route.
    pub replicas: usize,
    /// How long a KV event takes from a worker to the routers, in seconds of virtual time.
    pub kv_event_lag_seconds: f64,
}

/// What chooses the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Routing {
    /// The plug-in with Dynamo's linear cost.
    #[default]
    Linear,
    /// The plug-in with the toll, on workers whose KV blocks it is told.
    Toll(Toll),
    /// A policy of someone else, which knows neither τ nor ω.
    Rival(Rival),
}

impl PoolSpec {
    /// `workers` equal workers that stay.
    pub fn new(workers: usize, engine: Engine) -> Self {
        Self {
            workers,
            engine,
            lifetimes: Vec::new(),
        }
    }

    fn validate(&self, pool: &str) -> Result<(), SimulationError> {
        if self.workers == 0 {
            return Err(SimulationError::Config(format!(
                "the {pool} pool must have at least one worker"
            )));
        }
        let engine = &self.engine.launch.engine;
        if engine.native_host_offload.is_some() || engine.g3_offload.is_some() {
            return Err(SimulationError::Config(format!(
                "the {pool} engine offloads KV blocks, which is not simulated here: remove native_host_offload and g3_offload"
            )));
        }
        for (place, lifetime) in self.lifetimes.iter().enumerate() {
            let Lifetime {
                worker,
                from_seconds,
                until_seconds,
            } = *lifetime;
            if worker >= self.workers {
                return Err(SimulationError::Config(format!(
                    "worker {worker} has a lifetime, but the {pool} pool has workers 0 to {}",
                    self.workers - 1
                )));
            }
            let earlier = &self.lifetimes[..place];
            if earlier.iter().any(|earlier| earlier.worker == worker) {
                return Err(SimulationError::Config(format!(
                    "{pool} worker {worker} has two lifetimes: let another worker join instead"
                )));
            }
            let is_valid = from_seconds.is_finite() && from_seconds >= 0.0;
            if !is_valid || until_seconds.is_nan() || until_seconds <= from_seconds {
                return Err(SimulationError::Config(format!(
                    "{pool} worker {worker} must join at a finite time ≥ 0 and leave later, but lives from {from_seconds} to {until_seconds} s"
                )));
            }
        }
        self.has_a_worker_at_all_times(pool)
    }

    fn has_a_worker_at_all_times(&self, pool: &str) -> Result<(), SimulationError> {
        let is_there = |worker: usize, time: f64| {
            self.lifetimes
                .iter()
                .filter(|lifetime| lifetime.worker == worker)
                .all(|lifetime| lifetime.covers(time))
        };
        let changes = self.lifetimes.iter().map(|lifetime| lifetime.until_seconds);
        for time in std::iter::once(0.0).chain(changes.filter(|time| time.is_finite())) {
            if !(0..self.workers).any(|worker| is_there(worker, time)) {
                return Err(SimulationError::Config(format!(
                    "the {pool} pool has no worker at {time} s: let one stay"
                )));
            }
        }
        Ok(())
    }
}

impl Lifetime {
    pub(crate) fn covers(&self, time_seconds: f64) -> bool {
        (self.from_seconds..self.until_seconds).contains(&time_seconds)
    }
}

impl Engine {
    /// Read an engine from the JSON that Dynamo's mocker takes as `--extra-engine-args`.
    ///
    /// # Errors
    /// When the JSON is not an engine; the message names the key.
    pub fn from_json(json: &str) -> Result<Self, SimulationError> {
        let value = serde_json::from_str(json)
            .map_err(|error| SimulationError::Engine(error.to_string()))?;
        let launch = EngineLaunchConfig::from_value(value)
            .map_err(|error| SimulationError::Engine(format!("{error:#}")))?;
        Ok(Self {
            launch,
            timing: None,
        })
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Engine")
            .field("launch", &self.launch)
            .field("has_timing", &self.timing.is_some())
            .finish()
    }
}

impl RouterSettings {
    /// One router with Dynamo's defaults, but this policy.
    pub fn new(policy: Policy) -> Self {
        Self {
            config: KvRouterConfig {
                router_temperature: policy.temperature.get(),
                prefill_load_scale: policy.prefill_weight.get(),
                ..KvRouterConfig::default()
            },
            routing: Routing::Linear,
            replicas: 1,
            kv_event_lag_seconds: 0.0,
        }
    }

    fn validate(&self) -> Result<(), SimulationError> {
        if self.replicas == 0 {
            return Err(SimulationError::Config(
                "there must be at least one router replica".to_owned(),
            ));
        }
        if !self.kv_event_lag_seconds.is_finite() || self.kv_event_lag_seconds < 0.0 {
            return Err(SimulationError::Config(format!(
                "kv_event_lag_seconds must be finite and not negative, but is {}",
                self.kv_event_lag_seconds
            )));
        }
        self.config
            .validate_config()
            .map_err(|error| SimulationError::Config(format!("router configuration: {error}")))
    }
}

impl Simulation {
    pub(crate) fn validate(&self) -> Result<(), SimulationError> {
        match &self.cluster {
            Cluster::Aggregated(pool) => pool.validate("aggregated")?,
            Cluster::Disaggregated { prefill, decode } => {
                prefill.validate("prefill")?;
                decode.validate("decode")?;
            }
        }
        if let Some(seconds) = self.sample_interval_seconds
            && (!seconds.is_finite() || seconds <= 0.0)
        {
            return Err(SimulationError::Config(format!(
                "sample_interval_seconds must be finite and positive, but is {seconds}"
            )));
        }
        self.router.validate()?;
        self.workload.validate()
    }
}
