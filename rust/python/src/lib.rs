//! The extension module `dynamo_regime._core`: the selector as a Python class, and the simulator.

mod blocks;
mod decision;
mod router;
mod selector;
mod simulate;

use pyo3::prelude::*;

/// Native part of dynamo_regime.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<router::Router>()?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<decision::BatchDecision>()?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)
}
