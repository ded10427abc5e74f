//! Block counts as Python passes them: read in place where that is possible, converted where not,
//! and refused with the place of the fault.

use dynamo_regime_binding::input_error;
use dynamo_regime_core::cost::Blocks;
use numpy::ndarray::Dimension;
use numpy::{
    PyArray, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

const PREFILL: &str = "prefill_blocks";
const ACTIVE: &str = "active_blocks";

/// The two arguments of a selection: of one shape, with at least one worker.
pub struct BlockArrays<'py, D: Dimension> {
    pub prefill: BlockArray<'py, D>,
    pub active: BlockArray<'py, D>,
}

/// A C-contiguous array of one of the element types that are read in place.
pub enum BlockArray<'py, D: Dimension> {
    F64(PyReadonlyArray<'py, f64, D>),
    F32(PyReadonlyArray<'py, f32, D>),
    I64(PyReadonlyArray<'py, i64, D>),
    U32(PyReadonlyArray<'py, u32, D>),
}

/// Evaluate an expression over the slices of both arrays, compiled for each pair of element types.
macro_rules! with_slices {
    ($arrays:expr, |$prefill:ident, $active:ident| $body:expr) => {
        with_slices!(@one $arrays.prefill, |$prefill| with_slices!(@one $arrays.active, |$active| $body))
    };
    (@one $array:expr, |$slice:ident| $body:expr) => {
        match &$array {
            BlockArray::F64(array) => { let $slice = array.as_slice()?; $body }
            BlockArray::F32(array) => { let $slice = array.as_slice()?; $body }
            BlockArray::I64(array) => { let $slice = array.as_slice()?; $body }
            BlockArray::U32(array) => { let $slice = array.as_slice()?; $body }
        }
    };
}
pub(crate) use with_slices;

impl<'py, D: Dimension> BlockArrays<'py, D> {
    pub fn new(prefill: &Bound<'py, PyAny>, active: &Bound<'py, PyAny>) -> PyResult<Self> {
        let arrays = Self {
            prefill: BlockArray::new(PREFILL, prefill)?,
            active: BlockArray::new(ACTIVE, active)?,
        };
        let (shape, active_shape) = (arrays.prefill.shape(), arrays.active.shape());
        if shape != active_shape {
            return Err(input_error(format!(
                "{PREFILL} has shape {} but {ACTIVE} has shape {}; both need an entry for each worker",
                tuple(shape),
                tuple(active_shape),
            )));
        }
        if arrays.workers() == 0 {
            return Err(arrays.no_worker());
        }
        Ok(arrays)
    }

    /// The error of a selection among no workers at all.
    #[cold]
    pub fn no_worker(&self) -> PyErr {
        let shape = tuple(self.prefill.shape());
        input_error(format!(
            "{PREFILL} has shape {shape}: there is no worker to choose"
        ))
    }

    /// Workers to choose from: the length of the last axis.
    #[inline]
    pub fn workers(&self) -> usize {
        self.prefill.shape().last().copied().unwrap_or(0)
    }
}

impl<'py, D: Dimension> BlockArray<'py, D> {
    fn new(name: &str, argument: &Bound<'py, PyAny>) -> PyResult<Self> {
        match Self::in_place(argument)? {
            Some(array) => Ok(array),
            None => Ok(Self::F64(converted(name, argument)?.try_readonly()?)),
        }
    }

    fn in_place(argument: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let Ok(array) = argument.cast::<PyUntypedArray>() else {
            return Ok(None);
        };
        // `as_slice` would take Fortran order too, and so mix up requests and workers.
        if !(array.is_c_contiguous() && array.is_aligned()) {
            return Ok(None);
        }
        Ok(if let Ok(array) = argument.cast::<PyArray<f64, D>>() {
            Some(Self::F64(array.try_readonly()?))
        } else if let Ok(array) = argument.cast::<PyArray<i64, D>>() {
            Some(Self::I64(array.try_readonly()?))
        } else if let Ok(array) = argument.cast::<PyArray<f32, D>>() {
            Some(Self::F32(array.try_readonly()?))
        } else if let Ok(array) = argument.cast::<PyArray<u32, D>>() {
            Some(Self::U32(array.try_readonly()?))
        } else {
            None
        })
    }

    #[inline]
    fn shape(&self) -> &[usize] {
        match self {
            Self::F64(array) => array.shape(),
            Self::F32(array) => array.shape(),
            Self::I64(array) => array.shape(),
            Self::U32(array) => array.shape(),
        }
    }
}

/// A contiguous copy as f64 of anything else that numpy reads as numbers of the right shape.
fn converted<'py, D: Dimension>(
    name: &str,
    argument: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray<f64, D>>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = argument.py();
    let array = AS_ARRAY
        .import(py, "numpy", "asarray")?
        .call1((argument,))
        .map_err(|error| unreadable(py, name, error))?;
    let array = array.cast_into::<PyUntypedArray>()?;
    let dtype = array.dtype();
    if !matches!(dtype.kind(), b'f' | b'i' | b'u') {
        return Err(input_error(format!(
            "{name} has dtype {dtype}; block counts must be integers or floats"
        )));
    }
    if D::NDIM != Some(array.ndim()) {
        let shape = tuple(array.shape());
        return Err(input_error(if D::NDIM == Some(1) {
            format!(
                "{name} has shape {shape}; select takes (workers,), and select_batch (requests, workers)"
            )
        } else {
            format!(
                "{name} has shape {shape}; select_batch takes (requests, workers), and select (workers,)"
            )
        }));
    }
    // A copy in any case: only that is sure to be aligned.
    let array = array.call_method1("astype", (numpy::dtype::<f64>(py), "C"))?;
    Ok(array.cast_into()?)
}

/// numpy's own reason, for input such as nested lists of unequal length.
fn unreadable(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyTypeError>(py) {
        input_error(format!(
            "{name} is not an array of block counts: {}",
            error.value(py)
        ))
    } else {
        error
    }
}

/// An entry that is not a block count.
pub struct Fault {
    name: &'static str,
    /// Place in the flat array.
    index: usize,
    value: f64,
}

impl Fault {
    pub fn find<P: BlockCount, A: BlockCount>(prefill: &[P], active: &[A]) -> Result<(), Self> {
        first_fault(PREFILL, prefill)?;
        first_fault(ACTIVE, active)
    }

    /// The error to raise for a selection over one request.
    #[cold]
    pub fn in_row(self) -> PyErr {
        let index = self.index;
        self.at(format!("[{index}]"))
    }

    /// The error to raise for a batch over so many workers.
    #[cold]
    pub fn in_batch(self, workers: usize) -> PyErr {
        let (row, worker) = (self.index / workers, self.index % workers);
        self.at(format!("[{row}, {worker}]"))
    }

    fn at(self, place: String) -> PyErr {
        let name = self.name;
        let value = format!("{:?}", self.value).to_lowercase();
        input_error(format!(
            "{name}{place} is {value}; every block count must be finite and not negative"
        ))
    }
}

/// An element that may be a block count: finite and not negative.
pub trait BlockCount: Blocks {
    fn is_block_count(self) -> bool;
}

impl BlockCount for f64 {
    #[inline]
    fn is_block_count(self) -> bool {
        (0.0..=Self::MAX).contains(&self)
    }
}

impl BlockCount for f32 {
    #[inline]
    fn is_block_count(self) -> bool {
        (0.0..=Self::MAX).contains(&self)
    }
}

impl BlockCount for i64 {
    #[inline]
    fn is_block_count(self) -> bool {
        self >= 0
    }
}

impl BlockCount for u32 {
    #[inline]
    fn is_block_count(self) -> bool {
        true
    }
}

#[inline]
fn first_fault<T: BlockCount>(name: &'static str, counts: &[T]) -> Result<(), Fault> {
    // Without an early exit the common case, no fault at all, compiles to vector instructions.
    if counts
        .iter()
        .fold(true, |sound, count| sound & count.is_block_count())
    {
        return Ok(());
    }
    match counts.iter().position(|count| !count.is_block_count()) {
        Some(index) => Err(Fault {
            name,
            index,
            value: counts[index].blocks(),
        }),
        None => Ok(()),
    }
}

/// A shape as Python writes it.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [length] => format!("({length},)"),
        lengths => {
            let lengths: Vec<_> = lengths.iter().map(usize::to_string).collect();
            format!("({})", lengths.join(", "))
        }
    }
}
