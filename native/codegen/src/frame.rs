//! The frame: what compiled code is told about a block of rows.
//!
//! A [`Frame`] belongs to one task. It borrows inputs, owns scratch buffers and the cells it has gathered or
//! made dense, and knows how many cells lie behind each pointer, so that it can refuse a block that would make
//! the code read or write beyond them.

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};
use fulgurite_matrix::{CsrMatrix, Interrupt, kernels::dense_product::LaidOut};

use crate::aligned::{AlignedCells, LINE};
use crate::bind::Bound;
use crate::program::{Home, Layout, Program, Shape, WHOLE_SLOTS};

/// Bytes of a main input that are in the second-level cache, as a rule, when an operator reads it again.
const CACHED_BYTES: usize = 512 << 10;

/// A matrix in the forms that products need, see [`crate::primitives::Whole`].
#[derive(Debug, Default)]
pub(crate) struct WholeMatrix {
    pub rows: usize,
    pub cols: usize,
    /// Empty where no CSR operand meets the matrix.
    pub row_major: AlignedCells,
    pub row_stride: usize,
    /// Empty where no dense operand meets the matrix.
    pub transposed: AlignedCells,
    pub transposed_stride: usize,
    /// None where no rows meet the matrix that are worth it.
    pub laid_out: Option<LaidOut>,
}

/// Where a block's values go: where there are several vectors for each row, each has an equal part.
pub(crate) struct Target<'t> {
    pub cells: &'t mut [f64],
    pub stride: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Behind {
    /// Cells behind the pointer of dense rows.
    cells: usize,
    stride: usize,
    /// Rows behind the pointer of CSR rows.
    csr_rows: usize,
}

/// The width of each class of vectors.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Widths<'a> {
    Classes(&'a [usize]),
    /// Of a Cell program's only class: cells of a row of its tile, and the most that there may be.
    Tile {
        now: usize,
        most: usize,
    },
}

impl<'a> Widths<'a> {
    /// For tiles of at most so many columns.
    pub fn of_tiles(most: usize) -> Self {
        Widths::Tile { now: most, most }
    }

    fn now(self, class: usize) -> usize {
        match self {
            Widths::Classes(widths) => widths[class],
            Widths::Tile { now, .. } => now,
        }
    }

    /// Buffers are placed for this width.
    fn most(self, class: usize) -> usize {
        match self {
            Widths::Classes(widths) => widths[class],
            Widths::Tile { most, .. } => most,
        }
    }

    fn of(self, shape: Shape) -> usize {
        match shape {
            Shape::Vector(class) => self.now(class),
            _ => 1,
        }
    }

    fn most_of(self, shape: Shape) -> usize {
        match shape {
            Shape::Vector(class) => self.most(class),
            _ => 1,
        }
    }

    fn iter(self) -> impl Iterator<Item = usize> + use<'a> {
        let classes = match self {
            Widths::Classes(widths) => widths.len(),
            Widths::Tile { .. } => 1,
        };
        (0..classes).map(move |class| self.now(class))
    }
}

pub(crate) struct Frame<'a> {
    program: &'a Program,
    layout: &'a Layout,
    slots: Vec<u64>,
    widths: Widths<'a>,
    rows: usize,
    block_rows: usize,
    inputs: Vec<Behind>,
    /// Cells that were gathered or made dense, by input; nothing before there are some.
    gathered: Vec<AlignedCells>,
    /// Backs the buffers' slots.
    _scratch: AlignedCells,
    accumulator: WholeMatrix,
    /// Of each part of the output.
    output_cells: usize,
    output_stride: usize,
    /// Whether dense rows are asked for before they are worked on.
    fetches: bool,
    interrupt: &'a Interrupt,
}

fn address<T>(slice: &[T]) -> u64 {
    slice.as_ptr() as usize as u64
}

/// Cells of a buffer, with those that the next one needs to begin with a line.
fn buffer_cells(width: usize, block_rows: usize) -> usize {
    (width * block_rows).next_multiple_of(LINE)
}

/// Cells of scratch that a block of rows needs.
fn scratch_cells(program: &Program, widths: Widths<'_>, block_rows: usize) -> usize {
    let buffers = program.buffers.iter();
    let cells = buffers.map(|shape| buffer_cells(widths.most_of(*shape), block_rows));
    cells.sum()
}

impl<'a> Frame<'a> {
    /// A frame for blocks of at most `block_rows` rows, with scalars and whole matrices bound.
    pub fn new(
        program: &'a Program,
        layout: &'a Layout,
        bound: &Bound<'a>,
        widths: Widths<'a>,
        wholes: &'a [WholeMatrix],
        block_rows: usize,
    ) -> Result<Self> {
        let inputs = program.inputs.len();
        let mut frame = Frame {
            program,
            layout,
            slots: vec![0; layout.length()],
            widths,
            rows: 0,
            block_rows,
            inputs: vec![Behind::default(); inputs],
            gathered: Vec::new(),
            _scratch: AlignedCells::zeros(scratch_cells(program, widths, block_rows))?,
            accumulator: WholeMatrix::default(),
            output_cells: 0,
            output_stride: 0,
            fetches: 8 * bound.rows().saturating_mul(bound.cols()) > CACHED_BYTES,
            interrupt: bound.interrupt,
        };
        for (class, width) in widths.iter().enumerate() {
            frame.slots[layout.width(class)] = width as u64;
        }
        frame.place_buffers();
        for (input, binding) in program.inputs.iter().enumerate() {
            match binding {
                InputBinding::Scalar => {
                    frame.slots[layout.input(input)] = bound.scalar(input).to_bits();
                }
                InputBinding::Whole => {
                    let slot = layout.input(input);
                    if let Some(whole) = wholes.get(input) {
                        frame.describe_whole(slot, whole);
                    }
                }
                _ => {}
            }
        }
        frame.evaluate_constants();
        Ok(frame)
    }

