//! Tall pictures in panels beside each other, which are read like the columns of a newspaper.
//!
//! A panel holds some rows of the picture, laid out on their own. A value that a later panel reads leaves at the foot of
//! its panel, runs below the panels, up the gap before its reader's, and comes in from above through a mark, which
//! shows what it is. These routes have tracks of their own: they lie on no box, and only routes of the same value lie on
//! each other. A box that reads nothing is in the panel of its first reader.
//!
//! Start at [`laid_out`].

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::Result;

use super::layout::{LINE_WIDTH, Layout, Point, ROW_GAP, Sized, heights, layout, rows};

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
/// What panels may be higher than with equal heights, to cut fewer lines.
const UNEVEN: f64 = 1.1;

/// Between lines on the way from panel to panel.
const TRACK: f64 = LINE_WIDTH;
/// From a panel to the first track beside it, below it and above it.
const SIDE: f64 = 30.0;
const BELOW: f64 = 12.0;
const ABOVE: f64 = 16.0;

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
    for panels in 2..=MOST_PANELS.min(rows.heights.len()) {
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

/// The rows of a picture, and what is lost by cutting between them.
struct RowCuts {
    /// Of each box.
    of: Vec<usize>,
    /// Whether a box reads none.
    is_source: Vec<bool>,
    /// Of each row, with the gap below it.
    heights: Vec<f64>,
    /// Of each row: how many values go over a cut before it, those of close boxes twice.
    cuts: Vec<usize>,
}

impl RowCuts {
    fn new(graph: &Graph<'_>, of: Vec<usize>) -> Self {
        let heights = heights(graph.boxes, &of).into_iter();
        let heights: Vec<f64> = heights.map(|(_, height)| height + ROW_GAP).collect();
        let mut is_source = vec![true; of.len()];
        for (_, to) in graph.edges {
            is_source[*to] = false;
        }
        let mut last = vec![(0, 0); of.len()];
        for ((from, to), is_close) in graph.edges.iter().zip(graph.is_close) {
            let (any, close) = &mut last[*from];
            *any = of[*to].max(*any);
            if *is_close {
                *close = of[*to].max(*close);
            }
        }
        let mut cuts = vec![0; heights.len()];
        for (place, (any, close)) in last.into_iter().enumerate() {
            let first = of[place] + usize::from(is_source[place]);
            for last in [any, close] {
                for cut in cuts.iter_mut().take(last + 1).skip(first + 1) {
                    *cut += 1;
                }
            }
        }
        RowCuts {
            of,
            is_source,
            heights,
            cuts,
        }
    }

    /// The first row of each panel, so that panels are about as high and few lines are cut. There are as many rows as
    /// panels at least.
    fn starts(&self, panels: usize) -> Vec<usize> {
        let count = self.heights.len();
        let tallest = self.heights.iter().copied().fold(0.0, f64::max);
        // With a row more than an even share, there always is a way.
        let most = UNEVEN * self.heights.iter().sum::<f64>() / panels as f64 + tallest;
        // The best way to divide the rows before each: the cost of cuts, then the sum of squared heights.
        let mut best: Vec<Option<(usize, f64)>> = vec![None; count + 1];
        best[0] = Some((0, 0.0));
        let mut lasts = Vec::new();
        for _ in 0..panels {
            let mut next: Vec<Option<(usize, f64)>> = vec![None; count + 1];
            let mut last = vec![0; count + 1];
            for end in 1..=count {
                let mut height = 0.0;
                for start in (0..end).rev() {
                    height += self.heights[start];
                    if height > most {
                        break;
                    }
                    let Some((cost, squares)) = best[start] else {
                        continue;
                    };
                    let candidate = (cost + self.cuts[start], squares + height * height);
                    if next[end].is_none_or(|known| candidate < known) {
                        next[end] = Some(candidate);
                        last[end] = start;
                    }
                }
            }
            best = next;
            lasts.push(last);
        }
        let mut end = count;
        let mut starts: Vec<usize> = lasts
            .iter()
            .rev()
            .map(|last| {
                end = last[end];
                end
            })
            .collect();
        starts.reverse();
        starts
    }

    /// The panel of a box, and its row there: row 0 is for marks and what is first read in row 1.
    fn place(&self, starts: &[usize], place: usize) -> (usize, usize) {
        let read = self.of[place] + usize::from(self.is_source[place]);
        let row = read.min(self.heights.len() - 1);
        let panel = starts.partition_point(|start| *start <= row) - 1;
        (panel, self.of[place] + 1 - starts[panel])
    }

    fn folded(&self, graph: &Graph<'_>, starts: &[usize]) -> Folded {
        let places: Vec<(usize, usize)> = (0..self.of.len())
            .map(|place| self.place(starts, place))
            .collect();
        let ends = starts.iter().skip(1).copied().chain([self.heights.len()]);
        let mut panels: Vec<Panel> = starts
            .iter()
            .zip(ends)
            .map(|(start, end)| Panel::new(end - start))
            .collect();
        for (place, (panel, row)) in places.iter().enumerate() {
            panels[*panel].spots.insert(Spot::Box(place), *row);
        }
        let mut routes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (from, to) in graph.edges {
            let (out, into) = (places[*from].0, places[*to].0);
            if out == into {
                panels[out].join(Spot::Box(*from), Spot::Box(*to));
                continue;
            }
            panels[out].join(Spot::Box(*from), Spot::Foot(*from));
            panels[into].join(Spot::Mark(*from), Spot::Box(*to));
            routes.entry(*from).or_default().insert(into);
        }
        let placed = panels.iter().map(|panel| panel.layout(graph)).collect();
        let sheet = Sheet::new(placed, &places, routes);
        sheet.folded(graph, &places)
    }
}

/// What stands in a panel, in the order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    /// A value of this box comes in here.
    Mark(usize),
    Box(usize),
    /// The value of this box leaves here.
    Foot(usize),
}

