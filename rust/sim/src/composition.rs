//! Puts pools of engines and routers together as aisimulate-core wants them.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use aisimulate_core::engine::TimingModel;
use aisimulate_core::replay::{
    CURRENT_REPLAY_SPEC_VERSION, ProviderSpec, ReplayAdapters, ReplayComposition,
    ReplayEngineConfig, ReplayEngineFactory, ReplayRoleConfig, ReplaySpec, ReplayTopology,
    SlaThresholds, WorkerPoolSpec, WorkerTopology,
};
use anyhow::{Result, bail};
use dynamo_kv_router::plugins::worker_selection::WorkerSelectionPolicyFactory;
use dynamo_kv_router::{
    DEFAULT_ROUTING_GROUP, KvRouterConfig, RouterPrefillLoadModel, RoutingPartitionRef, WorkerType,
};
use dynamo_regime_core::cost::CostForm;
use dynamo_regime_policy::Pools;

use crate::config::{Cluster, Engine, PoolSpec, Routing, Simulation, Timing};
use crate::error::SimulationError;
use crate::events::RouterObservation;
use crate::latency::PoleTiming;
use crate::pool::{Metadata, Part, Pool};
use crate::roster::Roster;
use crate::router::Router;
use crate::run::{Shared, View};

pub(crate) struct Composition<'a> {
    simulation: &'a Simulation,
    plugin: &'a Pools,
    run: Shared<'a>,
}

impl<'a> Composition<'a> {
    pub(crate) fn new(simulation: &'a Simulation, plugin: &'a Pools, run: Shared<'a>) -> Self {
        Self {
            simulation,
            plugin,
            run,
        }
    }

    fn factory(&self, spec: &PoolSpec) -> WorkerSelectionPolicyFactory {
        match self.simulation.router.routing {
            Routing::Linear => self.plugin.factory(),
            Routing::Toll(toll) => self.plugin.factory_of(CostForm::Toll {
                toll,
                kv_blocks: spec.engine.launch.engine.num_gpu_blocks as f64,
            }),
            Routing::Rival(rival) => {
                let clock = self.run.borrow().clock.clone();
                Arc::new(move |config, role, _| rival.policy(config, role, clock.clone()))
            }
        }
    }

    fn pool(
        &self,
        part: Part,
        spec: &PoolSpec,
        config: &KvRouterConfig,
        topology: &[WorkerTopology],
    ) -> Result<Pool<'a>> {
        if topology.len() != spec.workers {
            bail!(
                "{} engines were built for {} workers",
                topology.len(),
                spec.workers
            );
        }
        let role = part.role();
        let block_tokens = spec.engine.launch.engine.block_size;
        let roster = Rc::new(Roster::new(spec));
        let factory = self.factory(spec);
        let partition = RoutingPartitionRef::new("simulation", DEFAULT_ROUTING_GROUP);
        let routers = (0..self.simulation.router.replicas)
            .map(|_| {
                let policy = factory(config, role, partition);
                Router::new(
                    config,
                    role.as_str(),
                    block_tokens,
                    Rc::clone(&roster),
                    policy,
                )
            })
            .collect::<Result<Vec<Router>>>()?;
        self.run.borrow_mut().show(View {
            pool: role,
            roster: Rc::clone(&roster),
            replicas: routers.iter().map(Router::loads).collect(),
        });
        Ok(Pool::new(
            part,
            u32::try_from(block_tokens)?,
            roster,
            routers,
            self.simulation.router.kv_event_lag_seconds * 1e3,
            Rc::clone(&self.run),
        ))
    }
}

impl Part {
    fn role(self) -> WorkerType {
        match self {
            Self::Whole => WorkerType::Aggregated,
            Self::Prefill => WorkerType::Prefill,
            Self::Decode => WorkerType::Decode,
        }
    }
}

impl<'a> ReplayComposition for Composition<'a> {
    type Metadata = Metadata;
    type Observation = RouterObservation;
    type AggregatedPlacement = Pool<'a>;
    type DisaggregatedPlacement = Pool<'a>;

    fn create_aggregated_placement(
        &mut self,
        _dp_size: u32,
        topology: Vec<WorkerTopology>,
    ) -> Result<Pool<'a>> {
        let Cluster::Aggregated(spec) = &self.simulation.cluster else {
            bail!("the cluster is disaggregated");
        };
        self.pool(Part::Whole, spec, &self.simulation.router.config, &topology)
    }

    fn create_disaggregated_placements(
        &mut self,
        _prefill_dp_size: u32,
        prefill_topology: Vec<WorkerTopology>,
        _decode_dp_size: u32,
        decode_topology: Vec<WorkerTopology>,
    ) -> Result<(Pool<'a>, Pool<'a>)> {
        let Cluster::Disaggregated { prefill, decode } = &self.simulation.cluster else {
            bail!("the cluster is aggregated");
        };
        let config = &self.simulation.router.config;
        Ok((
            self.pool(
                Part::Prefill,
                prefill,
                &prefill_config(config),
                &prefill_topology,
            )?,
            self.pool(
                Part::Decode,
                decode,
                &decode_config(config),
                &decode_topology,
            )?,
        ))
    }
}

