//! The cost of each worker: ω · prefill blocks + active blocks, as Dynamo's default policy has it.
//!
//! `prefill` is the worker's prefill backlog plus the prompt, less a credit for what of the prompt
//! it has cached; `active` is what its running requests hold; running requests and preferred taints
//! add to it. All but ω is fixed while the router lives.

use dynamo_kv_router::plugins::worker_selection::{
    ScoredWorkerCandidate, WorkerCacheInput, WorkerInputView, WorkerInputs, WorkerLoadInput,
    WorkerSelectionContext,
};
use dynamo_kv_router::{KvRouterConfig, SharedCacheHits, WorkerType};
use dynamo_regime_core::cost::CostForm;
use dynamo_regime_core::{PrefillWeight, Toll, TollInputs, cost};

use crate::parameters::Terms;

/// The cost function of one router.
pub(crate) struct Scorer {
    terms: Terms,
    form: CostForm,
    /// What the toll charges those who wait by.
    prompts: MeanPrompt,
    /// A decode pool without conditional disaggregation: load alone decides.
    is_plain_decode: bool,
    /// Dynamo scores every pool but prefill as decode.
    is_scored_as_decode: bool,
}

impl Scorer {
    pub(crate) fn new(
        terms: Terms,
        form: CostForm,
        config: &KvRouterConfig,
        role: WorkerType,
    ) -> Self {
        let form = match form {
            CostForm::Toll { toll, kv_blocks } if role == WorkerType::Prefill => CostForm::Toll {
                toll: toll.of_prefill_workers(),
                kv_blocks,
            },
            form => form,
        };
        Self {
            terms,
            form,
            prompts: MeanPrompt::default(),
            is_plain_decode: role == WorkerType::Decode && !config.conditional_disagg_enabled,
            is_scored_as_decode: role != WorkerType::Prefill,
        }
    }

    /// What the costs are computed from. Cache inputs are asked for where Dynamo's default asks for
    /// them and nowhere else, since the host books a request by what its policy looks at.
    pub(crate) fn required_worker_inputs(&self) -> WorkerInputs {
        let inputs = WorkerInputs::LOAD | WorkerInputs::PREFERRED_TAINT;
        if !self.is_plain_decode && self.terms.overlap_score_credit != 0.0 {
            inputs | WorkerInputs::CACHE
        } else {
            inputs
        }
    }

    /// Write the cost of every candidate over `costs`: finite, not negative, in active blocks.
    /// Answers with the most prompt blocks that any candidate has on its device, where the host
    /// supplies cache inputs.
    #[inline]
    pub(crate) fn score(
        &self,
        context: &WorkerSelectionContext<'_>,
        input: WorkerInputView<'_>,
        loads: &[WorkerLoadInput],
        prefill_weight: PrefillWeight,
        costs: &mut Vec<f64>,
    ) -> Option<f64> {
        costs.resize(loads.len(), 0.0);
        let request = self.request(context, input, loads, prefill_weight);
        let adjusts_credit = request.least_prefill_tokens.is_some() || request.shared.is_some();
        let counts_requests = self.terms.decode_active_request_weight != 0.0;
        if let CostForm::Toll { toll, kv_blocks } = self.form {
            let tolled = Tolled {
                request: &request,
                toll,
                kv_blocks,
                mean_uncached_tokens: self.prompts.tokens(),
            };
            return if adjusts_credit {
                tolled.score::<true>(input, loads, costs)
            } else {
                tolled.score::<false>(input, loads, costs)
            };
        }
        // A term that is switched off costs the loop over the workers nothing.
        match (adjusts_credit, counts_requests) {
            (false, false) => request.score::<false, false>(input, loads, costs),
            (false, true) => request.score::<false, true>(input, loads, costs),
            (true, false) => request.score::<true, false>(input, loads, costs),
            (true, true) => request.score::<true, true>(input, loads, costs),
        }
    }

