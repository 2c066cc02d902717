//! A pass over contiguous cells: unrolled pairs, pairs, and the odd cell at the end.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use fulgurite_fusion::cplan::{CNode, NodeId};
use fulgurite_hop::AggregateOp;

use super::operands::{readonly, writable};
use super::pairs::{Cells, Width};
use crate::aggregates::{self, identity};
use crate::cellwise::{self, CellInstructions};

/// Vector registers of a processor.
const REGISTERS: usize = 16;
/// Operations on a cell from which on pairs that do not add up need no other copies beside them: a processor works on the next
/// pairs while it waits for these.
const BUSY: usize = 4;
/// Operations of a body beyond which more copies would take longer to compile than they save.
const LONGEST_BODY: usize = 1200;

/// What a pass works on. Pointers are those of its first cell.
pub(super) struct Pass<'a> {
    pub body: &'a [CNode],
    /// Nodes it computes, in topological order.
    pub nodes: &'a [NodeId],
    /// Values read cell by cell, and whether their memory is only read.
    pub streams: HashMap<NodeId, (Value, bool)>,
    /// Values that are the same for every cell.
    pub spread: HashMap<NodeId, Spread>,
    pub stores: Vec<(NodeId, Value)>,
    pub reductions: Vec<(AggregateOp, NodeId)>,
    /// How many cells.
    pub width: Value,
}

/// Where a number for all cells is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spread {
    /// As one number and as a pair.
    Registers(Value, Value),
    Literal(f64),
    /// At an address, some bytes further.
    Memory(Value, i32),
}

impl Spread {
    fn read(self, builder: &mut FunctionBuilder<'_>, lanes: Width) -> Value {
        match (self, lanes) {
            (Spread::Registers(number, _), Width::One) => number,
            (Spread::Registers(_, pair), Width::Two) => pair,
            (Spread::Literal(literal), lanes) => Cells { builder, lanes }.literal(literal),
            (Spread::Memory(address, offset), lanes) => {
                let number = builder.ins().load(types::F64, readonly(), address, offset);
                match lanes {
                    Width::One => number,
                    Width::Two => builder.ins().splat(types::F64X2, number),
                }
            }
        }
    }
}

/// The accumulators of a pass, where it stands, and where the phase ends.
struct Phase {
    lanes: Width,
    unroll: usize,
    start: Value,
    end: Value,
}

