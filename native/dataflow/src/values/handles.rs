//! Owners of what a backend holds: dropping the last reference releases it.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use fulgurite_error::{Error, Result};
use fulgurite_hop::Characteristics;
use fulgurite_matrix::{MatrixBlock, kernels};

use super::{
    super::protocol::{Backend, BroadcastId, DatasetId, Primitive, Reply, SourceSpec, Task},
    LocalMatrix,
};

/// A matrix that the backend sent to every worker.
pub struct Broadcast {
    pub id: BroadcastId,
    backend: Arc<dyn Backend>,
}

impl Broadcast {
    /// Sends the matrix.
    ///
    /// # Errors
    /// Of the backend.
    pub fn send(backend: &Arc<dyn Backend>, block: &MatrixBlock) -> Result<Arc<Self>> {
        let reply = backend.apply(&Primitive::Broadcast, Some(block))?;
        Ok(Arc::new(Broadcast {
            id: reply.broadcast.ok_or_else(|| incomplete("broadcast"))?,
            backend: Arc::clone(backend),
        }))
    }
}

impl fmt::Debug for Broadcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        let release = Primitive::ReleaseBroadcast { broadcast: self.id };
        if let Err(error) = self.backend.apply(&release, None) {
            tracing::warn!(%error, "a broadcast was not released");
        }
    }
}

/// Stripes that were cut alike have the same partitioning and can be mapped together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Partitioning(u64);

impl Partitioning {
    /// One that no other dataset has so far.
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Partitioning(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A dataset of the backend.
pub struct Dataset {
    pub id: DatasetId,
    pub partitioning: Partitioning,
    backend: Arc<dyn Backend>,
    /// What it is computed from. Lazy datasets need these to live until they are persisted themselves.
    lineage: Mutex<Vec<Lineage>>,
    /// Datasets one after the other that are computed to compute it.
    steps: AtomicUsize,
    /// Held while it is being persisted: who needs it meanwhile waits, and does not compute it as well.
    persisted: Mutex<bool>,
    /// The caller of the request owns it now, or another dataset has taken its place.
    handed_over: AtomicBool,
    collected: Mutex<Option<LocalMatrix>>,
    aligned: Mutex<HashMap<Partitioning, Arc<Dataset>>>,
    cell_wise: OnceLock<CellWise>,
    /// The transpose of the matrix, in stripes of its own.
    turned: Mutex<Option<DistributedMatrix>>,
    /// Parts of the matrix in stripes of their own.
    sliced: Mutex<HashMap<Cut, DistributedMatrix>>,
}

/// Which part of a dataset's stripes goes into stripes of its own, and how that is cut. Counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cut {
    /// Columns of the stripes, which become rows, or their rows.
    pub columns: bool,
    pub from: u64,
    pub until: u64,
    /// So many are in one stripe.
    pub every: u64,
}

/// How a dataset is computed cell by cell from another one, which it does not keep. It can be computed again from the other
/// one's rows in other stripes, with the same bits.
struct CellWise {
    input: Weak<Dataset>,
    task: Task,
}

/// Something that a lazy dataset is computed from.
#[derive(Debug, Clone)]
pub enum Lineage {
    Dataset(Arc<Dataset>),
    Broadcast(#[allow(dead_code, reason = "held, not read")] Arc<Broadcast>),
}

/// Lazy datasets that may stand on each other. Backends compute them by recursion, and a script that writes into a matrix a
/// thousand times and reads it once makes as many.
const MOST_STEPS: usize = 32;

impl Dataset {
    /// The dataset that a primitive makes, computed lazily from `lineage`, of which what has too many steps is persisted before.
    pub fn computed(
        primitive: &Primitive,
        partitioning: Partitioning,
        backend: &Arc<dyn Backend>,
        lineage: Vec<Lineage>,
    ) -> Result<Arc<Self>> {
        let mut steps = 0;
        for of in &lineage {
            if let Lineage::Dataset(dataset) = of {
                if dataset.steps.load(Ordering::Relaxed) >= MOST_STEPS {
                    dataset.persist()?;
                }
                steps = steps.max(dataset.steps.load(Ordering::Relaxed));
            }
        }
        let reply = backend.apply(primitive, None)?;
        Dataset::standing_on(&reply, partitioning, backend, lineage, steps + 1)
    }

    /// The dataset that a reply names and that needs no other.
    pub fn new(
        reply: &Reply,
        partitioning: Partitioning,
        backend: &Arc<dyn Backend>,
    ) -> Result<Arc<Self>> {
        Dataset::standing_on(reply, partitioning, backend, Vec::new(), 1)
    }

