//! What the fuzz targets share: the catalogue, inputs that are cut anywhere, and what must hold of any rows.

#![allow(clippy::panic, clippy::expect_used, reason = "a finding is a panic")]

pub mod cuts;
pub mod json;
pub mod memory;
pub mod rows;

// Modules of the collector that no library has yet; their paths are what they are in `collectors/agent/src`.
#[allow(dead_code, reason = "a target uses some of it")]
#[path = "../../agent/src/document.rs"]
pub mod document;
#[allow(dead_code, reason = "a target uses some of it")]
#[path = "../../agent/src/error.rs"]
pub mod error;
#[allow(dead_code, reason = "a target uses some of it")]
#[path = "../../agent/src/export.rs"]
pub mod export;
#[allow(dead_code, reason = "a target uses some of it")]
#[path = "../../agent/src/file.rs"]
pub mod file;
#[allow(dead_code, reason = "a target uses some of it")]
#[path = "../../agent/src/machine/mod.rs"]
pub mod machine;
#[allow(dead_code, reason = "a target uses some of it")]
#[path = "../../agent/src/output.rs"]
pub mod output;
#[allow(dead_code, reason = "a target uses some of it")]
#[path = "../../agent/src/passing.rs"]
pub mod passing;
#[allow(dead_code, reason = "a target uses some of it")]
#[path = "../../agent/src/records.rs"]
pub mod records;
#[allow(dead_code, missing_docs, reason = "a target uses some of it")]
#[path = "../../agent/src/run"]
pub mod run {
    pub mod folders;
    pub mod journal;
    #[path = "listen/lines.rs"]
    pub mod lines;
    pub mod spool {
        pub mod frame;
        pub mod head;
    }
}

use quiclens_core::catalogue::Catalogue;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, LazyLock};

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::load().expect("the catalogue is compiled in"));

/// The product's catalogue.
pub fn catalogue() -> &'static Catalogue {
    &CATALOGUE
}

/// A file that holds `bytes` and stands in no folder.
pub fn memory_file(bytes: &[u8]) -> Arc<File> {
    let memory = rustix::fs::memfd_create("input", rustix::fs::MemfdFlags::CLOEXEC).expect("a memory file");
    let mut file = File::from(memory);
    file.write_all(bytes).expect("memory");
    Arc::new(file)
}
