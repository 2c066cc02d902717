//! A vector of doubles as the processor has it, and how a kernel gets to run on one.
//!
//! Kernels are written once over [`Lanes`], always inlined, and enter through [`run_over`], which compiles them into a
//! function that has the instructions enabled: AVX-512, AVX2 with FMA, NEON, or none of these. Elementary functions need more
//! of a vector: see [`math`].
//!
//! Values of these types only exist inside kernels: their operations need instructions that [`Instructions`] found present.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod math;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod pairs;
mod portable;

/// Cells of a cache line.
pub const CACHE_LINE: usize = 8;

/// Cells of the widest vector.
pub const WIDEST: usize = 8;

/// How many dot products [`Lanes::sums`] finishes together.
pub const TOGETHER: usize = 4;

/// A vector of doubles, with cells in memory and products of them.
pub trait Lanes: Copy {
    /// Cells of a vector.
    const WIDTH: usize;
    /// Vectors of a right operand that four rows can meet at once without running out of registers: 4 or 2.
    const GROUP: usize;
    /// Rows and vectors of a tile of a product: its sums fill the registers, but for a row of vectors and one cell that they take.
    const TILE: (usize, usize);

    fn splat(value: f64) -> Self;
    /// # Safety
    /// [`Lanes::WIDTH`] cells from `pointer` on can be read.
    unsafe fn load(pointer: *const f64) -> Self;
    /// # Safety
    /// [`Lanes::WIDTH`] cells from `pointer` on can be written.
    unsafe fn store(self, pointer: *mut f64);
    /// The first `count` cells, zeros in the other lanes.
    ///
    /// # Safety
    /// `count <= WIDTH` cells from `pointer` on can be read.
    unsafe fn load_first(pointer: *const f64, count: usize) -> Self;
    /// Writes the first `count` lanes.
    ///
    /// # Safety
    /// `count <= WIDTH` cells from `pointer` on can be written.
    unsafe fn store_first(self, pointer: *mut f64, count: usize);
    /// The cells that [`Lanes::WIDTH`] indices name.
    ///
    /// # Safety
    /// As many indices can be read, and each is a cell from `pointer` on.
    unsafe fn gather(pointer: *const f64, indices: *const i32) -> Self;
    /// The cells that the first `count` indices name, zeros in the other lanes.
    ///
    /// # Safety
    /// `count <= WIDTH` indices can be read, and each is a cell from `pointer` on.
    #[inline(always)]
    unsafe fn gather_first(pointer: *const f64, indices: *const i32, count: usize) -> Self {
        let mut cells = [0.0; WIDEST];
        for (at, cell) in cells.iter_mut().enumerate().take(count) {
            // SAFETY: the caller's promise.
            *cell = unsafe { *pointer.add(*indices.add(at) as usize) };
        }
        // SAFETY: no vector is wider.
        unsafe { Self::load(cells.as_ptr()) }
    }
    /// `self * factor + addend`, rounded once where the processor has an instruction for it.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    fn sum(self) -> f64;
    /// The sum of each vector, to the bit what [`Lanes::sum`] gives.
    #[inline(always)]
    fn sums(vectors: [Self; TOGETHER]) -> [f64; TOGETHER] {
        vectors.map(Lanes::sum)
    }
    /// Writes a square of as many rows as a vector has cells, `across` cells apart, as columns: rows that are `down` cells apart.
    ///
    /// # Safety
    /// The square can be read, and the other one written.
    #[inline(always)]
    unsafe fn turn(square: *const f64, across: usize, out: *mut f64, down: usize) {
        for row in 0..Self::WIDTH {
            for col in 0..Self::WIDTH {
                // SAFETY: the caller's promise.
                unsafe { *out.add(row * down + col) = *square.add(col * across + row) };
            }
        }
    }
    /// Asks for a cache line that will be read soon, in the second-level cache: in the first, it would take the place of
    /// lines that are worked on. The pointer may be any.
    fn prefetch(pointer: *const f64);
}

/// As [`Lanes::prefetch`], for loops that the compiler makes vectors of.
#[inline(always)]
pub(crate) fn prefetch(pointer: *const f64) {
    // Asking needs none of the instructions that vectors do.
    #[cfg(target_arch = "x86_64")]
    pairs::Pairs::prefetch(pointer);
    #[cfg(not(target_arch = "x86_64"))]
    portable::Portable::prefetch(pointer);
}

/// Asks for cells far behind these, of which loops over long slices take as many in their next turns. Without, one thread reads a
/// fifth less a second.
#[inline(always)]
pub(crate) fn fetch_ahead(cells: &[f64]) {
    const AHEAD: usize = 1024;
    for line in (0..cells.len()).step_by(CACHE_LINE) {
        prefetch(cells.as_ptr().wrapping_add(AHEAD + line));
    }
}

/// A computation over vectors of any width.
pub trait Kernel {
    /// # Safety
    /// As the kernel says, and the instructions of `L` are there.
    unsafe fn run<L: Lanes>(self);
}

/// A set of vector instructions that there are [`Lanes`] for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The lower halves of AVX2's registers.
    #[cfg(target_arch = "x86_64")]
    Pairs,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

