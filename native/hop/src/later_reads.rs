//! How often later blocks read what a block leaves in its variables. A value that is computed where it is read need not be
//! kept for one reader.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{Argument, Block, Dag, HopOp, Predicate, Program, liveness::Live};

/// Variables that are read later, and whether that may be more than once.
type Reads = BTreeMap<String, Often>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Often {
    Once,
    More,
}

/// For each DAG of the program, by its address, the variables that it leaves to one later reader at most: one statement
/// block, in no loop that the assignment is not in as well.
#[derive(Debug, Clone, Default)]
pub struct ReadOnce(HashMap<usize, BTreeSet<String>>);

impl ReadOnce {
    /// `outputs` are read by whoever runs the program.
    pub fn of(program: &Program, outputs: &Live) -> Self {
        let more = |names: &mut dyn Iterator<Item = &String>| {
            names.map(|name| (name.clone(), Often::More)).collect()
        };
        let mut found = ReadOnce::default();
        let after: Reads = more(&mut outputs.iter());
        found.before_blocks(&program.body, after);
        for function in program.functions.values() {
            let after: Reads = more(&mut function.results.iter().map(|result| &result.name));
            found.before_blocks(&function.body, after);
        }
        found
    }

    /// The variables that the block of this DAG leaves to one reader at most.
    pub fn variables(&self, dag: &Dag) -> BTreeSet<String> {
        self.0.get(&address(dag)).cloned().unwrap_or_default()
    }

    fn before_blocks(&mut self, blocks: &[Block], after: Reads) -> Reads {
        let backwards = blocks.iter().rev();
        backwards.fold(after, |after, block| self.before(block, after))
    }

    fn before(&mut self, block: &Block, after: Reads) -> Reads {
        match block {
            Block::Basic { dag } => self.before_dag(dag, after),
            Block::Call {
                arguments, outputs, ..
            } => {
                let mut reads = after;
                for output in outputs {
                    reads.remove(output);
                }
                for argument in arguments {
                    if let Argument::Variable { variable, .. } = argument {
                        // A function may read its parameters however often.
                        reads.insert(variable.clone(), Often::More);
                    }
                }
                reads
            }
            Block::If {
                predicate,
                then,
                otherwise,
                ..
            } => {
                let then = self.before_blocks(then, after.clone());
                let mut reads = self.before_blocks(otherwise, after);
                either(&mut reads, then);
                self.before_predicate(predicate, reads)
            }
            Block::While {
                predicate, body, ..
            } => self.at_head(after, |found, at_head, after| {
                let mut reads = found.before_blocks(body, at_head.clone());
                either(&mut reads, after.clone());
                found.before_predicate(predicate, reads)
            }),
            Block::For {
                variable,
                from,
                to,
                increment,
                body,
                parallel,
                ..
            } => {
                let mut after = after;
                if parallel.is_some() {
                    // What iterations leave is compared with what was there before, and put together.
                    after.values_mut().for_each(|often| *often = Often::More);
                }
                let mut reads = self.at_head(after, |found, at_head, _| {
                    let mut reads = found.before_blocks(body, at_head.clone());
                    reads.remove(variable);
                    reads
                });
                let bounds = [Some(from), Some(to), increment.as_ref()];
                for bound in bounds.into_iter().flatten().rev() {
                    reads = self.before_predicate(bound, reads);
                }
                reads
            }
        }
    }

    /// What is read from where a loop begins an iteration: what follows the loop, and, once for each iteration, what an
    /// iteration reads of what it does not assign before. `iteration` tells that, from what is read where the next one begins and after
    /// the loop.
    fn at_head(
        &mut self,
        after: Reads,
        iteration: impl Fn(&mut Self, &Reads, &Reads) -> Reads,
    ) -> Reads {
        let mut at_head = after.clone();
        loop {
            let reads = iteration(self, &at_head, &after);
            let mut is_found = true;
            for (name, often) in reads {
                let known = at_head.get(&name).copied();
                // What is read once in either is not read by the iteration: it comes after the loop.
                if known != Some(Often::More) && known != Some(often) {
                    at_head.insert(name, Often::More);
                    is_found = false;
                }
            }
            if is_found {
                return at_head;
            }
        }
    }

    fn before_predicate(&mut self, predicate: &Predicate, after: Reads) -> Reads {
        let reads = self.before_dag(&predicate.dag, after);
        self.before_blocks(&predicate.before, reads)
    }

