//! Requests over TQUIC in virtual time, each with one injected cause and without it; leaves the servers' qlogs.

mod application;
mod clock;
mod end;
mod stack;

use quiclens_simulated::Failure;

use stack::Tquic;

fn main() -> Result<(), Failure> {
    quiclens_injected::run_program::<Tquic>()
}
