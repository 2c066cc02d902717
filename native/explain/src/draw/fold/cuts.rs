//! Where the rows of a picture are cut into panels.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Folded, Graph,
    sheet::{Panel, Sheet, Spot},
};
use crate::draw::layout::{ROW_GAP, heights};

/// What panels may be higher than with equal heights, to cut fewer lines.
const UNEVEN: f64 = 1.1;

/// The rows of a picture, and what is lost by cutting between them.
pub(super) struct RowCuts {
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
    pub fn new(graph: &Graph<'_>, of: Vec<usize>) -> Self {
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

    pub fn count(&self) -> usize {
        self.heights.len()
    }

    /// The first row of each panel, so that panels are about as high and few lines are cut. There are as many rows as
    /// panels at least.
    pub fn starts(&self, panels: usize) -> Vec<usize> {
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

    pub fn folded(&self, graph: &Graph<'_>, starts: &[usize]) -> Folded {
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
