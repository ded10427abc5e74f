//! The workers of a pool as a router knows them.

use std::collections::{HashMap, HashSet};

use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_kv_router::{WorkerConfigLike, WorkerId};

use crate::config::{Lifetime, PoolSpec};

/// Dynamo's limit where an engine has none.
const UNBOUNDED_BATCH_TOKENS: u64 = 8192;

/// The workers' names and who of them is there.
///
/// Dynamo's selector takes the workers in a `HashMap` and goes through them in its order, which
/// differs from run to run, and so would ties. The order of a map that nobody changes is fixed,
/// though: worker i of the pool is given the i-th key as its name, so that row i of every selection
/// is worker i.
pub(crate) struct Roster {
    shapes: HashMap<WorkerId, WorkerShape>,
    names: Vec<WorkerId>,
    indices: Vec<usize>,
    lifetimes: Vec<Lifetime>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerShape {
    ranks: u32,
    batch_tokens: u64,
    kv_blocks: u64,
}

impl WorkerConfigLike for WorkerShape {
    fn data_parallel_start_rank(&self) -> u32 {
        0
    }

    fn data_parallel_size(&self) -> u32 {
        self.ranks
    }

    fn max_num_batched_tokens(&self) -> Option<u64> {
        Some(self.batch_tokens)
    }

    fn total_kv_blocks(&self) -> Option<u64> {
        Some(self.kv_blocks)
    }
}

impl Roster {
    pub(crate) fn new(pool: &PoolSpec) -> Self {
        let launch = &pool.engine.launch;
        let shape = WorkerShape {
            ranks: launch.dp_size.max(1),
            batch_tokens: match launch.engine.max_num_batched_tokens {
                usize::MAX => UNBOUNDED_BATCH_TOKENS,
                tokens => tokens as u64,
            },
            kv_blocks: launch.engine.num_gpu_blocks as u64,
        };
        let shapes: HashMap<WorkerId, WorkerShape> =
            (0..pool.workers as u64).map(|name| (name, shape)).collect();
        let names: Vec<WorkerId> = shapes.keys().copied().collect();
        let mut indices = vec![0; names.len()];
        for (index, name) in names.iter().enumerate() {
            indices[*name as usize] = index;
        }
        Self {
            shapes,
            names,
            indices,
            lifetimes: pool.lifetimes.clone(),
        }
    }

    pub(crate) fn shapes(&self) -> &HashMap<WorkerId, WorkerShape> {
        &self.shapes
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn name(&self, index: usize) -> WorkerId {
        self.names[index]
    }

    pub(crate) fn index(&self, name: WorkerId) -> usize {
        self.indices[name as usize]
    }

    /// Index of a worker's rank among all ranks of the pool, as aisimulate-core counts them.
    pub(crate) fn rank_index(&self, name: WorkerId, rank: u32) -> usize {
        let ranks = self.shapes[&name].ranks as usize;
        self.index(name) * ranks + rank as usize
    }

    /// Every rank of every worker, with the tokens of its largest batch.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = (WorkerWithDpRank, u64)> + '_ {
        self.shapes.iter().flat_map(|(name, shape)| {
            (0..shape.ranks).map(|rank| (WorkerWithDpRank::new(*name, rank), shape.batch_tokens))
        })
    }

    /// Data-parallel range of each worker, for Dynamo's load tracking.
    pub(crate) fn ranges(&self) -> HashMap<WorkerId, (u32, u32)> {
        self.shapes
            .iter()
            .map(|(name, shape)| (*name, (0, shape.ranks)))
            .collect()
    }

    /// The workers that are there at a time; `None` if all of them always are.
    pub(crate) fn present(&self, time_seconds: f64) -> Option<HashSet<WorkerId>> {
        if self.lifetimes.is_empty() {
            return None;
        }
        let is_there = |index: usize| {
            self.lifetimes
                .iter()
                .filter(|lifetime| lifetime.worker == index)
                .all(|lifetime| lifetime.covers(time_seconds))
        };
        Some(
            (0..self.len())
                .filter(|index| is_there(*index))
                .map(|index| self.name(index))
                .collect(),
        )
    }

    /// The next time after `time_seconds` at which a worker comes or goes; infinite if none does.
    pub(crate) fn next_change(&self, time_seconds: f64) -> f64 {
        self.lifetimes
            .iter()
            .flat_map(|lifetime| [lifetime.from_seconds, lifetime.until_seconds])
            .filter(|change| *change > time_seconds)
            .fold(f64::INFINITY, f64::min)
    }
}
