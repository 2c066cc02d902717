//! CPlans from the text that they display as.

use std::str::FromStr;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{
    AggregateOp, CumulativeOp, Direction,
    syntax::{Line, Text, blanks, expected, optional_blanks, whole_number, word},
};
use winnow::{
    ModalResult, Parser,
    combinator::{
        alt, cut_err, delimited, eof, fail, opt, preceded, separated, separated_pair, terminated,
    },
    token::{take_until, take_while},
};

use super::{
    CNode, CPlan, CellTemplate, GroupTemplate, InputBinding, MultiAggregateTemplate, NodeId,
    OuterOutput, OuterTemplate, RowOutput, RowTemplate, Template,
};
use crate::roles::{CellFunction, Role};

/// A plan from its text, with blank lines and comments (`# ...`) between its lines.
///
/// ```
/// use fulgurite_fusion::cplan::CPlan;
/// let text = "Row(main, whole)\n  %0 = in0\n  %1 = %0 %*% in1 to scalar\n  cells %1";
/// let plan: CPlan = text.parse()?;
/// assert_eq!(plan.to_string(), text);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
///
/// # Errors
/// Syntax, with line and column and what was expected there; plan, where the plan is inconsistent.
impl FromStr for CPlan {
    type Err = Error;

    fn from_str(text: &str) -> Result<CPlan> {
        let text = Text::new("CPlan", text);
        let mut lines = text.lines();
        let first = lines.next();
        let first =
            first.ok_or_else(|| text.error_at_end("a template, as in 'Cell(main, row)'"))?;
        let (kind, inputs) = text.parse(first, head)?;
        let mut body = Vec::new();
        let mut template = None;
        for line in lines {
            if template.is_some() {
                return Err(text.error(line, 0..line.1.len(), "no more lines after the result"));
            }
            match text.parse(line, |input| statement(kind, input))? {
                Statement::Node(number, node) if number == body.len() as u64 => body.push(node),
                Statement::Node(..) => {
                    let next = format!("the node %{}", body.len());
                    return Err(text.error(line, 0..line.1.len(), &next));
                }
                Statement::Result(result) => template = Some(result),
            }
        }
        let plan = CPlan {
            template: template.ok_or_else(|| text.error_at_end(kind.result()))?,
            inputs,
            body,
        };
        plan.verify()?;
        Ok(plan)
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Cell,
    Row,
    Outer,
    Group,
    MultiAggregate,
}

impl Kind {
    /// What ends a plan of this template.
    fn result(self) -> &'static str {
        match self {
            Kind::Cell => "the result: 'each %4' or an aggregate, as in 'ua(R+) %4'",
            Kind::Row => {
                "the result: 'rows %4', 'cells %4', an aggregate as in 'ua(C+) %4', or 'sum of outer products %0 %4'"
            }
            Kind::Outer => {
                "the result: 'each %4', an aggregate as in 'ua(+) %4', '%4 %*% in3' or 't(%4) %*% in3'"
            }
            Kind::Group => "the results by group, as in 'ua(+) %4, ua(mean) %5 by %1 up to in2'",
            Kind::MultiAggregate => {
                "the results: aggregates of one direction, as in 'ua(+) %4, ua(max) %5' or 'ua(C+) %4, ua(Cmax) %4'"
            }
        }
    }
}

fn head(input: &mut Line<'_>) -> ModalResult<(Kind, Vec<InputBinding>)> {
    let kind = alt((
        "Cell".value(Kind::Cell),
        "Row".value(Kind::Row),
        "Outer".value(Kind::Outer),
        "Group".value(Kind::Group),
        "MAgg".value(Kind::MultiAggregate),
    ));
    let binding = take_while(1.., |c: char| c.is_ascii_lowercase() || c == ' ')
        .verify_map(|name: &str| InputBinding::from_name(name.trim_end()));
    let (_, kind, inputs, _) = (
        optional_blanks,
        cut_err(kind).context(expected("Cell, Row, Outer, Group or MAgg")),
        cut_err(delimited('(', separated(0.., binding, (',', optional_blanks)), ')')).context(
            expected("the inputs, as in '(main, matrix, column, row, whole, left factor, right factor, scalar)'"),
        ),
        cut_err((optional_blanks, eof)).context(expected("the end of the line")),
    )
        .parse_next(input)?;
    Ok((kind, inputs))
}

