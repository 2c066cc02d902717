//! Explanations as text.

use std::fmt::Write;

use fulgurite_error::Result;
use fulgurite_fusion::explain::text::{MemoText, PartitionsText, RefusalsText};
use fulgurite_hop::{HopId, Seconds, rewrites::Application};
use fulgurite_program::{ExplainLevel, Session};

use super::{
    analysis::{Analysis, BlockAnalysis, PlanNode, Section},
    code::{self, Listing},
    places::Place,
    statistics::Statistics,
};

/// The script at a level.
pub(super) fn print(analysis: &Analysis, level: ExplainLevel, session: &Session) -> Result<String> {
    if level == ExplainLevel::Stats {
        return Ok(Statistics::of(analysis, session)?.to_string());
    }
    if level == ExplainLevel::Rewrites {
        return Ok(analysis.front.rewrites.iter().map(rewrite).collect());
    }
    let mut printer = Printer {
        analysis,
        level,
        text: String::new(),
    };
    for (name, sections) in &analysis.functions {
        printer.line(0, &format!("function {name}"));
        printer.sections(sections, 1)?;
    }
    if !analysis.functions.is_empty() {
        printer.line(0, "main");
    }
    printer.sections(&analysis.body, 0)?;
    if analysis.has_unknown_sizes() {
        printer.line(
            0,
            "Some sizes are unknown before the run (?): blocks that read such matrices are planned anew with the \
             actual sizes.",
        );
    }
    Ok(printer.text)
}

/// `transpose-product @ a.dml:3:5: t(t(X)) -> X`
fn rewrite(applied: &Application) -> String {
    let place = applied.position.as_ref();
    let place = place.map_or(String::new(), |place| format!(" @ {place}"));
    format!(
        "{}{place}: {} -> {}\n",
        applied.rule, applied.before, applied.after
    )
}

