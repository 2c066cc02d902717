//! What stands at the top level only: functions, `source` and `setwd`.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{DataType, Literal, ValueType};

use super::Parser;
use crate::{
    suggest,
    syntax::{
        ast::{FunctionBody, FunctionDefinition, Import, Script, TypedName},
        token::TokenKind,
    },
};

/// Type names, in lower case (a capital first letter is accepted), with the type they stand for.
const TYPES: &[(&str, DataType, ValueType)] = &[
    ("matrix", DataType::Matrix, ValueType::Double),
    ("frame", DataType::Frame, ValueType::String),
    ("list", DataType::List, ValueType::Double),
    // Of the type in brackets after it.
    ("scalar", DataType::Scalar, ValueType::Double),
    ("double", DataType::Scalar, ValueType::Double),
    ("int", DataType::Scalar, ValueType::Int),
    ("integer", DataType::Scalar, ValueType::Int),
    ("boolean", DataType::Scalar, ValueType::Boolean),
    ("string", DataType::Scalar, ValueType::String),
];

impl Parser {
    pub(super) fn top_level(
        &mut self,
        script: &mut Script,
        folder: &mut Option<String>,
    ) -> Result<()> {
        match self.token().kind {
            // A stray terminator, as after a function.
            TokenKind::Symbol(";") => {
                self.advance();
            }
            TokenKind::Keyword("source") => script.imports.push(self.import(folder.clone())?),
            TokenKind::Keyword("setwd") => *folder = Some(self.setwd()?),
            TokenKind::Name { .. }
                if self.is_assignment(1)
                    && matches!(
                        self.ahead(2).kind,
                        TokenKind::Keyword("function" | "externalFunction")
                    ) =>
            {
                script.functions.push(self.function()?);
            }
            _ => script.body.push(self.top_level_statement()?),
        }
        Ok(())
    }

    fn import(&mut self, folder: Option<String>) -> Result<Import> {
        let position = self.advance().position;
        self.expect_symbol("(", "after 'source'")?;
        let path = self.expect_string("the script's path as a string")?;
        self.expect_symbol(")", "to close 'source'")?;
        self.expect_keyword("as", "and a namespace after source(...)")?;
        let (namespace, _) = self.expect_name("the namespace's name")?;
        Ok(Import {
            path,
            folder,
            namespace,
            position,
        })
    }

    fn setwd(&mut self) -> Result<String> {
        self.advance();
        self.expect_symbol("(", "after 'setwd'")?;
        let folder = self.expect_string("the folder as a string")?;
        self.expect_symbol(")", "to close 'setwd'")?;
        Ok(folder)
    }

    fn function(&mut self) -> Result<FunctionDefinition> {
        let (name, position) = self.expect_name("the function's name")?;
        self.advance();
        let external = self.advance().kind == TokenKind::Keyword("externalFunction");
        self.expect_symbol("(", "to open the parameter list")?;
        let parameters = self.list(")", "in the parameter list", Self::typed_name)?;
        let results = if self.take_keyword("return").is_some() {
            self.expect_symbol("(", "to open the list of results")?;
            self.list(")", "in the list of results", Self::typed_name)?
        } else {
            Vec::new()
        };
        if let Some(result) = results.iter().find(|result| result.default.is_some()) {
            return Err(Error::syntax("a result takes no default")
                .with_code(Code::Misplaced)
                .at(&result.position));
        }
        let body = if external {
            self.expect_keyword("implemented", "after an external function's signature")?;
            self.expect_keyword("in", "after 'implemented'")?;
            self.expect_symbol("(", "after 'implemented in'")?;
            FunctionBody::External(self.list(
                ")",
                "in the implementation",
                Self::external_option,
            )?)
        } else {
            FunctionBody::Statements(self.nested(Self::braces)?)
        };
        Ok(FunctionDefinition {
            name,
            parameters,
            results,
            body,
            position,
        })
    }

    fn external_option(&mut self) -> Result<(String, Literal)> {
        let (name, _) = self.expect_name("an option's name")?;
        self.expect_symbol("=", "after the option's name")?;
        let value = match self.token().kind.clone() {
            TokenKind::String(text) => Literal::String(text),
            TokenKind::Int(value) => Literal::Int(value),
            TokenKind::Double(value) => Literal::Double(value),
            TokenKind::Keyword(word @ ("TRUE" | "FALSE")) => Literal::Boolean(word == "TRUE"),
            _ => return Err(self.unexpected("a literal")),
        };
        self.advance();
        Ok((name, value))
    }

    /// `type name`, `type[valuetype] name`, or a bare name, which is a matrix.
    fn typed_name(&mut self) -> Result<TypedName> {
        let (first, first_position) = self.expect_name("a type and a name")?;
        let has_value_type = self.at_symbol("[");
        let has_type = has_value_type
            || matches!(
                self.token().kind,
                TokenKind::Name {
                    namespace: None,
                    ..
                }
            );
        let (name, position, data_type, value_type) = if has_type {
            let named = TYPES.iter().find(|(name, ..)| same_type_name(name, &first));
            let Some((_, data_type, mut value_type)) = named.copied() else {
                let error = Error::syntax(format!("unknown type '{first}'"))
                    .with_code(Code::UnknownType)
                    .at(&first_position);
                let names = TYPES.iter().map(|(name, ..)| *name);
                return Err(match suggest::did_you_mean(&first, names) {
                    Some(help) => error.with_help(help),
                    None => error.with_help("the types are matrix[double], frame[string], list[unknown], double, int, boolean and string"),
                });
            };
            if has_value_type {
                value_type = self.value_type(value_type)?;
            }
            let (name, position) = self.expect_name("a name after the type")?;
            (name, position, data_type, value_type)
        } else {
            (first, first_position, DataType::Matrix, ValueType::Double)
        };
        let default = if self.is_assignment(0) {
            self.advance();
            Some(self.expression()?)
        } else {
            None
        };
        Ok(TypedName {
            name,
            data_type,
            value_type,
            default,
            position,
        })
    }

    /// `[double]` after `matrix`; `[unknown]` leaves the value type as it is.
    fn value_type(&mut self, otherwise: ValueType) -> Result<ValueType> {
        self.advance();
        let (name, position) = self.expect_name("a value type")?;
        self.expect_symbol("]", "to close the value type")?;
        if same_type_name("unknown", &name) {
            return Ok(otherwise);
        }
        TYPES
            .iter()
            .find(|(known, data_type, _)| {
                *data_type == DataType::Scalar && same_type_name(known, &name)
            })
            .map(|(_, _, value_type)| *value_type)
            .ok_or_else(|| {
                Error::syntax(format!("unknown value type '{name}'"))
                    .with_code(Code::UnknownType)
                    .at(&position)
                    .with_help("the value types are double, int, boolean, string and unknown")
            })
    }
}

fn same_type_name(known: &str, written: &str) -> bool {
    known.eq_ignore_ascii_case(written)
}
