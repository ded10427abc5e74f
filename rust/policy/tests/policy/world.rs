//! Random worker sets and requests for property tests.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_kv_router::{
    KvRouterConfig, SchedulingRequest, SharedCacheHits, SharedCacheType, WorkerLoadProjection,
    WorkerType,
};
use proptest::prelude::*;

use crate::support::{ROLES, Worker, Workers, request};

const TAINTS: [&str; 3] = ["rack", "zone", "spot"];

/// Everything that one selection depends on.
#[derive(Clone, Debug)]
pub struct World {
    pub role: WorkerType,
    pub config: KvRouterConfig,
    pub block_size: u32,
    workers: Vec<Ranks>,
    asked: Asked,
}

/// One worker: its taints and what each of its data-parallel ranks holds.
#[derive(Clone, Debug)]
struct Ranks {
    taints: Vec<bool>,
    ranks: Vec<Rank>,
}

#[derive(Clone, Debug)]
struct Rank {
    device_host_disk_blocks: [usize; 3],
    estimated: Option<(f64, usize)>,
    load: Option<WorkerLoadProjection>,
}

#[derive(Clone, Debug)]
struct Asked {
    prompt_tokens: usize,
    tracks_prefill: bool,
    has_tiers: bool,
    shared_hits: Option<Vec<bool>>,
    preferred: Vec<Option<f32>>,
    pinned: Option<prop::sample::Index>,
    allowed: Option<Vec<prop::sample::Index>>,
}

impl World {
    pub fn workers(&self) -> Workers {
        self.workers
            .iter()
            .zip(0_u64..)
            .map(|(worker, id)| {
                let taints = TAINTS
                    .iter()
                    .zip(&worker.taints)
                    .filter(|(_, has)| **has)
                    .map(|(taint, _)| (*taint).to_owned())
                    .collect();
                let ranks = worker.ranks.len() as u32;
                (id, Worker { ranks, taints })
            })
            .collect()
    }

    pub fn request(&self) -> SchedulingRequest {
        let asked = &self.asked;
        let mut request = request(asked.prompt_tokens);
        request.track_prefill_tokens = asked.tracks_prefill;
        request.shared_cache_hits = asked.shared_hits.as_deref().map(SharedCacheHits::from_hits);
        request.routing_constraints.preferred_taints = TAINTS
            .iter()
            .zip(&asked.preferred)
            .filter_map(|(taint, weight)| Some(((*taint).to_owned(), (*weight)?)))
            .collect::<HashMap<_, _>>();
        request.pinned_worker = asked.pinned.map(|index| {
            let worker = index.index(self.workers.len());
            let rank = index.index(self.workers[worker].ranks.len());
            WorkerWithDpRank::new(worker as u64, rank as u32)
        });
        if asked.pinned.is_none() {
            request.allowed_worker_ids = asked.allowed.as_ref().map(|indices| {
                indices
                    .iter()
                    .map(|index| index.index(self.workers.len()) as u64)
                    .collect::<HashSet<_>>()
            });
        }
        for (worker, id) in self.workers.iter().zip(0_u64..) {
            for (rank, dp_rank) in worker.ranks.iter().zip(0_u32..) {
                rank.describe(
                    &mut request,
                    WorkerWithDpRank::new(id, dp_rank),
                    asked.has_tiers,
                );
            }
        }
        request
    }
}

impl Rank {
    fn describe(&self, request: &mut SchedulingRequest, at: WorkerWithDpRank, has_tiers: bool) {
        let overlap = &mut request.overlap;
        if has_tiers {
            let [device, host, disk] = self.device_host_disk_blocks;
            overlap.tier_overlap_blocks.device.insert(at, device);
            overlap.tier_overlap_blocks.host_pinned.insert(at, host);
            overlap.tier_overlap_blocks.disk.insert(at, disk);
        }
        if let Some((blocks, tokens)) = self.estimated {
            overlap.effective_overlap_blocks.insert(at, blocks);
            overlap.effective_cached_tokens.insert(at, tokens);
        }
        if let Some(load) = self.load {
            request.worker_loads.insert(at, load);
        }
    }
}

