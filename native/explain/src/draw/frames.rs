//! Control flow around blocks, as frames around their pictures.

use super::{
    super::analysis::{Analysis, Section},
    Picture,
};

/// A function, a branch or a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Unique in the script.
    pub number: usize,
    pub title: String,
}

/// The frames around each block of the script, from the outside.
pub(super) fn of_blocks(analysis: &Analysis) -> Vec<Vec<Frame>> {
    let mut walk = Walk {
        around: Vec::new(),
        next: 0,
        found: vec![Vec::new(); analysis.blocks.len()],
    };
    for (name, sections) in &analysis.functions {
        walk.inside(format!("function {name}"), &[sections]);
    }
    walk.sections(&analysis.body);
    walk.found
}

struct Walk {
    around: Vec<Frame>,
    next: usize,
    found: Vec<Vec<Frame>>,
}

impl Walk {
    fn sections(&mut self, sections: &[Section]) {
        for section in sections {
            match section {
                Section::Block(place) => self.found[*place] = self.around.clone(),
                Section::If {
                    predicate,
                    then,
                    otherwise,
                } => {
                    self.inside("if".into(), &[predicate, then]);
                    self.inside("else".into(), &[otherwise]);
                }
                Section::While {
                    predicate, body, ..
                } => self.inside("while".into(), &[predicate, body]),
                Section::For {
                    variable,
                    parallel,
                    bounds,
                    body,
                    ..
                } => {
                    let kind = match parallel {
                        Some(_) => "parfor",
                        None => "for",
                    };
                    let bounds = bounds.iter().map(|(_, sections)| sections);
                    let all: Vec<&Vec<Section>> = bounds.chain([body]).collect();
                    self.inside(format!("{kind} {variable}"), &all);
                }
                Section::Call { .. } => {}
            }
        }
    }

    fn inside(&mut self, title: String, parts: &[&Vec<Section>]) {
        self.next += 1;
        self.around.push(Frame {
            number: self.next,
            title,
        });
        for sections in parts {
            self.sections(sections);
        }
        self.around.pop();
    }
}

/// What stands below each other: blocks, and frames with what is in them.
pub(super) enum Scene<'a, 'p> {
    Picture(&'a Picture<'p>),
    Frame(&'a Frame, Vec<Scene<'a, 'p>>),
}

/// The scenes of pictures that are in the same frames down to a depth.
pub(super) fn scenes<'a, 'p>(pictures: &'a [Picture<'p>], depth: usize) -> Vec<Scene<'a, 'p>> {
    let frame = |picture: &'a Picture<'p>| picture.frames.get(depth);
    let mut scenes = Vec::new();
    let mut rest = pictures;
    while let Some(first) = rest.first() {
        let Some(own) = frame(first) else {
            scenes.push(Scene::Picture(first));
            rest = &rest[1..];
            continue;
        };
        let inside = rest
            .iter()
            .take_while(|picture| frame(picture) == Some(own));
        let (group, others) = rest.split_at(inside.count());
        scenes.push(Scene::Frame(own, self::scenes(group, depth + 1)));
        rest = others;
    }
    scenes
}

#[cfg(test)]
mod tests {
    use fulgurite_config::Config;
    use fulgurite_program::{ExplainFormat, ExplainLevel, Request, Session};

    use crate::explain;

    #[test]
    fn loops_and_branches_are_frames_around_blocks() {
        let script = "X = rand(rows=9, cols=3)\nfor (i in 1:3) {\n  if (sum(X) > i) {\n    X = X + i\n  } else {\n    X = X * 2\n  }\n}\nprint(sum(X))";
        let request = Request {
            level: ExplainLevel::Plan,
            format: ExplainFormat::Dot,
            ..Request::script("a.dml", script)
        };
        let drawn = explain(&request, &Session::new(Config::default())).unwrap();
        let frames: Vec<&str> = drawn
            .lines()
            .filter(|line| {
                line.trim_start().starts_with("label=\"for")
                    || line.trim() == "label=\"if\";"
                    || line.trim() == "label=\"else\";"
            })
            .map(str::trim)
            .collect();
        assert_eq!(
            frames,
            ["label=\"for i\";", "label=\"if\";", "label=\"else\";"]
        );
    }
}
