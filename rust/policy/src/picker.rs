//! The choice of a worker, and the record of it.

use std::sync::Arc;

use dynamo_kv_router::plugins::worker_selection::{
    WorkerCacheInput, WorkerInputView, WorkerInputs, WorkerLoadInput, WorkerPicker,
    WorkerSelectionContext, WorkerSelectionPolicyError,
};
use dynamo_regime_core::sample::{self, Pick};
use dynamo_regime_core::{
    Decision, DecisionWriter, PolicyCell, PrefillWeight, Temperature, VersionedPolicy,
};
use fastrand::Rng;

use crate::clock::{Stopwatch, unix_time_ns};
use crate::scorer::Scorer;

/// Scores the workers, chooses one and records why, all by one policy, read once.
///
/// The whole selection is one component of Dynamo's contract, its picker. Split into a scorer and a
/// picker, as the contract allows, the two would have to hand the policy from one to the other, and
/// the host would copy every worker's inputs twice: a tenth more time among eight workers. The price
/// is that the host's own log line for a selection shows a cost of 0; the decision log has it.
pub(crate) struct Picker {
    scorer: Scorer,
    cell: Arc<PolicyCell>,
    decisions: DecisionWriter,
    stopwatch: Stopwatch,
    rng: Rng,
    costs: Vec<f64>,
    weights: Vec<f64>,
}

impl Picker {
    /// Draws come from a generator of this policy's own, seeded from the calling thread's
    /// [`fastrand`] generator: a simulation that seeds that one gets the same draws every time.
    pub(crate) fn new(scorer: Scorer, cell: Arc<PolicyCell>, decisions: DecisionWriter) -> Self {
        Self {
            scorer,
            cell,
            decisions,
            stopwatch: Stopwatch::default(),
            rng: Rng::new(),
            costs: Vec::new(),
            weights: Vec::new(),
        }
    }

    #[inline]
    fn choose(
        &mut self,
        context: &WorkerSelectionContext<'_>,
        temperature: Temperature,
    ) -> Option<Pick> {
        if context.pinned_worker().is_some() {
            // The host has left the pinned worker only. Nothing is drawn.
            return self.costs.first().map(|cost| Pick {
                row: 0,
                min_cost: *cost,
                max_cost: *cost,
            });
        }
        sample::pick(
            self.costs.iter().copied(),
            temperature,
            &mut self.rng,
            &mut self.weights,
        )
    }
}

impl WorkerPicker for Picker {
    fn required_worker_inputs(&self) -> WorkerInputs {
        self.scorer.required_worker_inputs()
    }

    fn pick(
        &mut self,
        context: &WorkerSelectionContext<'_>,
        input: WorkerInputView<'_>,
    ) -> Result<usize, WorkerSelectionPolicyError> {
        let began = self.stopwatch.start();
        // The one look at the cell: costs, sampling and record are of the same policy.
        let VersionedPolicy { version, policy } = self.cell.load();
        let temperature = context
            .router_temperature_override()
            .and_then(|value| Temperature::try_from(value).ok())
            .unwrap_or(policy.temperature);
        let loads = input
            .load()
            .ok_or_else(|| WorkerSelectionPolicyError::failed("load input unavailable"))?;
        let best_overlap_blocks = self.scorer.score(
            context,
            input,
            loads,
            policy.prefill_weight,
            &mut self.costs,
        );
        let pick = self
            .choose(context, temperature)
            .ok_or_else(|| WorkerSelectionPolicyError::failed("no eligible worker"))?;
        let cache = input.cache().and_then(|caches| caches.get(pick.row));
        self.scorer.chose(context, cache);
        let applied = Applied {
            version,
            temperature,
            prefill_weight: policy.prefill_weight,
            best_overlap_blocks,
            elapsed_ns: began.map(|began| began.elapsed().as_nanos() as f64),
        };
        if let Some(decision) = applied.decision(context, input, loads, &self.costs, pick) {
            self.decisions.push(&decision);
        }
        Ok(pick.row)
    }
}

/// What one selection was made with.
struct Applied {
    version: u64,
    temperature: Temperature,
    prefill_weight: PrefillWeight,
    best_overlap_blocks: Option<f64>,
    elapsed_ns: Option<f64>,
}

impl Applied {
    #[inline]
    fn decision(
        &self,
        context: &WorkerSelectionContext<'_>,
        input: WorkerInputView<'_>,
        loads: &[WorkerLoadInput],
        costs: &[f64],
        pick: Pick,
    ) -> Option<Decision> {
        let worker = input.candidates().get(pick.row)?.worker();
        let load = loads.get(pick.row)?;
        let cache = input.cache().and_then(|caches| caches.get(pick.row));
        Some(Decision {
            time_ns: unix_time_ns(),
            version: self.version,
            temperature: self.temperature.get(),
            prefill_weight: self.prefill_weight.get(),
            worker_id: worker.worker_id,
            dp_rank: worker.dp_rank,
            candidates: u32::try_from(loads.len()).unwrap_or(u32::MAX),
            cost: *costs.get(pick.row)?,
            min_cost: pick.min_cost,
            max_cost: pick.max_cost,
            prefill_blocks: load.active_prefill_tokens() as f64 / f64::from(context.block_size()),
            active_blocks: load.decode_cost_blocks(),
            request_blocks: Some(context.request_blocks() as f64),
            active_requests: load.is_available().then_some(load.active_requests() as f64),
            overlap_blocks: cache.map(device_blocks),
            best_overlap_blocks: self.best_overlap_blocks,
            elapsed_ns: self.elapsed_ns,
        })
    }
}

/// Prompt blocks on the worker's device; the host's estimate where it has no tiers to tell apart.
#[inline]
fn device_blocks(cache: WorkerCacheInput<'_>) -> f64 {
    if cache.has_tier_matches() {
        cache.device_overlap_blocks()
    } else {
        cache.accounting_cache_estimate().0
    }
}
