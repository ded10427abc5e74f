//! One run: the clock, the observer and the books that the pools share.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aisimulate_core::replay::{ReplayCaptureOptions, ReplayDeterminism, ReplayReport, Replayer};
use anyhow::{Result, bail};
use dynamo_kv_router::WorkerType;
use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_regime_policy::{PoolPolicy, Pools};
use rustc_hash::FxHashMap;
use tokio::time::Instant;
use uuid::Uuid;

use crate::composition::{Composition, replay_spec};
use crate::config::Simulation;
use crate::error::SimulationError;
use crate::observer::{Finished, FirstToken, Observer, PoolLoad, Progress, Sample, WorkerLoad};
use crate::outcome::{Outcome, PolicyAt};
use crate::rivals::VirtualClock;
use crate::roster::Roster;
use crate::router::Loads;
use crate::workload::{Phase, Workload};

/// Requests between two reports of progress.
const PROGRESS_STEP: usize = 64;

/// The run as the pools share it.
pub(crate) type Shared<'a> = Rc<RefCell<Run<'a>>>;

/// Run a cluster on this thread until its workload is through.
///
/// # Errors
/// When a value of the simulation is out of range, when the observer stops the run, or when the
/// engines cannot serve the workload.
pub fn simulate(
    simulation: &Simulation,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimulationError> {
    simulation.validate()?;
    // The plug-in's generators are seeded from this thread's one.
    fastrand::seed(simulation.seed);
    let plugin = Pools::default();
    let run = Rc::new(RefCell::new(Run::new(simulation, plugin.clone(), observer)));
    let report = replay(simulation, &plugin, &run);
    let run = run.borrow();
    if run.is_stopped {
        return Err(SimulationError::Stopped);
    }
    Ok(Outcome::new(
        &report?,
        &run.sent_late_ms,
        run.policies.clone(),
    ))
}

fn replay<'a>(
    simulation: &'a Simulation,
    plugin: &'a Pools,
    run: &Shared<'a>,
) -> Result<ReplayReport, SimulationError> {
    let (spec, factory) = replay_spec(simulation, &run.borrow().in_flight)?;
    let composition = Composition::new(simulation, plugin, Rc::clone(run));
    let failed =
        |error: aisimulate_core::replay::ReplayError| SimulationError::Run(error.to_string());
    Replayer::with_composition(spec, factory, composition)
        .map_err(failed)?
        .with_capture_options(ReplayCaptureOptions {
            capture_per_request: true,
            determinism: ReplayDeterminism::CanonicalV1,
            ..ReplayCaptureOptions::default()
        })
        .with_runtime_input(simulation.workload.input(simulation)?)
        .run()
        .map_err(failed)
}

pub(crate) struct Run<'a> {
    observer: &'a mut dyn Observer,
    plugin: Pools,
    views: Vec<View>,
    /// Virtual time 0, for Dynamo's load tracking.
    epoch: Instant,
    /// Virtual time now, for policies that adapt with it.
    pub(crate) clock: VirtualClock,
    phases: Vec<Phase>,
    sample_interval_ms: f64,
    samples: u64,
    requests: FxHashMap<Uuid, InFlight>,
    /// How many `requests` there are, for the engines' latency models.
    in_flight: Arc<AtomicUsize>,
    /// When the requests that were parked first were sent, in milliseconds.
    sent_late_ms: FxHashMap<Uuid, f64>,
    arrived: usize,
    first_tokens: Vec<FirstToken>,
    finished: Vec<Finished>,
    finished_in_all: usize,
    policies: Vec<PolicyAt>,
    is_stopped: bool,
}

/// A pool as samples see it.
pub(crate) struct View {
    pub(crate) pool: WorkerType,
    pub(crate) roster: Rc<Roster>,
    pub(crate) replicas: Vec<Rc<Loads>>,
}

struct InFlight {
    arrived_ms: f64,
    placed_ms: f64,
    uncached_tokens: usize,
    first_token_ms: Option<f64>,
    output_tokens: usize,
}

impl<'a> Run<'a> {
    fn new(simulation: &Simulation, plugin: Pools, observer: &'a mut dyn Observer) -> Self {
        Self {
            observer,
            plugin,
            views: Vec::new(),
            epoch: Instant::now(),
            clock: VirtualClock::default(),
            phases: match &simulation.workload {
                Workload::Trace(_) => Vec::new(),
                Workload::Closed(closed) => closed.phases.clone(),
            },
            sample_interval_ms: simulation
                .sample_interval_seconds
                .map_or(f64::INFINITY, |seconds| seconds * 1e3),
            samples: 0,
            requests: FxHashMap::default(),
            in_flight: Arc::default(),
            sent_late_ms: FxHashMap::default(),
            arrived: 0,
            first_tokens: Vec::new(),
            finished: Vec::new(),
            finished_in_all: 0,
            policies: Vec::new(),
            is_stopped: false,
        }
    }

    pub(crate) fn show(&mut self, view: View) {
        let policies = self.plugin.policies();
        if let Some(first) = policies.iter().find(|policy| policy.pool == view.pool) {
            self.policies.push(PolicyAt::new(0.0, first));
        }
        self.views.push(view);
    }

    pub(crate) fn instant(&self, now_ms: f64) -> Instant {
        self.epoch + Duration::from_secs_f64(now_ms.max(0.0) / 1e3)
    }

