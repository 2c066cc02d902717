//! `einsum`: an equation of matrices, vectors and scalars becomes products, cell-wise products, sums and transposes.
//!
//! Factors with the same indexes are multiplied cell by cell. Then each index that the result does not have is summed away: the cheapest one
//! first, by a sum, a product with a vector or a product of two matrices. Nothing has more than two dimensions on the way.

use std::collections::BTreeMap;

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{Direction, Hop, HopId, HopOp, Literal};

use super::{
    BoundCall, Builtin, Kind, Parameter, Rule,
    aggregates::{sums, transposed},
    builtin, required,
};

pub(super) const BUILTINS: &[Builtin] = &[Builtin {
    rest: Some(Kind::Cells),
    ..builtin("einsum", EQUATION, Rule::Function(einsum))
}];

const EQUATION: &[Parameter] = &[required("equation", Kind::String)];

/// The most indexes of an operand and of the result.
const MOST_INDEXES: usize = 2;

/// `ij,jk->ik`.
struct Equation {
    operands: Vec<Vec<char>>,
    result: Vec<char>,
}

/// A factor by its indexes.
#[derive(Debug, Clone, Copy)]
enum Factor {
    Scalar(HopId),
    /// A column.
    Vector(char, HopId),
    /// Index of rows, index of columns.
    Matrix(char, char, HopId),
}

/// How an index is summed away. What is less is cheaper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Sum,
    WithVector,
    OfMatrices,
}

struct Product<'a, 'b> {
    call: &'a mut BoundCall<'b>,
    result: Vec<char>,
    factors: Vec<Factor>,
    /// The size of each index, and the operand (from 1) that it was first seen in.
    sizes: BTreeMap<char, (HopId, usize)>,
}

fn einsum(call: &mut BoundCall<'_>) -> Result<HopId> {
    let text = call.constant_string(0)?.unwrap_or_default();
    let place = call.position_of(0).clone();
    let equation = Equation::parse(&text).map_err(|error| error.at(&place))?;
    if equation.operands.len() != call.rest.len() {
        return Err(Error::validation(format!(
            "the equation \"{text}\" has {} operands, and 'einsum' is given {}",
            equation.operands.len(),
            call.rest.len()
        ))
        .with_code(Code::WrongArgumentCount)
        .at(call.position)
        .with_help("commas separate the indexes of the operands: einsum(\"ij,jk->ik\", A, B)"));
    }
    let mut product = Product {
        result: equation.result,
        factors: Vec::new(),
        sizes: BTreeMap::new(),
        call,
    };
    for (number, indexes) in (1..).zip(&equation.operands) {
        product.add(number, indexes)?;
    }
    product.merge()?;
    while let Some(index) = product.cheapest() {
        product.sum_over(index)?;
        product.merge()?;
    }
    product.finish(&text)
}

impl Equation {
    fn parse(text: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::validation(format!("the equation \"{text}\" {what}"))
                .with_code(Code::UnknownChoice)
                .with_help("an equation names the indexes of each operand and of the result: \"ij,jk->ik\"")
        };
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if text.contains('.') {
            return Err(
                Error::unsupported(format!("the equation \"{text}\" leaves indexes out"))
                    .with_help("name all indexes instead of ..."),
            );
        }
        let (operands, result) = text
            .split_once("->")
            .ok_or_else(|| wrong("has no ->".to_owned()))?;
        let operands: Vec<Vec<char>> = operands.split(',').map(|o| o.chars().collect()).collect();
        let result: Vec<char> = result.chars().collect();
        let all = operands.iter().flatten().chain(&result);
        if let Some(other) = all.copied().find(|c| !c.is_alphabetic()) {
            return Err(wrong(format!("has '{other}' where an index is needed")));
        }
        let too_long = |indexes: &&Vec<char>| indexes.len() > MOST_INDEXES;
        if let Some(long) = operands.iter().chain([&result]).find(too_long) {
            let long: String = long.iter().collect();
            return Err(Error::unsupported(format!(
                "the equation \"{text}\" needs a tensor with the indexes '{long}'"
            ))
            .with_help("operands and results of einsum are matrices, vectors and scalars"));
        }
        if let [first, second] = result[..]
            && first == second
        {
            return Err(wrong(format!("has '{first}' twice in its result")));
        }
        if let Some(unknown) = result
            .iter()
            .find(|c| !operands.iter().flatten().any(|o| o == *c))
        {
            return Err(wrong(format!("has '{unknown}' in its result alone")));
        }
        Ok(Equation { operands, result })
    }
}

