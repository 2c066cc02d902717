//! Arrays that are not computed yet, as DAGs of operators.
//!
//! An [`Expression`] is an operator of HOPs on other expressions, or a value: one that came from outside, or that was
//! computed. Expressions never change but for that: once computed, one lets go of what it was computed from.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, DataType, HopOp, Literal, ValueType, VariableInfo};

use crate::Kind;

/// Where somebody wrote an operator: a file of Python and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: Arc<str>,
    pub line: u32,
}

/// Rows and columns; a scalar has one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub rows: u64,
    pub cols: u64,
    pub is_scalar: bool,
}

impl Shape {
    pub const SCALAR: Shape = Shape {
        rows: 1,
        cols: 1,
        is_scalar: true,
    };

    pub fn matrix(rows: u64, cols: u64) -> Self {
        Shape {
            rows,
            cols,
            is_scalar: false,
        }
    }
}

/// What an operator takes.
#[derive(Debug, Clone)]
pub enum Input {
    Expression(Arc<Expression>),
    Literal(Literal),
}

impl From<Arc<Expression>> for Input {
    fn from(expression: Arc<Expression>) -> Self {
        Input::Expression(expression)
    }
}

impl From<f64> for Input {
    fn from(value: f64) -> Self {
        Input::Literal(Literal::Double(value))
    }
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Input::Literal(Literal::String(text.into()))
    }
}

impl From<bool> for Input {
    fn from(truth: bool) -> Self {
        Input::Literal(Literal::Boolean(truth))
    }
}

impl Input {
    fn info(&self) -> VariableInfo {
        match self {
            Input::Literal(literal) => VariableInfo::constant(literal.clone()),
            Input::Expression(expression) if expression.shape.is_scalar => {
                VariableInfo::scalar(expression.value_type)
            }
            Input::Expression(expression) => {
                let Shape { rows, cols, .. } = expression.shape;
                VariableInfo::matrix(Characteristics::dims(rows, cols))
            }
        }
    }
}

/// How an expression is to be had.
#[derive(Debug, Clone)]
pub enum State {
    Pending { kind: Arc<Kind>, inputs: Vec<Input> },
    Value(Variable),
}

/// An array or a number.
#[derive(Debug)]
pub struct Expression {
    pub shape: Shape,
    /// Of a scalar.
    pub value_type: ValueType,
    pub place: Option<Place>,
    /// Operators on the longest way to values.
    pub depth: u32,
    state: Mutex<State>,
    /// How many objects of Python name it.
    names: AtomicUsize,
    /// Evaluations in which it was computed on the way to others.
    passed: AtomicU32,
}

impl Expression {
    /// A value.
    pub fn value(value: Variable) -> Arc<Self> {
        let (shape, value_type) = match &value {
            Variable::Scalar(literal) => (Shape::SCALAR, literal.value_type()),
            matrix => {
                let size = matrix.characteristics();
                let (rows, cols) = (size.rows.unwrap_or(0), size.cols.unwrap_or(0));
                (Shape::matrix(rows, cols), ValueType::Double)
            }
        };
        Arc::new(Expression {
            shape,
            value_type,
            place: None,
            depth: 0,
            state: Mutex::new(State::Value(value)),
            names: AtomicUsize::new(0),
            passed: AtomicU32::new(0),
        })
    }

    /// An operator on inputs. Its size follows from theirs, or is `given`.
    ///
    /// # Errors
    /// `dimension`, for inputs that do not go together.
    pub fn operator(
        kind: &Arc<Kind>,
        inputs: Vec<Input>,
        given: Option<Shape>,
        place: Option<Place>,
    ) -> Result<Arc<Self>> {
        let (shape, value_type) = match given {
            Some(given) => (given, ValueType::Double),
            None => described(&kind.op, &inputs)?,
        };
        let depths = inputs.iter().map(|input| match input {
            Input::Expression(expression) if !expression.is_value() => expression.depth,
            _ => 0,
        });
        Ok(Arc::new(Expression {
            shape,
            value_type,
            place,
            depth: depths.max().unwrap_or(0) + 1,
            state: Mutex::new(State::Pending {
                kind: Arc::clone(kind),
                inputs,
            }),
            names: AtomicUsize::new(0),
            passed: AtomicU32::new(0),
        }))
    }

    /// An operator on inputs, from whose sizes its own follows.
    ///
    /// # Errors
    /// `dimension`, for inputs that do not go together.
    pub fn of(kind: &Arc<Kind>, inputs: Vec<Input>) -> Result<Arc<Self>> {
        Expression::operator(kind, inputs, None, None)
    }

    /// The number that it is, once it has a value of one cell.
    pub fn number(&self) -> Option<f64> {
        match self.known()? {
            Variable::Scalar(value) => value.as_f64(),
            Variable::Matrix(matrix)
                if (matrix.block().rows(), matrix.block().cols()) == (1, 1) =>
            {
                Some(matrix.block().get(0, 0))
            }
            _ => None,
        }
    }

    pub fn state(&self) -> State {
        self.lock().clone()
    }

    /// Looks at the state without a copy of it.
    pub fn with_state<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&self.lock())
    }

    pub fn is_value(&self) -> bool {
        matches!(*self.lock(), State::Value(_))
    }

    /// Its value, once there is one.
    pub fn known(&self) -> Option<Variable> {
        match &*self.lock() {
            State::Value(value) => Some(value.clone()),
            State::Pending { .. } => None,
        }
    }

    /// It was computed. The first value stays, if several threads computed it.
    pub fn computed(&self, value: Variable) {
        let mut state = self.lock();
        if matches!(*state, State::Pending { .. }) {
            let before = std::mem::replace(&mut *state, State::Value(value));
            drop(state);
            // What it was computed from may end here.
            drop(before);
        }
    }

    /// One more object of Python names it, or one less.
    pub fn named(&self, more: bool) {
        match more {
            true => self.names.fetch_add(1, Ordering::Relaxed),
            false => self.names.fetch_sub(1, Ordering::Relaxed),
        };
    }

    pub fn has_name(&self) -> bool {
        self.names.load(Ordering::Relaxed) > 0
    }

    /// It is computed on the way to others: how often before.
    pub fn passes(&self) -> u32 {
        self.passed.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The size and the type of what an operator gives.
///
/// # Errors
/// `dimension`, for inputs that do not go together; `internal`, where the caller has to say it.
fn described(op: &HopOp, inputs: &[Input]) -> Result<(Shape, ValueType)> {
    let known: Vec<VariableInfo> = inputs.iter().map(Input::info).collect();
    let given = op.given(&known)?;
    let size = given.characteristics;
    match (given.data_type, size.rows, size.cols) {
        (DataType::Scalar, ..) => Ok((Shape::SCALAR, given.value_type)),
        (DataType::Matrix, Some(rows), Some(cols)) => {
            Ok((Shape::matrix(rows, cols), ValueType::Double))
        }
        _ => Err(Error::internal(format!("the size of {op} has to be given"))),
    }
}
