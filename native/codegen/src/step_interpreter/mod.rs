//! A program run without machine code, for processes that may not make memory executable and processors that Cranelift
//! has no code generator for; and a second opinion on what compiled code does.
//!
//! It reads the same frame as compiled code and calls the same primitives. What compiled code does in one loop, it does
//! operator by operator on tiles of [`TILE`] cells, which stay in the first-level cache.

mod places;

use fulgurite_fusion::cplan::{CNode, NodeId};
use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, UnaryOp, scalar};
use fulgurite_matrix::vector_math::Cells;

use crate::aggregates::{self, Accumulation, identity};
use crate::primitives::{cells, code_of, rows};
use crate::program::{Layout, Loop, Program, Shape, Step};
use places::{Frame, Place};

/// Cells that one operator works on at a time.
const TILE: usize = 256;

/// Runs a program over the block that the slots describe.
///
/// # Safety
/// The slots are those of a [`crate::frame::Frame`] that has checked the block: everything that they point to is there for
/// the block's rows and the widths.
pub(crate) unsafe fn run(program: &Program, layout: &Layout, slots: &[u64]) {
    let frame = Frame {
        program,
        layout,
        slots,
    };
    let longest = program.steps.iter().map(|step| match step {
        Step::Loop(step) => step.nodes.len(),
        _ => 0,
    });
    let mut tiles = vec![[0.0; TILE]; longest.max().unwrap_or(0)];
    for step in &program.steps {
        // SAFETY: the caller's promise.
        unsafe {
            match step {
                Step::Loop(step) => frame.cellwise(step, &mut tiles),
                Step::Call(id) => frame.call(*id),
                Step::OuterProduct { left, right } => frame.outer_product(*left, *right),
            }
        }
    }
}

/// The part of one row, or of the numbers of all rows, that a tile holds.
#[derive(Clone, Copy)]
struct Stretch {
    row: usize,
    from: usize,
    count: usize,
}

