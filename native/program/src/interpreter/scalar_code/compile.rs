//! From blocks, and what their variables are, to code.
//!
//! What a variable is may change as a program runs: `s = 0` is an int, which `s = s + 0.5` makes a double. A node of the
//! graph is therefore compiled once for each combination of types that reaches it, its *versions*; as a rule a loop
//! needs one or two. Within a block, an operator whose type goes by values (`%%` of ints, `ifelse`) *forks* the rest
//! of the block.

use std::{collections::HashMap, rc::Rc};

use fulgurite_error::Position;
use fulgurite_hop::{
    Argument, Characteristics, Dag, DataType, Dialect, Folding, Function, Literal, Parameter,
    Program, Symbols, ValueType, VariableInfo, propagate_dag_folding, rewrite_dag, scalar,
};
use fulgurite_operators::{BlockPlan, undefined};

use super::{
    super::call_errors,
    emitter::{Emitter, at},
    flow::{Flow, NodeId, Step},
    instructions::{Code, Instruction, Kind, Matrix, Register, Returned, Site, Target, Unit},
    registers::Registers,
    straight::{Outcome, Straight, Tools, convert, truth},
};

/// Code that gets longer than this is not made: so many types meet that it would not pay.
const MOST_INSTRUCTIONS: usize = 1 << 13;
/// Registers of a loop that counts.
const RANGE_REGISTERS: usize = 3;

/// What code is made for, beside blocks.
pub(super) struct Facts<'p> {
    pub(super) program: &'p Program,
    /// Matrices, by their places.
    pub(super) matrices: &'p [Matrix],
    pub(super) rewrites_off: &'p [String],
    pub(super) dialect: Dialect,
}

/// The code of a region whose variables are these where it begins; nothing where something in it is no code.
pub(super) fn compile<'p>(flow: Flow<'p>, kinds: &[Kind], facts: Facts<'p>) -> Option<Code> {
    let mut compiler = Compiler {
        emitter: Emitter::new(Code {
            written: vec![false; facts.matrices.len()],
            units: vec![Unit::default()],
            ..Code::default()
        }),
        facts,
        shapes: HashMap::new(),
        units: HashMap::new(),
        waiting: Vec::new(),
    };
    let shape = Rc::new(Shape {
        flow,
        function: None,
    });
    compiler.waiting.push(Waiting {
        unit: 0,
        shape,
        kinds: kinds.to_vec(),
        results: 0,
    });
    while let Some(waiting) = compiler.waiting.pop() {
        compiler.unit(waiting)?;
    }
    compiler.emitter.finish()
}

/// The graph of a function, or of a region.
struct Shape<'p> {
    flow: Flow<'p>,
    function: Option<&'p Function>,
}

impl Shape<'_> {
    /// The first register of a range.
    fn range(&self, range: usize) -> Option<Register> {
        Register::try_from(self.flow.variables.len() + RANGE_REGISTERS * range).ok()
    }

    /// The register of a function's result, for its caller.
    fn result(&self, place: usize) -> Option<Register> {
        let before = self.flow.variables.len() + RANGE_REGISTERS * self.flow.ranges;
        Register::try_from(before + place).ok()
    }
}

/// A unit without code so far.
struct Waiting<'p> {
    unit: usize,
    shape: Rc<Shape<'p>>,
    /// Of its variables where it begins.
    kinds: Vec<Kind>,
    /// How many results its callers use.
    results: usize,
}

struct Compiler<'p> {
    facts: Facts<'p>,
    emitter: Emitter,
    /// Of functions, by their names.
    shapes: HashMap<&'p str, Rc<Shape<'p>>>,
    /// By function, what its variables are, and how many results are used.
    units: HashMap<(&'p str, Vec<Kind>, usize), usize>,
    waiting: Vec<Waiting<'p>>,
}

