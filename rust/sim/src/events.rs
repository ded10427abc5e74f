//! KV events on their way from the engines to the routers.

use aisimulate_core::engine::{KvEvent, KvEventData};
use aisimulate_core::replay::{EngineEventBatch, ReplayEngineObservation, WorkerStage};
use dynamo_kv_router::RouterEvent;
use dynamo_kv_router::protocols::{
    ExternalSequenceBlockHash, KvCacheEvent, KvCacheEventData, KvCacheRemoveData, KvCacheStoreData,
    KvCacheStoredBlockData, LocalBlockHash,
};

/// Events of one pass. The worker of an event is its index in the pool.
#[derive(Debug, Default)]
pub(crate) struct KvEvents(pub(crate) Vec<RouterEvent>);

impl EngineEventBatch for KvEvents {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }
}

/// Turns the engines' events into the router's.
#[derive(Debug)]
pub(crate) struct RouterObservation;

impl ReplayEngineObservation for RouterObservation {
    type Batch = KvEvents;

    const CAPTURE_ENGINE_KV_EVENTS: bool = true;

    /// Dynamo's decode routers know loads only.
    fn capture_engine_kv_events(stage: WorkerStage) -> bool {
        stage != WorkerStage::Decode
    }

    fn observe_engine_events(
        stage: WorkerStage,
        worker: usize,
        _dp_rank: u32,
        events: Vec<KvEvent>,
    ) -> KvEvents {
        if stage == WorkerStage::Decode {
            return KvEvents::default();
        }
        KvEvents(
            events
                .into_iter()
                .map(|event| RouterEvent::new(worker as u64, router_event(event)))
                .collect(),
        )
    }
}

fn router_event(event: KvEvent) -> KvCacheEvent {
    let data = match event.data {
        KvEventData::Stored(stored) => KvCacheEventData::Stored(KvCacheStoreData {
            parent_hash: stored.parent_hash.map(ExternalSequenceBlockHash),
            start_position: stored
                .start_position
                .and_then(|position| u32::try_from(position).ok()),
            blocks: stored
                .blocks
                .into_iter()
                .map(|block| KvCacheStoredBlockData {
                    block_hash: ExternalSequenceBlockHash(block.block_hash),
                    tokens_hash: LocalBlockHash(block.tokens_hash),
                    mm_extra_info: None,
                })
                .collect(),
        }),
        KvEventData::Removed { block_hashes } => KvCacheEventData::Removed(KvCacheRemoveData {
            block_hashes: block_hashes
                .into_iter()
                .map(ExternalSequenceBlockHash)
                .collect(),
        }),
    };
    KvCacheEvent {
        event_id: event.event_id,
        data,
        dp_rank: event.dp_rank,
    }
}