prop_compose! {
    fn rank()(
        device_host_disk_blocks in [0_usize..40, 0_usize..20, 0_usize..20],
        estimated in prop::option::weighted(0.9, (0.0..60.0_f64, 0_usize..2000)),
        load in prop::option::weighted(0.9, (0_usize..20_000, 0_usize..3000, 0_usize..64, 0_usize..200)),
    ) -> Rank {
        Rank {
            device_host_disk_blocks,
            estimated,
            load: load.map(|(active_prefill_tokens, active_decode_blocks, active_requests, additional_active_blocks)| {
                WorkerLoadProjection {
                    active_prefill_tokens,
                    active_decode_blocks,
                    active_requests,
                    additional_active_blocks,
                }
            }),
        }
    }
}

/// Ranks of which many are alike, so that there are ties.
fn ranks() -> impl Strategy<Value = Vec<Rank>> {
    let idle = Rank {
        device_host_disk_blocks: [0; 3],
        estimated: None,
        load: Some(WorkerLoadProjection::default()),
    };
    prop_oneof![
        4 => prop::collection::vec(rank(), 1..=2),
        1 => Just(vec![idle]),
    ]
}

prop_compose! {
    fn asked()(
        prompt_tokens in prop_oneof![Just(0_usize), 1_usize..64, 64_usize..8192],
        tracks_prefill in prop::bool::weighted(0.7),
        has_tiers in prop::bool::weighted(0.7),
        shared_hits in prop::option::of(prop::collection::vec(any::<bool>(), 0..64)),
        preferred in prop::collection::vec(prop::option::weighted(0.3, -3.0..3.0_f32), TAINTS.len()),
        pinned in prop::option::weighted(0.1, any::<prop::sample::Index>()),
        allowed in prop::option::weighted(0.2, prop::collection::vec(any::<prop::sample::Index>(), 1..16)),
    ) -> Asked {
        Asked { prompt_tokens, tracks_prefill, has_tiers, shared_hits, preferred, pinned, allowed }
    }
}

/// A weight that is often 0, which switches its term off.
fn weight(upper: f64) -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(0.0), 3 => 0.0..upper]
}

prop_compose! {
    fn config()(
        (overlap_score_credit, overlap_score_credit_decay) in (weight(2.0), weight(3.0)),
        (prefill_load_scale, decode_active_request_weight) in (weight(10.0), weight(5.0)),
        (host_cache_hit_weight, disk_cache_hit_weight) in (weight(1.0), weight(1.0)),
        shared_cache_multiplier in prop::option::of(weight(1.0)),
        has_shared_cache: bool,
        conditional_disagg_enabled: bool,
        router_temperature in prop::sample::select(vec![0.0, 0.1, 0.3, 0.7, 1.0, 10.0]),
    ) -> KvRouterConfig {
        KvRouterConfig {
            overlap_score_credit,
            overlap_score_credit_decay,
            prefill_load_scale,
            decode_active_request_weight,
            host_cache_hit_weight,
            disk_cache_hit_weight,
            shared_cache_multiplier,
            shared_cache_type: if has_shared_cache {
                SharedCacheType::Hicache
            } else {
                SharedCacheType::None
            },
            conditional_disagg_enabled,
            router_temperature,
            ..KvRouterConfig::default()
        }
    }
}

prop_compose! {
    /// A world with a number of workers in `count`, each of one or two ranks.
    pub fn world(count: RangeInclusive<usize>)(
        role in prop::sample::select(ROLES.to_vec()),
        config in config(),
        block_size in prop::sample::select(vec![1_u32, 3, 16, 17, 64]),
        workers in prop::collection::vec(
            (prop::collection::vec(any::<bool>(), TAINTS.len()), ranks())
                .prop_map(|(taints, ranks)| Ranks { taints, ranks }),
            count,
        ),
        asked in asked(),
    ) -> World {
        World { role, config, block_size, workers, asked }
    }
}
