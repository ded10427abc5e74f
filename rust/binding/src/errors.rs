//! The exceptions of `dynamo_regime.errors`, raised from Rust.

use dynamo_regime_core::PolicyError;
use pyo3::PyErr;

mod python {
    use pyo3::import_exception;

    import_exception!(dynamo_regime.errors, InputError);
    import_exception!(dynamo_regime.errors, PolicyError);
    import_exception!(dynamo_regime.errors, RegimeError);
    import_exception!(dynamo_regime.errors, UnknownPoolError);
}

/// `dynamo_regime.errors.PolicyError` with the sentence of a core error.
pub fn policy_error(error: PolicyError) -> PyErr {
    python::PolicyError::new_err(error.to_string())
}

/// `dynamo_regime.errors.PolicyError` for a change that names nothing to change.
pub(crate) fn empty_change() -> PyErr {
    python::PolicyError::new_err("a swap needs a temperature, a prefill_weight or both")
}

/// `dynamo_regime.errors.InputError` with this sentence.
pub fn input_error(message: String) -> PyErr {
    python::InputError::new_err(message)
}

/// `dynamo_regime.errors.UnknownPoolError` with this sentence.
pub fn unknown_pool_error(message: String) -> PyErr {
    python::UnknownPoolError::new_err(message)
}

/// `dynamo_regime.errors.RegimeError` with this sentence.
pub fn regime_error(message: String) -> PyErr {
    python::RegimeError::new_err(message)
}
