//! One selection by the plug-in and by Dynamo's default policy, on identical inputs.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on should stop"
)]

mod fixture;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dynamo_kv_router::{KvRouterConfig, WorkerType};

use fixture::{BLOCK_SIZE, both, pool, select};

fn selection(criterion: &mut Criterion) {
    for router_temperature in [0.0, 0.7] {
        let mut group =
            criterion.benchmark_group(format!("selection/temperature={router_temperature}"));
        group
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1));
        for count in [8, 64, 1024] {
            let (workers, request) = pool(count);
            let config = KvRouterConfig {
                router_temperature,
                ..KvRouterConfig::default()
            };
            let (_pools, ours, dynamos) = both(&config, WorkerType::Aggregated);
            for (name, policy) in [("regime", ours), ("dynamo", dynamos)] {
                group.bench_function(BenchmarkId::new(name, count), |bencher| {
                    bencher.iter(|| {
                        black_box(select(&policy, &workers, &request, BLOCK_SIZE).unwrap())
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, selection);
criterion_main!(benches);
