//! Builds DAGs for tests.
#![allow(dead_code)] // Each test program uses its part.

use std::sync::Arc;

use fulgurite_error::{Position, Source};
use fulgurite_hop::{
    AggregateOp, BinaryOp, Block, Characteristics, Dag, DataGenOp, Direction, Hop, HopId, HopOp,
    Literal, Predicate, SizeOp, UnaryOp, ValueType,
};

/// A DAG under construction; every HOP stands on a script line of its own.
pub struct Builder {
    pub dag: Dag,
    source: Arc<Source>,
}

impl Builder {
    pub fn new() -> Self {
        Builder {
            dag: Dag::new(),
            source: Source::new("test.dml", ""),
        }
    }

    pub fn push(&mut self, hop: Hop) -> HopId {
        let line = self.dag.len() as u32 + 1;
        self.dag
            .push(hop.at(&Position::new(&self.source, line, 1, 1)))
    }

    pub fn read(&mut self, name: &str) -> HopId {
        self.push(Hop::matrix(HopOp::TransientRead(name.into()), vec![]))
    }

    pub fn matrix(&mut self, name: &str, size: Characteristics) -> HopId {
        self.push(Hop::matrix(HopOp::TransientRead(name.into()), vec![]).with(size))
    }

    pub fn scalar(&mut self, name: &str, value_type: ValueType) -> HopId {
        let op = HopOp::TransientRead(name.into());
        self.push(Hop::scalar(op, vec![], value_type))
    }

    pub fn int(&mut self, value: i64) -> HopId {
        self.push(Hop::literal(Literal::Int(value)))
    }

    pub fn double(&mut self, value: f64) -> HopId {
        self.push(Hop::literal(Literal::Double(value)))
    }

    pub fn text(&mut self, value: &str) -> HopId {
        self.push(Hop::literal(Literal::String(value.into())))
    }

    pub fn op(&mut self, op: HopOp, inputs: &[HopId]) -> HopId {
        self.push(Hop::matrix(op, inputs.to_vec()))
    }

    pub fn unary(&mut self, op: UnaryOp, x: HopId) -> HopId {
        self.cellwise(HopOp::Unary(op), &[x])
    }

    pub fn binary(&mut self, op: BinaryOp, x: HopId, y: HopId) -> HopId {
        self.cellwise(HopOp::Binary(op), &[x, y])
    }

    pub fn cellwise(&mut self, op: HopOp, inputs: &[HopId]) -> HopId {
        if inputs.iter().any(|input| self.dag.hop(*input).is_matrix()) {
            self.push(Hop::matrix(op, inputs.to_vec()))
        } else {
            self.push(Hop::scalar(op, inputs.to_vec(), ValueType::Double))
        }
    }

    pub fn matmult(&mut self, x: HopId, y: HopId) -> HopId {
        self.op(HopOp::MatMult, &[x, y])
    }

    pub fn transpose(&mut self, x: HopId) -> HopId {
        self.op(HopOp::Transpose, &[x])
    }

    pub fn sum(&mut self, x: HopId) -> HopId {
        let op = HopOp::Aggregate(AggregateOp::Sum, Direction::Full);
        self.push(Hop::scalar(op, vec![x], ValueType::Double))
    }

    pub fn size(&mut self, op: SizeOp, x: HopId) -> HopId {
        self.push(Hop::scalar(HopOp::Size(op), vec![x], ValueType::Int))
    }

    pub fn fill(&mut self, value: HopId, rows: HopId, cols: HopId) -> HopId {
        self.op(HopOp::DataGen(DataGenOp::Fill), &[value, rows, cols])
    }

    pub fn write(&mut self, name: &str, value: HopId) -> HopId {
        let hop = self.dag.hop(value).clone();
        let root = self.push(Hop {
            op: HopOp::TransientWrite(name.into()),
            inputs: vec![value],
            ..hop
        });
        self.dag.roots.push(root);
        root
    }

    pub fn print(&mut self, value: HopId) -> HopId {
        let root = self.push(Hop::scalar(HopOp::Print, vec![value], ValueType::String));
        self.dag.roots.push(root);
        root
    }
}

pub fn basic(build: impl FnOnce(&mut Builder)) -> Block {
    let mut builder = Builder::new();
    build(&mut builder);
    Block::Basic { dag: builder.dag }
}

pub fn predicate(build: impl FnOnce(&mut Builder) -> HopId) -> Predicate {
    let mut builder = Builder::new();
    let root = build(&mut builder);
    builder.dag.roots = vec![root];
    Predicate {
        before: vec![],
        dag: builder.dag,
    }
}