struct Printer<'a> {
    analysis: &'a Analysis,
    level: ExplainLevel,
    text: String,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 2 * depth);
    }

    fn lines(&mut self, depth: usize, lines: &str) {
        for line in lines.lines() {
            self.line(depth, line);
        }
    }

    fn sections(&mut self, sections: &[Section], depth: usize) -> Result<()> {
        sections
            .iter()
            .try_for_each(|section| self.section(section, depth))
    }

    fn named(&mut self, name: &str, sections: &[Section], depth: usize) -> Result<()> {
        if sections.iter().any(|section| self.is_shown(section)) {
            self.line(depth, name);
            self.sections(sections, depth + 1)?;
        }
        Ok(())
    }

    /// Blocks of scalars alone are HOPs like all others, but nothing is planned there.
    fn is_shown(&self, section: &Section) -> bool {
        let Section::Block(place) = section else {
            return true;
        };
        let is_on_dags = self.level == ExplainLevel::Hops;
        let mut block = self.analysis.blocks.get(*place).into_iter();
        block.any(|block| is_on_dags || block.has_matrices())
    }

    fn section(&mut self, section: &Section, depth: usize) -> Result<()> {
        match section {
            Section::Block(place) => match self.analysis.blocks.get(*place) {
                Some(block) if self.is_shown(section) => self.block(block, depth)?,
                _ => {}
            },
            Section::If {
                predicate,
                then,
                otherwise,
            } => {
                self.line(depth, "if");
                self.named("predicate", predicate, depth + 1)?;
                self.named("then", then, depth + 1)?;
                self.named("else", otherwise, depth + 1)?;
            }
            Section::While {
                predicate,
                writes,
                is_compiled,
                body,
            } => {
                let header = match (is_compiled, writes) {
                    (true, _) => "while: compiled".to_owned(),
                    (false, Some(writes)) => format!("while: {writes}"),
                    (false, None) => "while".to_owned(),
                };
                self.line(depth, &header);
                self.named("predicate", predicate, depth + 1)?;
                self.named("body", body, depth + 1)?;
            }
            Section::For {
                variable,
                writes,
                is_compiled,
                parallel,
                bounds,
                body,
            } => {
                let header = match (parallel, writes) {
                    (Some(degree), _) => format!("parfor {variable}: {degree}"),
                    (None, _) if *is_compiled => format!("for {variable}: compiled"),
                    (None, Some(writes)) => format!("for {variable}: {writes}"),
                    (None, None) => format!("for {variable}"),
                };
                self.line(depth, &header);
                for (name, sections) in bounds {
                    self.named(name, sections, depth + 1)?;
                }
                self.named("body", body, depth + 1)?;
            }
            Section::Call {
                function,
                arguments,
                outputs,
            } => {
                let (outputs, arguments) = (outputs.join(", "), arguments.join(", "));
                self.line(depth, &format!("[{outputs}] = {function}({arguments})"));
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &BlockAnalysis, depth: usize) -> Result<()> {
        self.line(depth, &block.title());
        let depth = depth + 1;
        let explanation = &block.fused.explanation;
        match self.level {
            ExplainLevel::Hops => self.lines(depth, &block.dag.to_string()),
            ExplainLevel::Memo => {
                self.lines(depth, &MemoText(explanation).to_string());
                self.lines(depth, &RefusalsText(explanation).to_string());
            }
            ExplainLevel::Partitions => {
                self.lines(depth, &PartitionsText(explanation).to_string());
            }
            ExplainLevel::Plan => self.plan(block, depth),
            ExplainLevel::CPlan | ExplainLevel::Clif | ExplainLevel::Asm => {
                for Listing {
                    number,
                    label,
                    text,
                } in code::listings(block, self.level)?
                {
                    self.line(depth, &format!("fused({number}) {label}"));
                    self.lines(depth, &text);
                }
            }
            ExplainLevel::Rewrites | ExplainLevel::Stats => {}
        }
        Ok(())
    }

    fn plan(&mut self, block: &BlockAnalysis, depth: usize) {
        for (number, operator) in block.fused.explanation.operators.iter().enumerate() {
            let covered: Vec<String> = operator
                .covered
                .iter()
                .map(|hop| format!("{hop} {}", block.dag.hop(*hop).op.code()))
                .collect();
            let line = format!(
                "fused({number}) {}: {}, unfused {}; covers {}",
                operator.label,
                Seconds(operator.costs.cost),
                Seconds(operator.costs.unfused),
                covered.join(", ")
            );
            self.line(depth, &line);
        }
        let dag = &block.fused.dag;
        for ((id, hop), node) in dag.iter().zip(&block.plan) {
            let reads_matrix = hop.inputs.iter().any(|input| dag.hop(*input).is_matrix());
            if hop.op.constant().is_some() || (hop.is_scalar() && !reads_matrix) {
                continue;
            }
            let line = plan_line(block, id, node);
            self.line(depth, &line);
            for meaning in meaning(block, node) {
                self.line(depth + 2, &meaning);
            }
        }
        if let Some(costs) = block.plan_costs() {
            self.line(depth, &format!("costs: {costs}"));
        }
    }
}

/// The lines of the script that an operator comes from; of variables none.
fn meaning(block: &BlockAnalysis, node: &PlanNode) -> Vec<String> {
    let Some(origin) = node.origin else {
        return Vec::new();
    };
    let op = &block.dag.hop(origin).op;
    if op.variable_read().is_some() || op.variable_written().is_some() {
        return Vec::new();
    }
    let operators = &block.fused.explanation.operators;
    match node.fused.and_then(|number| operators.get(number)) {
        Some(operator) => block.in_the_script(&operator.roots, &operator.covered),
        None => block.in_the_script(&[origin], &[]),
    }
}

/// `(13) fused(0) (5,0,6) [64 x 9, nnz ?] local, 856 µs (31 %)`
fn plan_line(block: &BlockAnalysis, id: HopId, node: &PlanNode) -> String {
    let hop = block.fused.dag.hop(id);
    let inputs: Vec<&str> = hop.inputs.iter().map(|input| block.name(*input)).collect();
    let result = match hop.is_scalar() {
        true => "scalar".to_owned(),
        false => hop.characteristics.to_string(),
    };
    let mut line = format!(
        "({}) {} ({}) {result}",
        node.name,
        hop.op.code(),
        inputs.join(",")
    );
    if node.place != Place::Variable {
        let _ = write!(line, " {}", node.place.text());
        if let Some(form) = &node.form {
            let _ = write!(line, " ({form})");
        }
        if let Some(cost) = node.cost {
            let _ = write!(
                line,
                ", {} ({:.0} %)",
                Seconds(cost),
                100.0 * block.share(cost)
            );
        }
        if node.in_place {
            line.push_str("; read in place");
        }
        if let Some(reason) = &node.reason {
            let _ = write!(line, "; {reason}");
        }
        if node.is_unmade {
            line.push_str("; its product reads its operands instead");
        }
    }
    if node
        .origin
        .is_some_and(|hop| block.is_materialization_point(hop))
    {
        line.push_str("; materialized for several readers");
    }
    line
}
