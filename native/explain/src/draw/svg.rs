//! Pictures as SVG: readable on light and dark pages, and for those who hear them.

use std::fmt::Write;

use fulgurite_error::Result;

use super::{
    COLOURS, Edge, Node, NodeKind, Picture,
    frames::{self, Scene},
    layout::{Layout, Point, Sized, layout},
};

const LINE: f64 = 15.0;
const LETTER: f64 = 7.2;
const MARGIN: f64 = 24.0;
/// How far a region reaches around its boxes.
const REACH: f64 = 9.0;
/// The bar of an operator that takes all of a block's time.
const BAR: f64 = 240.0;

/// All blocks, one below the other.
///
/// # Errors
/// `unsupported`, for blocks that are too large to draw.
pub(crate) fn print(pictures: &[Picture<'_>]) -> Result<String> {
    let scenes = frames::scenes(pictures, 0);
    let drawn = scenes.iter().map(scene).collect::<Result<Vec<_>>>()?;
    let legend = legend();
    let drawing = stacked(&drawn);
    let width = drawing.width.max(legend.width).max(320.0);
    let mut text = opening(
        width,
        drawing.height + legend.height,
        "Operators of the script",
    );
    text.push_str(&drawing.body);
    let _ = writeln!(
        text,
        "<g transform=\"translate(0 {:.0})\">\n{}</g>",
        drawing.height, legend.body
    );
    text.push_str("</svg>\n");
    Ok(text)
}

/// A block, or a frame around what is in it.
fn scene(scene: &Scene<'_, '_>) -> Result<Drawing> {
    let (frame, inside) = match scene {
        Scene::Picture(picture) => return draw(picture),
        Scene::Frame(frame, inside) => (frame, inside),
    };
    let drawn = inside.iter().map(self::scene).collect::<Result<Vec<_>>>()?;
    let inside = stacked(&drawn);
    let letters = frame.title.chars().count() as f64 * LETTER;
    let width = inside.width.max(letters + 2.0 * MARGIN);
    let height = inside.height + MARGIN;
    Ok(Drawing {
        width: width + MARGIN,
        height: height + MARGIN,
        body: format!(
            "<rect class=\"frame\" x=\"{0:.1}\" y=\"{0:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\"/>\n\
             <text class=\"title\" x=\"{MARGIN}\" y=\"{1:.1}\">{2}</text>\n\
             <g transform=\"translate({0:.1} {MARGIN:.1})\">\n{3}</g>\n",
            MARGIN / 2.0,
            MARGIN / 2.0 + LINE,
            escaped(&frame.title),
            inside.body
        ),
    })
}

/// Drawings below each other; in columns beside each other, where that would be tall and narrow.
fn stacked(drawings: &[Drawing]) -> Drawing {
    /// How much higher than wide a picture may be.
    const TALL: f64 = 2.0;
    let sum: f64 = drawings.iter().map(|drawing| drawing.height).sum();
    let widest = drawings.iter().map(|drawing| drawing.width);
    let widest = widest.fold(0.0, f64::max);
    let highest = drawings.iter().map(|drawing| drawing.height);
    let highest = highest.fold(0.0, f64::max);
    let most = match sum > TALL * widest {
        true => highest.max((sum * widest).sqrt()),
        false => f64::INFINITY,
    };
    let (mut body, mut left, mut top) = (String::new(), 0.0, 0.0);
    let (mut column, mut height) = (0.0, 0.0f64);
    for drawing in drawings {
        if top > 0.0 && top + drawing.height > most {
            left += column;
            (top, column) = (0.0, 0.0);
        }
        let _ = writeln!(
            body,
            "<g transform=\"translate({left:.0} {top:.0})\">\n{}</g>",
            drawing.body
        );
        top += drawing.height;
        column = f64::max(column, drawing.width);
        height = height.max(top);
    }
    Drawing {
        width: left + column,
        height,
        body,
    }
}

/// What shapes and lines mean.
fn legend() -> Drawing {
    const LINES: [&str; 3] = [
        "band: a fused operator; bar: its share of the block's estimated time",
        "round: a variable or a file; double border: kept for several readers; dashed line: kept by decision",
        "#7: the value of HOP 7; codes of operators: docs/explain.md, Codes",
    ];
    let mut body = String::new();
    for (number, line) in LINES.iter().enumerate() {
        let _ = writeln!(
            body,
            "<text class=\"small\" x=\"{MARGIN}\" y=\"{:.0}\">{}</text>",
            LINE * (number + 1) as f64,
            escaped(line)
        );
    }
    let letters = LINES.iter().map(|line| line.chars().count()).max();
    Drawing {
        width: letters.unwrap_or(0) as f64 * LETTER + 2.0 * MARGIN,
        height: LINE * LINES.len() as f64 + MARGIN,
        body,
    }
}

/// One block alone, as it stands in a page.
///
/// # Errors
/// As [`print`].
pub(super) fn block(picture: &Picture<'_>) -> Result<String> {
    let drawing = draw(picture)?;
    let opening = opening(drawing.width, drawing.height, &picture.title);
    Ok(format!("{opening}{}</svg>\n", drawing.body))
}

/// Text inside an element or an attribute.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn opening(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n{}",
        style(),
        title = escaped(title)
    )
}

