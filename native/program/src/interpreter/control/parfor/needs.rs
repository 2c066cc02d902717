//! What iterations of a loop need from outside: variables, functions, files.

use std::collections::BTreeSet;

use fulgurite_hop::{Argument, Block, Dag, EVAL, EVAL_LIST, Program, walk};

use crate::interpreter::loop_writes;

/// What a loop's body reads, calls and touches.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Variables of whoever runs the loop that iterations may read, or write parts of.
    pub variables: BTreeSet<String>,
    /// Those of which iterations write ranges, and read nothing but their sizes.
    pub only_written: BTreeSet<String>,
    /// Functions that iterations may call, and that these call.
    pub functions: BTreeSet<String>,
    /// Whether files are read or written.
    pub files: bool,
    /// Whether functions are called by `eval`.
    pub evaluates: bool,
    /// How deeply blocks are nested.
    pub depth: usize,
}

impl Needs {
    pub fn of(program: &Program, body: &[Block]) -> Self {
        let mut needs = Needs {
            only_written: loop_writes::only_written(body),
            ..Needs::default()
        };
        let mut called = needs.add(body, true);
        while let Some(name) = called.pop() {
            if let Some(function) = program.functions.get(&name)
                && needs.functions.insert(name)
            {
                // What a function reads is its own.
                called.extend(needs.add(&function.body, false));
            }
        }
        needs
    }

    /// The body, with the functions that it calls.
    pub fn program(&self, program: &Program, body: &[Block]) -> Program {
        let functions = program.functions.iter();
        Program {
            functions: functions
                .filter(|(name, _)| self.functions.contains(*name))
                .map(|(name, function)| (name.clone(), function.clone()))
                .collect(),
            body: body.to_vec(),
        }
    }

    /// The functions that are called there.
    fn add(&mut self, blocks: &[Block], with_variables: bool) -> Vec<String> {
        self.depth = self.depth.max(depth(blocks));
        let mut called = Vec::new();
        let mut variables = BTreeSet::new();
        walk(blocks, &mut |block| {
            match block {
                Block::Basic { dag } => self.add_dag(dag, &mut variables),
                Block::Call {
                    function,
                    arguments,
                    ..
                } => {
                    self.evaluates |= [EVAL, EVAL_LIST].contains(&function.as_str());
                    called.push(function.clone());
                    variables.extend(arguments.iter().filter_map(|argument| match argument {
                        Argument::Variable { variable, .. } => Some(variable.clone()),
                        Argument::Literal { .. } => None,
                    }));
                }
                _ => {}
            }
            for predicate in block.predicates() {
                self.add_dag(&predicate.dag, &mut variables);
            }
        });
        if with_variables {
            self.variables.extend(variables);
        }
        called
    }

    fn add_dag(&mut self, dag: &Dag, variables: &mut BTreeSet<String>) {
        for (_, hop) in dag.iter() {
            variables.extend(hop.op.variable_read().map(str::to_owned));
            self.files |= hop.op.reads_file() || hop.op.writes_file();
        }
    }
}

fn depth(blocks: &[Block]) -> usize {
    let of = |block: &Block| {
        let predicates = block.predicates();
        let before = predicates.iter().map(|predicate| depth(&predicate.before));
        let bodies = block.bodies().into_iter().map(|body| depth(body));
        1 + before.chain(bodies).max().unwrap_or(0)
    };
    blocks.iter().map(of).max().unwrap_or(0)
}
