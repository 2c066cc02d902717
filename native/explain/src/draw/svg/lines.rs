//! Lines as paths of SVG.

use std::fmt::Write;

use super::super::layout::Point;

/// How round the corners of a line are.
const CORNER: f64 = 6.0;

/// Curves that leave and reach boxes from above and below.
pub(super) fn path(line: &[Point]) -> String {
    let mut path = String::new();
    for (place, point) in line.iter().enumerate() {
        let Some(last) = place.checked_sub(1).and_then(|last| line.get(last)) else {
            let _ = write!(path, "M{:.1} {:.1}", point.x, point.y);
            continue;
        };
        let bend = (last.y + point.y) / 2.0;
        let _ = write!(
            path,
            " C{:.1} {bend:.1} {:.1} {bend:.1} {:.1} {:.1}",
            last.x, point.x, point.x, point.y
        );
    }
    path
}

/// Straight from corner to corner, which are round.
pub(super) fn around(line: &[Point]) -> String {
    let [first, .., last] = line else {
        return String::new();
    };
    let mut path = format!("M{:.1} {:.1}", first.x, first.y);
    for step in line.windows(3) {
        let [before, corner, after] = step else {
            continue;
        };
        let (from, to) = (near(corner, before), near(corner, after));
        let _ = write!(
            path,
            " L{:.1} {:.1} Q{:.1} {:.1} {:.1} {:.1}",
            from.x, from.y, corner.x, corner.y, to.x, to.y
        );
    }
    let _ = write!(path, " L{:.1} {:.1}", last.x, last.y);
    path
}

/// On the way from a corner to a point, where the corner ends.
fn near(corner: &Point, other: &Point) -> Point {
    let length = (other.x - corner.x).hypot(other.y - corner.y);
    let share = CORNER.min(length / 2.0) / length.max(f64::MIN_POSITIVE);
    Point {
        x: corner.x + share * (other.x - corner.x),
        y: corner.y + share * (other.y - corner.y),
    }
}
