//! The program that each stack is: runs what it is asked for and leaves the logs and `truth.jsonl`.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use quiclens_simulated::Failure;
use serde::Serialize;

use crate::link::Script;
use crate::plan::{CLEAN_SIZES, Plan, SCENARIOS};
use crate::run::{Conditions, Run, Stack, simulate};

#[derive(Parser)]
#[command(about = "Requests in virtual time, each with one injected cause and without it; leaves the servers' qlogs")]
struct Options<C: ValueEnum + Clone + Send + Sync + 'static> {
    /// Folder for the logs and truth.jsonl
    #[arg(long)]
    out: PathBuf,
    /// First and last seed
    #[arg(long, default_value = "1-10")]
    seeds: String,
    /// These scenarios alone; of nothing injected there are clean_10k, clean_200k and clean_2m too
    #[arg(long, value_delimiter = ',')]
    scenarios: Vec<String>,
    /// These controllers alone
    #[arg(long, value_delimiter = ',', value_enum)]
    controllers: Vec<C>,
    /// What the path does beside its rate and delay
    #[arg(long, value_delimiter = ',', value_enum, default_value = "constant")]
    scripts: Vec<Script>,
    /// Timers of both ends fire up to 1 ms late
    #[arg(long)]
    late_timers: bool,
    /// Sizes of packets in the logs leave the 16 bytes of the tag out
    #[arg(long)]
    without_tag: bool,
}

/// One run, as a line of truth.jsonl has it.
#[derive(Serialize)]
struct TruthLine {
    stack: &'static str,
    controller: String,
    script: String,
    scenario: &'static str,
    cause: &'static str,
    vantage: &'static str,
    seed: u64,
    variant: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    condition: &'static str,
    log: String,
    stream_id: u64,
    path: PathFacts,
}

/// What the path did from the moment at which the target was asked for: it says what cannot have been a cause.
#[derive(Serialize)]
struct PathFacts {
    /// Datagrams, both ways.
    lost: u64,
    /// The longest stretch in which the bottleneck to the client never stood still.
    busy_us: u64,
    /// Of an empty packet over empty queues.
    rtt_us: u64,
}

/// What is to be run.
struct Case<C> {
    controller: C,
    script: Script,
    scenario: &'static str,
    cause: &'static str,
    seed: u64,
    variant: &'static str,
}

/// The program of a stack.
pub fn run<S: Stack>() -> Result<(), Failure> {
    let options = Options::<S::Controller>::parse();
    let conditions = Conditions { late_timers: options.late_timers, without_tag: options.without_tag };
    let mut truth = Vec::new();
    for case in cases(&options)? {
        let folder = format!("{}/{}/{}", named(&case.controller), named(&case.script), case.scenario);
        let place = format!("{folder}/{}-{}/server.sqlog", case.seed, case.variant);
        let plan = Plan::of(case.scenario, case.variant == "with", case.seed).ok_or("no such scenario")?;
        let run = simulate::<S>(&plan, case.controller, case.script, conditions)
            .map_err(|error| format!("{place}: {error}"))?;
        write(&options.out.join(&place), &run.log)?;
        serde_json::to_writer(&mut truth, &line::<S>(&case, &plan, &run, conditions, place))?;
        truth.push(b'\n');
    }
    write(&options.out.join("truth.jsonl"), &truth)
}

fn line<S: Stack>(
    case: &Case<S::Controller>,
    plan: &Plan,
    run: &Run,
    conditions: Conditions,
    log: String,
) -> TruthLine {
    // A packet of another kind may follow a lost tail; its acknowledgement brings the loss to light before any probe.
    let cause = if case.cause == "pto" && !run.has_probed { "loss_recovery" } else { case.cause };
    TruthLine {
        stack: S::NAME,
        controller: named(&case.controller),
        script: named(&case.script),
        scenario: case.scenario,
        cause,
        vantage: "server",
        seed: case.seed,
        variant: case.variant,
        condition: conditions.name(),
        log,
        stream_id: plan.target_stream(S::SERVES),
        path: PathFacts {
            lost: run.up.lost + run.down.lost,
            busy_us: micros(run.down.busy),
            rtt_us: micros(plan.up.delay + plan.down.delay),
        },
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// What was asked for, in the order in which it is run. An error for a scenario that is none.
fn cases<C: ValueEnum + Copy + Send + Sync + 'static>(options: &Options<C>) -> Result<Vec<Case<C>>, Failure> {
    let (first, last) = options.seeds.split_once('-').unwrap_or((&options.seeds, &options.seeds));
    let seeds: RangeInclusive<u64> = first.parse()?..=last.parse()?;
    let chosen = &options.controllers;
    let controllers = if chosen.is_empty() { C::value_variants() } else { chosen };
    let scenarios = scenarios(&options.scenarios)?;
    let mut found = Vec::new();
    for controller in controllers.iter().copied() {
        for script in options.scripts.iter().copied() {
            for (scenario, cause) in scenarios.iter().copied() {
                let variants: &[&str] = if scenario.starts_with("clean") { &["with"] } else { &["with", "without"] };
                for seed in seeds.clone() {
                    let case = |variant| Case { controller, script, scenario, cause, seed, variant };
                    found.extend(variants.iter().copied().map(case));
                }
            }
        }
    }
    Ok(found)
}

/// The scenarios of these names with their causes; no name is all that have a cause, and `clean`.
fn scenarios(names: &[String]) -> Result<Vec<(&'static str, &'static str)>, Failure> {
    if names.is_empty() {
        return Ok(SCENARIOS.to_vec());
    }
    let known: Vec<_> = SCENARIOS.into_iter().chain(CLEAN_SIZES.map(|(name, _)| (name, "network"))).collect();
    let named = |name: &String| known.iter().copied().find(|(each, _)| each == name);
    names
        .iter()
        .map(|name| {
            let all: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            named(name).ok_or_else(|| format!("no scenario {name}; there are {all:?}").into())
        })
        .collect()
}

fn named(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_sizes_are_run_where_they_are_asked_for() {
        assert_eq!(scenarios(&[]).unwrap().len(), SCENARIOS.len());
        assert_eq!(scenarios(&["clean_2m".to_owned()]).unwrap(), [("clean_2m", "network")]);
        assert!(scenarios(&["weather".to_owned()]).unwrap_err().to_string().contains("clean_200k"));
    }
}