    fn place_buffers(&mut self) {
        let mut at = self._scratch.as_mut_ptr() as usize as u64;
        for (buffer, shape) in self.program.buffers.iter().enumerate() {
            self.slots[self.layout.buffer(buffer)] = at;
            at += 8 * buffer_cells(self.widths.most_of(*shape), self.block_rows) as u64;
        }
    }

    fn describe_whole(&mut self, slot: usize, whole: &WholeMatrix) {
        let null_or = |cells: &[f64]| if cells.is_empty() { 0 } else { address(cells) };
        let laid_out = whole
            .laid_out
            .as_ref()
            .map_or(0, |panels| std::ptr::from_ref(panels) as usize as u64);
        self.slots[slot..slot + WHOLE_SLOTS].copy_from_slice(&[
            null_or(&whole.row_major),
            whole.row_stride as u64,
            null_or(&whole.transposed),
            whole.transposed_stride as u64,
            whole.rows as u64,
            whole.cols as u64,
            laid_out,
            u64::from(self.fetches),
        ]);
    }

    /// Values that are the same for all rows.
    fn evaluate_constants(&mut self) {
        let program = self.program;
        for id in &program.constants {
            let value = |operand: NodeId| -> f64 {
                let slot = match program.homes[operand.index()] {
                    Home::Input(input) => Some(self.layout.input(input)),
                    _ => self.layout.constant(operand),
                };
                slot.map_or(f64::NAN, |slot| f64::from_bits(self.slots[slot]))
            };
            let result = match &program.nodes[id.index()] {
                CNode::Literal(literal) => *literal,
                CNode::Unary(op, x) => op.eval(value(*x)),
                CNode::Binary(op, x, y) => op.eval(value(*x), value(*y)),
                CNode::Ternary(op, x, y, z) => op.eval(value(*x), value(*y), value(*z)),
                _ => f64::NAN,
            };
            if let Some(slot) = self.layout.constant(*id) {
                self.slots[slot] = result.to_bits();
            }
        }
    }

    /// An accumulator for outer products, in the form that the left operand's layout asks for.
    pub fn set_accumulator(&mut self, whole: WholeMatrix) {
        let slot = self.layout.accumulator();
        self.describe_whole(slot, &whole);
        self.accumulator = whole;
        let writable = |cells: &mut [f64]| match cells.is_empty() {
            true => 0,
            false => cells.as_mut_ptr() as usize as u64,
        };
        self.slots[slot] = writable(&mut self.accumulator.row_major);
        self.slots[slot + 2] = writable(&mut self.accumulator.transposed);
    }

    /// Whether a node's values of the block that has just run are finite, as far as they are the task's own: inputs are taken
    /// to be.
    pub fn is_finite(&self, id: NodeId) -> bool {
        const EXPONENT: u64 = 0x7ff << 52;
        const ONE: u64 = 1 << 52;
        // The largest exponent carries into the sign. All vectors add and join 64-bit integers; not all compare them.
        let all = |cells: &[f64]| {
            let exponents = cells.iter().map(|cell| cell.to_bits() & EXPONENT);
            exponents.fold(0, |all, exponent| all | (exponent + ONE)) >> 63 == 0
        };
        match self.program.homes[id.index()] {
            Home::Buffer(buffer) => {
                let before = self.program.buffers[..buffer].iter();
                let from: usize = before
                    .map(|shape| buffer_cells(self.widths.most_of(*shape), self.block_rows))
                    .sum();
                let cells = self.rows * self.widths.of(self.program.buffers[buffer]);
                self._scratch.get(from..from + cells).is_some_and(all)
            }
            Home::View { of, .. } => self.is_finite(of),
            Home::Constant => {
                let slot = self.layout.constant(id);
                slot.is_none_or(|slot| f64::from_bits(self.slots[slot]).is_finite())
            }
            Home::Input(_) | Home::Output(_) | Home::None => true,
        }
    }

    /// The accumulator's sums; the frame is done with.
    pub fn into_accumulator(self) -> WholeMatrix {
        self.accumulator
    }

    /// The block's rows.
    pub fn set_rows(&mut self, rows: usize) {
        self.rows = rows;
        self.slots[self.layout.rows()] = rows as u64;
    }