    fn standing_on(
        reply: &Reply,
        partitioning: Partitioning,
        backend: &Arc<dyn Backend>,
        lineage: Vec<Lineage>,
        steps: usize,
    ) -> Result<Arc<Self>> {
        Ok(Arc::new(Dataset {
            id: reply.dataset.ok_or_else(|| incomplete("dataset"))?,
            partitioning,
            backend: Arc::clone(backend),
            lineage: Mutex::new(lineage),
            steps: AtomicUsize::new(steps),
            persisted: Mutex::new(false),
            handed_over: AtomicBool::new(false),
            collected: Mutex::new(None),
            aligned: Mutex::new(HashMap::new()),
            cell_wise: OnceLock::new(),
            turned: Mutex::new(None),
            sliced: Mutex::new(HashMap::new()),
        }))
    }

    /// The transpose of the matrix in stripes of its own, or what `turn` now makes of it.
    pub fn turned(
        &self,
        turn: impl FnOnce() -> Result<DistributedMatrix>,
    ) -> Result<DistributedMatrix> {
        let mut turned = lock(&self.turned);
        if let Some(matrix) = &*turned {
            return Ok(matrix.clone());
        }
        let matrix = turn()?;
        *turned = Some(matrix.clone());
        Ok(matrix)
    }

    /// A part of the matrix in stripes of its own, or what `slice` now makes of it.
    pub fn sliced(
        &self,
        cut: Cut,
        slice: impl FnOnce() -> Result<DistributedMatrix>,
    ) -> Result<DistributedMatrix> {
        let mut sliced = lock(&self.sliced);
        if let Some(matrix) = sliced.get(&cut) {
            return Ok(matrix.clone());
        }
        let matrix = slice()?;
        sliced.insert(cut, matrix.clone());
        Ok(matrix)
    }

    /// Runs it, keeps it on the workers, and lets go of what it was computed from.
    pub fn persist(&self) -> Result<Option<Characteristics>> {
        let mut persisted = lock(&self.persisted);
        if *persisted {
            return Ok(None);
        }
        let reply = self
            .backend
            .apply(&Primitive::Persist { input: self.id }, None)?;
        *persisted = true;
        self.steps.store(0, Ordering::Relaxed);
        drop(persisted);
        let lineage = std::mem::take(&mut *lock(&self.lineage));
        drop(lineage);
        Ok(Some(Characteristics::new(
            reply.rows, reply.cols, reply.nnz,
        )))
    }

    /// The backend keeps it by itself.
    fn is_kept(&self) {
        *lock(&self.persisted) = true;
        self.steps.store(0, Ordering::Relaxed);
    }

    /// All stripes, here, which take so many bytes at most. The second time they are here already.
    pub fn collect(&self, bytes: Option<u64>) -> Result<LocalMatrix> {
        let mut slot = lock(&self.collected);
        if let Some(matrix) = &*slot {
            return Ok(matrix.clone());
        }
        let collect = Primitive::Collect {
            input: self.id,
            bytes,
        };
        let reply = self.backend.apply(&collect, None)?;
        let matrix = LocalMatrix::new(reply.payload.ok_or_else(|| incomplete("collect"))?);
        *slot = Some(matrix.clone());
        Ok(matrix)
    }

    /// Whether the rows are there in the stripes of `left`, or can be had in them without a shuffle.
    pub fn is_cut_as(&self, left: &Dataset) -> bool {
        self.partitioning == left.partitioning
            || lock(&self.aligned).contains_key(&left.partitioning)
            || self
                .source()
                .is_some_and(|(input, _)| input.is_cut_as(left))
    }

    /// The task computes it cell by cell from `input` alone.
    pub fn computed_cell_wise(&self, input: &Arc<Dataset>, task: Task) {
        let input = Arc::downgrade(input);
        let _ = self.cell_wise.set(CellWise { input, task });
    }

    /// What it is computed from cell by cell, if that is still there.
    fn source(&self) -> Option<(Arc<Dataset>, &Task)> {
        let CellWise { input, task } = self.cell_wise.get()?;
        Some((input.upgrade()?, task))
    }

    /// Computed again, in the stripes of `left`: what it is computed from is shuffled once, whatever is computed from it,
    /// where it would be shuffled in each iteration of a loop.
    fn computed_on(&self, left: &Arc<Dataset>) -> Result<Option<Arc<Dataset>>> {
        let Some((input, task)) = self.source() else {
            return Ok(None);
        };
        let input = input.align_to(left)?;
        let map = Primitive::MapPartitions {
            inputs: vec![input.id],
            broadcasts: Vec::new(),
            task: task.clone(),
        };
        let lineage = vec![Lineage::Dataset(input)];
        Dataset::computed(&map, left.partitioning, &self.backend, lineage).map(Some)
    }

