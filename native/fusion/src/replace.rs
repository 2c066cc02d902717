//! The DAG in which fused operators stand for what they cover.

use std::collections::HashMap;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{
    Characteristics, Dag, DataType, Direction, Formulas, Hop, HopId, Literal, ValueType,
};

use crate::{
    CoveredOperator, FusedOperator,
    construct::{Constructed, Place, PlanInput, construct},
    cplan::{MultiAggregateTemplate, Template},
    operator::Operator,
    roles,
    selection::{Fate, Selection},
    view::DagView,
};

/// What replacing gives.
pub(crate) struct Replaced {
    pub dag: Dag,
    /// As the selection numbers them.
    pub operators: Vec<FusedOperator>,
    /// As [`FusedDag::origins`](crate::FusedDag::origins).
    pub origins: Vec<Option<HopId>>,
}

/// Builds the plans and the DAG.
///
/// # Errors
/// `internal` when a plan can't be built or something that is still read is gone.
pub(crate) fn replace(view: &DagView, selection: &Selection) -> Result<Replaced> {
    let mut operator_of = vec![None; view.dag.len()];
    let mut constructed = Vec::with_capacity(selection.operators.len());
    for (number, operator) in selection.operators.iter().enumerate() {
        for root in operator.roots() {
            operator_of[root.index()] = Some(number);
        }
        constructed.push(construct(view, operator)?);
    }
    let edges = view.dag.iter().map(|(_, hop)| hop.inputs.len());
    let reads = constructed.iter().map(|operator| operator.inputs.len());
    let mut builder = Builder {
        longest_path: view.dag.len() + edges.chain(reads).sum::<usize>(),
        view,
        selection,
        operator_of,
        constructed,
        operators: vec![None; selection.operators.len()],
        origins: Vec::with_capacity(view.dag.len()),
        dag: Dag::new(),
        placed: vec![None; view.dag.len()],
        transposed: HashMap::new(),
    };
    for (id, _) in view.dag.iter() {
        if matches!(selection.fate(id), Fate::Basic | Fate::Root) {
            builder.place(id)?;
        }
    }
    for root in &view.dag.roots {
        builder.dag.roots.extend(builder.placed[root.index()]);
    }
    builder.origins.resize(builder.dag.len(), None);
    let operators = selection.operators.iter().zip(builder.operators);
    let operators =
        operators.map(|(operator, placed)| placed.ok_or_else(|| lost(view, operator.root)));
    Ok(Replaced {
        dag: builder.dag,
        operators: operators.collect::<Result<_>>()?,
        origins: builder.origins,
    })
}

struct Builder<'a> {
    view: &'a DagView<'a>,
    selection: &'a Selection,
    /// Per HOP, the operator that gives it.
    operator_of: Vec<Option<usize>>,
    constructed: Vec<Constructed>,
    /// As the selection numbers them.
    operators: Vec<Option<FusedOperator>>,
    /// Per HOP of the new DAG.
    origins: Vec<Option<HopId>>,
    dag: Dag,
    /// Per HOP, what stands for it.
    placed: Vec<Option<HopId>>,
    transposed: HashMap<HopId, HopId>,
    /// What a way from a HOP to what it reads can't exceed, with all that branches off, but in a cycle.
    longest_path: usize,
}

