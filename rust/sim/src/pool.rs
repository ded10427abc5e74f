//! The placement of one pool's requests: router replicas, event lag, workers that come and go.

use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

use aisimulate_core::replay::loadgen::{ReplayRequestHashes, ReplayRequestPayload};
use aisimulate_core::replay::{
    Placement, PlacementCacheSample, PlacementDecision, PlacementEffects, PlacementPolicy,
    ReplayAdmissionMetadata, WorkerTopology,
};
use anyhow::{Context, Result};
use dynamo_kv_router::WorkerId;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use crate::events::KvEvents;
use crate::roster::Roster;
use crate::router::{Arrival, Placed, Router};
use crate::run::Shared;

/// What the event loop hands over with a request.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    hashes: Option<ReplayRequestHashes>,
    is_prefill: bool,
}

impl ReplayAdmissionMetadata for Metadata {
    fn from_hashes(hashes: Option<ReplayRequestHashes>) -> Self {
        Self {
            hashes,
            is_prefill: false,
        }
    }

    fn for_prefill(self) -> Self {
        Self {
            is_prefill: true,
            ..self
        }
    }

    fn max_output_tokens_override(&self) -> Option<usize> {
        self.is_prefill.then_some(1)
    }

    fn into_hashes(self) -> Option<ReplayRequestHashes> {
        self.hashes
    }
}

/// Which part of a request's life the pool sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Prefill,
    Decode,
}

pub(crate) struct Pool<'a> {
    part: Part,
    block_tokens: u32,
    roster: Rc<Roster>,
    /// The names of the workers that are there; `None` if all always are.
    present: Option<HashSet<WorkerId>>,
    next_change_seconds: f64,
    routers: Vec<Router>,
    next_router: usize,
    routed: FxHashMap<Uuid, Routed>,
    lag_ms: f64,
    /// Events on their way to the routers, with the time they arrive, in milliseconds.
    lagging: VecDeque<(f64, KvEvents)>,
    /// Requests of clients that a closed loop's phase leaves out; not sent yet.
    parked: VecDeque<Arrival>,
    run: Shared<'a>,
}

#[derive(Clone, Copy)]
struct Routed {
    router: usize,
    worker: usize,
}

impl<'a> Pool<'a> {
    pub(crate) fn new(
        part: Part,
        block_tokens: u32,
        roster: Rc<Roster>,
        routers: Vec<Router>,
        lag_ms: f64,
        run: Shared<'a>,
    ) -> Self {
        Self {
            part,
            block_tokens,
            present: roster.present(0.0),
            next_change_seconds: roster.next_change(0.0),
            roster,
            routers,
            next_router: 0,
            routed: FxHashMap::default(),
            lag_ms,
            lagging: VecDeque::new(),
            parked: VecDeque::new(),
            run,
        }
    }

    /// Catch up with the clock: samples, workers that come and go, events that arrive.
    fn advance(&mut self, now_ms: f64) -> Result<()> {
        self.run.borrow_mut().advance(now_ms)?;
        let now_seconds = now_ms / 1e3;
        if now_seconds >= self.next_change_seconds {
            let before = self.present.take();
            self.present = self.roster.present(now_seconds);
            self.next_change_seconds = self.roster.next_change(now_seconds);
            for name in before.into_iter().flatten() {
                if !self.is_present(name) {
                    self.routers
                        .iter_mut()
                        .for_each(|router| router.forget_worker(name));
                }
            }
        }
        while let Some((_, events)) = self
            .lagging
            .pop_front_if(|(visible_ms, _)| *visible_ms <= now_ms)
        {
            self.apply(events)?;
        }
        Ok(())
    }

    fn is_present(&self, name: WorkerId) -> bool {
        self.present
            .as_ref()
            .is_none_or(|names| names.contains(&name))
    }

