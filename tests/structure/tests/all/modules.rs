//! The files of each crate have an order.

use std::fmt::Write;

use fulgurite_structure_tests::{
    circles::{Circle, circles},
    modules::Modules,
    repository,
};

#[test]
fn files_know_only_those_before_them() {
    let mut text = String::new();
    for name in repository::crates() {
        for root in repository::roots(&name) {
            for circle in circles(&Modules::load(&root)) {
                describe(&mut text, &name, &circle);
            }
        }
    }
    assert!(text.is_empty(), "files that know each other:\n{text}");
}

fn describe(text: &mut String, name: &str, circle: &Circle) {
    writeln!(text, "\na circle in {name}:").unwrap();
    for arrow in circle {
        let from = repository::shown(&arrow.from);
        let to = repository::shown(&arrow.to);
        writeln!(
            text,
            "  {from}:{} imports {} of {to}",
            arrow.line, arrow.name
        )
        .unwrap();
    }
}