    fn before_dag(&mut self, dag: &Dag, after: Reads) -> Reads {
        let written = written_by(dag);
        let once = written
            .iter()
            .filter(|(name, _)| after.get(*name) != Some(&Often::More))
            .map(|(name, _)| name.clone());
        self.0.insert(address(dag), once.collect());
        let mut reads = after;
        for name in written.keys() {
            reads.remove(name);
        }
        let stored = stored_by(dag);
        for name in read_by(dag) {
            // A copy of a variable has readers of its own.
            let mut copies = written.values();
            let is_copied = copies.any(|copied| copied.as_ref() == Some(&name));
            // A file's metadata say how many cells are not zero, which is known when they are there.
            let is_stored = stored.contains(&name);
            let often = match reads.contains_key(&name) || is_copied || is_stored {
                true => Often::More,
                false => Often::Once,
            };
            reads.insert(name, often);
        }
        reads
    }
}

/// What is read on one way or on another.
fn either(reads: &mut Reads, others: Reads) {
    for (name, often) in others {
        let known = reads.entry(name).or_insert(often);
        *known = (*known).max(often);
    }
}

fn address(dag: &Dag) -> usize {
    std::ptr::from_ref(dag).addr()
}

/// Variables whose cells the block reads; their sizes are known without.
fn read_by(dag: &Dag) -> BTreeSet<String> {
    let mut has_reader = vec![false; dag.len()];
    for root in &dag.roots {
        has_reader[root.index()] = true;
    }
    for (_, hop) in dag.iter() {
        if hop.op.size_asked().is_none() {
            for input in &hop.inputs {
                has_reader[input.index()] = true;
            }
        }
    }
    let read = dag.iter().filter(|(id, _)| has_reader[id.index()]);
    let names = read.filter_map(|(_, hop)| hop.op.variable_read());
    names.map(str::to_owned).collect()
}

/// Variables that the block writes into files.
fn stored_by(dag: &Dag) -> BTreeSet<String> {
    let writes = dag.iter().filter(|(_, hop)| hop.op.writes_file());
    let stored = writes.filter_map(|(_, hop)| dag.hop(*hop.inputs.first()?).op.variable_read());
    stored.map(str::to_owned).collect()
}

