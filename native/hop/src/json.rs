//! HOP DAGs as JSON: what the JVM hands over, and what travels to executors inside a task.
//!
//! The format is described, with an example, in `docs/hop-json.md`. [`Document`] and [`Node`] are its
//! shape; [`Dag`] serialises as it. What comes in is checked by [`crate::verify`], after this module
//! sorted it topologically.

use std::{cmp::Reverse, collections::BinaryHeap, collections::HashMap};

use fulgurite_error::{Error, Position, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::Value;

use crate::{
    Characteristics, Dag, DataType, Hop, HopId, HopOp, Literal, ValueType, ops::Gives,
    verify::verify_named,
};

const FORMAT: &str = "fulgurite-hop";
const VERSION: u64 = 1;

/// The DAG in version 1 of the format.
///
/// # Panics
/// Never: everything a DAG holds has a JSON form.
pub fn to_json(dag: &Dag) -> Value {
    serde_json::to_value(dag).expect("everything a DAG holds has a JSON form")
}

/// A DAG from its JSON text. HOPs may stand in any order; they come out topologically sorted, otherwise in
/// the order of the text.
///
/// # Errors
/// Syntax, where the text is no JSON; plan, where it is no consistent DAG, naming node and rule.
pub fn from_json(text: &str) -> Result<Dag> {
    let syntax = |error: serde_json::Error| {
        if error.is_data() {
            Error::plan(format!("HOP JSON: {error}"))
        } else {
            Error::syntax(format!("HOP JSON: {error}"))
        }
    };
    // The version first: what another version's document looks like, nobody knows.
    let header: Header = serde_json::from_str(text).map_err(syntax)?;
    header.check()?;
    let document: Document = serde_json::from_str(text).map_err(syntax)?;
    document.into_dag()
}

#[derive(Deserialize)]
struct Header {
    format: String,
    version: u64,
}

impl Header {
    fn check(&self) -> Result<()> {
        if self.format == FORMAT && self.version == VERSION {
            return Ok(());
        }
        Err(Error::plan(format!(
            "HOP JSON: format '{}' version {} is unknown",
            self.format, self.version
        ))
        .with_help(format!("this release reads '{FORMAT}' version {VERSION}")))
    }
}

/// The whole text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    version: u64,
    hops: Vec<Node>,
    roots: Vec<u64>,
}

/// One HOP. What is left out has the operator's default.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Node {
    pub id: u64,
    pub op: String,
    #[serde(default)]
    pub inputs: Vec<u64>,
    #[serde(default)]
    pub rows: Size,
    #[serde(default)]
    pub cols: Size,
    #[serde(default)]
    pub nnz: Size,
    /// Side of the blocks, -1 for the engine's setting; other sizes are not supported.
    #[serde(default)]
    pub blocksize: Size,
    pub data_type: Option<DataType>,
    pub value_type: Option<ValueType>,
    /// A literal's value with its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Literal>,
    /// Options of reads and writes; places of named inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

/// A number of rows, columns or non-zeros: -1 where unknown.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Size(pub Option<u64>);

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(size) => serializer.serialize_u64(size),
            None => serializer.serialize_i64(-1),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        if number.as_i64() == Some(-1) {
            return Ok(Size(None));
        }
        match number.as_u64() {
            Some(size) => Ok(Size(Some(size))),
            None => Err(de::Error::custom(format!(
                "{number} is no size: sizes are whole numbers, or -1 where unknown"
            ))),
        }
    }
}

impl Serialize for Dag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::new(self)
            .map_err(ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Dag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Document::deserialize(deserializer)?;
        let header = Header {
            format: document.format.clone(),
            version: document.version,
        };
        header
            .check()
            .and_then(|()| document.into_dag())
            .map_err(de::Error::custom)
    }
}

impl Document {
    fn new(dag: &Dag) -> serde_json::Result<Self> {
        let nodes = dag.iter().map(|(id, hop)| Node::new(id, hop));
        Ok(Document {
            format: FORMAT.into(),
            version: VERSION,
            hops: nodes.collect::<serde_json::Result<_>>()?,
            roots: dag.roots.iter().map(|root| u64::from(root.0)).collect(),
        })
    }

