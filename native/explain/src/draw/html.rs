//! A page that needs nothing else: pictures with links to tables of facts. No scripts: following a link marks the
//! operator's row, going over a box shows its facts.

use std::fmt::Write;

use fulgurite_error::Result;
use fulgurite_hop::Seconds;

use super::{
    super::analysis::Analysis,
    super::why::{Answer, Role},
    Node, Picture,
    svg::{self, escaped},
};

const STYLE: &str = "\
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;background:Canvas;color:CanvasText}
figure{margin:1rem 0;overflow-x:auto;border:1px solid #8886;border-radius:6px}
table{border-collapse:collapse;width:100%;font-size:13px}
caption{text-align:left;font-weight:bold;padding:.4rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8884}
td.number{font-variant-numeric:tabular-nums;white-space:nowrap}
code{font-family:ui-monospace,monospace}
tr:target{background:#ffd54f66;outline:2px solid #d08a1d}
ul{margin:0;padding-left:1.1rem}
";

/// # Errors
/// As drawing.
pub(crate) fn print(analysis: &Analysis, pictures: &[Picture<'_>]) -> Result<String> {
    let title = escaped(&format!("Plan of {}", analysis.source));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>Policy <code>{}</code>. Coloured bands are \
         fused operators (or partitions); a double border is a value that is kept for several readers; a dashed line is \
         a value kept by decision. Choose a box to see why it is fused, or not.</p>\n",
        analysis.policy.name()
    );
    if analysis.has_unknown_sizes() {
        page.push_str(
            "<p>Some sizes are unknown before the run (?): blocks that read such matrices are planned anew with the \
             actual sizes.</p>\n",
        );
    }
    for picture in pictures {
        block(&mut page, picture)?;
    }
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

fn block(page: &mut String, picture: &Picture<'_>) -> Result<()> {
    let number = picture.block.number;
    let frames = picture.frames.iter().map(|frame| frame.title.as_str());
    let around: Vec<&str> = frames.collect();
    let title = match around.is_empty() {
        true => escaped(&picture.title),
        false => escaped(&format!("{}, in {}", picture.title, around.join(", "))),
    };
    let _ = writeln!(
        page,
        "<section aria-labelledby=\"block{number}\">\n<h2 id=\"block{number}\">{title}</h2>\n<figure>\n{}</figure>\n\
         <table>\n<caption>Operators of block {number}</caption>\n<thead><tr><th scope=\"col\">HOP</th>\
         <th scope=\"col\">operator</th><th scope=\"col\">place</th><th scope=\"col\">result</th>\
         <th scope=\"col\">reads</th><th scope=\"col\">time alone</th><th scope=\"col\">fused or why not</th>\
         </tr></thead>\n<tbody>",
        svg::block(picture)?
    );
    for node in &picture.nodes {
        row(page, picture, node);
    }
    page.push_str("</tbody>\n</table>\n</section>\n");
    Ok(())
}

fn row(page: &mut String, picture: &Picture<'_>, node: &Node) {
    let (number, hop) = (picture.block.number, node.hop);
    let own = picture.block.dag.hop(hop);
    let answer = &node.answer;
    let place = answer.position.as_ref();
    let place = place.map_or(String::new(), |place| {
        format!("{}:{}", place.line, place.column)
    });
    let inputs: Vec<String> = own
        .inputs
        .iter()
        .map(
            |input| match picture.nodes.iter().any(|node| node.hop == *input) {
                true => format!("<a href=\"#b{number}h{input}\">{input}</a>"),
                false => escaped(&format!(
                    "{input} {}",
                    picture.block.dag.hop(*input).op.code()
                )),
            },
        )
        .collect();
    let cost = answer
        .basic_cost
        .map_or(String::new(), |cost| Seconds(cost).to_string());
    let _ = writeln!(
        page,
        "<tr id=\"b{number}h{hop}\"><th scope=\"row\"><a href=\"#n{number}h{hop}\">{hop}</a></th>\
         <td><code>{}</code></td><td class=\"number\">{place}</td><td class=\"number\">{}</td><td>{}</td>\
         <td class=\"number\">{cost}</td><td>{}</td></tr>",
        escaped(&answer.code),
        escaped(&node.lines[0]),
        inputs.join(", "),
        why(answer)
    );
}

/// The answer as a sentence and a list of what it says of neighbours.
fn why(answer: &Answer) -> String {
    let mut text = escaped(&answer.summary());
    let apart: Vec<String> = answer
        .neighbours
        .iter()
        .filter(|neighbour| neighbour.link.is_worth_telling())
        .map(|neighbour| {
            let role = match neighbour.role {
                Role::Input => "input",
                Role::Consumer => "consumer",
            };
            let line = format!(
                "{role} {} {}: {}",
                neighbour.hop, neighbour.code, neighbour.link
            );
            format!("<li>{}</li>", escaped(&line))
        })
        .collect();
    if !apart.is_empty() {
        let _ = write!(text, "<ul>{}</ul>", apart.concat());
    }
    text
}