/// A unit while its code is made.
struct Open<'p> {
    shape: Rc<Shape<'p>>,
    registers: Registers,
    results: usize,
    versions: HashMap<(NodeId, Vec<Kind>), Target>,
    /// Versions, and forks, whose code stands nowhere yet.
    pending: Vec<(Target, NodeId, Vec<Kind>)>,
    forks: Vec<(Target, Straight)>,
}

/// What is to be emitted next; nothing where the run does not go on.
type Next = Option<(NodeId, Vec<Kind>)>;

impl<'p> Compiler<'p> {
    fn unit(&mut self, waiting: Waiting<'p>) -> Option<()> {
        let Waiting {
            unit,
            shape,
            kinds,
            results,
        } = waiting;
        let flow = &shape.flow;
        let taken = flow.variables.len() + RANGE_REGISTERS * flow.ranges + results;
        let entry = flow.entry;
        let mut open = Open {
            registers: Registers::after(taken)?,
            shape,
            results,
            versions: HashMap::new(),
            pending: Vec::new(),
            forks: Vec::new(),
        };
        let entry = self.version(entry, kinds, &mut open);
        loop {
            let mut next = match (open.forks.pop(), open.pending.pop()) {
                (Some((label, fork)), pending) => {
                    open.pending.extend(pending);
                    self.emitter.place(label);
                    self.straight(fork, &mut open)?
                }
                (None, Some((label, node, kinds))) => {
                    self.emitter.place(label);
                    Some((node, kinds))
                }
                (None, None) => break,
            };
            while let Some((node, kinds)) = next {
                next = self.node(node, kinds, &mut open)?;
                if self.emitter.code.instructions.len() > MOST_INSTRUCTIONS {
                    return None;
                }
            }
        }
        self.emitter.code.units[unit] = Unit {
            entry,
            constants: open.registers.into_constants(),
        };
        Some(())
    }

    /// The label of a version, whose code will be made if there is none.
    fn version(&mut self, node: NodeId, kinds: Vec<Kind>, open: &mut Open<'p>) -> Target {
        let key = (node, kinds);
        if let Some(label) = open.versions.get(&key) {
            return *label;
        }
        let label = self.emitter.label();
        open.pending.push((label, key.0, key.1.clone()));
        open.versions.insert(key, label);
        label
    }

    /// Goes on with a version: its code follows at once where there is none so far.
    fn go_on(&mut self, node: NodeId, kinds: Vec<Kind>, open: &mut Open<'p>) -> Next {
        let target = self.version(node, kinds, open);
        let place = open
            .pending
            .iter()
            .rposition(|(label, ..)| *label == target);
        match place {
            Some(place) => {
                let (label, node, kinds) = open.pending.remove(place);
                self.emitter.place(label);
                Some((node, kinds))
            }
            None => {
                self.emitter.emit(Instruction::Jump { target });
                None
            }
        }
    }

    fn node(&mut self, node: NodeId, kinds: Vec<Kind>, open: &mut Open<'p>) -> Option<Next> {
        let shape = Rc::clone(&open.shape);
        let position = shape.flow.nodes[node].position;
        open.registers.release_all();
        let dag = match &shape.flow.nodes[node].step {
            Step::Straight { dag, .. } | Step::Bound { dag, .. } => *dag,
            Step::Branch { dag, is_loop, .. } => {
                if *is_loop {
                    let origin = at(position);
                    self.emitter.emit_of(Instruction::Iteration, origin);
                }
                *dag
            }
            Step::Range {
                range,
                has_increment,
                next,
            } => {
                let instruction = Instruction::Range {
                    range: shape.range(*range)?,
                    has_increment: *has_increment,
                };
                self.emitter.emit_of(instruction, at(position));
                return Some(self.go_on(*next, kinds, open));
            }
            Step::Next {
                range,
                variable,
                body,
                end,
            } => {
                let instruction = Instruction::Next {
                    range: shape.range(*range)?,
                    variable: Register::try_from(*variable).ok()?,
                    end: self.version(*end, kinds.clone(), open),
                };
                self.emitter.emit_of(instruction, at(position));
                let mut kinds = kinds;
                kinds[*variable] = Kind::Int;
                return Some(self.go_on(*body, kinds, open));
            }
            Step::Call {
                function,
                arguments,
                outputs,
                next,
            } => {
                let call = Call {
                    function,
                    arguments,
                    outputs,
                    position,
                };
                let kinds = self.call(&call, kinds, open)?;
                return Some(kinds.and_then(|kinds| self.go_on(*next, kinds, open)));
            }
            Step::End => return self.end(&kinds, open).map(|()| None),
        };
        let plan = Rc::new(self.plan(dag, &kinds, &shape.flow)?);
        let straight = Straight::new(node, kinds, plan, position.cloned(), &open.registers);
        self.straight(straight, open)
    }

