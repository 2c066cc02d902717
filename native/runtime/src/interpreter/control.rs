//! Control flow over statement blocks.

use fulgurite_error::{Error, Position, Result};
use fulgurite_hop::{Block, Dag, Literal, Predicate, Program, scalar};

use super::{Context, SymbolTable, Variable, evaluate, planner::Planner};

/// Runs one program.
pub(crate) struct Interpreter<'p> {
    pub(super) program: &'p Program,
    pub(crate) context: Context,
    pub(super) planner: Planner,
    pub(super) call_depth: usize,
    /// An address on the stack when the program starts.
    pub(super) stack_start: usize,
}

impl<'p> Interpreter<'p> {
    pub(crate) fn new(program: &'p Program, context: Context) -> Self {
        Interpreter {
            program,
            context,
            planner: Planner::default(),
            call_depth: 0,
            stack_start: super::calls::stack_address(),
        }
    }

    /// # Errors
    /// The first error of an operator, with its code and position.
    pub(crate) fn run(&mut self, blocks: &'p [Block], symbols: &mut SymbolTable) -> Result<()> {
        for block in blocks {
            self.block(block, symbols)?;
        }
        Ok(())
    }

    fn block(&mut self, block: &'p Block, symbols: &mut SymbolTable) -> Result<()> {
        match block {
            Block::Basic { dag } => self.straight_line(dag, symbols).map(|_| ()),
            Block::If {
                predicate,
                then,
                otherwise,
                position,
            } => match self.holds(predicate, position.as_ref(), symbols)? {
                true => self.run(then, symbols),
                false => self.run(otherwise, symbols),
            },
            Block::While {
                predicate,
                body,
                position,
            } => {
                self.planner.loops.enter(body, None);
                while self.holds(predicate, position.as_ref(), symbols)? {
                    self.run(body, symbols)?;
                }
                self.planner.loops.leave();
                Ok(())
            }
            Block::For {
                variable,
                from,
                to,
                increment,
                body,
                parallel,
                position,
            } => {
                let at = |error: Error| error.at_option(position.as_ref());
                let from = self.bound(from, symbols).map_err(at)?;
                let to = self.bound(to, symbols).map_err(at)?;
                let increment = match increment {
                    Some(increment) => Some(self.bound(increment, symbols).map_err(at)?),
                    None => None,
                };
                let range = Range::new(from, to, increment).map_err(at)?;
                // Iterations of a parfor are independent, so that one after the other gives the same.
                let before = parallel.is_some().then(|| symbols.clone());
                self.planner.loops.enter(body, Some(variable));
                for value in range {
                    symbols.set(variable, Variable::Scalar(Literal::Int(value)));
                    self.run(body, symbols)?;
                }
                self.planner.loops.leave();
                if let Some(before) = before {
                    symbols.keep_parfor_results(before);
                }
                Ok(())
            }
            Block::Call {
                function,
                arguments,
                outputs,
                position,
            } => self
                .call(function, arguments, outputs, symbols)
                .map_err(|error| error.at_option(position.as_ref())),
        }
    }

    fn straight_line(&mut self, dag: &Dag, symbols: &mut SymbolTable) -> Result<Option<Variable>> {
        let plan = self.planner.plan(dag, symbols, &mut self.context)?;
        evaluate(&plan, symbols, &mut self.context)
    }

    fn predicate(
        &mut self,
        predicate: &'p Predicate,
        symbols: &mut SymbolTable,
    ) -> Result<Literal> {
        self.run(&predicate.before, symbols)?;
        match self.straight_line(&predicate.dag, symbols)? {
            Some(Variable::Scalar(value)) => Ok(value),
            Some(_) => Err(
                Error::validation("a predicate must be a scalar, this is a matrix")
                    .with_help("take one cell out of it with as.scalar()"),
            ),
            None => Err(Error::internal("a predicate without a value")),
        }
    }

    fn holds(
        &mut self,
        predicate: &'p Predicate,
        position: Option<&Position>,
        symbols: &mut SymbolTable,
    ) -> Result<bool> {
        self.predicate(predicate, symbols)
            .and_then(|value| scalar::truth(&value))
            .map_err(|error| error.at_option(position))
    }

    fn bound(&mut self, predicate: &'p Predicate, symbols: &mut SymbolTable) -> Result<i64> {
        let value = self.predicate(predicate, symbols)?;
        match value {
            Literal::Int(value) => Ok(value),
            other => Ok(scalar::double_to_int(scalar::number(&other)?)),
        }
    }
}

/// The values of a loop variable.
struct Range {
    next: Option<i64>,
    to: i64,
    increment: i64,
}

impl Range {
    /// Without an increment, it counts towards `to`, up or down.
    fn new(from: i64, to: i64, increment: Option<i64>) -> Result<Self> {
        let increment = match increment {
            Some(0) => {
                return Err(Error::runtime("the increment of a loop is 0")
                    .with_help("increments are whole numbers; fractions are cut off"));
            }
            Some(increment) => increment,
            None if from > to => -1,
            None => 1,
        };
        Ok(Range {
            next: Some(from),
            to,
            increment,
        })
    }
}

impl Iterator for Range {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let value = self.next?;
        let within = match self.increment > 0 {
            true => value <= self.to,
            false => value >= self.to,
        };
        self.next = match within {
            true => value.checked_add(self.increment),
            false => None,
        };
        within.then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_count_as_dml_counts() {
        let values = |from, to, increment| -> Vec<i64> {
            Range::new(from, to, increment)
                .map(Iterator::collect)
                .unwrap_or_default()
        };
        assert_eq!(values(1, 3, None), [1, 2, 3]);
        assert_eq!(values(1, 0, None), [1, 0]);
        assert!(values(1, 0, Some(1)).is_empty());
        assert_eq!(values(5, 1, Some(-2)), [5, 3, 1]);
        assert_eq!(values(i64::MAX - 1, i64::MAX, Some(2)), [i64::MAX - 1]);
        assert!(Range::new(1, 2, Some(0)).is_err());
    }
}
