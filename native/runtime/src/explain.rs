//! Shows what would be executed, from what is known without running anything.

use std::fmt::Write;

use fulgurite_codegen::CompiledPlan;
use fulgurite_error::Result;
use fulgurite_hop::{Block, Dag, HopOp, Predicate, Program, memory};

use crate::{Session, interpreter::fuse_planned, request::ExplainLevel};

/// The program at a level. Blocks are planned with propagated sizes; at run time they are planned with the actual
/// ones.
pub(crate) fn explain(program: &Program, session: &Session, level: ExplainLevel) -> Result<String> {
    let mut explainer = Explainer {
        session,
        level,
        text: String::new(),
        number: 0,
        unknown: false,
    };
    if level == ExplainLevel::Hops {
        return Ok(program.to_string());
    }
    for function in program.functions.values() {
        let _ = writeln!(explainer.text, "function {}", function.name);
        explainer.blocks(&function.body)?;
    }
    if !program.functions.is_empty() {
        explainer.text.push_str("main\n");
    }
    explainer.blocks(&program.body)?;
    if explainer.unknown {
        explainer.text.push_str(
            "Some sizes are unknown before the run (?): blocks that read such matrices are planned anew with the actual sizes.\n",
        );
    }
    Ok(explainer.text)
}

struct Explainer<'a> {
    session: &'a Session,
    level: ExplainLevel,
    text: String,
    number: usize,
    unknown: bool,
}

impl Explainer<'_> {
    fn blocks(&mut self, blocks: &[Block]) -> Result<()> {
        blocks.iter().try_for_each(|block| self.block(block))
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        match block {
            Block::Basic { dag } => self.dag(dag),
            Block::If {
                predicate,
                then,
                otherwise,
                ..
            } => {
                self.predicate("if", predicate)?;
                self.blocks(then)?;
                if !otherwise.is_empty() {
                    self.text.push_str("else\n");
                    self.blocks(otherwise)?;
                }
                self.text.push_str("end if\n");
                Ok(())
            }
            Block::While {
                predicate, body, ..
            } => {
                self.predicate("while", predicate)?;
                self.blocks(body)?;
                self.text.push_str("end while\n");
                Ok(())
            }
            Block::For {
                variable,
                from,
                to,
                increment,
                body,
                ..
            } => {
                self.predicate(&format!("for {variable}: from"), from)?;
                self.predicate("to", to)?;
                if let Some(increment) = increment {
                    self.predicate("by", increment)?;
                }
                self.blocks(body)?;
                self.text.push_str("end for\n");
                Ok(())
            }
            Block::Call {
                function, outputs, ..
            } => {
                let _ = writeln!(self.text, "[{}] = {function}(...)", outputs.join(", "));
                Ok(())
            }
        }
    }

    fn predicate(&mut self, name: &str, predicate: &Predicate) -> Result<()> {
        self.blocks(&predicate.before)?;
        let _ = writeln!(self.text, "{name}");
        // Scalars alone are not worth showing; a predicate may aggregate a matrix, though.
        match predicate.dag.iter().any(|(_, hop)| hop.is_matrix()) {
            true => self.dag(&predicate.dag),
            false => Ok(()),
        }
    }

    fn dag(&mut self, dag: &Dag) -> Result<()> {
        self.number += 1;
        let place = dag.iter().find_map(|(_, hop)| hop.position.as_ref());
        let place = place.map(|place| format!(" {}:{}", place.source.name, place.line));
        let _ = writeln!(
            self.text,
            "block {}{}",
            self.number,
            place.unwrap_or_default()
        );
        let known = |hop: &fulgurite_hop::Hop| !hop.is_matrix() || hop.characteristics.dims_known();
        self.unknown |= !dag.iter().all(|(_, hop)| known(hop));
        let fused = fuse_planned(dag, self.session)?;
        match self.level {
            ExplainLevel::Hops => {}
            ExplainLevel::Memo => {
                let _ = write!(self.text, "{}", fused.explanation);
            }
            ExplainLevel::Plan => {
                for (index, operator) in fused.operators.iter().enumerate() {
                    let _ = writeln!(self.text, "  fused({index}) {}", operator.label);
                }
                self.plan(&fused.dag);
            }
            ExplainLevel::CPlan => {
                for (index, operator) in fused.operators.iter().enumerate() {
                    let _ = writeln!(
                        self.text,
                        "fused({index}) {}\n{}",
                        operator.label, operator.plan
                    );
                }
            }
            ExplainLevel::Clif => {
                for (index, operator) in fused.operators.iter().enumerate() {
                    let compiled = CompiledPlan::compile(&operator.plan)?;
                    let _ = writeln!(
                        self.text,
                        "fused({index}) {}\n{}",
                        operator.label,
                        compiled.clif()?
                    );
                }
            }
        }
        Ok(())
    }

    /// The operators with sizes, memory and place, as the budget has it.
    fn plan(&mut self, dag: &Dag) {
        let budget = self.session.config.memory_local;
        for (id, hop) in dag.iter() {
            if matches!(hop.op, HopOp::Literal(_))
                || (hop.is_scalar() && !reads_matrix(dag, &hop.inputs))
            {
                continue;
            }
            let inputs: Vec<String> = hop.inputs.iter().map(|input| input.to_string()).collect();
            let _ = write!(
                self.text,
                "  ({id}) {} ({}) {}",
                hop.op.code(),
                inputs.join(","),
                hop.characteristics
            );
            let place = match memory::operation_bytes(dag, id) {
                _ if matches!(hop.op, HopOp::TransientRead(_) | HopOp::TransientWrite(_)) => "",
                None => " where it fits, by the actual size",
                Some(bytes) if bytes <= budget => " local",
                Some(_) if self.session.backend.is_some() => " distributed",
                Some(_) => " does not fit fulgurite.memory.local",
            };
            let _ = writeln!(self.text, "{place}");
        }
    }
}

fn reads_matrix(dag: &Dag, inputs: &[fulgurite_hop::HopId]) -> bool {
    inputs.iter().any(|input| dag.hop(*input).is_matrix())
}
