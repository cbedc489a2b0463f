//! Requests over noq-proto in virtual time, each with one injected cause and without it; leaves the servers' qlogs.

mod aim;
mod end;
mod link;
mod plan;
mod run;

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use quiclens_simulated::Failure;
use serde::{Serialize, Serializer};

use link::Script;
use plan::{Plan, SCENARIOS, TARGET};
use run::Controller;

#[derive(Parser)]
#[command(version, about)]
struct Options {
    /// Folder for the logs and truth.jsonl
    #[arg(long)]
    out: PathBuf,
    /// First and last seed
    #[arg(long, default_value = "1-10")]
    seeds: String,
    /// These scenarios alone
    #[arg(long, value_delimiter = ',')]
    scenarios: Vec<String>,
    /// These controllers alone
    #[arg(long, value_delimiter = ',', value_enum)]
    controllers: Vec<Controller>,
    /// What the path does beside its rate and delay
    #[arg(long, value_delimiter = ',', value_enum, default_value = "constant")]
    scripts: Vec<Script>,
}

/// One run, as a line of truth.jsonl has it.
#[derive(Serialize)]
struct Run {
    stack: &'static str,
    #[serde(serialize_with = "by_name")]
    controller: Controller,
    #[serde(serialize_with = "by_name")]
    script: Script,
    scenario: &'static str,
    cause: &'static str,
    vantage: &'static str,
    seed: u64,
    variant: &'static str,
    log: String,
    stream_id: u64,
}

fn main() -> Result<(), Failure> {
    let options = Options::parse();
    let mut truth = Vec::new();
    for mut run in runs(&options)? {
        let plan = Plan::of(run.scenario, run.variant == "with", run.seed).ok_or("no such scenario")?;
        let content =
            run::simulate(&plan, run.controller, run.script).map_err(|error| format!("{}: {error}", run.log))?;
        write(&options.out.join(&run.log), &content)?;
        if run.cause == "pto" && !has_probed(&content) {
            run.cause = "loss_recovery";
        }
        serde_json::to_writer(&mut truth, &run)?;
        truth.push(b'\n');
    }
    write(&options.out.join("truth.jsonl"), &truth)
}

/// Whether the stack says that a probe timer of it fired. A packet of another kind may follow the lost tail; its
/// acknowledgement brings the loss to light before.
fn has_probed(log: &[u8]) -> bool {
    const FIRED: &[u8] = b"\"pto_count\":1";
    log.windows(FIRED.len()).any(|window| window == FIRED)
}

/// What was asked for, in the order in which it is run. An error for a scenario that is none.
fn runs(options: &Options) -> Result<Vec<Run>, Failure> {
    let (first, last) = options.seeds.split_once('-').unwrap_or((&options.seeds, &options.seeds));
    let seeds: RangeInclusive<u64> = first.parse()?..=last.parse()?;
    let chosen = &options.controllers;
    let controllers = if chosen.is_empty() { Controller::value_variants() } else { chosen };
    if let Some(unknown) = options.scenarios.iter().find(|name| SCENARIOS.iter().all(|(known, _)| known != name)) {
        return Err(format!("no scenario {unknown}; there are {:?}", SCENARIOS.map(|(name, _)| name)).into());
    }
    let is_chosen = |name| options.scenarios.is_empty() || options.scenarios.iter().any(|each| each == name);
    let scenarios: Vec<_> = SCENARIOS.into_iter().filter(|(name, _)| is_chosen(*name)).collect();
    let paths =
        controllers.iter().flat_map(|controller| options.scripts.iter().map(move |script| (*controller, *script)));
    let cases = paths.flat_map(|path| scenarios.iter().map(move |scenario| (path, *scenario)));
    let mut found = Vec::new();
    for (((controller, script), (scenario, cause)), seed) in
        cases.flat_map(|case| seeds.clone().map(move |seed| (case, seed)))
    {
        let variants: &[&str] = if scenario == "clean" { &["with"] } else { &["with", "without"] };
        for variant in variants {
            let folder = format!("{}/{}/{scenario}/{seed}-{variant}", named(&controller), named(&script));
            let (stack, vantage, log) = ("noq", "server", format!("{folder}/server.sqlog"));
            found.push(Run {
                stack,
                controller,
                script,
                scenario,
                cause,
                vantage,
                seed,
                variant,
                log,
                stream_id: TARGET,
            });
        }
    }
    Ok(found)
}

fn by_name<S: Serializer>(value: &impl ValueEnum, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&named(value))
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
