//! An outcome as plain Python values; `dynamo_regime.sim.outcome` makes its dataclasses of them.

use dynamo_regime_binding::pool_policy;
use dynamo_regime_sim::{Distribution, Outcome, Requests, Summary};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

pub(super) fn outcome<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    values.set_item("requests", requests(py, &outcome.requests)?)?;
    values.set_item("summary", summary(py, &outcome.summary)?)?;
    let policies = PyList::empty(py);
    for at in &outcome.policies {
        let policy = pool_policy(py, at.pool.as_str(), at.pool.as_str(), at.policy)?;
        policies.append((at.time_seconds, policy))?;
    }
    values.set_item("policies", policies)?;
    values.set_item("wall_seconds", outcome.wall_seconds)?;
    Ok(values)
}

fn requests<'py>(py: Python<'py>, requests: &Requests) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    add(&columns, "index", &requests.index)?;
    add(&columns, "arrival_seconds", &requests.arrival_seconds)?;
    add(&columns, "prefill_worker", &requests.prefill_worker)?;
    add(&columns, "decode_worker", &requests.decode_worker)?;
    add(&columns, "ttft_seconds", &requests.ttft_seconds)?;
    let itl: Vec<f64> = requests
        .itl_seconds
        .iter()
        .map(|seconds| seconds.unwrap_or(f64::NAN))
        .collect();
    add(&columns, "itl_seconds", &itl)?;
    add(&columns, "latency_seconds", &requests.latency_seconds)?;
    add(&columns, "input_tokens", &requests.input_tokens)?;
    add(&columns, "output_tokens", &requests.output_tokens)?;
    add(&columns, "cached_tokens", &requests.cached_tokens)?;
    Ok(columns)
}

fn add<T: Element>(columns: &Bound<'_, PyDict>, name: &str, values: &[T]) -> PyResult<()> {
    columns.set_item(name, PyArray1::from_slice(columns.py(), values))
}

fn summary<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    values.set_item("arrived", summary.arrived)?;
    values.set_item("completed", summary.completed)?;
    values.set_item("rejected", summary.rejected)?;
    values.set_item("duration_seconds", summary.duration_seconds)?;
    values.set_item("requests_per_second", summary.requests_per_second)?;
    values.set_item("output_tokens_per_second", summary.output_tokens_per_second)?;
    values.set_item("cached_fraction", summary.cached_fraction)?;
    values.set_item("ttft_seconds", distribution(py, summary.ttft_seconds)?)?;
    values.set_item("itl_seconds", distribution(py, summary.itl_seconds)?)?;
    values.set_item(
        "latency_seconds",
        distribution(py, summary.latency_seconds)?,
    )?;
    Ok(values)
}

fn distribution(
    py: Python<'_>,
    distribution: Option<Distribution>,
) -> PyResult<Option<Bound<'_, PyDict>>> {
    let Some(distribution) = distribution else {
        return Ok(None);
    };
    let values = PyDict::new(py);
    values.set_item("mean", distribution.mean)?;
    values.set_item("p50", distribution.p50)?;
    values.set_item("p90", distribution.p90)?;
    values.set_item("p99", distribution.p99)?;
    values.set_item("max", distribution.max)?;
    Ok(Some(values))
}