    /// Learn from the worker that was chosen.
    #[inline]
    pub(crate) fn chose(
        &mut self,
        context: &WorkerSelectionContext<'_>,
        cache: Option<WorkerCacheInput<'_>>,
    ) {
        if context.tracks_prefill_tokens() && matches!(self.form, CostForm::Toll { .. }) {
            let cached_tokens = cache.map_or(0, |cache| cache.accounting_cache_estimate().1);
            self.prompts
                .add(context.prompt_tokens().saturating_sub(cached_tokens));
        }
    }

    #[inline]
    fn request<'a>(
        &self,
        context: &WorkerSelectionContext<'_>,
        input: WorkerInputView<'a>,
        loads: &[WorkerLoadInput],
        prefill_weight: PrefillWeight,
    ) -> Request<'a> {
        let terms = self.terms;
        let tracks_prefill = context.tracks_prefill_tokens();
        let overlap_credit = if self.is_plain_decode && !tracks_prefill {
            0.0
        } else {
            terms.overlap_score_credit
        };
        // What the whole lookup has in common is read off any of its rows.
        let lookup = input.cache().and_then(|caches| caches.get(0));
        Request {
            terms,
            prefill_weight,
            overlap_credit,
            prompt_tokens: context.prompt_tokens(),
            // A request without prompt tokens has nothing to decay: 1 keeps 0/0 away.
            prompt_blocks: context.request_blocks().max(1) as f64,
            block: BlockSize::new(context.block_size()),
            has_tiers: lookup.is_some_and(WorkerCacheInput::has_tier_matches),
            shared: lookup
                .and_then(WorkerCacheInput::shared_hits)
                .filter(|_| terms.shared_cache_multiplier != 0.0),
            least_prefill_tokens: if tracks_prefill && terms.overlap_score_credit_decay > 0.0 {
                loads
                    .iter()
                    .map(WorkerLoadInput::active_prefill_tokens)
                    .min()
            } else {
                None
            },
            tracks_prefill,
            credits_active_blocks: self.is_scored_as_decode
                && !tracks_prefill
                && overlap_credit > 0.0,
        }
    }
}

/// What all candidates of one selection have in common.
struct Request<'a> {
    terms: Terms,
    prefill_weight: PrefillWeight,
    overlap_credit: f64,
    prompt_tokens: usize,
    prompt_blocks: f64,
    block: BlockSize,
    /// Whether the host knows device, host and disk apart; if not, it has one estimate.
    has_tiers: bool,
    /// What of the prompt is in the shared cache, where that earns a credit.
    shared: Option<&'a SharedCacheHits>,
    /// The least prefill backlog of all candidates, where the overlap credit decays.
    least_prefill_tokens: Option<usize>,
    tracks_prefill: bool,
    /// Decode of a request whose prefill is done elsewhere: cached blocks lower the active ones.
    credits_active_blocks: bool,
}

/// What one candidate has cached of the prompt.
#[derive(Default)]
struct Cached {
    tokens: usize,
    device_blocks: f64,
    /// The weighted sum over all tiers, in prefill blocks.
    credit_blocks: f64,
}

