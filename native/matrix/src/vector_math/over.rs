//! Functions of lanes over slices.

use std::ops::Range;

use crate::lanes::math::{MathKernel, MathLanes};
use crate::lanes::{Instructions, run_math};

/// A stretch of cells: one each, or the same for all.
#[derive(Debug, Clone, Copy)]
pub enum Cells<'a> {
    Each(&'a [f64]),
    Same(f64),
}

impl<'a> Cells<'a> {
    /// The cells at these places, as far as there are any.
    pub fn part(self, range: Range<usize>) -> Cells<'a> {
        match self {
            Cells::Each(cells) => {
                let end = range.end.min(cells.len());
                Cells::Each(&cells[range.start.min(end)..end])
            }
            Cells::Same(value) => Cells::Same(value),
        }
    }

    /// The cell at a place; NaN where there is none.
    pub fn at(self, index: usize) -> f64 {
        match self {
            Cells::Each(cells) => cells.get(index).copied().unwrap_or(f64::NAN),
            Cells::Same(value) => value,
        }
    }

    fn len(self) -> usize {
        match self {
            Cells::Each(cells) => cells.len(),
            Cells::Same(_) => usize::MAX,
        }
    }

    #[inline(always)]
    fn load<V: MathLanes>(self, from: usize) -> V {
        match self {
            Cells::Each(cells) => V::read(&cells[from..]),
            Cells::Same(value) => V::splat(value),
        }
    }

    #[inline(always)]
    fn load_part<V: MathLanes>(self, range: Range<usize>) -> V {
        match self {
            Cells::Each(cells) => V::read_part(&cells[range]),
            Cells::Same(value) => V::splat(value),
        }
    }
}

/// Work that the compiler makes vectors of by itself.
pub(crate) trait Work {
    type Output;

    /// Must be `#[inline(always)]`, and so must all that it calls in its loops: what is called is compiled for the narrowest
    /// vectors. Closures are not, unless they are small.
    fn run(self) -> Self::Output;
}

/// Runs `work`, compiled for the best vectors that the processor has. The bits are those of plain code.
pub(crate) fn vectorized<W: Work>(work: W) -> W::Output {
    enum Progress<W: Work> {
        Begins(W),
        Ended(W::Output),
    }

    struct Step<'a, W: Work>(&'a mut Option<Progress<W>>);

    impl<W: Work> MathKernel for Step<'_, W> {
        #[inline(always)]
        fn run<V: MathLanes>(self) {
            if let Some(Progress::Begins(work)) = self.0.take() {
                *self.0 = Some(Progress::Ended(work.run()));
            }
        }
    }

    let mut progress = Some(Progress::Begins(work));
    if let Some(best) = Instructions::best_for_math() {
        run_math(best, Step(&mut progress));
    }
    match progress {
        Some(Progress::Ended(output)) => output,
        Some(Progress::Begins(work)) => work.run(),
        None => unreachable!("work that begins ends"),
    }
}

/// A function of one cell.
pub(super) trait Unary: Copy {
    /// Must be `#[inline(always)]`.
    fn lanes<V: MathLanes>(self, x: V) -> V;
    /// Where there are no vectors.
    fn scalar(self, x: f64) -> f64;

    /// [`Unary::lanes`] of slices of one length, of whole vectors. Must be `#[inline(always)]`.
    #[inline(always)]
    fn whole_vectors<V: MathLanes>(self, x: &[f64], out: &mut [f64]) {
        each_vector::<V>(self, x, out);
    }
}

/// The function of one vector after the other.
#[inline(always)]
pub(super) fn each_vector<V: MathLanes>(function: impl Unary, x: &[f64], out: &mut [f64]) {
    for (out, x) in out.chunks_exact_mut(V::WIDTH).zip(x.chunks_exact(V::WIDTH)) {
        function.lanes(V::read(x)).write(out);
    }
}

/// A function of two cells.
pub(super) trait Binary: Copy {
    /// Must be `#[inline(always)]`.
    fn lanes<V: MathLanes>(self, x: V, y: V) -> V;
    /// Where there are no vectors.
    fn scalar(self, x: f64, y: f64) -> f64;

    /// [`Binary::lanes`] of stretches of whole vectors. Must be `#[inline(always)]`.
    #[inline(always)]
    fn whole_vectors<V: MathLanes>(self, x: Cells, y: Cells, out: &mut [f64]) {
        for (number, out) in out.chunks_exact_mut(V::WIDTH).enumerate() {
            let from = number * V::WIDTH;
            self.lanes::<V>(x.load(from), y.load(from)).write(out);
        }
    }
}

