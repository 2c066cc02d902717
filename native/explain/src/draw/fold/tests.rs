use proptest::prelude::*;

use super::{sheet::TRACK, *};

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
        cuts.folded(&graph, &cuts.starts(panels.min(cuts.count())))
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
