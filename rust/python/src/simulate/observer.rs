//! A Python object that watches a run.

use std::ops::ControlFlow;

use dynamo_regime_binding::{decisions, pool_policy, prefill_weight, temperature};
use dynamo_regime_core::{Decision, PolicyChange};
use dynamo_regime_policy::{PoolPolicy, Pools, Target};
use dynamo_regime_sim::{
    Cluster, FirstToken, Observer, PoolLoad, PoolSpec, Progress, Sample, WorkerLoad,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Hands samples and progress over, swaps what `sample` returns, and keeps the exception that
/// stopped the run. Looks for Ctrl-C too, with an observer and without.
pub(super) struct PythonObserver {
    observer: Option<Py<PyAny>>,
    /// KV blocks of a worker, of each pool in the order of samples.
    kv_blocks: Vec<usize>,
    pub(super) error: Option<PyErr>,
}

impl PythonObserver {
    pub(super) fn new(observer: Option<Py<PyAny>>, cluster: &Cluster) -> Self {
        let blocks = |pool: &PoolSpec| pool.engine.launch.engine.num_gpu_blocks;
        Self {
            observer,
            kv_blocks: match cluster {
                Cluster::Aggregated(pool) => vec![blocks(pool)],
                Cluster::Disaggregated { prefill, decode } => vec![blocks(prefill), blocks(decode)],
            },
            error: None,
        }
    }

    fn call(
        &mut self,
        body: impl FnOnce(Python<'_>, Option<&Py<PyAny>>) -> PyResult<()>,
    ) -> ControlFlow<()> {
        let done = Python::attach(|py| {
            py.check_signals()?;
            body(py, self.observer.as_ref())
        });
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl Observer for PythonObserver {
    fn sample(&mut self, sample: &Sample<'_>, pools: &Pools) -> ControlFlow<()> {
        let kv_blocks = self.kv_blocks.clone();
        self.call(|py, observer| {
            let Some(observer) = observer else {
                return Ok(());
            };
            let loads = PyList::empty(py);
            let policies = pools.policies();
            for (load, kv_blocks) in sample.pools.iter().zip(&kv_blocks) {
                loads.append(pool(py, load, *kv_blocks, &policies)?)?;
            }
            let first = |value: fn(&FirstToken) -> f64| {
                PyArray1::from_vec(py, sample.first_tokens.iter().map(value).collect())
            };
            let workers: Vec<u64> = sample
                .first_tokens
                .iter()
                .map(|token| token.worker as u64)
                .collect();
            let itl: Vec<f64> = sample
                .finished
                .iter()
                .filter_map(|request| request.itl_seconds)
                .collect();
            let drained = pools.drain_decisions();
            let made: Vec<(&str, &[Decision])> = drained
                .iter()
                .map(|(role, drained)| (role.as_str(), drained.decisions.as_slice()))
                .collect();
            let swaps = observer.bind(py).call_method1(
                "sample",
                (
                    sample.time_seconds,
                    loads,
                    first(|token| token.ttft_seconds),
                    (
                        PyArray1::from_vec(py, workers),
                        first(|token| token.time_seconds),
                        first(|token| token.uncached_tokens as f64),
                        first(|token| token.prefill_seconds),
                    ),
                    PyArray1::from_vec(py, itl),
                    decisions(py, made, 0)?,
                ),
            )?;
            for swap in swaps.try_iter()? {
                let (role, new_temperature, new_weight): (
                    String,
                    Bound<'_, PyAny>,
                    Bound<'_, PyAny>,
                ) = swap?.extract()?;
                let change = PolicyChange {
                    temperature: Some(temperature(&new_temperature)?),
                    prefill_weight: Some(prefill_weight(&new_weight)?),
                };
                let Some(named) = policies.iter().find(|policy| policy.pool.as_str() == role)
                else {
                    continue;
                };
                // Refused only for a pool that is not there.
                let _ = pools.swap(&Target::Pool(named.pool), change);
            }
            Ok(())
        })
    }

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.call(|py, observer| {
            if let Some(observer) = observer {
                observer
                    .bind(py)
                    .call_method1("progress", (progress.finished, progress.time_seconds))?;
            }
            Ok(())
        })
    }
}

/// `(PoolPolicy, kv_blocks, prefill_tokens, decode_blocks, active_requests)`, the last three by
/// worker.
fn pool<'py>(
    py: Python<'py>,
    load: &PoolLoad,
    kv_blocks: usize,
    policies: &[PoolPolicy],
) -> PyResult<Bound<'py, PyTuple>> {
    let column = |value: fn(&WorkerLoad) -> usize| {
        let values = load.workers.iter().map(|worker| value(worker) as f64);
        PyArray1::from_vec(py, values.collect())
    };
    let instance = policies
        .iter()
        .find(|policy| policy.pool == load.pool)
        .map_or("", |policy| policy.instance.as_str());
    (
        pool_policy(py, load.pool.as_str(), instance, load.policy)?,
        kv_blocks,
        column(|worker| worker.prefill_tokens),
        column(|worker| worker.decode_blocks),
        column(|worker| worker.active_requests),
    )
        .into_pyobject(py)
}
