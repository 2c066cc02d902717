//! Expressions of a shape, down to variables and what is generated.

use super::{Choices, DIMENSIONS, Expression, Generator};

impl Generator {
    pub(super) fn exact_expression(
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

    pub(super) fn expression(
        &mut self,
        shape: (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        if depth == 0 || choices.is_empty() {
            return self.leaf(shape, false, choices);
        }
        let value = match choices.next(13) {
            0 | 1 => self.unary(shape, depth, choices),
            2..=4 => self.binary(shape, depth, choices),
            5 => self.product(shape, depth, choices),
            6 => self.aggregate(shape, depth, choices),
            7 => self.moved(shape, depth, choices),
            8 => self.parts(shape, depth, choices),
            9 => self.ordered(shape, depth, choices),
            10 => self.scaled(shape, depth, choices),
            11 => self.combination(shape, depth, choices),
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

    fn combination(
        &mut self,
        (rows, cols): (usize, usize),
        depth: usize,
        choices: &mut Choices,
    ) -> Expression {
        let left = self.expression((rows, 1), depth - 1, choices);
        let right = self.expression((1, cols), depth - 1, choices);
        let exact = left.exact && right.exact;
        let (op, bound, places) = match (choices.next(5), exact) {
            (0, _) => ("-", left.bound + right.bound, left.places.max(right.places)),
            (1, _) => ("*", left.bound * right.bound, left.places + right.places),
            (2, true) => ("==", 1.0, 0.0),
            (3, true) => ("<", 1.0, 0.0),
            _ => (
                "max",
                left.bound.max(right.bound),
                left.places.max(right.places),
            ),
        };
        Expression {
            text: format!("outer({}, {}, \"{op}\")", left.text, right.text),
            bound,
            places,
            exact,
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
    pub(super) fn ranged(&mut self, text: &str, range: String) -> String {
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