/// Dynamo's prefill routers do not count the blocks that decode holds.
fn prefill_config(config: &KvRouterConfig) -> KvRouterConfig {
    KvRouterConfig {
        router_track_active_blocks: false,
        ..config.clone()
    }
}

/// Dynamo's decode routers know nothing of caches and prefill.
fn decode_config(config: &KvRouterConfig) -> KvRouterConfig {
    KvRouterConfig {
        overlap_score_credit: 0.0,
        router_assume_kv_reuse: false,
        router_track_prefill_tokens: false,
        router_prefill_load_model: RouterPrefillLoadModel::None,
        ..config.clone()
    }
}

/// The cluster and its engines as aisimulate-core takes them.
pub(crate) fn replay_spec(
    simulation: &Simulation,
    in_flight: &Arc<AtomicUsize>,
) -> Result<(ReplaySpec, ReplayEngineFactory), SimulationError> {
    let (topology, engine, factory) = match &simulation.cluster {
        Cluster::Aggregated(pool) => {
            let role = role_config(&pool.engine)?;
            let factory = match timing(pool, in_flight) {
                Some(timing) => ReplayEngineFactory::with_timing_model(timing),
                None => ReplayEngineFactory::new(),
            };
            let topology = ReplayTopology::Aggregated {
                workers: workers(pool),
            };
            (topology, engine_config(role, None), factory)
        }
        Cluster::Disaggregated { prefill, decode } => {
            let roles = (role_config(&prefill.engine)?, role_config(&decode.engine)?);
            let factory = ReplayEngineFactory::with_optional_role_timing_models(
                timing(prefill, in_flight),
                timing(decode, in_flight),
            );
            let topology = ReplayTopology::Disaggregated {
                prefill: workers(prefill),
                decode: workers(decode),
                handoff_latency_ms: 0.0,
            };
            (
                topology,
                engine_config(roles.0.clone(), Some(roles)),
                factory,
            )
        }
    };
    let engine =
        serde_json::to_value(engine).map_err(|error| SimulationError::Engine(error.to_string()))?;
    let spec = ReplaySpec {
        version: CURRENT_REPLAY_SPEC_VERSION,
        topology,
        engine,
        adapters: ReplayAdapters {
            placement: ProviderSpec {
                provider: "dynamo_regime".to_owned(),
                config: serde_json::Value::Null,
            },
            scaling: ProviderSpec::no_scaling(),
        },
        max_sim_time_ms: simulation.workload.end_ms(),
        max_in_flight: simulation.workload.max_in_flight(),
        record_per_request: true,
        sla: SlaThresholds::default(),
        requests: Vec::new(),
    };
    Ok((spec, factory))
}

fn timing(pool: &PoolSpec, in_flight: &Arc<AtomicUsize>) -> Option<Arc<dyn TimingModel>> {
    Some(match pool.engine.timing.clone()? {
        Timing::Model(model) => model,
        Timing::Pole(model, prefill_load) => Arc::new(PoleTiming {
            model,
            prefill_load,
            in_flight: Arc::clone(in_flight),
            workers: pool.workers,
        }),
    })
}

fn workers(pool: &PoolSpec) -> WorkerPoolSpec {
    WorkerPoolSpec {
        initial_workers: pool.workers,
        startup_delay_ms: 0.0,
    }
}

fn role_config(engine: &Engine) -> Result<ReplayRoleConfig, SimulationError> {
    let launch = engine
        .launch
        .clone()
        .normalized()
        .map_err(|error| SimulationError::Engine(format!("{error:#}")))?;
    Ok(ReplayRoleConfig {
        dp_size: launch.dp_size,
        tensor_parallel_size: u32::try_from(launch.tensor_parallel_size)
            .map_err(|error| SimulationError::Engine(error.to_string()))?,
        prefill_context_parallel_size: 1,
        num_gpu_blocks_is_explicit: Some(true),
        rank: launch.engine,
    })
}

fn engine_config(
    base: ReplayRoleConfig,
    roles: Option<(ReplayRoleConfig, ReplayRoleConfig)>,
) -> ReplayEngineConfig {
    let (prefill, decode) = roles.unzip();
    ReplayEngineConfig {
        dp_size: base.dp_size,
        tensor_parallel_size: base.tensor_parallel_size,
        prefill_context_parallel_size: base.prefill_context_parallel_size,
        num_gpu_blocks_is_explicit: base.num_gpu_blocks_is_explicit,
        rank: base.rank,
        prefill,
        decode,
        ..ReplayEngineConfig::default()
    }
}
