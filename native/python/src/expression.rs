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
use fulgurite_hop::{Direction, HopOp, Literal, ValueType};

/// An operator with what tells it from others, at the price of a number.
#[derive(Debug)]
pub struct Kind {
    pub op: HopOp,
    pub number: u32,
}

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

impl Input {
    fn shape(&self) -> Shape {
        match self {
            Input::Expression(expression) => expression.shape,
            Input::Literal(_) => Shape::SCALAR,
        }
    }

    fn count(&self) -> Option<u64> {
        match self {
            Input::Literal(Literal::Int(value)) => u64::try_from(*value).ok(),
            _ => None,
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
        let shape = match given {
            Some(given) => given,
            None => shape_of(&kind.op, &inputs)?,
        };
        let depths = inputs.iter().map(|input| match input {
            Input::Expression(expression) if !expression.is_value() => expression.depth,
            _ => 0,
        });
        Ok(Arc::new(Expression {
            shape,
            value_type: ValueType::Double,
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

/// The size of what an operator gives.
///
/// # Errors
/// `dimension`, for inputs that do not go together; `internal`, where the caller has to say it.
fn shape_of(op: &HopOp, inputs: &[Input]) -> Result<Shape> {
    let of = |place: usize| match inputs.get(place) {
        Some(input) => Ok(input.shape()),
        None => Err(Error::internal(format!("the operator {op} lacks an input"))),
    };
    let first = of(0)?;
    Ok(match op {
        HopOp::Unary(_) | HopOp::Cumulative(_) | HopOp::Rev => first,
        HopOp::Binary(_) | HopOp::Ternary(_) => {
            let mut shapes = inputs.iter().map(Input::shape);
            shapes.try_fold(Shape::SCALAR, |known, next| together(op, known, next))?
        }
        HopOp::Aggregate(_, Direction::Full) => Shape::SCALAR,
        HopOp::Aggregate(_, Direction::Row) => Shape::matrix(first.rows, 1),
        HopOp::Aggregate(_, Direction::Col) => Shape::matrix(1, first.cols),
        HopOp::MatMult => {
            let second = of(1)?;
            if first.cols != second.rows {
                return Err(mismatch(op, first, second));
            }
            Shape::matrix(first.rows, second.cols)
        }
        HopOp::Transpose => Shape::matrix(first.cols, first.rows),
        HopOp::Diag if first.cols == 1 => Shape::matrix(first.rows, first.rows),
        HopOp::Diag => Shape::matrix(first.rows.min(first.cols), 1),
        HopOp::Reshape { .. } => match (inputs[1].count(), inputs[2].count()) {
            (Some(rows), Some(cols)) => Shape::matrix(rows, cols),
            _ => return Err(unsized_operator(op)),
        },
        HopOp::RightIndex => {
            let bounds: Option<Vec<u64>> = inputs[1..].iter().map(Input::count).collect();
            match bounds.as_deref() {
                Some([top, bottom, left, right]) => Shape::matrix(
                    (bottom + 1).saturating_sub(*top),
                    (right + 1).saturating_sub(*left),
                ),
                _ => return Err(unsized_operator(op)),
            }
        }
        HopOp::LeftIndex => first,
        HopOp::CBind => {
            let widths = inputs.iter().map(|input| input.shape().cols);
            Shape::matrix(first.rows, widths.sum())
        }
        HopOp::RBind => {
            let heights = inputs.iter().map(|input| input.shape().rows);
            Shape::matrix(heights.sum(), first.cols)
        }
        HopOp::Cast(cast) => match cast.code() {
            "as.matrix" => Shape::matrix(first.rows, first.cols),
            _ => Shape::SCALAR,
        },
        _ => return Err(unsized_operator(op)),
    })
}

/// The size of cells combined.
fn together(op: &HopOp, left: Shape, right: Shape) -> Result<Shape> {
    let stretched = |left: u64, right: u64| match (left, right) {
        (left, right) if left == right => Some(left),
        (1, other) | (other, 1) => Some(other),
        _ => None,
    };
    match (left.is_scalar, right.is_scalar) {
        (_, true) => Ok(left),
        (true, false) => Ok(right),
        (false, false) => {
            let rows = stretched(left.rows, right.rows);
            let cols = stretched(left.cols, right.cols);
            match rows.zip(cols) {
                Some((rows, cols)) => Ok(Shape::matrix(rows, cols)),
                None => Err(mismatch(op, left, right)),
            }
        }
    }
}

fn mismatch(op: &HopOp, left: Shape, right: Shape) -> Error {
    Error::dimension(format!(
        "a matrix that is {} x {} does not go with one that is {} x {}",
        left.rows, left.cols, right.rows, right.cols
    ))
    .in_operator(op.code())
}

fn unsized_operator(op: &HopOp) -> Error {
    Error::internal(format!("the size of {op} has to be given"))
}