impl Factor {
    fn has(self, index: char) -> bool {
        self.indexes().contains(&Some(index))
    }

    fn indexes(self) -> [Option<char>; 2] {
        match self {
            Factor::Scalar(_) => [None, None],
            Factor::Vector(index, _) => [Some(index), None],
            Factor::Matrix(row, col, _) => [Some(row), Some(col)],
        }
    }
}

impl Product<'_, '_> {
    /// Takes an operand, which has the number `number`, as a factor.
    fn add(&mut self, number: usize, indexes: &[char]) -> Result<()> {
        let Some(operand) = self.call.rest.get(number - 1).cloned() else {
            return Err(Error::internal("an operand of einsum vanished"));
        };
        let is_matrix = self.call.block.hop(operand.id).is_matrix();
        let factor = match (indexes, is_matrix) {
            ([], false) => Factor::Scalar(operand.id),
            ([index], true) => {
                let cols = self.call.block.cols(operand.id, self.call.position);
                let one = self.call.block.int(1, self.call.position);
                let message =
                    format!("einsum: operand {number} has one index and needs one column, not ");
                self.check(cols, one, vec![text(message), Part::Size(cols)])?;
                let rows = self.call.block.rows(operand.id, self.call.position);
                self.sized(*index, rows, number)?;
                Factor::Vector(*index, operand.id)
            }
            ([row, col], true) => {
                let rows = self.call.block.rows(operand.id, self.call.position);
                let cols = self.call.block.cols(operand.id, self.call.position);
                self.sized(*row, rows, number)?;
                self.sized(*col, cols, number)?;
                match row == col {
                    true => Factor::Vector(*row, self.matrix(HopOp::Diag, vec![operand.id])),
                    false => Factor::Matrix(*row, *col, operand.id),
                }
            }
            _ => {
                let (wanted, why, found) = match is_matrix {
                    true => ("a number", "no index", "a matrix"),
                    false => ("a matrix", "an index", "a number"),
                };
                return Err(Error::validation(format!(
                    "'einsum' takes {wanted} as operand {number}, which has {why}, not {found}"
                ))
                .with_code(Code::ArgumentType)
                .at(&operand.position));
            }
        };
        self.factors.push(factor);
        Ok(())
    }

    /// That an index has one size in all operands.
    fn sized(&mut self, index: char, size: HopId, number: usize) -> Result<()> {
        let Some((first, of)) = self.sizes.get(&index).copied() else {
            self.sizes.insert(index, (size, number));
            return Ok(());
        };
        let message = vec![
            text(format!("einsum: the index '{index}' goes to ")),
            Part::Size(first),
            text(format!(" in operand {of} and to ")),
            Part::Size(size),
            text(format!(" in operand {number}")),
        ];
        self.check(first, size, message)
    }

    /// A check when the block runs, or when its sizes are known.
    fn check(&mut self, left: HopId, right: HopId, message: Vec<Part>) -> Result<()> {
        let position = self.call.position;
        let block = &mut self.call.block;
        let equal = block.equal(left, right, position)?;
        let mut whole = block.literal(Literal::String(String::new()), position);
        for part in message {
            let part = match part {
                Part::Text(text) => block.literal(Literal::String(text), position),
                Part::Size(size) => size,
            };
            whole = block.plus(whole, part, position)?;
        }
        let assert = Hop::scalar(
            HopOp::Assert,
            vec![equal, whole],
            fulgurite_hop::ValueType::Boolean,
        );
        block.push_root(assert.at(position));
        Ok(())
    }