    /// Take the samples that are due. Between two events nothing changes, so that a sample taken
    /// at the first event after its time shows the cluster as it was at its time.
    pub(crate) fn advance(&mut self, now_ms: f64) -> Result<()> {
        self.clock.set_ms(now_ms);
        loop {
            let due_ms = (self.samples + 1) as f64 * self.sample_interval_ms;
            if due_ms > now_ms {
                return Ok(());
            }
            self.samples += 1;
            let policies = self.plugin.policies();
            let sample = Sample {
                time_seconds: due_ms / 1e3,
                pools: self
                    .views
                    .iter()
                    .filter_map(|view| view.load(&policies, self.instant(due_ms)))
                    .collect(),
                arrived: self.arrived,
                first_tokens: &self.first_tokens,
                finished: &self.finished,
            };
            let flow = self.observer.sample(&sample, &self.plugin);
            self.heed(flow)?;
            self.arrived = 0;
            self.first_tokens.clear();
            self.finished.clear();
            self.record_swaps(&policies, due_ms);
        }
    }

    fn record_swaps(&mut self, before: &[PoolPolicy], time_ms: f64) {
        for (old, new) in before.iter().zip(self.plugin.policies()) {
            if old.policy.version != new.policy.version {
                self.policies.push(PolicyAt::new(time_ms / 1e3, &new));
            }
        }
    }

    fn heed(&mut self, flow: ControlFlow<()>) -> Result<()> {
        if flow.is_break() {
            self.is_stopped = true;
            bail!("stopped by the observer");
        }
        Ok(())
    }

    /// Whether the closed loop's phase has room for one request more.
    pub(crate) fn may_send(&self, now_ms: f64) -> bool {
        let mut end_ms = 0.0;
        for phase in &self.phases {
            end_ms += phase.duration_seconds * 1e3;
            if now_ms < end_ms {
                return self.requests.len() < phase.concurrency;
            }
        }
        // An open loop, or the very end of a closed one.
        true
    }

    pub(crate) fn arrived(&mut self, id: Uuid, arrived_ms: f64, output_tokens: usize) {
        self.arrived += 1;
        self.requests.insert(
            id,
            InFlight {
                arrived_ms,
                placed_ms: arrived_ms,
                uncached_tokens: 0,
                first_token_ms: None,
                output_tokens,
            },
        );
        self.count();
    }

    fn count(&self) {
        self.in_flight.store(self.requests.len(), Ordering::Relaxed);
    }

    pub(crate) fn sent_late(&mut self, id: Uuid, now_ms: f64, output_tokens: usize) {
        self.sent_late_ms.insert(id, now_ms);
        self.arrived(id, now_ms, output_tokens);
    }

    /// A worker was chosen for the request's prefill.
    pub(crate) fn placed(&mut self, id: Uuid, now_ms: f64, uncached_tokens: usize) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.placed_ms = now_ms;
            request.uncached_tokens = uncached_tokens;
        }
    }

    pub(crate) fn first_token(&mut self, id: Uuid, worker: usize, now_ms: f64) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.first_token_ms = Some(now_ms);
            self.first_tokens.push(request.first_token(worker, now_ms));
        }
    }

    /// A request whose prefill never ended was refused by the engine and goes no further.
    pub(crate) fn left_prefill(&mut self, id: Uuid) {
        let is_refused = |request: &InFlight| request.first_token_ms.is_none();
        if self.requests.get(&id).is_some_and(is_refused) {
            self.requests.remove(&id);
            self.count();
        }
    }

    pub(crate) fn ended(&mut self, id: Uuid, worker: usize, now_ms: f64) -> Result<()> {
        let Some(request) = self.requests.remove(&id) else {
            return Ok(());
        };
        self.count();
        // The only token of a request is its last one, which is not announced as the first.
        if request.first_token_ms.is_none() && request.output_tokens == 1 {
            self.first_tokens.push(request.first_token(worker, now_ms));
        }
        let first_token_ms = match request.first_token_ms {
            Some(first_token_ms) => first_token_ms,
            None if request.output_tokens == 1 => now_ms,
            // Refused by the engine.
            None => return Ok(()),
        };
        let gaps = request.output_tokens.saturating_sub(1);
        self.finished.push(Finished {
            worker,
            ttft_seconds: (first_token_ms - request.arrived_ms) / 1e3,
            itl_seconds: (gaps > 0).then(|| (now_ms - first_token_ms) / gaps as f64 / 1e3),
            latency_seconds: (now_ms - request.arrived_ms) / 1e3,
        });
        self.finished_in_all += 1;
        if !self.finished_in_all.is_multiple_of(PROGRESS_STEP) {
            return Ok(());
        }
        let flow = self.observer.progress(Progress {
            finished: self.finished_in_all,
            time_seconds: now_ms / 1e3,
        });
        self.heed(flow)
    }
}

impl InFlight {
    fn first_token(&self, worker: usize, now_ms: f64) -> FirstToken {
        FirstToken {
            worker,
            time_seconds: now_ms / 1e3,
            ttft_seconds: (now_ms - self.arrived_ms) / 1e3,
            prefill_seconds: (now_ms - self.placed_ms) / 1e3,
            uncached_tokens: self.uncached_tokens,
        }
    }
}

impl View {
    fn load(&self, policies: &[PoolPolicy], now: Instant) -> Option<PoolLoad> {
        let policy = policies.iter().find(|policy| policy.pool == self.pool)?;
        let mut workers = vec![WorkerLoad::default(); self.roster.len()];
        let index = |worker: WorkerWithDpRank| self.roster.index(worker.worker_id);
        for loads in &self.replicas {
            for (worker, tokens) in loads.active_tokens(now) {
                workers[index(worker)].prefill_tokens += tokens;
            }
            for (worker, blocks) in loads.active_blocks() {
                workers[index(worker)].decode_blocks += blocks;
            }
            for (worker, requests) in loads.active_request_counts() {
                workers[index(worker)].active_requests += requests;
            }
        }
        Some(PoolLoad {
            pool: self.pool,
            policy: policy.policy,
            workers,
        })
    }
}
