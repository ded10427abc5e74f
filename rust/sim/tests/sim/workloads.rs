//! Where requests come from.

use std::ops::ControlFlow;

use dynamo_regime_policy::Pools;
use dynamo_regime_sim::{
    ClosedLoop, Cluster, MultiTurn, Observer, Phase, PoolSpec, Sample, Trace, Workload, simulate,
};

use crate::support::{aggregated, conversations, fixed_engine, prompts, run};

/// Requests on the workers at every sample.
#[derive(Default)]
struct InFlight(Vec<usize>);

impl Observer for InFlight {
    fn sample(&mut self, sample: &Sample<'_>, _: &Pools) -> ControlFlow<()> {
        let workers = sample.pools.iter().flat_map(|pool| &pool.workers);
        self.0
            .push(workers.map(|worker| worker.active_requests).sum());
        ControlFlow::Continue(())
    }
}

fn phase(concurrency: usize, duration_seconds: f64) -> Phase {
    Phase {
        concurrency,
        duration_seconds,
    }
}

#[test]
fn a_closed_loop_keeps_as_many_requests_in_flight_as_its_phase_has_clients() {
    let closed = ClosedLoop {
        phases: vec![phase(4, 30.0), phase(16, 30.0), phase(4, 30.0)],
        ..ClosedLoop::default()
    };
    let mut simulation = aggregated(2, Workload::Closed(closed));
    simulation.cluster = Cluster::Aggregated(PoolSpec::new(2, fixed_engine(20.0, 10.0)));
    simulation.sample_interval_seconds = Some(1.0);
    let mut in_flight = InFlight::default();
    let outcome = simulate(&simulation, &mut in_flight).unwrap();
    // A client whose request just ended sends the next one at once, so that samples never see less;
    // what is in flight when a phase ends takes some seconds to finish.
    let steady = |from: usize, to: usize| in_flight.0[from..to].to_vec();
    assert_eq!(steady(1, 29), [4; 28]);
    assert_eq!(steady(31, 59), [16; 28]);
    assert_eq!(steady(70, 89), [4; 19]);
    assert!(outcome.summary.completed > 0);
}

#[test]
fn a_client_that_joins_late_has_not_been_waiting() {
    let closed = ClosedLoop {
        phases: vec![phase(1, 60.0), phase(32, 60.0)],
        ..ClosedLoop::default()
    };
    let mut simulation = aggregated(4, Workload::Closed(closed));
    simulation.cluster = Cluster::Aggregated(PoolSpec::new(4, fixed_engine(20.0, 10.0)));
    let outcome = run(&simulation);
    assert!(
        outcome.summary.ttft_seconds.unwrap().max < 5.0,
        "{:?}",
        outcome.summary
    );
    let joined = |arrival: &&f64| **arrival >= 60.0 && **arrival < 63.0;
    assert!(
        outcome
            .requests
            .arrival_seconds
            .iter()
            .filter(joined)
            .count()
            >= 31
    );
}

#[test]
fn the_papers_closed_loop_runs_disaggregated_too() {
    let closed = ClosedLoop {
        phases: vec![phase(2, 20.0), phase(8, 20.0), phase(2, 20.0)],
        ..ClosedLoop::default()
    };
    let mut simulation = aggregated(1, Workload::Closed(closed));
    simulation.cluster = Cluster::Disaggregated {
        prefill: PoolSpec::new(1, fixed_engine(20.0, 10.0)),
        decode: PoolSpec::new(2, fixed_engine(20.0, 10.0)),
    };
    let outcome = run(&simulation);
    let arrivals = |from: f64, to: f64| {
        let in_time = |arrival: &&f64| **arrival >= from && **arrival < to;
        outcome
            .requests
            .arrival_seconds
            .iter()
            .filter(in_time)
            .count()
    };
    // Latency hardly depends on the load here, so that the rate follows the number of clients.
    assert!(arrivals(21.0, 39.0) > 3 * arrivals(1.0, 19.0));
    assert!(arrivals(45.0, 57.0) < arrivals(21.0, 33.0) / 2);
}

#[test]
fn a_trace_can_be_replayed_with_a_number_of_requests_in_flight() {
    let mut trace = prompts(&[0.0; 40], 4, 5, false);
    trace.concurrency = Some(2);
    let mut simulation = aggregated(2, Workload::Trace(trace));
    simulation.cluster = Cluster::Aggregated(PoolSpec::new(2, fixed_engine(20.0, 10.0)));
    let outcome = run(&simulation);
    // 20 rounds of one prefill and four decode passes on each of two workers.
    assert!((outcome.summary.duration_seconds - 20.0 * 0.06).abs() < 1e-6);
}

#[test]
fn a_turn_finds_the_session_so_far_in_the_cache() {
    let requests = run(&aggregated(1, Workload::Trace(conversations()))).requests;
    let cached: u64 = requests.cached_tokens.iter().sum();
    let prompts: u64 = requests.input_tokens.iter().sum();
    // Three turns of four repeat what was said, and prefixes are shared.
    assert!(
        cached as f64 > 0.7 * prompts as f64,
        "{cached} of {prompts}"
    );
}

#[test]
fn prefixes_are_as_popular_as_zipfs_law_says() {
    let workload = MultiTurn {
        sessions: 4000,
        turns: 1,
        prefixes: 4,
        zipf_exponent: 1.0,
        prefix_tokens: 64,
        sessions_per_second: 1.0,
        output_tokens: 1.0,
        ..MultiTurn::default()
    };
    let skewed = run(&aggregated(
        1,
        Workload::Trace(workload.generate(5).unwrap()),
    ));
    assert_eq!(skewed.summary.completed, 4000);
    // All but the first of each prefix find its block.
    let found = skewed
        .requests
        .cached_tokens
        .iter()
        .filter(|tokens| **tokens >= 64)
        .count();
    assert_eq!(found, 4000 - 4);
}

#[test]
fn twice_the_speed_is_half_the_time_between_arrivals() {
    let mut trace = prompts(&[1.0, 3.0, 7.0], 4, 5, false);
    trace.speed = 2.0;
    let requests = run(&aggregated(2, Workload::Trace(trace))).requests;
    assert_eq!(requests.arrival_seconds, [0.0, 1.0, 3.0]);
}

#[test]
fn lines_that_are_no_requests_are_left_out_and_reported() {
    let path = std::env::temp_dir().join(format!("trace-{}.jsonl", std::process::id()));
    let lines = [
        r#"{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}"#,
        "not JSON",
        "",
        r#"{"timestamp": 10, "input_length": 600, "output_length": 5, "hash_ids": [1]}"#,
        r#"{"timestamp": 20, "output_length": 5, "hash_ids": [1]}"#,
        r#"{"timestamp": 30, "input_length": 100, "output_length": 5, "hash_ids": [1]}"#,
    ];
    std::fs::write(&path, lines.join("\n")).unwrap();
    let trace = Trace::from_mooncake(&path, 512).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(trace.len(), 2);
    let numbers: Vec<usize> = trace.bad_lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [2, 4, 5]);
    assert_eq!(
        trace.bad_lines[1].reason,
        "has 1 hash_ids of 512 tokens for 600 input tokens"
    );
    assert_eq!(trace.bad_lines[2].reason, "has no input_length");
}
