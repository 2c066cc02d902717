//! The functions, declared once: name, arguments, the rule of their types, and kernel.

use crate::kernels::{Kernel, arithmetic, choice, compare, dates, logic, math, text};

/// How arguments become of the types that a kernel takes, and what type its result has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Two numbers (or a number and a boolean) of their common type, which is that of the result. Texts where `texts` says so.
    Arithmetic { texts: bool },
    /// Two numbers as floating-point ones.
    Quotient,
    /// A base and an exponent.
    Power,
    /// A number; signed where `signed` says so. The result has its type.
    Number { signed: bool },
    /// A number as a floating-point one; trigonometry takes no booleans.
    Real { booleans: bool },
    /// Two values of their common type, the result is boolean.
    Comparison,
    /// Booleans.
    Logic,
    /// Any value, the result is boolean.
    Question,
    /// A number, the result is boolean.
    RealQuestion,
    /// A condition and two values of their common type.
    Choice,
    /// Values of their common type.
    Common,
    /// A number and what to put for NaN.
    Nan,
    /// A value and options.values, the result is boolean.
    Membership,
    /// A value that has an order and two bounds, which get its type.
    Clip,
    /// Text, the result is text as well, coded where the argument is.
    Text,
    /// Text, the result is boolean.
    TextQuestion,
    /// Text, the result is a number of the type `UInt32`.
    TextNumber,
    /// Values that are cast to text, the result is text.
    Concat,
    /// A date or moment, the result is of the type `Int32`.
    Year,
    /// A date or moment, the result is of the type `Int8`.
    DatePart,
    /// A moment, the result is of the type `Int8`.
    TimePart,
}

/// What there is to know about a function.
#[derive(Clone, Copy)]
pub struct Declaration {
    pub name: &'static str,
    /// The least and the greatest number of arguments.
    pub args: (usize, usize),
    /// The options that must be there.
    pub options: &'static [&'static str],
    pub rule: Rule,
    pub kernel: Kernel,
}

macro_rules! functions {
    ($($function:ident: $name:literal, $args:expr, $options:expr, $rule:expr, $kernel:expr;)*) => {
        /// A function of values in the same row.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Function {
            $($function,)*
        }

        impl Function {
            pub const ALL: &[Function] = &[$(Function::$function,)*];

            pub fn declaration(self) -> Declaration {
                match self {
                    $(Function::$function => Declaration {
                        name: $name,
                        args: $args,
                        options: $options,
                        rule: $rule,
                        kernel: $kernel,
                    },)*
                }
            }
        }
    };
}

/// Any number of arguments, and at least one.
const SOME: (usize, usize) = (1, usize::MAX);