/// A panel before it is laid out.
struct Panel {
    foot: usize,
    /// With their rows.
    spots: BTreeMap<Spot, usize>,
    edges: BTreeSet<(Spot, Spot)>,
}

impl Panel {
    fn new(rows: usize) -> Self {
        Panel {
            foot: rows + 1,
            spots: BTreeMap::new(),
            edges: BTreeSet::new(),
        }
    }

    fn join(&mut self, from: Spot, to: Spot) {
        for spot in [from, to] {
            match spot {
                Spot::Mark(_) => self.spots.insert(spot, 0),
                Spot::Box(_) => None,
                Spot::Foot(_) => self.spots.insert(spot, self.foot),
            };
        }
        self.edges.insert((from, to));
    }

    fn layout(&self, graph: &Graph<'_>) -> PanelLayout {
        let sizes: Vec<Sized> = self
            .spots
            .keys()
            .map(|spot| match spot {
                Spot::Mark(of) => graph.marks[*of],
                Spot::Box(place) => graph.boxes[*place],
                Spot::Foot(_) => Sized {
                    width: LINE_WIDTH,
                    height: 0.0,
                },
            })
            .collect();
        let first = self.spots.values().min().copied().unwrap_or(0);
        let rows: Vec<usize> = self.spots.values().map(|row| row - first).collect();
        let numbers = self.spots.keys().enumerate();
        let numbers: BTreeMap<Spot, usize> =
            numbers.map(|(number, spot)| (*spot, number)).collect();
        let edges: Vec<(usize, usize)> = self
            .edges
            .iter()
            .map(|(from, to)| (numbers[from], numbers[to]))
            .collect();
        let layout = layout(&sizes, &edges, &rows);
        PanelLayout {
            width: layout.width,
            height: layout.height,
            spots: self.spots.keys().copied().zip(layout.boxes).collect(),
            lines: self.edges.iter().copied().zip(layout.lines).collect(),
        }
    }
}

