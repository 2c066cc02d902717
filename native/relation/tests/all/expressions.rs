//! Each function with special values, as Polars 2.1 has it.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array, Int8Array, Int32Array, UInt8Array, UInt64Array};
use serde_json::json;

use crate::tables::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn whole_numbers_wrap_and_divide_to_the_floor() {
    let numbers = table(&[
        ("a", integers(&[7, -7, 7, -7, 5, i64::MIN].map(Some))),
        ("b", integers(&[2, 2, -2, -2, 0, -1].map(Some))),
    ]);
    let ab = [col("a"), col("b")];
    check(
        call("floordiv", &ab),
        &numbers,
        "Int64 3 -4 -4 3 null -9223372036854775808",
    );
    check(call("mod", &ab), &numbers, "Int64 1 1 -1 -1 null 0");
    check(
        call("div", &ab),
        &numbers,
        "Float64 3.5 -3.5 -3.5 3.5 inf 9.223372036854776e18",
    );
    check(
        call("neg", &[col("a")]),
        &numbers,
        "Int64 -7 7 -7 7 -5 -9223372036854775808",
    );
    check(
        call("abs", &[col("a")]),
        &numbers,
        "Int64 7 7 7 7 5 -9223372036854775808",
    );
    check(
        call("pow", &[col("a"), int(2)]),
        &numbers,
        "Int64 49 49 49 49 25 0",
    );
    check(
        call("mod", &[col("a"), int(0)]),
        &numbers,
        "Int64 null null null null null null",
    );
    check(
        call("sub", &[col("a"), int(1)]),
        &numbers,
        "Int64 6 -8 6 -8 4 9223372036854775807",
    );
    check(call("add", &[int(1), int(2)]), &numbers, "Int32 3");
    check(call("div", &[int(1), int(2)]), &numbers, "Float64 0.5");
}

#[test]
fn literals_take_the_type_of_columns() {
    let small: ArrayRef = Arc::new(Int8Array::from(vec![Some(1), None]));
    let single: ArrayRef = Arc::new(Float32Array::from(vec![Some(0.5), None]));
    let byte: ArrayRef = Arc::new(UInt8Array::from(vec![1, 200]));
    let both = table(&[("i", small), ("f", single), ("u", byte)]);
    check(call("add", &[col("i"), int(1)]), &both, "Int8 2 null");
    check(call("add", &[col("i"), int(300)]), &both, "Int16 301 null");
    check(
        call("add", &[col("i"), float(1.5)]),
        &both,
        "Float64 2.5 null",
    );
    check(
        call("mul", &[col("f"), float(2.5)]),
        &both,
        "Float32 1.25 null",
    );
    check(
        call("add", &[col("i"), col("f")]),
        &both,
        "Float32 1.5 null",
    );
    check(call("sub", &[int(1), col("u")]), &both, "UInt8 0 57");
    check(
        call("lt", &[col("i"), int(300)]),
        &both,
        "Boolean true null",
    );
    check(
        call("fill_null", &[col("i"), int(300)]),
        &both,
        "Int16 1 300",
    );
    check(
        call("fill_null", &[col("i"), float(1.5)]),
        &both,
        "Float64 1.0 1.5",
    );
    check(call("add", &[col("i"), none()]), &both, "Int8 null null");
}

#[test]
fn floating_point_numbers_divide_as_polars_has_it() {
    let values = [7.5, -7.5, 7.5, 5.0, 0.0, NAN, INF, 1.0, -0.0].map(Some);
    let by = [2.0, 2.0, -2.0, 0.0, 0.0, 1.0, 2.0, INF, 1.0].map(Some);
    let numbers = table(&[("a", floats(&values)), ("b", floats(&by))]);
    let ab = [col("a"), col("b")];
    check(
        call("floordiv", &ab),
        &numbers,
        "Float64 3.0 -4.0 -4.0 inf NaN NaN inf 0.0 -0.0",
    );
    check(
        call("mod", &ab),
        &numbers,
        "Float64 1.5 0.5 -0.5 NaN NaN NaN NaN NaN 0.0",
    );
    check(
        call("sign", &[col("a")]),
        &numbers,
        "Float64 1.0 -1.0 1.0 1.0 0.0 NaN 1.0 1.0 -0.0",
    );
}

