//! The syntax tree. Every node knows its place in the script.

use fulgurite_error::Position;
use fulgurite_hop::{DataType, Literal, ValueType, ops::precedence};

/// A script: function definitions and imports, taken out of the statements they stand among.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    pub functions: Vec<FunctionDefinition>,
    pub imports: Vec<Import>,
    pub body: Vec<Statement>,
}

/// `source("path") as namespace`.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    pub path: String,
    /// The last `setwd` before it.
    pub folder: Option<String>,
    pub namespace: String,
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FunctionDefinition {
    pub name: String,
    pub parameters: Vec<TypedName>,
    pub results: Vec<TypedName>,
    pub body: FunctionBody,
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FunctionBody {
    Statements(Vec<Statement>),
    /// `implemented in (classname="...", ...)`.
    External(Vec<(String, Literal)>),
}

/// A parameter or a result of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedName {
    pub name: String,
    pub data_type: DataType,
    pub value_type: ValueType,
    pub default: Option<Expression>,
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    /// The target's name, the function's name or the keyword.
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// `target = value`, or `target += value` if `accumulate`.
    Assign {
        target: Target,
        value: Expression,
        accumulate: bool,
    },
    /// `[a, b] = f(...)`.
    MultiAssign {
        targets: Vec<Target>,
        call: Call,
        position: Position,
    },
    /// A call for its effect: `print(x)`.
    Call(Call),
    If {
        predicate: Expression,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    While {
        predicate: Expression,
        body: Vec<Statement>,
    },
    For {
        variable: String,
        range: Box<LoopRange>,
        body: Vec<Statement>,
        parallel: bool,
        /// Options of a `parfor`; a `for` may carry them too.
        options: Vec<LoopOption>,
    },
}

/// `from:to`, or `seq(from, to, increment)`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopRange {
    pub from: Expression,
    pub to: Expression,
    pub increment: Option<Expression>,
    /// Written with `seq`: may run zero times.
    pub is_seq: bool,
}

/// `check=0` in the header of a loop. A bare word (`mode=LOCAL`) is a string.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopOption {
    pub name: String,
    pub value: Expression,
    pub position: Position,
}

/// What an assignment writes: a variable, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub variable: String,
    pub subscripts: Option<Box<Subscripts>>,
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    pub kind: ExpressionKind,
    /// The operator's or the name's token.
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExpressionKind {
    Literal(Literal),
    Variable(String),
    /// `$name`.
    Argument(String),
    /// `ifdef($name, default)`.
    IfDef {
        argument: String,
        default: Box<Expression>,
    },
    Index {
        variable: String,
        subscripts: Subscripts,
    },
    Unary(UnaryOperator, Box<Expression>),
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    Call(Call),
    /// `[a, b]` as an argument.
    List(Vec<Expression>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub namespace: Option<String>,
    pub name: String,
    pub arguments: Vec<Argument>,
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    pub name: Option<String>,
    pub value: Expression,
    pub position: Position,
}

/// `[rows, cols]`; `[rows]` alone means all columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscripts {
    pub rows: Range,
    pub cols: Range,
    /// Written `[[place]]`: an element of a list.
    pub is_element: bool,
    /// The opening bracket.
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    All,
    Single(Box<Expression>),
    Between(Box<Expression>, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOperator {
    Minus,
    Plus,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOperator {
    MatMult,
    /// An operator on cells, as the HOPs know it.
    Cell(fulgurite_hop::BinaryOp),
}

impl UnaryOperator {
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOperator::Minus => "-",
            UnaryOperator::Plus => "+",
            UnaryOperator::Not => "!",
        }
    }

    pub fn precedence(self) -> u8 {
        match self {
            UnaryOperator::Minus | UnaryOperator::Plus => precedence::SIGN,
            UnaryOperator::Not => precedence::NOT,
        }
    }
}

impl BinaryOperator {
    /// `&&` and `||` mean `&` and `|`: expressions have no effects that skipping one could save.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        use fulgurite_hop::BinaryOp;
        match symbol {
            "%*%" => Some(BinaryOperator::MatMult),
            "&&" => Some(BinaryOperator::Cell(BinaryOp::And)),
            "||" => Some(BinaryOperator::Cell(BinaryOp::Or)),
            _ => BinaryOp::ALL
                .iter()
                .find(|op| op.code() == symbol)
                .map(|op| BinaryOperator::Cell(*op)),
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::MatMult => "%*%",
            BinaryOperator::Cell(op) => op.code(),
        }
    }

    pub fn precedence(self) -> u8 {
        match self {
            BinaryOperator::MatMult => precedence::MATRIX_PRODUCT,
            BinaryOperator::Cell(op) => op.precedence(),
        }
    }

    pub fn is_right_associative(self) -> bool {
        self.precedence() == precedence::POWER
    }
}
