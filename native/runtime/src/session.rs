//! What outlives an execution: configuration, compiled plans, the backend, and where prints go.

use std::sync::Arc;

use fulgurite_error::Result;

use crate::{config::Config, dataflow::Backend};

/// Takes the lines that scripts print.
pub type PrintSink = Arc<dyn Fn(&str) -> Result<()> + Send + Sync>;

/// What executions share. Cheap to clone.
#[derive(Clone)]
pub struct Session {
    pub config: Config,
    pub backend: Option<Arc<dyn Backend>>,
    print: PrintSink,
}

impl Session {
    /// A session without a distributed backend, unless the configuration asks for the one in this process;
    /// prints go to the standard output.
    pub fn new(config: Config) -> Self {
        Session {
            config,
            backend: None,
            print: Arc::new(|line| {
                println!("{line}");
                Ok(())
            }),
        }
    }

    pub fn with_backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    pub fn with_print(mut self, print: PrintSink) -> Self {
        self.print = print;
        self
    }

    pub(crate) fn print(&self, line: &str) -> Result<()> {
        (self.print)(line)
    }

    /// `local`, `spark`: what the report calls distributed operators' place.
    pub(crate) fn backend_name(&self) -> &str {
        self.backend
            .as_ref()
            .map_or("local", |backend| backend.name())
    }
}
