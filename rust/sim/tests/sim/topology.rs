//! Workers that differ in role, come and go, and routers that know little.

use dynamo_regime_sim::{Cluster, Lifetime, PoolSpec, RouterSettings, Simulation, Workload};

use crate::support::{aggregated, conversations, fixed_engine, policy, prompts, run};

fn disaggregated(prefill: usize, decode: usize, workload: Workload) -> Simulation {
    let mut simulation = aggregated(1, workload);
    simulation.cluster = Cluster::Disaggregated {
        prefill: PoolSpec::new(prefill, fixed_engine(100.0, 10.0)),
        decode: PoolSpec::new(decode, fixed_engine(100.0, 10.0)),
    };
    simulation
}

#[test]
fn an_aggregated_request_takes_its_prefill_and_its_decode_passes() {
    let mut simulation = aggregated(1, Workload::Trace(prompts(&[0.0], 4, 11, false)));
    simulation.cluster = Cluster::Aggregated(PoolSpec::new(1, fixed_engine(100.0, 10.0)));
    let requests = run(&simulation).requests;
    assert!((requests.ttft_seconds[0] - 0.1).abs() < 1e-9);
    assert!((requests.latency_seconds[0] - 0.2).abs() < 1e-9);
    assert!((requests.itl_seconds[0].unwrap() - 0.01).abs() < 1e-9);
}

#[test]
fn a_disaggregated_request_is_prefilled_in_one_pool_and_decoded_in_the_other() {
    let outcome = run(&disaggregated(2, 5, Workload::Trace(conversations())));
    assert_eq!(outcome.summary.completed, outcome.summary.arrived);
    let used = |workers: &[u32]| {
        let mut used = workers.to_vec();
        used.sort_unstable();
        used.dedup();
        used
    };
    assert_eq!(used(&outcome.requests.prefill_worker), [0, 1]);
    assert_eq!(used(&outcome.requests.decode_worker), [0, 1, 2, 3, 4]);
    assert!(
        outcome
            .requests
            .ttft_seconds
            .iter()
            .all(|ttft| *ttft >= 0.1)
    );
    let pools: Vec<&str> = outcome
        .policies
        .iter()
        .map(|entry| entry.pool.as_str())
        .collect();
    assert_eq!(pools, ["prefill", "decode"]);
}

#[test]
fn a_worker_takes_requests_from_when_it_joins_to_when_it_leaves() {
    let times: Vec<f64> = (0..300).map(|n| f64::from(n) * 0.1).collect();
    let mut simulation = aggregated(1, Workload::Trace(prompts(&times, 16, 20, false)));
    let mut pool = PoolSpec::new(3, fixed_engine(50.0, 5.0));
    let lifetime = |worker, from_seconds, until_seconds| Lifetime {
        worker,
        from_seconds,
        until_seconds,
    };
    pool.lifetimes = vec![lifetime(1, 0.0, 10.0), lifetime(2, 20.0, f64::INFINITY)];
    simulation.cluster = Cluster::Aggregated(pool);
    let requests = run(&simulation).requests;
    assert_eq!(requests.len(), times.len());
    let mut seen = [false; 3];
    for (arrival, worker) in requests.arrival_seconds.iter().zip(&requests.decode_worker) {
        seen[*worker as usize] = true;
        match worker {
            1 => assert!(*arrival < 10.0),
            2 => assert!(*arrival >= 20.0),
            _ => {}
        }
    }
    assert_eq!(seen, [true; 3]);
}

#[test]
fn a_router_replica_does_not_see_what_another_one_routed() {
    // Pairs of requests at the same time on two idle workers.
    let times: Vec<f64> = (0..200).map(|n| f64::from(n / 2) * 10.0).collect();
    let shared_workers = |replicas: usize| {
        let mut simulation = aggregated(2, Workload::Trace(prompts(&times, 16, 20, false)));
        simulation.router.replicas = replicas;
        let workers = run(&simulation).requests.decode_worker;
        workers.chunks(2).filter(|pair| pair[0] == pair[1]).count()
    };
    assert_eq!(shared_workers(1), 0);
    // Blind to each other, two routers meet on the same worker about every other time.
    assert!((25..75).contains(&shared_workers(2)));
}

#[test]
fn a_router_learns_of_cached_blocks_when_their_events_arrive() {
    let times: Vec<f64> = (0..50).map(f64::from).collect();
    let strangers = |kv_event_lag_seconds: f64| {
        let mut simulation = aggregated(8, Workload::Trace(prompts(&times, 16, 2, true)));
        simulation.router = RouterSettings::new(policy(0.0, 1.0));
        simulation.router.kv_event_lag_seconds = kv_event_lag_seconds;
        let workers = run(&simulation).requests.decode_worker;
        workers[1..]
            .iter()
            .filter(|worker| **worker != workers[0])
            .count()
    };
    assert_eq!(strangers(0.0), 0);
    assert_eq!(
        strangers(0.5),
        0,
        "the events arrive before the next request"
    );
    assert!(strangers(3600.0) > 20);
}
