//! Requests over noq-proto in virtual time, each with one injected cause and without it; leaves the servers' qlogs.

mod aim;
mod end;
mod link;
mod plan;
mod run;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde::Serialize;

use link::Script;
use plan::{Plan, SCENARIOS, TARGET};
use run::Controller;

/// Anything that ends the program.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

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

/// A line of truth.jsonl.
#[derive(Serialize)]
struct Truth<'a> {
    stack: &'a str,
    controller: &'a str,
    script: &'a str,
    scenario: &'a str,
    cause: &'a str,
    vantage: &'a str,
    seed: u64,
    variant: &'a str,
    log: &'a str,
    stream_id: u64,
}

fn main() -> Result<(), Failure> {
    let options = Options::parse();
    let (first, last) = options.seeds.split_once('-').unwrap_or((&options.seeds, &options.seeds));
    let seeds: std::ops::RangeInclusive<u64> = first.parse()?..=last.parse()?;
    let all = [Controller::Cubic, Controller::NewReno, Controller::Bbr3];
    let controllers = if options.controllers.is_empty() { &all[..] } else { &options.controllers };
    if let Some(unknown) = options.scenarios.iter().find(|name| SCENARIOS.iter().all(|(known, _)| known != name)) {
        return Err(format!("no scenario {unknown}; there are {:?}", SCENARIOS.map(|(name, _)| name)).into());
    }
    let mut truth = Vec::new();
    for (controller, script) in
        controllers.iter().flat_map(|each| options.scripts.iter().map(move |script| (each, script)))
    {
        for (scenario, cause) in SCENARIOS {
            if !options.scenarios.is_empty() && !options.scenarios.iter().any(|name| name == scenario) {
                continue;
            }
            for seed in seeds.clone() {
                for variant in ["with", "without"] {
                    if scenario == "clean" && variant == "without" {
                        continue;
                    }
                    let (controller_name, script_name) = (named(*controller), named(*script));
                    let log = format!("{controller_name}/{script_name}/{scenario}/{seed}-{variant}/server.sqlog");
                    let plan = Plan::of(scenario, variant == "with", seed).ok_or("no such scenario")?;
                    let content =
                        run::simulate(&plan, *controller, *script).map_err(|error| format!("{log}: {error}"))?;
                    write(&options.out.join(&log), &content)?;
                    let line = Truth {
                        stack: "noq",
                        controller: &controller_name,
                        script: &script_name,
                        scenario,
                        cause,
                        vantage: "server",
                        seed,
                        variant,
                        log: &log,
                        stream_id: TARGET,
                    };
                    serde_json::to_writer(&mut truth, &line)?;
                    truth.push(b'\n');
                }
            }
        }
    }
    write(&options.out.join("truth.jsonl"), &truth)
}

fn named(value: impl clap::ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
}