functions! {
    Add: "add", (2, 2), &[], Rule::Arithmetic { texts: true }, arithmetic::add;
    Sub: "sub", (2, 2), &[], Rule::Arithmetic { texts: false }, arithmetic::sub;
    Mul: "mul", (2, 2), &[], Rule::Arithmetic { texts: false }, arithmetic::mul;
    Div: "div", (2, 2), &[], Rule::Quotient, arithmetic::div;
    FloorDiv: "floordiv", (2, 2), &[], Rule::Arithmetic { texts: false }, arithmetic::floor_div;
    Mod: "mod", (2, 2), &[], Rule::Arithmetic { texts: false }, arithmetic::modulo;
    Fmod: "fmod", (2, 2), &[], Rule::Arithmetic { texts: false }, arithmetic::remainder;
    Pow: "pow", (2, 2), &[], Rule::Power, arithmetic::pow;
    Neg: "neg", (1, 1), &[], Rule::Number { signed: true }, arithmetic::neg;
    Abs: "abs", (1, 1), &[], Rule::Number { signed: false }, arithmetic::abs;

    Eq: "eq", (2, 2), &[], Rule::Comparison, compare::eq;
    Ne: "ne", (2, 2), &[], Rule::Comparison, compare::ne;
    Lt: "lt", (2, 2), &[], Rule::Comparison, compare::lt;
    Le: "le", (2, 2), &[], Rule::Comparison, compare::le;
    Gt: "gt", (2, 2), &[], Rule::Comparison, compare::gt;
    Ge: "ge", (2, 2), &[], Rule::Comparison, compare::ge;
    EqMissing: "eq_missing", (2, 2), &[], Rule::Comparison, compare::eq_missing;
    NeMissing: "ne_missing", (2, 2), &[], Rule::Comparison, compare::ne_missing;

    And: "and", (2, 2), &[], Rule::Logic, logic::and;
    Or: "or", (2, 2), &[], Rule::Logic, logic::or;
    Xor: "xor", (2, 2), &[], Rule::Logic, logic::xor;
    Not: "not", (1, 1), &[], Rule::Logic, logic::not;
    IfElse: "if_else", (3, 3), &[], Rule::Choice, choice::if_else;
    IsNull: "is_null", (1, 1), &[], Rule::Question, logic::is_null;
    IsNotNull: "is_not_null", (1, 1), &[], Rule::Question, logic::is_not_null;
    IsNan: "is_nan", (1, 1), &[], Rule::RealQuestion, logic::is_nan;
    IsNotNan: "is_not_nan", (1, 1), &[], Rule::RealQuestion, logic::is_not_nan;
    IsFinite: "is_finite", (1, 1), &[], Rule::RealQuestion, logic::is_finite;
    IsInfinite: "is_infinite", (1, 1), &[], Rule::RealQuestion, logic::is_infinite;
    FillNull: "fill_null", (2, 2), &[], Rule::Common, choice::coalesce;
    FillNan: "fill_nan", (2, 2), &[], Rule::Nan, choice::fill_nan;
    Coalesce: "coalesce", SOME, &[], Rule::Common, choice::coalesce;
    IsIn: "is_in", (1, 1), &["values"], Rule::Membership, logic::is_in;
    MinHorizontal: "min_horizontal", SOME, &[], Rule::Common, choice::min_horizontal;
    MaxHorizontal: "max_horizontal", SOME, &[], Rule::Common, choice::max_horizontal;

    Sqrt: "sqrt", (1, 1), &[], Rule::Real { booleans: true }, math::sqrt;
    Exp: "exp", (1, 1), &[], Rule::Real { booleans: true }, math::exp;
    Log: "log", (1, 1), &[], Rule::Real { booleans: true }, math::log;
    Log1p: "log1p", (1, 1), &[], Rule::Real { booleans: true }, math::log1p;
    Expm1: "expm1", (1, 1), &[], Rule::Real { booleans: true }, math::expm1;
    Log2: "log2", (1, 1), &[], Rule::Real { booleans: true }, math::log2;
    Log10: "log10", (1, 1), &[], Rule::Real { booleans: true }, math::log10;
    Sin: "sin", (1, 1), &[], Rule::Real { booleans: false }, math::sin;
    Cos: "cos", (1, 1), &[], Rule::Real { booleans: false }, math::cos;
    Tan: "tan", (1, 1), &[], Rule::Real { booleans: false }, math::tan;
    Arcsin: "arcsin", (1, 1), &[], Rule::Real { booleans: false }, math::arcsin;
    Arccos: "arccos", (1, 1), &[], Rule::Real { booleans: false }, math::arccos;
    Arctan: "arctan", (1, 1), &[], Rule::Real { booleans: false }, math::arctan;
    Sinh: "sinh", (1, 1), &[], Rule::Real { booleans: false }, math::sinh;
    Cosh: "cosh", (1, 1), &[], Rule::Real { booleans: false }, math::cosh;
    Tanh: "tanh", (1, 1), &[], Rule::Real { booleans: false }, math::tanh;
    Sign: "sign", (1, 1), &[], Rule::Number { signed: false }, arithmetic::sign;
    Floor: "floor", (1, 1), &[], Rule::Number { signed: false }, math::floor;
    Ceil: "ceil", (1, 1), &[], Rule::Number { signed: false }, math::ceil;
    Round: "round", (1, 1), &[], Rule::Number { signed: false }, math::round;
    Clip: "clip", (3, 3), &[], Rule::Clip, arithmetic::clip;

    StrLenChars: "str.len_chars", (1, 1), &[], Rule::TextNumber, text::len_chars;
    StrLenBytes: "str.len_bytes", (1, 1), &[], Rule::TextNumber, text::len_bytes;
    StrContains: "str.contains", (1, 1), &["pattern"], Rule::TextQuestion, text::contains;
    StrStartsWith: "str.starts_with", (1, 1), &["prefix"], Rule::TextQuestion, text::starts_with;
    StrEndsWith: "str.ends_with", (1, 1), &["suffix"], Rule::TextQuestion, text::ends_with;
    StrToLowercase: "str.to_lowercase", (1, 1), &[], Rule::Text, text::to_lowercase;
    StrToUppercase: "str.to_uppercase", (1, 1), &[], Rule::Text, text::to_uppercase;
    StrSlice: "str.slice", (1, 1), &["offset"], Rule::Text, text::slice;
    StrStripChars: "str.strip_chars", (1, 1), &[], Rule::Text, text::strip_chars;
    StrStripCharsStart: "str.strip_chars_start", (1, 1), &[], Rule::Text, text::strip_chars_start;
    StrStripCharsEnd: "str.strip_chars_end", (1, 1), &[], Rule::Text, text::strip_chars_end;
    StrReplace: "str.replace", (1, 1), &["pattern", "value"], Rule::Text, text::replace;
    StrReplaceAll: "str.replace_all", (1, 1), &["pattern", "value"], Rule::Text, text::replace_all;
    StrExtract: "str.extract", (1, 1), &["pattern"], Rule::Text, text::extract;
    StrConcat: "str.concat", SOME, &[], Rule::Concat, text::concat;
    StrHead: "str.head", (1, 1), &["n"], Rule::Text, text::head;
    StrTail: "str.tail", (1, 1), &["n"], Rule::Text, text::tail;
    StrFind: "str.find", (1, 1), &["pattern"], Rule::TextNumber, text::find;
    StrZfill: "str.zfill", (1, 1), &["length"], Rule::Text, text::zfill;
    StrCountMatches: "str.count_matches", (1, 1), &["pattern"], Rule::TextNumber, text::count_matches;

    DtYear: "dt.year", (1, 1), &[], Rule::Year, dates::year;
    DtMonth: "dt.month", (1, 1), &[], Rule::DatePart, dates::month;
    DtDay: "dt.day", (1, 1), &[], Rule::DatePart, dates::day;
    DtWeekday: "dt.weekday", (1, 1), &[], Rule::DatePart, dates::weekday;
    DtHour: "dt.hour", (1, 1), &[], Rule::TimePart, dates::hour;
    DtMinute: "dt.minute", (1, 1), &[], Rule::TimePart, dates::minute;
    DtSecond: "dt.second", (1, 1), &[], Rule::TimePart, dates::second;
}

impl Function {
    /// The function of this name.
    pub fn named(name: &str) -> Option<Function> {
        Function::ALL
            .iter()
            .copied()
            .find(|function| function.name() == name)
    }

    pub fn name(self) -> &'static str {
        self.declaration().name
    }
}
