//! Parts of tables that are not read, by what is known of them.

use std::{cmp::Ordering, sync::Arc};

use arrow::array::{Array, ArrayRef, UInt64Array};
use fulgurite_frame::parquet::ColumnStatistics;
use fulgurite_relation::{Reads, Table, collect};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tables::*;

type Row = (Option<i64>, Option<f64>, Option<String>, Option<bool>);

fn part_of(rows: &[Row]) -> Table {
    let texts_: Vec<_> = rows.iter().map(|row| row.2.as_deref()).collect();
    let of = |f: fn(&Row) -> Option<i64>| rows.iter().map(f).collect::<Vec<_>>();
    table(&[
        ("i", integers(&of(|row| row.0))),
        ("j", integers(&of(|row| row.0.map(|value| 3 - value)))),
        (
            "f",
            floats(&rows.iter().map(|row| row.1).collect::<Vec<_>>()),
        ),
        ("t", texts(&texts_)),
        (
            "b",
            booleans(&rows.iter().map(|row| row.3).collect::<Vec<_>>()),
        ),
    ])
}

/// Least and greatest of each part; NaN is neither.
fn bounds_of<T: Clone>(
    name: &str,
    parts: &[Vec<Option<T>>],
    compare: impl Fn(&T, &T) -> Ordering,
    is_nan: impl Fn(&T) -> bool,
    array: impl Fn(&[Option<T>]) -> ArrayRef,
    knows_nans: bool,
) -> ColumnStatistics {
    let values = |part: &Vec<Option<T>>| {
        let values = part.iter().flatten().filter(|value| !is_nan(value));
        values.cloned().collect::<Vec<_>>()
    };
    let least = parts
        .iter()
        .map(|part| values(part).into_iter().min_by(&compare));
    let greatest = parts
        .iter()
        .map(|part| values(part).into_iter().max_by(&compare));
    let nulls = parts
        .iter()
        .map(|part| part.iter().filter(|value| value.is_none()).count() as u64);
    let nans = parts.iter().map(|part| {
        let nans = part.iter().flatten().filter(|value| is_nan(value));
        knows_nans.then_some(nans.count() as u64)
    });
    ColumnStatistics {
        name: name.into(),
        least: array(&least.collect::<Vec<_>>()),
        greatest: array(&greatest.collect::<Vec<_>>()),
        nulls: nulls.collect::<Vec<_>>().into(),
        nans: nans.collect::<UInt64Array>(),
    }
}

fn all_bounds(parts: &[Vec<Row>], knows_nans: bool) -> Vec<ColumnStatistics> {
    let integers_of = |name: &str, f: fn(&Row) -> Option<i64>| {
        let values: Vec<Vec<_>> = parts
            .iter()
            .map(|part| part.iter().map(f).collect())
            .collect();
        bounds_of(name, &values, i64::cmp, |_| false, integers, false)
    };
    let of_floats: Vec<Vec<_>> = parts
        .iter()
        .map(|part| part.iter().map(|row| row.1).collect())
        .collect();
    let of_texts: Vec<Vec<_>> = parts
        .iter()
        .map(|part| part.iter().map(|row| row.2.clone()).collect())
        .collect();
    let of_booleans: Vec<Vec<_>> = parts
        .iter()
        .map(|part| part.iter().map(|row| row.3).collect())
        .collect();
    let strings =
        |values: &[Option<String>]| texts(&values.iter().map(Option::as_deref).collect::<Vec<_>>());
    vec![
        integers_of("i", |row| row.0),
        integers_of("j", |row| row.0.map(|value| 3 - value)),
        bounds_of(
            "f",
            &of_floats,
            f64::total_cmp,
            |value| value.is_nan(),
            floats,
            knows_nans,
        ),
        bounds_of("t", &of_texts, String::cmp, |_| false, strings, false),
        bounds_of("b", &of_booleans, bool::cmp, |_| false, booleans, false),
    ]
}