/// A panel that is laid out.
struct PanelLayout {
    width: f64,
    height: f64,
    /// The middle of each.
    spots: BTreeMap<Spot, Point>,
    lines: BTreeMap<(Spot, Spot), Vec<Point>>,
}

/// Panels beside each other, and the tracks between them.
struct Sheet {
    panels: Vec<PanelLayout>,
    /// The left side of each panel.
    lefts: Vec<f64>,
    /// The top of all panels.
    top: f64,
    /// The height of the track of each value that leaves its panel.
    below: BTreeMap<usize, f64>,
    height: f64,
    /// By value and panel: where the track in the gap is, and the one above the panel.
    into: BTreeMap<(usize, usize), (f64, f64)>,
}

/// A value on its way below the panels.
struct Lane {
    of: usize,
    panels: usize,
    from: f64,
    to: f64,
    track: usize,
}

impl Sheet {
    fn new(
        panels: Vec<PanelLayout>,
        places: &[(usize, usize)],
        routes: BTreeMap<usize, BTreeSet<usize>>,
    ) -> Self {
        let mut into = vec![Vec::new(); panels.len()];
        for (of, readers) in &routes {
            for panel in readers {
                into[*panel].push(*of);
            }
        }
        let most = into.iter().map(Vec::len).max().unwrap_or(0);
        let top = most as f64 * TRACK + ABOVE;
        let mut lefts = Vec::new();
        let mut right = 0.0;
        for (panel, values) in panels.iter().zip(&into) {
            let left = match lefts.is_empty() {
                true => 0.0,
                false => right + 2.0 * SIDE + TRACK * values.len().saturating_sub(1) as f64,
            };
            lefts.push(left);
            right = left + panel.width;
        }
        let highest = panels.iter().map(|panel| panel.height).fold(0.0, f64::max);

        let lanes = routes.iter().map(|(of, readers)| {
            let (panel, last) = (places[*of].0, readers.last().copied().unwrap_or(0));
            Lane {
                of: *of,
                panels: last - panel,
                from: lefts[panel] + panels[panel].spots[&Spot::Foot(*of)].x,
                to: lefts[last],
                track: 0,
            }
        });
        let lanes = with_tracks(lanes.collect());
        let tracks: BTreeMap<usize, usize> =
            lanes.iter().map(|lane| (lane.of, lane.track)).collect();
        let deepest = tracks.values().max().copied().unwrap_or(0);
        let base = top + highest + BELOW;
        let below = |track: usize| base + TRACK * track as f64;

        let mut found = BTreeMap::new();
        for (panel, mut values) in into.into_iter().enumerate() {
            // Turns lie inside each other: the deepest goes up last, and comes in lowest.
            values.sort_by_key(|of| tracks[of]);
            let count = values.len();
            for (number, of) in values.into_iter().enumerate() {
                let before = SIDE + TRACK * (count - 1 - number) as f64;
                let above = ABOVE + TRACK * (count - 1 - number) as f64;
                found.insert((of, panel), (lefts[panel] - before, top - above));
            }
        }
        Sheet {
            panels,
            lefts,
            top,
            height: below(deepest),
            below: tracks
                .iter()
                .map(|(of, track)| (*of, below(*track)))
                .collect(),
            into: found,
        }
    }