impl Pass<'_> {
    /// Emits the pass; gives the reductions' results.
    pub fn emit(&self, builder: &mut FunctionBuilder<'_>) -> Vec<Value> {
        let bytes = builder.ins().ishl_imm_u(self.width, 3);
        let zero = builder.ins().iconst(types::I64, 0);
        let pairs_end = builder.ins().band_imm_s(bytes, -16);
        let unroll = self.unroll();
        let mut start = zero;
        let mut accumulators = self.identities(builder, Width::Two, unroll);
        if unroll > 1 {
            let end = builder.ins().band_imm_s(bytes, -16 * unroll as i64);
            let phase = Phase {
                lanes: Width::Two,
                unroll,
                start,
                end,
            };
            accumulators = self.phase(builder, &phase, accumulators);
            accumulators = self.merge_copies(builder, &accumulators, unroll);
            start = end;
        }
        let pairs = Phase {
            lanes: Width::Two,
            unroll: 1,
            start,
            end: pairs_end,
        };
        let accumulators = self.phase(builder, &pairs, accumulators);
        let accumulators = self.merge_lanes(builder, &accumulators);
        let odd = Phase {
            lanes: Width::One,
            unroll: 1,
            start: pairs_end,
            end: bytes,
        };
        let totals = self.phase(builder, &odd, accumulators);
        self.finish(builder, totals)
    }

    /// How many pairs are worked on together, so that the operations of one need not wait for each other.
    fn unroll(&self) -> usize {
        if self.reductions.is_empty() && self.nodes.len() >= BUSY {
            return 1;
        }
        let in_registers = |spread: &&Spread| matches!(spread, Spread::Registers(..));
        let taken = 1 + self.spread.values().filter(in_registers).count();
        let per_copy = self.most_live() + self.reductions.len();
        let fits = |copies: &usize| {
            taken + copies * per_copy <= REGISTERS && copies * self.nodes.len() <= LONGEST_BODY
        };
        [8, 4, 2].into_iter().find(fits).unwrap_or(1)
    }

    /// The most values of one cell that are needed at once.
    fn most_live(&self) -> usize {
        let is_of_cell = |id: &NodeId| !self.spread.contains_key(id);
        let mut last_use: HashMap<NodeId, usize> = HashMap::new();
        for (at, id) in self.nodes.iter().enumerate() {
            let operands = self.body[id.index()].operands();
            last_use.extend(operands.into_iter().filter(is_of_cell).map(|id| (id, at)));
        }
        let kept = self.stores.iter().map(|(id, _)| *id);
        let kept = kept.chain(self.reductions.iter().map(|(_, id)| *id));
        last_use.extend(kept.filter(is_of_cell).map(|id| (id, self.nodes.len())));
        let mut live: HashSet<NodeId> = HashSet::new();
        let mut most = 1;
        for (at, id) in self.nodes.iter().enumerate() {
            let operands = self.body[id.index()].operands();
            live.extend(operands.iter().filter(|id| is_of_cell(id)));
            most = most.max(live.len());
            // What is needed no more makes room for the result.
            live.retain(|id| last_use.get(id).is_some_and(|last| *last > at));
            live.insert(*id);
            most = most.max(live.len());
        }
        most
    }

    fn identities(
        &self,
        builder: &mut FunctionBuilder<'_>,
        lanes: Width,
        copies: usize,
    ) -> Vec<Value> {
        let mut cells = Cells { builder, lanes };
        let mut identities = Vec::new();
        for (op, _) in &self.reductions {
            let identity = cells.literal(identity(*op));
            identities.extend(std::iter::repeat_n(identity, copies));
        }
        identities
    }

    fn phase(
        &self,
        builder: &mut FunctionBuilder<'_>,
        phase: &Phase,
        accumulators: Vec<Value>,
    ) -> Vec<Value> {
        let body = builder.create_block();
        let done = builder.create_block();
        builder.append_block_param(body, types::I64);
        for _ in &accumulators {
            builder.append_block_param(body, phase.lanes.ty());
            builder.append_block_param(done, phase.lanes.ty());
        }
        let any = builder
            .ins()
            .icmp(IntCC::UnsignedLessThan, phase.start, phase.end);
        let entering = arguments(Some(phase.start), &accumulators);
        let leaving = arguments(None, &accumulators);
        builder.ins().brif(any, body, &entering, done, &leaving);

        builder.switch_to_block(body);
        let parameters = builder.block_params(body).to_vec();
        let (offset, carried) = (parameters[0], &parameters[1..]);
        let next_values = self.cells(builder, phase, offset, carried);
        let step = 8 * phase.lanes.cells() * phase.unroll as i64;
        let next = builder.ins().iadd_imm_s(offset, step);
        let more = builder.ins().icmp(IntCC::UnsignedLessThan, next, phase.end);
        let again = arguments(Some(next), &next_values);
        let leaving = arguments(None, &next_values);
        builder.ins().brif(more, body, &again, done, &leaving);

        builder.switch_to_block(done);
        builder.block_params(done).to_vec()
    }

    /// The cells at an offset; copies are interleaved operation by operation, for instruction-level parallelism.
    fn cells(
        &self,
        builder: &mut FunctionBuilder<'_>,
        phase: &Phase,
        offset: Value,
        accumulators: &[Value],
    ) -> Vec<Value> {
        let mut addresses: HashMap<NodeId, Value> = HashMap::new();
        let mut numbers: HashMap<NodeId, Value> = HashMap::new();
        let mut values: Vec<HashMap<NodeId, Value>> = vec![HashMap::new(); phase.unroll];
        let width = 8 * phase.lanes.cells() as i32;
        let mut read = |builder: &mut FunctionBuilder<'_>,
                        known: &mut HashMap<NodeId, Value>,
                        id: NodeId,
                        copy: usize|
         -> Option<Value> {
            if let Some(value) = known.get(&id) {
                return Some(*value);
            }
            if let Some(number) = self.spread.get(&id) {
                return Some(
                    *numbers
                        .entry(id)
                        .or_insert_with(|| number.read(builder, phase.lanes)),
                );
            }
            let (pointer, is_readonly) = *self.streams.get(&id)?;
            let address = *addresses
                .entry(id)
                .or_insert_with(|| builder.ins().iadd(pointer, offset));
            let flags = if is_readonly { readonly() } else { writable() };
            let displacement = width * copy as i32;
            let ty = phase.lanes.ty();
            let value = builder.ins().load(ty, flags, address, displacement);
            known.insert(id, value);
            Some(value)
        };
        for id in self.nodes {
            let node = &self.body[id.index()];
            for (copy, known) in values.iter_mut().enumerate() {
                let operands: Vec<Value> = node
                    .operands()
                    .into_iter()
                    .filter_map(|operand| read(builder, known, operand, copy))
                    .collect();
                let mut cells = Cells {
                    builder,
                    lanes: phase.lanes,
                };
                if let Some(value) = cellwise::node(&mut cells, self.body, node, &operands) {
                    known.insert(*id, value);
                }
            }
        }
        for (id, pointer) in &self.stores {
            let address = builder.ins().iadd(*pointer, offset);
            for (copy, known) in values.iter_mut().enumerate() {
                if let Some(value) = read(builder, known, *id, copy) {
                    let displacement = width * copy as i32;
                    builder
                        .ins()
                        .store(writable(), value, address, displacement);
                }
            }
        }
        let mut results = Vec::new();
        for (at, (op, id)) in self.reductions.iter().enumerate() {
            for (copy, known) in values.iter_mut().enumerate() {
                let accumulator = accumulators[at * phase.unroll + copy];
                let value = read(builder, known, *id, copy);
                let mut cells = Cells {
                    builder,
                    lanes: phase.lanes,
                };
                results.push(match value {
                    Some(value) => cellwise::accumulate(&mut cells, *op, accumulator, value),
                    None => accumulator,
                });
            }
        }
        results
    }

    /// One accumulator per reduction, from those of the unrolled copies.
    fn merge_copies(
        &self,
        builder: &mut FunctionBuilder<'_>,
        accumulators: &[Value],
        copies: usize,
    ) -> Vec<Value> {
        let mut cells = Cells {
            builder,
            lanes: Width::Two,
        };
        let mut merged = Vec::new();
        for ((op, _), copies) in self.reductions.iter().zip(accumulators.chunks(copies)) {
            let mut level = copies.to_vec();
            while level.len() > 1 {
                level = level
                    .chunks(2)
                    .map(|pair| match pair {
                        [left, right] => cellwise::combine(&mut cells, *op, *left, *right),
                        _ => pair[0],
                    })
                    .collect();
            }
            merged.extend(level);
        }
        merged
    }

    fn merge_lanes(&self, builder: &mut FunctionBuilder<'_>, pairs: &[Value]) -> Vec<Value> {
        let mut merged = Vec::new();
        for ((op, _), pair) in self.reductions.iter().zip(pairs) {
            let left = builder.ins().extractlane(*pair, 0u8);
            let right = builder.ins().extractlane(*pair, 1u8);
            let mut cells = Cells {
                builder,
                lanes: Width::One,
            };
            merged.push(cellwise::combine(&mut cells, *op, left, right));
        }
        merged
    }

    fn finish(&self, builder: &mut FunctionBuilder<'_>, totals: Vec<Value>) -> Vec<Value> {
        let mut finished = Vec::new();
        for ((op, _), total) in self.reductions.iter().zip(totals) {
            finished.push(match aggregates::is_mean(*op) {
                true => {
                    let count = builder.ins().fcvt_from_uint(types::F64, self.width);
                    builder.ins().fdiv(total, count)
                }
                false => total,
            });
        }
        finished
    }
}

fn arguments(first: Option<Value>, rest: &[Value]) -> Vec<BlockArg> {
    first
        .into_iter()
        .chain(rest.iter().copied())
        .map(BlockArg::Value)
        .collect()
}