    /// The block as it is evaluated: as the planner has it for these types and sizes, without fusion.
    fn plan(&self, dag: &Dag, kinds: &[Kind], flow: &Flow) -> Option<BlockPlan> {
        if dag.iter().all(|(_, hop)| hop.is_scalar()) {
            return Some(BlockPlan::new(dag.clone(), Vec::new()));
        }
        let named = flow.variables.iter().zip(kinds);
        let known: Symbols = named
            .filter_map(|(name, kind)| Some(((*name).to_owned(), self.info(*kind)?)))
            .collect();
        let (sized, _) = propagate_dag_folding(dag, &known, Folding::default()).ok()?;
        let rewritten = rewrite_dag(&sized, self.facts.rewrites_off).ok()?;
        Some(BlockPlan::new(rewritten, Vec::new()))
    }

    fn info(&self, kind: Kind) -> Option<VariableInfo> {
        // Any value of the type.
        let scalar = |value| VariableInfo {
            constant: None,
            ..VariableInfo::constant(value)
        };
        match kind {
            Kind::Undefined | Kind::Other => None,
            Kind::Double => Some(scalar(Literal::Double(0.0))),
            Kind::Int => Some(scalar(Literal::Int(0))),
            Kind::Boolean => Some(scalar(Literal::Boolean(false))),
            Kind::Matrix(place) => {
                let matrix = self.facts.matrices.get(usize::from(place))?;
                let size = Characteristics::dims(matrix.rows as u64, matrix.cols as u64);
                Some(VariableInfo::matrix(size))
            }
        }
    }

    /// The rest of a block, and what follows it.
    fn straight(&mut self, straight: Straight, open: &mut Open<'p>) -> Option<Next> {
        let shape = Rc::clone(&open.shape);
        let node = &shape.flow.nodes[straight.node];
        let mut tools = Tools {
            flow: &shape.flow,
            matrices: self.facts.matrices,
            may_write: shape.function.is_none(),
            emitter: &mut self.emitter,
            registers: &mut open.registers,
            forks: &mut open.forks,
        };
        let (root, kinds) = match straight.emit(&mut tools)? {
            Outcome::Fails => return Some(None),
            Outcome::Done { root, kinds } => (root, kinds),
        };
        match &node.step {
            Step::Straight { next, .. } => Some(self.go_on(*next, kinds, open)),
            Step::Branch { yes, no, .. } => {
                let (kind, root) = root?;
                let condition = truth(kind, root, &mut tools)?;
                let target = self.version(*no, kinds.clone(), open);
                self.emitter.jump_unless(condition, target);
                Some(self.go_on(*yes, kinds, open))
            }
            Step::Bound {
                range, place, next, ..
            } => {
                let (kind, from) = root?;
                let place = Register::try_from(*place).ok()?;
                let to = shape.range(*range)?.checked_add(place)?;
                let instruction = match kind {
                    // 0 and 1 are ints as they are.
                    Kind::Int | Kind::Boolean => Instruction::Move { to, from },
                    Kind::Double => Instruction::DoubleToBound { to, from },
                    Kind::Undefined | Kind::Matrix(_) | Kind::Other => return None,
                };
                self.emitter.emit_of(instruction, at(node.position));
                Some(self.go_on(*next, kinds, open))
            }
            Step::Range { .. } | Step::Next { .. } | Step::Call { .. } | Step::End => None,
        }
    }