    fn apply(&mut self, events: KvEvents) -> Result<()> {
        for mut event in events.0 {
            event.worker_id = self.roster.name(event.worker_id as usize);
            if !self.is_present(event.worker_id) {
                continue;
            }
            let Some((last, others)) = self.routers.split_last_mut() else {
                return Ok(());
            };
            for router in others {
                router.apply(event.clone())?;
            }
            last.apply(event)?;
        }
        Ok(())
    }

    fn send(&mut self, arrival: Arrival, now_ms: f64) -> Result<Option<Placement>> {
        let router = self.next_router;
        self.next_router = (router + 1) % self.routers.len();
        let id = arrival.id;
        let now = self.run.borrow().instant(now_ms);
        let placed =
            self.routers[router].arrive(arrival, self.present.as_ref(), now_ms / 1e3, now)?;
        self.routed.insert(id, Routed { router, worker: 0 });
        Ok(placed.map(|placed| self.placement(router, placed, now_ms)))
    }

    fn placement(&mut self, router: usize, placed: Placed, now_ms: f64) -> Placement {
        if self.part != Part::Decode {
            self.run
                .borrow_mut()
                .placed(placed.id, now_ms, placed.uncached_tokens);
        }
        let worker = self.roster.index(placed.worker.worker_id);
        self.routed.insert(placed.id, Routed { router, worker });
        Placement {
            request_id: placed.id,
            scheduler_id: self
                .roster
                .rank_index(placed.worker.worker_id, placed.worker.dp_rank),
            reported_overlap_tokens: placed.overlap_blocks as usize * self.block_tokens as usize,
            cache_sample: Some(PlacementCacheSample {
                overlap_blocks: placed.overlap_blocks,
                best_available_overlap_blocks: placed.best_overlap_blocks,
                isl_blocks: placed.input_blocks,
            }),
            placement_replica_id: (self.routers.len() > 1).then_some(router),
        }
    }

    /// Send the parked requests that the closed loop's phase has room for.
    fn unpark(&mut self, now_ms: f64) -> Result<Vec<Placement>> {
        let mut released = Vec::new();
        while !self.parked.is_empty() && self.run.borrow().may_send(now_ms) {
            let Some(arrival) = self.parked.pop_front() else {
                break;
            };
            self.run
                .borrow_mut()
                .sent_late(arrival.id, now_ms, arrival.output_tokens);
            released.extend(self.send(arrival, now_ms)?);
        }
        Ok(released)
    }

    fn drain(&mut self, router: usize, now_ms: f64) -> Result<Vec<Placement>> {
        let now = self.run.borrow().instant(now_ms);
        let placed = self.routers[router].drain(self.present.as_ref(), now)?;
        let mut placements: Vec<Placement> = placed
            .into_iter()
            .map(|placed| self.placement(router, placed, now_ms))
            .collect();
        placements.extend(self.unpark(now_ms)?);
        Ok(placements)
    }

    fn arrival(
        &self,
        request: &ReplayRequestPayload,
        metadata: Metadata,
        session_id: Option<String>,
    ) -> Result<Arrival> {
        let described = request.metadata();
        let id = described.uuid.context("a request has no id")?;
        let most_tokens = metadata.max_output_tokens_override().unwrap_or(usize::MAX);
        let hashes = self.routers[0].reads_prompts().then(|| {
            metadata.hashes.unwrap_or_else(|| match request {
                ReplayRequestPayload::Materialized(request) => {
                    ReplayRequestHashes::from_tokens(&request.tokens, self.block_tokens)
                }
                ReplayRequestPayload::Deferred { .. } => {
                    ReplayRequestHashes::from_tokens(&request.prompt_tokens(), self.block_tokens)
                }
            })
        });
        let (priority_jump, strict_priority) = described.router_priorities();
        Ok(Arrival {
            id,
            input_tokens: request.input_length(),
            output_tokens: described.effective_max_output_tokens().min(most_tokens),
            hashes,
            session_id,
            priority_jump,
            strict_priority,
            policy_class: described.policy_class.clone(),
        })
    }
}