#[test]
fn nan_is_equal_to_nan_and_greater_than_all() {
    let left = [Some(NAN), Some(NAN), Some(1.0), Some(-0.0), None, None];
    let right = [Some(NAN), Some(1.0), Some(NAN), Some(0.0), Some(1.0), None];
    let numbers = table(&[("a", floats(&left)), ("b", floats(&right))]);
    for (name, expected) in [
        ("eq", "true false false true null null"),
        ("ne", "false true true false null null"),
        ("lt", "false false true false null null"),
        ("le", "true false true true null null"),
        ("gt", "false true false false null null"),
        ("ge", "true true false true null null"),
        ("eq_missing", "true false false true false true"),
        ("ne_missing", "false true true false true false"),
    ] {
        check(
            call(name, &[col("a"), col("b")]),
            &numbers,
            &format!("Boolean {expected}"),
        );
    }
    check(
        call("min_horizontal", &[col("a"), col("b")]),
        &numbers,
        "Float64 NaN 1.0 1.0 -0.0 1.0 null",
    );
    check(
        call("max_horizontal", &[col("a"), col("b")]),
        &numbers,
        "Float64 NaN 1.0 1.0 -0.0 1.0 null",
    );
}

#[test]
fn wide_integers_are_compared_exactly() {
    let wide: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 1]));
    let numbers = table(&[("a", integers(&[Some(-1), Some(1)])), ("b", wide)]);
    check(
        call("eq", &[col("a"), col("b")]),
        &numbers,
        "Boolean false true",
    );
    check(
        call("lt", &[col("a"), col("b")]),
        &numbers,
        "Boolean true false",
    );
    check(
        call("gt", &[col("b"), int(-1)]),
        &numbers,
        "Boolean true true",
    );
}

#[test]
fn truth_has_three_values() {
    let values = [Some(true), Some(false), None];
    let left: Vec<_> = values.iter().flat_map(|value| [*value; 3]).collect();
    let right: Vec<_> = values.iter().cycle().take(9).copied().collect();
    let both = table(&[("a", booleans(&left)), ("b", booleans(&right))]);
    let ab = [col("a"), col("b")];
    for (name, expected) in [
        ("and", "true false null false false false null false null"),
        ("or", "true true true true false null true null null"),
        ("xor", "false true null true false null null null null"),
    ] {
        check(call(name, &ab), &both, &format!("Boolean {expected}"));
    }
    check(
        call("and", &[col("a"), none()]),
        &both,
        "Boolean null null null false false false null null null",
    );
    check(
        call("if_else", &[col("b"), int(1), float(2.5)]),
        &both,
        "Float64 1.0 2.5 2.5 1.0 2.5 2.5 1.0 2.5 2.5",
    );
    check(
        call("if_else", &[col("b"), int(2), none()]),
        &both,
        "Int32 2 null null 2 null null 2 null null",
    );
    check(
        call("not", &[col("b")]),
        &both,
        "Boolean false true null false true null false true null",
    );
}

