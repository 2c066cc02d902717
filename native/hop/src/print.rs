//! The text form of DAGs and programs, as `explain hops` and the snapshot tests show it.
//!
//! One line a HOP: number, code, inputs, what is known of its result, the estimate of the memory it needs
//! while running, and its place in the script.

use std::{
    collections::BTreeSet,
    fmt::{self, Display, Formatter},
};

use crate::{
    Argument, Block, Dag, DataType, Function, Hop, HopId, Parallel, Parameter, ParforMode,
    Predicate, Program, ValueType, memory,
};

impl Display for DataType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataType::Matrix => "matrix",
            DataType::Scalar => "scalar",
            DataType::Frame => "frame",
            DataType::List => "list",
        })
    }
}

impl Display for ValueType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueType::Double => "double",
            ValueType::Int => "int",
            ValueType::Boolean => "boolean",
            ValueType::String => "string",
        })
    }
}

impl Display for Dag {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_dag(self, f, 0)
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for function in self.functions.values() {
            write_function(function, f)?;
        }
        write_blocks(&self.body, f, 0)
    }
}

fn write_dag(dag: &Dag, f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    for (id, hop) in dag.iter() {
        indent(f, depth)?;
        write_hop(dag, id, hop, f)?;
        writeln!(f)?;
    }
    indent(f, depth)?;
    writeln!(f, "roots {}", join(&dag.roots))
}

fn write_hop(dag: &Dag, id: HopId, hop: &Hop, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "({id}) {}", on_one_line(&hop.op.code()))?;
    if !hop.inputs.is_empty() {
        write!(f, " ({})", join(&hop.inputs))?;
    }
    match hop.data_type {
        DataType::Scalar => write!(f, " [{}]", hop.value_type)?,
        DataType::Matrix => {
            let bytes = memory::operation_bytes(dag, id);
            write!(f, " {} {}", hop.characteristics, Bytes(bytes))?;
        }
        other => write!(f, " [{other}] {}", hop.characteristics)?,
    }
    match &hop.position {
        Some(position) => write!(f, " @ {position}"),
        None => Ok(()),
    }
}

fn write_function(function: &Function, f: &mut Formatter<'_>) -> fmt::Result {
    let list = |parameters: &[Parameter]| {
        let texts: Vec<String> = parameters.iter().map(parameter_text).collect();
        texts.join(", ")
    };
    writeln!(
        f,
        "function {}({}) -> ({})",
        function.name,
        list(&function.parameters),
        list(&function.results)
    )?;
    write_blocks(&function.body, f, 1)
}

fn parameter_text(parameter: &Parameter) -> String {
    let Parameter {
        name,
        data_type,
        value_type,
        default,
    } = parameter;
    let typed = match data_type {
        DataType::Scalar => format!("{value_type} {name}"),
        _ => format!("{data_type}[{value_type}] {name}"),
    };
    match default {
        Some(default) => format!("{typed} = {}", on_one_line(&default.to_string())),
        None => typed,
    }
}

fn write_blocks(blocks: &[Block], f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    blocks
        .iter()
        .try_for_each(|block| write_block(block, f, depth))
}

fn write_block(block: &Block, f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    indent(f, depth)?;
    match block {
        Block::Basic { dag } => {
            writeln!(f, "basic")?;
            write_dag(dag, f, depth + 1)
        }
        Block::If {
            predicate,
            then,
            otherwise,
            position: _,
        } => {
            writeln!(f, "if")?;
            write_predicate("predicate", predicate, f, depth + 1)?;
            write_section("then", then, f, depth + 1)?;
            if otherwise.is_empty() {
                return Ok(());
            }
            write_section("else", otherwise, f, depth + 1)
        }
        Block::While {
            predicate,
            body,
            position: _,
        } => {
            writeln!(f, "while")?;
            write_predicate("predicate", predicate, f, depth + 1)?;
            write_section("body", body, f, depth + 1)
        }
        Block::For {
            variable,
            from,
            to,
            increment,
            body,
            parallel,
            position: _,
        } => {
            match parallel {
                None => writeln!(f, "for {variable}")?,
                Some(parallel) => writeln!(f, "parfor {variable}{}", ParallelText(parallel))?,
            }
            write_predicate("from", from, f, depth + 1)?;
            write_predicate("to", to, f, depth + 1)?;
            if let Some(increment) = increment {
                write_predicate("increment", increment, f, depth + 1)?;
            }
            write_section("body", body, f, depth + 1)
        }
        Block::Call {
            function,
            arguments,
            outputs,
            position: _,
        } => {
            let arguments: Vec<String> = arguments.iter().map(argument_text).collect();
            writeln!(
                f,
                "call {function}({}) -> ({})",
                arguments.join(", "),
                outputs.join(", ")
            )
        }
    }
}

