//! The crates have the order of the map in `docs/architecture.md`.

use std::fs;

use fulgurite_structure_tests::repository;

/// The crates in the order of the map.
fn map() -> Vec<String> {
    let page = fs::read_to_string(repository::root().join("docs/architecture.md")).unwrap();
    let (_, section) = page.split_once("\n## Crates\n").unwrap();
    let section = section.split("\n## ").next().unwrap_or(section);
    section
        .lines()
        .filter_map(|line| line.strip_prefix("- [")?.split_once("](../native/"))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The crates of `native` that this one needs, outside of tests.
fn needed(name: &str) -> Vec<String> {
    let file = repository::root()
        .join("native")
        .join(name)
        .join("Cargo.toml");
    let text = fs::read_to_string(file).unwrap();
    let mut of_tests = false;
    let mut needed = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            of_tests = line != "[dependencies]" && !line.ends_with(".dependencies]");
        } else if let Some(rest) = line.strip_prefix("fulgurite-")
            && !of_tests
            && let Some((name, _)) = rest.split_once(['.', ' ', '='])
        {
            needed.push(name.to_owned());
        }
    }
    needed
}

#[test]
fn the_map_has_all_crates() {
    let mut map = map();
    map.sort();
    assert_eq!(map, repository::crates(), "docs/architecture.md");
}

#[test]
fn crates_know_only_those_above_them_in_the_map() {
    // Reading no dependencies would find no fault.
    assert!(needed("cli").contains(&"program".to_owned()));
    let map = map();
    for (place, name) in map.iter().enumerate() {
        let above = &map[..place];
        for other in needed(name) {
            assert!(
                above.contains(&other),
                "{name} needs {other}, which does not stand above it in docs/architecture.md"
            );
        }
    }
}
