//! How workers multiply two matrices of which neither may be sent whole ([`large_product`]): by what is moved between
//! them, weighted by how many of them move it at a time, and by what a task has memory for.

use fulgurite_config::{Config, ProductForm};
use fulgurite_dataflow::{Capacity, LargeProduct, Primitive, incomplete};
use fulgurite_error::Result;
use fulgurite_fusion::{CostConstants, machine::Constant};
use fulgurite_hop::{Characteristics, HopOp};

use super::{
    operand::{Operand, OperandPlace},
    row_wise::{RowWise, Slot},
    sizes::{comes_back, rows_per_piece, rows_per_turn},
    workers::Workers,
};

/// A matrix of a product.
#[derive(Debug, Clone, Copy)]
struct Factor {
    bytes: f64,
    /// The share of its cells that are not zero.
    density: f64,
    place: OperandPlace,
}

impl Factor {
    fn of(operand: &Operand) -> Self {
        let known = operand.characteristics;
        let cells = known.cells().unwrap_or(u64::MAX) as f64;
        let bytes = operand.bytes.map_or(8.0 * cells, |bytes| bytes as f64);
        Factor {
            bytes,
            density: known.nnz.map_or(1.0, |nnz| nnz as f64 / cells.max(1.0)),
            place: operand.place,
        }
    }
}

/// What is known of a product.
#[derive(Debug, Clone, Copy)]
struct Product {
    rows: u64,
    common: u64,
    cols: u64,
    left: Factor,
    right: Factor,
}

/// What runs products.
#[derive(Debug, Clone, Copy)]
pub struct Workforce {
    /// Tasks at a time.
    tasks: u64,
    /// What each may hold.
    bytes: u64,
    /// Operations a second of one task.
    speed: f64,
    cost: CostConstants,
}

impl Workforce {
    /// # Errors
    /// Of the backend, which is asked for its capacity.
    pub fn of(workers: &Workers) -> Result<Self> {
        let capacity = match workers.backend.is_in_reach() {
            true => {
                let reply = workers.backend.apply(&Primitive::Capacity, None)?;
                Some(reply.capacity.ok_or_else(|| incomplete("capacity"))?)
            }
            false => None,
        };
        let threads = workers.config.effective_threads();
        let cost = workers.speeds.known(workers.config);
        Ok(Workforce::with(capacity.as_ref(), threads, cost))
    }

    /// `threads` is how many the speeds are those of.
    fn with(capacity: Option<&Capacity>, threads: usize, cost: CostConstants) -> Self {
        let bytes = capacity.and_then(|capacity| capacity.bytes);
        Workforce {
            tasks: capacity.map_or(1, |capacity| capacity.tasks.max(1)),
            bytes: bytes.map_or(UNLIMITED, |bytes| bytes.min(UNLIMITED)),
            speed: cost[Constant::Products] * 1e9 / threads.max(1) as f64,
            cost,
        }
    }

    /// What stripes and results may take of which a task goes over the right matrix at once: the rest is for the stripes of this
    /// one, for partial results, and for what the operator before left.
    fn bytes_of_pass(&self) -> u64 {
        (self.bytes / SHARE_OF_PASS).max(LEAST_OF_PASS)
    }

    /// Bytes through one link.
    fn sending(&self, bytes: f64) -> f64 {
        bytes / (self.cost[Constant::Broadcast] * 1e9)
    }

    /// What jobs take whatever they do.
    fn jobs(&self, count: f64) -> f64 {
        count * self.cost[Constant::Job] * 1e-3
    }
}

/// No backend has more.
const UNLIMITED: u64 = i64::MAX as u64;

const SHARE_OF_PASS: u64 = 4;

const LEAST_OF_PASS: u64 = 8 << 20;

/// Partitions are about as large, where there is more than cores have at a time.
const PARTITION_BYTES: f64 = (128u64 << 20) as f64;

