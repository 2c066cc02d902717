//! Whose meaning a script has where the languages of SystemML and SystemDS differ.

/// A dialect of the language. `docs/language/README.md` lists what differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// Of SystemML 1.2.
    #[default]
    SystemMl,
    /// Of SystemDS 3.4.
    SystemDs,
}

impl Dialect {
    /// Names of the configuration.
    pub const NAMES: &'static [(&'static str, Dialect)] = &[
        ("systemml", Dialect::SystemMl),
        ("systemds", Dialect::SystemDs),
    ];

    pub fn name(self) -> &'static str {
        let named = Self::NAMES.iter().find(|(_, dialect)| *dialect == self);
        named.map_or("", |(name, _)| name)
    }
}