    /// The same rows in the stripes of `left`; shuffled once for each partitioning.
    pub fn align_to(self: &Arc<Self>, left: &Arc<Dataset>) -> Result<Arc<Dataset>> {
        if self.partitioning == left.partitioning {
            return Ok(Arc::clone(self));
        }
        let mut aligned = lock(&self.aligned);
        if let Some(dataset) = aligned.get(&left.partitioning) {
            return Ok(Arc::clone(dataset));
        }
        let dataset = match self.computed_on(left)? {
            Some(dataset) => dataset,
            None => {
                let align = Primitive::Align {
                    left: left.id,
                    right: self.id,
                };
                // Not this dataset itself: it will hold the result, and a circle is never dropped.
                let lineage = vec![Lineage::Dataset(Arc::clone(left))];
                Dataset::computed(&align, left.partitioning, &self.backend, lineage)?
            }
        };
        dataset.persist()?;
        aligned.insert(left.partitioning, Arc::clone(&dataset));
        Ok(dataset)
    }

    /// Gives the dataset, which is persisted, to the caller of the request: it is not released here any more.
    pub fn hand_over(&self) -> DatasetId {
        self.handed_over.store(true, Ordering::Relaxed);
        self.id
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        if self.handed_over.load(Ordering::Relaxed) {
            return;
        }
        let release = Primitive::Release { dataset: self.id };
        if let Err(error) = self.backend.apply(&release, None) {
            tracing::warn!(%error, "a dataset was not released");
        }
    }
}

/// A matrix on the workers, perhaps seen transposed: transposing moves no data, but only a matrix product
/// from the left can use the result.
#[derive(Debug, Clone)]
pub struct DistributedMatrix {
    pub dataset: Arc<Dataset>,
    /// Of the stripes, before transposition.
    pub stripes: Characteristics,
    pub transposed: bool,
}

impl DistributedMatrix {
    /// A matrix that the workers read. The backend persists it by itself.
    pub fn read(
        backend: &Arc<dyn Backend>,
        source: SourceSpec,
        promised: Characteristics,
    ) -> Result<Self> {
        let reply = backend.apply(&Primitive::Source { source }, None)?;
        let dataset = Dataset::new(&reply, Partitioning::fresh(), backend)?;
        let mut matrix = DistributedMatrix {
            dataset,
            stripes: Characteristics::new(
                reply.rows.or(promised.rows),
                reply.cols.or(promised.cols),
                reply.nnz.or(promised.nnz),
            ),
            transposed: false,
        };
        match matrix.stripes.dims_known() {
            true => matrix.dataset.is_kept(),
            false => matrix.persist()?,
        }
        Ok(matrix)
    }

    pub fn new(dataset: Arc<Dataset>, stripes: Characteristics) -> Self {
        DistributedMatrix {
            dataset,
            stripes,
            transposed: false,
        }
    }

    /// The dataset in which the stripes of `input` know their places again. It is kept: what `input` was computed from
    /// need not live on.
    pub fn placed(backend: &Arc<dyn Backend>, input: &Arc<Dataset>) -> Result<Self> {
        let reply = backend.apply(&Primitive::Place { input: input.id }, None)?;
        // The backend has forgotten it.
        input.handed_over.store(true, Ordering::Relaxed);
        let dataset = Dataset::new(&reply, Partitioning::fresh(), backend)?;
        dataset.is_kept();
        let found = Characteristics::new(reply.rows, reply.cols, reply.nnz);
        Ok(DistributedMatrix::new(dataset, found))
    }

    /// Sizes, as the matrix is seen.
    pub fn characteristics(&self) -> Characteristics {
        let Characteristics { rows, cols, nnz } = self.stripes;
        if self.transposed {
            Characteristics::new(cols, rows, nnz)
        } else {
            self.stripes
        }
    }

    /// The matrix here. The caller has checked that it fits.
    pub fn collect(&self) -> Result<LocalMatrix> {
        let stripes = self.dataset.collect(self.stripes.largest_bytes())?;
        match self.transposed {
            true => kernels::transpose(stripes.block()).map(LocalMatrix::new),
            false => Ok(stripes),
        }
    }

    /// The same data, seen transposed.
    pub fn transpose(mut self) -> Self {
        self.transposed = !self.transposed;
        self
    }

    /// Keeps it on the workers from now on, and learns sizes that were not known.
    pub fn persist(&mut self) -> Result<()> {
        if let Some(found) = self.dataset.persist()? {
            let Characteristics { rows, cols, nnz } = &mut self.stripes;
            *rows = rows.or(found.rows);
            *cols = cols.or(found.cols);
            *nnz = found.nnz.or(*nnz);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of a reply that does not say what was asked for.
pub fn incomplete(what: &str) -> Error {
    Error::backend(format!("the backend's reply to '{what}' lacks its result"))
}