/// The same style in every picture: a page may hold several.
fn style() -> String {
    let mut light = String::new();
    let mut dark = String::new();
    for (number, (fill, dark_fill, stroke)) in COLOURS.iter().enumerate() {
        let _ = write!(
            light,
            ".c{number}{{fill:{fill};stroke:{fill}}}.l{number}{{fill:{stroke}}}"
        );
        let _ = write!(dark, ".c{number}{{fill:{dark_fill};stroke:{dark_fill}}}");
    }
    format!(
        "<style>text{{font:12px ui-monospace,monospace;fill:#222}}.title{{font-weight:bold;font-size:14px}}\
         .small{{font-size:11px;fill:#555}}.label{{font-weight:bold}}.box{{fill:#fff;stroke:#555}}\
         .data{{fill:#eee}}.twice{{fill:none;stroke:#555}}.edge{{fill:none;stroke:#888}}\
         .kept{{stroke:#c0392b;stroke-dasharray:5 3}}.region{{stroke-linejoin:round}}\
         .band{{fill:none;stroke-linecap:round}}.frame{{fill:none;stroke:#999;stroke-dasharray:2 3}}.share{{fill:#777}}a:focus .box,a:hover .box{{stroke-width:2.5;stroke:#111}}{light}\
         @media(prefers-color-scheme:dark){{text{{fill:#eee}}.small{{fill:#bbb}}.box{{fill:#222;stroke:#aaa}}\
         .data{{fill:#383838}}.twice{{stroke:#aaa}}.edge{{stroke:#999}}.kept{{stroke:#ff8a75}}\
         a:focus .box,a:hover .box{{stroke:#fff}}{dark}}}</style>\n"
    )
}

struct Drawing {
    width: f64,
    height: f64,
    body: String,
}

fn draw(picture: &Picture<'_>) -> Result<Drawing> {
    let sizes: Vec<Sized> = picture.nodes.iter().map(size).collect();
    let edges: Vec<(usize, usize)> = picture
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .collect();
    let layout = layout(&sizes, &edges)?;
    let mut header = vec![format!(
        "<text class=\"title\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
        MARGIN,
        escaped(&picture.title)
    )];
    if let Some(subtitle) = &picture.subtitle {
        let y = MARGIN + LINE * header.len() as f64;
        header.push(format!(
            "<text class=\"small\" x=\"{MARGIN}\" y=\"{y}\">{}</text>",
            escaped(subtitle)
        ));
    }
    for region in &picture.regions {
        let y = MARGIN + LINE * header.len() as f64;
        let share = region.share.map_or(String::new(), |share| {
            format!(
                "<rect class=\"l{}\" x=\"{MARGIN}\" y=\"{:.1}\" width=\"{:.1}\" height=\"2\"/>",
                region.colour,
                y + 3.0,
                BAR * share
            )
        });
        header.push(format!(
            "<text class=\"label l{}\" x=\"{MARGIN}\" y=\"{y}\">{} <tspan class=\"small\">{}</tspan></text>{share}",
            region.colour,
            escaped(&region.label),
            escaped(&region.caption())
        ));
        for line in &region.lines {
            let y = MARGIN + LINE * header.len() as f64;
            header.push(format!(
                "<text class=\"small\" x=\"{:.0}\" y=\"{y}\">{}</text>",
                2.0 * MARGIN,
                escaped(line)
            ));
        }
    }
    let top = MARGIN + LINE * header.len() as f64 + REACH;
    let mut body = header.join("\n");
    let _ = writeln!(body, "\n<g transform=\"translate({MARGIN} {top:.0})\">");
    for place in 0..picture.regions.len() {
        region(&mut body, picture, &layout, &sizes, place);
    }
    for (edge, line) in picture.edges.iter().zip(&layout.lines) {
        draw_edge(&mut body, edge, line);
    }
    for ((node, size), middle) in picture.nodes.iter().zip(&sizes).zip(&layout.boxes) {
        draw_node(&mut body, picture.block.number, node, size, *middle);
    }
    body.push_str("</g>\n");
    let letters = [picture.subtitle.as_deref().unwrap_or(""), &picture.title];
    let widest = letters
        .into_iter()
        .map(|text| text.chars().count() as f64 * LETTER);
    let regions = picture.regions.iter();
    let regions = regions.flat_map(|region| {
        let header = region.label.chars().count() + region.caption().chars().count() + 1;
        let lines = region.lines.iter();
        let lines = lines.map(|text| text.chars().count() as f64 * LETTER + MARGIN);
        lines.chain([header as f64 * LETTER])
    });
    Ok(Drawing {
        width: widest.chain(regions).fold(layout.width, f64::max) + 2.0 * MARGIN,
        height: top + layout.height + 2.0 * MARGIN,
        body,
    })
}

