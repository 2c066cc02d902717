//! The three patterns that everything else grew from, over all sizes and layouts.

mod support;

use support::{assert_all_agree, matrix, matrix_vector_chain, mlogreg_inner, sum_of_products};

const SIZES: [usize; 10] = [0, 1, 2, 3, 7, 8, 9, 31, 64, 127];

#[test]
fn sum_of_products_agrees_with_the_interpreter() {
    for rows in SIZES {
        for cols in SIZES {
            let operands = [
                matrix(rows, cols, 1),
                matrix(rows, cols, 2),
                matrix(rows, cols, 3),
            ];
            assert_all_agree(&sum_of_products(), &operands);
        }
    }
}

#[test]
fn matrix_vector_chain_agrees_with_the_interpreter() {
    for rows in SIZES {
        for cols in SIZES {
            let operands = [matrix(rows, cols, 1), matrix(cols, 1, 2)];
            assert_all_agree(&matrix_vector_chain(), &operands);
        }
    }
}

#[test]
fn mlogreg_inner_agrees_with_the_interpreter() {
    for rows in SIZES {
        for cols in [1, 2, 9, 64] {
            for k in [1, 2, 3, 4, 5, 8, 11] {
                let operands = [
                    matrix(rows, cols, 1),
                    matrix(rows, k + 1, 2),
                    matrix(cols, k, 3),
                ];
                assert_all_agree(&mlogreg_inner(k as u64), &operands);
            }
        }
    }
}
