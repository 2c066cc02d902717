//! Dataflow in this process: what tests and the command line try distributed plans with.
//!
//! Datasets are lazy and recomputed at each use unless persisted, as on Spark, so that the counters tell whether a
//! plan would scan its source once or once per iteration there.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use fulgurite_codegen::PlanCache;
use fulgurite_dataflow::{
    Backend, BroadcastId, Capacity, DatasetId, IterationRange, Primitive, RangeResult, RemoteLoop,
    Reply, SourceSpec,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    MatrixBlock,
    arrow_block::Block,
    io,
    memory::{self, StartingLine},
};
use fulgurite_program::{read_source, run_range, write_file};
use fulgurite_worker::combine;

use super::{
    compute::{Compute, Computing, Node},
    stripes::{cut, joined},
};

/// What a backend did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Times that a source was read.
    pub source_scans: u64,
    /// Tasks: stripes that a task ran on.
    pub tasks: u64,
    pub broadcasts: u64,
    /// Matrices that came to the driver: collected ones and aggregates.
    pub collected: u64,
    /// Cells of the largest of these.
    pub largest_collected: u64,
    /// Cells of the largest dataset that was computed in dense stripes.
    pub largest_dense: u64,
    /// Datasets that were persisted on demand; sources and what is placed are anyway.
    pub persisted: u64,
    /// Datasets and broadcasts that are held now.
    pub held: u64,
}

/// The backend in this process.
pub struct LocalBackend {
    state: Mutex<State>,
    computing: Computing,
}

#[derive(Default)]
struct State {
    next_id: u64,
    datasets: HashMap<DatasetId, Arc<Node>>,
    broadcasts: HashMap<BroadcastId, Arc<MatrixBlock>>,
    registered: HashMap<String, (MatrixBlock, usize)>,
    counters: Counters,
}

impl Default for LocalBackend {
    fn default() -> Self {
        LocalBackend::new(Arc::new(PlanCache::default()))
    }
}

impl LocalBackend {
    /// Without datasets. Tasks share these compiled operators.
    pub fn new(plan_cache: Arc<PlanCache>) -> Self {
        LocalBackend {
            state: Mutex::default(),
            computing: Computing {
                plan_cache,
                source_scans: Arc::default(),
                tasks: Arc::default(),
                largest_dense: AtomicU64::default(),
            },
        }
    }

    /// Registers a distributed input of requests, in stripes of `stripe_rows` rows.
    pub fn register(&self, name: impl Into<String>, matrix: MatrixBlock, stripe_rows: usize) {
        self.state()
            .registered
            .insert(name.into(), (matrix, stripe_rows.max(1)));
    }

    /// What it did so far.
    pub fn counters(&self) -> Counters {
        let state = self.state();
        Counters {
            source_scans: self.computing.source_scans.load(Ordering::Relaxed),
            tasks: self.computing.tasks.load(Ordering::Relaxed),
            largest_dense: self.computing.largest_dense.load(Ordering::Relaxed),
            held: (state.datasets.len() + state.broadcasts.len()) as u64,
            ..state.counters
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dataset(&self, compute: Compute, persisted: bool) -> DatasetId {
        let mut state = self.state();
        state.next_id += 1;
        let id = DatasetId(state.next_id);
        state
            .datasets
            .insert(id, Arc::new(Node::new(compute, persisted)));
        id
    }

    fn node(&self, id: DatasetId) -> Result<Arc<Node>> {
        let state = self.state();
        state
            .datasets
            .get(&id)
            .cloned()
            .ok_or_else(|| Error::backend(format!("there is no dataset {}: it was released", id.0)))
    }

    fn nodes(&self, ids: &[DatasetId]) -> Result<Vec<Arc<Node>>> {
        ids.iter().map(|id| self.node(*id)).collect()
    }

    fn broadcast_blocks(&self, ids: &[BroadcastId]) -> Result<Vec<Arc<MatrixBlock>>> {
        let state = self.state();
        ids.iter()
            .map(|id| {
                state.broadcasts.get(id).cloned().ok_or_else(|| {
                    Error::backend(format!("there is no broadcast {}: it was released", id.0))
                })
            })
            .collect()
    }

    fn source(&self, source: &SourceSpec) -> Result<DatasetId> {
        let (matrix, stripe_rows) = match source {
            SourceSpec::Registered { name } => {
                let registered = self.state().registered.get(name).cloned();
                registered.ok_or_else(|| {
                    Error::backend(format!("no distributed input '{name}' was registered"))
                })?
            }
            file => (read_source(file)?, DEFAULT_STRIPE_ROWS),
        };
        Ok(self.dataset(Compute::Source(matrix, stripe_rows), true))
    }

    /// Runs ranges on threads of their own, as many as tasks run at a time.
    fn iterations(
        &self,
        remote: &RemoteLoop,
        parts: Vec<(IterationRange, Option<&Block>)>,
        broadcasts: &[Arc<MatrixBlock>],
    ) -> Result<Vec<RangeResult>> {
        let next = AtomicUsize::new(0);
        let given: Mutex<BTreeMap<usize, Result<RangeResult>>> = Mutex::default();
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some((range, stripe)) = parts.get(number) else {
                    return;
                };
                self.computing.tasks.fetch_add(1, Ordering::Relaxed);
                let ran = run_range(
                    remote,
                    *range,
                    *stripe,
                    broadcasts,
                    &self.computing.plan_cache,
                );
                let mut given = given.lock().unwrap_or_else(PoisonError::into_inner);
                given.insert(number, ran.map(|(result, _)| result));
            }
        };
        let threads = rayon::current_num_threads().min(parts.len());
        let line = StartingLine::default();
        thread::scope(|scope| {
            let _held = line.hold();
            for number in 0..threads {
                let started = memory::start_thread(None, |begun| {
                    thread::Builder::new().spawn_scoped(scope, || {
                        begun.tell();
                        line.wait();
                        work();
                    })
                });
                // The first can do the work of all.
                if let Err(error) = started
                    && number == 0
                {
                    return Err(error);
                }
            }
            Ok(())
        })?;
        let given = given.into_inner().unwrap_or_else(PoisonError::into_inner);
        given.into_values().collect()
    }