#[test]
fn questions_about_values() {
    let numbers = table(&[
        ("a", floats(&[Some(NAN), Some(-0.0), None, Some(INF)])),
        ("i", integers(&[Some(1), Some(2), None, Some(4)])),
        ("t", texts(&[Some("a"), None, Some("b"), Some("")])),
    ]);
    check(
        call("is_null", &[col("a")]),
        &numbers,
        "Boolean false false true false",
    );
    check(
        call("is_not_null", &[col("t")]),
        &numbers,
        "Boolean true false true true",
    );
    check(
        call("is_nan", &[col("a")]),
        &numbers,
        "Boolean true false null false",
    );
    check(
        call("is_finite", &[col("i")]),
        &numbers,
        "Boolean true true null true",
    );
    check(
        call("fill_nan", &[col("a"), int(0)]),
        &numbers,
        "Float64 0.0 -0.0 null inf",
    );
    check(
        call("fill_nan", &[col("a"), none()]),
        &numbers,
        "Float64 null -0.0 null inf",
    );
    check(
        call("coalesce", &[col("a"), col("i"), int(7)]),
        &numbers,
        "Float64 NaN -0.0 7.0 inf",
    );
    let values = |values: serde_json::Value| json!({"values": values});
    check(
        with("is_in", &[col("i")], values(json!([int(1), int(300)]))),
        &numbers,
        "Boolean true false null false",
    );
    check(
        with(
            "is_in",
            &[col("a")],
            values(json!([{"lit": "NaN", "type": "float"}, float(0.0)])),
        ),
        &numbers,
        "Boolean true true null false",
    );
    check(
        with(
            "is_in",
            &[col("t")],
            json!({"values": [text("b"), none()], "nulls_equal": true}),
        ),
        &numbers,
        "Boolean false true true false",
    );
    check(
        with("is_in", &[col("i")], values(json!([]))),
        &numbers,
        "Boolean false false null false",
    );
    check(
        call("clip", &[col("i"), none(), float(1.5)]),
        &numbers,
        "Int64 1 1 null 1",
    );
    check(
        call("clip", &[col("i"), int(6), int(2)]),
        &numbers,
        "Int64 6 6 null 6",
    );
    check(
        call("clip", &[col("a"), int(-1), int(2)]),
        &numbers,
        "Float64 NaN -0.0 null 2.0",
    );
}

#[test]
fn rounding_goes_to_the_even_neighbour() {
    let values = [0.5, 1.5, 2.5, -0.5, 2.675, 1.005, 1e300, NAN, -2.345].map(Some);
    let numbers = table(&[("a", floats(&values))]);
    check(
        with("round", &[col("a")], json!({"decimals": 0})),
        &numbers,
        "Float64 0.0 2.0 2.0 -0.0 3.0 1.0 1e300 NaN -2.0",
    );
    check(
        with("round", &[col("a")], json!({"decimals": 2})),
        &numbers,
        "Float64 0.5 1.5 2.5 -0.5 2.68 1.0 1e300 NaN -2.35",
    );
    let whole: ArrayRef = Arc::new(Int32Array::from(vec![4, -1, 0]));
    let whole = table(&[("a", whole)]);
    check(call("floor", &[col("a")]), &whole, "Int32 4 -1 0");
    check(call("sqrt", &[col("a")]), &whole, "Float64 2.0 NaN 0.0");
    check(
        call("log1p", &[col("a")]),
        &whole,
        "Float64 1.6094379124341003 -inf 0.0",
    );
    check(
        with("log", &[col("a")], json!({"base": 2})),
        &whole,
        "Float64 2.0 NaN -inf",
    );
}

/// Coded and plain text have the same results.
#[track_caller]
fn check_texts(name: &str, options: serde_json::Value, kind: &str, expected: &str) {
    let values = [
        Some("héllo wörld"),
        Some(""),
        None,
        Some("  ab\t"),
        Some("日本語"),
        Some("-12"),
        Some("+7"),
        Some("aXbXc"),
        Some("aXbXc"),
    ];
    let arg = [col("t")];
    for column in [texts(&values), coded(&values)] {
        // Also of a slice.
        let longer: Vec<Option<&str>> = [Some("front")].into_iter().chain(values).collect();
        let sliced = match column.data_type() {
            arrow::datatypes::DataType::Utf8 => texts(&longer),
            _ => coded(&longer),
        };
        let is_coded = column.data_type() != &arrow::datatypes::DataType::Utf8;
        let kind = if kind == "Utf8" && is_coded {
            "Coded"
        } else {
            kind
        };
        let expected: String = expected.split('|').map(|cell| format!(" {cell}")).collect();
        for column in [column, sliced.slice(1, values.len())] {
            let texts = table(&[("t", column)]);
            check(
                with(name, &arg, options.clone()),
                &texts,
                &format!("{kind}{expected}"),
            );
        }
    }
}

