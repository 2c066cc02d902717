//! Pictures of long scripts: they are folded, and stay what they are.

use std::collections::BTreeMap;

use fulgurite_program::{ExplainFormat, ExplainLevel};

use crate::explain::{explained, request};

/// A chain of cell-wise operators, products, and aggregates that are read at once.
fn chain(length: usize, indent: &str) -> String {
    let step = |number: usize| match number % 6 {
        0 => format!("{indent}R = R + {}\n", number + 2),
        1 => format!("{indent}R = exp(R)\n"),
        2 => format!("{indent}R = R %*% W\n"),
        3 => format!("{indent}R = cumsum(R)\n"),
        4 => format!("{indent}R = R / rowSums(R)\n"),
        _ => format!("{indent}R = abs(R)\n"),
    };
    (0..length).map(step).collect()
}

fn drawn(script: &str, level: ExplainLevel, format: ExplainFormat) -> String {
    let mut request = request(script, &[("X", 10000, 20), ("W", 20, 20)]);
    (request.level, request.format) = (level, format);
    explained(&request)
}

#[test]
fn a_chain_of_forty_operators() {
    let script = format!("R = X\n{}", chain(40, ""));
    insta::assert_snapshot!(drawn(&script, ExplainLevel::Plan, ExplainFormat::Svg));
}

/// A rectangle of a picture, by its left, top, right and bottom side.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rect([f64; 4]);

impl Rect {
    fn holds(&self, other: &Rect) -> bool {
        let (Rect([left, top, right, bottom]), Rect(other)) = (self, other);
        *left <= other[0] && *top <= other[1] && other[2] <= *right && other[3] <= *bottom
    }

    fn meets(&self, other: &Rect) -> bool {
        let (Rect([left, top, right, bottom]), Rect(other)) = (self, other);
        *left < other[2] && other[0] < *right && *top < other[3] && other[1] < *bottom
    }
}

/// What stands where in a picture.
#[derive(Debug, Default)]
struct Seen {
    size: (f64, f64),
    /// With the frames around them, by place in `frames`.
    boxes: Vec<(Rect, Vec<usize>)>,
    marks: Vec<Rect>,
    frames: Vec<Rect>,
    /// Where lines begin, at boxes or marks, and where they end.
    ends: Vec<[(f64, f64); 2]>,
}

fn attribute(tag: &str, name: &str) -> f64 {
    let text = tag.split(&format!(" {name}=\"")).nth(1);
    let text = text.and_then(|text| text.split('"').next());
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("{name} of {tag}"))
}

/// Numbers are parts of paths and shifts.
fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-')))
        .filter_map(|text| text.parse().ok())
        .collect()
}

