//! Expressions. Calls of user functions are gone from them already: see [`super::calls`].

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::{
    CastOp, DataType, Hop, HopId, HopOp, Literal, ParameterizedOp, UnaryOp, scalar,
};

use super::{BlockBuilder, Lowering, block::describe_type, describe, named_constant};
use crate::{
    builtins::{self, Builtin, Evaluated},
    suggest,
    syntax::{
        self,
        ast::{
            BinaryOperator, Call, Expression, ExpressionKind, Range, Subscripts, Target,
            UnaryOperator,
        },
    },
};

impl Lowering<'_> {
    pub(super) fn expression(&mut self, expression: &Expression) -> Result<HopId> {
        syntax::on_enough_stack(|| self.expression_here(expression))
    }

    fn expression_here(&mut self, expression: &Expression) -> Result<HopId> {
        let position = &expression.position;
        match &expression.kind {
            ExpressionKind::Literal(value) => Ok(self.block.literal(value.clone(), position)),
            ExpressionKind::Variable(name) => self.read_variable(name, position),
            ExpressionKind::Argument(name) => {
                let value = self.argument(name, position)?;
                Ok(self.block.literal(value, position))
            }
            ExpressionKind::IfDef { argument, default } => {
                match self.options.arguments.get(argument).cloned() {
                    Some(value) => Ok(self.block.literal(value, position)),
                    None => self.expression(default),
                }
            }
            ExpressionKind::Index {
                variable,
                subscripts,
            } => self.right_index(variable, subscripts, position),
            ExpressionKind::Unary(operator, operand) => {
                let operand = self.expression(operand)?;
                self.unary(*operator, operand, position)
            }
            ExpressionKind::Binary(operator, left, right) => {
                let left = self.expression(left)?;
                let right = self.expression(right)?;
                match operator {
                    BinaryOperator::Cell(op) => self.block.operator(*op, left, right, position),
                    BinaryOperator::MatMult => self.matrix_product(left, right, position),
                }
            }
            ExpressionKind::Call(call) => {
                let builtin = self.find_builtin(call)?;
                if builtin.results() == 0 {
                    return Err(Error::validation(format!("'{}' gives no value", call.name))
                        .with_code(Code::ResultCount)
                        .at(&call.position)
                        .with_help("write it as a statement of its own"));
                }
                self.builtin_call(builtin, call)
            }
            ExpressionKind::List(members) => self.bracketed(members, position),
        }
    }

    fn unary(
        &mut self,
        operator: UnaryOperator,
        operand: HopId,
        position: &Position,
    ) -> Result<HopId> {
        match operator {
            UnaryOperator::Not => self.block.unary(UnaryOp::Not, operand, position),
            UnaryOperator::Minus => match self.block.constant(operand) {
                // Not a product, which would make an int of 0.0 and lose the sign of -0.0.
                Some(Literal::Double(value)) => {
                    let value = -value;
                    Ok(self.block.literal(Literal::Double(value), position))
                }
                _ => {
                    let minus_one = self.block.int(-1, position);
                    self.block.times(minus_one, operand, position)
                }
            },
            UnaryOperator::Plus => {
                if self.block.is_string(operand) {
                    return Err(Error::validation("a string has no sign")
                        .with_code(Code::OperandType)
                        .at(position));
                }
                Ok(operand)
            }
        }
    }

    fn matrix_product(&mut self, left: HopId, right: HopId, position: &Position) -> Result<HopId> {
        for operand in [left, right] {
            let hop = self.block.hop(operand);
            if !hop.is_matrix() {
                return Err(Error::validation(format!(
                    "'%*%' multiplies two matrices, but one operand is {}",
                    describe(hop)
                ))
                .with_code(Code::OperandType)
                .at(position)
                .with_help("'*' multiplies by a scalar"));
            }
        }
        Ok(self
            .block
            .push(Hop::matrix(HopOp::MatMult, vec![left, right]).at(position)))
    }

    /// The current value of a variable.
    pub(super) fn read_variable(&mut self, name: &str, position: &Position) -> Result<HopId> {
        self.refuse_doubtful(name)?;
        if let Some(value) = self.block.value(name) {
            return Ok(value);
        }
        if let Some(value) = named_constant(name) {
            return Ok(self.block.literal(value, position));
        }
        let Some(variable) = self.scope.get(name) else {
            let habit = syntax::habit_of_variable(name).map(str::to_owned);
            let help = habit
                .or_else(|| suggest::did_you_mean(name, self.scope.names()))
                .unwrap_or_else(|| "assign it before this line, or pass it as an input".to_owned());
            let error = Error::validation(format!("variable '{name}' is not defined"))
                .with_code(Code::UndefinedVariable)
                .at(position)
                .with_help(help);
            self.scope.doubt(name, &error);
            return Err(error);
        };
        if let Some(other) = variable.conflict {
            return Err(Error::validation(format!(
                "variable '{name}' is {} on one path to here and {} on another",
                describe_type(variable.data_type, variable.value_type),
                describe_type(other, variable.value_type)
            ))
            .with_code(Code::TypeDependsOnPath)
            .at(position)
            .with_help("use a variable of its own for each"));
        }
        let hop = match &variable.constant {
            Some(value) => Hop::literal(value.clone()),
            None => Hop {
                op: HopOp::TransientRead(name.to_owned()),
                inputs: Vec::new(),
                data_type: variable.data_type,
                value_type: variable.value_type,
                characteristics: variable.characteristics,
                position: None,
            },
        };
        let id = self.block.push(hop.at(position));
        self.block.note_read(name, id);
        Ok(id)
    }

    fn argument(&self, name: &str, position: &Position) -> Result<Literal> {
        if let Some(value) = self.options.arguments.get(name) {
            return Ok(value.clone());
        }
        if self.options.allow_missing_arguments {
            return Ok(Literal::String(String::new()));
        }
        let known = self.options.arguments.keys().map(String::as_str);
        let help = match suggest::did_you_mean(name, known) {
            Some(help) => help,
            None => {
                format!("pass it (-nvargs {name}=...), or give it a default: ifdef(${name}, ...)")
            }
        };
        Err(
            Error::argument(format!("the argument '${name}' is not given"))
                .with_code(Code::MissingScriptArgument)
                .at(position)
                .with_help(help),
        )
    }

    pub(super) fn builtin_call(&mut self, builtin: &'static Builtin, call: &Call) -> Result<HopId> {
        if matches!(builtin.rule, builtins::Rule::Exists) {
            return self.exists(call);
        }
        let id = self.bind_builtin(builtin, call)?.build()?;
        // Of a cast, the list that it is of may tell what its element is.
        let hop = self.block.hop(id);
        let is_as_scalar = hop.op.cast() == Some(CastOp::AsScalar);
        if let (true, [list]) = (is_as_scalar, &hop.inputs[..])
            && let Some(element) = self.only_element_type(*list)
            && element.data_type == DataType::Scalar
        {
            self.block.hop_mut(id).value_type = element.value_type;
        }
        Ok(id)
    }

    /// A call of a built-in function with its arguments evaluated.
    pub(super) fn bind_builtin<'a>(
        &'a mut self,
        builtin: &'static Builtin,
        call: &'a Call,
    ) -> Result<builtins::BoundCall<'a>> {
        let mut evaluated = Vec::new();
        for argument in &call.arguments {
            evaluated.push(Evaluated {
                name: argument.name.clone(),
                id: match &argument.value.kind {
                    _ if builtin.is_cast => self.cast_argument(&argument.value)?,
                    _ => self.expression(&argument.value)?,
                },
                position: argument.value.position.clone(),
                start: argument.position.clone(),
            });
        }
        builtins::bind(
            builtin,
            &call.name,
            evaluated,
            &mut self.block,
            self.options.resolver,
            &call.position,
        )
    }

    /// A list in brackets: `[a, b]` is `list(a, b)`.
    fn bracketed(&mut self, members: &[Expression], position: &Position) -> Result<HopId> {
        let mut named = Vec::new();
        for (number, member) in (1..).zip(members) {
            named.push((format!("{number}"), self.expression(member)?));
        }
        let (op, inputs) = builtins::with_names(ParameterizedOp::List, named);
        let list = Hop::matrix(op, inputs).at(position);
        Ok(self.block.push(Hop {
            data_type: DataType::List,
            ..list
        }))
    }

    /// `exists("x")` or `exists(x)`: whether the variable is assigned here.
    fn exists(&mut self, call: &Call) -> Result<HopId> {
        let name = match call.arguments.as_slice() {
            [argument] => match &argument.value.kind {
                ExpressionKind::Variable(name) => Some(name),
                ExpressionKind::Literal(Literal::String(name)) => Some(name),
                _ => None,
            },
            _ => None,
        };
        let Some(name) = name else {
            return Err(
                Error::validation("'exists' takes a variable, or its name as a string")
                    .with_code(Code::ArgumentType)
                    .at(&call.position),
            );
        };
        let exists = match self.scope.get(name) {
            None => false,
            Some(variable) if variable.definite => true,
            Some(_) => {
                return Err(Error::unsupported(format!(
                    "whether '{name}' exists here depends on the path, which cannot be asked yet"
                ))
                .at(&call.position)
                .in_operator("exists")
                .with_help("assign it a default before the branches"));
            }
        };
        Ok(self.block.literal(Literal::Boolean(exists), &call.position))
    }

    /// `X[rows, cols]`.
    pub(super) fn right_index(
        &mut self,
        variable: &str,
        subscripts: &Subscripts,
        position: &Position,
    ) -> Result<HopId> {
        let matrix = self.indexed(variable, position)?;
        if self.block.hop(matrix).data_type == DataType::List {
            return self.part_of_list(matrix, subscripts);
        }
        refuse_element(subscripts)?;
        let bounds = self.bounds(matrix, subscripts)?;
        Ok(self.block.part(matrix, bounds, &subscripts.position))
    }

    /// The value of `target` after a part of it was replaced.
    pub(super) fn left_index(
        &mut self,
        target: &Target,
        subscripts: &Subscripts,
        value: HopId,
    ) -> Result<HopId> {
        let matrix = self.indexed(&target.variable, &target.position)?;
        if self.block.hop(matrix).data_type == DataType::List {
            return self.list_with(matrix, subscripts, value);
        }
        refuse_element(subscripts)?;
        let (data_type, value_type) = {
            let hop = self.block.hop(matrix);
            (hop.data_type, hop.value_type)
        };
        let replacement = self.block.hop(value);
        let fits = match data_type {
            DataType::Matrix => {
                replacement.is_matrix() || replacement.is_scalar() && !self.block.is_string(value)
            }
            _ => true,
        };
        if !fits || replacement.data_type == DataType::List {
            return Err(Error::validation(format!(
                "{} cannot be assigned to a part of {} '{}'",
                describe(replacement),
                describe_type(data_type, value_type).replacen("a ", "the ", 1),
                target.variable
            ))
            .with_code(Code::OperandType)
            .at(&target.position));
        }
        let mut inputs = vec![matrix, value];
        inputs.extend(self.bounds(matrix, subscripts)?);
        let mut hop = Hop::matrix(HopOp::LeftIndex, inputs).at(&subscripts.position);
        (hop.data_type, hop.value_type) = (data_type, value_type);
        Ok(self.block.push(hop))
    }

    fn indexed(&mut self, variable: &str, position: &Position) -> Result<HopId> {
        let id = self.read_variable(variable, position)?;
        let hop = self.block.hop(id);
        match hop.data_type {
            DataType::Matrix | DataType::Frame | DataType::List => Ok(id),
            DataType::Scalar => Err(Error::validation(format!(
                "'{variable}' is {} and cannot be indexed",
                describe_type(DataType::Scalar, hop.value_type)
            ))
            .with_code(Code::IndexType)
            .at(position)
            .with_help("only matrices, frames and lists have parts")),
        }
    }

    /// First row, last row, first column, last column.
    fn bounds(&mut self, matrix: HopId, subscripts: &Subscripts) -> Result<[HopId; 4]> {
        let position = &subscripts.position;
        let rows = BlockBuilder::rows;
        let (first_row, last_row) = self.range(matrix, &subscripts.rows, rows, position)?;
        let cols = BlockBuilder::cols;
        let (first_col, last_col) = self.range(matrix, &subscripts.cols, cols, position)?;
        Ok([first_row, last_row, first_col, last_col])
    }

    fn range(
        &mut self,
        matrix: HopId,
        range: &Range,
        size: fn(&mut BlockBuilder, HopId, &Position) -> HopId,
        position: &Position,
    ) -> Result<(HopId, HopId)> {
        match range {
            Range::All => {
                let first = self.block.int(1, position);
                let last = size(&mut self.block, matrix, position);
                Ok((first, last))
            }
            Range::Single(index) => {
                let id = self.index(matrix, index)?;
                Ok((id, id))
            }
            Range::Between(from, to) => {
                let (first, last) = (self.index(matrix, from)?, self.index(matrix, to)?);
                if let (Some(low), Some(high)) = (self.constant_int(first), self.constant_int(last))
                    && low > high
                {
                    return Err(Error::dimension(format!(
                        "the range {low}:{high} is empty; ranges in an index count upwards"
                    ))
                    .with_code(Code::EmptyRange)
                    .at(&from.position));
                }
                Ok((first, last))
            }
        }
    }

    fn index(&mut self, of: HopId, expression: &Expression) -> Result<HopId> {
        let id = self.expression(expression)?;
        if self.block.is_string(id) && self.block.hop(of).data_type == DataType::Frame {
            // The name of a column.
            return Ok(id);
        }
        self.check_number(id, Self::AN_INDEX, &expression.position)?;
        if let Some(value) = self.constant_int(id).filter(|value| *value < 1) {
            return Err(Error::dimension(format!(
                "index {value} is out of range; indexes count from 1"
            ))
            .with_code(Code::IndexOutOfRange)
            .at(&expression.position));
        }
        Ok(id)
    }

    fn constant_int(&self, id: HopId) -> Option<i64> {
        let value = self.block.constant(id)?.as_f64()?;
        Some(scalar::double_to_int(value))
    }
}

/// `[[i]]` is of lists alone.
fn refuse_element(subscripts: &Subscripts) -> Result<()> {
    match subscripts.is_element {
        false => Ok(()),
        true => Err(
            Error::validation("[[ ]] takes an element of a list, and this is no list")
                .with_code(Code::IndexType)
                .at(&subscripts.position)
                .with_help("write X[i, j]; as.scalar(X[i, j]) is the cell as a number"),
        ),
    }
}
