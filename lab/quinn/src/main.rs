//! Requests over quinn-proto in virtual time; leaves the server's qlog. `quinn-traces --out DIR --seed N [--seed N]...`.

mod end;
mod path;
mod run;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use quiclens_simulated::Failure;
use run::RunPlan;

const USAGE: &str = "usage: quinn-traces --out DIR --seed N [--seed N]...";

/// The scenarios with their variants. quinn's log has no frames, so none of them names a cause.
const RUNS: [(&str, &str); 3] = [("clean", "with"), ("burst_loss", "with"), ("burst_loss", "without")];

fn main() -> Result<(), Failure> {
    let (folder, seeds) = arguments()?;
    let mut truth = String::new();
    for seed in seeds {
        for (scenario, variant) in RUNS {
            let log = format!("{scenario}/{seed}-{variant}/server.sqlog");
            let content = run::simulate(&RunPlan::of(scenario, variant == "with", seed))
                .map_err(|error| format!("{scenario}, seed {seed}, {variant}: {error}"))?;
            write(&folder.join(&log), &content)?;
            writeln!(
                truth,
                r#"{{"stack":"quinn","scenario":"{scenario}","cause":"","vantage":"server","seed":{seed},"variant":"{variant}","log":"{log}","stream_id":0}}"#
            )?;
        }
    }
    write(&folder.join("truth.jsonl"), truth.as_bytes())
}

fn arguments() -> Result<(PathBuf, Vec<u64>), Failure> {
    let (mut folder, mut seeds) = (None, Vec::new());
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        match (name.as_str(), given.next()) {
            ("--out", Some(value)) => folder = Some(PathBuf::from(value)),
            ("--seed", Some(value)) => seeds.push(value.parse().map_err(|_| USAGE)?),
            _ => return Err(USAGE.into()),
        }
    }
    match folder {
        Some(folder) if !seeds.is_empty() => Ok((folder, seeds)),
        _ => Err(USAGE.into()),
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
}