    fn into_dag(self) -> Result<Dag> {
        let order = topological_order(&self.hops)?;
        let ids: HashMap<u64, HopId> = order
            .iter()
            .enumerate()
            .map(|(place, index)| (self.hops[*index].id, HopId(place as u32)))
            .collect();
        let numbers: Vec<u64> = order.iter().map(|index| self.hops[*index].id).collect();
        let id_of = |id: &u64, reader: &str| {
            ids.get(id)
                .copied()
                .ok_or_else(|| Error::plan(format!("{reader}: there is no node {id}")))
        };
        let mut dag = Dag::new();
        for index in order {
            let node = &self.hops[index];
            let inputs = node
                .inputs
                .iter()
                .map(|input| id_of(input, &node.label()))
                .collect::<Result<_>>()?;
            let hop = node.hop(&dag, inputs)?;
            dag.push(hop);
        }
        dag.roots = self
            .roots
            .iter()
            .map(|root| id_of(root, "roots"))
            .collect::<Result<_>>()?;
        verify_named(&dag, &|id| {
            numbers.get(id.index()).copied().unwrap_or_default()
        })?;
        Ok(dag)
    }
}

/// Indices of the nodes, inputs first; among those that are free to come next, the first of the text.
fn topological_order(nodes: &[Node]) -> Result<Vec<usize>> {
    let mut index_of = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        if index_of.insert(node.id, index).is_some() {
            return Err(Error::plan(format!("duplicate id: {}", node.label())));
        }
    }
    let mut readers = vec![Vec::new(); nodes.len()];
    let mut missing = vec![0usize; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for input in &node.inputs {
            let Some(input_index) = index_of.get(input) else {
                return Err(Error::plan(format!(
                    "dangling input: {} reads node {input}, which is not there",
                    node.label()
                )));
            };
            readers[*input_index].push(index);
            missing[index] += 1;
        }
    }
    let free = (0..nodes.len()).filter(|index| missing[*index] == 0);
    let mut free: BinaryHeap<Reverse<usize>> = free.map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(index)) = free.pop() {
        order.push(index);
        for reader in &readers[index] {
            missing[*reader] -= 1;
            if missing[*reader] == 0 {
                free.push(Reverse(*reader));
            }
        }
    }
    match missing.iter().position(|missing| *missing > 0) {
        Some(index) => Err(Error::plan(format!(
            "cycle: {} depends on itself",
            nodes[on_a_cycle(nodes, &index_of, &missing, index)].label()
        ))),
        None => Ok(order),
    }
}

/// A node of a cycle, found by going against the edges from a node that waits for one.
fn on_a_cycle(
    nodes: &[Node],
    index_of: &HashMap<u64, usize>,
    missing: &[usize],
    start: usize,
) -> usize {
    let mut index = start;
    // After as many steps as there are nodes, the walk can only be on a cycle.
    for _ in 0..nodes.len() {
        let waiting = nodes[index].inputs.iter().filter_map(|id| index_of.get(id));
        index = waiting
            .copied()
            .find(|input| missing[*input] > 0)
            .unwrap_or(index);
    }
    index
}

impl Node {
    fn new(id: HopId, hop: &Hop) -> serde_json::Result<Self> {
        Ok(Node {
            id: u64::from(id.0),
            op: hop.op.code(),
            inputs: hop.inputs.iter().map(|input| u64::from(input.0)).collect(),
            rows: Size(hop.characteristics.rows),
            cols: Size(hop.characteristics.cols),
            nnz: Size(hop.characteristics.nnz),
            blocksize: Size(None),
            data_type: Some(hop.data_type),
            value_type: Some(hop.value_type),
            value: hop.op.constant().cloned(),
            parameters: Node::parameters(&hop.op)?,
            position: hop.position.clone(),
        })
    }

    /// Options of a read or write, or places of named inputs.
    pub fn parameters(op: &HopOp) -> serde_json::Result<Option<Value>> {
        let parameters = match op {
            HopOp::PersistentRead(options) => Some(serde_json::to_value(options)?),
            HopOp::PersistentWrite(options) => Some(serde_json::to_value(options)?),
            HopOp::Parameterized(_, places) => Some(serde_json::to_value(places)?),
            _ => None,
        };
        Ok(parameters.map(without_nulls))
    }

