//! `simulate`: the virtual-time cluster, for `dynamo_regime.sim`.

mod configuration;
mod observer;
mod values;

use dynamo_regime_binding::{input_error, regime_error};
use dynamo_regime_sim::SimulationError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use configuration::{Configuration, Requests};
use observer::PythonObserver;

/// Run one cluster; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (configuration, requests=None, observer=None))]
pub fn simulate<'py>(
    py: Python<'py>,
    configuration: &str,
    requests: Option<Requests<'py>>,
    observer: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let configuration: Configuration = serde_json::from_str(configuration)
        .map_err(|error| input_error(format!("the configuration of a simulation: {error}")))?;
    let simulation = configuration
        .simulation(requests.as_ref())
        .map_err(refused)?;
    let mut watching = PythonObserver::new(observer, &simulation.cluster);
    let outcome = py.detach(|| dynamo_regime_sim::simulate(&simulation, &mut watching));
    if let Some(error) = watching.error {
        return Err(error);
    }
    values::outcome(py, &outcome.map_err(refused)?)
}

fn refused(error: SimulationError) -> PyErr {
    match error {
        SimulationError::Run(_) | SimulationError::Stopped => regime_error(error.to_string()),
        _ => input_error(error.to_string()),
    }
}
