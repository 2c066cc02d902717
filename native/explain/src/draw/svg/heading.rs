//! What stands above a picture: its title, and what its colours mean.

use super::{
    super::{Picture, Region, fold::Folded},
    LETTER, LINE, MARGIN, REACH, escaped,
};

/// The bar of an operator that takes all of a block's time.
const BAR: f64 = 240.0;
/// Longer regions may go on in the next column.
const MOST_ROWS: usize = 20;

/// What stands above the boxes of a picture.
pub(super) struct Heading {
    pub width: f64,
    /// To where the boxes begin.
    pub height: f64,
    pub body: String,
}

impl Heading {
    /// Regions stand below each other; above a folded picture, in as many columns as it is wide.
    pub fn new(picture: &Picture<'_>, layout: &Folded) -> Self {
        let mut lines = vec![format!(
            "<text class=\"title\" x=\"{MARGIN}\" y=\"{MARGIN}\">{}</text>",
            escaped(&picture.title)
        )];
        let note = (layout.panels > 1).then(|| {
            format!(
                "in {} columns, from left to right; #7 above a column is the value of HOP 7",
                layout.panels
            )
        });
        let mut letters = picture.title.chars().count();
        for line in picture.subtitle.iter().chain(&note) {
            letters = letters.max(line.chars().count());
            lines.push(format!(
                "<text class=\"small\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
                MARGIN + LINE * lines.len() as f64,
                escaped(line)
            ));
        }
        let regions = regions(picture);
        let widest = regions.iter().map(HeadingLine::width).fold(0.0, f64::max);
        let step = widest + 2.0 * MARGIN;
        let most = match layout.panels {
            1 => 1,
            _ => ((layout.width / step) as usize).max(1),
        };
        let columns = columns(&regions, most);
        let rows = columns.iter().map(|column| column.len()).max().unwrap_or(0);
        let top = MARGIN + LINE * lines.len() as f64;
        for (number, column) in columns.iter().enumerate() {
            let x = MARGIN + step * number as f64;
            for (row, line) in column.iter().enumerate() {
                lines.push(line.draw(x, top + LINE * row as f64));
            }
        }
        let beside = step * columns.len().saturating_sub(1) as f64;
        Heading {
            width: f64::max(letters as f64 * LETTER, beside + widest),
            height: top + LINE * rows as f64 + REACH,
            body: lines.join("\n"),
        }
    }
}

/// A line above a picture that tells of a region.
enum HeadingLine<'a> {
    Region(&'a Region),
    /// A line of the script that the region before it comes from.
    Script(&'a str),
}

impl HeadingLine<'_> {
    fn width(&self) -> f64 {
        match self {
            HeadingLine::Region(region) => {
                let letters = region.label.chars().count() + region.caption().chars().count() + 1;
                letters as f64 * LETTER
            }
            HeadingLine::Script(line) => line.chars().count() as f64 * LETTER + MARGIN,
        }
    }

    fn draw(&self, x: f64, y: f64) -> String {
        let region = match self {
            HeadingLine::Region(region) => region,
            HeadingLine::Script(line) => {
                return format!(
                    "<text class=\"small\" x=\"{:.0}\" y=\"{y}\">{}</text>",
                    x + MARGIN,
                    escaped(line)
                );
            }
        };
        let share = region.share.map_or(String::new(), |share| {
            format!(
                "<rect class=\"l{}\" x=\"{x}\" y=\"{:.1}\" width=\"{:.1}\" height=\"2\"/>",
                region.colour,
                y + 3.0,
                BAR * share
            )
        });
        format!(
            "<text class=\"label l{}\" x=\"{x}\" y=\"{y}\">{} <tspan class=\"small\">{}</tspan></text>{share}",
            region.colour,
            escaped(&region.label),
            escaped(&region.caption())
        )
    }
}

fn regions<'a>(picture: &'a Picture<'_>) -> Vec<HeadingLine<'a>> {
    let regions = picture.regions.iter();
    let lines = regions.flat_map(|region| {
        let script = region.lines.iter().map(|line| HeadingLine::Script(line));
        std::iter::once(HeadingLine::Region(region)).chain(script)
    });
    lines.collect()
}

/// Lines in at most so many columns. The lines of a region stay together if a column has room for them.
fn columns<'l, 'p>(lines: &'l [HeadingLine<'p>], most: usize) -> Vec<&'l [HeadingLine<'p>]> {
    let is_region = |line: &HeadingLine<'_>| matches!(line, HeadingLine::Region(_));
    let regions = || lines.chunk_by(|_, next| !is_region(next));
    let longest = regions().map(<[_]>::len).max().unwrap_or(0);
    let mut rows = lines.len().div_ceil(most).max(longest.min(MOST_ROWS));
    loop {
        let (mut ends, mut end, mut room) = (Vec::new(), 0, rows);
        for region in regions() {
            if region.len() > room && end > 0 {
                ends.push(end);
                room = rows;
            }
            let (mut rest, next) = (region.len(), end + region.len());
            while rest > room {
                rest -= room;
                ends.push(next - rest);
                room = rows;
            }
            room -= rest;
            end = next;
        }
        ends.push(end);
        if ends.len() <= most {
            let starts = [0].into_iter().chain(ends.iter().copied());
            let columns = starts.zip(&ends).map(|(start, end)| &lines[start..*end]);
            return columns.collect();
        }
        rows += 1;
    }
}