    /// For messages: `node 7 (ba(+*))`.
    fn label(&self) -> String {
        format!("node {} ({})", self.id, self.op)
    }

    /// The HOP with these inputs, which are in the DAG.
    pub fn hop(&self, dag: &Dag, inputs: Vec<HopId>) -> Result<Hop> {
        let op = self
            .operator()
            .map_err(|error| error.at_option(self.position.as_ref()))?;
        if self.blocksize != Size(None) {
            return Err(
                Error::unsupported(format!("{}: a block size of its own", self.label()))
                    .with_help("give blocksize -1 and set the block size for the whole run"),
            );
        }
        let (data_type, value_type) = self.types(&op, dag, &inputs);
        let characteristics = match data_type {
            DataType::Scalar => Characteristics::SCALAR,
            _ => Characteristics::new(self.rows.0, self.cols.0, self.nnz.0),
        };
        Ok(Hop {
            op,
            inputs,
            data_type,
            value_type,
            characteristics,
            position: self.position.clone(),
        })
    }

    fn operator(&self) -> Result<HopOp> {
        let wrong = |rule: String| Error::plan(format!("{}: {rule}", self.label()));
        let op = HopOp::from_code(&self.op).ok_or_else(|| wrong("unknown operator".into()))?;
        let parameters = match &self.parameters {
            None | Some(Value::Null) => Value::Object(Default::default()),
            Some(parameters) => parameters.clone(),
        };
        let invalid = |error: serde_json::Error| wrong(format!("parameters: {error}"));
        let op = match op {
            HopOp::PersistentRead(_) => {
                HopOp::PersistentRead(serde_json::from_value(parameters).map_err(invalid)?)
            }
            HopOp::PersistentWrite(_) => {
                HopOp::PersistentWrite(serde_json::from_value(parameters).map_err(invalid)?)
            }
            HopOp::Parameterized(op, _) => {
                HopOp::Parameterized(op, serde_json::from_value(parameters).map_err(invalid)?)
            }
            op if self.parameters.is_some() => {
                return Err(wrong(format!("parameters: {} has none", op.code())));
            }
            op => op,
        };
        match (op, &self.value) {
            (HopOp::Literal(_), Some(value)) => {
                let op = HopOp::Literal(value.clone());
                if op.code() == self.op {
                    Ok(op)
                } else {
                    Err(wrong(format!("value: {value} is not what the code says")))
                }
            }
            (op, Some(_)) => Err(wrong(format!("value: {} has none", op.code()))),
            (op, None) => Ok(op),
        }
    }

    /// The types given, else what operator and inputs say.
    fn types(&self, op: &HopOp, dag: &Dag, inputs: &[HopId]) -> (DataType, ValueType) {
        let (data_type, value_type) = default_types(op, dag, inputs);
        (
            self.data_type.unwrap_or(data_type),
            self.value_type.unwrap_or(value_type),
        )
    }
}

fn default_types(op: &HopOp, dag: &Dag, inputs: &[HopId]) -> (DataType, ValueType) {
    let scalar = |value_type| (DataType::Scalar, value_type);
    let matrix = (DataType::Matrix, ValueType::Double);
    op.facts(|facts| match facts.gives {
        Gives::Constant(value) => scalar(value.value_type()),
        Gives::Count => scalar(ValueType::Int),
        Gives::Always(data_type) => (data_type, ValueType::Double),
        Gives::Usually(data_type, value_type) => (data_type, value_type),
        Gives::Input => inputs.first().map_or(matrix, |written| {
            let written = dag.hop(*written);
            (written.data_type, written.value_type)
        }),
        Gives::Cells(function) => {
            let inputs = || inputs.iter().map(|input| dag.hop(*input));
            let types: Vec<ValueType> = inputs().map(|input| input.value_type).collect();
            match inputs().all(Hop::is_scalar) {
                true => function.value_type(&types).map_or(matrix, scalar),
                false => matrix,
            }
        }
    })
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        other => other,
    }
}
