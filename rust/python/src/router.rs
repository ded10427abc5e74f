//! The class `Router`: arguments in, the selector's answer out. Shapes, units and errors are
//! documented in `_core.pyi`; the sentences here are what `help` shows.

use dynamo_regime_binding as binding;
use dynamo_regime_core::{Policy, PrefillWeight, Temperature};
use fastrand::Rng;
use numpy::{Ix1, Ix2};
use pyo3::prelude::*;

use crate::blocks::{BlockArray, BlockArrays, Fault, with_slices};
use crate::decision::{BatchDecision, Decision};
use crate::selector::Selector;

const POOL: &str = "aggregated";
const INSTANCE: &str = "router";

/// Chooses a worker for each request under a policy that can be swapped at any time.
#[pyclass(frozen, module = "dynamo_regime._core")]
pub struct Router {
    selector: Selector,
}

#[pymethods]
impl Router {
    #[new]
    #[pyo3(
        signature = (*, temperature=None, prefill_weight=None, seed=None),
        text_signature = "(*, temperature=0.0, prefill_weight=1.0, seed=None)"
    )]
    fn new(
        temperature: Option<&Bound<'_, PyAny>>,
        prefill_weight: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let policy = Policy {
            temperature: temperature.map_or(Ok(Temperature::ZERO), binding::temperature)?,
            prefill_weight: prefill_weight
                .map_or(Ok(PrefillWeight::ONE), binding::prefill_weight)?,
        };
        let rng = match seed {
            Some(seed) => Rng::with_seed(binding::seed(seed)?),
            None => Rng::new(),
        };
        Ok(Self {
            selector: Selector::new(policy, rng),
        })
    }

    /// Choose a worker for one request, given each worker's blocks.
    fn select<'py>(
        &self,
        prefill_blocks: &Bound<'py, PyAny>,
        active_blocks: &Bound<'py, PyAny>,
    ) -> PyResult<Decision> {
        let arrays = BlockArrays::<Ix1>::new(prefill_blocks, active_blocks)?;
        let decision = with_slices!(arrays, |prefill, active| {
            Fault::find(prefill, active).map_err(Fault::in_row)?;
            self.selector.select(prefill, active)
        });
        decision
            .map(Decision::from)
            .ok_or_else(|| arrays.no_worker())
    }

    /// Choose a worker for each row of (requests, workers) arrays, without the GIL.
    fn select_batch<'py>(
        &self,
        py: Python<'py>,
        prefill_blocks: &Bound<'py, PyAny>,
        active_blocks: &Bound<'py, PyAny>,
    ) -> PyResult<BatchDecision> {
        let arrays = BlockArrays::<Ix2>::new(prefill_blocks, active_blocks)?;
        let workers = arrays.workers();
        let batch = with_slices!(arrays, |prefill, active| py.detach(|| {
            Fault::find(prefill, active)?;
            Ok(self.selector.select_batch(prefill, active, workers))
        }));
        let batch = batch.map_err(|fault: Fault| fault.in_batch(workers))?;
        Ok(BatchDecision::new(py, batch, workers))
    }

    /// Change the policy in place; the next selection of every thread feels it.
    #[pyo3(signature = (*, temperature=None, prefill_weight=None, pool=None, instance=None))]
    fn swap<'py>(
        &self,
        py: Python<'py>,
        temperature: Option<&Bound<'py, PyAny>>,
        prefill_weight: Option<&Bound<'py, PyAny>>,
        pool: Option<&str>,
        instance: Option<&str>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        only("pool", POOL, pool)?;
        only("instance", INSTANCE, instance)?;
        let change = binding::policy_change(temperature, prefill_weight)?;
        let published = self.selector.cell.swap(change);
        Ok(vec![binding::pool_policy(py, POOL, INSTANCE, published)?])
    }

    /// The present policy.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        binding::pool_policy(py, POOL, INSTANCE, self.selector.cell.load())
    }

    /// The present policy, alone in a list.
    fn policies<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Ok(vec![self.policy(py)?])
    }

    /// Take what was decided since the last call, oldest first.
    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let drained = py.detach(|| self.selector.log.drain());
        binding::decisions(py, [(POOL, drained.decisions.as_slice())], drained.dropped)
    }

    /// The latest decisions, at most `limit`; takes none of them away.
    fn recent_decisions<'py>(&self, limit: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = limit.py();
        let limit = binding::limit(limit)?;
        let recent = py.detach(|| self.selector.log.recent(limit));
        binding::decisions(py, [(POOL, recent.as_slice())], 0)
    }

    fn __repr__(&self) -> String {
        let current = self.selector.cell.load();
        let Policy {
            temperature,
            prefill_weight,
        } = current.policy;
        format!(
            "Router(temperature={:?}, prefill_weight={:?}, version={})",
            temperature.get(),
            prefill_weight.get(),
            current.version,
        )
    }
}

/// Refuse a name that is not the one this router has.
fn only(what: &str, known: &str, asked: Option<&str>) -> PyResult<()> {
    match asked {
        Some(name) if name != known => Err(binding::unknown_pool_error(format!(
            "there is no {what} {name:?}; this router has one {what}, {known:?}"
        ))),
        _ => Ok(()),
    }
}
