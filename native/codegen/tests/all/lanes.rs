//! No function of cells is computed one cell at a time, in any engine: what each of them does is written down here, and looked for
//! in the generated code.
//!
//! Kernels and the interpreter of steps run the form over vectors that each declaration of a function must have.

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, Output, execute};
use fulgurite_fusion::cplan::{CNode, CPlan, InputBinding, NodeId};
use fulgurite_hop::{BinaryOp, TernaryOp, UnaryOp};
use fulgurite_matrix::kernels;
use fulgurite_matrix::vector_math::Cells;
use fulgurite_matrix::{DenseMatrix, MatrixBlock};

use crate::support::cell_plan;

/// What loops of compiled code do for a function, on pairs and on vectors of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lanes {
    /// They have vector instructions for it, and give the bits of the scalar function.
    Instructions,
    /// They call its form over vectors, on a block of cells.
    Form,
}

fn of_unary(op: UnaryOp) -> Lanes {
    match op {
        UnaryOp::Sqrt
        | UnaryOp::Abs
        | UnaryOp::Round
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::RoundHalfEven
        | UnaryOp::Sign
        | UnaryOp::Not
        | UnaryOp::Sprop
        | UnaryOp::Pow2 => Lanes::Instructions,
        UnaryOp::Exp
        | UnaryOp::ExpLess1
        | UnaryOp::Log
        | UnaryOp::LogOf1Plus
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Sigmoid => Lanes::Form,
    }
}

fn of_binary(op: BinaryOp) -> Lanes {
    match op {
        BinaryOp::Plus
        | BinaryOp::Minus
        | BinaryOp::Mult
        | BinaryOp::Div
        | BinaryOp::IntDiv
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor => Lanes::Instructions,
        // Large quotients take a loop of their own.
        BinaryOp::Modulus => Lanes::Form,
        BinaryOp::Pow | BinaryOp::LogBase => Lanes::Form,
    }
}

fn of_ternary(op: TernaryOp) -> Lanes {
    match op {
        TernaryOp::IfElse | TernaryOp::PlusMult | TernaryOp::MinusMult => Lanes::Instructions,
    }
}

type OfMatrices = Box<dyn Fn(&[MatrixBlock]) -> MatrixBlock>;
type OfCells = Box<dyn Fn(&[f64]) -> f64>;

/// A function, and what stands for it in each place.
struct Function {
    name: String,
    lanes: Lanes,
    plan: CPlan,
    kernel: OfMatrices,
    /// As its declaration defines it.
    of_cells: OfCells,
}

fn functions() -> Vec<Function> {
    let mut functions = Vec::new();
    for op in UnaryOp::ALL.iter().copied() {
        functions.push(Function {
            name: format!("{op:?}"),
            lanes: of_unary(op),
            plan: plan(CNode::Unary(op, NodeId(0))),
            kernel: Box::new(move |x| {
                kernels::unary_over_slices(&x[0], |x, out| op.eval_cells(x, out)).unwrap()
            }),
            of_cells: Box::new(move |x| op.eval(x[0])),
        });
    }
    for op in BinaryOp::ALL.iter().copied() {
        functions.push(Function {
            name: format!("{op:?}"),
            lanes: of_binary(op),
            plan: plan(CNode::Binary(op, NodeId(0), NodeId(1))),
            kernel: Box::new(move |x| {
                let over = |x: Cells, y: Cells, out: &mut [f64]| op.eval_cells(x, y, out);
                kernels::binary_over_slices((&x[0]).into(), (&x[1]).into(), over).unwrap()
            }),
            of_cells: Box::new(move |x| op.eval(x[0], x[1])),
        });
    }
    for op in TernaryOp::ALL.iter().copied() {
        functions.push(Function {
            name: format!("{op:?}"),
            lanes: of_ternary(op),
            plan: plan(CNode::Ternary(op, NodeId(0), NodeId(1), NodeId(2))),
            kernel: Box::new(move |x| {
                let over = |cells: [Cells; 3], out: &mut [f64]| op.eval_cells(cells, out);
                let operands = [(&x[0]).into(), (&x[1]).into(), (&x[2]).into()];
                kernels::ternary_by(operands, |x, y, z| op.eval(x, y, z), over).unwrap()
            }),
            of_cells: Box::new(move |x| op.eval(x[0], x[1], x[2])),
        });
    }
    functions
}

/// The function of as many matrices as it takes.
fn plan(function: CNode) -> CPlan {
    let inputs = function.operands().len();
    let mut body: Vec<CNode> = (0..inputs).map(CNode::Input).collect();
    body.push(function);
    let bindings = [
        InputBinding::Main,
        InputBinding::Matrix,
        InputBinding::Matrix,
    ];
    cell_plan(&bindings[..inputs], body, None, false)
}

#[test]
fn forms_are_what_compiled_code_calls() {
    for op in UnaryOp::ALL {
        let is_called = op.vector_form().is_some();
        assert_eq!(is_called, of_unary(*op) == Lanes::Form, "{op:?}");
    }
    for op in BinaryOp::ALL {
        let is_called = op.vector_form().is_some();
        assert_eq!(is_called, of_binary(*op) == Lanes::Form, "{op:?}");
    }
}

