//! What to simulate, as Python writes it: one JSON document, and a trace's columns.

use dynamo_kv_router::KvRouterConfig;
use dynamo_regime_core::Toll;
use dynamo_regime_sim::{
    ClosedLoop, Cluster, Engine, Lifetime, MultiTurn, Phase, PoleModel, PoolSpec, PrefillLoad,
    Rival, RouterSettings, Routing, Simulation, SimulationError, Timing, Trace, TraceRequest,
    Workload,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A trace: arrival times in seconds, prompt and output tokens, and the names of each prompt's
/// blocks, those of request i from `block_offsets[i]` to `block_offsets[i + 1]`.
#[derive(FromPyObject)]
pub(crate) struct Requests<'py>(
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, i64>,
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Configuration {
    cluster: ClusterPart,
    router: RouterPart,
    workload: WorkloadPart,
    seed: u64,
    sample_interval_seconds: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterPart {
    aggregated: Option<PoolPart>,
    prefill: Option<PoolPart>,
    decode: Option<PoolPart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolPart {
    workers: usize,
    engine: EnginePart,
    lifetimes: Vec<LifetimePart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnginePart {
    arguments: Map<String, Value>,
    latency: Option<PoleModel>,
    prefill_load: PrefillLoad,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LifetimePart {
    worker: usize,
    from_seconds: f64,
    until_seconds: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouterPart {
    temperature: f64,
    prefill_weight: f64,
    config: Map<String, Value>,
    toll: Option<TollPart>,
    rival: Option<Rival>,
    replicas: usize,
    kv_event_lag_seconds: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TollPart {
    interference: f64,
    queueing: f64,
    request_tokens: f64,
    active_token_weight: f64,
    pole_tokens: f64,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum WorkloadPart {
    Trace {
        block_tokens: usize,
        speed: f64,
        concurrency: Option<usize>,
    },
    Closed {
        phases: Vec<PhasePart>,
        templates: u32,
        input_tokens: u32,
        output_tokens: usize,
    },
    MultiTurn {
        sessions: usize,
        turns: usize,
        prefixes: usize,
        zipf_exponent: f64,
        prefix_tokens: usize,
        input_tokens: f64,
        output_tokens: f64,
        sessions_per_second: f64,
        think_seconds: f64,
        speed: f64,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhasePart {
    concurrency: usize,
    duration_seconds: f64,
}

impl Configuration {
    pub(super) fn simulation(
        self,
        requests: Option<&Requests<'_>>,
    ) -> Result<Simulation, SimulationError> {
        Ok(Simulation {
            cluster: self.cluster.cluster()?,
            router: self.router.settings()?,
            workload: self.workload.workload(requests, self.seed)?,
            seed: self.seed,
            sample_interval_seconds: self.sample_interval_seconds,
        })
    }
}

impl ClusterPart {
    fn cluster(self) -> Result<Cluster, SimulationError> {
        match (self.aggregated, self.prefill, self.decode) {
            (Some(pool), None, None) => Ok(Cluster::Aggregated(pool.spec("aggregated")?)),
            (None, Some(prefill), Some(decode)) => Ok(Cluster::Disaggregated {
                prefill: prefill.spec("prefill")?,
                decode: decode.spec("decode")?,
            }),
            _ => Err(SimulationError::Config(
                "a cluster has either an aggregated pool, or a prefill and a decode pool"
                    .to_owned(),
            )),
        }
    }
}

impl PoolPart {
    fn spec(self, pool: &str) -> Result<PoolSpec, SimulationError> {
        let arguments = Value::Object(self.engine.arguments).to_string();
        let mut engine = Engine::from_json(&arguments).map_err(|error| match error {
            SimulationError::Engine(message) => {
                SimulationError::Engine(format!("{pool} pool: {message}"))
            }
            other => other,
        })?;
        if let Some(latency) = self.engine.latency {
            engine.timing = Some(Timing::Pole(latency, self.engine.prefill_load));
        }
        let lifetimes = self.lifetimes.into_iter().map(|lifetime| Lifetime {
            worker: lifetime.worker,
            from_seconds: lifetime.from_seconds,
            until_seconds: lifetime.until_seconds.unwrap_or(f64::INFINITY),
        });
        Ok(PoolSpec {
            lifetimes: lifetimes.collect(),
            ..PoolSpec::new(self.workers, engine)
        })
    }
}

impl RouterPart {
    fn settings(self) -> Result<RouterSettings, SimulationError> {
        let mut config = self.config;
        config.insert("router_temperature".to_owned(), self.temperature.into());
        config.insert("prefill_load_scale".to_owned(), self.prefill_weight.into());
        let config: KvRouterConfig = serde_json::from_value(Value::Object(config))
            .map_err(|error| SimulationError::Config(format!("router configuration: {error}")))?;
        let routing = match (self.toll, self.rival) {
            (None, None) => Routing::Linear,
            (Some(toll), None) => Routing::Toll(toll.toll()?),
            (None, Some(rival)) => Routing::Rival(rival),
            (Some(_), Some(_)) => {
                return Err(SimulationError::Config(
                    "the router has a toll and is a rival: leave one out".to_owned(),
                ));
            }
        };
        Ok(RouterSettings {
            config,
            routing,
            replicas: self.replicas,
            kv_event_lag_seconds: self.kv_event_lag_seconds,
        })
    }
}

impl TollPart {
    fn toll(self) -> Result<Toll, SimulationError> {
        let toll = Toll {
            interference: self.interference,
            queueing: self.queueing,
            request_tokens: self.request_tokens,
            active_token_weight: self.active_token_weight,
            pole_tokens: self.pole_tokens,
        };
        toll.validated()
            .map_err(|error| SimulationError::Config(error.to_string()))
    }
}

impl WorkloadPart {
    fn workload(
        self,
        requests: Option<&Requests<'_>>,
        seed: u64,
    ) -> Result<Workload, SimulationError> {
        match self {
            Self::Trace {
                block_tokens,
                speed,
                concurrency,
            } => {
                let requests = requests.ok_or_else(|| {
                    SimulationError::Workload("a trace comes with its requests".to_owned())
                })?;
                let mut trace = Trace::from_requests(requests.rows()?, block_tokens)?;
                trace.speed = speed;
                trace.concurrency = concurrency;
                Ok(Workload::Trace(trace))
            }
            Self::Closed {
                phases,
                templates,
                input_tokens,
                output_tokens,
            } => Ok(Workload::Closed(ClosedLoop {
                phases: phases
                    .into_iter()
                    .map(|phase| Phase {
                        concurrency: phase.concurrency,
                        duration_seconds: phase.duration_seconds,
                    })
                    .collect(),
                templates,
                input_tokens,
                output_tokens,
            })),
            Self::MultiTurn {
                sessions,
                turns,
                prefixes,
                zipf_exponent,
                prefix_tokens,
                input_tokens,
                output_tokens,
                sessions_per_second,
                think_seconds,
                speed,
            } => {
                let conversations = MultiTurn {
                    sessions,
                    turns,
                    prefixes,
                    zipf_exponent,
                    prefix_tokens,
                    input_tokens,
                    output_tokens,
                    sessions_per_second,
                    think_seconds,
                };
                let mut trace = conversations.generate(seed)?;
                trace.speed = speed;
                Ok(Workload::Trace(trace))
            }
        }
    }
}

impl Requests<'_> {
    fn rows(&self) -> Result<Vec<TraceRequest>, SimulationError> {
        let unfit = || {
            SimulationError::Workload(
                "the columns of a trace do not fit: they must be contiguous, of one length, and\
                 \x20block_offsets one longer, rising from 0 to the number of blocks"
                    .to_owned(),
            )
        };
        let Self(arrivals, inputs, outputs, blocks, offsets) = self;
        let arrivals = arrivals.as_slice().map_err(|_| unfit())?;
        let inputs = inputs.as_slice().map_err(|_| unfit())?;
        let outputs = outputs.as_slice().map_err(|_| unfit())?;
        let blocks = blocks.as_slice().map_err(|_| unfit())?;
        let offsets = offsets.as_slice().map_err(|_| unfit())?;
        let is_even = inputs.len() == arrivals.len()
            && outputs.len() == arrivals.len()
            && offsets.len() == arrivals.len() + 1;
        if !is_even {
            return Err(unfit());
        }
        let names = |row: usize| {
            let begin = usize::try_from(*offsets.get(row)?).ok()?;
            let end = usize::try_from(*offsets.get(row + 1)?).ok()?;
            blocks.get(begin..end)
        };
        (0..arrivals.len())
            .map(|row| {
                Ok(TraceRequest {
                    arrival_seconds: arrivals[row],
                    input_tokens: usize::try_from(inputs[row]).map_err(|_| unfit())?,
                    output_tokens: usize::try_from(outputs[row]).map_err(|_| unfit())?,
                    blocks: names(row).ok_or_else(unfit)?.to_vec(),
                })
            })
            .collect()
    }
}
