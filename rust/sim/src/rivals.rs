//! Routing policies of others, by their published rules, to be measured beside ours.
//!
//! Each is a component of Dynamo's public plug-in contract and sees what ours sees: the same loads,
//! cache matches and workers. Dynamo's default itself needs no rule here, since the plug-in with
//! nothing set draws as it does. Equal workers are drawn at random, whatever the original does.

mod adaptive;
mod lmetric;
mod load;
mod two_tier;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dynamo_kv_router::plugins::worker_selection::{
    WorkerInputView, WorkerInputs, WorkerPicker, WorkerSelectionContext, WorkerSelectionPolicy,
    WorkerSelectionPolicyError,
};
use dynamo_kv_router::{KvRouterConfig, WorkerType};
use fastrand::Rng;
use serde::Deserialize;

/// Virtual time, as the rivals that adapt with time read it; set by the pools.
#[derive(Clone, Default)]
pub(crate) struct VirtualClock(Arc<AtomicU64>);

impl VirtualClock {
    pub(crate) fn set_ms(&self, now_ms: f64) {
        self.0.store(now_ms.to_bits(), Ordering::Relaxed);
    }

    fn now_ms(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// A policy of someone else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rival {
    /// The worker with the fewest running requests.
    LeastLoaded,
    /// The workers in turn.
    RoundRobin,
    /// The less loaded of two that are drawn at random.
    PowerOfTwo,
    /// arXiv 2603.15202: new prefill tokens × batch size.
    Lmetric,
    /// The same, with the queued prompt tokens among the new ones.
    LmetricQueued,
    /// `dynamo-two-tier-cost-fn` of Dynamo 1.6.
    TwoTier,
    /// Dynamo's pull request 14596: cache and load, weighted by a sigmoid of the imbalance.
    AdaptiveSigmoid,
    /// Dynamo's pull request 14531: the weight by additive increase, multiplicative decrease.
    AdaptiveAimd,
}

impl Rival {
    /// Its policy for one router; draws come from a generator that the thread's one seeds.
    pub(crate) fn policy(
        self,
        config: &KvRouterConfig,
        role: WorkerType,
        clock: VirtualClock,
    ) -> WorkerSelectionPolicy {
        let picker = RivalPicker {
            rule: self.rule(),
            // Where Dynamo's default does not look at caches, nobody does.
            reads_caches: role != WorkerType::Decode || config.conditional_disagg_enabled,
            clock,
            rng: Rng::new(),
            workers: Vec::new(),
        };
        WorkerSelectionPolicy::new(
            config.clone(),
            role.default_selector_label(),
            Vec::new(),
            Box::new(picker),
        )
    }

    fn rule(self) -> Box<dyn Rule> {
        match self {
            Self::LeastLoaded => Box::new(load::LeastLoaded),
            Self::RoundRobin => Box::new(load::RoundRobin::default()),
            Self::PowerOfTwo => Box::new(load::PowerOfTwo),
            Self::Lmetric => Box::new(lmetric::Lmetric {
                counts_queue: false,
            }),
            Self::LmetricQueued => Box::new(lmetric::Lmetric { counts_queue: true }),
            Self::TwoTier => Box::new(two_tier::TwoTier::default()),
            Self::AdaptiveSigmoid => Box::new(adaptive::Adaptive::new(adaptive::Control::Sigmoid)),
            Self::AdaptiveAimd => Box::new(adaptive::Adaptive::new(adaptive::Control::Aimd)),
        }
    }
}

/// A rule that chooses one of at least one worker.
trait Rule: Send {
    /// The row of the chosen worker.
    fn choose(&mut self, request: &Request, workers: &[Worker], rng: &mut Rng) -> usize;
}

struct Request {
    now_ms: f64,
    prompt_blocks: f64,
}

/// A worker as the rules see it.
#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    /// Requests that run there.
    requests: usize,
    /// Prompt tokens that wait or are being computed there.
    queued_tokens: usize,
    /// Tokens of the prompt that are not cached there; 0 in a decode pool.
    new_tokens: usize,
    /// Prompt blocks that are cached on its device.
    cached_blocks: f64,
}

/// The row of the least key, equal ones drawn at random.
fn least<K: PartialOrd>(keys: impl Iterator<Item = (usize, K)>, rng: &mut Rng) -> Option<usize> {
    let mut best: Option<(usize, K)> = None;
    let mut ties = 0;
    for (row, key) in keys {
        match &best {
            Some((_, least)) if key > *least => {}
            Some((_, least)) if key == *least => {
                ties += 1;
                if rng.usize(0..ties) == 0 {
                    best = Some((row, key));
                }
            }
            _ => {
                ties = 1;
                best = Some((row, key));
            }
        }
    }
    best.map(|(row, _)| row)
}

struct RivalPicker {
    rule: Box<dyn Rule>,
    reads_caches: bool,
    clock: VirtualClock,
    rng: Rng,
    workers: Vec<Worker>,
}

impl WorkerPicker for RivalPicker {
    fn required_worker_inputs(&self) -> WorkerInputs {
        if self.reads_caches {
            WorkerInputs::LOAD | WorkerInputs::CACHE
        } else {
            WorkerInputs::LOAD
        }
    }

    fn pick(
        &mut self,
        context: &WorkerSelectionContext<'_>,
        input: WorkerInputView<'_>,
    ) -> Result<usize, WorkerSelectionPolicyError> {
        let loads = input
            .load()
            .filter(|loads| !loads.is_empty())
            .ok_or_else(|| WorkerSelectionPolicyError::failed("no eligible worker"))?;
        self.workers.clear();
        self.workers
            .extend(loads.iter().enumerate().map(|(row, load)| {
                let cache = input.cache().and_then(|caches| caches.get(row));
                let cached_tokens = cache.map_or(0, |cache| cache.accounting_cache_estimate().1);
                Worker {
                    requests: load.active_requests(),
                    queued_tokens: load.active_prefill_tokens(),
                    new_tokens: if context.tracks_prefill_tokens() {
                        context.prompt_tokens().saturating_sub(cached_tokens)
                    } else {
                        0
                    },
                    cached_blocks: cache.map_or(0.0, |cache| cache.device_overlap_blocks()),
                }
            }));
        let request = Request {
            now_ms: self.clock.now_ms(),
            prompt_blocks: context.request_blocks() as f64,
        };
        Ok(self.rule.choose(&request, &self.workers, &mut self.rng))
    }
}

#[cfg(test)]
mod tests;
