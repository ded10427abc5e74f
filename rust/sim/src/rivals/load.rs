//! Rules that look at nothing but load.

use fastrand::Rng;

use super::{Request, Rule, Worker, least};

pub(super) struct LeastLoaded;

impl Rule for LeastLoaded {
    fn choose(&mut self, _: &Request, workers: &[Worker], rng: &mut Rng) -> usize {
        let requests = workers.iter().map(|worker| worker.requests);
        least(requests.enumerate(), rng).unwrap_or(0)
    }
}

#[derive(Default)]
pub(super) struct RoundRobin {
    next: usize,
}

impl Rule for RoundRobin {
    fn choose(&mut self, _: &Request, workers: &[Worker], _: &mut Rng) -> usize {
        let row = self.next % workers.len();
        self.next = row + 1;
        row
    }
}

pub(super) struct PowerOfTwo;

impl Rule for PowerOfTwo {
    fn choose(&mut self, _: &Request, workers: &[Worker], rng: &mut Rng) -> usize {
        let first = rng.usize(0..workers.len());
        if workers.len() == 1 {
            return first;
        }
        // The second is another one: uniform among the rest.
        let second = (first + rng.usize(1..workers.len())) % workers.len();
        let pair = [first, second].map(|row| (row, workers[row].requests));
        least(pair.into_iter(), rng).unwrap_or(first)
    }
}
