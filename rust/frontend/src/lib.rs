//! The extension module `dynamo_regime_frontend._native`: Dynamo's frontend with the plug-in linked in.

mod frontend;
mod plugins;
mod requests;

use pyo3::prelude::*;

/// Native part of dynamo_regime_frontend.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<frontend::Frontend>()
}