    fn folded(&self, graph: &Graph<'_>, places: &[(usize, usize)]) -> Folded {
        let spot = |panel: usize, spot: Spot| self.shifted(panel, self.panels[panel].spots[&spot]);
        let down = |panel: usize, from: Spot, to: Spot| -> Vec<Point> {
            let line = self.panels[panel].lines[&(from, to)].iter();
            line.map(|point| self.shifted(panel, *point)).collect()
        };
        let mut routes: Vec<Route> = Vec::new();
        let mut numbers = BTreeMap::new();
        for ((of, panel), (up, above)) in &self.into {
            let out = places[*of].0;
            let (foot, mark) = (spot(out, Spot::Foot(*of)), spot(*panel, Spot::Mark(*of)));
            let below = self.below[of];
            let around = [
                (foot.x, foot.y),
                (foot.x, below),
                (*up, below),
                (*up, *above),
                (mark.x, *above),
                (mark.x, mark.y - graph.marks[*of].height / 2.0),
            ];
            numbers.insert((*of, *panel), routes.len());
            let before = routes.last().filter(|before| before.of == *of);
            let branch = before.map(|before| before.around[2]);
            routes.push(Route {
                of: *of,
                down: down(out, Spot::Box(*of), Spot::Foot(*of)),
                around: around.map(|(x, y)| Point { x, y }).to_vec(),
                mark,
                branch,
            });
        }
        let lines = graph.edges.iter().map(|(from, to)| {
            let (out, into) = (places[*from].0, places[*to].0);
            let (start, route) = match out == into {
                true => (Spot::Box(*from), None),
                false => (Spot::Mark(*from), numbers.get(&(*from, into)).copied()),
            };
            EdgeLine {
                points: down(into, start, Spot::Box(*to)),
                route,
            }
        });
        let rights = self.lefts.iter().zip(&self.panels);
        let rights = rights.map(|(left, panel)| left + panel.width);
        Folded {
            width: rights.fold(0.0, f64::max),
            height: self.height,
            panels: self.panels.len(),
            boxes: places
                .iter()
                .enumerate()
                .map(|(place, (panel, _))| spot(*panel, Spot::Box(place)))
                .collect(),
            lines: lines.collect(),
            routes,
        }
    }

    fn shifted(&self, panel: usize, point: Point) -> Point {
        Point {
            x: self.lefts[panel] + point.x,
            y: self.top + point.y,
        }
    }
}