/// [`Binary::whole_vectors`] with a loop for each kind of operand: for functions of so few instructions that it matters.
#[inline(always)]
pub(super) fn each_pair<V: MathLanes>(function: impl Binary, x: Cells, y: Cells, out: &mut [f64]) {
    let outs = out.chunks_exact_mut(V::WIDTH);
    match (x, y) {
        (Cells::Each(x), Cells::Each(y)) => {
            let pairs = x.chunks_exact(V::WIDTH).zip(y.chunks_exact(V::WIDTH));
            for (out, (x, y)) in outs.zip(pairs) {
                function.lanes(V::read(x), V::read(y)).write(out);
            }
        }
        (Cells::Each(x), Cells::Same(y)) => {
            let y = V::splat(y);
            for (out, x) in outs.zip(x.chunks_exact(V::WIDTH)) {
                function.lanes(V::read(x), y).write(out);
            }
        }
        (Cells::Same(x), Cells::Each(y)) => {
            let x = V::splat(x);
            for (out, y) in outs.zip(y.chunks_exact(V::WIDTH)) {
                function.lanes(x, V::read(y)).write(out);
            }
        }
        (Cells::Same(x), Cells::Same(y)) => {
            let value = function.lanes(V::splat(x), V::splat(y));
            for out in outs {
                value.write(out);
            }
        }
    }
}

/// A function of three cells.
pub(super) trait Ternary: Copy {
    /// Must be `#[inline(always)]`.
    fn lanes<V: MathLanes>(self, x: V, y: V, z: V) -> V;
    /// Where there are no vectors.
    fn scalar(self, x: f64, y: f64, z: f64) -> f64;
}

/// [`Ternary::lanes`] of stretches of whole vectors.
#[inline(always)]
fn each_triple<V: MathLanes>(function: impl Ternary, operands: [Cells; 3], out: &mut [f64]) {
    let outs = out.chunks_exact_mut(V::WIDTH);
    match operands {
        [Cells::Each(x), Cells::Each(y), Cells::Each(z)] => {
            let pairs = y.chunks_exact(V::WIDTH).zip(z.chunks_exact(V::WIDTH));
            for (out, (x, (y, z))) in outs.zip(x.chunks_exact(V::WIDTH).zip(pairs)) {
                let value = function.lanes(V::read(x), V::read(y), V::read(z));
                value.write(out);
            }
        }
        [x, y, z] => {
            for (number, out) in outs.enumerate() {
                let from = number * V::WIDTH;
                let value = function.lanes::<V>(x.load(from), y.load(from), z.load(from));
                value.write(out);
            }
        }
    }
}

/// The function of each cell, as far as there are cells on both sides.
pub(super) fn unary(function: impl Unary, x: &[f64], out: &mut [f64]) {
    unary_with(Instructions::best_for_math(), function, x, out);
}

/// `None` for the scalar function.
pub(super) fn unary_with<F: Unary>(
    instructions: Option<Instructions>,
    function: F,
    x: &[f64],
    out: &mut [f64],
) {
    let count = x.len().min(out.len());
    let (x, out) = (&x[..count], &mut out[..count]);
    if let Some(instructions) = instructions {
        let done = run_math(instructions, OverUnary { function, x, out });
        debug_assert!(done, "instructions are only named where there are any");
        return;
    }
    for (out, x) in out.iter_mut().zip(x) {
        *out = function.scalar(*x);
    }
}

/// The function of each pair of cells, as far as there are cells on all sides.
pub(super) fn binary(function: impl Binary, x: Cells, y: Cells, out: &mut [f64]) {
    binary_with(Instructions::best_for_math(), function, x, y, out);
}

/// `None` for the scalar function.
pub(super) fn binary_with<F: Binary>(
    instructions: Option<Instructions>,
    function: F,
    x: Cells,
    y: Cells,
    out: &mut [f64],
) {
    let count = out.len().min(x.len()).min(y.len());
    let out = &mut out[..count];
    if let Some(instructions) = instructions {
        let done = run_math(
            instructions,
            OverBinary {
                function,
                x,
                y,
                out,
            },
        );
        debug_assert!(done, "instructions are only named where there are any");
        return;
    }
    for (index, out) in out.iter_mut().enumerate() {
        *out = function.scalar(x.at(index), y.at(index));
    }
}

