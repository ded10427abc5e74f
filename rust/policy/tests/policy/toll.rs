//! `mode: toll`: the cost that the plug-in computes from Dynamo's inputs, against the formula.

use dynamo_kv_router::protocols::WorkerWithDpRank;
use dynamo_kv_router::{KvRouterConfig, SchedulingRequest, WorkerLoadProjection};
use dynamo_regime_policy::{Target, WorkerType};
use proptest::prelude::*;

use crate::support::{Plugin, Worker, Workers, change, every_role, request, select};

const BLOCK_TOKENS: u32 = 16;

#[derive(Clone, Copy, Debug)]
struct Load {
    backlog_tokens: usize,
    active_blocks: usize,
    requests: usize,
    new_blocks: usize,
    cached_blocks: usize,
}

/// One worker, and a request of 64 blocks.
fn world(load: Load) -> (Workers, SchedulingRequest) {
    let worker = WorkerWithDpRank::from_worker_id(1);
    let workers = Workers::from([(
        1,
        Worker {
            ranks: 1,
            ..Worker::default()
        },
    )]);
    let mut request = request(1_024);
    request.worker_loads.insert(
        worker,
        WorkerLoadProjection {
            active_prefill_tokens: load.backlog_tokens,
            active_decode_blocks: load.active_blocks,
            active_requests: load.requests,
            additional_active_blocks: load.new_blocks,
        },
    );
    let overlap = &mut request.overlap;
    overlap
        .tier_overlap_blocks
        .device
        .insert(worker, load.cached_blocks);
    overlap
        .effective_overlap_blocks
        .insert(worker, load.cached_blocks as f64);
    overlap
        .effective_cached_tokens
        .insert(worker, 16 * load.cached_blocks);
    (workers, request)
}

fn cost(plugin: &Plugin, role: WorkerType, load: Load) -> f64 {
    let (workers, mut request) = world(load);
    request.track_prefill_tokens = role != WorkerType::Decode;
    select(&plugin.policy(role), &workers, &request, BLOCK_TOKENS).unwrap();
    plugin.decision().cost
}

const PARAMETERS: &str = "{mode: toll, kv_blocks: 10000, interference: 0.2, queueing: 0.5, request_tokens: 50, \
                          active_token_weight: 0.25, pole_tokens: 8000}";

fn plugin() -> Plugin {
    Plugin::with_parameters(PARAMETERS, KvRouterConfig::default())
}

proptest! {
    #[test]
    fn the_cost_is_the_toll_of_what_dynamo_knows_of_the_worker(
        backlog_tokens in 0_usize..100_000,
        // Up to where the pole goes on as a straight line.
        active_blocks in 0_usize..8_900,
        requests in 0_usize..200,
        new_blocks in 0_usize..64,
        cached_blocks in 0_usize..=64,
        weight in 0.0_f64..5.0,
    ) {
        let load = Load { backlog_tokens, active_blocks, requests, new_blocks, cached_blocks };
        let plugin = plugin();
        plugin.policy(WorkerType::Aggregated);
        plugin.pools.swap(&Target::All, change(None, Some(weight))).unwrap();
        let uncached = 1_024.0 - 16.0 * cached_blocks as f64;
        let held = (active_blocks + new_blocks) as f64;
        let f = held / 10_000.0;
        let n = requests as f64;
        let expected = backlog_tokens as f64
            + uncached * (1.0 + weight * 0.2 * n)
            + 50.0 * n
            + 0.25 * 16.0 * held
            + 8_000.0 * f / (1.0 - f);
        let found = cost(&plugin, WorkerType::Aggregated, load);
        prop_assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected}");
    }
}

const BUSY: Load = Load {
    backlog_tokens: 500,
    active_blocks: 5_000,
    requests: 10,
    new_blocks: 0,
    cached_blocks: 64,
};

#[test]
fn a_decode_worker_is_charged_for_decoding_only() {
    let found = cost(&plugin(), WorkerType::Decode, BUSY);
    assert!(
        (found - (50.0 * 10.0 + 0.25 * 80_000.0 + 8_000.0)).abs() < 1e-6,
        "{found}"
    );
}

#[test]
fn a_prefill_worker_is_not_charged_for_requests_that_only_queue_there() {
    let load = Load {
        active_blocks: 0,
        cached_blocks: 0,
        ..BUSY
    };
    assert_eq!(cost(&plugin(), WorkerType::Prefill, load), 500.0 + 1_024.0);
}

/// The sentence with which these parameters are refused.
fn refusal(parameters: &str) -> String {
    let Err(error) = Plugin::resolve(&every_role(parameters), KvRouterConfig::default()) else {
        panic!("{parameters} was accepted");
    };
    let error = error.to_string();
    error
        .rsplit_once("\"regime\": ")
        .map_or(error.clone(), |(_, sentence)| sentence.to_owned())
}

#[test]
fn wrong_parameters_of_the_toll_are_refused_in_a_sentence_that_names_the_key() {
    for (parameters, sentence) in [
        (
            "{mode: toll}",
            "kv_blocks is missing: name the KV blocks of one worker, or set pole_tokens: 0",
        ),
        (
            "{mode: toll, kv_blocks: 0}",
            "kv_blocks must be finite and positive, but is 0",
        ),
        (
            "{mode: toll, kv_blocks: many}",
            "kv_blocks must be a number",
        ),
        (
            "{mode: toll, kv_blocks: 10, interference: -1}",
            "interference must be finite and not negative, but is -1",
        ),
        (
            "{kv_blocks: 10}",
            "kv_blocks belongs to mode: toll, and this instance has the other one: leave it out",
        ),
        (
            "{mode: toll, kv_blocks: 10, decode_active_request_weight: 1}",
            "decode_active_request_weight belongs to mode: linear, and this instance has the other one: leave it out",
        ),
    ] {
        assert_eq!(refusal(parameters), sentence, "{parameters}");
    }
    assert!(
        refusal("{mode: tol}").contains("unknown variant `tol`"),
        "{}",
        refusal("{mode: tol}")
    );
    Plugin::with_parameters("{mode: toll, pole_tokens: 0}", KvRouterConfig::default());
    Plugin::with_parameters("{mode: linear}", KvRouterConfig::default());
}

#[test]
fn those_who_wait_are_counted_in_mean_prompts_of_the_requests_before() {
    let plugin = plugin();
    let policy = plugin.policy(WorkerType::Aggregated);
    let cost_of = |cached_blocks: usize| {
        let load = Load {
            cached_blocks,
            active_blocks: 0,
            requests: 0,
            ..BUSY
        };
        let (workers, request) = world(load);
        select(&policy, &workers, &request, BLOCK_TOKENS).unwrap();
        plugin.decision().cost
    };
    // Nothing is known yet; then a prompt of 1,024 tokens; then the mean of that and of 512.
    for (cached_blocks, expected) in [
        (0, 500.0 + 1_024.0),
        (32, 500.0 + 512.0 * (1.0 + 0.5 * 500.0 / 1_024.0)),
        (32, 500.0 + 512.0 * (1.0 + 0.5 * 500.0 / 768.0)),
    ] {
        let found = cost_of(cached_blocks);
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}
