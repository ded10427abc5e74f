//! A simulation is a function of its values.

use dynamo_regime_sim::{RouterSettings, Workload};

use crate::support::{aggregated, conversations, policy, run};

#[test]
fn the_same_simulation_gives_the_same_outcome_bit_for_bit() {
    let mut simulation = aggregated(8, Workload::Trace(conversations()));
    simulation.router = RouterSettings::new(policy(0.3, 1.0));
    simulation.router.kv_event_lag_seconds = 0.5;
    simulation.router.replicas = 2;
    let first = run(&simulation);
    for _ in 0..3 {
        let again = run(&simulation);
        // Not assert_eq!: nobody wants to read what it would print.
        assert!(first.requests == again.requests);
        assert_eq!(first.summary, again.summary);
    }
}

#[test]
fn another_seed_draws_other_workers() {
    let mut simulation = aggregated(8, Workload::Trace(conversations()));
    simulation.router = RouterSettings::new(policy(0.7, 1.0));
    let first = run(&simulation);
    simulation.seed += 1;
    let other = run(&simulation);
    assert_ne!(first.requests.decode_worker, other.requests.decode_worker);
    assert_eq!(first.requests.arrival_seconds.len(), other.requests.len());
}
