//! What cannot be simulated is refused in one sentence.

use std::path::Path;

use dynamo_regime_sim::{
    ClosedLoop, Cluster, Engine, Lifetime, PoolSpec, Simulation, Trace, Unobserved, Workload,
    simulate,
};

use crate::support::{aggregated, conversations};

#[track_caller]
fn assert_refused(simulation: &Simulation, message: &str) {
    let error = simulate(simulation, &mut Unobserved).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_pool_must_have_a_worker_at_all_times() {
    let mut simulation = aggregated(2, Workload::Trace(conversations()));
    let mut pool = PoolSpec::new(0, Engine::default());
    simulation.cluster = Cluster::Aggregated(pool.clone());
    assert_refused(
        &simulation,
        "the aggregated pool must have at least one worker",
    );
    pool.workers = 1;
    pool.lifetimes = vec![Lifetime {
        worker: 0,
        from_seconds: 0.0,
        until_seconds: 7.0,
    }];
    simulation.cluster = Cluster::Aggregated(pool);
    assert_refused(
        &simulation,
        "the aggregated pool has no worker at 7 s: let one stay",
    );
}

#[test]
fn router_settings_must_be_in_range() {
    let simulation = aggregated(2, Workload::Trace(conversations()));
    let mut without_router = simulation.clone();
    without_router.router.replicas = 0;
    assert_refused(&without_router, "there must be at least one router replica");
    let mut back_in_time = simulation.clone();
    back_in_time.router.kv_event_lag_seconds = -1.0;
    assert_refused(
        &back_in_time,
        "kv_event_lag_seconds must be finite and not negative, but is -1",
    );
    let mut cold = simulation;
    cold.router.config.router_temperature = -1.0;
    let error = simulate(&cold, &mut Unobserved).unwrap_err().to_string();
    assert!(error.starts_with("router configuration: "), "{error}");
}

#[test]
fn a_phase_must_have_a_client() {
    let mut closed = ClosedLoop::default();
    closed.phases[1].concurrency = 0;
    let simulation = aggregated(2, Workload::Closed(closed));
    assert_refused(
        &simulation,
        "phase 1 must have a client and last a finite time, but has 0 clients for 180 s",
    );
}

#[test]
fn an_engine_that_is_none_is_refused_by_the_name_of_its_key() {
    let error = Engine::from_json(r#"{"engine": {"block_sise": 64}}"#).unwrap_err();
    assert!(error.to_string().contains("block_sise"), "{error}");
}

#[test]
fn a_trace_that_is_not_there_is_named() {
    let error = Trace::from_mooncake(Path::new("no-such-trace.jsonl"), 512).unwrap_err();
    assert!(error.to_string().contains("no-such-trace.jsonl"), "{error}");
}
