//! Sizes of what no script says; `tests/cases/sizes` has the others.

use fulgurite_hop::{Symbols, propagate_dag, text::from_text};

/// The last HOP's size, or why there is none.
fn size(dag: &str) -> String {
    let dag = from_text(dag).expect("a DAG");
    match propagate_dag(&dag, &Symbols::new()) {
        Ok((dag, _)) => {
            let (_, last) = dag.iter().last().expect("a HOP");
            last.characteristics.to_string()
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn fused_additions_have_the_non_zeros_of_both_summands() {
    let dag = "(0) TRead X [10 x 10, nnz 50]
        (1) lit 2
        (2) TRead Y [10 x 10, nnz 20]
        (3) t(+*) (0,1,2)
        roots 3";
    assert_eq!(size(dag), "[10 x 10, nnz 70]");
}

/// Literals that the compiler refuses may come to be by folding.
#[test]
fn bounds_that_are_no_range_are_errors() {
    insta::assert_snapshot!(size_of_range("rix (0,1,2,3,4)", "? x ?", "1 1 0 1"), @r"
    dimension error[E0402]: column 0 of a matrix that is ? x ? (in rix)
       = help: columns count from 1
    ");
    insta::assert_snapshot!(size_of_range("rix (0,1,2,3,4)", "3 x 4", "3 2 2 2"), @r"
    dimension error[E0403]: rows 3 to 2 are none (in rix)
       = note: 'X' is 3 x 4
       = help: the lower bound must not lie above the upper one
    ");
    let assigned = size_of_range("lix (0,1,1,2,3,4)", "3 x 4", "1 2 1 1");
    insta::assert_snapshot!(assigned, @r"
    dimension error[E0401]: a scalar assigned to a range of 2 x 1 (in lix)
       = note: 'X' is 3 x 4
       = help: the value must have exactly the shape of the range
    ");
}

/// Of an operator on a matrix of this size, HOP 0, and on four bounds, HOPs 1 to 4.
fn size_of_range(operator: &str, size_of_matrix: &str, bounds: &str) -> String {
    let mut dag = format!("(0) TRead X [{size_of_matrix}]\n");
    for (place, bound) in bounds.split(' ').enumerate() {
        dag += &format!("({}) lit {bound}\n", place + 1);
    }
    size(&format!("{dag}(5) {operator}\nroots 5"))
}
