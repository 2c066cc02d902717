//! Pictures as SVG: readable on light and dark pages, and for those who hear them.

mod heading;
mod lines;

use std::fmt::Write;

use fulgurite_error::Result;

use heading::Heading;
use lines::{around, path};

use super::{
    COLOURS, Edge, Node, NodeKind, Picture,
    fold::{EdgeLine, Folded, Graph, Route, TALL, laid_out},
    frames::{self, Scene},
    layout::{Point, Sized},
};

const LINE: f64 = 15.0;
const LETTER: f64 = 7.2;
const MARGIN: f64 = 24.0;
/// How far a region reaches around its boxes.
const REACH: f64 = 9.0;
/// Half the tip of a line.
const TIP: f64 = 4.0;

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
    let edges: Vec<(usize, usize)> = picture
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .collect();
    let is_fused: Vec<bool> = picture
        .edges
        .iter()
        .map(|edge| edge.region.is_some())
        .collect();
    let graph = Graph {
        boxes: &picture.nodes.iter().map(size).collect::<Vec<_>>(),
        marks: &picture.nodes.iter().map(mark_size).collect::<Vec<_>>(),
        edges: &edges,
        is_close: &is_fused,
    };
    let whole = |heading: &Heading, layout: &Folded| {
        let width = f64::max(heading.width, layout.width);
        (
            width + 2.0 * MARGIN,
            heading.height + layout.height + 2.0 * MARGIN,
        )
    };
    let layout = laid_out(&graph, |layout| {
        whole(&Heading::new(picture, layout), layout)
    })?;
    let heading = Heading::new(picture, &layout);
    let (width, height) = whole(&heading, &layout);
    let mut body = heading.body;
    let _ = writeln!(
        body,
        "\n<g transform=\"translate({MARGIN} {:.0})\">",
        heading.height
    );
    for place in 0..picture.regions.len() {
        region(&mut body, picture, &layout, graph.boxes, place);
    }
    for (number, route) in layout.routes.iter().enumerate() {
        let lines = picture.edges.iter().zip(&layout.lines);
        let mut edges = lines.filter(|(_, line)| line.route == Some(number));
        let is_kept = edges.all(|(edge, _)| edge.decision == Some(true));
        draw_route(&mut body, picture, route, &graph.marks[route.of], is_kept);
    }
    for (edge, line) in picture.edges.iter().zip(&layout.lines) {
        draw_edge(&mut body, edge, line);
    }
    for ((node, size), middle) in picture.nodes.iter().zip(graph.boxes).zip(&layout.boxes) {
        draw_node(&mut body, picture.block.number, node, size, *middle);
    }
    body.push_str("</g>\n");
    Ok(Drawing {
        width,
        height,
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

fn mark_size(node: &Node) -> Sized {
    Sized {
        width: mark_text(node).chars().count() as f64 * LETTER + 14.0,
        height: LINE + 4.0,
    }
}

/// As expressions name the value.
fn mark_text(node: &Node) -> String {
    format!("#{}", node.hop)
}

/// A band under boxes and lines that stay inside one operator. Bands may overlap, where something is computed
/// more than once.
fn region(
    body: &mut String,
    picture: &Picture<'_>,
    layout: &Folded,
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
            band(body, &path(&line.points), 4.0 * REACH);
            if let Some(route) = line.route.and_then(|route| layout.routes.get(route)) {
                band(body, &path(&route.down), 4.0 * REACH);
                band(body, &around(&route.around), REACH);
            }
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

fn band(body: &mut String, path: &str, width: f64) {
    let _ = writeln!(
        body,
        "<path class=\"band\" stroke-width=\"{width}\" d=\"{path}\"/>"
    );
}

fn draw_edge(body: &mut String, edge: &Edge, line: &EdgeLine) {
    stroke(body, &path(&line.points), edge.decision == Some(true));
}

fn stroke(body: &mut String, path: &str, is_kept: bool) {
    let kept = if is_kept { " kept" } else { "" };
    let _ = write!(body, "<path class=\"edge{kept}\" d=\"{path}\"");
    match is_kept {
        true => body.push_str("><title>materialized by decision</title></path>\n"),
        false => body.push_str("/>\n"),
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

/// The way to a later column, with a tip, and there the mark of the value. What routes of a value share is drawn once.
fn draw_route(
    body: &mut String,
    picture: &Picture<'_>,
    route: &Route,
    size: &Sized,
    is_kept: bool,
) {
    let (block, node) = (picture.block.number, &picture.nodes[route.of]);
    let middle = route.mark;
    let (left, top) = (middle.x - size.width / 2.0, middle.y - size.height / 2.0);
    let _ = writeln!(
        body,
        "<a href=\"#n{block}h{}\"><g class=\"mark\"><title>{}</title>",
        node.hop,
        escaped(&format!(
            "the value of {}, from an earlier column",
            node.label
        ))
    );
    if let (Some(branch), [_, _, rest @ ..]) = (route.branch, &route.around[..]) {
        stroke(body, &around(&[&[branch], rest].concat()), is_kept);
    } else {
        stroke(body, &path(&route.down), is_kept);
        stroke(body, &around(&route.around), is_kept);
    }
    let _ = writeln!(
        body,
        "<path class=\"edge\" d=\"M{:.1} {:.1} L{:.1} {top:.1} L{:.1} {:.1}\"/>\n\
         <rect class=\"box data\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>\n\
         <text class=\"small\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n</g></a>",
        middle.x - TIP,
        top - TIP,
        middle.x,
        middle.x + TIP,
        top - TIP,
        size.width,
        size.height,
        middle.x,
        middle.y + TIP,
        escaped(&mark_text(node))
    );
}
