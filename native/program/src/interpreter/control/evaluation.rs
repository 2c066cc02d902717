//! `eval` and `evalList`: calls of functions by names that the run computes.

use fulgurite_dataflow::{Element, List, LocalMatrix, Variable};
use fulgurite_dml::{CompiledCall, EvaluatedArgument, EvaluatedCall};
use fulgurite_error::{Error, Position, Result};
use fulgurite_hop::{Argument, EVAL_LIST, Literal, scalar};
use fulgurite_matrix::MatrixBlock;

use super::Interpreter;
use crate::symbols::SymbolTable;

impl Interpreter<'_> {
    /// Calls the function that the first argument names, for the namespace that is the second.
    pub(super) fn evaluate_call(
        &mut self,
        function: &str,
        arguments: &[Argument],
        outputs: &[String],
        position: Option<&Position>,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(Element {
                name: argument.parameter().map(str::to_owned),
                value: match argument {
                    Argument::Variable { variable, .. } => symbols.get(variable)?.clone(),
                    Argument::Literal { value, .. } => Variable::Scalar(value.clone()),
                },
            });
        }
        let mut values = values.into_iter();
        let (Some(name), Some(namespace)) = (values.next(), values.next()) else {
            return Err(Error::internal("an eval without a function"));
        };
        let Variable::Scalar(Literal::String(name)) = &name.value else {
            return Err(Error::validation(format!(
                "eval takes the name of a function as a string, not {}",
                name.value.kind()
            )));
        };
        let namespace = match &namespace.value {
            Variable::Scalar(Literal::String(namespace)) if !namespace.is_empty() => {
                Some(namespace.as_str())
            }
            _ => None,
        };
        let values: Vec<Element> = values.collect();
        let results = self.evaluated_results((name, namespace), values, position, symbols)?;
        let result = match function == EVAL_LIST {
            true => Variable::List(as_list(results)),
            false => as_matrix(name, results)?,
        };
        for output in outputs {
            symbols.set(output, result.clone());
        }
        Ok(())
    }

    fn evaluated_results(
        &mut self,
        (name, namespace): (&str, Option<&str>),
        values: Vec<Element>,
        position: Option<&Position>,
        symbols: &SymbolTable,
    ) -> Result<Vec<Element>> {
        let arguments: Vec<EvaluatedArgument> = values.iter().map(known).collect();
        let elements: Option<Vec<EvaluatedArgument>> = match &values[..] {
            [
                Element {
                    value: Variable::List(list),
                    name: None,
                },
            ] => Some(list.elements().iter().map(known).collect()),
            _ => None,
        };
        let key = format!("{namespace:?} {name} {arguments:?} {elements:?}");
        let evaluated = self.evaluated.ok_or_else(|| {
            Error::unsupported("eval does not run in iterations on the workers")
                .with_help("write `for`, or parfor(..., mode=LOCAL)")
        })?;
        let compile = self
            .context
            .session
            .evaluator
            .clone()
            .ok_or_else(|| Error::unsupported("only scripts can call functions by eval"))?;
        let compiled = evaluated.get_or_compile(&key, || {
            let call = EvaluatedCall {
                function: name,
                namespace,
                arguments: &arguments,
                elements: elements.as_deref(),
                position,
            };
            compile(&call)
        })?;
        let values = match (&values[..], compiled.takes_elements) {
            (
                [
                    Element {
                        value: Variable::List(list),
                        ..
                    },
                ],
                true,
            ) => list.elements().to_vec(),
            _ => values,
        };
        let mut inner = SymbolTable::default();
        for (place, value) in values.into_iter().enumerate() {
            inner.set(CompiledCall::argument(place), value.value);
        }
        self.in_call(name, &mut inner, symbols, |interpreter, inner| {
            let outer = std::mem::replace(&mut interpreter.program, &compiled.program);
            let ran = interpreter.run(&compiled.program.body, inner);
            interpreter.program = outer;
            ran
        })?;
        let mut results = Vec::new();
        for (variable, name) in &compiled.results {
            results.push(Element {
                name: Some(name.clone()),
                value: inner.take(variable)?,
            });
        }
        Ok(results)
    }
}

fn known(element: &Element) -> EvaluatedArgument {
    let info = element.value.info();
    EvaluatedArgument {
        name: element.name.clone(),
        data_type: info.data_type,
        value_type: info.value_type,
    }
}

/// The only result, if it is a list; else a list of all.
fn as_list(results: Vec<Element>) -> List {
    match &results[..] {
        [
            Element {
                value: Variable::List(list),
                ..
            },
        ] => list.clone(),
        _ => List::new(results),
    }
}

/// The first result as a matrix.
fn as_matrix(name: &str, results: Vec<Element>) -> Result<Variable> {
    let first = results.into_iter().next().map(|first| first.value);
    match first {
        Some(Variable::Scalar(value)) => {
            let cell = scalar::number(&value)?;
            let block = MatrixBlock::dense(1, 1, vec![cell])?;
            Ok(Variable::Matrix(LocalMatrix::new(block)))
        }
        Some(Variable::List(_)) => Err(Error::validation(format!(
            "eval gives a matrix, and '{name}' gives a list"
        ))
        .with_help("evalList gives a list")),
        Some(matrix) => Ok(matrix),
        None => Err(Error::validation(format!("'{name}' gives no result"))
            .with_help("eval calls functions that give something")),
    }
}