#[test]
fn functions_of_text() {
    let empty = || json!({});
    check_texts("str.len_chars", empty(), "UInt32", "11|0|null|5|3|3|2|5|5");
    check_texts("str.len_bytes", empty(), "UInt32", "13|0|null|5|9|3|2|5|5");
    let pattern = |pattern: &str, literal: bool| json!({"pattern": pattern, "literal": literal});
    check_texts(
        "str.contains",
        pattern("l+", false),
        "Boolean",
        "true|false|null|false|false|false|false|false|false",
    );
    check_texts(
        "str.contains",
        pattern("+", true),
        "Boolean",
        "false|false|null|false|false|false|true|false|false",
    );
    check_texts(
        "str.starts_with",
        json!({"prefix": "h"}),
        "Boolean",
        "true|false|null|false|false|false|false|false|false",
    );
    check_texts(
        "str.ends_with",
        json!({"suffix": "c"}),
        "Boolean",
        "false|false|null|false|false|false|false|true|true",
    );
    check_texts(
        "str.to_uppercase",
        empty(),
        "Utf8",
        "HÉLLO WÖRLD||null|  AB\t|日本語|-12|+7|AXBXC|AXBXC",
    );
    let slice = |offset: i64, length: Option<i64>| json!({"offset": offset, "length": length});
    check_texts(
        "str.slice",
        slice(-3, Some(2)),
        "Utf8",
        "rl||null|ab|日本|-1|+|bX|bX",
    );
    check_texts("str.slice", slice(-100, Some(2)), "Utf8", "||null||||||");
    check_texts(
        "str.slice",
        slice(1, None),
        "Utf8",
        "éllo wörld||null| ab\t|本語|12|7|XbXc|XbXc",
    );
    check_texts(
        "str.strip_chars",
        empty(),
        "Utf8",
        "héllo wörld||null|ab|日本語|-12|+7|aXbXc|aXbXc",
    );
    check_texts(
        "str.strip_chars",
        json!({"characters": "hc d"}),
        "Utf8",
        "éllo wörl||null|ab\t|日本語|-12|+7|aXbX|aXbX",
    );
    check_texts(
        "str.replace",
        json!({"pattern": "X", "value": "$0-"}),
        "Utf8",
        "héllo wörld||null|  ab\t|日本語|-12|+7|aX-bXc|aX-bXc",
    );
    check_texts(
        "str.replace_all",
        json!({"pattern": "(X)", "value": "[$1]"}),
        "Utf8",
        "héllo wörld||null|  ab\t|日本語|-12|+7|a[X]b[X]c|a[X]b[X]c",
    );
    check_texts(
        "str.replace_all",
        json!({"pattern": "X", "value": "$0", "literal": true}),
        "Utf8",
        "héllo wörld||null|  ab\t|日本語|-12|+7|a$0b$0c|a$0b$0c",
    );
    check_texts(
        "str.extract",
        json!({"pattern": r"(\w)(\w)", "group": 2}),
        "Utf8",
        "é|null|null|b|本|2|null|X|X",
    );
    check_texts(
        "str.head",
        json!({"n": -2}),
        "Utf8",
        "héllo wör||null|  a|日|-||aXb|aXb",
    );
    check_texts(
        "str.tail",
        json!({"n": -2}),
        "Utf8",
        "llo wörld||null|ab\t|語|2||bXc|bXc",
    );
    check_texts(
        "str.tail",
        json!({"n": 2}),
        "Utf8",
        "ld||null|b\t|本語|12|+7|Xc|Xc",
    );
    check_texts(
        "str.find",
        pattern("l", false),
        "UInt32",
        "3|null|null|null|null|null|null|null|null",
    );
    check_texts(
        "str.zfill",
        json!({"length": 5}),
        "Utf8",
        "héllo wörld|00000|null|  ab\t|00日本語|-0012|+0007|aXbXc|aXbXc",
    );
    check_texts(
        "str.count_matches",
        pattern("l|X", false),
        "UInt32",
        "3|0|null|0|0|0|0|2|2",
    );
}

