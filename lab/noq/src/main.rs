//! Requests over noq-proto in virtual time, each with one injected cause and without it; leaves the servers' qlogs.

mod end;
mod stack;

use quiclens_simulated::Failure;

use stack::Noq;

fn main() -> Result<(), Failure> {
    quiclens_injected::run_program::<Noq>()
}
