use std::path::Path;

use crate::{
    arrows::arrows,
    circles::circles,
    modules::Modules,
    operators::{Family, named},
};

/// A crate of these files.
fn parse(files: &[(&str, &str)]) -> Modules {
    Modules::parse(Path::new("lib.rs"), &|path| {
        let file = files.iter().find(|(name, _)| Path::new(name) == path);
        file.map(|(_, text)| (*text).to_owned())
    })
}

/// The arrows as `from:line name to`.
fn shown(files: &[(&str, &str)]) -> Vec<String> {
    arrows(&parse(files))
        .iter()
        .map(|arrow| {
            let (from, to) = (arrow.from.display(), arrow.to.display());
            format!("{from}:{} {} {to}", arrow.line, arrow.name)
        })
        .collect()
}

/// The files of each circle.
fn in_circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    circles(&parse(files))
        .iter()
        .map(|circle| {
            let files = circle.iter().map(|arrow| arrow.from.display());
            files.map(|file| file.to_string()).collect()
        })
        .collect()
}

#[test]
fn a_re_export_leads_to_the_definition() {
    let root = "mod a; mod b; pub use a::A; pub use b::deep::*; fn f() {}";
    assert_eq!(
        shown(&[
            ("lib.rs", root),
            ("a.rs", "use crate::{\n    f,\n    Deep,\n};\npub struct A;"),
            ("b/mod.rs", "pub mod deep;"),
            (
                "b/deep.rs",
                "pub struct Deep; use super::super::A as First;"
            ),
        ]),
        [
            "a.rs:3 Deep b/deep.rs",
            "a.rs:2 f lib.rs",
            "b/deep.rs:1 A a.rs"
        ]
    );
}

#[test]
fn paths_count_where_they_stand() {
    let a = "use crate::b;\nfn f() {\n    b::g();\n    vec![crate::c::C::new(), x.d];\n}";
    let d = "#[derive(Serialize)]\nstruct D { #[serde(with = \"crate::c::text\")] x: f64 }";
    assert_eq!(
        shown(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", a),
            ("b.rs", "pub fn g() {}"),
            ("c.rs", "pub struct C; pub mod text {}"),
            ("d.rs", d),
        ]),
        ["a.rs:3 g b.rs", "a.rs:4 new c.rs"]
    );
}

#[test]
fn re_exports_and_tests_know_nothing() {
    let tests =
        "#[cfg(test)]\nmod tests { use super::super::b::B; }\n#[cfg(test)]\nuse crate::b::B;";
    assert_eq!(
        shown(&[
            ("lib.rs", "mod a; mod b; pub(crate) use b::B;"),
            ("a.rs", tests),
            ("b.rs", "pub struct B;"),
        ]),
        [""; 0]
    );
}

#[test]
fn a_file_and_its_submodules_may_know_each_other() {
    let files = [
        ("lib.rs", "mod a; pub struct Root; use a::A;"),
        (
            "a.rs",
            "mod inner; use inner::Inner; pub struct A; use crate::Root;",
        ),
        (
            "a/inner.rs",
            "use super::A; use crate::Root; pub struct Inner;",
        ),
    ];
    assert_eq!(shown(&files).len(), 5);
    assert!(in_circles(&files).is_empty());
}

#[test]
fn siblings_and_cousins_may_not() {
    let siblings = [
        ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
        ("a.rs", "use crate::B; pub struct A;"),
        ("b.rs", "use crate::A; pub struct B;"),
    ];
    assert_eq!(in_circles(&siblings), [["a.rs", "b.rs"]]);

    // Over a file that both know, and over a parent.
    let cousins = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a/mod.rs", "mod inner; use inner::Inner; pub struct A;"),
        ("a/inner.rs", "use crate::b::B; pub struct Inner;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; pub struct C;"),
    ];
    assert_eq!(
        in_circles(&cousins),
        [["a/inner.rs", "b.rs", "c.rs", "a/mod.rs"]]
    );

    let under_one_parent = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod x; mod y; use x::X; pub struct A;"),
        ("a/x.rs", "use super::{A, y::Y}; pub struct X;"),
        ("a/y.rs", "use super::x::X; pub struct Y;"),
    ];
    assert_eq!(in_circles(&under_one_parent), [["a/x.rs", "a/y.rs"]]);
}

#[test]
fn operators_are_named_by_paths_imports_and_globs() {
    let families = [
        Family::new("UnaryOp", &["Exp", "Log"].map(Name)),
        Family::declared("BinaryOp", "pub enum BinaryOp { Plus, Min(u8) }").unwrap(),
    ];
    let of = |text: &str| -> Vec<String> { named(text, &families).into_iter().collect() };
    assert_eq!(
        of("fn f() { g(hop::UnaryOp::Exp.eval(1.0)) }"),
        ["UnaryOp::Exp"]
    );
    assert_eq!(
        of("fn f(x: X) -> bool { matches!(x, UnaryOp::Log) }"),
        ["UnaryOp::Log"]
    );
    assert_eq!(
        of("use BinaryOp::{Plus, Min};"),
        ["BinaryOp::Min", "BinaryOp::Plus"]
    );
    assert_eq!(
        of("use BinaryOp::*; fn f() { g(Min(3), UnaryOp::ALL) }"),
        ["BinaryOp::Min"]
    );
    assert_eq!(
        of("fn f() { use UnaryOp::*; g(Exp) } fn h() { i(Log, Min) }"),
        ["UnaryOp::Exp"]
    );
    assert_eq!(
        of("#[cfg(test)] mod tests { fn f() { UnaryOp::Exp; } }"),
        [""; 0]
    );
}

/// `Debug` as that of an enum's variant.
struct Name(&'static str);

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}