    fn matrix(&mut self, op: HopOp, inputs: Vec<HopId>) -> HopId {
        self.call.matrix(op, inputs)
    }

    fn transposed(&mut self, of: HopId) -> HopId {
        transposed(self.call, of)
    }

    fn times(&mut self, left: HopId, right: HopId) -> Result<HopId> {
        self.call.block.times(left, right, self.call.position)
    }

    /// Makes one factor of all that have the same indexes.
    fn merge(&mut self) -> Result<()> {
        let mut merged: Vec<Factor> = Vec::new();
        for factor in std::mem::take(&mut self.factors) {
            let mut joined = None;
            for (place, known) in merged.iter().enumerate() {
                let product = match (*known, factor) {
                    (Factor::Scalar(a), Factor::Scalar(b)) => Factor::Scalar(self.times(a, b)?),
                    (Factor::Vector(i, a), Factor::Vector(j, b)) if i == j => {
                        Factor::Vector(i, self.times(a, b)?)
                    }
                    (Factor::Matrix(i, j, a), Factor::Matrix(k, l, b)) if (i, j) == (k, l) => {
                        Factor::Matrix(i, j, self.times(a, b)?)
                    }
                    (Factor::Matrix(i, j, a), Factor::Matrix(k, l, b)) if (i, j) == (l, k) => {
                        let turned = self.transposed(b);
                        Factor::Matrix(i, j, self.times(a, turned)?)
                    }
                    (
                        Factor::Scalar(_) | Factor::Vector(..) | Factor::Matrix(..),
                        Factor::Scalar(_) | Factor::Vector(..) | Factor::Matrix(..),
                    ) => continue,
                };
                joined = Some((place, product));
                break;
            }
            match joined.and_then(|(place, product)| Some((merged.get_mut(place)?, product))) {
                Some((slot, product)) => *slot = product,
                None => merged.push(factor),
            }
        }
        self.factors = merged;
        Ok(())
    }

    /// The index that is summed away next.
    fn cheapest(&self) -> Option<char> {
        let indexes = self.factors.iter().flat_map(|f| f.indexes()).flatten();
        let open = indexes.filter(|index| !self.result.contains(index));
        let ways = open.filter_map(|index| Some((self.way(index)?, index)));
        // The first of several.
        let best = ways.min_by_key(|(way, _)| *way);
        best.map(|(_, index)| index)
    }

    /// How an index can be summed away: not where three matrices have it.
    fn way(&self, index: char) -> Option<Way> {
        let with = self.factors.iter().filter(|factor| factor.has(index));
        let matrices = with
            .clone()
            .filter(|factor| matches!(factor, Factor::Matrix(..)));
        match (matrices.count(), with.count()) {
            (_, 1) => Some(Way::Sum),
            (1, _) => Some(Way::WithVector),
            (2, _) => Some(Way::OfMatrices),
            _ => None,
        }
    }