impl PlacementPolicy<ReplayRequestPayload> for Pool<'_> {
    type Metadata = Metadata;
    type Observation = KvEvents;

    fn place(
        &mut self,
        request: &ReplayRequestPayload,
        metadata: Metadata,
        session_id: Option<String>,
        now_ms: f64,
    ) -> Result<PlacementEffects> {
        self.advance(now_ms)?;
        let arrival = self.arrival(request, metadata, session_id)?;
        let id = arrival.id;
        let mut released = self.unpark(now_ms)?;
        if self.part != Part::Decode {
            let mut run = self.run.borrow_mut();
            if !self.parked.is_empty() || !run.may_send(now_ms) {
                drop(run);
                self.parked.push_back(arrival);
                return Ok(PlacementEffects {
                    decision: PlacementDecision::Queued,
                    released,
                });
            }
            let described = request.metadata();
            let arrived_ms = described.arrival_timestamp_ms.unwrap_or(now_ms);
            run.arrived(id, arrived_ms, described.effective_max_output_tokens());
        }
        let placed = self.send(arrival, now_ms)?;
        let decision = placed.map_or(PlacementDecision::Queued, PlacementDecision::Immediate);
        released.retain(|placement| placement.request_id != id);
        Ok(PlacementEffects { decision, released })
    }

    fn observe(&mut self, events: KvEvents, now_ms: f64) -> Result<Vec<Placement>> {
        self.advance(now_ms)?;
        if self.lag_ms == 0.0 {
            self.apply(events)?;
        } else if !events.0.is_empty() {
            self.lagging.push_back((now_ms + self.lag_ms, events));
        }
        self.unpark(now_ms)
    }

    fn cancel_pending(&mut self, id: Uuid) -> bool {
        let Some(routed) = self.routed.get(&id) else {
            return false;
        };
        self.routers[routed.router].cancel(id)
    }

    fn request_terminal(&mut self, id: Uuid, now_ms: f64) -> Result<Vec<Placement>> {
        self.advance(now_ms)?;
        let routed = self
            .routed
            .remove(&id)
            .context("an unknown request ended")?;
        let now = self.run.borrow().instant(now_ms);
        self.routers[routed.router].finished(id, now)?;
        match self.part {
            Part::Whole | Part::Decode => {
                self.run.borrow_mut().ended(id, routed.worker, now_ms)?;
            }
            Part::Prefill => self.run.borrow_mut().left_prefill(id),
        }
        self.drain(routed.router, now_ms)
    }

    fn prefill_completed(&mut self, id: Uuid, now_ms: f64) -> Result<Vec<Placement>> {
        self.advance(now_ms)?;
        let routed = *self
            .routed
            .get(&id)
            .context("an unknown request is prefilled")?;
        let now = self.run.borrow().instant(now_ms);
        self.routers[routed.router].prefill_completed(id, now)?;
        if self.part != Part::Decode {
            self.run.borrow_mut().first_token(id, routed.worker, now_ms);
        }
        self.drain(routed.router, now_ms)
    }

    fn pending_count(&self) -> usize {
        let waiting: usize = self.routers.iter().map(Router::waiting).sum();
        waiting + self.parked.len()
    }

    // Workers come and go by their lifetimes here; the event loop has all of them from the start.
    fn worker_ready(&mut self, _: WorkerTopology, _: f64) -> Result<Vec<Placement>> {
        Ok(Vec::new())
    }

    fn worker_draining(&mut self, _: WorkerTopology, _: f64) -> Result<Vec<Placement>> {
        Ok(Vec::new())
    }

    fn worker_removed(&mut self, _: WorkerTopology, _: f64) -> Result<Vec<Placement>> {
        Ok(Vec::new())
    }

    fn topology_settled(&mut self, _: f64) -> Result<Vec<Placement>> {
        Ok(Vec::new())
    }
}