/// Partial results that a task has at the same time: the sum, what is added, and the new sum.
const PARTIAL_RESULTS: f64 = 3.0;

/// Jobs of a cross-product: it turns the left matrix, aligns, and combines.
const JOBS_OF_CPMM: f64 = 4.0;

/// How a product runs of which the right matrix may not be sent whole; `None` for other operators.
///
/// # Errors
/// Of `workforce`, which is asked for only where there is such a product.
pub fn large_product(
    op: &HopOp,
    cut: &RowWise,
    operands: &[Operand],
    result: Characteristics,
    config: &Config,
    workforce: impl FnOnce() -> Result<Workforce>,
) -> Result<Option<LargeProduct>> {
    let ([Slot::Rows, Slot::Whole], [left, right], true) =
        (&cut.inputs[..], operands, op.is_product())
    else {
        return Ok(None);
    };
    if !right.is_too_large_to_send(config) {
        return Ok(None);
    }
    let Characteristics { rows, cols, .. } = right.characteristics;
    let product = Product {
        rows: result.rows.unwrap_or(u64::MAX),
        common: rows.unwrap_or(u64::MAX),
        cols: cols.unwrap_or(u64::MAX),
        left: Factor::of(left),
        right: Factor::of(right),
    };
    Ok(Some(product.form(config, &workforce()?)))
}

impl Product {
    fn form(&self, config: &Config, workforce: &Workforce) -> LargeProduct {
        let rmm = self.rmm(config, workforce);
        let forms = [
            (ProductForm::Rmm, Some(rmm)),
            (ProductForm::Cpmm, self.cpmm(config, workforce)),
            (ProductForm::Pieces, self.pieces(config, workforce)),
        ];
        tracing::debug!(product = ?self, ?forms, "seconds of a product of large matrices");
        let possible = || {
            forms
                .iter()
                .filter_map(|(form, found)| Some((form, (*found)?)))
        };
        let named = possible().find(|(form, _)| Some(**form) == config.product);
        let fastest = || possible().min_by(|(_, left), (_, right)| left.1.total_cmp(&right.1));
        named.or_else(fastest).map_or(rmm.0, |(_, (form, _))| form)
    }

    /// Its seconds with pieces sent; `None` where not even a row may be.
    fn pieces(&self, config: &Config, workforce: &Workforce) -> Option<(LargeProduct, f64)> {
        let rows = Some(rows_per_piece(self.cols, config)).filter(|rows| *rows > 0)?;
        let pieces = self.common.div_ceil(rows).max(1);
        // A broadcast leaves the driver about once, and comes to the last worker after that.
        let (times, jobs) = match self.right.place {
            OperandPlace::Here => (2.0, 1.0),
            _ => (3.0, 2.0),
        };
        // The sums of all pieces so far are read and written once for each.
        let sums = 2.0 * (pieces - 1) as f64 * self.result_bytes();
        let seconds = workforce.sending(times * self.right.bytes)
            + workforce.jobs(pieces as f64 * jobs)
            + sums / (workforce.cost[Constant::DistributedRead] * 1e9)
            + self.computing(
                workforce,
                parallelism(self.rows, config.blocksize, workforce),
            );
        Some((LargeProduct::Pieces(pieces), seconds))
    }

    /// Its seconds with stripes of the right matrix at those of the left one.
    fn rmm(&self, config: &Config, workforce: &Workforce) -> (LargeProduct, f64) {
        let tasks = parallelism(self.rows, config.blocksize, workforce);
        let in_passes = (self.left.bytes + self.result_bytes()) / workforce.bytes_of_pass() as f64;
        let in_partitions = self.left.bytes / PARTITION_BYTES;
        let stripes = stripes(self.rows, config.blocksize) as f64;
        let groups = in_passes
            .ceil()
            .max(in_partitions.ceil())
            .clamp(tasks, stripes);
        let spread = match self.right.place {
            OperandPlace::Here => workforce.sending(self.right.bytes),
            _ => 0.0,
        };
        let seconds = spread
            + workforce.sending(self.right.bytes * groups) / tasks
            + workforce.jobs(1.0)
            + self.computing(workforce, tasks);
        let form = LargeProduct::Rmm {
            bytes: workforce.bytes_of_pass(),
            row_bytes: self.bytes_of_row(),
        };
        (form, seconds)
    }

