//! One router replica: what it knows of its workers, and how it places requests.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use aisimulate_core::replay::loadgen::ReplayRequestHashes;
use anyhow::{Context, Result};
use dynamo_kv_router::indexer::TieredMatchDetails;
use dynamo_kv_router::plugins::worker_selection::WorkerSelectionPolicy;
use dynamo_kv_router::protocols::{PrefillLoadHint, RoutingConstraints, WorkerWithDpRank};
use dynamo_kv_router::scheduling::{
    OverlapAnalysis, OverlapSignals, PolicyClassConfig, PolicyProfile, PolicyQueue, QueueSnapshot,
    ScheduleMode, WorkerPlacement,
};
use dynamo_kv_router::{
    ActiveSequencesMultiWorker, KvRouterConfig, LocalBlockHash, NoopSequencePublisher, RadixTree,
    RouterEvent, SchedulingRequest, SequenceRequest, SessionContext, WorkerId,
    WorkerSelectionInput, WorkerSelector,
};
use tokio::time::Instant;
use uuid::Uuid;

use crate::roster::Roster;

/// Load tracking of one replica; read by samples too.
pub(crate) type Loads = ActiveSequencesMultiWorker<NoopSequencePublisher>;

/// A request as it reaches a router.
pub(crate) struct Arrival {
    pub(crate) id: Uuid,
    pub(crate) input_tokens: usize,
    pub(crate) output_tokens: usize,
    /// `None` where the router does not look at the prompt.
    pub(crate) hashes: Option<ReplayRequestHashes>,
    pub(crate) session_id: Option<String>,
    pub(crate) priority_jump: f64,
    pub(crate) strict_priority: u32,
    pub(crate) policy_class: Option<String>,
}

/// Where a request went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) id: Uuid,
    pub(crate) worker: WorkerWithDpRank,
    pub(crate) overlap_blocks: u32,
    pub(crate) best_overlap_blocks: u32,
    pub(crate) input_blocks: u32,
    pub(crate) uncached_tokens: usize,
}

/// A request whose prompt has been matched with the caches.
struct Matched {
    arrival: Arrival,
    active_hashes: Option<Vec<u64>>,
    overlap: OverlapSignals,
}

pub(crate) struct Router {
    config: KvRouterConfig,
    block_tokens: u32,
    roster: Rc<Roster>,
    cached: RadixTree,
    has_cached: bool,
    loads: Rc<Loads>,
    policy: WorkerSelectionPolicy,
    classes: PolicyProfile,
    waiting: PolicyQueue<Matched>,
}

impl Router {
    pub(crate) fn new(
        config: &KvRouterConfig,
        role: &'static str,
        block_tokens: usize,
        roster: Rc<Roster>,
        policy: WorkerSelectionPolicy,
    ) -> Result<Self> {
        let classes = config.configured_policy_profile()?;
        // Requests expire by the wall clock, which virtual time knows nothing of.
        let loads = Loads::new_without_expiry(
            NoopSequencePublisher,
            block_tokens,
            roster.ranges(),
            false,
            0,
            role,
        );
        Ok(Self {
            config: config.clone(),
            block_tokens: u32::try_from(block_tokens).context("block_size exceeds 32 bits")?,
            roster,
            cached: RadixTree::new(),
            has_cached: false,
            loads: Rc::new(loads),
            policy,
            waiting: PolicyQueue::new(classes.clone()),
            classes,
        })
    }

    pub(crate) fn loads(&self) -> Rc<Loads> {
        Rc::clone(&self.loads)
    }

    /// Whether requests must carry their block hashes.
    pub(crate) fn reads_prompts(&self) -> bool {
        self.config.router_assume_kv_reuse
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.pending_count()
    }

    pub(crate) fn apply(&mut self, event: RouterEvent) -> Result<()> {
        self.has_cached = true;
        self.cached
            .apply_event(event)
            .context("a KV event does not fit the router's index")
    }

