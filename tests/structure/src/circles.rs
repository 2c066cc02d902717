//! Files that know each other.
//!
//! A file and its submodules may know each other: they are one thing. All other files of a crate have an
//! order in which each knows only those before it. A circle is a list of arrows that breaks the order.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    path::{Path, PathBuf},
};

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};

use crate::{
    arrows::{Arrow, arrows},
    modules::Modules,
};

/// Arrows from a file over others back to it.
pub type Circle = Vec<Arrow>;

/// The circles of a crate, at least one for each group of files that have no order.
pub fn circles(modules: &Modules) -> Vec<Circle> {
    let arrows = arrows(modules);
    let above = Above::of(modules);
    let mut files: BTreeSet<&Path> = BTreeSet::new();
    for arrow in &arrows {
        files.extend([arrow.from.as_path(), arrow.to.as_path()]);
    }
    let mut found = Vec::new();
    among(&files, &arrows, &above, &mut found);
    found
}

fn among(files: &BTreeSet<&Path>, arrows: &[Arrow], above: &Above, found: &mut Vec<Circle>) {
    let mut graph: DiGraphMap<&Path, ()> = DiGraphMap::new();
    for arrow in within(arrows, files) {
        graph.add_edge(&arrow.from, &arrow.to, ());
    }
    for group in tarjan_scc(&graph) {
        if group.len() < 2 {
            continue;
        }
        let mut group: BTreeSet<&Path> = group.into_iter().collect();
        let top = group
            .iter()
            .copied()
            .find(|top| group.iter().all(|file| above.covers(top, file)));
        match top {
            Some(top) => {
                group.remove(top);
                among(&group, arrows, above, found);
            }
            None => found.extend(circles_of(&group, arrows, above)),
        }
    }
}

fn within<'a>(
    arrows: &'a [Arrow],
    files: &'a BTreeSet<&Path>,
) -> impl Iterator<Item = &'a Arrow> + Clone {
    arrows
        .iter()
        .filter(|arrow| files.contains(arrow.from.as_path()) && files.contains(arrow.to.as_path()))
}

/// The shortest circles that lead from one tree of modules into another, until each such arrow is in one.
fn circles_of(files: &BTreeSet<&Path>, arrows: &[Arrow], above: &Above) -> Vec<Circle> {
    let tree = |file: &Path| {
        files.iter().copied().find(|top| {
            above.covers(top, file) && !files.iter().any(|f| f != top && above.covers(f, top))
        })
    };
    let mut circles: Vec<Circle> = Vec::new();
    for arrow in within(arrows, files) {
        if tree(&arrow.from) == tree(&arrow.to) || circles.iter().flatten().any(|a| a == arrow) {
            continue;
        }
        let mut circle = vec![arrow.clone()];
        circle.extend(way(&arrow.to, &arrow.from, within(arrows, files)));
        circles.push(circle);
    }
    circles.sort_by_key(Vec::len);
    circles
}

/// The shortest way along the arrows.
fn way<'a>(from: &Path, to: &Path, arrows: impl Iterator<Item = &'a Arrow> + Clone) -> Vec<Arrow> {
    let mut reached: HashMap<&Path, &Arrow> = HashMap::new();
    let mut waiting: VecDeque<&Path> = VecDeque::from([from]);
    while let Some(file) = waiting.pop_front() {
        if file == to {
            break;
        }
        for arrow in arrows.clone().filter(|arrow| arrow.from == file) {
            if arrow.to != from && !reached.contains_key(arrow.to.as_path()) {
                reached.insert(&arrow.to, arrow);
                waiting.push_back(&arrow.to);
            }
        }
    }
    let mut way = Vec::new();
    let mut at = to;
    while let Some(arrow) = reached.get(at) {
        way.push((*arrow).clone());
        at = &arrow.from;
    }
    way.reverse();
    way
}

/// Which files are ancestors of which, as modules.
struct Above(BTreeMap<PathBuf, BTreeSet<PathBuf>>);

impl Above {
    fn of(modules: &Modules) -> Above {
        let mut above: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for (_, module) in modules.iter() {
            let ancestors = above.entry(module.file.clone()).or_default();
            let mut parent = module.parent;
            while let Some(id) = parent {
                ancestors.insert(modules.get(id).file.clone());
                parent = modules.get(id).parent;
            }
        }
        Above(above)
    }

    /// The file is `top` or one of its submodules.
    fn covers(&self, top: &Path, file: &Path) -> bool {
        top == file
            || self
                .0
                .get(file)
                .is_some_and(|ancestors| ancestors.contains(top))
    }
}