impl Request<'_> {
    #[inline(always)]
    fn score<const ADJUSTS_CREDIT: bool, const COUNTS_REQUESTS: bool>(
        &self,
        input: WorkerInputView<'_>,
        loads: &[WorkerLoadInput],
        costs: &mut [f64],
    ) -> Option<f64> {
        let rows = input.candidates().iter().zip(loads).zip(costs);
        let Some(caches) = input.cache() else {
            for ((candidate, load), cost) in rows {
                *cost = self.cost::<COUNTS_REQUESTS>(candidate, load, &Cached::default());
            }
            return None;
        };
        let mut best_overlap_blocks = 0.0;
        for (((candidate, load), cost), cache) in rows.zip(caches.iter()) {
            let cached = self.cached::<ADJUSTS_CREDIT>(load, cache);
            best_overlap_blocks = greater(best_overlap_blocks, cached.device_blocks);
            *cost = self.cost::<COUNTS_REQUESTS>(candidate, load, &cached);
        }
        Some(best_overlap_blocks)
    }

    #[inline(always)]
    fn cached<const ADJUSTS_CREDIT: bool>(
        &self,
        load: &WorkerLoadInput,
        cache: WorkerCacheInput<'_>,
    ) -> Cached {
        let (estimated_blocks, tokens) = cache.accounting_cache_estimate();
        let device_blocks = if self.has_tiers {
            cache.device_overlap_blocks()
        } else {
            estimated_blocks
        };
        let overlap_credit = if ADJUSTS_CREDIT {
            self.overlap_credit * self.decay(load)
        } else {
            self.overlap_credit
        };
        let mut credit_blocks = overlap_credit * device_blocks
            + self.terms.host_cache_hit_weight * cache.host_overlap_blocks()
            + self.terms.disk_cache_hit_weight * cache.disk_overlap_blocks();
        if ADJUSTS_CREDIT && let Some(hits) = self.shared {
            let beyond_device = hits.hits_beyond(device_blocks.round().max(0.0) as u32);
            credit_blocks += self.terms.shared_cache_multiplier * f64::from(beyond_device);
        }
        Cached {
            tokens,
            device_blocks,
            credit_blocks,
        }
    }

    /// 1 on the candidate with the least prefill backlog, towards 0 as the backlog exceeds it.
    #[inline(always)]
    fn decay(&self, load: &WorkerLoadInput) -> f64 {
        let Some(least_tokens) = self.least_prefill_tokens else {
            return 1.0;
        };
        let excess_tokens = load.active_prefill_tokens().saturating_sub(least_tokens);
        let excess = self.block.blocks(excess_tokens) / self.prompt_blocks;
        1.0 / (1.0 + self.terms.overlap_score_credit_decay * excess)
    }

    #[inline(always)]
    fn cost<const COUNTS_REQUESTS: bool>(
        &self,
        candidate: &ScoredWorkerCandidate,
        load: &WorkerLoadInput,
        cached: &Cached,
    ) -> f64 {
        let active_blocks = load.decode_cost_blocks();
        let blocks = if self.credits_active_blocks {
            greater(active_blocks - cached.credit_blocks, 0.0)
        } else {
            let prefill_blocks = self.block.blocks(self.prefill_tokens(load, cached.tokens));
            let prefill_blocks = greater(prefill_blocks - cached.credit_blocks, 0.0);
            cost::linear(self.prefill_weight, prefill_blocks, active_blocks)
        };
        let requests = if COUNTS_REQUESTS {
            self.terms.decode_active_request_weight * load.active_requests() as f64
        } else {
            0.0
        };
        let cost = (blocks + requests) * candidate.preferred_taint_multiplier().unwrap_or(1.0);
        // The host refuses a cost that is not finite, and with it the request.
        if cost < cost::MAX { cost } else { cost::MAX }
    }

    /// Tokens that the worker would have to prefill, this request's prompt included.
    #[inline(always)]
    fn prefill_tokens(&self, load: &WorkerLoadInput, cached_tokens: usize) -> usize {
        if !self.tracks_prefill {
            0
        } else if load.is_available() {
            // The prompt counts whole here, since the credit takes off what is cached of it.
            load.active_prefill_tokens()
                .saturating_add(self.prompt_tokens.max(cached_tokens))
        } else {
            self.prompt_tokens
        }
    }
}

/// A request that is charged the toll.
struct Tolled<'a> {
    request: &'a Request<'a>,
    toll: Toll,
    kv_blocks: f64,
    mean_uncached_tokens: f64,
}

