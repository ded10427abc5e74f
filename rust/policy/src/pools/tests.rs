use dynamo_kv_router::WorkerLoadProjection;
use dynamo_kv_router::protocols::WorkerWithDpRank;

use super::*;

#[path = "../../tests/policy/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the integration tests, which use all of it"
)]
mod support;

use support::{Plugin, Worker, Workers, request, select};

#[test]
fn a_selection_does_not_wait_for_whoever_holds_the_pools() {
    let plugin = Plugin::unset(KvRouterConfig::default());
    let policy = plugin.policy(WorkerType::Prefill);
    let workers: Workers = [(
        7,
        Worker {
            ranks: 1,
            ..Worker::default()
        },
    )]
    .into();
    let mut request = request(16);
    request.worker_loads.insert(
        WorkerWithDpRank::from_worker_id(7),
        WorkerLoadProjection::default(),
    );
    // As a swap, a factory or a reader of the handle would hold it. Were it taken on the way
    // to a worker, this thread would wait for itself.
    let held = plugin.pools.0.lock();
    assert_eq!(
        select(&policy, &workers, &request, 16)
            .unwrap()
            .worker
            .worker_id,
        7
    );
    drop(held);
    assert_eq!(plugin.pools.recent_decisions(None, 10).len(), 1);
}
