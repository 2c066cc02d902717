//! A compiled script: statement blocks under control flow.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::{Position, Result};
use serde::{Deserialize, Serialize};

use crate::{Dag, DataType, Literal, ValueType};

/// A whole script. Function names are `name` or `namespace::name`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Program {
    pub functions: BTreeMap<String, Function>,
    pub body: Vec<Block>,
}

impl Program {
    /// The program with each DAG replaced.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn map_dags(&self, change: &mut dyn FnMut(&Dag) -> Result<Dag>) -> Result<Program> {
        let mut program = self.clone();
        for function in program.functions.values_mut() {
            map_blocks(&mut function.body, change)?;
        }
        map_blocks(&mut program.body, change)?;
        Ok(program)
    }
}

fn map_blocks(blocks: &mut [Block], change: &mut dyn FnMut(&Dag) -> Result<Dag>) -> Result<()> {
    for block in blocks {
        if let Block::Basic { dag } = block {
            *dag = change(dag)?;
        }
        for predicate in block.predicates_mut() {
            map_blocks(&mut predicate.before, change)?;
            predicate.dag = change(&predicate.dag)?;
        }
        for body in block.bodies_mut() {
            map_blocks(body, change)?;
        }
    }
    Ok(())
}

/// Visits blocks and all that are nested in them, in the order of the script.
pub fn walk<'a>(blocks: &'a [Block], visit: &mut dyn FnMut(&'a Block)) {
    for block in blocks {
        visit(block);
        for predicate in block.predicates() {
            walk(&predicate.before, visit);
        }
        for body in block.bodies() {
            walk(body, visit);
        }
    }
}

/// A user's function. Parameters are passed by value; nothing of the caller is visible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub results: Vec<Parameter>,
    pub body: Vec<Block>,
    pub position: Option<Position>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    pub data_type: DataType,
    pub value_type: ValueType,
    pub default: Option<Literal>,
}

/// The function of a call whose first argument names the function that it calls, for a script in the namespace that the
/// second argument is. It gives a matrix.
pub const EVAL: &str = "eval()";
/// As [`EVAL`], but it gives a list.
pub const EVAL_LIST: &str = "evalList()";

/// A statement block. Everything that flows between blocks does so through named variables: `TRead`
/// and `TWrite` HOPs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Block {
    /// Straight-line statements.
    Basic { dag: Dag },
    If {
        predicate: Predicate,
        then: Vec<Block>,
        otherwise: Vec<Block>,
        position: Option<Position>,
    },
    While {
        predicate: Predicate,
        body: Vec<Block>,
        position: Option<Position>,
    },
    /// `from:to` when `increment` is `None` (counts down when from > to), else `seq(from, to, increment)`.
    /// `parallel` makes it a `parfor`.
    For {
        variable: String,
        from: Predicate,
        to: Predicate,
        increment: Option<Predicate>,
        body: Vec<Block>,
        parallel: Option<Box<Parallel>>,
        position: Option<Position>,
    },
    /// `[outputs] = function(arguments)`; calls inside expressions were hoisted to this form.
    Call {
        function: String,
        arguments: Vec<Argument>,
        outputs: Vec<String>,
        position: Option<Position>,
    },
}

/// What a `parfor` says beyond a `for`: its iterations run in any order, each on variables of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Parallel {
    /// Matrices that iterations write parts of and that are read after the loop: what was there before, with the
    /// cells that iterations changed. [`crate::liveness::prune`] finds them.
    pub results: BTreeSet<String>,
    /// Matrices that iterations add to with `+=`: each starts from zeros, and the sums are added in their order.
    pub accumulated: BTreeSet<String>,
    /// The most iterations that the script allows at a time.
    pub degree: Option<u64>,
    /// Where the script wants them to run.
    pub mode: Option<ParforMode>,
}

/// Where iterations of a `parfor` run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ParforMode {
    /// In the process of the control program.
    Local,
    /// In tasks on the workers, a range of iterations in each.
    Remote,
}

impl Block {
    /// Conditions and bounds, in the order in which they are evaluated.
    pub fn predicates(&self) -> Vec<&Predicate> {
        match self {
            Block::Basic { .. } | Block::Call { .. } => Vec::new(),
            Block::If { predicate, .. } | Block::While { predicate, .. } => vec![predicate],
            Block::For {
                from,
                to,
                increment,
                ..
            } => [Some(from), Some(to), increment.as_ref()]
                .into_iter()
                .flatten()
                .collect(),
        }
    }

    pub fn predicates_mut(&mut self) -> Vec<&mut Predicate> {
        match self {
            Block::Basic { .. } | Block::Call { .. } => Vec::new(),
            Block::If { predicate, .. } | Block::While { predicate, .. } => vec![predicate],
            Block::For {
                from,
                to,
                increment,
                ..
            } => [Some(from), Some(to), increment.as_mut()]
                .into_iter()
                .flatten()
                .collect(),
        }
    }

    /// The branches of a condition, the body of a loop.
    pub fn bodies(&self) -> Vec<&Vec<Block>> {
        match self {
            Block::Basic { .. } | Block::Call { .. } => Vec::new(),
            Block::If {
                then, otherwise, ..
            } => vec![then, otherwise],
            Block::While { body, .. } | Block::For { body, .. } => vec![body],
        }
    }

    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Block>> {
        match self {
            Block::Basic { .. } | Block::Call { .. } => Vec::new(),
            Block::If {
                then, otherwise, ..
            } => vec![then, otherwise],
            Block::While { body, .. } | Block::For { body, .. } => vec![body],
        }
    }
}

/// A DAG whose only root is the scalar it computes, preceded by the blocks (hoisted function calls) that
/// must run each time before it is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predicate {
    pub before: Vec<Block>,
    pub dag: Dag,
}

/// An argument is a variable of the caller (expressions were assigned to temporaries) or a literal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Argument {
    Variable {
        parameter: Option<String>,
        variable: String,
    },
    Literal {
        parameter: Option<String>,
        value: Literal,
    },
}

impl Argument {
    /// The parameter that it is for, where the call names it.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Argument::Variable { parameter, .. } | Argument::Literal { parameter, .. } => {
                parameter.as_deref()
            }
        }
    }
}