    fn came_back(&self, matrix: MatrixBlock) -> Reply {
        let counters = &mut self.state().counters;
        counters.collected += 1;
        let cells = matrix.rows() as u64 * matrix.cols() as u64;
        counters.largest_collected = counters.largest_collected.max(cells);
        Reply {
            payload: Some(matrix),
            ..Reply::default()
        }
    }

    /// Runs the dataset to learn its sizes.
    fn described(&self, id: DatasetId) -> Result<Reply> {
        let stripes = self.computing.stripes(&*self.node(id)?)?;
        let total = |of: fn(&Block) -> usize| stripes.iter().map(of).sum::<usize>() as u64;
        Ok(Reply {
            dataset: Some(id),
            rows: Some(total(|block| block.matrix.rows())),
            cols: stripes.first().map(|block| block.matrix.cols() as u64),
            nnz: Some(total(|block| block.matrix.nnz())),
            ..Reply::default()
        })
    }
}

/// Rows of the stripes of a csv file.
const DEFAULT_STRIPE_ROWS: usize = 1000;

impl Backend for LocalBackend {
    fn name(&self) -> &str {
        "dataflow"
    }

    fn apply(&self, primitive: &Primitive, payload: Option<&MatrixBlock>) -> Result<Reply> {
        let payload = || payload.ok_or_else(|| Error::backend("the primitive needs a matrix"));
        let dataset = |id| Reply {
            dataset: Some(id),
            ..Reply::default()
        };
        match primitive {
            Primitive::Source { source } => {
                let id = self.source(source)?;
                self.described(id)
            }
            Primitive::Parallelize { stripe_rows } => {
                let stripes = cut(
                    payload()?,
                    usize::try_from(*stripe_rows).unwrap_or(usize::MAX).max(1),
                );
                Ok(dataset(self.dataset(Compute::Stripes(stripes), true)))
            }
            Primitive::Broadcast => {
                let block = Arc::new(payload()?.clone());
                let mut state = self.state();
                state.next_id += 1;
                let id = BroadcastId(state.next_id);
                state.broadcasts.insert(id, block);
                state.counters.broadcasts += 1;
                Ok(Reply {
                    broadcast: Some(id),
                    ..Reply::default()
                })
            }
            Primitive::MapPartitions {
                inputs,
                broadcasts,
                task,
            } => {
                let map = Compute::Map {
                    inputs: self.nodes(inputs)?,
                    broadcasts: self.broadcast_blocks(broadcasts)?,
                    task: task.clone(),
                };
                Ok(dataset(self.dataset(map, false)))
            }
            Primitive::MapOver {
                inputs,
                over,
                broadcasts,
                task,
                combine,
                bytes: _,
                row_bytes: _,
            } => {
                let map = Compute::Over {
                    inputs: self.nodes(inputs)?,
                    over: self.node(*over)?,
                    broadcasts: self.broadcast_blocks(broadcasts)?,
                    task: task.clone(),
                    combine: combine.clone(),
                };
                Ok(dataset(self.dataset(map, false)))
            }
            Primitive::CombinePartitions {
                inputs,
                broadcasts,
                task,
                combine,
            } => {
                let map = Compute::CombinePartitions {
                    inputs: self.nodes(inputs)?,
                    broadcasts: self.broadcast_blocks(broadcasts)?,
                    task: task.clone(),
                    combine: combine.clone(),
                };
                Ok(dataset(self.dataset(map, false)))
            }
            Primitive::Align { left, right } => {
                let align = Compute::Align {
                    left: self.node(*left)?,
                    right: self.node(*right)?,
                };
                Ok(dataset(self.dataset(align, false)))
            }
            Primitive::Concatenate { parts } => {
                let parts = parts
                    .iter()
                    .map(|part| Ok((self.node(part.dataset)?, part.from, part.until)))
                    .collect::<Result<_>>()?;
                Ok(dataset(self.dataset(Compute::Concatenate(parts), false)))
            }
            Primitive::Place { input } => {
                let place = self.dataset(Compute::Place(self.node(*input)?), true);
                let described = self.described(place)?;
                self.state().datasets.remove(input);
                Ok(described)
            }
            Primitive::Shuffle {
                inputs,
                broadcasts,
                task,
                targets: _,
                assemble,
            } => {
                let shuffle = Compute::Shuffle {
                    inputs: self.nodes(inputs)?,
                    broadcasts: self.broadcast_blocks(broadcasts)?,
                    task: task.clone(),
                    assemble: assemble.clone(),
                };
                Ok(dataset(self.dataset(shuffle, false)))
            }
            Primitive::MapAggregate {
                inputs,
                broadcasts,
                task,
                combine: how,
            } => {
                let parts = self.computing.map(
                    &self.nodes(inputs)?,
                    &self.broadcast_blocks(broadcasts)?,
                    task,
                )?;
                let result = parts
                    .into_iter()
                    .flatten()
                    .map(|part| Ok(part.matrix))
                    .reduce(|left, right| combine(how, &left?, &right?))
                    .ok_or_else(|| Error::backend("an aggregate over no stripes"))??;
                Ok(self.came_back(result))
            }
            Primitive::Collect { input, .. } => {
                let matrix = joined(&self.computing.stripes(&*self.node(*input)?)?)?;
                Ok(self.came_back(matrix))
            }
            Primitive::RunIterations {
                input,
                broadcasts,
                of,
                ranges,
            } => {
                let broadcasts = self.broadcast_blocks(broadcasts)?;
                Ok(Reply {
                    ranges: match input {
                        None => {
                            let parts = ranges.iter().map(|range| (*range, None)).collect();
                            self.iterations(of, parts, &broadcasts)?
                        }
                        Some(input) => {
                            let stripes = self.computing.stripes(&*self.node(*input)?)?;
                            let parts = stripes.iter().flat_map(|stripe| {
                                ranges.iter().map(move |range| (*range, Some(stripe)))
                            });
                            self.iterations(of, parts.collect(), &broadcasts)?
                        }
                    },
                    ..Reply::default()
                })
            }
            Primitive::Capacity => Ok(Reply {
                capacity: Some(Capacity {
                    tasks: rayon::current_num_threads() as u64,
                    cores: 1,
                    bytes: None,
                    result_bytes: None,
                    is_here: true,
                }),
                ..Reply::default()
            }),
            Primitive::Persist { input } => {
                if self.node(*input)?.persisted.set(()).is_ok() {
                    self.state().counters.persisted += 1;
                }
                self.described(*input)
            }
            Primitive::Release { dataset } => {
                self.state().datasets.remove(dataset);
                Ok(Reply::default())
            }
            Primitive::ReleaseBroadcast { broadcast } => {
                self.state().broadcasts.remove(broadcast);
                Ok(Reply::default())
            }
            Primitive::Write {
                input,
                path,
                format,
                separator,
                header,
                sparse,
                metadata: _,
            } => {
                let matrix = joined(&self.computing.stripes(&*self.node(*input)?)?)?;
                write_file(path, &matrix, *format, separator, *header, *sparse)?;
                Ok(Reply::default())
            }
            Primitive::FindFile { path, .. }
            | Primitive::FetchFile { path, .. }
            | Primitive::StageFile { path }
            | Primitive::StoreFile { path, .. } => Err(io::of_another_file_system(path)),
        }
    }
}