/// Variables that the block assigns, each with the variable that it is a mere copy of.
fn written_by(dag: &Dag) -> BTreeMap<String, Option<String>> {
    let writes = dag.roots.iter().filter_map(|root| {
        let hop = dag.hop(*root);
        let name = hop.op.variable_written()?;
        let value = hop.inputs.first().map(|value| &dag.hop(*value).op);
        let copied = value.and_then(HopOp::variable_read);
        Some((name.to_owned(), copied.map(str::to_owned)))
    });
    writes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, Hop, Literal, ValueType};

    /// A block that assigns each variable a function of others.
    fn assigns(writes: &[(&str, &[&str])]) -> Block {
        let mut dag = Dag::new();
        for (name, reads) in writes {
            let reads = reads.iter().map(|read| {
                let read = HopOp::TransientRead((*read).into());
                dag.push(Hop::matrix(read, Vec::new()))
            });
            let reads = reads.collect();
            let value = dag.push(Hop::matrix(HopOp::CBind, reads));
            let write = HopOp::TransientWrite((*name).into());
            let write = dag.push(Hop::matrix(write, vec![value]));
            dag.roots.push(write);
        }
        Block::Basic { dag }
    }

    fn always() -> Predicate {
        let mut dag = Dag::new();
        let root = dag.push(Hop::literal(Literal::Boolean(true)));
        dag.roots.push(root);
        Predicate {
            before: Vec::new(),
            dag,
        }
    }

    fn repeated(body: Vec<Block>) -> Block {
        Block::While {
            predicate: always(),
            body,
            position: None,
        }
    }

    /// What the first block leaves to one reader.
    fn once(body: Vec<Block>) -> String {
        let program = Program {
            body,
            ..Program::default()
        };
        let found = ReadOnce::of(&program, &Live::from(["R".to_owned()]));
        let Some(Block::Basic { dag }) = program.body.first() else {
            panic!("it begins with a block")
        };
        let names: Vec<String> = found.variables(dag).into_iter().collect();
        names.join(" ")
    }

    #[test]
    fn blocks_that_read_are_counted() {
        let first = || assigns(&[("A", &["X"]), ("B", &["X"])]);
        assert_eq!(once(vec![first(), assigns(&[("R", &["A"])])]), "A B");
        let both = vec![
            first(),
            assigns(&[("C", &["A"])]),
            assigns(&[("R", &["A", "B"])]),
        ];
        assert_eq!(once(both), "B");
        // Assigned anew in between.
        let anew = vec![
            first(),
            assigns(&[("A", &["A"])]),
            assigns(&[("R", &["A", "B"])]),
        ];
        assert_eq!(once(anew), "A B");
        // An output is read by the caller, who keeps it.
        assert_eq!(once(vec![assigns(&[("R", &["X"])])]), "");
    }

    #[test]
    fn loops_read_what_they_do_not_assign_in_each_iteration() {
        let first = || assigns(&[("A", &["X"]), ("B", &["X"])]);
        let of_loop = |body| vec![first(), repeated(body), assigns(&[("R", &["B"])])];
        assert_eq!(once(of_loop(vec![assigns(&[("R", &["A"])])])), "B");
        let anew = vec![assigns(&[("A", &["X"])]), assigns(&[("C", &["A"])])];
        assert_eq!(once(of_loop(anew)), "A B");
        let both = vec![assigns(&[("A", &["A", "B"])])];
        assert_eq!(once(of_loop(both)), "");
    }

    #[test]
    fn within_an_iteration_a_reader_is_one() {
        let body = vec![
            assigns(&[("A", &["X"]), ("B", &["X"])]),
            assigns(&[("B", &["A", "B"])]),
        ];
        let program = Program {
            body: vec![repeated(body), assigns(&[("R", &["B"])])],
            ..Program::default()
        };
        let found = ReadOnce::of(&program, &Live::from(["R".to_owned()]));
        let Block::While { body, .. } = &program.body[0] else {
            panic!("a loop")
        };
        let names = |block: &Block| match block {
            Block::Basic { dag } => found
                .variables(dag)
                .into_iter()
                .collect::<Vec<_>>()
                .join(" "),
            _ => panic!("a block"),
        };
        assert_eq!(names(&body[0]), "A B");
        assert_eq!(names(&body[1]), "B");
    }

    #[test]
    fn calls_copies_and_branches() {
        let call = Block::Call {
            function: "f".into(),
            arguments: vec![Argument::Variable {
                parameter: None,
                variable: "A".into(),
            }],
            outputs: vec!["R".into()],
            position: None,
        };
        assert_eq!(once(vec![assigns(&[("A", &["X"])]), call]), "");
        let mut copied = Dag::new();
        let read = copied.push(Hop::matrix(HopOp::TransientRead("A".into()), Vec::new()));
        let write = copied.push(Hop::matrix(HopOp::TransientWrite("R".into()), vec![read]));
        copied.roots.push(write);
        let copied = vec![assigns(&[("A", &["X"])]), Block::Basic { dag: copied }];
        assert_eq!(once(copied), "");
        let branches = Block::If {
            predicate: always(),
            then: vec![assigns(&[("R", &["A", "B"])])],
            otherwise: vec![assigns(&[("C", &["B"])]), assigns(&[("R", &["B"])])],
            position: None,
        };
        let first = assigns(&[("A", &["X"]), ("B", &["X"])]);
        assert_eq!(once(vec![first, branches]), "A");
        let mut sizes = Dag::new();
        let read = sizes.push(Hop::matrix(HopOp::TransientRead("A".into()), Vec::new()));
        let size = HopOp::Size(crate::SizeOp::NRow);
        let size = sizes.push(Hop::scalar(size, vec![read], ValueType::Int));
        let write = HopOp::TransientWrite("n".into());
        let write = sizes.push(Hop::scalar(write, vec![size], ValueType::Int));
        sizes.roots.push(write);
        assert_eq!(sizes.hop(write).data_type, DataType::Scalar);
        let sized = vec![
            assigns(&[("A", &["X"])]),
            Block::Basic { dag: sizes },
            assigns(&[("R", &["A"])]),
        ];
        assert_eq!(once(sized), "A");
    }
    #[test]
    fn what_is_written_into_a_file_is_there_before() {
        let mut stored = Dag::new();
        let read = stored.push(Hop::matrix(HopOp::TransientRead("A".into()), Vec::new()));
        let path = stored.push(Hop::literal(Literal::String("A.csv".into())));
        let write = HopOp::PersistentWrite(crate::WriteOptions::default());
        let write = stored.push(Hop::matrix(write, vec![read, path]));
        stored.roots.push(write);
        let first = assigns(&[("A", &["X"]), ("B", &["X"])]);
        assert_eq!(once(vec![first, Block::Basic { dag: stored }]), "B");
    }
}
