//! What a task takes at most, told from the sizes of its stripes before it runs: so many tasks may run at a time.

use std::sync::Arc;

use fulgurite_dataflow::Task;
use fulgurite_hop::{
    Characteristics, Dag, HopId, Literal, Symbols, VariableInfo, memory, propagate_dag,
};
use fulgurite_matrix::{MatrixBlock, arrow_block::Block};

/// Bytes of one run of a task, beside the stripes and broadcasts that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskMemory {
    /// What it gives.
    pub result: u64,
    /// The most that it holds at a time, the result included.
    pub peak: u64,
}

/// Sizes of what a run reads: stripes, broadcasts, and the stripe of what the task goes over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RunSizes(Vec<Characteristics>);

impl RunSizes {
    pub(super) fn of(
        stripes: &[Block],
        broadcasts: &[Arc<MatrixBlock>],
        over: Option<&Block>,
    ) -> Self {
        let blocks = stripes.iter().chain(over).map(|block| &block.matrix);
        let broadcasts = broadcasts.iter().map(Arc::as_ref);
        RunSizes(blocks.chain(broadcasts).map(size).collect())
    }
}

/// Stored cells are rounded up, so that stripes of about as many are alike.
fn size(block: &MatrixBlock) -> Characteristics {
    let known = Characteristics::dims(block.rows() as u64, block.cols() as u64);
    match block {
        MatrixBlock::Dense(_) => known,
        sparse => known.with_nnz((sparse.stored() as u64).next_power_of_two()),
    }
}

/// What the task, of that DAG, takes for such a run; `None` where sizes depend on values.
pub(super) fn of(task: &Task, dag: &Dag, sizes: &RunSizes) -> Option<TaskMemory> {
    let mut sizes = sizes.0.iter().copied();
    let mut symbols = Symbols::new();
    let mut rows = None;
    for name in &task.stripes {
        let stripe = sizes.next()?;
        rows = stripe.rows;
        symbols.insert(name.clone(), VariableInfo::matrix(stripe));
    }
    if let Some(over) = &task.over {
        let stripe = sizes.next()?;
        symbols.insert(over.variable.clone(), VariableInfo::matrix(stripe));
    }
    for broadcast in &task.broadcasts {
        let mut whole = sizes.next()?;
        if broadcast.rows_of_stripe {
            // Which rows these are, nobody knows: they may be the full ones.
            whole = Characteristics::new(rows, whole.cols, whole.nnz);
        }
        symbols.insert(broadcast.variable.clone(), VariableInfo::matrix(whole));
    }
    // Where stripes stand decides which ranges are read, not how large these are.
    let offsets = [
        task.row_offset.as_ref(),
        task.over.as_ref().map(|over| &over.row_offset),
    ];
    for name in offsets.into_iter().flatten() {
        symbols.insert(name.clone(), VariableInfo::constant(Literal::Int(0)));
    }
    for (name, value) in &task.scalars {
        symbols.insert(name.clone(), VariableInfo::constant(value.clone()));
    }
    let dag = with_sizes(task, dag, &symbols)?;
    let result = memory::output_bytes(dag.hop(*dag.roots.first()?))?;
    let mut peak = memory::peak_bytes(&dag)?.max(result);
    // What is put into a result, and the pieces that it is cut into, are copies of it.
    if task.parts.is_some() || task.pieces.is_some() {
        peak = peak.saturating_add(result);
    }
    Some(TaskMemory { result, peak })
}