    /// What the variables are after a call; the inner nothing where it fails before.
    fn call(
        &mut self,
        call: &Call<'p>,
        mut kinds: Vec<Kind>,
        open: &mut Open<'p>,
    ) -> Option<Option<Vec<Kind>>> {
        let function = call.function;
        if call.outputs.len() > function.results.len() {
            return None;
        }
        let shape = self.shape(function)?;
        let caller = Rc::clone(&open.shape);
        let mut bound: Vec<Option<(Kind, Register)>> = vec![None; function.parameters.len()];
        for (index, argument) in call.arguments.iter().enumerate() {
            let (name, (kind, register)) = match argument {
                Argument::Variable {
                    parameter,
                    variable,
                } => {
                    let place = caller.flow.place_of(variable)?;
                    if kinds[place] == Kind::Undefined {
                        self.emitter.fail(undefined(variable), at(call.position));
                        return Some(None);
                    }
                    (parameter, (kinds[place], Register::try_from(place).ok()?))
                }
                Argument::Literal { parameter, value } => {
                    (parameter, open.registers.literal(value)?)
                }
            };
            let place = match name {
                Some(name) => {
                    let mut parameters = function.parameters.iter();
                    parameters.position(|parameter| parameter.name == *name)?
                }
                None => index,
            };
            let parameter = function.parameters.get(place)?;
            let value = match (parameter.data_type, kind) {
                (DataType::Matrix, Kind::Matrix(_)) => (kind, register),
                (DataType::Scalar, _) => {
                    let wanted = declared(parameter)?;
                    let mut tools = Tools {
                        flow: &caller.flow,
                        matrices: self.facts.matrices,
                        may_write: false,
                        emitter: &mut self.emitter,
                        registers: &mut open.registers,
                        forks: &mut open.forks,
                    };
                    let origin = at(call.position);
                    (wanted, convert(kind, wanted, register, origin, &mut tools)?)
                }
                (DataType::Matrix | DataType::Frame | DataType::List, _) => return None,
            };
            bound[place] = Some(value);
        }
        let mut inner = vec![Kind::Undefined; shape.flow.variables.len()];
        let mut arguments = Vec::new();
        for (parameter, bound) in function.parameters.iter().zip(bound) {
            let (kind, register) = match bound {
                Some(bound) => bound,
                None => {
                    declared(parameter)?;
                    let default = parameter.default.as_ref()?;
                    let default = scalar::convert(default, parameter.value_type).ok()?;
                    open.registers.literal(&default)?
                }
            };
            let place = shape.flow.place_of(&parameter.name)?;
            inner[place] = kind;
            match kind {
                Kind::Double | Kind::Int | Kind::Boolean => {
                    arguments.push((register, Register::try_from(place).ok()?));
                }
                Kind::Matrix(_) => {}
                Kind::Undefined | Kind::Other => return None,
            }
        }
        let mut results = Vec::new();
        for (index, (output, result)) in call.outputs.iter().zip(&function.results).enumerate() {
            let place = caller.flow.place_of(output)?;
            kinds[place] = declared(result)?;
            results.push((shape.result(index)?, Register::try_from(place).ok()?));
        }
        let unit = self.called(function, shape, inner, call.outputs.len());
        let sites = &mut self.emitter.code.sites;
        sites.push(Site {
            unit,
            function: function.name.clone(),
            arguments,
            results,
        });
        let site = u32::try_from(sites.len()).ok()? - 1;
        let instruction = Instruction::Call { site };
        self.emitter.emit_of(instruction, at(call.position));
        Some(Some(kinds))
    }

