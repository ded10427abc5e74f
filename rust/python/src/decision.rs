//! What a selection answers, as Python classes. Their fields are documented in `_core.pyi`.

use dynamo_regime_core as core;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::selector::Batch;

/// One request's worker, and why it was chosen.
#[pyclass(frozen, get_all, eq, module = "dynamo_regime._core")]
#[derive(PartialEq)]
pub struct Decision {
    worker: u64,
    cost: f64,
    min_cost: f64,
    max_cost: f64,
    candidates: u32,
    prefill_blocks: f64,
    active_blocks: f64,
    temperature: f64,
    prefill_weight: f64,
    version: u64,
    time_ns: u64,
}

impl From<core::Decision> for Decision {
    #[inline]
    fn from(decision: core::Decision) -> Self {
        Self {
            worker: decision.worker_id,
            cost: decision.cost,
            min_cost: decision.min_cost,
            max_cost: decision.max_cost,
            candidates: decision.candidates,
            prefill_blocks: decision.prefill_blocks,
            active_blocks: decision.active_blocks,
            temperature: decision.temperature,
            prefill_weight: decision.prefill_weight,
            version: decision.version,
            time_ns: decision.time_ns,
        }
    }
}

#[pymethods]
impl Decision {
    fn __repr__(&self) -> String {
        let Self {
            worker,
            cost,
            min_cost,
            max_cost,
            candidates,
            prefill_blocks,
            active_blocks,
            temperature,
            prefill_weight,
            version,
            time_ns,
        } = self;
        format!(
            "Decision(worker={worker}, cost={cost:?}, min_cost={min_cost:?}, max_cost={max_cost:?}, \
             candidates={candidates}, prefill_blocks={prefill_blocks:?}, active_blocks={active_blocks:?}, \
             temperature={temperature:?}, prefill_weight={prefill_weight:?}, version={version}, \
             time_ns={time_ns})"
        )
    }
}

/// A worker for each request of a batch, all decided under one policy.
#[pyclass(frozen, module = "dynamo_regime._core")]
pub struct BatchDecision {
    requests: usize,
    #[pyo3(get)]
    worker: Py<PyArray1<i64>>,
    #[pyo3(get)]
    cost: Py<PyArray1<f64>>,
    #[pyo3(get)]
    min_cost: Py<PyArray1<f64>>,
    #[pyo3(get)]
    max_cost: Py<PyArray1<f64>>,
    #[pyo3(get)]
    candidates: usize,
    #[pyo3(get)]
    temperature: f64,
    #[pyo3(get)]
    prefill_weight: f64,
    #[pyo3(get)]
    version: u64,
}

impl BatchDecision {
    pub fn new(py: Python<'_>, batch: Batch, candidates: usize) -> Self {
        let policy = batch.policy.policy;
        Self {
            requests: batch.workers.len(),
            worker: PyArray1::from_vec(py, batch.workers).unbind(),
            cost: PyArray1::from_vec(py, batch.costs).unbind(),
            min_cost: PyArray1::from_vec(py, batch.min_costs).unbind(),
            max_cost: PyArray1::from_vec(py, batch.max_costs).unbind(),
            candidates,
            temperature: policy.temperature.get(),
            prefill_weight: policy.prefill_weight.get(),
            version: batch.policy.version,
        }
    }
}

#[pymethods]
impl BatchDecision {
    fn __len__(&self) -> usize {
        self.requests
    }

    fn __repr__(&self) -> String {
        let Self {
            requests,
            candidates,
            temperature,
            prefill_weight,
            version,
            ..
        } = self;
        format!(
            "BatchDecision(requests={requests}, candidates={candidates}, temperature={temperature:?}, \
             prefill_weight={prefill_weight:?}, version={version})"
        )
    }
}
