//! How alike texts are.

use fulgurite_error::Result;
use fulgurite_matrix::memory;
use rustc_hash::FxHashSet;

/// Letters that two texts have both, of those that one has (Jaccard); 0 where one has none.
pub(super) fn jaccard(left: &str, right: &str) -> f64 {
    let left: FxHashSet<u16> = left.encode_utf16().collect();
    let right: FxHashSet<u16> = right.encode_utf16().collect();
    let both = left.intersection(&right).count();
    match left.is_empty() || right.is_empty() {
        true => 0.0,
        false => both as f64 * (1.0 / (left.len() + right.len() - both) as f64),
    }
}

/// Words that must be inserted, left out or changed to make one text of the other, of the longer one's.
///
/// # Errors
/// `memory`.
pub(super) fn word_error_rate(left: &str, right: &str) -> Result<f64> {
    let (left, right): (Vec<_>, Vec<_>) = (left.split(' ').collect(), right.split(' ').collect());
    // Distances of the words before the present one of `left` to the first words of `right`.
    let mut distances = memory::collected(0..right.len() + 1)?;
    for (at, word) in left.iter().enumerate() {
        let mut corner = std::mem::replace(&mut distances[0], at + 1);
        for (other_at, other) in right.iter().enumerate() {
            let changed = corner + usize::from(word != other);
            corner = distances[other_at + 1];
            distances[other_at + 1] = changed.min(corner + 1).min(distances[other_at] + 1);
        }
    }
    Ok(distances[right.len()] as f64 / left.len().max(right.len()) as f64)
}
