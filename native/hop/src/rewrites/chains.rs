//! The order of matrix-multiplication chains, by dimensions and sparsity.
//!
//! A chain is a product whose operands are products that nobody else reads, and so on. Dynamic programming
//! over all parenthesisations finds the one with the least work, as for dense chains; here an operand
//! carries its estimated sparsity along, a product is as much work as its operands' non-zeros meet, and
//! operands to be transposed are counted where they would be (on the right).

use super::{Editor, Family, Precision, Rule};
use crate::{Characteristics, HopId};

pub(super) const FAMILY: Family = Family {
    title: "Matrix-multiplication chains",
    rules: &[Rule::local(
        "product-chain-order",
        "(X %*% Y) %*% v -> X %*% (Y %*% v)",
        "three or more factors, their sizes known, products that nobody else reads; the order with the least work is clearly better than the script's",
        Precision::Rounding,
        product_chain_order,
    )],
};

/// The work grows with the third power of the length.
const LONGEST_CHAIN: usize = 60;

/// Work that does not count: orders that are as good as equal stay as the script has them.
const CLEARLY_BETTER: f64 = 0.99;

fn product_chain_order(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let mut factors = Vec::new();
    let given = collect(editor, id, true, &mut factors)?;
    if !(3..=LONGEST_CHAIN).contains(&factors.len()) {
        return None;
    }
    let operands = factors.iter().map(|factor| Operand::of(editor, *factor));
    let operands: Vec<Operand> = operands.collect::<Option<_>>()?;
    let fit = |pair: &[Operand]| pair[0].cols == pair[1].rows;
    if !operands.windows(2).all(fit) {
        return None;
    }
    let work_given = work_of(&given, &operands).1;
    let (best, work) = best_order(&operands);
    if work >= work_given * CLEARLY_BETTER {
        return None;
    }
    build(editor, &best, &factors)
}

/// How a chain is parenthesised.
#[derive(Debug, Clone, PartialEq)]
enum Order {
    /// A factor by its number.
    Factor(usize),
    Product(Box<Order>, Box<Order>),
}

/// The factors below a product, and how it is parenthesised; `None` for what is no product at the top.
fn collect(editor: &Editor, id: HopId, is_top: bool, factors: &mut Vec<HopId>) -> Option<Order> {
    match editor.product(id) {
        Some((left, right)) if is_top || editor.read_once(id) => {
            let left = collect(editor, left, false, factors)?;
            let right = collect(editor, right, false, factors)?;
            Some(Order::Product(Box::new(left), Box::new(right)))
        }
        None if is_top => None,
        _ => {
            factors.push(id);
            Some(Order::Factor(factors.len() - 1))
        }
    }
}

/// What is known of a factor or of a product of some.
#[derive(Debug, Clone, Copy)]
struct Operand {
    rows: f64,
    cols: f64,
    sparsity: f64,
    /// Cells to move if it stands on the right: of a transpose.
    moved_on_right: f64,
}

impl Operand {
    fn of(editor: &Editor, id: HopId) -> Option<Self> {
        let (rows, cols) = editor.shape(id)?;
        let known: Characteristics = editor.hop(id).characteristics;
        let is_transpose = editor.transposed(id).is_some();
        Some(Operand {
            rows: rows as f64,
            cols: cols as f64,
            sparsity: known.sparsity(),
            moved_on_right: match is_transpose {
                true => rows as f64 * cols as f64 * known.sparsity(),
                false => 0.0,
            },
        })
    }

    /// The product, and the work for it: multiplications, cells written and cells moved.
    fn times(self, right: Operand) -> (Operand, f64) {
        let pairs = self.sparsity * right.sparsity;
        // Cells are zero where no pair meets, if non-zeros are spread evenly.
        let sparsity = 1.0 - (1.0 - pairs).powf(self.cols);
        let written = self.rows * right.cols * sparsity;
        let multiplied = self.rows * self.cols * right.cols * pairs;
        let product = Operand {
            rows: self.rows,
            cols: right.cols,
            sparsity,
            moved_on_right: 0.0,
        };
        (product, multiplied + written + right.moved_on_right)
    }
}