#[cfg(target_arch = "x86_64")] // instructions are named
#[test]
fn pairs_have_instructions_or_call_forms() {
    for function in functions() {
        let Function { name, lanes, .. } = &function;
        let compiled = CompiledPlan::in_pairs(&function.plan).unwrap();
        let (clif, assembly) = (compiled.clif().unwrap(), compiled.asm().unwrap());
        match lanes {
            Lanes::Instructions => {
                assert!(clif.contains("f64x2"), "{name}:\n{clif}");
                assert!(!clif.contains("extractlane"), "{name}:\n{clif}");
                // Cranelift calls a library for what a processor has no instruction for.
                let mut instructions = assembly.lines().map(str::trim_start);
                assert!(
                    !instructions.any(|line| line.starts_with("call")),
                    "{name}:\n{assembly}"
                );
            }
            Lanes::Form => assert!(clif.contains("call fn"), "{name}:\n{clif}"),
        }
    }
}

#[cfg(all(target_arch = "x86_64", unix))]
#[test]
fn vectors_of_four_have_instructions_or_call_forms() {
    if !is_x86_feature_detected!("avx") {
        return; // Cranelift makes the loops there
    }
    // Numbers for all cells, and cells at the end of a row.
    const OF_ONE_CELL: [&str; 2] = ["vbroadcastsd", "vmovsd"];
    for function in functions() {
        let Function { name, lanes, .. } = &function;
        let assembly = CompiledPlan::compile(&function.plan)
            .unwrap()
            .asm()
            .unwrap();
        let start = assembly.find("loop0:");
        assert_eq!(start.is_some(), *lanes == Lanes::Instructions, "{name}");
        let loops = start.map_or("", |start| &assembly[start..]);
        for line in loops.lines() {
            let instruction = line.split_whitespace().next().unwrap_or("");
            let is_known = OF_ONE_CELL.contains(&instruction);
            assert!(is_known || !instruction.ends_with("sd"), "{name}: {line}");
            assert_ne!(instruction, "call", "{name}: {line}");
        }
    }
}

const SPECIAL: [f64; 25] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    0.499_999_999_999_999_94,
    1.0,
    -1.0,
    1.5,
    -2.5,
    3.0,
    -3.0,
    7.25,
    0.1,
    5e-324,
    -2.5e-310,
    1e300,
    -1e22,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    2_251_799_813_685_248.5,
    4_503_599_627_370_495.5,
    -4_503_599_627_370_497.0,
    9_007_199_254_740_993.0,
];

/// Cells that meet those of another `step` in all ways.
fn cells(rows: usize, cols: usize, step: usize) -> MatrixBlock {
    let cell = |i: usize, j: usize| SPECIAL[(i * cols + j) * step / 3 % SPECIAL.len()];
    DenseMatrix::from_fn(rows, cols, cell).unwrap().into()
}

/// The bits of all cells; NaN is NaN.
fn bits(matrix: &MatrixBlock) -> Vec<u64> {
    let of_cell = |cell: f64| match cell.is_nan() {
        true => f64::NAN.to_bits(),
        false => cell.to_bits(),
    };
    let places = (0..matrix.rows()).flat_map(|i| (0..matrix.cols()).map(move |j| (i, j)));
    places.map(|(i, j)| of_cell(matrix.get(i, j))).collect()
}

#[test]
fn all_engines_give_the_same_bits() {
    let shapes = (1..=64).map(|cols| (2, cols));
    let shapes = shapes.chain([(1, 251), (29, 43), (5, 1030), (0, 3)]);
    let shapes: Vec<(usize, usize)> = shapes.collect();
    let context = ExecutionContext::single_threaded();
    for function in functions() {
        let Function { name, lanes, .. } = &function;
        let engines = [
            CompiledPlan::compile(&function.plan).unwrap(),
            CompiledPlan::in_pairs(&function.plan).unwrap(),
            CompiledPlan::interpreted(&function.plan).unwrap(),
        ];
        for (rows, cols) in &shapes {
            let operands = [3, 78, 7 * 78].map(|step| cells(*rows, *cols, step));
            let operands = &operands[..function.plan.inputs.len()];
            let basic = bits(&(function.kernel)(operands));
            if *lanes == Lanes::Instructions {
                let defined = DenseMatrix::from_fn(*rows, *cols, |i, j| {
                    let cells: Vec<f64> = operands.iter().map(|x| x.get(i, j)).collect();
                    (function.of_cells)(&cells)
                });
                assert_eq!(basic, bits(&defined.unwrap().into()), "{name}");
            }
            let bound: Vec<Operand> = operands.iter().map(Operand::Matrix).collect();
            for engine in &engines {
                let Output::Matrix(fused) = execute(engine, &bound, &context).unwrap() else {
                    panic!("a Cell plan without aggregate gives a matrix")
                };
                let interpreted = engine.why_interpreted();
                let what = format!("{name}, {rows} x {cols}, interpreted: {interpreted:?}");
                assert_eq!(bits(&fused), basic, "{what}");
            }
        }
    }
}
