//! TQUIC as the lab runs it: as it comes, but for the controller and the client's windows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use clap::ValueEnum;
use quiclens_injected::{Plan, Request, Serves, Sizes, Stack};
use quiclens_simulated::{Failure, Log, NAME, address};
use tempfile::TempDir;
use tquic::{Config, CongestionControlAlgorithm, TlsConfig};

use crate::clock;
use crate::end::TquicEnd;

/// TQUIC, which asks std for the time and is told ours.
pub struct Tquic;

/// What decides how much may be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TquicController {
    Cubic,
    Bbr,
    Bbr3,
    Copa,
}

impl TquicController {
    fn algorithm(self) -> CongestionControlAlgorithm {
        match self {
            Self::Cubic => CongestionControlAlgorithm::Cubic,
            Self::Bbr => CongestionControlAlgorithm::Bbr,
            Self::Bbr3 => CongestionControlAlgorithm::Bbr3,
            Self::Copa => CongestionControlAlgorithm::Copa,
        }
    }
}

impl Stack for Tquic {
    const NAME: &'static str = "tquic";
    const SIZES: Sizes = Sizes { sent_with_tag: true, received_with_tag: true };
    /// Where no priority says else: HTTP/3's default is that answers do not share (RFC 9218).
    const SERVES: Serves = Serves::LowestFirst;
    type End = TquicEnd;
    type Controller = TquicController;

    fn ends(
        plan: &Plan,
        controller: TquicController,
        answers: BTreeMap<u64, Request>,
        log: Log,
        now: Instant,
    ) -> Result<(TquicEnd, TquicEnd), Failure> {
        clock::set(now);
        let keys = KeyFiles::new()?;
        let mut server = Config::new()?;
        server.set_congestion_control_algorithm(controller.algorithm());
        server.set_send_batch_size(1); // the log tells of one datagram at a time
        server.set_tls_config(keys.server()?);
        let mut client = Config::new()?;
        client.set_send_batch_size(1);
        client.set_tls_config(keys.client()?);
        if let Some(bytes) = plan.stream_credit {
            client.set_initial_max_stream_data_bidi_local(bytes);
            client.set_max_stream_window(bytes);
        }
        if let Some(bytes) = plan.connection_credit {
            client.set_initial_max_data(bytes);
            client.set_max_connection_window(bytes);
        }
        let (server_address, client_address) = (address(1, 443), address(2, 50_000));
        let server = TquicEnd::new(server, Some(log), (server_address, client_address), answers);
        let mut client = TquicEnd::new(client, None, (client_address, server_address), BTreeMap::new());
        client.connect(NAME)?;
        Ok((server, client))
    }

    /// Nothing in its log says so.
    fn says_probed(_: &[u8]) -> Option<bool> {
        None
    }
}

/// A certificate that the server shows and the client trusts, made anew for each run; TQUIC wants files.
struct KeyFiles(TempDir);