fn filter(predicate: &Value) -> Value {
    json!({"filter": {"input": scan(), "predicate": predicate}})
}

fn reads(predicate: &Value) -> Reads {
    let schema = part_of(&[]).schema();
    let plan = plan(&filter(predicate)).optimized(&[schema]).unwrap();
    plan.reads(1).remove(0)
}

fn row() -> impl Strategy<Value = Row> {
    (
        prop::option::of(-3..6i64),
        prop::option::of(prop_oneof![
            Just(f64::NAN),
            Just(-0.0),
            Just(0.0),
            -2.0..2.0f64
        ]),
        prop::option::of("[a-cé]{0,2}"),
        prop::option::of(any::<bool>()),
    )
}

fn operand() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        (-4..7i64).prop_map(|value| (col("i"), int(value))),
        (-4..7i64).prop_map(|value| (int(value), col("i"))),
        (-4..7i64).prop_map(|value| (col("i"), float(value as f64 + 0.5))),
        Just((col("i"), col("j"))),
        Just((col("i"), col("f"))),
        (-2.0..2.0f64).prop_map(|value| (col("f"), float(value))),
        (-2.0..2.0f64).prop_map(|value| (float(value), col("f"))),
        Just((col("f"), json!({"lit": "NaN", "type": "float"}))),
        Just((col("f"), none())),
        "[a-d]{0,2}".prop_map(|value| (col("t"), text(&value))),
        Just((col("b"), json!({"lit": true, "type": "boolean"}))),
        Just((call("add", &[col("i"), int(1)]), int(3))),
    ]
}

fn predicate() -> impl Strategy<Value = Value> {
    let compare = prop::sample::select(vec!["lt", "le", "gt", "ge", "eq", "ne", "eq_missing"]);
    let leaf = prop_oneof![
        6 => (compare, operand()).prop_map(|(name, (one, other))| call(name, &[one, other])),
        1 => prop::sample::select(vec!["i", "f", "t", "b"]).prop_map(|name| call("is_null", &[col(name)])),
        1 => prop::sample::select(vec!["i", "f", "t", "b"]).prop_map(|name| call("is_not_null", &[col(name)])),
        1 => Just(col("b")),
        1 => Just(call("not", &[col("b")])),
        1 => prop::collection::vec(-4..9i64, 1..4).prop_map(|values| {
            let values: Vec<_> = values.into_iter().map(int).collect();
            with("is_in", &[col("i")], json!({"values": values}))
        }),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, other)| call("and", &[one, other])),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| call("or", &[one, other])),
            inner.prop_map(|one| call("not", &[one])),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_part_is_left_out_that_has_rows(
        parts in prop::collection::vec(prop::collection::vec(row(), 0..4), 1..4),
        knows_nans in any::<bool>(),
        predicate in predicate(),
    ) {
        let rows: UInt64Array = parts.iter().map(|part| part.len() as u64).collect::<Vec<_>>().into();
        let chosen = reads(&predicate).parts(&rows, &all_bounds(&parts, knows_nans)).unwrap();
        for (part, chosen) in parts.iter().zip(chosen) {
            let found = collect(&plan(&filter(&predicate)), &[part_of(part)], &[]).unwrap();
            prop_assert!(chosen || found.rows() == 0, "{predicate}: {part:?}");
        }
    }
}

/// Three parts of numbers, texts and truth values that follow each other.
fn ordered() -> Vec<Vec<Row>> {
    let row = |number: i64| {
        let text = char::from(b'a' + number as u8).to_string();
        (
            Some(number),
            Some(number as f64),
            Some(text),
            Some(number > 3),
        )
    };
    let missing = (None, None, None, None);
    let mut parts: Vec<Vec<_>> = vec![
        (0..3).map(row).collect(),
        (3..5).map(row).collect(),
        (5..9).map(row).collect(),
    ];
    parts[1].push(missing);
    parts
}