impl Seen {
    fn new(picture: &str) -> Self {
        let mut seen = Seen::default();
        // Of each open group: how far it is shifted, and the frames that are around.
        let mut groups: Vec<((f64, f64), Vec<usize>)> = vec![((0.0, 0.0), Vec::new())];
        let mut is_mark = false;
        for tag in picture.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            let ((x, y), around) = groups.last().cloned().expect("a group");
            let rect = || {
                let (left, top) = (x + attribute(tag, "x"), y + attribute(tag, "y"));
                Rect([
                    left,
                    top,
                    left + attribute(tag, "width"),
                    top + attribute(tag, "height"),
                ])
            };
            if tag.starts_with("svg ") {
                seen.size = (attribute(tag, "width"), attribute(tag, "height"));
            } else if tag == "/g" {
                groups.pop();
                is_mark = false;
            } else if tag.starts_with("g ") || tag == "g" {
                is_mark = tag.contains("class=\"mark\"");
                let shift = tag.split("translate(").nth(1).map_or(Vec::new(), numbers);
                let shift = (shift.first().unwrap_or(&0.0), shift.get(1).unwrap_or(&0.0));
                groups.push(((x + shift.0, y + shift.1), around));
            } else if tag.starts_with("rect class=\"box") && is_mark {
                seen.marks.push(rect());
            } else if tag.starts_with("rect class=\"box") {
                seen.boxes.push((rect(), around));
            } else if tag.starts_with("rect class=\"frame\"") {
                seen.frames.push(rect());
                if let Some((_, around)) = groups.last_mut() {
                    around.push(seen.frames.len() - 1);
                }
            } else if tag.starts_with("path class=\"edge") && !is_mark {
                let path = numbers(tag.split(" d=\"").nth(1).expect("a path"));
                let end = |at: usize| (x + path[at], y + path[at + 1]);
                seen.ends.push([end(0), end(path.len() - 2)]);
            }
        }
        seen
    }

    /// Boxes and marks lie on no other, in their frames, and lines begin and end at boxes.
    fn check(&self) {
        let boxes = self.boxes.iter().map(|(rect, _)| rect);
        let all: Vec<&Rect> = boxes.clone().chain(&self.marks).collect();
        for (number, one) in all.iter().enumerate() {
            assert!(
                all[..number].iter().all(|other| !one.meets(other)),
                "{one:?}"
            );
            assert!(
                Rect([0.0, 0.0, self.size.0, self.size.1]).holds(one),
                "{one:?}"
            );
        }
        for (rect, around) in &self.boxes {
            for frame in 0..self.frames.len() {
                let own = &self.frames[frame];
                match around.contains(&frame) {
                    true => assert!(own.holds(rect), "{rect:?} in {own:?}"),
                    false => assert!(!own.meets(rect), "{rect:?} beside {own:?}"),
                }
            }
        }
        for (number, one) in self.frames.iter().enumerate() {
            for other in &self.frames[..number] {
                assert!(!one.meets(other) || other.holds(one), "{one:?} {other:?}");
            }
        }
        // Numbers are rounded to a tenth.
        let is_near = |one: f64, two: f64| (one - two).abs() < 0.21;
        for [from, to] in &self.ends {
            let is_side = |Rect(sides): &Rect, side: usize, point: &(f64, f64)| {
                is_near((sides[0] + sides[2]) / 2.0, point.0) && is_near(sides[side], point.1)
            };
            assert!(all.iter().any(|rect| is_side(rect, 3, from)), "{from:?}");
            assert!(boxes.clone().any(|rect| is_side(rect, 1, to)), "{to:?}");
        }
    }
}

#[test]
fn long_chains_are_folded() {
    for level in [
        ExplainLevel::Hops,
        ExplainLevel::Partitions,
        ExplainLevel::Plan,
    ] {
        for length in [5, 12, 40, 90, 200] {
            let script = format!("R = X\n{}", chain(length, ""));
            let picture = drawn(&script, level, ExplainFormat::Svg);
            let seen = Seen::new(&picture);
            seen.check();
            assert!(seen.boxes.len() > length && seen.ends.len() > length);
            let (width, height) = seen.size;
            let shape = width / height;
            assert_eq!(seen.marks.is_empty(), height < 1100.0 && length < 12);
            assert!(
                height < 1100.0 || (1.0..2.0).contains(&shape),
                "{level} {length}: {shape}"
            );
            assert_eq!(picture, drawn(&script, level, ExplainFormat::Svg));
        }
    }
}

#[test]
fn frames_are_folded_inside() {
    let (outer, inner) = (chain(25, "  "), chain(30, "    "));
    let script = format!(
        "R = X\nfor (i in 1:3) {{\n{outer}  if (sum(R) > i) {{\n{inner}  }} else {{\n    R = R * i\n  }}\n}}\n\
         R = R + 1"
    );
    let picture = drawn(&script, ExplainLevel::Plan, ExplainFormat::Svg);
    let seen = Seen::new(&picture);
    seen.check();
    assert_eq!(seen.frames.len(), 3);
    let mut blocks: BTreeMap<&[usize], usize> = BTreeMap::new();
    for (_, around) in &seen.boxes {
        *blocks.entry(around).or_default() += 1;
    }
    assert!(
        blocks[&[0][..]] > 25 && blocks[&[0, 1][..]] > 30,
        "{blocks:?}"
    );
    assert!(!seen.marks.is_empty());
}

/// The page's links to marked values lead to their boxes.
#[test]
fn marks_lead_to_their_values() {
    let page = drawn(
        &format!("R = X\n{}", chain(40, "")),
        ExplainLevel::Plan,
        ExplainFormat::Html,
    );
    let marks: Vec<&str> = page
        .split("<a href=\"#")
        .filter_map(|link| link.split_once("\"><g class=\"mark\">"))
        .map(|(name, _)| name)
        .collect();
    assert!(!marks.is_empty());
    for name in marks {
        assert!(
            page.contains(&format!("<g class=\"node\" id=\"{name}\">")),
            "{name}"
        );
    }
}
