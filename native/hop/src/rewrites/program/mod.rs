//! Rules on programs: what runs never, never matters, or runs too often.

mod merging;
mod motion;

use std::collections::BTreeSet;

use fulgurite_error::Result;

use super::{Application, Family, Precision, Rule, Switches, driver};
use crate::{
    Block, Dag, Program, ReadMetadata, Symbols, liveness,
    propagate::{Branches, Removal, Removed, propagate_program_removing},
    walk,
};

const CONSTANT_BRANCHES: Rule = Rule::program(
    "constant-branches",
    "if (c) { A } else { B } -> A or B",
    "the condition is known from sizes, arguments and constants, whatever way leads there",
);
const UNENTERED_LOOPS: Rule = Rule::program(
    "unentered-loops",
    "while (FALSE) { A } -> nothing, for (i in seq(1, 0, 1)) { A } -> nothing",
    "the condition or the bounds are known; without an increment a loop counts down and runs",
);
const DEAD_VARIABLES: Rule = Rule::program(
    "dead-variables",
    "X = A -> nothing",
    "nobody reads X before it is assigned again, and the caller does not want it",
);
const ADJACENT_BLOCKS: Rule = Rule::program(
    "adjacent-blocks",
    "blocks A, B -> one block",
    "no control flow is left between them, and planning B later would teach nothing: its sizes are known, or it reads nothing of A; A reads no file; fusion and common subexpressions reach across",
);
const LOOP_INVARIANTS: Rule = Rule::program(
    "loop-invariants",
    "while (p) { ... f(X) ... } -> Y = f(X); while (p) { ... Y ... }",
    "the loop does not assign X; every iteration computes f(X), which has no effect and is a scalar or smaller than what it is computed from, and no transpose that a product reads for free; what may fail (unknown sizes or bounds) moves only if it is among the first things an iteration computes, and under the loop's condition",
);

pub(super) const FAMILY: Family = Family {
    title: "Programs",
    rules: &[
        CONSTANT_BRANCHES,
        UNENTERED_LOOPS,
        DEAD_VARIABLES,
        ADJACENT_BLOCKS,
        LOOP_INVARIANTS,
    ],
};

/// What a program is optimized for.
#[derive(Debug, Clone, Default)]
pub struct OptimizeOptions<'a> {
    /// Names of rules that are not applied.
    pub off: &'a [String],
    pub outputs: Outputs,
}

/// The variables that the caller of a program wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Outputs {
    #[default]
    All,
    Only(BTreeSet<String>),
}

/// All rules and size propagation in the order that serves both: merged subexpressions let equal index
/// bounds be seen as one, and known sizes give new constants to fold.
///
/// # Errors
/// As [`super::rewrite_dag`] and [`crate::propagate_program`].
pub fn optimize_program(
    program: &Program,
    symbols: &Symbols,
    metadata: ReadMetadata,
    options: &OptimizeOptions,
) -> Result<Program> {
    optimize(program, symbols, metadata, options, None)
}

/// As [`optimize_program`], and says which rule did what, in order.
///
/// # Errors
/// As [`optimize_program`].
pub fn optimize_program_traced(
    program: &Program,
    symbols: &Symbols,
    metadata: ReadMetadata,
    options: &OptimizeOptions,
) -> Result<(Program, Vec<Application>)> {
    let mut trace = Vec::new();
    let program = optimize(program, symbols, metadata, options, Some(&mut trace))?;
    Ok((program, trace))
}

type Trace<'a> = Option<&'a mut Vec<Application>>;

fn optimize(
    program: &Program,
    symbols: &Symbols,
    metadata: ReadMetadata,
    options: &OptimizeOptions,
    mut trace: Trace,
) -> Result<Program> {
    let switches = Switches::new(options.off)?;
    let branches = Branches {
        conditions: switches.is_on(CONSTANT_BRANCHES.name),
        loops: switches.is_on(UNENTERED_LOOPS.name),
    };
    let mut program = rewrite_all(program, &switches, trace.as_deref_mut())?;
    let removed;
    (program, removed) = propagate_program_removing(&program, symbols, metadata, branches)?;
    if let Some(trace) = trace.as_deref_mut() {
        trace.extend(removed.iter().map(removal));
    }
    if switches.is_on(DEAD_VARIABLES.name) {
        let before = trace.is_some().then(|| assignments(&program));
        drop_dead_variables(&mut program, &options.outputs);
        if let (Some(trace), Some(before)) = (trace.as_deref_mut(), before) {
            let mut after = assignments(&program);
            trace.extend(before.into_iter().filter(|application| {
                let kept = after.iter().position(|other| other == application);
                kept.map(|kept| after.swap_remove(kept)).is_none()
            }));
        }
    }
    if switches.is_on(ADJACENT_BLOCKS.name) {
        merge_blocks(&mut program, trace.as_deref_mut());
    }
    program = rewrite_all(&program, &switches, trace.as_deref_mut())?;
    if switches.is_on(LOOP_INVARIANTS.name) {
        let mut motion = motion::Motion::new(trace.as_deref_mut());
        motion.program(&mut program, symbols);
        if motion.moved() {
            if switches.is_on(ADJACENT_BLOCKS.name) {
                merge_blocks(&mut program, trace.as_deref_mut());
            }
            program = rewrite_all(&program, &switches, trace)?;
        }
    }
    Ok(program)
}