    /// Its seconds with columns of the left matrix at rows of the right one; `None` where a task has no room for a part of the
    /// whole result, or stripes of the left one's columns would be too wide.
    fn cpmm(&self, config: &Config, workforce: &Workforce) -> Option<(LargeProduct, f64)> {
        let columns = rows_per_turn(self.rows, config)?;
        let dense = 8.0 * self.rows as f64 * self.cols as f64;
        if PARTIAL_RESULTS * dense > workforce.bytes as f64 {
            return None;
        }
        let result = Characteristics::dims(self.rows, self.cols).memory_bytes();
        let result_comes_here = comes_back(result, config);
        let tasks = parallelism(self.common, columns, workforce);
        let moved = self.left.bytes + self.left.bytes.min(self.right.bytes);
        let parts = self.result_bytes() * tasks;
        let combining = match result_comes_here {
            true => workforce.sending(parts),
            false => workforce.sending(parts) / tasks,
        };
        let seconds = workforce.sending(moved) / tasks
            + combining
            + workforce.jobs(JOBS_OF_CPMM)
            + self.computing(workforce, tasks);
        Some((LargeProduct::Cpmm { result_comes_here }, seconds))
    }

    fn computing(&self, workforce: &Workforce, tasks: f64) -> f64 {
        let all = 2.0 * self.rows as f64 * self.common as f64 * self.cols as f64;
        let operations = all * self.left.density * self.right.density;
        operations / (workforce.speed * tasks)
    }

    /// What the result takes, if non-zeros are anywhere alike.
    fn result_bytes(&self) -> f64 {
        let (rows, cols) = (self.rows as f64, self.cols as f64);
        let meet = self.common as f64 * self.left.density * self.right.density;
        let non_zeros = rows * cols * -(-meet).exp_m1();
        let known = Characteristics::new(Some(self.rows), Some(self.cols), Some(non_zeros as u64));
        let dense = 8.0 * rows * cols;
        known.memory_bytes().map_or(dense, |bytes| bytes as f64)
    }

    /// What a row of the result takes at most, as far as is known.
    fn bytes_of_row(&self) -> u64 {
        (self.result_bytes() / self.rows.max(1) as f64).ceil() as u64
    }
}

/// Tasks that work on stripes of so many rows at a time.
fn parallelism(rows: u64, rows_of_stripe: u64, workforce: &Workforce) -> f64 {
    stripes(rows, rows_of_stripe).min(workforce.tasks) as f64
}