    fn shape(&mut self, function: &'p Function) -> Option<Rc<Shape<'p>>> {
        if let Some(shape) = self.shapes.get(function.name.as_str()) {
            return Some(Rc::clone(shape));
        }
        let mut flow = Flow::of(&function.body, self.facts.program)?;
        let parameters = function.parameters.iter();
        for parameter in parameters.chain(&function.results) {
            flow.variable(&parameter.name);
        }
        let shape = Rc::new(Shape {
            flow,
            function: Some(function),
        });
        self.shapes.insert(&function.name, Rc::clone(&shape));
        Some(shape)
    }

    fn called(
        &mut self,
        function: &'p Function,
        shape: Rc<Shape<'p>>,
        kinds: Vec<Kind>,
        results: usize,
    ) -> usize {
        let key = (function.name.as_str(), kinds.clone(), results);
        if let Some(unit) = self.units.get(&key) {
            return *unit;
        }
        let units = &mut self.emitter.code.units;
        let unit = units.len();
        units.push(Unit::default());
        self.units.insert(key, unit);
        self.waiting.push(Waiting {
            unit,
            shape,
            kinds,
            results,
        });
        unit
    }

    /// A function, or the region, is through.
    fn end(&mut self, kinds: &[Kind], open: &mut Open<'p>) -> Option<()> {
        let shape = Rc::clone(&open.shape);
        let Some(function) = shape.function else {
            let exits = &mut self.emitter.code.exits;
            exits.push(kinds.to_vec());
            let exit = u32::try_from(exits.len()).ok()? - 1;
            self.emitter.emit(Instruction::End { exit });
            return Some(());
        };
        for (index, result) in function.results.iter().take(open.results).enumerate() {
            let place = shape.flow.place_of(&result.name)?;
            let from = Register::try_from(place).ok()?;
            let (kind, wanted) = (kinds[place], declared(result)?);
            if kind == Kind::Undefined {
                let error = call_errors::without_result(&function.name, &result.name);
                self.emitter.fail(error, at(function.position.as_ref()));
                return Some(());
            }
            if (kind, wanted) == (Kind::Double, Kind::Int) {
                if self.facts.dialect == Dialect::SystemDs {
                    return None;
                }
                let returned = &mut self.emitter.code.returned;
                returned.push(Returned {
                    function: function.name.clone(),
                    result: result.name.clone(),
                });
                let message = u32::try_from(returned.len()).ok()? - 1;
                let value = from;
                let instruction = Instruction::FailReturned { message, value };
                self.emitter.emit(instruction);
                return Some(());
            }
            let mut tools = Tools {
                flow: &shape.flow,
                matrices: self.facts.matrices,
                may_write: false,
                emitter: &mut self.emitter,
                registers: &mut open.registers,
                forks: &mut open.forks,
            };
            let from = convert(kind, wanted, from, at(None), &mut tools)?;
            let to = shape.result(index)?;
            self.emitter.emit(Instruction::Move { to, from });
        }
        self.emitter.emit(Instruction::Return);
        Some(())
    }
}

#[derive(Clone, Copy)]
struct Call<'p> {
    function: &'p Function,
    arguments: &'p [Argument],
    outputs: &'p [String],
    position: Option<&'p Position>,
}

/// What a scalar that is declared so is; nothing for what no register holds.
fn declared(parameter: &Parameter) -> Option<Kind> {
    match (parameter.data_type, parameter.value_type) {
        (DataType::Scalar, ValueType::Double) => Some(Kind::Double),
        (DataType::Scalar, ValueType::Int) => Some(Kind::Int),
        (DataType::Scalar, ValueType::Boolean) => Some(Kind::Boolean),
        (DataType::Scalar, ValueType::String)
        | (DataType::Matrix | DataType::Frame | DataType::List, _) => None,
    }
}