/// What follows a `parfor`'s variable, each part with a space before it.
struct ParallelText<'a>(&'a Parallel);

impl Display for ParallelText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        let Parallel {
            results,
            accumulated,
            degree,
            mode,
        } = self.0;
        if !results.is_empty() {
            write!(f, " results [{}]", names(results))?;
        }
        if !accumulated.is_empty() {
            write!(f, " sums [{}]", names(accumulated))?;
        }
        if let Some(degree) = degree {
            write!(f, " par {degree}")?;
        }
        match mode {
            Some(ParforMode::Local) => f.write_str(" local"),
            Some(ParforMode::Remote) => f.write_str(" remote"),
            None => Ok(()),
        }
    }
}

fn write_predicate(
    label: &str,
    predicate: &Predicate,
    f: &mut Formatter<'_>,
    depth: usize,
) -> fmt::Result {
    indent(f, depth)?;
    writeln!(f, "{label}")?;
    write_blocks(&predicate.before, f, depth + 1)?;
    write_dag(&predicate.dag, f, depth + 1)
}

fn write_section(
    label: &str,
    blocks: &[Block],
    f: &mut Formatter<'_>,
    depth: usize,
) -> fmt::Result {
    indent(f, depth)?;
    writeln!(f, "{label}")?;
    write_blocks(blocks, f, depth + 1)
}

fn argument_text(argument: &Argument) -> String {
    let (parameter, value) = match argument {
        Argument::Variable {
            parameter,
            variable,
        } => (parameter, variable.clone()),
        Argument::Literal { parameter, value } => (
            parameter,
            format!("lit {}", on_one_line(&value.to_string())),
        ),
    };
    match parameter {
        Some(parameter) => format!("{parameter}={value}"),
        None => value,
    }
}

fn indent(f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    write!(f, "{:width$}", "", width = 2 * depth)
}

fn join(ids: &[HopId]) -> String {
    let texts: Vec<String> = ids.iter().map(HopId::to_string).collect();
    texts.join(",")
}

/// String literals may hold line ends; the text form keeps one line a HOP.
fn on_one_line(text: &str) -> String {
    if text.contains(char::is_control) {
        text.escape_debug().to_string()
    } else {
        text.to_owned()
    }
}

/// A time as people read it, with three digits: `20.4 ms`.
///
/// ```
/// use fulgurite_hop::Seconds;
/// let times = [0.0, 2.5e-9, 4.65e-6, 0.0204, 123.4].map(|time| Seconds(time).to_string());
/// assert_eq!(times, ["0 s", "2.50 ns", "4.65 µs", "20.4 ms", "123 s"]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Seconds(pub f64);

impl Display for Seconds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
        if self.0 == 0.0 {
            return f.write_str("0 s");
        }
        let unit = UNITS.iter().find(|(size, _)| self.0 >= *size);
        let (size, unit) = unit.unwrap_or(&UNITS[3]);
        let value = self.0 / size;
        let decimals = match value {
            value if value < 10.0 => 2,
            value if value < 100.0 => 1,
            _ => 0,
        };
        write!(f, "{value:.decimals$} {unit}")
    }
}