impl Frame<'_> {
    /// # Safety
    /// As [`run`]. So it is for all methods.
    unsafe fn cellwise(&self, step: &Loop, tiles: &mut [[f64; TILE]]) {
        match step.shape {
            Shape::Vector(_) => {
                let width = self.width(step.shape);
                for row in 0..self.rows() {
                    // SAFETY: the caller's promise.
                    unsafe { self.pass(step, row, width, tiles) };
                }
            }
            // Numbers of successive rows are adjacent: the rows are the columns of one pass.
            // SAFETY: the caller's promise.
            Shape::PerRow | Shape::Constant => unsafe { self.pass(step, 0, self.rows(), tiles) },
        }
    }

    /// # Safety
    /// As [`run`], and there are that row and as many cells.
    unsafe fn pass(&self, step: &Loop, row: usize, width: usize, tiles: &mut [[f64; TILE]]) {
        let reductions = step.reductions.iter().filter_map(|id| {
            let node = &self.program.nodes[id.index()];
            match node {
                CNode::Reduce(op, operand) => Some((*id, *op, *operand)),
                _ => None,
            }
        });
        let mut totals: Vec<_> = reductions
            .map(|(id, op, operand)| (id, op, operand, identity(op)))
            .collect();
        for from in (0..width).step_by(TILE) {
            let count = (width - from).min(TILE);
            let stretch = Stretch { row, from, count };
            for at in 0..step.nodes.len() {
                let (known, rest) = tiles.split_at_mut(at);
                // SAFETY: the caller's promise.
                unsafe { self.node(step, at, stretch, known, &mut rest[0][..count]) };
            }
            for (id, home) in &step.stores {
                let Some(target) = self.target(*id, *home, step.shape) else {
                    continue;
                };
                // SAFETY: the row of the target has the stretch's cells, and nobody else has them now.
                unsafe {
                    let out = target.cells_mut(row, from, count);
                    match self.operand(*id, step, stretch, tiles) {
                        Cells::Each(cells) => out.copy_from_slice(cells),
                        Cells::Same(cell) => out.fill(cell),
                    }
                }
            }
            for (_, op, operand, total) in &mut totals {
                // SAFETY: the caller's promise.
                let cells = unsafe { self.operand(*operand, step, stretch, tiles) };
                *total = reduced(*op, *total, cells, count);
            }
        }
        for (id, op, _, total) in totals {
            let value = match aggregates::is_mean(op) {
                true => total / width as f64,
                false => total,
            };
            if let Some(target) = self.place(id) {
                // SAFETY: a reduction has a number for each row.
                unsafe { target.cells_mut(row, 0, 1)[0] = value };
            }
        }
    }

    /// The value of the loop's node at a stretch, from those of the nodes before it.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn node(
        &self,
        step: &Loop,
        at: usize,
        stretch: Stretch,
        known: &[[f64; TILE]],
        out: &mut [f64],
    ) {
        let node = &self.program.nodes[step.nodes[at].index()];
        // SAFETY: the caller's promise.
        let operand = |id: &NodeId| unsafe { self.operand(*id, step, stretch, known) };
        match node {
            CNode::Unary(op, x) => match operand(x) {
                Cells::Each(x) => op.eval_cells(x, out),
                Cells::Same(x) => {
                    let mut cell = [0.0];
                    op.eval_cells(&[x], &mut cell);
                    out.fill(cell[0]);
                }
            },
            CNode::Binary(op, x, y) => op.eval_cells(operand(x), operand(y), out),
            CNode::Ternary(op, x, y, z) => {
                op.eval_cells([operand(x), operand(y), operand(z)], out);
            }
            // No other node is computed in a loop.
            _ => {}
        }
    }

    /// A value at a stretch: from a tile where the loop computed it, else from memory.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn operand<'t>(
        &'t self,
        id: NodeId,
        step: &Loop,
        stretch: Stretch,
        tiles: &'t [[f64; TILE]],
    ) -> Cells<'t> {
        if let CNode::Literal(literal) = self.program.nodes[id.index()] {
            return Cells::Same(literal);
        }
        let computed = step.nodes.iter().position(|node| *node == id);
        if let Some(tile) = computed.and_then(|at| tiles.get(at)) {
            return Cells::Each(&tile[..stretch.count]);
        }
        let Some(place) = self.place(id) else {
            return Cells::Same(f64::NAN);
        };
        let is_number = matches!(self.program.shapes.of(id), Shape::Constant)
            || (matches!(self.program.shapes.of(id), Shape::PerRow)
                && matches!(step.shape, Shape::Vector(_)));
        // SAFETY: the frame checked that the row has the cells; the stretch is read before anything is written.
        unsafe {
            if is_number {
                Cells::Same(place.cells(stretch.row, 0, 1)[0])
            } else {
                Cells::Each(place.cells(stretch.row, stretch.from, stretch.count))
            }
        }
    }

    /// Calls the primitive of a node on the block.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn call(&self, id: NodeId) {
        let shape = self.program.shapes.of(id);
        let Some(out) = self.place(id) else {
            return;
        };
        match &self.program.nodes[id.index()] {
            CNode::Unary(op, x) => {
                let code = code_of(UnaryOp::ALL, op) as usize;
                // SAFETY: operand and result have the shape. So it is below.
                unsafe { self.rowwise(cells::unary, code, *x, out, shape) };
            }
            CNode::Cumulative(op, x) => {
                let code = code_of(CumulativeOp::ALL, op) as usize;
                // SAFETY: as above.
                unsafe { self.rowwise(cells::cumulative, code, *x, out, shape) };
            }
            CNode::Reduce(op, x) => {
                let (rows, width) = self.extent(self.program.shapes.of(*x));
                if let Some(x) = self.place(*x) {
                    let code = code_of(AggregateOp::ALL, op) as usize;
                    // SAFETY: as above; there is a number for each row.
                    unsafe {
                        cells::reduce(code, x.pointer, x.row_stride, out.pointer, rows, width);
                    }
                }
            }
            CNode::Binary(op, x, y) => {
                let (rows, width) = self.extent(shape);
                if let (Some(x), Some(y)) = (self.along(*x, shape), self.along(*y, shape)) {
                    let code = code_of(BinaryOp::ALL, op) as usize;
                    // SAFETY: as above.
                    unsafe {
                        cells::binary(
                            code,
                            x.pointer,
                            x.row_stride,
                            x.column_stride,
                            y.pointer,
                            y.row_stride,
                            y.column_stride,
                            out.pointer,
                            out.row_stride,
                            rows,
                            width,
                        );
                    }
                }
            }
            CNode::Concatenate(parts) => {
                let mut skipped = 0;
                for part in parts {
                    let width = self.width(self.program.shapes.of(*part));
                    if let Some(x) = self.place(*part) {
                        // SAFETY: the widths of the parts add up to that of the result.
                        unsafe {
                            let to = out.pointer.add(skipped);
                            let rows = self.rows();
                            cells::copy(x.pointer, x.row_stride, to, out.row_stride, rows, width);
                        }
                    }
                    skipped += width;
                }
            }
            CNode::VectorMatrix { vector, input, .. } => {
                let width = self.width(self.program.shapes.of(*vector));
                if let Some(x) = self.place(*vector) {
                    // SAFETY: the frame describes the matrix, which has as many rows as the vector has cells.
                    unsafe {
                        rows::vector_matrix(
                            x.pointer,
                            x.row_stride,
                            width,
                            self.csr(*vector),
                            self.whole(self.layout.input(*input)),
                            out.pointer,
                            out.row_stride,
                            self.rows(),
                        );
                    }
                }
            }
            _ => {}
        }
    }

    /// # Safety
    /// As [`run`]; operand and result have the shape.
    unsafe fn rowwise(
        &self,
        primitive: cells::Rowwise,
        code: usize,
        operand: NodeId,
        out: Place,
        shape: Shape,
    ) {
        let (rows, width) = self.extent(shape);
        if let Some(x) = self.place(operand) {
            // SAFETY: the caller's promise.
            unsafe {
                primitive(
                    code,
                    x.pointer,
                    x.row_stride,
                    out.pointer,
                    out.row_stride,
                    rows,
                    width,
                );
            }
        }
    }

    /// # Safety
    /// As [`run`].
    unsafe fn outer_product(&self, left: NodeId, right: NodeId) {
        let (Some(l), Some(r)) = (self.place(left), self.place(right)) else {
            return;
        };
        let width = |id| self.width(self.program.shapes.of(id));
        // SAFETY: the frame's accumulator is as large as the operands are wide.
        unsafe {
            rows::outer_product(
                l.pointer,
                l.row_stride,
                width(left),
                self.csr(left),
                r.pointer,
                r.row_stride,
                width(right),
                self.whole(self.layout.accumulator()),
                self.rows(),
            );
        }
    }
}

/// A total with the cells of a stretch taken in.
fn reduced(op: AggregateOp, total: f64, cells: Cells<'_>, count: usize) -> f64 {
    let cells = (0..count).map(|index| cells.at(index));
    match aggregates::accumulation(op) {
        Accumulation::Minimum => cells.fold(total, scalar::minimum),
        Accumulation::Maximum => cells.fold(total, scalar::maximum),
        Accumulation::Product => cells.fold(total, |a, b| a * b),
        Accumulation::SumOfSquares => total + cells.map(|cell| cell * cell).sum::<f64>(),
        Accumulation::Sum => total + cells.sum::<f64>(),
    }
}