fn rewrite_all(program: &Program, switches: &Switches, mut trace: Trace) -> Result<Program> {
    let mut rewrite = |dag: &Dag| driver::rewrite(dag, switches, trace.as_deref_mut());
    program.map_dags(&mut rewrite)
}

/// Writes that nobody reads; branches that are gone may have been their readers.
fn drop_dead_variables(program: &mut Program, outputs: &Outputs) {
    if let Outputs::Only(live) = outputs {
        liveness::prune(&mut program.body, live);
    }
    for function in program.functions.values_mut() {
        let results = function.results.iter();
        let live = results.map(|result| result.name.clone()).collect();
        liveness::prune(&mut function.body, &live);
    }
}

fn removal(removed: &Removed) -> Application {
    let (rule, before, after) = match removed.what {
        Removal::Branch(true) => (CONSTANT_BRANCHES, "if (TRUE) { A } else { B }", "A"),
        Removal::Branch(false) => (CONSTANT_BRANCHES, "if (FALSE) { A } else { B }", "B"),
        Removal::Loop => (UNENTERED_LOOPS, "a loop that is not entered", "nothing"),
    };
    Application {
        rule: rule.name,
        precision: rule.precision,
        hop: None,
        position: removed.position.clone(),
        before: before.to_owned(),
        after: after.to_owned(),
    }
}

/// Each assignment, as if it were dropped.
fn assignments(program: &Program) -> Vec<Application> {
    let mut assignments = Vec::new();
    let mut visit = |block: &Block| {
        let Block::Basic { dag } = block else {
            return;
        };
        let writes = dag.roots.iter().map(|root| (root, dag.hop(*root)));
        let writes = writes.filter(|(_, hop)| hop.op.variable_written().is_some());
        assignments.extend(writes.map(|(root, hop)| Application {
            rule: DEAD_VARIABLES.name,
            precision: DEAD_VARIABLES.precision,
            hop: None,
            position: hop.position.clone(),
            before: dag.expression(*root),
            after: "nothing".to_owned(),
        }));
    };
    for function in program.functions.values() {
        walk(&function.body, &mut visit);
    }
    walk(&program.body, &mut visit);
    assignments
}

fn merge_blocks(program: &mut Program, mut trace: Trace) {
    let functions = program.functions.values_mut();
    let bodies = functions.map(|function| &mut function.body);
    for body in bodies.chain([&mut program.body]) {
        merge_in(body, trace.as_deref_mut());
    }
}

fn merge_in(blocks: &mut Vec<Block>, mut trace: Trace) {
    for block in blocks.iter_mut() {
        for predicate in block.predicates_mut() {
            merge_in(&mut predicate.before, trace.as_deref_mut());
        }
        for body in block.bodies_mut() {
            merge_in(body, trace.as_deref_mut());
        }
    }
    let mut merged: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks.drain(..) {
        if let (Some(Block::Basic { dag: first }), Block::Basic { dag: second }) =
            (merged.last_mut(), &block)
            && merging::may_merge(first, second)
        {
            if let Some(trace) = trace.as_deref_mut() {
                trace.push(block_application(&ADJACENT_BLOCKS, first, second));
            }
            *first = merging::merged(first, second);
            continue;
        }
        merged.push(block);
    }
    *blocks = merged;
}

fn block_application(rule: &Rule, first: &Dag, second: &Dag) -> Application {
    let positions = second.iter().filter_map(|(_, hop)| hop.position.as_ref());
    let text = |dag: &Dag| {
        let roots = dag.roots.iter().map(|root| dag.expression(*root));
        roots.collect::<Vec<String>>().join("; ")
    };
    Application {
        rule: rule.name,
        precision: Precision::Exact,
        hop: None,
        position: positions
            .min_by_key(|position| (position.line, position.column))
            .cloned(),
        before: format!("{{ {} }} {{ {} }}", text(first), text(second)),
        after: format!("{{ {}; {} }}", text(first), text(second)),
    }
}
