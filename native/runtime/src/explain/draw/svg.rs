//! Pictures as SVG: readable on light and dark pages, and for those who hear them.

use std::fmt::Write;

use fulgurite_error::Result;

use super::{
    COLOURS, Edge, Node, NodeKind, Picture,
    layout::{Layout, Point, Sized, layout},
};

const LINE: f64 = 15.0;
const LETTER: f64 = 7.2;
const MARGIN: f64 = 24.0;
/// How far a region reaches around its boxes.
const REACH: f64 = 9.0;

/// All blocks, one below the other.
///
/// # Errors
/// `unsupported`, for blocks that are too large to draw.
pub(in crate::explain) fn print(pictures: &[Picture<'_>]) -> Result<String> {
    let drawn = pictures.iter().map(draw).collect::<Result<Vec<_>>>()?;
    let width = drawn
        .iter()
        .map(|drawing| drawing.width)
        .fold(320.0, f64::max);
    let height: f64 = drawn.iter().map(|drawing| drawing.height).sum();
    let mut text = opening(width, height, "Operators of the script");
    let mut top = 0.0;
    for drawing in &drawn {
        let _ = writeln!(
            text,
            "<g transform=\"translate(0 {top:.0})\">\n{}</g>",
            drawing.body
        );
        top += drawing.height;
    }
    text.push_str("</svg>\n");
    Ok(text)
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
         .band{{fill:none;stroke-linecap:round}}a:focus .box,a:hover .box{{stroke-width:2.5;stroke:#111}}{light}\
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
        header.push(format!(
            "<text class=\"label l{}\" x=\"{MARGIN}\" y=\"{y}\">{} <tspan class=\"small\">{}</tspan></text>",
            region.colour,
            escaped(&region.label),
            escaped(&region.detail)
        ));
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
    let regions =
        regions.map(|region| (region.label.len() + region.detail.len() + 1) as f64 * LETTER);
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
