//! Explanations as JSON. `docs/explain.md` documents the fields.

use fulgurite_error::Result;
use fulgurite_hop::{Dag, json, memory, rewrites::Application};
use fulgurite_program::{ExplainLevel, Session};
use serde_json::{Value, json};

use super::{
    analysis::{Analysis, BlockAnalysis, Section},
    code,
    statistics::Statistics,
};

/// Counts up when a field changes its meaning or goes.
const VERSION: u64 = 1;

/// The script at a level.
pub(super) fn print(analysis: &Analysis, level: ExplainLevel, session: &Session) -> Result<String> {
    let mut document = json!({
        "format": "fulgurite-explain",
        "version": VERSION,
        "level": level,
        "script": analysis.source,
        "policy": analysis.policy,
        "unknownSizes": analysis.has_unknown_sizes(),
    });
    if level == ExplainLevel::Stats {
        document["stats"] = value(&Statistics::of(analysis, session)?)?;
        return text(&document);
    }
    if level == ExplainLevel::Rewrites {
        document["rewrites"] = analysis.front.rewrites.iter().map(rewrite).collect();
        return text(&document);
    }
    let writer = Writer { analysis, level };
    let functions = analysis.functions.iter();
    let functions = functions
        .map(|(name, sections)| Ok(json!({"name": name, "body": writer.sections(sections)?})));
    document["functions"] = Value::Array(functions.collect::<Result<_>>()?);
    document["body"] = writer.sections(&analysis.body)?;
    text(&document)
}

/// Anything that serialises, as a value.
pub(super) fn value(of: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(of).map_err(internal)
}

/// Indented, with a line end.
pub(super) fn text(document: &Value) -> Result<String> {
    let mut text = serde_json::to_string_pretty(document).map_err(internal)?;
    text.push('\n');
    Ok(text)
}

fn internal(error: serde_json::Error) -> fulgurite_error::Error {
    fulgurite_error::Error::internal(format!("an explanation has no JSON form: {error}"))
}

struct Writer<'a> {
    analysis: &'a Analysis,
    level: ExplainLevel,
}

impl Writer<'_> {
    fn sections(&self, sections: &[Section]) -> Result<Value> {
        let sections = sections.iter().map(|section| self.section(section));
        Ok(Value::Array(sections.collect::<Result<_>>()?))
    }

    fn section(&self, section: &Section) -> Result<Value> {
        Ok(match section {
            Section::Block(place) => match self.analysis.blocks.get(*place) {
                Some(block) => self.block(block)?,
                None => Value::Null,
            },
            Section::If {
                predicate,
                then,
                otherwise,
            } => json!({
                "kind": "if",
                "predicate": self.sections(predicate)?,
                "then": self.sections(then)?,
                "else": self.sections(otherwise)?,
            }),
            Section::While {
                predicate,
                writes,
                is_compiled,
                body,
            } => {
                let mut document = json!({
                    "kind": "while",
                    "predicate": self.sections(predicate)?,
                    "body": self.sections(body)?,
                });
                if let Some(writes) = writes {
                    document["writes"] = json!(writes);
                }
                if *is_compiled {
                    document["compiled"] = json!(true);
                }
                document
            }
            Section::For {
                variable,
                writes,
                is_compiled,
                parallel,
                bounds,
                body,
            } => {
                let mut document = json!({
                    "kind": if parallel.is_some() { "parfor" } else { "for" },
                    "variable": variable,
                    "body": self.sections(body)?,
                });
                if let Some(degree) = parallel {
                    document["degree"] = json!(degree);
                }
                if let Some(writes) = writes {
                    document["writes"] = json!(writes);
                }
                if *is_compiled {
                    document["compiled"] = json!(true);
                }
                for (name, sections) in bounds {
                    document[*name] = self.sections(sections)?;
                }
                document
            }
            Section::Call {
                function,
                arguments,
                outputs,
            } => json!({
                "kind": "call",
                "function": function,
                "arguments": arguments,
                "outputs": outputs,
            }),
        })
    }

    fn block(&self, block: &BlockAnalysis) -> Result<Value> {
        let mut document = json!({
            "kind": "block",
            "block": block.number,
            "position": block.position,
        });
        let explanation = &block.fused.explanation;
        match self.level {
            ExplainLevel::Hops => {
                document["dag"] = json::to_json(&block.dag);
                document["memory"] = memory(&block.dag);
            }
            ExplainLevel::Memo => {
                document["memo"] = value(&explanation.memo)?;
                document["refusals"] = value(&explanation.refusals)?;
                document["edgeRefusals"] = value(&explanation.edge_refusals)?;
            }
            ExplainLevel::Partitions => {
                document["partitions"] = value(&explanation.partitions)?;
            }
            ExplainLevel::Plan => {
                document["operators"] = operators(block);
                document["fused"] = value(&explanation.operators)?;
                document["costs"] = value(&block.plan_costs())?;
                document["refusals"] = value(&explanation.refusals)?;
            }
            ExplainLevel::CPlan | ExplainLevel::Clif | ExplainLevel::Asm => {
                document["listings"] = value(&code::listings(block, self.level)?)?;
            }
            ExplainLevel::Rewrites | ExplainLevel::Stats => {}
        }
        Ok(document)
    }
}

fn rewrite(applied: &Application) -> Value {
    json!({
        "rule": applied.rule,
        "position": applied.position,
        "before": applied.before,
        "after": applied.after,
    })
}

/// Estimates in bytes, null where a size is unknown.
fn memory(dag: &Dag) -> Value {
    let hops = dag.iter().map(|(id, hop)| {
        json!({
            "hop": id,
            "output": memory::output_bytes(hop),
            "operation": memory::operation_bytes(dag, id),
        })
    });
    hops.collect()
}

/// The chosen plan, operator by operator.
fn operators(block: &BlockAnalysis) -> Value {
    let nodes = block.fused.dag.iter().zip(&block.plan);
    let operators = nodes.map(|((_, hop), node)| {
        let inputs: Vec<&str> = node.inputs.iter().map(|input| block.name(*input)).collect();
        json!({
            "name": node.name,
            "hop": node.origin,
            "code": hop.op.code(),
            "inputs": inputs,
            "dataType": hop.data_type,
            "rows": size(hop.characteristics.rows),
            "cols": size(hop.characteristics.cols),
            "nnz": size(hop.characteristics.nnz),
            "fused": node.fused,
            "place": node.place,
            "placedBecause": node.reason,
            "form": node.form,
            "readInPlace": node.in_place,
            "leftUnmade": node.is_unmade,
            "cost": node.cost,
            "materialized": node.origin.is_some_and(|hop| block.is_materialization_point(hop)),
            "position": hop.position,
        })
    });
    operators.collect()
}

/// As in HOP JSON: -1 where it is unknown.
fn size(size: Option<u64>) -> Value {
    size.map_or(json!(-1), Value::from)
}
