//! Requests with one injected cause and the same ones without it, for stacks of Rust in virtual time: the scenarios, the
//! paths with their scripts, aimed losses, the loop that carries time and datagrams, and the program that writes
//! `truth.jsonl`. A stack is what implements [`Stack`].

mod aim;
mod link;
mod logged;
mod message;
mod plan;
mod program;
mod run;

pub use link::Script;
pub use logged::Sizes;
pub use message::MessageBytes;
pub use plan::{CLEAN_SIZES, Plan, Request, SCENARIOS, Serves};
pub use program::run as run_program;
pub use run::{Conditions, Datagram, End, Run, Stack, simulate};
