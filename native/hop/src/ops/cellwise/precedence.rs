//! How tightly symbols of the language bind; greater is tighter. Levels are those of the language reference.

pub const OR: u8 = 1;
pub const AND: u8 = 2;
pub const NOT: u8 = 3;
pub const RELATIONAL: u8 = 4;
pub const ADDITIVE: u8 = 5;
pub const MULTIPLICATIVE: u8 = 6;
pub const INTEGER_DIVISION: u8 = 7;
pub const MATRIX_PRODUCT: u8 = 8;
pub const SIGN: u8 = 9;
pub const POWER: u8 = 10;
/// Names, literals, calls, parentheses.
pub const PRIMARY: u8 = 11;
