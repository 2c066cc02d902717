//! Assignments, loops, branches, functions, and what is written into ranges.

use std::fmt::Write;

use super::{Choices, DIMENSIONS, Expression, Generator, Variable};

impl Generator {
    pub(super) fn statement(&mut self, choices: &mut Choices) {
        let shape = Self::shape(choices);
        match choices.next(14) {
            0 if self.indent < 2 => self.loops(shape, choices),
            1 => self.branches(shape, choices),
            2 => self.writes(shape, choices),
            3 if self.indent < 2 => self.parallel(shape, choices),
            4 => self.without_empty(shape, choices),
            5 if self.indent < 2 => self.written_row_by_row(shape, choices),
            6 => self.function(shape, choices),
            7 => self.statistics(choices),
            _ => {
                let value = self.expression(shape, 3, choices);
                let name = self.name();
                self.assign(name, shape, value);
            }
        }
    }

    /// A variable that a loop changes, some of its operators going by the iteration.
    fn loops(&mut self, shape: (usize, usize), choices: &mut Choices) {
        let start = self.expression(shape, 1, choices);
        let start = start.small();
        let name = self.name();
        self.assign(name.clone(), shape, start);
        let last = self.variables.len() - 1;
        self.variables[last].bound = 64.0;
        self.variables[last].places = 0.0;
        let times = 2 + choices.next(3);
        let counted = choices.next(2) == 0;
        if counted {
            self.line(&format!("for (i{name} in 1:{times}) {{"));
        } else {
            self.line(&format!("i{name} = 1"));
            self.line(&format!("while (i{name} <= {times}) {{"));
        }
        self.indent += 1;
        let known = self.variables.len();
        if choices.next(2) == 0 {
            self.statement(choices);
        }
        let value = self.expression(shape, 2, choices);
        let with = match choices.next(3) {
            0 => format!("({} + {name})", value.text),
            1 => format!("({} + {name} * i{name})", value.text),
            _ => format!("({} * i{name} - {name})", value.text),
        };
        let value = Expression {
            text: with,
            bound: value.bound * 4.0 + 256.0,
            ..value
        };
        let value = value.small();
        self.line(&format!("{name} = {}", value.text));
        if !counted {
            self.line(&format!("i{name} = i{name} + 1"));
        }
        self.indent -= 1;
        self.line("}");
        self.variables.truncate(known);
        self.variables[last].exact &= value.exact;
        self.variables[last].read = false;
    }

    fn branches(&mut self, shape: (usize, usize), choices: &mut Choices) {
        let condition = self.condition(choices);
        let (yes, no) = (
            self.expression(shape, 2, choices),
            self.expression(shape, 2, choices),
        );
        let name = self.name();
        self.line(&format!("if ({condition}) {{"));
        self.line(&format!("  {name} = {}", yes.text));
        self.line("} else {");
        self.line(&format!("  {name} = {}", no.text));
        self.line("}");
        self.variables.push(Variable {
            name,
            rows: shape.0,
            cols: shape.1,
            bound: yes.bound.max(no.bound),
            places: yes.places.max(no.places),
            exact: yes.exact && no.exact,
            read: false,
        });
    }

    fn condition(&mut self, choices: &mut Choices) -> String {
        let shape = Self::shape(choices);
        let value = self.expression(shape, 1, choices);
        match value.exact {
            true => format!("sum({}) %% 3 > 0", value.text),
            false => format!("nrow({}) > 10", value.text),
        }
    }

