//! The table of a family's operators.

/// Declares an enum of operators, each with its documentation and its facts, and look-ups both ways.
///
/// The facts are a struct with a field `code`. Each variant has all its fields.
macro_rules! operators {
    (
        $(#[$enum_doc:meta])* $enum:ident: $facts:ident;
        $( $(#[doc = $doc:literal])+ $variant:ident { $($field:ident: $value:expr),* $(,)? } )*
    ) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $enum { $( $(#[doc = $doc])+ $variant, )* }

        impl $enum {
            pub const ALL: &'static [$enum] = &[$($enum::$variant),*];

            fn declared(self) -> &'static $facts {
                match self { $($enum::$variant => { const FACTS: $facts = $facts { $($field: $value),* }; &FACTS })* }
            }

            /// What it computes, in a sentence.
            pub fn doc(self) -> &'static str {
                match self { $($enum::$variant => concat!($($doc),+).trim_ascii(),)* }
            }

            /// SystemML's code, without the class prefix: `exp`, `*`, `+*`.
            pub fn code(self) -> &'static str {
                self.declared().code
            }

            pub fn from_code(code: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| $enum::code(*op) == code)
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($enum::code(*self))
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let code = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::from_code(&code).ok_or_else(|| serde::de::Error::custom(format!("unknown operator '{code}'")))
            }
        }
    };
}

pub(super) use operators;
