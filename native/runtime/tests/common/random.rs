//! Programs from choices. What each value can be at most is known, and of how many binary places it is, so that sums
//! are exact in whatever order, and programs may go by them.

use std::fmt::Write;

/// A program, and what it leaves.
#[derive(Debug)]
pub struct Program {
    pub text: String,
    /// What each input is filled with.
    pub kinds: Vec<usize>,
    pub outputs: Vec<Output>,
}

#[derive(Debug)]
pub struct Output {
    pub name: String,
    /// No cell is larger.
    pub bound: f64,
    /// Cells have the same bits in whatever order they were added up.
    pub exact: bool,
}

/// Rows, and columns, of matrices.
const DIMENSIONS: [usize; 5] = [1, 3, 6, 41, 150];
/// Values of more bits are rounded.
const BITS: f64 = 40.0;

#[derive(Debug, Clone)]
struct Variable {
    name: String,
    rows: usize,
    cols: usize,
    bound: f64,
    /// Binary places after the point.
    places: f64,
    exact: bool,
    read: bool,
}

/// An expression, in parentheses where it needs them.
#[derive(Debug, Clone)]
struct Expression {
    text: String,
    bound: f64,
    places: f64,
    exact: bool,
}

impl Expression {
    fn exact(text: String, bound: f64, places: f64) -> Self {
        Expression {
            text,
            bound,
            places,
            exact: true,
        }
    }

    /// As long as its bits fit.
    fn tamed(self) -> Self {
        if self.bound.max(1.0).log2() + self.places <= BITS {
            return self;
        }
        match self.exact {
            true => Expression {
                text: format!("(round({}) %% 64)", self.text),
                bound: 64.0,
                places: 0.0,
                ..self
            },
            false => {
                let scale = self.bound.max(1.0).log2().ceil();
                Expression {
                    text: format!("({} / 2 ^ {scale})", self.text),
                    bound: 1.0,
                    places: 0.0,
                    ..self
                }
            }
        }
    }
}

struct Choices<'a> {
    of: &'a [u16],
    at: usize,
}

impl Choices<'_> {
    /// One of so many; the first, once there are no more choices.
    fn next(&mut self, of: usize) -> usize {
        let chosen = self.of.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(chosen) % of.max(1)
    }

    fn is_empty(&self) -> bool {
        self.at >= self.of.len()
    }
}

struct Generator {
    functions: String,
    text: String,
    variables: Vec<Variable>,
    made: usize,
    indent: usize,
}

impl Program {
    pub const INPUTS: [(&'static str, usize, usize); 6] = [
        ("X", 150, 6),
        ("S", 150, 41),
        ("Y", 150, 1),
        ("W", 6, 41),
        ("Q", 41, 41),
        ("u", 1, 6),
    ];

    /// Each list of choices makes a statement.
    pub fn of(choices: &[Vec<u16>], kinds: &[usize]) -> Self {
        let variables = Self::INPUTS.iter().map(|(name, rows, cols)| Variable {
            name: (*name).into(),
            rows: *rows,
            cols: *cols,
            bound: 4.0,
            places: 1.0,
            exact: true,
            read: true,
        });
        let mut generator = Generator {
            functions: String::new(),
            text: String::new(),
            variables: variables.collect(),
            made: 0,
            indent: 0,
        };
        for choices in choices {
            generator.statement(&mut Choices { of: choices, at: 0 });
        }
        let outputs = generator.variables.iter().filter(|variable| !variable.read);
        let outputs = outputs.map(|variable| Output {
            name: variable.name.clone(),
            bound: variable.bound,
            exact: variable.exact,
        });
        Program {
            outputs: outputs.collect(),
            kinds: kinds.to_vec(),
            text: generator.functions + &generator.text,
        }
    }
}

impl Generator {
    fn line(&mut self, text: &str) {
        writeln!(self.text, "{:indent$}{text}", "", indent = self.indent * 2).expect("a string");
    }

    fn name(&mut self) -> String {
        self.made += 1;
        format!("v{}", self.made)
    }