#[test]
fn parts_without_rows_are_left_out() {
    let parts = ordered();
    let rows: UInt64Array = vec![3, 3, 4].into();
    let cases = [
        (call("lt", &[col("i"), int(3)]), [true, false, false]),
        (call("gt", &[int(3), col("i")]), [true, false, false]),
        (call("gt", &[col("f"), float(4.5)]), [false, false, true]),
        (call("eq", &[col("t"), text("e")]), [false, true, false]),
        (call("is_null", &[col("i")]), [false, true, false]),
        (col("b"), [false, true, true]),
        (call("not", &[col("b")]), [true, true, false]),
        (
            with("is_in", &[col("i")], json!({"values": [int(1), int(7)]})),
            [true, false, true],
        ),
        (
            call(
                "or",
                &[
                    call("eq", &[col("i"), int(4)]),
                    call("and", &[col("b"), call("gt", &[col("f"), int(6)])]),
                ],
            ),
            [false, true, true],
        ),
        // Nothing is known of a sum; an aggregate needs all rows, and so does what may be an error.
        (
            call("lt", &[call("add", &[col("i"), int(1)]), int(0)]),
            [true; 3],
        ),
        (
            call(
                "and",
                &[
                    call("lt", &[col("i"), int(0)]),
                    call("lt", &[col("i"), agg("mean", col("i"))]),
                ],
            ),
            [true; 3],
        ),
        (
            call(
                "and",
                &[
                    call("lt", &[col("i"), int(0)]),
                    call("eq", &[json!({"cast": "int8", "arg": col("i")}), int(0)]),
                ],
            ),
            [true; 3],
        ),
    ];
    for (predicate, expected) in cases {
        let found = reads(&predicate).parts(&rows, &all_bounds(&parts, true));
        assert_eq!(found.unwrap(), expected, "{predicate}");
    }
}

#[test]
fn a_table_that_is_scanned_twice_is_read_for_both() {
    let condition = |value| call("lt", &[col("i"), int(value)]);
    let concat = |one: Value, other: Value| {
        let json = json!({"concat": {"inputs": [one, other]}});
        let schema = part_of(&[]).schema();
        plan(&json).optimized(&[schema]).unwrap().reads(1).remove(0)
    };
    let both = concat(filter(&condition(1)), filter(&condition(1)));
    assert!(both.predicate.is_some());
    assert_eq!(
        concat(filter(&condition(1)), filter(&condition(2))).predicate,
        None
    );
    assert_eq!(concat(filter(&condition(1)), scan()).predicate, None);
    let nothing = plan(&scan()).reads(2).remove(1);
    assert_eq!((nothing.names, nothing.predicate), (Some([].into()), None));
}

#[test]
fn a_bound_that_is_nan_is_none() {
    let bounds = ColumnStatistics {
        name: "f".into(),
        least: floats(&[Some(f64::NAN), Some(1.0)]),
        greatest: floats(&[Some(f64::NAN), Some(2.0)]),
        nulls: vec![0, 0].into(),
        nans: vec![0, 0].into(),
    };
    let rows: UInt64Array = vec![3, 3].into();
    for name in ["lt", "le", "gt", "ge", "eq"] {
        let of = reads(&call(name, &[col("f"), float(0.5)]));
        let may = of.parts(&rows, std::slice::from_ref(&bounds)).unwrap();
        assert_eq!(may, [true, matches!(name, "gt" | "ge")], "{name}");
    }
}

#[test]
fn bounds_of_codes_are_texts() {
    let bounds = ColumnStatistics {
        name: "t".into(),
        least: coded(&[Some("a"), Some("m")]),
        greatest: coded(&[Some("k"), Some("z")]),
        nulls: vec![0, 0].into(),
        nans: UInt64Array::from(vec![None, None]),
    };
    assert_eq!(bounds.least.len(), 2);
    let of = reads(&call("eq", &[col("t"), text("n")]));
    let rows: UInt64Array = Arc::new(UInt64Array::from(vec![1, 1])).as_ref().clone();
    assert_eq!(of.parts(&rows, &[bounds]).unwrap(), [false, true]);
}