    pub(crate) fn forget_worker(&mut self, name: WorkerId) {
        self.cached.remove_worker(name);
    }

    /// Place a request, or keep it if every worker is busy and the router queues.
    pub(crate) fn arrive(
        &mut self,
        arrival: Arrival,
        present: Option<&HashSet<WorkerId>>,
        now_seconds: f64,
        now: Instant,
    ) -> Result<Option<Placed>> {
        let matched = self.matched(arrival);
        let snapshot = self.snapshot(&matched, present);
        let named = matched.arrival.policy_class.as_deref();
        let class = self
            .classes
            .resolve_class_index(named, snapshot.uncached_tokens);
        let queues = self.classes.class(class).queueing_enabled()
            && (self.waiting.has_backlog(class)
                || all_busy(
                    self.classes.class(class),
                    &self.roster,
                    present,
                    &self.loads.active_tokens(now),
                ));
        if !queues {
            return self.place(matched, present, now).map(Some);
        }
        let ranks = self.roster.ranks().count();
        let (jump, strict) = (
            matched.arrival.priority_jump,
            matched.arrival.strict_priority,
        );
        self.waiting
            .enqueue(
                class,
                ranks,
                snapshot,
                now_seconds,
                jump,
                strict,
                WorkerPlacement::Any,
                matched,
            )
            .map_err(|(rejection, _)| anyhow::Error::new(rejection))?;
        Ok(None)
    }

    pub(crate) fn prefill_completed(&self, id: Uuid, now: Instant) -> Result<()> {
        self.loads.mark_prefill_completed(&id.to_string(), now)?;
        Ok(())
    }

    pub(crate) fn finished(&self, id: Uuid, now: Instant) -> Result<()> {
        self.loads.free(&id.to_string(), now)?;
        Ok(())
    }

    pub(crate) fn cancel(&mut self, id: Uuid) -> bool {
        let before = self.waiting();
        self.waiting.retain(|matched| matched.arrival.id != id);
        self.waiting() < before
    }

    /// Place the waiting requests that there is room for now.
    pub(crate) fn drain(
        &mut self,
        present: Option<&HashSet<WorkerId>>,
        now: Instant,
    ) -> Result<Vec<Placed>> {
        let mut placed = Vec::new();
        while self.waiting() > 0 {
            let tokens = self.loads.active_tokens(now);
            let roster = &self.roster;
            let next = self
                .waiting
                .pop_next(|_, class, _| !all_busy(class, roster, present, &tokens));
            let Some(next) = next else { break };
            placed.push(self.place(next.into_payload(), present, now)?);
        }
        Ok(placed)
    }

    fn matched(&self, mut arrival: Arrival) -> Matched {
        let hashes = arrival.hashes.take();
        let cached = match &hashes {
            Some(hashes) if self.has_cached => {
                let blocks = hashes.local_block_hashes.iter().copied();
                TieredMatchDetails {
                    device: self
                        .cached
                        .find_match_details(blocks.map(LocalBlockHash).collect(), false),
                    lower_tier: HashMap::new(),
                }
            }
            _ => TieredMatchDetails::default(),
        };
        let overlap = OverlapAnalysis::new(&self.config, self.block_tokens, &cached).signals();
        let active_hashes = match hashes {
            Some(hashes) => self
                .config
                .router_track_active_blocks
                .then_some(hashes.sequence_hashes),
            // Dynamo has a decode request hold blocks that it shares with no other.
            None => self
                .config
                .random_seq_hashes_for_tracking(arrival.input_tokens / self.block_tokens as usize),
        };
        Matched {
            arrival,
            active_hashes,
            overlap,
        }
    }