    fn assign(&mut self, name: String, (rows, cols): (usize, usize), value: Expression) {
        let Expression {
            text,
            bound,
            places,
            exact,
        } = value;
        self.line(&format!("{name} = {text}"));
        self.variables.push(Variable {
            name,
            rows,
            cols,
            bound,
            places,
            exact,
            read: false,
        });
    }

    fn shape(choices: &mut Choices) -> (usize, usize) {
        // Large ones more often.
        let rows = DIMENSIONS[[0, 1, 2, 3, 4, 4, 4, 4][choices.next(8)]];
        let cols = DIMENSIONS[[0, 0, 1, 2, 2, 3, 3, 4][choices.next(8)]];
        (rows, cols)
    }

    fn statement(&mut self, choices: &mut Choices) {
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
        let start = Self::small(start);
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
        let value = Self::small(value);
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

    /// Whole numbers from 0 to 63; what is not exact is small.
    fn small(value: Expression) -> Expression {
        match value.exact {
            true => Expression::exact(format!("round({}) %% 64", value.text), 64.0, 0.0),
            false => {
                let scale = value.bound.max(1.0).log2().ceil();
                Expression {
                    text: format!("({}) / 2 ^ {scale}", value.text),
                    bound: 1.0,
                    places: 0.0,
                    exact: false,
                }
            }
        }
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
        let start = Self::small(start);
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

    fn exact_expression(
        &mut self,
        shape: (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        let value = self.expression(shape, depth, choices);
        match value.exact {
            true => value,
            false => self.leaf(shape, true, choices),
        }
    }

    fn leaf(
        &mut self,
        (rows, cols): (usize, usize),
        exact: bool,
        choices: &mut Choices,
    ) -> Expression {
        let fitting: Vec<usize> = (0..self.variables.len())
            .filter(|&at| {
                let variable = &self.variables[at];
                (variable.rows, variable.cols) == (rows, cols) && (variable.exact || !exact)
            })
            .collect();
        let chosen = choices.next(4 * fitting.len() + 1) / 4;
        // The last ones are what a chain is made of.
        if let Some(&at) = fitting.iter().rev().nth(chosen) {
            let variable = &mut self.variables[at];
            variable.read = true;
            return Expression {
                text: variable.name.clone(),
                bound: variable.bound,
                places: variable.places,
                exact: variable.exact,
            };
        }
        match choices.next(4) {
            0 => Expression::exact(
                format!("matrix({}, {rows}, {cols})", choices.next(4)),
                4.0,
                0.0,
            ),
            1 if cols == 1 => Expression::exact(format!("seq(1, {rows})"), rows as f64, 0.0),
            2 => Expression::exact(
                format!(
                    "round(rand(rows={rows}, cols={cols}, min=-3, max=3, sparsity=0.2, seed={}))",
                    choices.next(50)
                ),
                4.0,
                0.0,
            ),
            _ => Expression::exact(
                format!(
                    "round(rand(rows={rows}, cols={cols}, min=-3, max=3, seed={}))",
                    choices.next(50)
                ),
                4.0,
                0.0,
            ),
        }
    }

    fn expression(
        &mut self,
        shape: (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        if depth == 0 || choices.is_empty() {
            return self.leaf(shape, false, choices);
        }
        let value = match choices.next(12) {
            0 | 1 => self.unary(shape, depth, choices),
            2..=4 => self.binary(shape, depth, choices),
            5 => self.product(shape, depth, choices),
            6 => self.aggregate(shape, depth, choices),
            7 => self.moved(shape, depth, choices),
            8 => self.parts(shape, depth, choices),
            9 => self.ordered(shape, depth, choices),
            10 => self.scaled(shape, depth, choices),
            _ => self.leaf(shape, false, choices),
        };
        value.tamed()
    }

    fn unary(&mut self, shape: (usize, usize), depth: usize, choices: &mut Choices) -> Expression {
        let of = self.expression(shape, depth - 1, choices);
        let Expression {
            text,
            bound,
            places,
            exact,
        } = of;
        let step = exact.then_some(());
        match (choices.next(14), step) {
            (0, _) => Expression {
                text: format!("abs({text})"),
                bound,
                places,
                exact,
            },
            (1, Some(())) => Expression::exact(format!("sign({text})"), 1.0, 0.0),
            (2, Some(())) => Expression::exact(format!("round({text})"), bound + 1.0, 0.0),
            (3, Some(())) => Expression::exact(format!("({text} != 0)"), 1.0, 0.0),
            (4, Some(())) => Expression::exact(format!("({text} > 1)"), 1.0, 0.0),
            (5, _) => Expression {
                text: format!("(-{text})"),
                bound,
                places,
                exact,
            },
            (6, _) => Expression {
                text: format!("({text} ^ 2)"),
                bound: bound * bound,
                places: 2.0 * places,
                exact,
            },
            (7, _) => Expression {
                text: format!("sqrt(abs({text}))"),
                bound: bound.max(1.0),
                places: 0.0,
                exact: false,
            },
            (8, _) => Expression {
                text: format!("(1 / (1 + exp(-{text} / {})))", bound.max(1.0)),
                bound: 1.0,
                places: 0.0,
                exact: false,
            },
            (9, Some(())) => Expression::exact(format!("floor({text} / 2)"), bound, 0.0),
            (10, Some(())) => Expression::exact(
                format!("replace(target={text}, pattern=0, replacement=2)"),
                bound.max(2.0),
                places,
            ),
            (11, Some(())) => Expression::exact(format!("({text} %% 3)"), 3.0, places),
            (12, _) => Expression {
                text: format!("max({text}, 0)"),
                bound,
                places,
                exact,
            },
            _ => Expression {
                text: format!("({text} * 0.5 + 1)"),
                bound: bound + 1.0,
                places: places + 1.0,
                exact,
            },
        }
    }

    fn binary(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        let left = self.expression((rows, cols), depth - 1, choices);
        let other = match choices.next(5) {
            0 => (rows, 1),
            1 => (1, cols),
            _ => (rows, cols),
        };
        // What is a column beside a row is no pair of operands.
        let other = if rows == 1 || cols == 1 {
            (rows, cols)
        } else {
            other
        };
        let right = self.expression(other, depth - 1, choices);
        let exact = left.exact && right.exact;
        let places = left.places.max(right.places);
        let (l, r) = (&left.text, &right.text);
        let larger = left.bound.max(right.bound);
        match (choices.next(12), exact) {
            (0, _) => Expression {
                text: format!("({l} + {r})"),
                bound: left.bound + right.bound,
                places,
                exact,
            },
            (1, _) => Expression {
                text: format!("({l} - {r})"),
                bound: left.bound + right.bound,
                places,
                exact,
            },
            (2 | 3, _) => Expression {
                text: format!("({l} * {r})"),
                bound: left.bound * right.bound,
                places: left.places + right.places,
                exact,
            },
            (4, _) => Expression {
                text: format!("({l} / (abs({r}) + 1))"),
                bound: left.bound,
                places: 0.0,
                exact: false,
            },
            (5, _) => Expression {
                text: format!("min({l}, {r})"),
                bound: larger,
                places,
                exact,
            },
            (6, _) => Expression {
                text: format!("max({l}, {r})"),
                bound: larger,
                places,
                exact,
            },
            (7, true) => Expression::exact(format!("({l} > {r})"), 1.0, 0.0),
            (8, true) => Expression::exact(format!("({l} == {r})"), 1.0, 0.0),
            (9, true) => {
                Expression::exact(format!("(({l} != 0) * {r})"), right.bound, right.places)
            }
            (10, true) if other == (rows, cols) => {
                Expression::exact(format!("ifelse({l} > 0, {r}, {l})"), larger, places)
            }
            _ => Expression {
                text: format!("({l} + 2 * {r})"),
                bound: left.bound + 2.0 * right.bound,
                places,
                exact,
            },
        }
    }

    fn product(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        let inner = DIMENSIONS[choices.next(5)];
        let (left_transposed, right_transposed) = (choices.next(3) == 0, choices.next(4) == 0);
        let flip = |(rows, cols): (usize, usize), flipped: bool| {
            if flipped { (cols, rows) } else { (rows, cols) }
        };
        let left = self.expression(flip((rows, inner), left_transposed), depth - 1, choices);
        let right = self.expression(flip((inner, cols), right_transposed), depth - 1, choices);
        let t = |text: &str, flipped: bool| {
            if flipped {
                format!("t({text})")
            } else {
                text.to_string()
            }
        };
        Expression {
            text: format!(
                "({} %*% {})",
                t(&left.text, left_transposed),
                t(&right.text, right_transposed)
            ),
            bound: left.bound * right.bound * inner as f64,
            places: left.places + right.places,
            exact: left.exact && right.exact,
        }
    }

    fn aggregate(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        let along = DIMENSIONS[choices.next(5)];
        let (of, name) = match (rows, cols) {
            (1, 1) => ((DIMENSIONS[choices.next(5)], along), ""),
            (_, 1) => ((rows, along), "row"),
            (1, _) => ((along, cols), "col"),
            _ => return self.binary((rows, cols), depth, choices),
        };
        let value = self.expression(of, depth - 1, choices);
        let (count, text) = ((of.0 * of.1) as f64, &value.text);
        let call = |function: &str| match name {
            "" => format!("as.matrix({}({text}))", function.to_lowercase()),
            _ => format!("{name}{function}s({text})"),
        };
        let Expression {
            bound,
            places,
            exact,
            ..
        } = value;
        match choices.next(6) {
            0 | 1 => Expression {
                text: call("Sum"),
                bound: bound * count,
                places,
                exact,
            },
            2 => Expression {
                text: call("Min"),
                bound,
                places,
                exact,
            },
            3 => Expression {
                text: call("Max"),
                bound,
                places,
                exact,
            },
            4 if name == "row" && exact => {
                Expression::exact(format!("rowIndexMax({text})"), of.1 as f64, 0.0)
            }
            _ => Expression {
                text: call("Mean"),
                bound,
                places: 0.0,
                exact: false,
            },
        }
    }

    fn moved(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        match choices.next(6) {
            0 | 1 => {
                let of = self.expression((cols, rows), depth - 1, choices);
                Expression {
                    text: format!("t({})", of.text),
                    ..of
                }
            }
            2 => {
                let of = self.expression((rows, cols), depth - 1, choices);
                Expression {
                    text: format!("rev({})", of.text),
                    ..of
                }
            }
            3 if cols == 1 => {
                let of = self.expression((rows, rows), depth - 1, choices);
                Expression {
                    text: format!("diag({})", of.text),
                    ..of
                }
            }
            3 if rows == cols => {
                let of = self.expression((rows, 1), depth - 1, choices);
                Expression {
                    text: format!("diag({})", of.text),
                    ..of
                }
            }
            4 => {
                let of = self.expression((cols, rows), depth - 1, choices);
                let by_row = ["", ", byrow=FALSE"][choices.next(2)];
                Expression {
                    text: format!("matrix({}, rows={rows}, cols={cols}{by_row})", of.text),
                    ..of
                }
            }
            _ => {
                let of = self.expression((rows, cols), depth - 1, choices);
                let (name, bound) = match choices.next(3) {
                    0 => ("cumsum", of.bound * rows as f64),
                    1 => ("cummax", of.bound),
                    _ => ("cummin", of.bound),
                };
                Expression {
                    text: format!("{name}({})", of.text),
                    bound,
                    ..of
                }
            }
        }
    }

    /// Ranges, and what is put together of them.
    fn parts(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        match choices.next(4) {
            0 if cols > 1 => {
                let left = self.expression((rows, 1), depth - 1, choices);
                let right = self.columns((rows, cols - 1), depth - 1, choices);
                let both = [&left, &right].map(|part| part.text.as_str());
                Self::joined(&format!("cbind({}, {})", both[0], both[1]), &left, &right)
            }
            1 if rows > 1 => {
                let upper = self.rows_of((rows - 1, cols), depth - 1, choices);
                let lower = self.expression((1, cols), depth - 1, choices);
                Self::joined(
                    &format!("rbind({}, {})", upper.text, lower.text),
                    &upper,
                    &lower,
                )
            }
            2 => self.columns((rows, cols), depth - 1, choices),
            _ => self.rows_of((rows, cols), depth - 1, choices),
        }
    }

    fn joined(text: &str, one: &Expression, other: &Expression) -> Expression {
        Expression {
            text: text.into(),
            bound: one.bound.max(other.bound),
            places: one.places.max(other.places),
            exact: one.exact && other.exact,
        }
    }

    /// So many columns of a matrix that has at least as many.
    fn columns(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        let enough: Vec<usize> = DIMENSIONS.into_iter().filter(|all| *all >= cols).collect();
        let all = enough[choices.next(enough.len())];
        let of = self.expression((rows, all), depth, choices);
        let from = choices.next(all - cols + 1);
        Expression {
            text: self.ranged(&of.text, format!(", {}:{}", from + 1, from + cols)),
            ..of
        }
    }

    fn rows_of(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        let enough: Vec<usize> = DIMENSIONS.into_iter().filter(|all| *all >= rows).collect();
        let all = enough[choices.next(enough.len())];
        let of = self.expression((all, cols), depth, choices);
        let from = choices.next(all - rows + 1);
        Expression {
            text: self.ranged(&of.text, format!("{}:{}, ", from + 1, from + rows)),
            ..of
        }
    }

    /// Only what has a name is indexed.
    fn ranged(&mut self, text: &str, range: String) -> String {
        if text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return format!("{text}[{range}]");
        }
        let name = self.name();
        self.line(&format!("{name} = {text}"));
        format!("{name}[{range}]")
    }

    fn ordered(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        let of = self.expression((rows, cols), depth - 1, choices);
        if !of.exact {
            return of;
        }
        let text = &of.text;
        let by = 1 + choices.next(cols);
        let decreasing = ["FALSE", "TRUE"][choices.next(2)];
        match choices.next(4) {
            0 if cols == 1 => Expression::exact(
                format!("order(target={text}, by=1, decreasing={decreasing}, index.return=TRUE)"),
                rows as f64,
                0.0,
            ),
            1 if cols == 1 && rows > 1 => {
                let height = rows;
                Expression::exact(
                    format!(
                        "rowSums(table(seq(1, {height}), 1 + ({text} %% 1 == 0) + ({text} > 0), {height}, 3))"
                    ),
                    1.0,
                    0.0,
                )
            }
            2 if rows == 3 && cols == 1 => {
                let groups = self.exact_expression((150, 1), depth - 1, choices);
                Expression::exact(
                    format!(
                        "(table(1 + (round({}) %% 3), seq(1, 150), 3, 150) %*% matrix(1, 150, 1))",
                        groups.text
                    ),
                    150.0,
                    0.0,
                )
            }
            _ => Expression {
                text: format!("order(target={text}, by={by}, decreasing={decreasing})"),
                ..of
            },
        }
    }

    /// With a scalar of some matrix.
    fn scaled(&mut self, shape: (usize, usize), depth: usize, choices: &mut Choices) -> Expression {
        let of = self.expression(shape, depth - 1, choices);
        let other = Self::shape(choices);
        let by = self.exact_expression(other, depth - 1, choices);
        match choices.next(2) {
            0 => Expression {
                text: format!("({} * (sum({}) %% 5))", of.text, by.text),
                bound: of.bound * 5.0,
                places: of.places + by.places,
                ..of
            },
            _ => Expression {
                text: format!("({} + min({}))", of.text, by.text),
                bound: of.bound + by.bound,
                places: of.places.max(by.places),
                ..of
            },
        }
    }
}
