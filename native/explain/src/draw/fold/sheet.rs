//! Panels beside each other, and the ways of values between them.

use std::collections::{BTreeMap, BTreeSet};

use super::{EdgeLine, Folded, Graph, Route};
use crate::draw::layout::{LINE_WIDTH, Point, Sized, layout};

/// Between lines on the way from panel to panel.
pub(super) const TRACK: f64 = LINE_WIDTH;
/// From a panel to the first track beside it, below it and above it.
const SIDE: f64 = 30.0;
const BELOW: f64 = 12.0;
const ABOVE: f64 = 16.0;

/// What stands in a panel, in the order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    /// A value of this box comes in here.
    Mark(usize),
    Box(usize),
    /// The value of this box leaves here.
    Foot(usize),
}

/// A panel before it is laid out.
pub(super) struct Panel {
    foot: usize,
    /// With their rows.
    pub spots: BTreeMap<Spot, usize>,
    edges: BTreeSet<(Spot, Spot)>,
}

impl Panel {
    pub fn new(rows: usize) -> Self {
        Panel {
            foot: rows + 1,
            spots: BTreeMap::new(),
            edges: BTreeSet::new(),
        }
    }

    pub fn join(&mut self, from: Spot, to: Spot) {
        for spot in [from, to] {
            match spot {
                Spot::Mark(_) => self.spots.insert(spot, 0),
                Spot::Box(_) => None,
                Spot::Foot(_) => self.spots.insert(spot, self.foot),
            };
        }
        self.edges.insert((from, to));
    }

    pub fn layout(&self, graph: &Graph<'_>) -> PanelLayout {
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
pub(super) struct PanelLayout {
    width: f64,
    height: f64,
    /// The middle of each.
    spots: BTreeMap<Spot, Point>,
    lines: BTreeMap<(Spot, Spot), Vec<Point>>,
}

/// Panels beside each other, and the tracks between them.
pub(super) struct Sheet {
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
    pub fn new(
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

    pub fn folded(&self, graph: &Graph<'_>, places: &[(usize, usize)]) -> Folded {
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
