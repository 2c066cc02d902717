//! Where boxes and lines go: rows by distance from what is read, places in a row by `rust-sugiyama`, which keeps
//! lines short and few of them crossing.
//!
//! A line over several rows goes through a place of its own in each, so that it passes between boxes.

use fulgurite_error::{Error, Result};
use rust_sugiyama::{configure::Config, from_vertices_and_edges};

/// A box to place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sized {
    pub width: f64,
    pub height: f64,
}

pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    /// The middle of each box.
    pub boxes: Vec<Point>,
    /// For each line, where it begins, what it goes through, and where it ends.
    pub lines: Vec<Vec<Point>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

/// Larger pictures say nothing to anyone, and take long to place.
const MOST_BOXES: usize = 1000;

/// Between boxes of a row, and between rows.
const COLUMN_GAP: f64 = 26.0;
pub(super) const ROW_GAP: f64 = 44.0;
/// What a line takes between boxes.
pub(super) const LINE_WIDTH: f64 = 12.0;

/// Places boxes in their rows, edges going down. Each edge goes from a row to a later one.
pub(super) fn layout(boxes: &[Sized], edges: &[(usize, usize)], rows: &[usize]) -> Layout {
    let (vertices, ways) = vertices(boxes, edges, rows);
    let columns = columns(&vertices, &ways);
    let heights = heights(boxes, rows);
    let point = |vertex: usize| Point {
        x: columns[vertex],
        y: heights[vertices[vertex].row].0,
    };
    let half = |place: usize| boxes[place].height / 2.0;
    let lines = ways.iter().zip(edges).map(|(way, (from, to))| {
        let mut line: Vec<Point> = way.iter().map(|vertex| point(*vertex)).collect();
        if let [first, .., last] = &mut line[..] {
            first.y += half(*from);
            last.y -= half(*to);
        }
        line
    });
    let right = (0..vertices.len()).map(|vertex| columns[vertex] + vertices[vertex].width / 2.0);
    Layout {
        width: right.fold(0.0, f64::max),
        height: heights
            .last()
            .map_or(0.0, |(middle, height)| middle + height / 2.0),
        boxes: (0..boxes.len()).map(point).collect(),
        lines: lines.collect(),
    }
}

/// The row of each box: its longest way from a box that reads nothing. Such boxes stand right above their first
/// reader. Each edge goes from an earlier box to a later one.
///
/// # Errors
/// `unsupported`, for too many boxes.
pub(super) fn rows(boxes: usize, edges: &[(usize, usize)]) -> Result<Vec<usize>> {
    if boxes > MOST_BOXES {
        return Err(Error::unsupported(format!(
            "a block of {boxes} operators can't be drawn: at most {MOST_BOXES} can"
        ))
        .with_help(
            "--format dot leaves drawing to Graphviz; --format text and json have no limit",
        ));
    }
    let mut rows = vec![0; boxes];
    let mut sorted = edges.to_vec();
    sorted.sort_unstable_by_key(|(_, to)| *to);
    for (from, to) in &sorted {
        rows[*to] = rows[*to].max(rows[*from] + 1);
    }
    for place in 0..boxes {
        let reads = edges.iter().any(|(_, to)| *to == place);
        let readers = edges.iter().filter(|(from, _)| *from == place);
        if let Some(first) = readers.map(|(_, to)| rows[*to]).min().filter(|_| !reads) {
            rows[place] = first - 1;
        }
    }
    Ok(rows)
}

struct Vertex {
    row: usize,
    width: f64,
}

/// Boxes first, then the places of lines in the rows between; and for each line what it goes through.
fn vertices(
    boxes: &[Sized],
    edges: &[(usize, usize)],
    rows: &[usize],
) -> (Vec<Vertex>, Vec<Vec<usize>>) {
    let box_vertex = |(place, size): (usize, &Sized)| Vertex {
        row: rows[place],
        width: size.width,
    };
    let mut vertices: Vec<Vertex> = boxes.iter().enumerate().map(box_vertex).collect();
    let mut ways = Vec::new();
    for (from, to) in edges {
        let mut way = vec![*from];
        for row in rows[*from] + 1..rows[*to] {
            way.push(vertices.len());
            vertices.push(Vertex {
                row,
                width: LINE_WIDTH,
            });
        }
        way.push(*to);
        ways.push(way);
    }
    (vertices, ways)
}