impl KeyFiles {
    fn new() -> Result<Self, Failure> {
        let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])?;
        let folder = TempDir::new()?;
        fs::write(folder.path().join("certificate.pem"), made.cert.pem())?;
        fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem())?;
        Ok(Self(folder))
    }

    fn path(&self, name: &str) -> Result<String, Failure> {
        let path: &Path = self.0.path();
        Ok(path.join(name).to_str().ok_or("a temporary folder whose name is no UTF-8")?.to_owned())
    }

    fn server(&self) -> Result<TlsConfig, Failure> {
        let (certificate, key) = (self.path("certificate.pem")?, self.path("key.pem")?);
        Ok(TlsConfig::new_server_config(&certificate, &key, vec![b"h3".to_vec()], false)?)
    }

    fn client(&self) -> Result<TlsConfig, Failure> {
        let mut config = TlsConfig::new_client_config(vec![b"h3".to_vec()], false)?;
        config.set_ca_certs(&self.path("certificate.pem")?)?;
        config.set_verify(true);
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use quiclens_injected::{CLEAN_SIZES, Conditions, Run, SCENARIOS, Script, simulate};

    use super::*;

    fn run(scenario: &str, is_with: bool, seed: u64, controller: TquicController, script: Script) -> Run {
        let plan = Plan::of(scenario, is_with, seed).expect("it is a scenario");
        let run = simulate::<Tquic>(&plan, controller, script, Conditions::default());
        run.unwrap_or_else(|error| panic!("{scenario} {seed} {controller:?} {script:?}: {error}"))
    }

    /// Names and times of a log's events.
    fn events(run: &Run) -> Vec<(String, f64)> {
        let log = String::from_utf8(run.log.clone()).expect("UTF-8");
        let records = log.split('\x1e').filter(|record| !record.is_empty());
        let records = records.map(|record| serde_json::from_str::<serde_json::Value>(record).expect("JSON"));
        records
            .filter_map(|record| Some((record.get("name")?.as_str()?.to_owned(), record.get("time")?.as_f64()?)))
            .collect()
    }

    #[test]
    fn every_scenario_is_answered_by_every_controller_on_every_path() {
        for controller in TquicController::value_variants() {
            for script in Script::value_variants() {
                for (scenario, _) in SCENARIOS {
                    run(scenario, true, 1, *controller, *script);
                }
            }
            for (scenario, _) in CLEAN_SIZES {
                run(scenario, true, 1, *controller, Script::Constant);
            }
        }
    }

    #[test]
    fn a_cause_makes_the_target_longer() {
        for controller in TquicController::value_variants() {
            // Single losses leave a small window to cubic alone.
            let is_left_out = |scenario| scenario == "small_window" && *controller != TquicController::Cubic;
            for (scenario, _) in SCENARIOS.into_iter().filter(|(name, _)| *name != "clean" && !is_left_out(*name)) {
                let took = |is_with| run(scenario, is_with, 1, *controller, Script::Constant).took;
                let (with, without) = (took(true), took(false));
                assert!(with > without * 5 / 4, "{scenario} {controller:?}: {with:?}, {without:?}");
            }
        }
    }

    #[test]
    fn the_logs_time_is_the_paths() {
        let run = run("think", true, 1, TquicController::Cubic, Script::Constant);
        let events = events(&run);
        assert!(events.len() > 50 && events.iter().map(|(_, time)| *time).is_sorted());
        let (asked, done) = (400.0, 400.0 + run.took.as_secs_f64() * 1000.0);
        assert!(events.iter().any(|(_, time)| *time > asked), "{asked}");
        let (_, last) = events.last().expect("it is not empty");
        assert!((*last - done).abs() < 2_000.0, "{last} {done}");
    }

    #[test]
    fn only_what_is_aimed_at_is_lost_on_a_good_path() {
        for (scenario, least) in [("burst_loss", 2), ("tail_loss", 0), ("blackout", 1)] {
            let lost = |is_with| {
                let run = run(scenario, is_with, 1, TquicController::Cubic, Script::Constant);
                assert_eq!(run.up.lost + run.down.lost, 0, "by the queue");
                events(&run).iter().filter(|(name, _)| name == "recovery:packet_lost").count()
            };
            assert_eq!(lost(false), 0, "{scenario}");
            assert!(lost(true) >= least, "{scenario}");
        }
    }

    #[test]
    fn a_lost_tail_is_probed_for() {
        let probed = |is_with| run("tail_loss", is_with, 1, TquicController::Cubic, Script::Constant).has_probed;
        assert_eq!((probed(true), probed(false)), (true, false));
    }

    #[test]
    fn late_timers_make_a_run_a_little_longer() {
        let plan = Plan::of("clean_10k", true, 1).expect("it is a scenario");
        let took = |late_timers| {
            let conditions = Conditions { late_timers, without_tag: false };
            simulate::<Tquic>(&plan, TquicController::Cubic, Script::Constant, conditions).expect("it is answered").took
        };
        let (late, timely) = (took(true), took(false));
        assert!(late > timely && late < timely + Duration::from_millis(20), "{late:?} {timely:?}");
    }
}
