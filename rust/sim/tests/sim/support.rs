//! Clusters and workloads that the tests share.

use dynamo_regime_core::{Policy, PrefillWeight, Temperature};
use dynamo_regime_sim::{
    Cluster, Engine, MultiTurn, Outcome, PoolSpec, RouterSettings, Simulation, Trace, TraceRequest,
    Unobserved, Workload, simulate,
};

pub const BLOCK_TOKENS: usize = 64;

pub fn policy(temperature: f64, prefill_weight: f64) -> Policy {
    Policy {
        temperature: Temperature::try_from(temperature).unwrap(),
        prefill_weight: PrefillWeight::try_from(prefill_weight).unwrap(),
    }
}

/// A mocker with fixed pass times, which makes expected times easy to write down.
pub fn fixed_engine(prefill_ms: f64, decode_ms: f64) -> Engine {
    Engine::from_json(&format!(
        r#"{{"engine": {{"block_size": {BLOCK_TOKENS}, "num_gpu_blocks": 4096,
            "timing_model": {{"type": "fixed", "prefill_ms": {prefill_ms}, "decode_ms": {decode_ms}}}}}}}"#
    ))
    .unwrap()
}

pub fn aggregated(workers: usize, workload: Workload) -> Simulation {
    Simulation {
        cluster: Cluster::Aggregated(PoolSpec::new(workers, Engine::default())),
        router: RouterSettings::new(policy(0.0, 1.0)),
        workload,
        seed: 1,
        sample_interval_seconds: None,
    }
}

pub fn run(simulation: &Simulation) -> Outcome {
    simulate(simulation, &mut Unobserved).unwrap()
}

/// One request a time, each with `blocks` blocks of its own, or all with the same prompt.
pub fn prompts(times: &[f64], blocks: u64, output_tokens: usize, are_equal: bool) -> Trace {
    let requests = times.iter().zip(0_u64..).map(|(time, number)| {
        let first = if are_equal { 0 } else { number * blocks };
        TraceRequest {
            arrival_seconds: *time,
            input_tokens: blocks as usize * BLOCK_TOKENS,
            output_tokens,
            blocks: (first..first + blocks).collect(),
        }
    });
    Trace::from_requests(requests, BLOCK_TOKENS).unwrap()
}

pub fn conversations() -> Trace {
    MultiTurn {
        sessions: 120,
        sessions_per_second: 8.0,
        ..MultiTurn::default()
    }
    .generate(3)
    .unwrap()
}
