//! Pictures in Graphviz' language.

use std::fmt::Write;

use super::{
    COLOURS, NodeKind, Picture,
    frames::{self, Scene},
};

/// One graph with a cluster for each block.
pub(crate) fn print(pictures: &[Picture<'_>]) -> String {
    let mut text = String::from(
        "digraph fulgurite {\n  rankdir=TB;\n  compound=true;\n  fontname=\"sans-serif\";\n  \
         node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\", fontsize=10];\n  \
         edge [color=\"#777777\"];\n",
    );
    for scene in frames::scenes(pictures, 0) {
        draw(&mut text, &scene);
    }
    text.push_str("}\n");
    text
}

fn draw(text: &mut String, scene: &Scene<'_, '_>) {
    match scene {
        Scene::Picture(picture) => block(text, picture),
        Scene::Frame(frame, inside) => {
            let _ = writeln!(
                text,
                "  subgraph cluster_f{} {{\n    label={};\n    style=dashed;",
                frame.number,
                quoted(&frame.title)
            );
            for scene in inside {
                draw(text, scene);
            }
            text.push_str("  }\n");
        }
    }
}

fn block(text: &mut String, picture: &Picture<'_>) {
    let number = picture.block.number;
    let mut title = picture.title.clone();
    if let Some(subtitle) = &picture.subtitle {
        title = format!("{title}\n{subtitle}");
    }
    let _ = writeln!(
        text,
        "  subgraph cluster_{number} {{\n    label={};\n    color=\"#999999\";",
        quoted(&title)
    );
    for (place, region) in picture.regions.iter().enumerate() {
        let (fill, _, stroke) = COLOURS[region.colour];
        let caption = region.caption();
        let lines = [&region.label, &caption].map(String::as_str);
        let lines = lines
            .into_iter()
            .chain(region.lines.iter().map(String::as_str));
        let label = quoted(&lines.collect::<Vec<_>>().join("\n"));
        let _ = writeln!(
            text,
            "    subgraph cluster_{number}_{place} {{\n      label={label};\n      style=\"rounded,filled\";\n      \
             fillcolor=\"{fill}\";\n      color=\"{stroke}\";"
        );
        // Clusters can't overlap: what is in several regions stands in the first.
        for node in picture
            .nodes
            .iter()
            .filter(|node| node.regions.first() == Some(&place))
        {
            let _ = writeln!(text, "      {};", name(number, node.hop.0));
        }
        text.push_str("    }\n");
    }
    for node in &picture.nodes {
        let label = [std::slice::from_ref(&node.label), &node.lines[..]]
            .concat()
            .join("\n");
        let mut attributes = format!(
            "label={}, tooltip={}",
            quoted(&label),
            quoted(&node.answer.to_string())
        );
        if node.kind == NodeKind::Data {
            attributes.push_str(", shape=ellipse, style=filled, fillcolor=\"#eeeeee\"");
        }
        if node.is_materialized {
            attributes.push_str(", peripheries=2");
        }
        if let [_, others @ ..] = &node.regions[..]
            && !others.is_empty()
        {
            let fills: Vec<&str> = node
                .regions
                .iter()
                .map(|place| COLOURS[picture.regions[*place].colour].0)
                .collect();
            let _ = write!(
                attributes,
                ", style=wedged, shape=ellipse, fillcolor={}",
                quoted(&fills.join(":"))
            );
        }
        let _ = writeln!(text, "    {} [{attributes}];", name(number, node.hop.0));
    }
    for edge in &picture.edges {
        let (from, to) = (picture.nodes[edge.from].hop.0, picture.nodes[edge.to].hop.0);
        let style = match (edge.region, edge.decision) {
            (_, Some(true)) => {
                " [style=dashed, color=\"#c0392b\", label=\"materialized\", fontsize=9]".to_owned()
            }
            (Some(region), _) => {
                format!(
                    " [penwidth=2, color=\"{}\"]",
                    COLOURS[picture.regions[region].colour].2
                )
            }
            (None, _) => String::new(),
        };
        let _ = writeln!(
            text,
            "    {} -> {}{style};",
            name(number, from),
            name(number, to)
        );
    }
    text.push_str("  }\n");
}

fn name(block: usize, hop: u32) -> String {
    format!("b{block}h{hop}")
}

/// A string of the language.
fn quoted(text: &str) -> String {
    let text = text.trim_end().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quoted("a \"b\"\\c\nd\n"), r#""a \"b\"\\c\nd""#);
    }
}
