//! What an observer sees, and what it can do.

use std::ops::ControlFlow;

use dynamo_regime_core::{PolicyChange, PrefillWeight, Temperature};
use dynamo_regime_policy::{Pools, Target};
use dynamo_regime_sim::{
    Finished, Observer, PoolLoad, Progress, Sample, SimulationError, Workload, simulate,
};

use crate::support::{aggregated, conversations, prompts};

/// Keeps what it is shown.
#[derive(Default)]
struct Notes {
    times: Vec<f64>,
    loads: Vec<PoolLoad>,
    arrived: usize,
    ttft_seconds: Vec<f64>,
    finished: Vec<Finished>,
    progress: Vec<Progress>,
}

impl Observer for Notes {
    fn sample(&mut self, sample: &Sample<'_>, _: &Pools) -> ControlFlow<()> {
        self.times.push(sample.time_seconds);
        self.loads.extend(sample.pools.iter().cloned());
        self.arrived += sample.arrived;
        self.ttft_seconds
            .extend(sample.first_tokens.iter().map(|token| token.ttft_seconds));
        self.finished.extend_from_slice(sample.finished);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.progress.push(progress);
        ControlFlow::Continue(())
    }
}

#[test]
fn samples_come_at_multiples_of_the_interval_and_show_the_requests_on_the_workers() {
    // Two requests at once on two workers; the next sample but one finds them gone.
    let mut simulation = aggregated(2, Workload::Trace(prompts(&[0.0, 0.0, 9.0], 16, 50, false)));
    simulation.sample_interval_seconds = Some(0.25);
    let mut notes = Notes::default();
    simulate(&simulation, &mut notes).unwrap();
    let multiples: Vec<f64> = (1..=notes.times.len()).map(|n| n as f64 * 0.25).collect();
    assert_eq!(notes.times, multiples);
    assert!(notes.times.last().unwrap() >= &9.0);
    let on_workers = |sample: usize| -> Vec<usize> {
        let workers = &notes.loads[sample].workers;
        workers
            .iter()
            .map(|worker| worker.active_requests)
            .collect()
    };
    assert_eq!(on_workers(0), [1, 1]);
    assert!(
        notes.loads[0]
            .workers
            .iter()
            .all(|worker| worker.decode_blocks >= 16)
    );
    assert_eq!(on_workers(20), [0, 0]);
}

#[test]
fn what_samples_say_of_requests_is_what_the_outcome_says() {
    let mut simulation = aggregated(4, Workload::Trace(conversations()));
    simulation.sample_interval_seconds = Some(0.5);
    let mut notes = Notes::default();
    let outcome = simulate(&simulation, &mut notes).unwrap();
    // What happens after the last sample is not in any.
    let last = *notes.times.last().unwrap();
    let requests = &outcome.requests;
    let mut expected: Vec<(f64, f64)> = (0..requests.len())
        .filter(|row| requests.arrival_seconds[*row] + requests.latency_seconds[*row] < last)
        .map(|row| (requests.ttft_seconds[row], requests.latency_seconds[row]))
        .collect();
    let mut seen: Vec<(f64, f64)> = notes
        .finished
        .iter()
        .map(|request| (request.ttft_seconds, request.latency_seconds))
        .collect();
    let order = |left: &(f64, f64), right: &(f64, f64)| left.partial_cmp(right).unwrap();
    expected.sort_by(order);
    seen.sort_by(order);
    assert_eq!(seen.len(), expected.len());
    for (seen, expected) in seen.iter().zip(&expected) {
        assert!((seen.0 - expected.0).abs() < 1e-9 && (seen.1 - expected.1).abs() < 1e-9);
    }
    assert!(notes.arrived >= notes.ttft_seconds.len());
    assert!(notes.ttft_seconds.len() >= notes.finished.len());
}

/// Sets ω once, at a sample.
struct Swaps {
    at_seconds: f64,
    to: f64,
}

impl Observer for Swaps {
    fn sample(&mut self, sample: &Sample<'_>, pools: &Pools) -> ControlFlow<()> {
        if sample.time_seconds == self.at_seconds {
            let change = PolicyChange {
                temperature: Temperature::try_from(0.0).ok(),
                prefill_weight: PrefillWeight::try_from(self.to).ok(),
            };
            pools.swap(&Target::All, change).unwrap();
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn a_swap_holds_from_its_sample_on() {
    // Equal prompts, far enough apart: with a cache credit they all go to the worker that has the
    // prompt cached; with ω = 0 nothing tells idle workers apart and they spread.
    let times: Vec<f64> = (0..200).map(f64::from).collect();
    let mut simulation = aggregated(4, Workload::Trace(prompts(&times, 16, 2, true)));
    simulation.sample_interval_seconds = Some(0.5);
    let mut swaps = Swaps {
        at_seconds: 99.5,
        to: 0.0,
    };
    let outcome = simulate(&simulation, &mut swaps).unwrap();
    let workers = &outcome.requests.decode_worker;
    assert!(workers[1..100].iter().all(|worker| *worker == workers[0]));
    assert!(workers[100..].iter().any(|worker| *worker != workers[0]));
    let history: Vec<(f64, u64)> = outcome
        .policies
        .iter()
        .map(|entry| (entry.time_seconds, entry.policy.version))
        .collect();
    assert_eq!(history, [(0.0, 1), (99.5, 2)]);
}

/// Stops at the first report of progress.
struct Impatient;

impl Observer for Impatient {
    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[test]
fn an_observer_stops_a_run() {
    let simulation = aggregated(4, Workload::Trace(conversations()));
    let stopped = simulate(&simulation, &mut Impatient);
    assert!(matches!(stopped, Err(SimulationError::Stopped)));
}

#[test]
fn progress_counts_finished_requests_in_virtual_time() {
    let simulation = aggregated(4, Workload::Trace(conversations()));
    let mut notes = Notes::default();
    let outcome = simulate(&simulation, &mut notes).unwrap();
    assert!(notes.times.is_empty(), "no interval, no samples");
    let finished: Vec<usize> = notes.progress.iter().map(|step| step.finished).collect();
    let expected: Vec<usize> = (1..=outcome.requests.len() / 64).map(|n| n * 64).collect();
    assert_eq!(finished, expected);
    assert!(
        notes
            .progress
            .is_sorted_by(|a, b| a.time_seconds <= b.time_seconds)
    );
}
