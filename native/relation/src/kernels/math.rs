//! Elementary functions of floating-point numbers, and rounding.

use std::sync::Arc;

use arrow::array::ArrayRef;
use fulgurite_error::Result;

use super::{Invocation, arithmetic::floats};

macro_rules! elementary {
    ($($name:ident: $function:ident;)*) => {$(
        pub fn $name(call: &Invocation<'_>) -> Result<ArrayRef> {
            floats(call, f32::$function, f64::$function)
        }
    )*};
}

elementary! {
    sqrt: sqrt;
    exp: exp;
    log1p: ln_1p;
    expm1: exp_m1;
    log2: log2;
    log10: log10;
    sin: sin;
    cos: cos;
    tan: tan;
    arcsin: asin;
    arccos: acos;
    arctan: atan;
    sinh: sinh;
    cosh: cosh;
    tanh: tanh;
}

/// To the base `options.base`, or the natural logarithm.
pub fn log(call: &Invocation<'_>) -> Result<ArrayRef> {
    match call.options.base {
        None => floats(call, f32::ln, f64::ln),
        Some(base) => floats(call, |x| f64::from(x).log(base) as f32, |x| x.log(base)),
    }
}

/// Integers stay as they are.
pub fn floor(call: &Invocation<'_>) -> Result<ArrayRef> {
    match call.to.is_floating() {
        true => floats(call, f32::floor, f64::floor),
        false => Ok(Arc::clone(&call.arg(0)?.array)),
    }
}

pub fn ceil(call: &Invocation<'_>) -> Result<ArrayRef> {
    match call.to.is_floating() {
        true => floats(call, f32::ceil, f64::ceil),
        false => Ok(Arc::clone(&call.arg(0)?.array)),
    }
}

/// To so many decimals, halves to the even neighbour.
pub fn round(call: &Invocation<'_>) -> Result<ArrayRef> {
    if !call.to.is_floating() {
        return Ok(Arc::clone(&call.arg(0)?.array));
    }
    let decimals = call.options.decimals.unwrap_or(0);
    if decimals == 0 {
        return floats(call, f32::round_ties_even, f64::round_ties_even);
    }
    let scale = 10f64.powi(decimals);
    let round = |x: f64| {
        let rounded = (x * scale).round_ties_even() / scale;
        // Numbers whose product is too large have no such decimals.
        if rounded.is_finite() { rounded } else { x }
    };
    floats(call, |x| round(f64::from(x)) as f32, round)
}