/// A number of bytes as people read it; `?B` where it is unknown.
pub struct Bytes(pub Option<u64>);

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 4] = [
            ((1u64 << 40) as f64, "TB"),
            ((1u64 << 30) as f64, "GB"),
            ((1u64 << 20) as f64, "MB"),
            ((1u64 << 10) as f64, "KB"),
        ];
        let Some(bytes) = self.0 else {
            return f.write_str("?B");
        };
        match UNITS.iter().find(|(size, _)| bytes as f64 >= *size) {
            Some((size, unit)) => write!(f, "{:.1}{unit}", bytes as f64 / size),
            None => write!(f, "{bytes}B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_error::{Position, Source};

    use super::*;
    use crate::{BinaryOp, Characteristics, HopOp, Literal};

    fn example() -> Dag {
        let source = Source::new("a.dml", "y = t(X) %*% X\nprint(\"a\\n\" + 1)\n");
        let mut dag = Dag::new();
        let x = dag.push(
            Hop::matrix(HopOp::TransientRead("X".into()), Vec::new())
                .with(Characteristics::dims(1000, 10).with_nnz(500)),
        );
        let t = dag.push(
            Hop::matrix(HopOp::Transpose, vec![x])
                .with(Characteristics::dims(10, 1000).with_nnz(500))
                .at(&Position::new(&source, 1, 5, 4)),
        );
        let product = dag.push(
            Hop::matrix(HopOp::MatMult, vec![t, x])
                .with(Characteristics::UNKNOWN)
                .at(&Position::new(&source, 1, 10, 3)),
        );
        let write = dag.push(Hop::matrix(
            HopOp::TransientWrite("y".into()),
            vec![product],
        ));
        let text = dag.push(Hop::literal(Literal::String("a\n".into())));
        let one = dag.push(Hop::literal(Literal::Int(1)));
        let message = dag.push(Hop::scalar(
            HopOp::Binary(BinaryOp::Plus),
            vec![text, one],
            ValueType::String,
        ));
        let print = dag.push(Hop::scalar(HopOp::Print, vec![message], ValueType::String));
        dag.roots = vec![write, print];
        dag
    }

    #[test]
    fn a_dag_prints_one_line_a_hop() {
        insta::assert_snapshot!(example().to_string());
    }

    #[test]
    fn a_program_prints_its_blocks_indented() {
        let mut predicate = Dag::new();
        predicate.roots = vec![predicate.push(Hop::literal(Literal::Boolean(true)))];
        let predicate = Predicate {
            before: Vec::new(),
            dag: predicate,
        };
        let call = Block::Call {
            function: "f".into(),
            arguments: vec![
                Argument::Variable {
                    parameter: None,
                    variable: "y".into(),
                },
                Argument::Literal {
                    parameter: Some("k".into()),
                    value: Literal::Int(3),
                },
            ],
            outputs: vec!["z".into()],
            position: None,
        };
        let program = Program {
            functions: [(
                "f".to_owned(),
                Function {
                    name: "f".into(),
                    parameters: vec![
                        Parameter {
                            name: "A".into(),
                            data_type: DataType::Matrix,
                            value_type: ValueType::Double,
                            default: None,
                        },
                        Parameter {
                            name: "k".into(),
                            data_type: DataType::Scalar,
                            value_type: ValueType::Int,
                            default: Some(Literal::Int(2)),
                        },
                    ],
                    results: Vec::new(),
                    body: vec![Block::Basic { dag: example() }],
                    position: None,
                },
            )]
            .into(),
            body: vec![
                Block::While {
                    predicate: predicate.clone(),
                    body: vec![Block::If {
                        predicate: predicate.clone(),
                        then: vec![call.clone()],
                        otherwise: vec![call],
                        position: None,
                    }],
                    position: None,
                },
                Block::For {
                    variable: "i".into(),
                    from: predicate.clone(),
                    to: predicate,
                    increment: None,
                    body: Vec::new(),
                    parallel: Some(Box::new(Parallel {
                        results: ["R".to_owned()].into(),
                        accumulated: ["S".to_owned()].into(),
                        degree: Some(4),
                        mode: Some(ParforMode::Remote),
                    })),
                    position: None,
                },
            ],
        };
        insta::assert_snapshot!(program.to_string());
    }
}