impl Instructions {
    /// The widest first.
    pub(crate) const ALL: &[Instructions] = &[
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512,
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2,
        #[cfg(target_arch = "x86_64")]
        Instructions::Pairs,
        #[cfg(target_arch = "aarch64")]
        Instructions::Neon,
        Instructions::Portable,
    ];

    /// Those of this processor.
    #[inline]
    pub fn present() -> impl Iterator<Item = Instructions> {
        Self::ALL
            .iter()
            .copied()
            .filter(|instructions| match instructions {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 => avx512::is_present(),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 | Instructions::Pairs => avx2::is_present(),
                #[cfg(target_arch = "aarch64")]
                Instructions::Neon => neon::is_present(),
                Instructions::Portable => true,
            })
    }

    /// The widest of this processor.
    pub(crate) fn widest() -> Instructions {
        Self::present().next().unwrap_or(Instructions::Portable)
    }

    /// Those that there are [`math::MathLanes`] for, whether this processor has them or not. Best first.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const MATH: &'static [Instructions] = &[Instructions::Avx512, Instructions::Avx2];
    #[cfg(target_arch = "aarch64")]
    pub(crate) const MATH: &'static [Instructions] = &[Instructions::Neon];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) const MATH: &'static [Instructions] = &[];

    /// Whether this processor has them, and all that [`math::MathLanes`] need.
    pub(crate) fn has_math(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => avx512::has_math(),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => avx2::is_present(),
            #[cfg(target_arch = "x86_64")]
            Instructions::Pairs => false,
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => neon::is_present(),
            Instructions::Portable => false,
        }
    }

    /// The best that this processor has for elementary functions.
    pub(crate) fn best_for_math() -> Option<Instructions> {
        Self::MATH.iter().copied().find(|set| set.has_math())
    }

    /// Whether so many cells side by side are worth vectors of this width.
    #[inline]
    fn suit(self, cells: usize) -> bool {
        match self {
            // Wide vectors straddle cache lines where rows are not made of whole ones; that is made up for where rows are long.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => {
                cells.is_multiple_of(avx512::WIDTH) || cells >= 32 * avx512::WIDTH
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => cells > pairs::WIDTH,
            _ => true,
        }
    }
}

/// Runs a kernel with the best instructions that the processor has for so many cells that stand side by side.
///
/// # Safety
/// As the kernel says.
pub unsafe fn run_over(cells: usize, kernel: impl Kernel) {
    let best = Instructions::present().find(|instructions| instructions.suit(cells));
    // SAFETY: the instructions were found; the rest is the caller's promise.
    unsafe { run_with(best.unwrap_or(Instructions::Portable), kernel) }
}

/// # Safety
/// As the kernel says, and the instructions are [present](Instructions::present).
pub unsafe fn run_with(instructions: Instructions, kernel: impl Kernel) {
    // SAFETY: the caller's promise.
    unsafe {
        match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => avx512::run(kernel),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => avx2::run(kernel),
            #[cfg(target_arch = "x86_64")]
            Instructions::Pairs => pairs::run(kernel),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => neon::run(kernel),
            Instructions::Portable => portable::run(kernel),
        }
    }
}

/// Runs loops that the compiler makes vectors of with the widest instructions that the processor has: what is inlined into `work` is
/// compiled for these.
pub fn vectorized(work: impl FnOnce()) {
    struct Loops<F>(F);
    impl<F: FnOnce()> Kernel for Loops<F> {
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            self.0();
        }
    }
    // SAFETY: the kernel asks for nothing, and the instructions are present.
    unsafe { run_with(Instructions::widest(), Loops(work)) }
}

/// Runs a kernel of elementary functions with the given instructions; the best there are where these are absent, which gives the same bits.
/// False, and nothing was done, where there are none.
pub(crate) fn run_math(instructions: Instructions, kernel: impl math::MathKernel) -> bool {
    let set = match instructions.has_math() {
        true => instructions,
        false => match Instructions::best_for_math() {
            Some(best) => best,
            None => return false,
        },
    };
    match set {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instructions are present.
        Instructions::Avx512 => unsafe { avx512::run_math(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instructions are present.
        Instructions::Avx2 => unsafe { avx2::run_math(kernel) },
        #[cfg(target_arch = "x86_64")]
        Instructions::Pairs => return false,
        #[cfg(target_arch = "aarch64")]
        // SAFETY: the instructions are present.
        Instructions::Neon => unsafe { neon::run_math(kernel) },
        Instructions::Portable => return false,
    }
    true
}

/// # Safety
/// `count <= WIDTH` cells can be read.
#[inline(always)]
pub unsafe fn load<L: Lanes>(pointer: *const f64, count: usize) -> L {
    // SAFETY: the caller's promise.
    unsafe {
        if count == L::WIDTH {
            L::load(pointer)
        } else {
            L::load_first(pointer, count)
        }
    }
}

/// # Safety
/// `count <= WIDTH` cells can be written.
#[inline(always)]
pub unsafe fn store<L: Lanes>(lanes: L, pointer: *mut f64, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if count == L::WIDTH {
            lanes.store(pointer);
        } else {
            lanes.store_first(pointer, count);
        }
    }
}
