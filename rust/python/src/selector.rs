//! Selection without Python: policy cell, decision log, and the state that each thread has of its own.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use dynamo_regime_core::cost::{self, Blocks};
use dynamo_regime_core::{
    Decision, DecisionLog, DecisionWriter, Policy, PolicyCell, VersionedPolicy, sample,
};
use fastrand::Rng;
use parking_lot::Mutex;
use thread_local::ThreadLocal;

/// Chooses workers under a policy that can be swapped meanwhile. Any number of threads select at
/// once; none waits for another.
pub struct Selector {
    pub cell: PolicyCell,
    pub log: DecisionLog,
    /// Each thread's generator is forked off this one when the thread first selects.
    seeds: Mutex<Rng>,
    lanes: ThreadLocal<RefCell<Lane>>,
}

/// What one thread needs to select. A thread that starts after another has ended may inherit its
/// lane, so that lanes, and with them memory, are bounded by the threads alive at one time.
struct Lane {
    rng: Rng,
    weights: Vec<f64>,
    writer: DecisionWriter,
}

/// One decision per row of a batch, all under one policy.
pub struct Batch {
    pub policy: VersionedPolicy,
    pub workers: Vec<i64>,
    pub costs: Vec<f64>,
    pub min_costs: Vec<f64>,
    pub max_costs: Vec<f64>,
}

impl Selector {
    pub fn new(policy: Policy, rng: Rng) -> Self {
        Self {
            cell: PolicyCell::new(policy),
            log: DecisionLog::default(),
            seeds: Mutex::new(rng),
            lanes: ThreadLocal::new(),
        }
    }

    /// Choose a worker, one entry per worker in both slices; `None` when there is none.
    #[inline]
    pub fn select<P: Blocks, A: Blocks>(&self, prefill: &[P], active: &[A]) -> Option<Decision> {
        self.lane()
            .borrow_mut()
            .select(self.cell.load(), now_ns(), prefill, active)
    }

    /// Choose a worker for each row of `workers` entries; the rows do not see each other.
    pub fn select_batch<P: Blocks, A: Blocks>(
        &self,
        prefill: &[P],
        active: &[A],
        workers: usize,
    ) -> Batch {
        let mut lane = self.lane().borrow_mut();
        let (policy, time_ns) = (self.cell.load(), now_ns());
        let mut batch = Batch::new(policy, prefill.len() / workers);
        for (prefill, active) in prefill
            .chunks_exact(workers)
            .zip(active.chunks_exact(workers))
        {
            if let Some(decision) = lane.select(policy, time_ns, prefill, active) {
                batch.push(&decision);
            }
        }
        batch
    }

    #[inline]
    fn lane(&self) -> &RefCell<Lane> {
        self.lanes.get_or(|| {
            RefCell::new(Lane {
                rng: self.seeds.lock().fork(),
                weights: Vec::new(),
                writer: self.log.writer(),
            })
        })
    }
}

impl Lane {
    #[inline]
    fn select<P: Blocks, A: Blocks>(
        &mut self,
        current: VersionedPolicy,
        time_ns: u64,
        prefill: &[P],
        active: &[A],
    ) -> Option<Decision> {
        let Policy {
            temperature,
            prefill_weight,
        } = current.policy;
        let costs = prefill.iter().zip(active).map(|(prefill, active)| {
            cost::linear(prefill_weight, prefill.blocks(), active.blocks())
        });
        let pick = sample::pick(costs, temperature, &mut self.rng, &mut self.weights)?;
        let (prefill_blocks, active_blocks) =
            (prefill[pick.row].blocks(), active[pick.row].blocks());
        let decision = Decision {
            time_ns,
            version: current.version,
            temperature: temperature.get(),
            prefill_weight: prefill_weight.get(),
            worker_id: pick.row as u64,
            candidates: prefill.len() as u32,
            cost: cost::linear(prefill_weight, prefill_blocks, active_blocks),
            min_cost: pick.min_cost,
            max_cost: pick.max_cost,
            prefill_blocks,
            active_blocks,
            ..Decision::default()
        };
        self.writer.push(&decision);
        Some(decision)
    }
}

impl Batch {
    fn new(policy: VersionedPolicy, rows: usize) -> Self {
        Self {
            policy,
            workers: Vec::with_capacity(rows),
            costs: Vec::with_capacity(rows),
            min_costs: Vec::with_capacity(rows),
            max_costs: Vec::with_capacity(rows),
        }
    }

    #[inline]
    fn push(&mut self, decision: &Decision) {
        self.workers.push(decision.worker_id as i64);
        self.costs.push(decision.cost);
        self.min_costs.push(decision.min_cost);
        self.max_costs.push(decision.max_cost);
    }
}

/// Nanoseconds since the UNIX epoch; 0 on a clock that is set before it.
#[inline]
fn now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}