    fn snapshot(&self, matched: &Matched, present: Option<&HashSet<WorkerId>>) -> QueueSnapshot {
        let cached_tokens = matched
            .overlap
            .effective_cached_tokens
            .iter()
            .filter(|(worker, _)| is_present(present, worker.worker_id))
            .map(|(_, tokens)| *tokens)
            .max();
        QueueSnapshot::new(matched.arrival.input_tokens, cached_tokens.unwrap_or(0))
    }

    fn place(
        &self,
        matched: Matched,
        present: Option<&HashSet<WorkerId>>,
        now: Instant,
    ) -> Result<Placed> {
        let Arrival {
            id,
            input_tokens,
            output_tokens,
            ..
        } = matched.arrival;
        let worker_loads = self
            .loads
            .project_worker_loads(matched.active_hashes.as_deref(), now);
        let track_prefill_tokens = self.config.router_track_prefill_tokens;
        let mut request = SchedulingRequest {
            mode: ScheduleMode::Tracked {
                request_id: id.to_string(),
            },
            token_seq: matched.active_hashes,
            isl_tokens: input_tokens,
            lora_name: None,
            expected_output_tokens: u32::try_from(output_tokens).ok(),
            affinity_target: None,
            pinned_worker: None,
            allowed_worker_ids: None,
            routing_constraints: RoutingConstraints::default(),
            router_config_override: None,
            track_prefill_tokens,
            priority_jump: matched.arrival.priority_jump,
            strict_priority: matched.arrival.strict_priority,
            policy_class: matched.arrival.policy_class,
            session_context: matched
                .arrival
                .session_id
                .map(|session| SessionContext::new(session, None, None, None)),
            overlap: matched.overlap,
            kv_transfer_candidates: None,
            retain_kv_transfer_chain: false,
            shared_cache_hits: None,
            worker_loads,
            resp_tx: None,
        };
        let best_overlap_blocks = request
            .overlap
            .effective_overlap_blocks
            .iter()
            .filter(|(worker, _)| is_present(present, worker.worker_id))
            .map(|(_, blocks)| blocks.round() as u32)
            .max()
            .unwrap_or(0);
        let selected = self.policy.select_worker(WorkerSelectionInput::configured(
            self.roster.shapes(),
            &request,
            request.eligibility().with_available_workers(present),
            self.block_tokens,
        ))?;
        let uncached_tokens = input_tokens.saturating_sub(selected.cached_tokens);
        let prefill_load_hint =
            (track_prefill_tokens && uncached_tokens > 0).then_some(PrefillLoadHint {
                initial_effective_prefill_tokens: uncached_tokens,
                expected_prefill_duration: None,
            });
        self.loads.add_request(
            SequenceRequest {
                request_id: id.to_string(),
                token_sequence: request.token_seq.take(),
                track_prefill_tokens,
                expected_output_tokens: request.expected_output_tokens,
                prefill_load_hint,
                worker: selected.worker,
                lora_name: None,
            },
            now,
        )?;
        Ok(Placed {
            id,
            worker: selected.worker,
            overlap_blocks: selected.effective_overlap_blocks.round() as u32,
            best_overlap_blocks,
            input_blocks: u32::try_from(input_tokens.div_ceil(self.block_tokens as usize))
                .unwrap_or(u32::MAX),
            uncached_tokens,
        })
    }
}

fn is_present(present: Option<&HashSet<WorkerId>>, name: WorkerId) -> bool {
    present.is_none_or(|names| names.contains(&name))
}

/// Whether every rank of every worker has prompt tokens beyond the class's threshold.
fn all_busy(
    class: &PolicyClassConfig,
    roster: &Roster,
    present: Option<&HashSet<WorkerId>>,
    active_tokens: &HashMap<WorkerWithDpRank, usize>,
) -> bool {
    roster
        .ranks()
        .filter(|(worker, _)| is_present(present, worker.worker_id))
        .all(|(worker, batch_tokens)| {
            let tokens = active_tokens.get(&worker).copied().unwrap_or(0);
            class.worker_is_busy(tokens, batch_tokens)
        })
}
