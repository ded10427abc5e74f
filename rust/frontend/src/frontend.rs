//! The class `Frontend`: a serving frontend as Python sees it. Documented in `_native.pyi`.

use std::str::FromStr;
use std::time::Duration;

use dynamo_regime_binding as binding;
use dynamo_regime_core::Decision;
use dynamo_regime_host as host;
use dynamo_regime_policy::{PoolPolicy, Pools, SwapError, Target, WorkerType};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::plugins;
use crate::requests;

/// Dynamo's frontend, serving on its own threads, with the plug-in in its routers.
#[pyclass(frozen, module = "dynamo_regime_frontend._native")]
pub struct Frontend {
    host: host::Frontend,
    pools: Pools,
}

#[pymethods]
impl Frontend {
    #[staticmethod]
    fn start(py: Python<'_>, options: &str) -> PyResult<Self> {
        let options = read_options(options).map_err(|e| binding::regime_error(e.to_string()))?;
        py.detach(|| {
            let config = options
                .kv_router_config()
                .map_err(|error| error.to_string())?;
            let (plugins, pools) = plugins::resolve(&config)?;
            let host = host::Frontend::start(&options, config, plugins)
                .map_err(|error| error.to_string())?;
            Ok(Self { host, pools })
        })
        .map_err(binding::regime_error)
    }

    #[pyo3(signature = (timeout_seconds=None))]
    fn wait(&self, py: Python<'_>, timeout_seconds: Option<f64>) -> PyResult<bool> {
        let timeout = timeout_seconds
            .map(|seconds| {
                Duration::try_from_secs_f64(seconds).map_err(|_| {
                    binding::input_error(format!(
                        "timeout_seconds must be finite and not negative, but is {seconds}"
                    ))
                })
            })
            .transpose()?;
        match py.detach(|| self.host.wait(timeout)) {
            None => Ok(false),
            Some(Ok(())) => Ok(true),
            Some(Err(error)) => Err(binding::regime_error(error.to_string())),
        }
    }

    fn shutdown(&self, py: Python<'_>) {
        py.detach(|| self.host.shutdown());
    }

    fn policies<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        to_python(py, self.pools.policies())
    }

    #[pyo3(signature = (*, temperature=None, prefill_weight=None, pool=None, instance=None))]
    fn swap<'py>(
        &self,
        py: Python<'py>,
        temperature: Option<&Bound<'py, PyAny>>,
        prefill_weight: Option<&Bound<'py, PyAny>>,
        pool: Option<&str>,
        instance: Option<String>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let change = binding::policy_change(temperature, prefill_weight)?;
        let target = match (pool, instance) {
            (None, None) => Target::All,
            (Some(pool), None) => Target::Pool(role(pool)?),
            (None, Some(instance)) => Target::Instance(instance),
            (Some(_), Some(_)) => {
                return Err(binding::input_error(
                    "a swap names a pool or an instance, not both".to_owned(),
                ));
            }
        };
        let swapped = self
            .pools
            .swap(&target, change)
            .map_err(|error: SwapError| binding::unknown_pool_error(error.to_string()))?;
        to_python(py, swapped)
    }

    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let drained = py.detach(|| self.pools.drain_decisions());
        let dropped = drained.iter().map(|(_, drained)| drained.dropped).sum();
        let pools = drained
            .iter()
            .map(|(pool, drained)| (pool.as_str(), drained.decisions.as_slice()));
        binding::decisions(py, pools, dropped)
    }

    fn recent_decisions<'py>(&self, limit: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = limit.py();
        let limit = binding::limit(limit)?;
        let recent: Vec<(WorkerType, Decision)> =
            py.detach(|| self.pools.recent_decisions(None, limit));
        let rows = recent
            .iter()
            .map(|(pool, decision)| (pool.as_str(), std::slice::from_ref(decision)));
        binding::decisions(py, rows, 0)
    }

    fn finished_requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let traced = py.detach(|| self.host.trace().drain());
        requests::columns(py, &traced)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let pools: Vec<String> = self
            .pools
            .policies()
            .iter()
            .map(|pool| pool.pool.to_string())
            .collect();
        Ok(PyString::new(
            py,
            &format!("Frontend(pools=[{}])", pools.join(", ")),
        ))
    }
}

/// By way of a value: an option's own error would otherwise end in its place in the JSON text.
fn read_options(json: &str) -> serde_json::Result<host::Options> {
    serde_json::from_str::<serde_json::Value>(json).and_then(serde_json::from_value)
}

fn role(pool: &str) -> PyResult<WorkerType> {
    WorkerType::from_str(pool).map_err(|_| {
        binding::unknown_pool_error(format!(
            "there is no pool {pool:?}; a pool is aggregated, prefill, decode or encode"
        ))
    })
}

fn to_python(py: Python<'_>, policies: Vec<PoolPolicy>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    policies
        .into_iter()
        .map(|pool| binding::pool_policy(py, pool.pool.as_str(), &pool.instance, pool.policy))
        .collect()
}
