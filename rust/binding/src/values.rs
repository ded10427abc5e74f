//! The core's values as the dataclasses of `dynamo_regime.target`.

use dynamo_regime_core::{Decision, VersionedPolicy};
use numpy::{Element, PyArray1, PyFixedUnicode};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// Characters of the longest pool name, `aggregated`.
const POOL_NAME_LENGTH: usize = 10;

/// A `PoolPolicy`.
pub fn pool_policy<'py>(
    py: Python<'py>,
    pool: &str,
    instance: &str,
    current: VersionedPolicy,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let policy = current.policy;
    CLASS
        .import(py, "dynamo_regime.target", "PoolPolicy")?
        .call1((
            pool,
            instance,
            policy.temperature.get(),
            policy.prefill_weight.get(),
            current.version,
        ))
}

/// A `Decisions` of all pools' decisions, oldest first.
pub fn decisions<'py, 'a>(
    py: Python<'py>,
    pools: impl IntoIterator<Item = (&'a str, &'a [Decision])>,
    dropped: u64,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let mut rows: Vec<(&str, &Decision)> = pools
        .into_iter()
        .flat_map(|(pool, decisions)| decisions.iter().map(move |decision| (pool, decision)))
        .collect();
    rows.sort_by_key(|(_, decision)| decision.time_ns);

    let columns = Columns {
        rows: &rows,
        arguments: PyDict::new(py),
    };
    let known = |fact: Option<f64>| fact.unwrap_or(f64::NAN);
    columns.add("time_ns", |decision| decision.time_ns)?;
    columns.add("version", |decision| decision.version)?;
    columns.add("temperature", |decision| decision.temperature)?;
    columns.add("prefill_weight", |decision| decision.prefill_weight)?;
    columns.add("worker_id", |decision| decision.worker_id)?;
    columns.add("dp_rank", |decision| decision.dp_rank)?;
    columns.add("candidates", |decision| decision.candidates)?;
    columns.add("cost", |decision| decision.cost)?;
    columns.add("min_cost", |decision| decision.min_cost)?;
    columns.add("max_cost", |decision| decision.max_cost)?;
    columns.add("prefill_blocks", |decision| decision.prefill_blocks)?;
    columns.add("active_blocks", |decision| decision.active_blocks)?;
    columns.add("request_blocks", |decision| known(decision.request_blocks))?;
    columns.add("active_requests", |decision| {
        known(decision.active_requests)
    })?;
    columns.add("overlap_blocks", |decision| known(decision.overlap_blocks))?;
    columns.add("best_overlap_blocks", |decision| {
        known(decision.best_overlap_blocks)
    })?;
    columns.add("elapsed_seconds", |decision| {
        known(decision.elapsed_ns.map(|elapsed| elapsed / 1e9))
    })?;
    let pool_names: Vec<_> = rows.iter().map(|(pool, _)| fixed_width(pool)).collect();
    let arguments = columns.arguments;
    arguments.set_item("pool", PyArray1::from_vec(py, pool_names))?;
    arguments.set_item("dropped", dropped)?;
    CLASS
        .import(py, "dynamo_regime.target", "Decisions")?
        .call((), Some(&arguments))
}

struct Columns<'a, 'py> {
    rows: &'a [(&'a str, &'a Decision)],
    arguments: Bound<'py, PyDict>,
}

impl Columns<'_, '_> {
    fn add<T: Element>(&self, name: &str, value: impl Fn(&Decision) -> T) -> PyResult<()> {
        let column: Vec<T> = self
            .rows
            .iter()
            .map(|(_, decision)| value(decision))
            .collect();
        self.arguments
            .set_item(name, PyArray1::from_vec(self.arguments.py(), column))
    }
}

fn fixed_width(pool: &str) -> PyFixedUnicode<POOL_NAME_LENGTH> {
    let mut characters = [0; POOL_NAME_LENGTH];
    for (slot, character) in characters.iter_mut().zip(pool.chars()) {
        *slot = character.into();
    }
    characters.into()
}
