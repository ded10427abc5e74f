use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

fn decision(time_ns: u64) -> Decision {
    Decision {
        time_ns,
        version: time_ns,
        worker_id: time_ns,
        cost: time_ns as f64,
        overlap_blocks: Some(time_ns as f64),
        ..Decision::default()
    }
}

fn times(decisions: &[Decision]) -> Vec<u64> {
    decisions.iter().map(|decision| decision.time_ns).collect()
}

const FULL: u64 = DECISIONS_PER_WRITER as u64;

#[test]
fn every_field_comes_back_as_it_was_written() {
    let written = Decision {
        time_ns: 1,
        version: 2,
        temperature: 0.7,
        prefill_weight: 0.1,
        worker_id: u64::MAX,
        dp_rank: u32::MAX,
        candidates: 3,
        cost: 4.5,
        min_cost: 4.0,
        max_cost: f64::MAX,
        prefill_blocks: 5.0,
        active_blocks: 6.0,
        request_blocks: Some(7.0),
        active_requests: None,
        overlap_blocks: Some(0.0),
        best_overlap_blocks: Some(8.0),
        elapsed_ns: Some(250.0),
    };
    let log = DecisionLog::default();
    log.writer().push(&written);
    assert_eq!(log.drain().decisions, [written]);
}

#[test]
fn a_drain_takes_each_decision_once() {
    let log = DecisionLog::default();
    let mut writer = log.writer();
    writer.push(&decision(1));
    writer.push(&decision(2));
    assert_eq!(times(&log.drain().decisions), [1, 2]);
    assert_eq!(log.drain(), Drained::default());
    writer.push(&decision(3));
    assert_eq!(times(&log.drain().decisions), [3]);
    assert_eq!(log.written(), 3);
}

#[test]
fn what_is_overwritten_before_a_drain_is_counted_as_dropped() {
    let log = DecisionLog::default();
    let mut writer = log.writer();
    for time in 0..FULL + 10 {
        writer.push(&decision(time));
    }
    let drained = log.drain();
    assert_eq!(drained.dropped, 10);
    assert_eq!(
        times(&drained.decisions),
        (10..FULL + 10).collect::<Vec<_>>()
    );
    assert_eq!((log.dropped(), log.written()), (10, FULL + 10));
}

#[test]
fn recent_decisions_of_all_writers_come_in_order_and_stay() {
    let log = DecisionLog::default();
    let (mut odd, mut even) = (log.writer(), log.writer());
    for time in 0..10 {
        if time % 2 == 0 {
            even.push(&decision(time))
        } else {
            odd.push(&decision(time))
        }
    }
    assert_eq!(times(&log.recent(4)), [6, 7, 8, 9]);
    assert_eq!(log.drain().decisions.len(), 10);
    assert_eq!(times(&log.recent(4)), [6, 7, 8, 9]);
    assert!(log.recent(0).is_empty());
    assert_eq!(log.recent(usize::MAX).len(), 10);
}

#[test]
fn a_dropped_writers_ring_is_drained_and_then_gone() {
    let log = DecisionLog::default();
    log.writer().push(&decision(1));
    assert_eq!(log.rings.lock().len(), 1);
    assert_eq!(times(&log.drain().decisions), [1]);
    assert_eq!(log.rings.lock().len(), 0);
    assert_eq!(log.written(), 1);
}

#[test]
fn writers_that_come_and_go_without_a_drain_do_not_pile_up() {
    let log = DecisionLog::default();
    for time in 0..100 {
        log.writer().push(&decision(time));
    }
    assert!(log.rings.lock().len() <= CLOSED_RINGS + 1);
    let drained = log.drain();
    assert_eq!(drained.decisions.len() as u64 + log.dropped(), 100);
    assert_eq!(log.written(), 100);
}

#[test]
fn a_reader_beside_a_fast_writer_gets_whole_decisions_and_counts_the_rest() {
    const WRITTEN: u64 = 200_000;
    let log = DecisionLog::default();
    let mut writer = log.writer();
    let done = AtomicBool::new(false);
    let (read, dropped) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut read, mut dropped, mut last) = (0, 0, None);
            loop {
                let finished = done.load(Ordering::Acquire);
                let drained = log.drain();
                for decision in &drained.decisions {
                    let time = decision.time_ns;
                    assert_eq!((decision.version, decision.worker_id), (time, time));
                    assert_eq!(decision.overlap_blocks, Some(time as f64));
                    assert!(last < Some(time));
                    last = Some(time);
                }
                read += drained.decisions.len() as u64;
                dropped += drained.dropped;
                if finished {
                    return (read, dropped);
                }
            }
        });
        for time in 0..WRITTEN {
            writer.push(&decision(time));
        }
        done.store(true, Ordering::Release);
        reader.join().unwrap()
    });
    assert_eq!(read + dropped, WRITTEN);
    assert_eq!(dropped, log.dropped());
}