enum Statement {
    Node(u64, CNode),
    Result(Template),
}

fn statement(kind: Kind, input: &mut Line<'_>) -> ModalResult<Statement> {
    optional_blanks(input)?;
    let mut number = opt(terminated(
        preceded('%', whole_number),
        (blanks, '=', blanks),
    ));
    let statement = match number.parse_next(input)? {
        Some(number) => Statement::Node(number, cut_err(node).parse_next(input)?),
        None => {
            let result = cut_err(|input: &mut Line<'_>| result(kind, input));
            Statement::Result(result.context(expected(kind.result())).parse_next(input)?)
        }
    };
    cut_err((optional_blanks, eof))
        .context(expected("the end of the line"))
        .parse_next(input)?;
    Ok(statement)
}

fn id(input: &mut Line<'_>) -> ModalResult<NodeId> {
    preceded('%', whole_number)
        .verify_map(|number| u32::try_from(number).ok())
        .map(NodeId)
        .parse_next(input)
}

fn input_number(input: &mut Line<'_>) -> ModalResult<usize> {
    preceded("in", whole_number)
        .map(|number| number as usize)
        .parse_next(input)
}

fn node(input: &mut Line<'_>) -> ModalResult<CNode> {
    let product = || (id, " %*% ", input_number, opt(" to scalar"));
    let range = (
        id,
        delimited('[', separated_pair(whole_number, ':', whole_number), ']'),
    );
    alt((
        separated_pair(input_number, " dot ", input_number)
            .map(|(left, right)| CNode::FactorProduct { left, right }),
        input_number.map(CNode::Input),
        product().map(|(vector, _, input, scalar)| CNode::VectorMatrix {
            vector,
            input,
            scalar: scalar.is_some(),
        }),
        range.map(|(vector, (from, to))| CNode::ColumnRange { vector, from, to }),
        delimited("cbind(", separated(0.., id, blanks), ')').map(CNode::Concatenate),
        of_one_operator,
        literal.map(CNode::Literal),
    ))
    .context(expected(
        "a node: 'in0', a number, 'b(*) %0 %1' as other operators, 'reduce(+) %0', '%0 %*% in1', \
         '%0[1:9]', 'cbind(%0 %1)' or 'in1 dot in2'",
    ))
    .parse_next(input)
}

/// An operator's code and the nodes that it reads.
fn of_one_operator(input: &mut Line<'_>) -> ModalResult<CNode> {
    let code = alt((
        (take_until(1.., ") "), ')').take(),
        take_while(1.., |c: char| c.is_ascii_lowercase()),
    ))
    .parse_next(input)?;
    let operands: Vec<NodeId> = preceded(blanks, separated(1.., id, blanks)).parse_next(input)?;
    let in_family = |family: &str| {
        code.strip_prefix(family)?
            .strip_prefix('(')?
            .strip_suffix(')')
    };
    let node = match (operands.as_slice(), Role::of_code(code)) {
        ([a], Some(Role::CellWise(CellFunction::Unary(op)))) => Some(CNode::Unary(op, *a)),
        ([a, b], Some(Role::CellWise(CellFunction::Binary(op)))) => Some(CNode::Binary(op, *a, *b)),
        ([a, b, c], Some(Role::CellWise(CellFunction::Ternary(op)))) => {
            Some(CNode::Ternary(op, *a, *b, *c))
        }
        ([a], None) => in_family("reduce")
            .and_then(AggregateOp::from_code)
            .map(|op| CNode::Reduce(op, *a))
            .or_else(|| CumulativeOp::from_code(code).map(|op| CNode::Cumulative(op, *a))),
        _ => None,
    };
    match node {
        Some(node) => Ok(node),
        None => fail.parse_next(input),
    }
}

/// A number, or a NaN with its bits: `NaN:fff8000000000000`.
fn literal(input: &mut Line<'_>) -> ModalResult<f64> {
    word.verify_map(|text: &str| match text.strip_prefix("NaN:") {
        Some(bits) => u64::from_str_radix(bits, 16)
            .ok()
            .map(f64::from_bits)
            .filter(|value| value.is_nan()),
        None => text.parse().ok(),
    })
    .parse_next(input)
}

fn result(kind: Kind, input: &mut Line<'_>) -> ModalResult<Template> {
    let each = |name: &'static str| preceded((name, blanks), id);
    let full = |input: &mut Line<'_>| {
        aggregate
            .verify_map(|(op, direction, value)| {
                (direction == Direction::Full).then_some((op, value))
            })
            .parse_next(input)
    };
    match kind {
        Kind::Cell => {
            let value = alt((
                each("each").map(|value| (None, value)),
                aggregate.map(|(op, direction, value)| (Some((op, direction)), value)),
            ));
            let ((aggregate, value), sparse_safe) = (value, sparse_safe).parse_next(input)?;
            Ok(Template::Cell(CellTemplate {
                value,
                aggregate,
                sparse_safe,
            }))
        }
        Kind::Row => {
            let products = ("sum of outer products", blanks, id, blanks, id);
            let output = alt((
                each("rows").map(RowOutput::NoAggregate),
                each("cells").map(RowOutput::RowAggregate),
                products.map(|(_, _, left, _, right)| RowOutput::OuterProduct { left, right }),
                aggregate.verify_map(|(op, direction, value)| match direction {
                    Direction::Full => Some(RowOutput::FullAggregate(op, value)),
                    Direction::Col => Some(RowOutput::ColumnAggregate(op, value)),
                    Direction::Row => None,
                }),
            ))
            .parse_next(input)?;
            Ok(Template::Row(RowTemplate { output }))
        }
        Kind::Outer => {
            let right = (id, " %*% ", input_number);
            let left = (delimited("t(", id, ')'), " %*% ", input_number);
            let value = alt((
                each("each").map(|value| (value, OuterOutput::NoAggregate)),
                full.map(|(op, value)| (value, OuterOutput::FullAggregate(op))),
                right.map(|(value, _, input)| (value, OuterOutput::RightMultiply { input })),
                left.map(|(value, _, input)| (value, OuterOutput::LeftMultiply { input })),
            ));
            let ((value, output), sparse_safe) = (value, sparse_safe).parse_next(input)?;
            Ok(Template::Outer(OuterTemplate {
                value,
                output,
                sparse_safe,
            }))
        }
        Kind::Group => {
            let aggregates = separated(1.., full, ", ");
            let by = (" by ", id, " up to ", input_number);
            let (aggregates, (_, groups, _, count)) = (aggregates, by).parse_next(input)?;
            Ok(Template::Group(GroupTemplate {
                groups,
                count,
                aggregates,
            }))
        }
        Kind::MultiAggregate => {
            let several = separated(1.., aggregate, ", ").verify_map(
                |several: Vec<(AggregateOp, Direction, NodeId)>| {
                    let (_, direction, _) = *several.first()?;
                    let aggregates = several.into_iter();
                    let aggregates = aggregates
                        .map(|(op, other, value)| (other == direction).then_some((op, value)));
                    Some((direction, aggregates.collect::<Option<Vec<_>>>()?))
                },
            );
            let ((direction, aggregates), sparse_safe) =
                (several, sparse_safe).parse_next(input)?;
            Ok(Template::MultiAggregate(MultiAggregateTemplate {
                direction,
                aggregates,
                sparse_safe,
            }))
        }
    }
}

/// `ua(R+) %3`
fn aggregate(input: &mut Line<'_>) -> ModalResult<(AggregateOp, Direction, NodeId)> {
    let code = (take_until(1.., ") "), ')').take();
    let operator = code.verify_map(|code: &str| match Role::of_code(code) {
        Some(Role::Aggregate(op, direction)) => Some((op, direction)),
        _ => None,
    });
    let ((op, direction), value) = separated_pair(operator, blanks, id).parse_next(input)?;
    Ok((op, direction, value))
}

fn sparse_safe(input: &mut Line<'_>) -> ModalResult<bool> {
    let flag = opt(", sparse-safe").parse_next(input)?;
    Ok(flag.is_some())
}