#[test]
fn texts_are_compared_joined_and_cast() {
    let values = [Some("b"), None, Some("é"), Some("b")];
    for column in [texts(&values), coded(&values)] {
        let both = table(&[
            ("t", column),
            ("p", texts(&[Some("b"), Some("x"), Some("a"), None])),
        ]);
        check(
            call("eq", &[col("t"), text("b")]),
            &both,
            "Boolean true null false true",
        );
        check(
            call("lt", &[text("b"), col("t")]),
            &both,
            "Boolean false null true false",
        );
        check(
            call("ge", &[col("t"), col("p")]),
            &both,
            "Boolean true null true null",
        );
        check(
            call("add", &[col("t"), text("!")]),
            &both,
            "Utf8 b! null é! b!",
        );
        check(
            call("str.concat", &[col("t"), int(1), col("p")]),
            &both,
            "Utf8 b1b null é1a null",
        );
        check(
            call("fill_null", &[col("t"), text("?")]),
            &both,
            "Utf8 b ? é b",
        );
        check(
            call(
                "if_else",
                &[call("eq", &[col("t"), text("b")]), col("t"), col("p")],
            ),
            &both,
            "Utf8 b x a b",
        );
    }
    let numbers = table(&[(
        "f",
        floats(&[0.0, 1.5, NAN, 1e20, 1e-7, 1e15, 1e16, 1e-5, 0.1].map(Some)),
    )]);
    check(
        json!({"cast": "string", "arg": col("f")}),
        &numbers,
        "Utf8 0.0 1.5 NaN 1e+20 1e-7 1000000000000000.0 1e+16 0.00001 0.1",
    );
    let digits = table(&[("t", texts(&[Some("1"), None, Some("+3")]))]);
    check(
        json!({"cast": "int32", "arg": col("t")}),
        &digits,
        "Int32 1 null 3",
    );
    check(
        json!({"cast": "float64", "arg": col("t")}),
        &digits,
        "Float64 1.0 null 3.0",
    );
}

#[test]
fn dates_have_parts() {
    let days = table(&[("n", integers(&[Some(18321), Some(-1), None]))]);
    let date = json!({"cast": "date", "arg": col("n")});
    for (part, expected) in [
        ("dt.year", "Int32 2020 1969 null"),
        ("dt.month", "Int8 2 12 null"),
        ("dt.day", "Int8 29 31 null"),
        ("dt.weekday", "Int8 6 3 null"),
    ] {
        check(call(part, std::slice::from_ref(&date)), &days, expected);
    }
    let micros = table(&[(
        "n",
        integers(&[Some(1_582_938_123_000_004), Some(-1), None]),
    )]);
    let moment = json!({"cast": "datetime", "arg": col("n")});
    for (part, expected) in [
        ("dt.hour", "Int8 1 23 null"),
        ("dt.minute", "Int8 2 59 null"),
        ("dt.second", "Int8 3 59 null"),
        ("dt.weekday", "Int8 6 3 null"),
    ] {
        check(call(part, std::slice::from_ref(&moment)), &micros, expected);
    }
    check(
        json!({"cast": "string", "arg": moment.clone()}),
        &micros,
        "Utf8 2020-02-29 01:02:03.000004 1969-12-31 23:59:59.999999 null",
    );
    check(
        call("lt", &[moment, json!({"lit": 0, "type": "date"})]),
        &micros,
        "Boolean false true null",
    );
}