/// Lanes with tracks from above, so that those that overlap have different ones and turns lie inside each other: short
/// ones above long ones, and of those, what begins further right.
fn with_tracks(mut lanes: Vec<Lane>) -> Vec<Lane> {
    lanes.sort_by(|one, two| {
        let panels = one.panels.cmp(&two.panels);
        panels.then(two.from.total_cmp(&one.from))
    });
    let mut done: Vec<Lane> = Vec::new();
    for lane in lanes {
        let above = done
            .iter()
            .filter(|other| lane.from <= other.to && other.from <= lane.to);
        let track = above.map(|other| other.track + 1).max().unwrap_or(0);
        done.push(Lane { track, ..lane });
    }
    done
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Dag {
        boxes: Vec<Sized>,
        marks: Vec<Sized>,
        edges: Vec<(usize, usize)>,
        is_close: Vec<bool>,
    }

    impl Dag {
        fn new(boxes: usize, edges: Vec<(usize, usize)>) -> Self {
            let size = |place: usize| Sized {
                width: 90.0 + 20.0 * (place % 7) as f64,
                height: if place.is_multiple_of(5) { 40.0 } else { 70.0 },
            };
            let mark = |place: usize| Sized {
                width: if place < 10 { 28.0 } else { 36.0 },
                height: 19.0,
            };
            Dag {
                boxes: (0..boxes).map(size).collect(),
                marks: (0..boxes).map(mark).collect(),
                is_close: edges.iter().map(|(from, _)| from % 4 > 1).collect(),
                edges,
            }
        }

        /// A chain; every so often a value is read again much later, and another box is read.
        fn chain(length: usize) -> Self {
            let steps = (1..length).map(|to| (to - 1, to));
            let later = (0..length).step_by(9).map(|from| (from, from + 17));
            let side = (0..length / 6).flat_map(|number| {
                let place = length + number;
                [(place, 6 * number + 1), (place, 6 * number + 4)]
            });
            let edges = steps.chain(later.filter(|(_, to)| *to < length));
            // Boxes that are read come before their readers.
            let last = length + length / 6;
            let name = |place: usize| (place + length / 6) % last;
            let named = edges.chain(side).map(|(from, to)| (name(from), name(to)));
            Dag::new(last, named.collect())
        }

        fn graph(&self) -> Graph<'_> {
            Graph {
                boxes: &self.boxes,
                marks: &self.marks,
                edges: &self.edges,
                is_close: &self.is_close,
            }
        }

        fn laid_out(&self) -> Folded {
            laid_out(&self.graph(), whole).unwrap()
        }

        fn folded(&self, panels: usize) -> Folded {
            let graph = self.graph();
            let rows = rows(self.boxes.len(), &self.edges).unwrap();
            let cuts = RowCuts::new(&graph, rows);
            cuts.folded(&graph, &cuts.starts(panels.min(cuts.heights.len())))
        }
    }

    /// With margins, and lines above.
    fn whole(folded: &Folded) -> (f64, f64) {
        (folded.width + 48.0, folded.height + 120.0)
    }

    #[derive(Debug, Clone, Copy)]
    struct Area {
        from: Point,
        to: Point,
    }

    impl Area {
        fn around(middle: Point, size: &Sized) -> Self {
            let (x, y) = (size.width / 2.0, size.height / 2.0);
            Area {
                from: point(middle.x - x, middle.y - y),
                to: point(middle.x + x, middle.y + y),
            }
        }

        /// That of a part of a route: a track's room in its middle.
        fn along(step: &[Point]) -> Self {
            let half = TRACK / 2.0 - 0.1;
            let is_level = step[0].y == step[1].y;
            let (x, y) = if is_level { (0.0, half) } else { (half, 0.0) };
            Area {
                from: point(step[0].x.min(step[1].x) - x, step[0].y.min(step[1].y) - y),
                to: point(step[0].x.max(step[1].x) + x, step[0].y.max(step[1].y) + y),
            }
        }

        fn meets(&self, other: &Area) -> bool {
            self.from.x < other.to.x - 1e-6
                && other.from.x < self.to.x - 1e-6
                && self.from.y < other.to.y - 1e-6
                && other.from.y < self.to.y - 1e-6
        }
    }

    fn point(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    fn is_near(one: Point, two: Point) -> bool {
        (one.x - two.x).abs() < 1e-6 && (one.y - two.y).abs() < 1e-6
    }

    /// What holds of all pictures.
    fn check(dag: &Dag, folded: &Folded) {
        let boxes = folded.boxes.iter().zip(&dag.boxes);
        let marks = folded
            .routes
            .iter()
            .map(|route| (&route.mark, &dag.marks[route.of]));
        let areas: Vec<Area> = boxes
            .chain(marks)
            .map(|(middle, size)| Area::around(*middle, size))
            .collect();
        let sheet = point(folded.width, folded.height);
        for (number, area) in areas.iter().enumerate() {
            let is_in = |point: Point| {
                (-1e-6..=sheet.x + 1e-6).contains(&point.x)
                    && (-1e-6..=sheet.y + 1e-6).contains(&point.y)
            };
            assert!(is_in(area.from) && is_in(area.to), "{area:?} in {sheet:?}");
            for other in &areas[..number] {
                assert!(!area.meets(other), "{area:?} {other:?}");
            }
        }
        let foot = |area: &Area| point((area.from.x + area.to.x) / 2.0, area.to.y);
        let head = |area: &Area| point((area.from.x + area.to.x) / 2.0, area.from.y);
        let goes = |points: &[Point], from: Point, to: Point| {
            let ends = is_near(points[0], from) && is_near(points[points.len() - 1], to);
            assert!(ends, "{points:?} from {from:?} to {to:?}");
        };
        let goes_down = |points: &[Point]| points.windows(2).all(|step| step[0].y < step[1].y);
        let marks = &areas[dag.boxes.len()..];
        assert_eq!(folded.lines.len(), dag.edges.len());
        for ((from, to), line) in dag.edges.iter().zip(&folded.lines) {
            let start = match line.route {
                Some(route) => {
                    assert_eq!(folded.routes[route].of, *from);
                    &marks[route]
                }
                None => &areas[*from],
            };
            goes(&line.points, foot(start), head(&areas[*to]));
            assert!(goes_down(&line.points));
        }
        let mut routes: Vec<(usize, Area, bool)> = Vec::new();
        for (route, mark) in folded.routes.iter().zip(marks) {
            goes(&route.down, foot(&areas[route.of]), route.around[0]);
            goes(&route.around, route.around[0], head(mark));
            assert!(goes_down(&route.down));
            for step in route.around.windows(2) {
                let (x, y) = (step[0].x - step[1].x, step[0].y - step[1].y);
                assert!(x == 0.0 || y == 0.0, "{step:?}");
                routes.push((route.of, Area::along(step), y == 0.0));
            }
            if let Some(branch) = route.branch {
                let (from, to) = (route.around[1], route.around[2]);
                assert!(branch.y == from.y && from.x < branch.x && branch.x < to.x);
            }
        }
        for (number, (of, route, is_level)) in routes.iter().enumerate() {
            for area in &areas {
                assert!(!route.meets(area), "{route:?} lies on {area:?}");
            }
            for (other_of, other, other_is_level) in &routes[..number] {
                let may_meet = of == other_of || is_level != other_is_level;
                assert!(may_meet || !route.meets(other), "{route:?} {other:?}");
            }
        }
    }

    #[test]
    fn chains_of_any_length_are_wider_than_high() {
        for length in (5..50).chain((50..=200).step_by(10)) {
            let plain = (1..length).map(|to| (to - 1, to)).collect();
            for dag in [Dag::new(length, plain), Dag::chain(length)] {
                let folded = dag.laid_out();
                check(&dag, &folded);
                let (width, height) = whole(&folded);
                let is_small = folded.panels == 1 && height <= LOW;
                let shape = width / height;
                assert!(is_small || (1.1..2.2).contains(&shape), "{length}: {shape}");
            }
        }
    }

    #[test]
    fn a_picture_is_always_the_same() {
        let dag = Dag::chain(120);
        let first = dag.laid_out();
        assert!(first.panels > 2);
        for _ in 0..4 {
            assert_eq!(first, dag.laid_out());
        }
    }

    #[test]
    fn low_and_wide_pictures_stay_whole() {
        let chain = Dag::new(8, (1..8).map(|to| (to - 1, to)).collect());
        assert_eq!(chain.laid_out().panels, 1);
        // Twelve chains beside each other.
        let chains = Dag::new(240, (12..240).map(|to| (to - 12, to)).collect());
        let folded = chains.laid_out();
        assert!(folded.panels == 1 && folded.height > LOW);
    }

    #[test]
    fn fused_operators_are_not_cut() {
        // In pairs: a cut may be between any, and the middle is in a pair.
        let mut dag = Dag::new(22, (1..22).map(|to| (to - 1, to)).collect());
        dag.is_close = dag.edges.iter().map(|(from, _)| from % 2 == 0).collect();
        let folded = dag.laid_out();
        assert!(folded.panels > 1);
        for (line, is_close) in folded.lines.iter().zip(&dag.is_close) {
            assert!(line.route.is_none() || !is_close);
        }
    }

    #[test]
    fn inputs_stand_with_their_first_reader() {
        // Each step of the chain reads a box of its own.
        let steps = (1..30).flat_map(|step| [(2 * step - 2, 2 * step), (2 * step - 1, 2 * step)]);
        let dag = Dag::new(59, steps.collect());
        let folded = dag.folded(3);
        check(&dag, &folded);
        assert_eq!((folded.panels, folded.routes.len()), (3, 2));
    }

    proptest! {
        #[test]
        fn lines_join_boxes_in_any_picture(
            inputs in prop::collection::vec(prop::collection::btree_set(1usize..12, 0..3), 2..70),
            panels in 2usize..7,
        ) {
            let edges = inputs.iter().enumerate().flat_map(|(to, back)| {
                let inputs = back.iter().filter(move |back| **back <= to);
                inputs.map(move |back| (to - back, to))
            });
            let dag = Dag::new(inputs.len(), edges.collect());
            check(&dag, &dag.folded(panels));
        }
    }
}
