//! Blocks that are used again, in a program that has our allocator: alone, as other tests would take them.

use fulgurite_matrix::memory::{self, Allocator, NewCells};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const CELLS: usize = 1 << 20;

#[test]
#[cfg(target_os = "linux")]
fn freed_blocks_are_used_again() {
    memory::keep_freed_blocks();
    let block = vec![3.0; CELLS];
    let start = block.as_ptr();
    drop(block);
    // Recycled and dirty, and yet zero for who asks for zeros or writes in parts.
    let mut cells = NewCells::<f64>::new(CELLS).unwrap();
    cells.parts([5])[0].take(1).fill(4.0);
    let cells = cells.finish();
    assert_eq!((cells.as_ptr(), cells[0]), (start, 4.0));
    assert!(cells[1..].iter().all(|cell| *cell == 0.0));
    drop(cells);
    let zeros = memory::zeros(CELLS).unwrap();
    assert_eq!(zeros.as_ptr(), start);
    assert!(zeros.iter().all(|cell| *cell == 0.0));
    drop(zeros);

    // A smaller one takes the front of it. Its content moves with it when it grows, and when it is no block any more.
    const FEWER: usize = CELLS - 8192;
    let mut cells = vec![5.0; FEWER];
    assert_eq!(cells.as_ptr(), start);
    cells.resize(2 * CELLS, 6.0);
    assert!(cells[..FEWER].iter().all(|cell| *cell == 5.0));
    assert!(cells[FEWER..].iter().all(|cell| *cell == 6.0));
    cells.truncate(10);
    cells.shrink_to_fit();
    assert_eq!(cells, [5.0; 10]);
}