impl Builder<'_> {
    /// Places a HOP after all that it reads, which for several aggregates at once may stand behind it in the
    /// original DAG.
    fn place(&mut self, hop: HopId) -> Result<()> {
        let mut stack = vec![hop];
        while let Some(hop) = stack.last().copied() {
            if self.placed[hop.index()].is_some() {
                stack.pop();
                continue;
            }
            let reads = self.reads(hop);
            let before = stack.len();
            let is_missing = |read: &HopId| self.placed[read.index()].is_none();
            stack.extend(reads.into_iter().filter(is_missing));
            if stack.len() == before {
                match self.operator_of[hop.index()] {
                    Some(number) => self.place_operator(number)?,
                    None => self.place_basic(hop)?,
                }
            } else if stack.len() > self.longest_path {
                return Err(self.lost(hop));
            }
        }
        Ok(())
    }

    fn reads(&self, hop: HopId) -> Vec<HopId> {
        match self.operator_of[hop.index()] {
            Some(number) => {
                let inputs = self.constructed[number].inputs.iter();
                inputs.map(|input| input.hop).collect()
            }
            None => self.view.hop(hop).inputs.clone(),
        }
    }

    fn place_basic(&mut self, id: HopId) -> Result<()> {
        if self.selection.fate(id) != Fate::Basic {
            return Err(self.lost(id));
        }
        let hop = self.view.hop(id);
        let inputs = hop.inputs.iter().map(|input| self.new_id(*input));
        let hop = Hop {
            inputs: inputs.collect::<Result<_>>()?,
            ..hop.clone()
        };
        let placed = self.dag.push(hop);
        self.note_origin(placed, id);
        self.placed[id.index()] = Some(placed);
        Ok(())
    }

    fn place_operator(&mut self, number: usize) -> Result<()> {
        let operator = &self.selection.operators[number];
        let constructed = &self.constructed[number];
        let (plan, gives_transpose) = (constructed.plan.clone(), constructed.gives_transpose);
        let places = constructed.places.clone();
        let bound = constructed.inputs.iter().map(|input| input.hop).collect();
        let mut inputs = Vec::with_capacity(constructed.inputs.len());
        for input in constructed.inputs.clone() {
            inputs.push(self.input(input)?);
        }
        let root = self.view.hop(operator.root);
        let (output, data_type) = match &plan.template {
            Template::MultiAggregate(several) => {
                (self.size_of_several(operator, several), DataType::Matrix)
            }
            Template::Group(group) if !operator.siblings.is_empty() => {
                let count = Some(group.aggregates.len() as u64);
                let rows = root.characteristics.rows;
                (Characteristics::new(rows, count, None), DataType::Matrix)
            }
            _ if gives_transpose => (transpose(root.characteristics), root.data_type),
            _ => (root.characteristics, root.data_type),
        };
        let fused = Hop {
            op: roles::fused(number),
            inputs,
            data_type,
            value_type: root.value_type,
            characteristics: output,
            position: root.position.clone(),
        };
        let fused = self.dag.push(fused);
        self.note_origin(fused, operator.root);
        let several = match &plan.template {
            Template::MultiAggregate(several) => {
                Some((several.direction, several.aggregates.len()))
            }
            // They stand side by side, as those of rows do.
            Template::Group(group) => Some((Direction::Row, group.aggregates.len()))
                .filter(|_| !operator.siblings.is_empty()),
            Template::Cell(_) | Template::Row(_) | Template::Outer(_) => None,
        };
        match several {
            Some(several) => {
                for (place, root) in places.iter().zip(operator.roots()) {
                    let aggregate = self.aggregate(fused, several, *place, root);
                    self.placed[root.index()] = Some(aggregate);
                }
            }
            _ if gives_transpose => {
                let transposed = self.transpose(fused, root.characteristics);
                self.placed[operator.root.index()] = Some(transposed);
            }
            _ => self.placed[operator.root.index()] = Some(fused),
        }
        let covered = operator.covered.iter().map(|(hop, _)| {
            let hop = self.view.hop(*hop);
            CoveredOperator {
                code: hop.op.code(),
                position: hop.position.clone(),
            }
        });
        self.operators[number] = Some(FusedOperator {
            label: label(self.view, operator),
            plan,
            inputs: bound,
            covered: covered.collect(),
            position: root.position.clone(),
            output,
            data_type,
        });
        Ok(())
    }

    fn input(&mut self, input: PlanInput) -> Result<HopId> {
        let id = self.new_id(input.hop)?;
        if !input.transposed {
            return Ok(id);
        }
        if let Some(known) = self.transposed.get(&id) {
            return Ok(*known);
        }
        let characteristics = transpose(self.dag.hop(id).characteristics);
        let transposed = self.transpose(id, characteristics);
        self.transposed.insert(id, transposed);
        Ok(transposed)
    }

    fn transpose(&mut self, id: HopId, characteristics: Characteristics) -> HopId {
        let transpose = Hop {
            op: roles::TRANSPOSE,
            inputs: vec![id],
            characteristics,
            ..self.dag.hop(id).clone()
        };
        self.dag.push(transpose)
    }

    /// What a multi-aggregate gives.
    fn size_of_several(
        &self,
        operator: &Operator,
        several: &MultiAggregateTemplate,
    ) -> Characteristics {
        let count = Some(several.aggregates.len() as u64);
        let one = self.view.hop(operator.root).characteristics;
        match several.direction {
            Direction::Full => Characteristics::new(count, Some(1), None),
            Direction::Row => Characteristics::new(one.rows, count, None),
            Direction::Col => Characteristics::new(count, one.cols, None),
        }
    }

    /// The aggregate `root` from several in this direction.
    fn aggregate(
        &mut self,
        fused: HopId,
        (direction, count): (Direction, usize),
        place: Place,
        root: HopId,
    ) -> HopId {
        let root = self.view.hop(root);
        let one = match count {
            1 if direction != Direction::Full => fused,
            _ => self.range(fused, direction, place.number, root),
        };
        let one = match root.is_matrix() {
            true => one,
            false => {
                let cast = Hop {
                    position: root.position.clone(),
                    ..Hop::scalar(roles::ONLY_CELL, vec![one], ValueType::Double)
                };
                self.dag.push(cast)
            }
        };
        let Some(cells) = place.mean_of else {
            return one;
        };
        let cells = self.dag.push(Hop::literal(Literal::Double(cells as f64)));
        let mean = Hop {
            op: roles::QUOTIENT,
            inputs: vec![one, cells],
            ..root.clone()
        };
        self.dag.push(mean)
    }

    /// The row or the column of an aggregate.
    fn range(&mut self, fused: HopId, direction: Direction, number: usize, root: &Hop) -> HopId {
        let place = number as i64 + 1;
        let size = self.dag.hop(fused).characteristics;
        let place = self.dag.int(place as u64);
        let first = self.dag.int(1);
        // The plan may serve matrices of other sizes: it asks for the last row or column.
        let (bounds, size) = match direction {
            Direction::Full => ([place, place, first, first], Characteristics::dims(1, 1)),
            Direction::Row => (
                [first, self.dag.rows_in(fused), place, place],
                Characteristics::new(size.rows, Some(1), None),
            ),
            Direction::Col => (
                [place, place, first, self.dag.columns_in(fused)],
                Characteristics::new(Some(1), size.cols, None),
            ),
        };
        let mut inputs = vec![fused];
        inputs.extend(bounds);
        let range = Hop {
            position: root.position.clone(),
            ..Hop::matrix(roles::RANGE, inputs).with(size)
        };
        self.dag.push(range)
    }

    fn note_origin(&mut self, placed: HopId, origin: HopId) {
        self.origins.resize(placed.index(), None);
        self.origins.push(Some(origin));
    }

    fn new_id(&self, old: HopId) -> Result<HopId> {
        self.placed[old.index()].ok_or_else(|| self.lost(old))
    }

    fn lost(&self, old: HopId) -> Error {
        lost(self.view, old)
    }
}

fn lost(view: &DagView, old: HopId) -> Error {
    let hop = view.hop(old);
    Error::internal("a fused DAG lost an operator that is still read")
        .in_operator(hop.op.code())
        .at_option(hop.position.as_ref())
        .with_help("run with fulgurite.fusion.policy=none, and report this script")
}

fn transpose(of: Characteristics) -> Characteristics {
    Characteristics::new(of.cols, of.rows, of.nnz)
}

/// Template and what it ends in: `Row ba(+*)`.
fn label(view: &DagView, operator: &Operator) -> String {
    let roots: Vec<String> = operator
        .roots()
        .map(|root| view.hop(root).op.code())
        .collect();
    format!("{} {}", operator.template, roots.join(", "))
}
