//! Where a cluster is a textbook queue, its waiting times are the textbook's.

use std::sync::Arc;

use dynamo_regime_sim::{
    Cluster, Engine, PoolSpec, Requests, Simulation, Timing, TimingModel, Trace, TraceRequest,
    Workload,
};
use fastrand::Rng;

use crate::support::{aggregated, run};

/// Requests of a run: the standard error of the mean sojourn is then well below the 2 % asked for.
const REQUESTS: u64 = 150_000;
/// Mean service time of a request.
const SERVICE_SECONDS: f64 = 1.0;
/// Tokens of a request with the mean service time.
const MEAN_TOKENS: f64 = 200.0;

/// A pass that takes a fixed time for each token that is not cached, and none to decode.
struct PerToken;

impl TimingModel for PerToken {
    fn predict_prefill_ms(
        &self,
        batch_size: usize,
        mean_isl: usize,
        mean_prefix: usize,
    ) -> anyhow::Result<f64> {
        let tokens = batch_size * (mean_isl - mean_prefix);
        Ok(tokens as f64 * SERVICE_SECONDS * 1e3 / MEAN_TOKENS)
    }

    fn predict_decode_ms(&self, _: usize, _: usize, _: usize, _: usize) -> anyhow::Result<f64> {
        Ok(0.0)
    }
}

/// A worker that serves one request at a time, without a cache.
fn server() -> Engine {
    let mut engine = Engine::from_json(
        r#"{"engine": {"block_size": 64, "num_gpu_blocks": 65536, "max_num_seqs": 1,
            "max_num_batched_tokens": null, "enable_prefix_caching": false,
            "enable_chunked_prefill": false}}"#,
    )
    .unwrap();
    engine.timing = Some(Timing::Model(Arc::new(PerToken)));
    engine
}

fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -mean * (1.0 - rng.f64()).ln()
}

/// Poisson arrivals that keep `servers` busy for a share `load` of the time.
fn queue(
    servers: usize,
    load: f64,
    requests: u64,
    mut tokens: impl FnMut(&mut Rng) -> f64,
) -> Simulation {
    let mut rng = Rng::with_seed(11);
    let mut arrival_seconds = 0.0;
    let between_arrivals = SERVICE_SECONDS / (servers as f64 * load);
    let requests: Vec<TraceRequest> = (0..requests)
        .map(|number| {
            arrival_seconds += exponential(&mut rng, between_arrivals);
            TraceRequest {
                arrival_seconds,
                input_tokens: tokens(&mut rng).round().max(1.0) as usize,
                output_tokens: 1,
                blocks: vec![number],
            }
        })
        .collect();
    let trace = Trace::from_requests(requests, 1 << 20).unwrap();
    let mut simulation = aggregated(servers, Workload::Trace(trace));
    simulation.cluster = Cluster::Aggregated(PoolSpec::new(servers, server()));
    // Requests wait in the router until a worker has nothing to prefill: one queue for all servers.
    simulation.router.config.router_queue_threshold = Some(0.0);
    simulation
}

fn exponential_tokens(rng: &mut Rng) -> f64 {
    exponential(rng, MEAN_TOKENS)
}

#[track_caller]
fn assert_within_two_percent(measured: f64, expected: f64) {
    let error = (measured / expected - 1.0).abs();
    assert!(error < 0.02, "{measured} is not within 2 % of {expected}");
}

/// Sojourn times of the same requests by Lindley's recursion (first come, first served).
fn lindley(requests: &Requests) -> Vec<f64> {
    let mut idle_at = 0.0_f64;
    let tokens = requests.input_tokens.iter();
    (requests.arrival_seconds.iter().zip(tokens))
        .map(|(arrival, tokens)| {
            idle_at = idle_at.max(*arrival) + *tokens as f64 * SERVICE_SECONDS / MEAN_TOKENS;
            idle_at - arrival
        })
        .collect()
}

/// Probability of waiting in M/M/k (Erlang C) at `load` of each server.
fn erlang_c(servers: usize, load: f64) -> f64 {
    let offered = servers as f64 * load;
    let mut blocking = 1.0;
    for server in 1..=servers {
        blocking = offered * blocking / (server as f64 + offered * blocking);
    }
    blocking / (1.0 - load * (1.0 - blocking))
}

#[test]
fn one_worker_with_exponential_prompts_is_an_m_m_1_queue() {
    let load = 0.5;
    let outcome = run(&queue(1, load, REQUESTS, exponential_tokens));
    let expected = SERVICE_SECONDS / (1.0 - load);
    assert_within_two_percent(outcome.summary.ttft_seconds.unwrap().mean, expected);
}

#[test]
fn every_single_sojourn_is_the_one_of_lindleys_recursion() {
    let requests = run(&queue(1, 0.8, 20_000, exponential_tokens)).requests;
    assert_eq!(requests.len(), 20_000);
    for (measured, expected) in requests.ttft_seconds.iter().zip(lindley(&requests)) {
        assert!(
            (measured - expected).abs() < 1e-3,
            "{measured} is not {expected}"
        );
    }
}

#[test]
fn one_worker_with_equal_prompts_is_an_m_d_1_queue() {
    let load = 0.7;
    let outcome = run(&queue(1, load, REQUESTS, |_| MEAN_TOKENS));
    let expected = SERVICE_SECONDS * (1.0 + load / (2.0 * (1.0 - load)));
    assert_within_two_percent(outcome.summary.ttft_seconds.unwrap().mean, expected);
}

#[test]
fn workers_behind_a_router_that_queues_are_an_m_m_k_queue() {
    let (servers, load) = (4, 0.7);
    let outcome = run(&queue(servers, load, REQUESTS, exponential_tokens));
    let wait = erlang_c(servers, load) * SERVICE_SECONDS / (servers as f64 * (1.0 - load));
    assert_within_two_percent(
        outcome.summary.ttft_seconds.unwrap().mean,
        wait + SERVICE_SECONDS,
    );
}