/// The function of each triple of cells, as far as there are cells on all sides.
pub(super) fn ternary(function: impl Ternary, operands: [Cells; 3], out: &mut [f64]) {
    ternary_with(Instructions::best_for_math(), function, operands, out);
}

/// `None` for the scalar function.
pub(super) fn ternary_with<F: Ternary>(
    instructions: Option<Instructions>,
    function: F,
    operands: [Cells; 3],
    out: &mut [f64],
) {
    let count = operands.iter().map(|cells| cells.len()).min();
    let count = count.unwrap_or(0).min(out.len());
    let out = &mut out[..count];
    if let Some(instructions) = instructions {
        let work = OverTernary {
            function,
            operands,
            out,
        };
        let done = run_math(instructions, work);
        debug_assert!(done, "instructions are only named where there are any");
        return;
    }
    let [x, y, z] = operands;
    for (index, out) in out.iter_mut().enumerate() {
        *out = function.scalar(x.at(index), y.at(index), z.at(index));
    }
}

/// From so many cells on, vectors are written where they fill cache lines: one that straddles two lines is written twice.
const LONG: usize = 512;

/// Cells before the first place at which a vector is aligned.
#[inline(always)]
fn unaligned<V: MathLanes>(out: &[f64]) -> usize {
    match out.len() < LONG {
        true => 0,
        false => out.as_ptr().align_offset(size_of::<f64>() * V::WIDTH) % V::WIDTH,
    }
}

/// Cells before the first aligned vector, those of whole vectors, and those left at the end; with their places.
#[inline(always)]
fn parts<V: MathLanes>(out: &mut [f64]) -> ([&mut [f64]; 3], [Range<usize>; 3]) {
    let (first, length) = (unaligned::<V>(out), out.len());
    let end = first + (length - first) / V::WIDTH * V::WIDTH;
    let (whole, last_out) = out.split_at_mut(end);
    let (first_out, outs) = whole.split_at_mut(first);
    (
        [first_out, outs, last_out],
        [0..first, first..end, end..length],
    )
}

/// Slices are of one length.
struct OverUnary<'a, F> {
    function: F,
    x: &'a [f64],
    out: &'a mut [f64],
}

impl<F: Unary> MathKernel for OverUnary<'_, F> {
    #[inline(always)]
    fn run<V: MathLanes>(self) {
        let OverUnary { function, x, out } = self;
        let ([first_out, outs, last_out], [first, whole, last]) = parts::<V>(out);
        function.whole_vectors::<V>(&x[whole], outs);
        for (range, out) in [(first, first_out), (last, last_out)] {
            if !out.is_empty() {
                function.lanes(V::read_part(&x[range])).write_part(out);
            }
        }
    }
}

/// The output is no longer than the operands.
struct OverBinary<'a, F> {
    function: F,
    x: Cells<'a>,
    y: Cells<'a>,
    out: &'a mut [f64],
}

impl<F: Binary> MathKernel for OverBinary<'_, F> {
    #[inline(always)]
    fn run<V: MathLanes>(self) {
        let OverBinary {
            function,
            x,
            y,
            out,
        } = self;
        let ([first_out, outs, last_out], [first, whole, last]) = parts::<V>(out);
        function.whole_vectors::<V>(x.part(whole.clone()), y.part(whole), outs);
        for (range, out) in [(first, first_out), (last, last_out)] {
            if !out.is_empty() {
                let (x, y) = (x.load_part(range.clone()), y.load_part(range));
                function.lanes::<V>(x, y).write_part(out);
            }
        }
    }
}

/// The output is no longer than the operands.
struct OverTernary<'a, F> {
    function: F,
    operands: [Cells<'a>; 3],
    out: &'a mut [f64],
}

impl<F: Ternary> MathKernel for OverTernary<'_, F> {
    #[inline(always)]
    fn run<V: MathLanes>(self) {
        let OverTernary {
            function,
            operands: [x, y, z],
            out,
        } = self;
        let ([first_out, outs, last_out], [first, whole, last]) = parts::<V>(out);
        each_triple::<V>(
            function,
            [x, y, z].map(|cells| cells.part(whole.clone())),
            outs,
        );
        for (range, out) in [(first, first_out), (last, last_out)] {
            if !out.is_empty() {
                let x = x.load_part(range.clone());
                let y = y.load_part(range.clone());
                function
                    .lanes::<V>(x, y, z.load_part(range))
                    .write_part(out);
            }
        }
    }
}