fn size(node: &Node) -> Sized {
    let lines = node.lines.iter().chain([&node.label]);
    let letters = lines.map(|line| line.chars().count()).max().unwrap_or(0);
    Sized {
        width: letters as f64 * LETTER + 18.0,
        height: (node.lines.len() + 1) as f64 * LINE + 10.0,
    }
}

/// A band under boxes and lines that stay inside one operator. Bands may overlap, where something is computed
/// more than once.
fn region(
    body: &mut String,
    picture: &Picture<'_>,
    layout: &Layout,
    sizes: &[Sized],
    place: usize,
) {
    let colour = picture.regions[place].colour;
    let _ = writeln!(
        body,
        "<g class=\"region c{colour}\" data-region=\"{}\"><title>{}</title>",
        escaped(&picture.regions[place].label),
        escaped(&format!(
            "{}: {}",
            picture.regions[place].label, picture.regions[place].detail
        ))
    );
    let is_in = |node: usize| picture.nodes[node].regions.contains(&place);
    for (edge, line) in picture.edges.iter().zip(&layout.lines) {
        if is_in(edge.from) && is_in(edge.to) {
            let width = 4.0 * REACH;
            let _ = writeln!(
                body,
                "<path class=\"band\" stroke-width=\"{width}\" d=\"{}\"/>",
                path(line)
            );
        }
    }
    for (node, size) in sizes.iter().enumerate().filter(|(node, _)| is_in(*node)) {
        // Where regions overlap, the later one reaches further, so that both are seen.
        let before = picture.nodes[node]
            .regions
            .iter()
            .filter(|region| **region > place);
        let reach = REACH + 4.0 * before.count() as f64;
        let middle = layout.boxes[node];
        let (x, y) = (
            middle.x - size.width / 2.0 - reach,
            middle.y - size.height / 2.0 - reach,
        );
        let _ = writeln!(
            body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"12\"/>",
            size.width + 2.0 * reach,
            size.height + 2.0 * reach
        );
    }
    body.push_str("</g>\n");
}

fn draw_edge(body: &mut String, edge: &Edge, line: &[Point]) {
    let kept = match edge.decision {
        Some(true) => " kept",
        _ => "",
    };
    let _ = write!(body, "<path class=\"edge{kept}\" d=\"{}\"", path(line));
    match edge.decision {
        Some(true) => body.push_str("><title>materialized by decision</title></path>\n"),
        _ => body.push_str("/>\n"),
    }
}

fn draw_node(body: &mut String, block: usize, node: &Node, size: &Sized, middle: Point) {
    let (left, top) = (middle.x - size.width / 2.0, middle.y - size.height / 2.0);
    let (class, round) = match node.kind {
        NodeKind::Data => ("box data", size.height / 2.0),
        NodeKind::Operator => ("box", 5.0),
    };
    let hop = node.hop;
    let _ = writeln!(
        body,
        "<a href=\"#b{block}h{hop}\"><g class=\"node\" id=\"n{block}h{hop}\"><title>{}</title>\n\
         <rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round:.1}\"/>",
        escaped(node.answer.to_string().trim_end()),
        size.width,
        size.height
    );
    if node.is_materialized {
        let _ = writeln!(
            body,
            "<rect class=\"twice\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round:.1}\"/>",
            left - 3.0,
            top - 3.0,
            size.width + 6.0,
            size.height + 6.0
        );
    }
    if let Some(share) = node.share {
        let _ = writeln!(
            body,
            "<rect class=\"share\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"3\"/>",
            left + 4.0,
            top + size.height - 5.0,
            share * (size.width - 8.0)
        );
    }
    let lines = [&node.label].into_iter().chain(&node.lines).enumerate();
    for (number, line) in lines {
        let class = if number == 0 { "label" } else { "small" };
        let y = top + LINE * (number + 1) as f64;
        let _ = writeln!(
            body,
            "<text class=\"{class}\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            middle.x,
            escaped(line)
        );
    }
    body.push_str("</g></a>\n");
}

/// Curves that leave and reach boxes from above and below.
fn path(line: &[Point]) -> String {
    let mut path = String::new();
    for (place, point) in line.iter().enumerate() {
        let Some(last) = place.checked_sub(1).and_then(|last| line.get(last)) else {
            let _ = write!(path, "M{:.1} {:.1}", point.x, point.y);
            continue;
        };
        let bend = (last.y + point.y) / 2.0;
        let _ = write!(
            path,
            " C{:.1} {bend:.1} {:.1} {bend:.1} {:.1} {:.1}",
            last.x, point.x, point.x, point.y
        );
    }
    path
}