/// The DAG with what is known of its values, those of fused operators included.
fn with_sizes(task: &Task, dag: &Dag, symbols: &Symbols) -> Option<Dag> {
    let mut known = propagate_dag(dag, symbols).ok()?.0;
    for index in 0..dag.len() {
        let id = HopId(index as u32);
        let Some(number) = known.hop(id).op.fused() else {
            continue;
        };
        let inputs = known.hop(id).inputs.iter();
        let inputs: Vec<Characteristics> = inputs
            .map(|input| known.hop(*input).characteristics)
            .collect();
        known.hop_mut(id).characteristics = task.plans.get(number)?.output_size(&inputs)?;
        known = propagate_dag(&known, symbols).ok()?.0;
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use fulgurite_codegen::PlanCache;
    use fulgurite_fusion::cplan::{
        CNode, CPlan, InputBinding, NodeId, RowOutput, RowTemplate, Template,
    };
    use fulgurite_hop::{BinaryOp, CastOp, Hop, HopOp, ValueType, json::to_json};
    use fulgurite_matrix::CsrMatrix;

    use super::*;
    use crate::TaskRun;

    /// What a task with this root says of itself, and what it gave: of a stripe `X` and a broadcast `W`, of whose rows it sees its own
    /// if `by_rows`.
    fn seen(
        stripe: MatrixBlock,
        broadcast: MatrixBlock,
        by_rows: bool,
        plan: Option<CPlan>,
        root: impl FnOnce(&mut Dag, HopId, HopId) -> HopId,
    ) -> (Option<TaskMemory>, u64) {
        let mut dag = Dag::new();
        let mut read =
            |name: &str| dag.push(Hop::matrix(HopOp::TransientRead(name.into()), Vec::new()));
        let (x, w) = (read("X"), read("W"));
        let root = root(&mut dag, x, w);
        dag.roots = vec![root];
        let task = serde_json::json!({
            "dag": to_json(&dag), "plans": plan.into_iter().collect::<Vec<_>>(), "stripes": ["X"],
            "broadcasts": [{"variable": "W", "rows_of_stripe": by_rows}], "scalars": {}, "label": "test",
        });
        let task: Task = serde_json::from_value(task).unwrap();
        let cache = Arc::new(PlanCache::with_capacity(4));
        let mut run = TaskRun::new(Cow::Owned(task), &cache).unwrap();
        let (stripes, broadcasts) = ([Block::new(4000, 0, stripe)], [Arc::new(broadcast)]);
        let memory = run.memory(&stripes, &broadcasts, None);
        assert_eq!(run.memory(&stripes, &broadcasts, None), memory);
        let given = run.on(&stripes, &broadcasts, None).unwrap();
        (memory, given[0].matrix.memory_bytes() as u64)
    }

    fn taken(result: u64, peak: u64) -> Option<TaskMemory> {
        Some(TaskMemory { result, peak })
    }

    #[test]
    fn a_task_takes_what_its_values_do() {
        let dense = |rows, cols| MatrixBlock::filled(rows, cols, 1.0).unwrap();
        let product = |dag: &mut Dag, x, w| dag.push(Hop::matrix(HopOp::MatMult, vec![x, w]));
        let (memory, given) = seen(dense(100, 10), dense(10, 5000), false, None, product);
        assert_eq!((memory, given), (taken(4_000_000, 4_000_000), 4_000_000));
        // Through a value that is as large as the stripe, and stays while the result is computed.
        let scaled = |dag: &mut Dag, x, w| {
            let sum = dag.push(Hop::matrix(HopOp::Binary(BinaryOp::Plus), vec![x, w]));
            dag.push(Hop::matrix(HopOp::Transpose, vec![sum]))
        };
        let (memory, given) = seen(dense(100, 10), dense(9000, 1), true, None, scaled);
        assert_eq!((memory, given), (taken(8000, 16000), 8000));
    }

    #[test]
    fn fused_operators_say_what_they_give() {
        let plan = CPlan {
            template: Template::Row(RowTemplate {
                output: RowOutput::OuterProduct {
                    left: NodeId(0),
                    right: NodeId(1),
                },
            }),
            inputs: vec![InputBinding::Main, InputBinding::Whole],
            body: vec![
                CNode::Input(0),
                CNode::VectorMatrix {
                    vector: NodeId(0),
                    input: 1,
                    scalar: false,
                },
            ],
        };
        let fused = |dag: &mut Dag, x, w| dag.push(Hop::matrix(HopOp::Fused(0), vec![x, w]));
        let stripe = MatrixBlock::filled(1000, 30, 2.0).unwrap();
        let (memory, given) = seen(
            stripe,
            MatrixBlock::filled(30, 4, 2.0).unwrap(),
            false,
            Some(plan),
            fused,
        );
        assert_eq!((memory, given), (taken(960, 960), 960));
    }

    #[test]
    fn sparse_stripes_of_about_as_many_cells_are_alike() {
        let stripe = |cells: usize| {
            let pointers: Vec<i64> = (0..=1000).map(|row| row.min(cells as i64)).collect();
            let csr = CsrMatrix::new(1000, 50, pointers, vec![7; cells], vec![1.0; cells]);
            Block::new(0, 0, MatrixBlock::Csr(csr.unwrap()))
        };
        let sizes = |cells| RunSizes::of(&[stripe(cells)], &[], None);
        assert_eq!(sizes(900), sizes(1000));
        assert_ne!(sizes(100), sizes(1000));
    }

    #[test]
    fn what_depends_on_values_is_not_known() {
        let first_rows = |dag: &mut Dag, x, w| {
            let count = Hop::scalar(HopOp::Cast(CastOp::AsScalar), vec![w], ValueType::Double);
            let count = dag.push(count);
            let one = dag.push(Hop::literal(Literal::Int(1)));
            dag.push(Hop::matrix(
                HopOp::RightIndex,
                vec![x, one, count, one, one],
            ))
        };
        let one = MatrixBlock::filled(1, 1, 7.0).unwrap();
        let (memory, given) = seen(
            MatrixBlock::filled(20, 3, 0.0).unwrap(),
            one,
            false,
            None,
            first_rows,
        );
        assert_eq!((memory, given), (None, 56));
    }
}
