//! Times Fulgurite for `ci/bench`, which runs the peers on the same data beside it and prints the tables.
//!
//! Data come from DML's `rand` with fixed seeds, drawn as SystemDS draws, so that the same script gives it the same
//! cells; NumPy gets them from a file.

mod algorithm;
mod compile;
mod data;
mod effort;
mod exchange;
mod limits;
mod pattern;
mod work;

use clap::Parser;
use fulgurite_backend_local::with_chosen_backend;
use fulgurite_config::{Calibration, Config};
use fulgurite_error::Result;
use fulgurite_matrix::memory;
use fulgurite_program::Session;

#[derive(Parser)]
enum Benchmark {
    /// One pattern, many times; prints a JSON object
    Pattern(pattern::Options),
    /// One algorithm under each fusion policy; prints a JSON object for each shape of its data
    Algorithm(algorithm::Options),
    /// Compiling operators of 20 and 500 nodes, and finding them compiled; prints a JSON object for each
    Compile,
    /// How many plans there are for algorithms, how many are costed, and how long planning takes; prints a table
    Effort(effort::Options),
    /// A script, as often as lines of the standard input tell; prints a JSON object for each of them
    Work(work::Options),
    /// How fast this machine reads and computes now; prints a JSON object
    Limits(limits::Options),
}

/// What a thread of requests has of the stack in a JVM, so that none has to be made for each.
const STACK_BYTES: usize = 32 << 20;

fn main() -> Result<()> {
    let measuring = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(measure)
        .map_err(|error| memory::no_thread(&error))?;
    measuring
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn measure() -> Result<()> {
    memory::keep_freed_memory();
    let results = match Benchmark::parse() {
        Benchmark::Pattern(options) => vec![pattern::measure(&options)?],
        Benchmark::Algorithm(options) => algorithm::measure(&options)?,
        Benchmark::Compile => compile::measure()?,
        Benchmark::Effort(options) => {
            print!("{}", effort::table(&options)?);
            return Ok(());
        }
        Benchmark::Work(options) => {
            let commands = std::io::stdin().lock();
            // Standard output is flushed at the end of each line.
            return work::serve(&options, commands, |answer| println!("{answer}"));
        }
        Benchmark::Limits(options) => vec![limits::measure(&options)],
    };
    for result in results {
        println!("{result}");
    }
    Ok(())
}

/// As on the command line: plans are made for the measured speeds of this machine.
fn session(config: Config) -> Session {
    with_chosen_backend(Session::new(config)).with_calibration(Calibration::of_this_machine())
}
