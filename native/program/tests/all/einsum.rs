//! `einsum` against sums over all indexes, and what it refuses.

use std::collections::BTreeMap;

use fulgurite_matrix::MatrixBlock;
use fulgurite_program::OutputValue;

use crate::common::{exact, script};

/// Whether an operand is a matrix, or a number.
fn operand(indexes: &str, sizes: &BTreeMap<char, usize>, seed: u64) -> MatrixBlock {
    let mut sizes = indexes.chars().map(|index| sizes[&index]);
    let (rows, cols) = (sizes.next().unwrap_or(1), sizes.next().unwrap_or(1));
    exact(rows, cols, seed)
}

/// The sum over all indexes, cell by cell of the result.
fn expected(
    operands: &[(&str, MatrixBlock)],
    result: &str,
    sizes: &BTreeMap<char, usize>,
) -> MatrixBlock {
    let mut all: Vec<char> = operands
        .iter()
        .flat_map(|(indexes, _)| indexes.chars())
        .collect();
    all.sort_unstable();
    all.dedup();
    let mut shape = result.chars().map(|index| sizes[&index]);
    let (rows, cols) = (shape.next().unwrap_or(1), shape.next().unwrap_or(1));
    let mut cells = vec![0.0; rows * cols];
    let count: usize = all.iter().map(|index| sizes[index]).product();
    for number in 0..count {
        let mut left = number;
        let mut at = BTreeMap::new();
        for index in &all {
            at.insert(*index, left % sizes[index]);
            left /= sizes[index];
        }
        let place = |indexes: &str| {
            let mut places = indexes.chars().map(|index| at[&index]);
            (places.next().unwrap_or(0), places.next().unwrap_or(0))
        };
        let product: f64 = operands
            .iter()
            .map(|(indexes, matrix)| {
                let (row, col) = place(indexes);
                matrix.get(row, col)
            })
            .product();
        let (row, col) = place(result);
        cells[row * cols + col] += product;
    }
    MatrixBlock::dense(rows, cols, cells).unwrap()
}

#[test]
fn equations_are_sums_of_products() {
    let equations = [
        "ij,jk->ik",
        "ij,jk->ki",
        "ji,jk->ik",
        "ij,kj->ik",
        "ji,kj->ik",
        "ij->ji",
        "ij->ij",
        "ij->i",
        "ij->j",
        "ij->",
        "ii->i",
        "ii->",
        "ii,ij->j",
        "i->i",
        "i->",
        "i,i->",
        "i,i->i",
        "i,j->ij",
        "i,j->ji",
        "i,j->",
        "ij,j->i",
        "ij,i->j",
        "ij,j->ij",
        "ij,i->ij",
        "ij,i,j->ij",
        "ij,i,j->ji",
        "ij,i,j->",
        "ij,ij->ij",
        "ij,ij->ji",
        "ij,ji->ij",
        "ij,ij->i",
        "ij,ij->j",
        "ij,ij->",
        "ij,ji->",
        "ij,jk,kl->il",
        "ij,jk,kl->",
        "ij,jk,k->i",
        "ij,j,jk->ik",
        "ij,j,kj->ki",
        "ij,jk,ik->",
        "ij,jk,ik->ik",
        "ij,jk,ik->i",
        "ij,jk,ki,i->j",
        ",ij->ij",
        ",ij,j->i",
        ",->",
        "->",
        "i,ij,j->",
        "ij,k->i",
        "ij,kl->",
        "ij,kl->ik",
        "ij,ij,ij->ij",
        "ij,ik->jk",
        "ij,jk,lk,l->i",
        " i j , j k -> i k ",
    ];
    let sizes: BTreeMap<char, usize> = [('i', 3), ('j', 4), ('k', 2), ('l', 5)].into();
    for equation in equations {
        let compact: String = equation.split_whitespace().collect();
        let (left, result) = compact.split_once("->").unwrap();
        let operands: Vec<(&str, MatrixBlock)> = left
            .split(',')
            .zip(7..)
            .map(|(indexes, seed)| {
                // ii is square.
                (indexes, operand(indexes, &sizes, seed))
            })
            .collect();
        let arguments = operands.iter().enumerate();
        let arguments = arguments.map(|(number, (indexes, _))| match indexes.is_empty() {
            true => format!(", as.scalar(A{number})"),
            false => format!(", A{number}"),
        });
        let arguments: String = arguments.collect();
        let mut run = script(&format!("R = einsum(\"{equation}\"{arguments})"));
        for (number, (_, matrix)) in operands.iter().enumerate() {
            run = run.matrix(&format!("A{number}"), matrix.clone());
        }
        let ran = run.output("R").run();
        let expected = expected(&operands, result, &sizes);
        let found = match &ran.outcome().outputs["R"] {
            OutputValue::Scalar(value) => {
                assert_eq!(result, "", "{equation} is a number");
                MatrixBlock::filled(1, 1, value.as_f64().unwrap()).unwrap()
            }
            OutputValue::Matrix(matrix) => matrix.clone(),
            other => panic!("{equation}: {other:?}"),
        };
        assert_eq!(
            (found.rows(), found.cols()),
            (expected.rows(), expected.cols()),
            "{equation}"
        );
        for row in 0..found.rows() {
            for col in 0..found.cols() {
                assert_eq!(
                    found.get(row, col),
                    expected.get(row, col),
                    "{equation} at {row}, {col}"
                );
            }
        }
    }
}

#[test]
fn special_values_and_empty_matrices() {
    let text = script(
        "
        A = matrix('NaN 1 2 Infinity', 2, 2)
        B = matrix('0 1 1 0', 2, 2)
        print(toString(einsum('ij,jk->ik', A, B)))
        print(toString(einsum('ij->j', A)))
        E = matrix(0, 0, 3)
        print(einsum('ij,ij->', E, E) + ' ' + nrow(einsum('ij,kj->ik', E, E)) + ' ' + toString(einsum('ij->j', E)))
        if (einsum('i,i->', matrix(2, 3, 1), matrix(1, 3, 1)) == 6) { print('six') }
        ",
    );
    insta::assert_snapshot!(text.run().text());
}

#[test]
fn what_is_no_equation_of_matrices_is_refused() {
    let mut text = String::new();
    for call in [
        "einsum('ij,jk', A, A)",
        "einsum('ij,jk->ik', A)",
        "einsum('ij->ik', A)",
        "einsum('ij->ii', A)",
        "einsum('i1->i', A)",
        "einsum('ijk->ij', A)",
        "einsum('ij,jk->ijk', A, A)",
        "einsum('ij,ik,il->jkl', A, A, A)",
        "einsum('ai,aj,ak,il,jm,kn,lmo->o', A, A, A, A, A, A, A)",
        "einsum('ai,bi,ci,ab,bc->ac', A, A, A, A, A)",
        "einsum('...j->j', A)",
        "einsum('i->i', 3)",
        "einsum('->', A)",
        "einsum('i->i', A)",
        "einsum('ij,ij->ij', A, B)",
        "einsum('ij,jk->ik', A, B)",
        "einsum('ii->i', B)",
    ] {
        let program =
            format!("A = matrix(1, 3, 3); B = matrix(1, 2, 1)\nR = {call}\nprint(toString(R))");
        let answer = script(&program).run().text();
        text.push_str(&format!("{call}\n{answer}\n\n"));
    }
    insta::assert_snapshot!(text);
}
