//! Python arguments as the core's valid values.

use dynamo_regime_core::{PolicyChange, PrefillWeight, Temperature};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyType};

use crate::errors::{empty_change, input_error, policy_error};

/// A temperature τ, or a `PolicyError` (out of range) or `TypeError` (not a number).
pub fn temperature(value: &Bound<'_, PyAny>) -> PyResult<Temperature> {
    Temperature::try_from(number("temperature", value)?).map_err(policy_error)
}

/// A prefill weight ω, or a `PolicyError` (out of range) or `TypeError` (not a number).
pub fn prefill_weight(value: &Bound<'_, PyAny>) -> PyResult<PrefillWeight> {
    PrefillWeight::try_from(number("prefill_weight", value)?).map_err(policy_error)
}

/// The arguments of `swap`: `None` keeps a value, and both being `None` is a `PolicyError`.
pub fn policy_change(
    new_temperature: Option<&Bound<'_, PyAny>>,
    new_prefill_weight: Option<&Bound<'_, PyAny>>,
) -> PyResult<PolicyChange> {
    let change = PolicyChange {
        temperature: new_temperature.map(temperature).transpose()?,
        prefill_weight: new_prefill_weight.map(prefill_weight).transpose()?,
    };
    if change == PolicyChange::default() {
        return Err(empty_change());
    }
    Ok(change)
}

/// The `limit` of `recent_decisions`, or an `InputError` (negative) or `TypeError` (no integer).
pub fn limit(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    integer("limit", "0 or more", value)
}

/// The `seed` of a generator, or an `InputError` (out of range) or `TypeError` (no integer).
pub fn seed(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    integer("seed", "from 0 to 2**64 - 1", value)
}

fn integer<'py, T>(name: &str, range: &str, value: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    let py = value.py();
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(name, "an integer", value));
    }
    value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(py) {
            input_error(format!("{name} must be {range}, but is {value}"))
        } else if error.is_instance_of::<PyTypeError>(py) {
            wrong_type(name, "an integer", value)
        } else {
            error
        }
    })
}

/// Any real number of Python or numpy. Truth values and strings are mistakes, not numbers.
fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    static REAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if let Ok(float) = value.cast::<PyFloat>() {
        return float.extract();
    }
    let py = value.py();
    let real = REAL.import(py, "numbers", "Real")?;
    if value.is_instance_of::<PyBool>() || !value.is_instance(real)? {
        return Err(wrong_type(name, "a number", value));
    }
    match value.extract::<f64>() {
        // An integer beyond the floats is as good as infinite, and the range check says so.
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(if value.lt(0)? {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }),
        extracted => extracted,
    }
}

fn wrong_type(name: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    match value.get_type().name() {
        Ok(found) => {
            PyTypeError::new_err(format!("{name} must be {wanted}, but is of type {found}"))
        }
        Err(error) => error,
    }
}
