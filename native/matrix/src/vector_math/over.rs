//! Functions of lanes over slices.

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
    pub fn part(self, range: std::ops::Range<usize>) -> Cells<'a> {
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
    fn load_part<V: MathLanes>(self, from: usize, to: usize) -> V {
        match self {
            Cells::Each(cells) => V::read_part(&cells[from..to]),
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

/// Slices are of one length.
struct OverUnary<'a, F> {
    function: F,
    x: &'a [f64],
    out: &'a mut [f64],
}

impl<F: Unary> MathKernel for OverUnary<'_, F> {
    #[inline(always)]
    fn run<V: MathLanes>(self) {
        let whole = self.x.len() / V::WIDTH * V::WIDTH;
        let (xs, x) = self.x.split_at(whole);
        let (outs, out) = self.out.split_at_mut(whole);
        self.function.whole_vectors::<V>(xs, outs);
        if !out.is_empty() {
            self.function.lanes(V::read_part(x)).write_part(out);
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
        let count = out.len();
        let mut outs = out.chunks_exact_mut(V::WIDTH);
        let mut from = 0;
        for out in outs.by_ref() {
            function.lanes::<V>(x.load(from), y.load(from)).write(out);
            from += V::WIDTH;
        }
        let out = outs.into_remainder();
        if !out.is_empty() {
            function
                .lanes::<V>(x.load_part(from, count), y.load_part(from, count))
                .write_part(out);
        }
    }
}