    /// Takes the factors with an index out, and puts their product, summed over it, in their place.
    fn sum_over(&mut self, index: char) -> Result<()> {
        let factors = std::mem::take(&mut self.factors);
        let (with, without): (Vec<_>, Vec<_>) = factors.into_iter().partition(|f| f.has(index));
        self.factors = without;
        let mut vector = None;
        let mut matrices = Vec::new();
        for factor in with {
            match factor {
                Factor::Scalar(_) => {}
                Factor::Vector(_, id) => vector = Some(id),
                Factor::Matrix(row, col, id) => matrices.push((row, col, id)),
            }
        }
        let summed = match (&matrices[..], vector) {
            ([], Some(vector)) => Factor::Scalar(sums(self.call, Direction::Full, vector)),
            ([(row, col, id)], None) => {
                let other = if *row == index { *col } else { *row };
                if !self.result.contains(&other) && !self.factors.iter().any(|f| f.has(other)) {
                    Factor::Scalar(sums(self.call, Direction::Full, *id))
                } else if *col == index {
                    Factor::Vector(other, sums(self.call, Direction::Row, *id))
                } else {
                    let row = sums(self.call, Direction::Col, *id);
                    Factor::Vector(other, self.transposed(row))
                }
            }
            ([left], Some(vector)) => {
                let (other, left) = self.ending_with(index, *left);
                Factor::Vector(other, self.matrix(HopOp::MatMult, vec![left, vector]))
            }
            ([left, right], vector) => {
                let (row, mut left) = self.ending_with(index, *left);
                let (col, right) = self.beginning_with(index, *right);
                if let Some(vector) = vector {
                    let turned = self.transposed(vector);
                    left = self.times(left, turned)?;
                }
                Factor::Matrix(row, col, self.matrix(HopOp::MatMult, vec![left, right]))
            }
            _ => return Err(Error::internal(format!("'{index}' is in too many factors"))),
        };
        self.factors.push(summed);
        Ok(())
    }

    /// A matrix with this index of columns, and its other index.
    fn ending_with(&mut self, index: char, (row, col, id): (char, char, HopId)) -> (char, HopId) {
        match col == index {
            true => (row, id),
            false => (col, self.transposed(id)),
        }
    }

    /// A matrix with this index of rows, and its other index.
    fn beginning_with(
        &mut self,
        index: char,
        (row, col, id): (char, char, HopId),
    ) -> (char, HopId) {
        match row == index {
            true => (col, id),
            false => (row, self.transposed(id)),
        }
    }

    /// The product of what is left, as the result has it.
    fn finish(&mut self, equation: &str) -> Result<HopId> {
        let mut indexes = self.factors.iter().flat_map(|f| f.indexes()).flatten();
        if indexes.any(|index| !self.result.contains(&index)) {
            return Err(Error::unsupported(format!(
                "the equation \"{equation}\" needs a tensor of three dimensions on the way"
            ))
            .at(self.call.position_of(0))
            .with_help("multiply some of the operands by an einsum of their own"));
        }
        let (mut scalar, mut vectors, mut matrix) = (None, BTreeMap::new(), None);
        for factor in std::mem::take(&mut self.factors) {
            match factor {
                Factor::Scalar(id) => scalar = Some(id),
                Factor::Vector(index, id) => {
                    vectors.insert(index, id);
                }
                Factor::Matrix(row, _, id) => matrix = Some((row, id)),
            }
        }
        let lost = || Error::internal(format!("the result of \"{equation}\" lost an index"));
        let value = match self.result[..] {
            [] => return scalar.ok_or_else(lost),
            [index] => vectors.get(&index).copied().ok_or_else(lost)?,
            [row, col] => {
                let column = vectors.get(&row).copied();
                let line = vectors.get(&col).copied().map(|id| self.transposed(id));
                match (matrix, column, line) {
                    (Some((first, id)), column, line) => {
                        let mut value = match first == row {
                            true => id,
                            false => self.transposed(id),
                        };
                        for vector in [column, line].into_iter().flatten() {
                            value = self.times(value, vector)?;
                        }
                        value
                    }
                    (None, Some(column), Some(line)) => {
                        self.matrix(HopOp::MatMult, vec![column, line])
                    }
                    (None, _, _) => return Err(lost()),
                }
            }
            _ => return Err(lost()),
        };
        match scalar {
            Some(scalar) => self.times(scalar, value),
            None => Ok(value),
        }
    }
}

/// Of a message that is put together when it is needed.
enum Part {
    Text(String),
    Size(HopId),
}

fn text(text: String) -> Part {
    Part::Text(text)
}