fn stripes(rows: u64, rows_of_stripe: u64) -> u64 {
    rows.div_ceil(rows_of_stripe.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    const GB: u64 = 1 << 30;

    fn workforce(tasks: u64, bytes: u64) -> Workforce {
        let capacity = Capacity {
            tasks,
            cores: 1,
            bytes: Some(bytes),
            result_bytes: None,
            is_here: false,
        };
        let cost = CostConstants::default().with([
            (Constant::Broadcast, 1.0),
            (Constant::Job, 40.0),
            (Constant::DistributedRead, 40.0),
            (Constant::Products, 80.0),
        ]);
        Workforce::with(Some(&capacity), 4, cost)
    }

    fn config() -> Config {
        Config {
            memory_local: 8 * GB,
            memory_broadcast: GB,
            blocksize: 1000,
            ..Config::default()
        }
    }

    fn product(left: Characteristics, right: Characteristics, place: OperandPlace) -> Product {
        let operand = |characteristics: Characteristics, place| Operand {
            characteristics,
            bytes: characteristics.memory_bytes(),
            place,
            first: 0,
        };
        Product {
            rows: left.rows.unwrap_or(0),
            common: right.rows.unwrap_or(0),
            cols: right.cols.unwrap_or(0),
            left: Factor::of(&operand(left, OperandPlace::InStripes)),
            right: Factor::of(&operand(right, place)),
        }
    }

    /// What each form takes, where it is possible, and what is chosen.
    fn decided(product: &Product, workforce: &Workforce) -> String {
        let config = config();
        let seconds = |form: Option<(LargeProduct, f64)>| match form {
            Some((_, seconds)) => format!("{seconds:.1} s"),
            None => "-".to_owned(),
        };
        format!(
            "rmm {}, cpmm {}, pieces {} -> {}",
            seconds(Some(product.rmm(&config, workforce))),
            seconds(product.cpmm(&config, workforce)),
            seconds(product.pieces(&config, workforce)),
            product.form(&config, workforce)
        )
    }

    #[test]
    fn the_form_follows_from_sizes_and_workers() {
        use OperandPlace::{Elsewhere, Here};
        let dense = Characteristics::dims;
        let sparse = |rows, cols, share: f64| {
            let non_zeros = (rows as f64 * cols as f64 * share) as u64;
            Characteristics::new(Some(rows), Some(cols), Some(non_zeros))
        };
        let cases = [
            (
                "square, dense",
                dense(40_000, 40_000),
                dense(40_000, 40_000),
                Elsewhere,
            ),
            (
                "square, sparse",
                sparse(1 << 20, 1 << 20, 1e-4),
                sparse(1 << 20, 1 << 20, 1e-4),
                Elsewhere,
            ),
            (
                "tall times wide",
                dense(10_000_000, 2_000),
                dense(2_000, 100_000),
                Elsewhere,
            ),
            (
                "a long common dimension",
                dense(500, 10_000_000),
                dense(10_000_000, 100),
                Elsewhere,
            ),
            (
                "the same with a large result",
                dense(20_000, 2_000_000),
                dense(2_000_000, 20_000),
                Elsewhere,
            ),
            (
                "a large left matrix, little more than may be sent",
                dense(100_000_000, 1_500),
                dense(1_500, 100_000),
                Elsewhere,
            ),
            (
                "the same at the driver",
                dense(100_000_000, 1_500),
                dense(1_500, 100_000),
                Here,
            ),
        ];
        let mut text = String::new();
        for (tasks, bytes) in [(1, GB), (24, GB), (240, 4 * GB)] {
            let _ = writeln!(text, "{tasks} tasks of {} GB", bytes / GB);
            for (name, left, right, place) in cases {
                let product = product(left, right, place);
                let _ = writeln!(
                    text,
                    "  {name}: {}",
                    decided(&product, &workforce(tasks, bytes))
                );
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn what_the_configuration_names_is_chosen_where_it_is_possible() {
        let named = |form, rows| {
            let side = Characteristics::dims(rows, 10_000);
            let right = Characteristics::dims(10_000, 20_000);
            let product = product(side, right, OperandPlace::Elsewhere);
            let config = Config {
                product: Some(form),
                ..config()
            };
            product.form(&config, &workforce(24, 16 * GB))
        };
        assert!(matches!(
            named(ProductForm::Pieces, 5_000),
            LargeProduct::Pieces(_)
        ));
        assert!(matches!(
            named(ProductForm::Rmm, 5_000),
            LargeProduct::Rmm { .. }
        ));
        assert!(matches!(
            named(ProductForm::Cpmm, 5_000),
            LargeProduct::Cpmm { .. }
        ));
        // A task has no room for a part of the whole result.
        assert!(!matches!(
            named(ProductForm::Cpmm, 500_000),
            LargeProduct::Cpmm { .. }
        ));
    }
}