    /// The width of a Cell program's tile: buffers were placed for a width at least as large.
    pub fn set_tile(&mut self, rows: usize, width: usize) {
        self.set_rows(rows);
        if let Widths::Tile { now, .. } = &mut self.widths {
            *now = width;
        }
        self.slots[self.layout.width(0)] = width as u64;
    }

    /// Binds an input to dense rows.
    pub fn bind_dense(&mut self, input: usize, cells: &'a [f64], stride: usize) {
        self.bind_address(input, address(cells), cells.len(), stride);
    }

    fn bind_address(&mut self, input: usize, pointer: u64, cells: usize, stride: usize) {
        let slot = self.layout.input(input);
        self.slots[slot] = pointer;
        self.slots[slot + 1] = stride as u64;
        self.inputs[input].cells = cells;
        self.inputs[input].stride = stride;
    }

    /// Binds an input to the CSR rows from `row` on.
    pub fn bind_csr(&mut self, input: usize, csr: &'a CsrMatrix, row: usize) {
        let slot = self.layout.input(input);
        let pointers = csr.pointers().get(row..).unwrap_or_default();
        self.slots[slot + 2] = address(pointers);
        self.slots[slot + 3] = address(csr.indices());
        self.slots[slot + 4] = address(csr.values());
        self.inputs[input].csr_rows = pointers.len().saturating_sub(1);
    }

    /// Binds an input to cells that `fill` writes (it is given zeros or what the last call left).
    pub fn bind_filled(
        &mut self,
        input: usize,
        cells: usize,
        stride: usize,
        fill: impl FnOnce(&mut [f64]),
    ) -> Result<()> {
        fill(self.cells_of(input, cells)?);
        self.bind_gathered(input, 0, stride);
        Ok(())
    }

    /// This many cells of the task's own for an input, zeros or what was left there.
    ///
    /// # Errors
    /// `memory` when there is none.
    pub fn cells_of(&mut self, input: usize, cells: usize) -> Result<&mut [f64]> {
        if self.gathered.is_empty() {
            let inputs = self.inputs.len();
            self.gathered.resize_with(inputs, AlignedCells::default);
        }
        let gathered = &mut self.gathered[input];
        if gathered.len() < cells {
            *gathered = AlignedCells::zeros(cells)?;
        }
        Ok(&mut gathered[..cells])
    }

    /// The task's own cells of an input.
    pub fn gathered(&self, input: usize) -> &[f64] {
        self.gathered.get(input).map_or(&[], |cells| cells)
    }

    /// Binds an input to its gathered cells from one on.
    pub fn bind_gathered(&mut self, input: usize, from: usize, stride: usize) {
        let cells = self.gathered(input).get(from..).unwrap_or_default();
        let (pointer, length) = (address(cells), cells.len());
        self.bind_address(input, pointer, length, stride);
    }

    /// Sets the output, checks that all memory that the code will touch is there, and gives the slots.
    ///
    /// # Errors
    /// `internal`, naming what is too short; `interrupted`, if the run is.
    pub fn checked_slots(&mut self, target: &mut Target<'_>) -> Result<&[u64]> {
        self.interrupt.check()?;
        let parts = self.program.output_parts();
        let cells = target.cells.len() / parts;
        let first = target.cells.as_mut_ptr();
        for part in 0..parts {
            let slot = self.layout.output(part);
            self.slots[slot] = first.wrapping_add(part * cells) as usize as u64;
            self.slots[slot + 1] = target.stride as u64;
        }
        self.output_cells = cells;
        self.output_stride = target.stride;
        self.check()?;
        Ok(&self.slots)
    }

    fn check(&self) -> Result<()> {
        let short = |what: String| Err(Error::internal(format!("a block's {what} is too short")));
        if self.rows == 0 || self.rows > self.block_rows {
            return short(format!("scratch for {} rows", self.rows));
        }
        if let Widths::Tile { now, most } = self.widths
            && now > most
        {
            return short(format!("scratch for {now} columns"));
        }
        for (input, behind) in self.inputs.iter().enumerate() {
            let csr = self.program.reads_csr[input] && behind.csr_rows > 0;
            if csr && behind.csr_rows < self.rows {
                return short(format!("input {input}"));
            }
            let dense = self.program.reads_dense[input] || (self.program.reads_csr[input] && !csr);
            let is_rows = !matches!(
                self.program.inputs[input],
                InputBinding::Scalar | InputBinding::Whole
            );
            let width = self.widths.of(self.program.input_shapes[input]);
            if dense && is_rows && !holds(behind.cells, behind.stride, self.rows, width) {
                return short(format!("input {input}"));
            }
        }
        if let Some(shape) = self.program.output {
            let width = match shape {
                Shape::Vector(_) => self.widths.of(shape),
                _ => self.program.results,
            };
            if !holds(self.output_cells, self.output_stride, self.rows, width) {
                return short("output".into());
            }
        }
        Ok(())
    }
}

/// Whether `rows` rows of `width` cells, `stride` apart, lie within `cells` cells.
fn holds(cells: usize, stride: usize, rows: usize, width: usize) -> bool {
    let last = (rows - 1).checked_mul(stride);
    width == 0
        || last
            .and_then(|last| last.checked_add(width))
            .is_some_and(|end| end <= cells)
}