fn work_of(order: &Order, operands: &[Operand]) -> (Operand, f64) {
    match order {
        Order::Factor(number) => (operands[*number], 0.0),
        Order::Product(left, right) => {
            let (left, left_work) = work_of(left, operands);
            let (right, right_work) = work_of(right, operands);
            let (product, work) = left.times(right);
            (product, left_work + right_work + work)
        }
    }
}

/// The best order of a range of factors.
#[derive(Debug, Clone, Copy)]
struct Best {
    operand: Operand,
    work: f64,
    /// The last factor of the left operand.
    split: usize,
}

fn best_order(operands: &[Operand]) -> (Order, f64) {
    let n = operands.len();
    // best[first][last - first]
    let mut best: Vec<Vec<Best>> = operands
        .iter()
        .map(|operand| {
            vec![Best {
                operand: *operand,
                work: 0.0,
                split: 0,
            }]
        })
        .collect();
    for length in 1..n {
        for first in 0..n - length {
            let options = (first..first + length).map(|split| {
                let left = best[first][split - first];
                let right = best[split + 1][first + length - split - 1];
                let (operand, work) = left.operand.times(right.operand);
                Best {
                    operand,
                    work: left.work + right.work + work,
                    split,
                }
            });
            let option = options.min_by(|left, right| left.work.total_cmp(&right.work));
            best[first].extend(option);
        }
    }
    (order_of(&best, 0, n - 1), best[0][n - 1].work)
}

fn order_of(best: &[Vec<Best>], first: usize, last: usize) -> Order {
    if first == last {
        return Order::Factor(first);
    }
    let split = best[first][last - first].split;
    Order::Product(
        Box::new(order_of(best, first, split)),
        Box::new(order_of(best, split + 1, last)),
    )
}

fn build(editor: &mut Editor, order: &Order, factors: &[HopId]) -> Option<HopId> {
    match order {
        Order::Factor(number) => Some(factors[*number]),
        Order::Product(left, right) => {
            let left = build(editor, left, factors)?;
            let right = build(editor, right, factors)?;
            editor.make_product(left, right)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dense(rows: f64, cols: f64) -> Operand {
        Operand {
            rows,
            cols,
            sparsity: 1.0,
            moved_on_right: 0.0,
        }
    }

    /// Every order of a range of factors.
    fn all_orders(first: usize, last: usize) -> Vec<Order> {
        if first == last {
            return vec![Order::Factor(first)];
        }
        let mut orders = Vec::new();
        for split in first..last {
            for left in all_orders(first, split) {
                for right in all_orders(split + 1, last) {
                    orders.push(Order::Product(Box::new(left.clone()), Box::new(right)));
                }
            }
        }
        orders
    }

    #[test]
    fn a_vector_at_the_end_is_multiplied_first() {
        let (order, _) = best_order(&[dense(100.0, 50.0), dense(50.0, 100.0), dense(100.0, 1.0)]);
        let expected = Order::Product(
            Box::new(Order::Factor(0)),
            Box::new(Order::Product(
                Box::new(Order::Factor(1)),
                Box::new(Order::Factor(2)),
            )),
        );
        assert_eq!(order, expected);
    }

    proptest! {
        /// Sparsity of a product depends on how it came about, so that dynamic programming is exact for dense
        /// chains only; there it is.
        #[test]
        fn no_order_is_better_than_the_best(sides in prop::collection::vec(1u32..200, 4..8)) {
            let sides: Vec<f64> = sides.into_iter().map(f64::from).collect();
            let operands: Vec<Operand> =
                sides.windows(2).map(|pair| dense(pair[0], pair[1])).collect();
            let (order, work) = best_order(&operands);
            prop_assert!((work_of(&order, &operands).1 - work).abs() <= 1e-9 * work);
            for other in all_orders(0, operands.len() - 1) {
                prop_assert!(work <= work_of(&other, &operands).1 * (1.0 + 1e-12));
            }
        }
    }
}