    /// Ranges of a copy are written.
    fn writes(&mut self, shape: (usize, usize), choices: &mut Choices) {
        let start = self.expression(shape, 2, choices);
        let name = self.name();
        self.assign(name.clone(), shape, start.clone());
        let last = self.variables.len() - 1;
        let (mut bound, mut places, mut exact) = (start.bound, start.places, start.exact);
        for _ in 0..1 + choices.next(2) {
            let part = (
                DIMENSIONS[choices.next(5)].min(shape.0),
                DIMENSIONS[choices.next(5)].min(shape.1),
            );
            if !DIMENSIONS.contains(&part.0) || !DIMENSIONS.contains(&part.1) {
                continue;
            }
            let (row, col) = (
                choices.next(shape.0 - part.0 + 1),
                choices.next(shape.1 - part.1 + 1),
            );
            let value = self.expression(part, 1, choices);
            self.line(&format!(
                "{name}[{}:{}, {}:{}] = {}",
                row + 1,
                row + part.0,
                col + 1,
                col + part.1,
                value.text
            ));
            bound = bound.max(value.bound);
            places = places.max(value.places);
            exact &= value.exact;
            let variable = &mut self.variables[last];
            (variable.bound, variable.places, variable.exact) = (bound, places, exact);
        }
        self.variables[last].read = false;
    }

    /// Iterations that write a row each, and a sum of theirs.
    fn parallel(&mut self, (_, cols): (usize, usize), choices: &mut Choices) {
        let iterations = DIMENSIONS[1 + choices.next(2)];
        let (rows, sum) = (self.name(), self.name());
        self.line(&format!("{rows} = matrix(0, {iterations}, {cols})"));
        self.line(&format!("{sum} = matrix(0, 1, {cols})"));
        self.line(&format!("parfor (i{rows} in 1:{iterations}) {{"));
        self.indent += 1;
        let value = self.expression((1, cols), 2, choices);
        let row = self.name();
        self.line(&format!("{row} = {} * i{rows}", value.text));
        self.line(&format!("{rows}[i{rows}, ] = {row}"));
        self.line(&format!("{sum} += {row}"));
        self.indent -= 1;
        self.line("}");
        let bound = value.bound * 6.0;
        for (name, height, bound) in [(rows, iterations, bound), (sum, 1, bound * 6.0)] {
            let Expression { places, exact, .. } = value;
            self.variables.push(Variable {
                name,
                rows: height,
                cols,
                bound,
                places,
                exact,
                read: false,
            });
        }
    }

    /// Rows that go by the rows before them, in a `for`, or by those of other matrices, in a `parfor`.
    fn written_row_by_row(&mut self, (_, cols): (usize, usize), choices: &mut Choices) {
        let rows = DIMENSIONS[2 + choices.next(3)];
        let start = self.exact_expression((rows, cols), 1, choices);
        let start = start.small();
        let name = self.name();
        self.assign(name.clone(), (rows, cols), start);
        let last = self.variables.len() - 1;
        let other = self.exact_expression((rows, cols), 1, choices);
        let other = self.ranged(&other.text, format!("i{name}, "));
        let (header, value) = match choices.next(3) {
            0 => ("for", format!("{name}[i{name} - 1, ] + {other}")),
            1 => ("for", format!("{other} * i{name}")),
            _ => ("parfor", format!("{other} + i{name}")),
        };
        let until = rows.min(8);
        self.line(&format!("{header} (i{name} in 2:{until}) {{"));
        self.line(&format!("  {name}[i{name}, ] = round({value}) %% 64"));
        self.line("}");
        self.variables[last].read = false;
    }

    /// A function of two matrices, and a call.
    fn function(&mut self, shape: (usize, usize), choices: &mut Choices) {
        let shapes = [Self::shape(choices), Self::shape(choices)];
        let arguments = shapes.map(|shape| self.expression(shape, 1, choices));
        let name = self.name();
        let parameters = ["A", "B"].iter().zip(shapes.iter().zip(&arguments)).map(
            |(parameter, (shape, argument))| Variable {
                name: format!("{parameter}{name}"),
                rows: shape.0,
                cols: shape.1,
                bound: argument.bound,
                places: argument.places,
                exact: argument.exact,
                read: true,
            },
        );
        let outside = std::mem::replace(&mut self.variables, parameters.collect());
        let text = std::mem::take(&mut self.text);
        let indent = std::mem::replace(&mut self.indent, 1);
        if choices.next(2) == 0 {
            self.indent = 2;
            self.statement(choices);
            self.indent = 1;
        }
        let value = self.expression(shape, 2, choices);
        self.line(&format!("R = {}", value.text));
        self.indent = indent;
        let body = std::mem::replace(&mut self.text, text);
        self.variables = outside;
        writeln!(
            self.functions,
            "f{name} = function(matrix[double] A{name}, matrix[double] B{name}) return (matrix[double] R) {{\n{body}}}"
        )
        .expect("a string");
        let call = format!("f{name}({}, {})", arguments[0].text, arguments[1].text);
        self.assign(
            name,
            shape,
            Expression {
                text: call,
                ..value
            },
        );
    }

