//! Tall pictures in panels beside each other, which are read like the columns of a newspaper.
//!
//! A panel holds some rows of the picture, laid out on their own. A value that a later panel reads leaves at the foot of
//! its panel, runs below the panels, up the gap before its reader's, and comes in from above through a mark, which
//! shows what it is. These routes have tracks of their own: they lie on no box, and only routes of the same value lie on
//! each other. A box that reads nothing is in the panel of its first reader.
//!
//! Start at [`laid_out`].

mod cuts;
mod sheet;
#[cfg(test)]
mod tests;

use fulgurite_error::Result;

use self::cuts::RowCuts;
use super::layout::{Layout, Point, Sized, layout, rows};

/// What to place.
pub(super) struct Graph<'a> {
    pub boxes: &'a [Sized],
    /// For each box, the mark of its value.
    pub marks: &'a [Sized],
    /// Each from an earlier box to a later one.
    pub edges: &'a [(usize, usize)],
    /// For each edge, whether its ends should stay in one panel.
    pub is_close: &'a [bool],
}

/// A picture that is laid out, and folded where it would be tall.
#[derive(Debug, PartialEq)]
pub(super) struct Folded {
    pub width: f64,
    pub height: f64,
    /// 1 where nothing is folded.
    pub panels: usize,
    /// The middle of each box.
    pub boxes: Vec<Point>,
    /// For each edge.
    pub lines: Vec<EdgeLine>,
    pub routes: Vec<Route>,
}

/// The line of an edge, as far as it is in the panel where it ends.
#[derive(Debug, PartialEq)]
pub(super) struct EdgeLine {
    /// From a box or a mark to a box, down through the rows.
    pub points: Vec<Point>,
    /// What leads to the mark where it begins.
    pub route: Option<usize>,
}

/// The way of a value to a later panel that reads it.
#[derive(Debug, PartialEq)]
pub(super) struct Route {
    /// The box.
    pub of: usize,
    /// From the box through the rows to the foot of its panel.
    pub down: Vec<Point>,
    /// From the foot to the mark, along the axes.
    pub around: Vec<Point>,
    /// The middle of the mark.
    pub mark: Point,
    /// Where the route leaves that of the same value to an earlier panel: on the level part of `around` below the panels.
    pub branch: Option<Point>,
}

/// Lower pictures are seen at once, or nearly so.
const LOW: f64 = 1000.0;
/// How much higher than wide a picture may be.
pub(super) const TALL: f64 = 2.0;
/// The width of folded pictures, in heights: between 4:3 and 16:9.
const SHAPE: f64 = 1.55;
/// A picture of the most boxes, one below the other, has about 30.
const MOST_PANELS: usize = 40;

/// Places boxes in rows, edges going down. If the whole picture would be much higher than wide, its rows are folded into
/// panels. `whole` says how wide and high it is with margins and with the lines above.
///
/// # Errors
/// `unsupported`, for too many boxes.
pub(super) fn laid_out(graph: &Graph<'_>, whole: impl Fn(&Folded) -> (f64, f64)) -> Result<Folded> {
    let rows = rows(graph.boxes.len(), graph.edges)?;
    let mut best = Folded::straight(layout(graph.boxes, graph.edges, &rows));
    let (width, height) = whole(&best);
    if height <= LOW || height <= TALL * width {
        return Ok(best);
    }
    let shape = |folded: &Folded| {
        let (width, height) = whole(folded);
        width / height
    };
    // As far from the wanted shape, in either direction.
    let distance = |folded: &Folded| (shape(folded) / SHAPE).ln().abs();
    let rows = RowCuts::new(graph, rows);
    for panels in 2..=MOST_PANELS.min(rows.count()) {
        let next = rows.folded(graph, &rows.starts(panels));
        let is_enough = shape(&next) >= SHAPE;
        if distance(&next) < distance(&best) {
            best = next;
        }
        if is_enough {
            break;
        }
    }
    Ok(best)
}

impl Folded {
    fn straight(layout: Layout) -> Self {
        let lines = layout.lines.into_iter();
        Folded {
            width: layout.width,
            height: layout.height,
            panels: 1,
            boxes: layout.boxes,
            lines: lines
                .map(|points| EdgeLine {
                    points,
                    route: None,
                })
                .collect(),
            routes: Vec::new(),
        }
    }
}