impl Tolled<'_> {
    #[inline]
    fn score<const ADJUSTS_CREDIT: bool>(
        &self,
        input: WorkerInputView<'_>,
        loads: &[WorkerLoadInput],
        costs: &mut [f64],
    ) -> Option<f64> {
        let rows = input.candidates().iter().zip(loads).zip(costs);
        let Some(caches) = input.cache() else {
            for ((candidate, load), cost) in rows {
                *cost = self.cost(candidate, load, &Cached::default());
            }
            return None;
        };
        let mut best_overlap_blocks = 0.0;
        for (((candidate, load), cost), cache) in rows.zip(caches.iter()) {
            let cached = self.request.cached::<ADJUSTS_CREDIT>(load, cache);
            best_overlap_blocks = greater(best_overlap_blocks, cached.device_blocks);
            *cost = self.cost(candidate, load, &cached);
        }
        Some(best_overlap_blocks)
    }

    #[inline(always)]
    fn cost(
        &self,
        candidate: &ScoredWorkerCandidate,
        load: &WorkerLoadInput,
        cached: &Cached,
    ) -> f64 {
        let request = self.request;
        let (backlog_tokens, uncached_tokens) = if request.tracks_prefill {
            let cached_tokens = cached.credit_blocks * request.block.tokens;
            (
                load.active_prefill_tokens() as f64,
                greater(request.prompt_tokens as f64 - cached_tokens, 0.0),
            )
        } else {
            (0.0, 0.0)
        };
        let active_blocks = load.decode_cost_blocks();
        let worker = TollInputs {
            backlog_tokens,
            uncached_tokens,
            waiting_requests: backlog_tokens / self.mean_uncached_tokens,
            active_requests: load.active_requests() as f64,
            active_tokens: active_blocks * request.block.tokens,
            occupancy: active_blocks / self.kv_blocks,
        };
        let cost = self.toll.cost(request.prefill_weight, &worker)
            * candidate.preferred_taint_multiplier().unwrap_or(1.0);
        if cost < cost::MAX { cost } else { cost::MAX }
    }
}

/// The mean of what a request computes where it is sent, over the last ones.
#[derive(Default)]
struct MeanPrompt {
    tokens: f64,
    requests: f64,
}

impl MeanPrompt {
    /// Requests that it follows a change of the load by.
    const MEMORY: f64 = 256.0;

    fn add(&mut self, tokens: usize) {
        self.requests = (self.requests + 1.0).min(Self::MEMORY);
        self.tokens += (tokens as f64 - self.tokens) / self.requests;
    }

    /// Infinite until something is known, so that no one is taken to wait.
    fn tokens(&self) -> f64 {
        if self.tokens > 0.0 {
            greater(self.tokens, 1.0)
        } else {
            f64::INFINITY
        }
    }
}

/// Tokens of one KV block.
struct BlockSize {
    tokens: f64,
    /// 1 / `tokens` where that is exact, so that multiplying by it is dividing, only faster.
    reciprocal: Option<f64>,
}

impl BlockSize {
    fn new(tokens: u32) -> Self {
        let reciprocal = tokens.is_power_of_two().then(|| 1.0 / f64::from(tokens));
        Self {
            tokens: f64::from(tokens),
            reciprocal,
        }
    }

    /// How many blocks so many tokens are, fractions included.
    #[inline(always)]
    fn blocks(&self, tokens: usize) -> f64 {
        match self.reciprocal {
            Some(reciprocal) => tokens as f64 * reciprocal,
            None => tokens as f64 / self.tokens,
        }
    }
}

/// The greater of two numbers; one instruction, which `f64::max` with its care for NaN is not.
#[inline(always)]
fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_quotient_to_the_last_bit_for_every_block_size() {
        let counts = [0, 1, 7, 127, 2_048, (1 << 53) - 1, usize::MAX];
        for size in (0..32)
            .map(|shift| 1_u32 << shift)
            .chain([3, 17, 100, u32::MAX])
        {
            for tokens in counts {
                let quotient = tokens as f64 / f64::from(size);
                assert_eq!(
                    BlockSize::new(size).blocks(tokens).to_bits(),
                    quotient.to_bits()
                );
            }
        }
    }
}