    /// Of a column, or of columns.
    fn statistics(&mut self, choices: &mut Choices) {
        let rows = DIMENSIONS[2 + choices.next(3)];
        let column = self.exact_expression((rows, 1), 2, choices);
        let bound = column.bound.max(1.0);
        let groups = self.exact_expression((rows, 1), 1, choices);
        let groups = format!("1 + (round({}) %% 3)", groups.text);
        let (v, name) = (self.name(), self.name());
        self.line(&format!("{v} = {}", column.text));
        let exact = |text: String, bound: f64| Expression::exact(text, bound, column.places);
        let inexact = |text: String, bound: f64| Expression {
            text,
            bound,
            places: 0.0,
            exact: false,
        };
        let (shape, value) = match choices.next(10) {
            0 => (
                (1, 1),
                exact(format!("as.matrix(quantile({v}, 0.3))"), bound),
            ),
            1 => ((1, 1), inexact(format!("as.matrix(median({v}))"), bound)),
            2 => (
                (1, 1),
                inexact(format!("as.matrix(moment({v}, 2))"), bound * bound),
            ),
            3 => (
                (1, 1),
                inexact(
                    format!("as.matrix(cov({v}, rev({v})))"),
                    2.0 * bound * bound,
                ),
            ),
            4 => (
                (3, 1),
                exact(
                    format!("aggregate(target={v}, groups={groups}, fn=\"sum\", ngroups=3)"),
                    bound * rows as f64,
                ),
            ),
            5 => (
                (3, 1),
                exact(
                    format!("aggregate(target={v}, groups={groups}, fn=\"count\", ngroups=3)"),
                    rows as f64,
                ),
            ),
            6 => ((1, 1), inexact(format!("as.matrix(sd({v}))"), bound)),
            7 => (
                (rows, 3),
                exact(format!("outer({v}, t(seq(1, 3)), \"*\")"), bound * 3.0),
            ),
            8 => (
                (3, 3),
                exact(
                    format!("table({groups}, 1 + (abs(round({v})) %% 3), {v}, 3, 3)"),
                    bound * rows as f64,
                ),
            ),
            _ => (
                (1, 1),
                inexact(format!("as.matrix(interQuartileMean({v}))"), bound),
            ),
        };
        self.assign(name, shape, value.tamed());
    }

    /// Rows or columns that are empty are removed, as many as there are.
    fn without_empty(&mut self, shape: (usize, usize), choices: &mut Choices) {
        let value = self.exact_expression(shape, 2, choices);
        let removed = self.name();
        let by_rows = choices.next(2) == 0;
        let margin = if by_rows { "rows" } else { "cols" };
        let selected = match choices.next(2) {
            0 => String::new(),
            _ => {
                let vector = if by_rows { (shape.0, 1) } else { (1, shape.1) };
                let select = self.exact_expression(vector, 1, choices);
                format!(", select = ({}) > 0", select.text)
            }
        };
        self.line(&format!(
            "{removed} = removeEmpty(target = {}, margin = \"{margin}\"{selected})",
            value.text
        ));
        let total = value.bound * (shape.0 * shape.1) as f64;
        let (aggregate, shape) = match (by_rows, choices.next(2)) {
            (_, 1) => (format!("as.matrix(sum({removed}))"), (1, 1)),
            (true, _) => (format!("colSums({removed})"), (1, shape.1)),
            (false, _) => (format!("rowSums({removed})"), (shape.0, 1)),
        };
        let name = self.name();
        self.assign(
            name,
            shape,
            Expression::exact(aggregate, total, value.places).tamed(),
        );
    }
}
