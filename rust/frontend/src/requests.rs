//! Finished requests as the dataclass `dynamo_regime.target.FinishedRequests`.

use dynamo_regime_host::{FinishedRequest, Traced};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// One row per request, oldest first; a number that is not known is NaN, an id that is not `None`.
pub fn columns<'py>(py: Python<'py>, traced: &Traced) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let columns = Columns {
        requests: &traced.requests,
        arguments: PyDict::new(py),
    };
    columns.numbers("received_at", |request| request.received_at)?;
    columns.numbers("finished_at", |request| Some(request.finished_at))?;
    columns.numbers("ttft_seconds", |request| request.ttft_seconds)?;
    columns.numbers("total_seconds", |request| request.total_seconds)?;
    columns.numbers("mean_itl_seconds", |request| request.mean_itl_seconds)?;
    columns.numbers("prefill_wait_seconds", |request| {
        request.prefill_wait_seconds
    })?;
    columns.numbers("prefill_seconds", |request| request.prefill_seconds)?;
    columns.numbers("kv_hit_rate", |request| request.kv_hit_rate)?;
    columns.numbers("input_tokens", |request| count(request.input_tokens))?;
    columns.numbers("cached_tokens", |request| count(request.cached_tokens))?;
    columns.numbers("output_tokens", |request| count(request.output_tokens))?;
    columns.numbers("block_tokens", |request| count(request.block_tokens))?;
    columns.numbers("queue_depth", |request| count(request.queue_depth))?;
    columns.objects("request_id", |request| request.request_id.clone())?;
    columns.objects("model", |request| request.model.clone())?;
    columns.objects("prefill_worker_id", |request| request.prefill_worker_id)?;
    columns.objects("prefill_dp_rank", |request| request.prefill_dp_rank)?;
    columns.objects("decode_worker_id", |request| request.decode_worker_id)?;
    columns.objects("decode_dp_rank", |request| request.decode_dp_rank)?;
    let arguments = columns.arguments;
    let hashes: Vec<_> = traced
        .requests
        .iter()
        .map(|request| PyArray1::from_slice(py, &request.sequence_hashes))
        .collect();
    arguments.set_item("sequence_hashes", hashes)?;
    arguments.set_item("lagged", traced.lagged)?;
    CLASS
        .import(py, "dynamo_regime.target", "FinishedRequests")?
        .call((), Some(&arguments))
}

struct Columns<'a, 'py> {
    requests: &'a [FinishedRequest],
    arguments: Bound<'py, PyDict>,
}

impl<'py> Columns<'_, 'py> {
    fn numbers(&self, name: &str, value: impl Fn(&FinishedRequest) -> Option<f64>) -> PyResult<()> {
        let column: Vec<f64> = self
            .requests
            .iter()
            .map(|request| value(request).unwrap_or(f64::NAN))
            .collect();
        self.arguments
            .set_item(name, PyArray1::from_vec(self.arguments.py(), column))
    }

    fn objects<T: IntoPyObject<'py>>(
        &self,
        name: &str,
        value: impl Fn(&FinishedRequest) -> T,
    ) -> PyResult<()> {
        let column: Vec<T> = self.requests.iter().map(value).collect();
        self.arguments.set_item(name, column)
    }
}

fn count(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}
