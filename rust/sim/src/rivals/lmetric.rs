//! LMetric, arXiv 2603.15202: the least product of what a request must compute on a worker and of
//! the requests that run there. It has no parameter.

use fastrand::Rng;

use super::{Request, Rule, Worker, least};

pub(super) struct Lmetric {
    /// Whether the prompts that are queued on a worker count as tokens to compute there.
    pub(super) counts_queue: bool,
}

impl Rule for Lmetric {
    /// Where the product does not tell, as among idle workers, its factors do: the tokens first,
    /// then the batch, by which alone a decode pool is routed, since nothing is computed there.
    fn choose(&mut self, _: &Request, workers: &[Worker], rng: &mut Rng) -> usize {
        let keys = workers.iter().map(|worker| {
            let queued = if self.counts_queue {
                worker.queued_tokens
            } else {
                0
            };
            let tokens = worker.new_tokens + queued;
            (tokens * worker.requests, tokens, worker.requests)
        });
        least(keys.enumerate(), rng).unwrap_or(0)
    }
}
