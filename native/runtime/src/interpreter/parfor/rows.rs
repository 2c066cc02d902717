//! A distributed matrix of which each iteration reads its own row alone: iterations then run where the rows are.

use fulgurite_error::Result;
use fulgurite_hop::{
    Argument, Block, Dag, Hop, HopId, HopOp, Literal, Program, SizeOp, ValueType, walk,
};

/// Holds the row of the stripe that an iteration reads. No variable of a script can be called so.
pub(super) const ROW: &str = "row of the stripe";

/// Of the whole matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub rows: u64,
    pub cols: u64,
}

/// Whether iterations read nothing of the matrix but `matrix[variable, …]` and its sizes.
pub(super) fn are_read_alone(body: &[Block], matrix: &str, variable: &str) -> bool {
    let mut alone = true;
    walk(body, &mut |block| {
        alone &= match block {
            Block::Basic { dag } => reads_alone(dag, matrix, variable),
            Block::For { variable: own, .. } => own != matrix && own != variable,
            Block::Call {
                arguments, outputs, ..
            } => {
                let passes = |argument: &Argument| matches!(argument, Argument::Variable { variable, .. } if variable == matrix);
                let assigns = |output: &String| output == matrix || output == variable;
                !arguments.iter().any(passes) && !outputs.iter().any(assigns)
            }
            Block::If { .. } | Block::While { .. } => true,
        };
        let mut predicates = block.predicates().into_iter();
        alone &= predicates.all(|predicate| reads_alone(&predicate.dag, matrix, variable));
    });
    alone
}

fn reads_alone(dag: &Dag, matrix: &str, variable: &str) -> bool {
    let is_read = |id: &HopId| is(dag, *id, matrix);
    let is_row = |id: HopId| is(dag, id, variable);
    let assigns = |hop: &Hop| matches!(&hop.op, HopOp::TransientWrite(name) if name == matrix || name == variable);
    let mut hops = dag.iter();
    !dag.roots.iter().any(is_read)
        && hops.all(|(_, hop)| match (&hop.op, &hop.inputs[..]) {
            _ if assigns(hop) => false,
            (_, inputs) if !inputs.iter().any(is_read) => true,
            (HopOp::Size(_), _) => true,
            (HopOp::RightIndex, [of, top, bottom, ..]) => {
                is_read(of) && is_row(*top) && is_row(*bottom)
            }
            _ => false,
        })
}

fn is(dag: &Dag, id: HopId, variable: &str) -> bool {
    matches!(&dag.hop(id).op, HopOp::TransientRead(name) if name == variable)
}

/// The program, whose body reads the row [`ROW`] of a stripe in place of a row of the matrix, which has this size.
pub(super) fn of_stripe(program: Program, matrix: &str, size: Size) -> Result<Program> {
    let body = Program {
        body: program.body,
        ..Program::default()
    };
    let body = body.map_dags(&mut |dag| Ok(dag_of_stripe(dag, matrix, size)))?;
    let body = body.body;
    Ok(Program { body, ..program })
}

fn dag_of_stripe(dag: &Dag, matrix: &str, size: Size) -> Dag {
    if !dag.iter().any(|(id, _)| is(dag, id, matrix)) {
        return dag.clone();
    }
    let mut changed = Dag::new();
    let read = HopOp::TransientRead(ROW.to_owned());
    let row = changed.push(Hop::scalar(read, Vec::new(), ValueType::Int));
    let moved = |id: &HopId| HopId(id.0 + 1);
    for (_, hop) in dag.iter() {
        let of = hop.inputs.first().filter(|id| is(dag, **id, matrix));
        let mut inputs: Vec<HopId> = hop.inputs.iter().map(moved).collect();
        let mut op = hop.op.clone();
        match (&hop.op, of) {
            (HopOp::RightIndex, Some(_)) => inputs[1..3].fill(row),
            (HopOp::Size(asked), Some(_)) => {
                let known = match asked {
                    SizeOp::NRow => size.rows,
                    SizeOp::NCol => size.cols,
                    SizeOp::Length => size.rows.saturating_mul(size.cols),
                };
                let known = i64::try_from(known).unwrap_or(i64::MAX);
                op = HopOp::Literal(Literal::Int(known));
                inputs.clear();
            }
            _ => {}
        }
        changed.push(Hop {
            op,
            inputs,
            ..hop.clone()
        });
    }
    changed.roots = dag.roots.iter().map(moved).collect();
    changed
}

#[cfg(test)]
mod tests {
    use fulgurite_error::Source;

    use super::*;

    fn body(text: &str) -> Vec<Block> {
        let text =
            format!("R = matrix(0, 9, 9)\nparfor (i in 1:9, check=0) {{ {text} }}\nprint(sum(R))");
        let options = fulgurite_dml::CompileOptions {
            inputs: [(
                "X".to_owned(),
                fulgurite_dml::InputVariable {
                    data_type: fulgurite_hop::DataType::Matrix,
                    value_type: ValueType::Double,
                    characteristics: fulgurite_hop::Characteristics::UNKNOWN,
                },
            )]
            .into(),
            ..fulgurite_dml::CompileOptions::default()
        };
        let program = fulgurite_dml::compile(&Source::new("a.dml", text), &options);
        let mut found = Vec::new();
        for block in program.expect("a right script").body {
            if let Block::For { body, .. } = block {
                found = body;
            }
        }
        found
    }

    #[test]
    fn rows_of_their_own_are_told_from_other_reads() {
        let alone = |text: &str| are_read_alone(&body(text), "X", "i");
        for text in [
            "R[i, ] = X[i, ] * 2",
            "R[i, 1] = sum(X[i, 1:3]) / nrow(X)",
            "if (as.scalar(X[i, 1]) > 0) { R[i, 1] = sum(X[i, ]) }",
            "for (j in 1:3) { R[i, j] = as.scalar(X[i, j]) }",
        ] {
            assert!(alone(text), "{text}");
        }
        for text in [
            "R[i, ] = X[i + 1, ] * 2",
            "R[i, 1] = sum(X[i, ]) + sum(X)",
            "R[i, 1] = sum(X[1:i, ])",
            "R[i, 1] = sum(X[, i])",
        ] {
            assert!(!alone(text), "{text}");
        }
    }
}
