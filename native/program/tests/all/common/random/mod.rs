//! Programs from choices. What each value can be at most is known, and of how many binary places it is, so that sums
//! are exact in whatever order, and programs may go by them.

mod expressions;
mod statements;

use std::fmt::Write;

/// A program, and what it leaves.
#[derive(Debug)]
pub struct Program {
    pub text: String,
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
        self.small()
    }

    /// Whole numbers from 0 to 63; what is not exact is scaled.
    fn small(self) -> Self {
        match self.exact {
            true => Expression::exact(format!("(round({}) %% 64)", self.text), 64.0, 0.0),
            false => {
                let scale = self.bound.max(1.0).log2().ceil();
                Expression {
                    text: format!("({} / 2 ^ {scale})", self.text),
                    bound: 1.0,
                    places: 0.0,
                    exact: false,
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
    pub fn of(choices: &[Vec<u16>]) -> Self {
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
}