/// The middle of each vertex in its row; parts that hang together stand side by side.
fn columns(vertices: &[Vertex], ways: &[Vec<usize>]) -> Vec<f64> {
    // Wider than high: the library turns the drawing by size, and rows have their own heights here.
    let sized = vertices.iter().enumerate();
    let sized: Vec<(u32, (f64, f64))> = sized
        .map(|(place, vertex)| (place as u32, (vertex.width, 1.0)))
        .collect();
    let steps = ways.iter().flat_map(|way| way.windows(2));
    let steps: Vec<(u32, u32)> = steps.map(|step| (step[0] as u32, step[1] as u32)).collect();
    let config = Config {
        vertex_spacing: COLUMN_GAP,
        ..Config::default()
    };
    let mut columns = vec![0.0; vertices.len()];
    let mut left = 0.0;
    for (part, _, _) in from_vertices_and_edges(&sized, &steps, &config) {
        let edge = |side: f64| {
            move |(vertex, (x, _)): &(usize, (f64, f64))| x + side * vertices[*vertex].width / 2.0
        };
        let from = part.iter().map(edge(-1.0)).fold(f64::INFINITY, f64::min);
        let to = part.iter().map(edge(1.0)).fold(f64::NEG_INFINITY, f64::max);
        for (vertex, (x, _)) in &part {
            columns[*vertex] = x - from + left;
        }
        left += to - from + COLUMN_GAP;
    }
    columns
}

/// The middle of each row, and its height.
pub(super) fn heights(boxes: &[Sized], rows: &[usize]) -> Vec<(f64, f64)> {
    let count = rows.iter().max().map_or(0, |last| last + 1);
    let mut heights = vec![(0.0, 0.0); count];
    for (size, row) in boxes.iter().zip(rows) {
        heights[*row].1 = f64::max(heights[*row].1, size.height);
    }
    let mut top = 0.0;
    for (middle, height) in &mut heights {
        *middle = top + *height / 2.0;
        top += *height + ROW_GAP;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> Vec<Sized> {
        let size = |place: usize| Sized {
            width: 60.0 + 10.0 * (place % 7) as f64,
            height: 40.0,
        };
        (0..count).map(size).collect()
    }

    fn laid_out(boxes: &[Sized], edges: &[(usize, usize)]) -> Layout {
        layout(boxes, edges, &rows(boxes.len(), edges).unwrap())
    }

    /// Pairs of boxes that overlap.
    fn overlaps(boxes: &[Sized], layout: &Layout) -> usize {
        let apart = |one: usize, two: usize| {
            let (a, b) = (layout.boxes[one], layout.boxes[two]);
            let width = (boxes[one].width + boxes[two].width) / 2.0;
            let height = (boxes[one].height + boxes[two].height) / 2.0;
            (a.x - b.x).abs() >= width || (a.y - b.y).abs() >= height
        };
        let pairs = (0..boxes.len()).flat_map(|one| (0..one).map(move |two| (one, two)));
        pairs.filter(|(one, two)| !apart(*one, *two)).count()
    }

    #[test]
    fn boxes_do_not_overlap_and_lines_go_down() {
        for (count, step) in [(1, 1), (7, 2), (40, 3), (120, 5)] {
            let boxes = boxes(count);
            let edges: Vec<(usize, usize)> = (1..count)
                .flat_map(|to| [(to - 1) / 2, to.saturating_sub(step)].map(|from| (from, to)))
                .filter(|(from, to)| from < to)
                .collect();
            let layout = laid_out(&boxes, &edges);
            assert_eq!(overlaps(&boxes, &layout), 0);
            for line in &layout.lines {
                assert!(line.windows(2).all(|step| step[0].y < step[1].y));
            }
            let inside = |point: &Point| (0.0..=layout.width).contains(&point.x);
            assert!(layout.boxes.iter().all(inside));
        }
    }

    #[test]
    fn what_is_not_connected_stands_beside() {
        let boxes = boxes(5);
        let layout = laid_out(&boxes, &[(0, 1), (2, 3)]);
        assert_eq!(overlaps(&boxes, &layout), 0);
    }

    #[test]
    fn too_large_pictures_are_refused() {
        let error = rows(1001, &[]).unwrap_err();
        assert_eq!(error.kind(), fulgurite_error::ErrorKind::Unsupported);
    }
}
