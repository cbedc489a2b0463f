//! `quiclens-collector`: reads servers' QUIC event logs and ships what they say.

mod document;
mod dump;
mod error;
mod export;
mod file;
mod load;
mod machine;
mod output;
mod passing;
mod paths;
mod records;
mod requests;
mod run;

use crate::output::printable;
use clap::{Parser, Subcommand, ValueEnum};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Reads QUIC event logs (qlog in every dialect, QUIC_TRACE, quiclens line v1) and gives what they say.
#[derive(Parser)]
#[command(
    name = "quiclens-collector",
    version,
    after_help = "Examples:\n  quiclens-collector dump server.qlog --room summaries\n  quiclens-collector load logs/ --sink -   (Arrow batches, read by `quiclens load`)"
)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Read files and folders once and give their rows as Arrow batches
    Load {
        /// Files or folders of traces
        paths: Vec<PathBuf>,
        /// Access logs, JSON lines unless a format is given
        #[arg(long, num_args = 1..)]
        requests: Vec<PathBuf>,
        /// Format of the access logs, TOML: the keys of `[access_log.format]`, see collectors/edge/README.md
        #[arg(long)]
        requests_format: Option<PathBuf>,
        /// Host that wrote the access logs: with the `name` of a collector, its lines are the same rows as here
        #[arg(long, default_value = "")]
        requests_host: String,
        /// A file with a secret of 16 bytes or more: a keyed hash of the client address and port joins lines and traces
        #[arg(long)]
        client_secret_file: Option<PathBuf>,
        /// Keep no client address, header value, payload byte, user name, as `run` does by default
        #[arg(long)]
        redact: bool,
        /// Where batches go: `-` is standard output, framed as in collectors/README.md
        #[arg(long, default_value = "-")]
        sink: String,
    },
    /// Print what one stage of the processing (a room) makes of files, as JSON lines
    Dump {
        /// Files or folders of traces
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Stage whose output is printed
        #[arg(long, value_enum, default_value_t = DumpRoom::Summaries)]
        room: DumpRoom,
    },
    /// Read a request line and Arrow rows of `events` from standard input, write the qlog to standard output
    Export,
    /// Follow files that servers are still writing, and ship what they say
    Run {
        /// Configuration, TOML; see collectors/README.md
        config: PathBuf,
    },
    /// Check a configuration and print its effective values, secrets hidden
    Check {
        /// Configuration, TOML
        config: PathBuf,
        /// Print errors alone
        #[arg(long)]
        quiet: bool,
    },
    /// Read files, encode and discard their rows, and print events per second, rejects and peak memory
    Bench {
        /// Files or folders of traces
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum DumpRoom {
    /// Records, restored from the parsed events
    Events,
    /// Rows of streams, episodes, connections, aliases and rejects
    Summaries,
    /// Number of rows and bytes of each Arrow batch
    Records,
    /// What each trace's log can show
    Check,
}

fn main() -> ExitCode {
    let result = match Options::parse().command {
        Command::Load { paths, requests, requests_format, requests_host, client_secret_file, redact, sink } => {
            load::run(
                &paths,
                &requests,
                requests_format.as_deref(),
                &requests_host,
                client_secret_file.as_deref(),
                redact,
                &sink,
            )
        }
        Command::Dump { paths, room } => dump::run(&paths, room),
        Command::Export => export::run(),
        Command::Run { config } => run::run(&config),
        Command::Check { config, quiet } => run::check(&config, quiet),
        Command::Bench { paths } => load::bench(&paths),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // When standard error cannot be written either, only the exit code reports the error.
            let _ = writeln!(std::io::stderr(), "quiclens-collector: {}", printable(&message.to_string()));
            ExitCode::from(3)
        }
    }
}
