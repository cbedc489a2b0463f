//! noq-proto as the lab runs it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{ClientConfig, ConnectionId, QlogConfig, QlogFactory, ServerConfig, Side, TransportConfig, VarInt};
use quiclens_injected::{Plan, Request, Serves, Sizes, Stack};
use quiclens_simulated::{Failure, Log, NAME, TlsKeys, address};

use crate::end::NoqEnd;

/// noq-proto, told the time at every call.
pub struct Noq;

impl Stack for Noq {
    const NAME: &'static str = "noq";
    const SIZES: Sizes = Sizes { sent_with_tag: false, received_with_tag: true };
    const SERVES: Serves = Serves::InTurn;
    type End = NoqEnd;
    type Controller = NoqController;

    fn ends(
        plan: &Plan,
        controller: NoqController,
        answers: BTreeMap<u64, Request>,
        log: Log,
        now: Instant,
    ) -> Result<(NoqEnd, NoqEnd), Failure> {
        let (server_config, client_config) = configurations(plan, controller, log.clone())?;
        let (server_address, client_address) = (address(1, 443), address(2, 50_000));
        let server = NoqEnd::new(Some(server_config), client_address, answers, plan.seed, log);
        let mut client = NoqEnd::new(None, server_address, BTreeMap::new(), plan.seed, Log::default());
        client.connect(now, client_config, NAME)?;
        Ok((server, client))
    }

    fn says_probed(log: &[u8]) -> Option<bool> {
        const FIRED: &[u8] = b"\"pto_count\":1";
        Some(log.windows(FIRED.len()).any(|window| window == FIRED))
    }
}

/// What decides how much may be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NoqController {
    Cubic,
    NewReno,
    Bbr3,
}

impl NoqController {
    fn factory(self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::NewReno => Arc::new(NewRenoConfig::default()),
            Self::Bbr3 => Arc::new(Bbr3Config::default()),
        }
    }
}

/// Gives the one connection of a run its log.
struct ToLog(Log);

impl QlogFactory for ToLog {
    fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, now: Instant) -> Option<QlogConfig> {
        let mut config = QlogConfig::new(Box::new(self.0.clone()));
        config.start_time(now).title(Some("noq-traces".to_owned()));
        Some(config)
    }
}

fn configurations(plan: &Plan, controller: NoqController, log: Log) -> Result<(ServerConfig, ClientConfig), Failure> {
    let keys = TlsKeys::new()?;
    let mut transport = TransportConfig::default();
    transport.qlog_factory(Arc::new(ToLog(log))).congestion_controller_factory(controller.factory());
    let mut server = ServerConfig::with_single_cert(vec![keys.certificate], keys.key)?;
    server.transport_config(Arc::new(transport));

    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(keys.client)?));
    let mut receiving = TransportConfig::default();
    if let Some(bytes) = plan.stream_credit {
        receiving.stream_receive_window(VarInt::from_u64(bytes)?);
    }
    if let Some(bytes) = plan.connection_credit {
        receiving.receive_window(VarInt::from_u64(bytes)?);
    }
    client.transport_config(Arc::new(receiving));
    Ok((server, client))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclens_injected::{Conditions, SCENARIOS, Script, simulate};

    fn log(scenario: &str, is_with: bool, seed: u64, controller: NoqController, script: Script) -> String {
        let plan = Plan::of(scenario, is_with, seed).expect("it is a scenario");
        let run = simulate::<Noq>(&plan, controller, script, Conditions::default());
        String::from_utf8(
            run.unwrap_or_else(|error| panic!("{scenario} {seed} {controller:?} {script:?}: {error}")).log,
        )
        .expect("UTF-8")
    }

    #[test]
    fn every_scenario_is_answered_by_every_controller_on_every_path() {
        for controller in NoqController::value_variants() {
            for script in Script::value_variants() {
                for (scenario, _) in SCENARIOS {
                    log(scenario, true, 1, *controller, *script);
                }
            }
        }
    }

    #[test]
    fn only_what_is_aimed_at_is_lost_on_a_good_path() {
        for seed in 1..=10 {
            for (scenario, least) in [("burst_loss", 2), ("tail_loss", 1), ("blackout", 1)] {
                let lost = |is_with| {
                    log(scenario, is_with, seed, NoqController::Cubic, Script::Constant)
                        .matches("quic:packet_lost")
                        .count()
                };
                assert_eq!(lost(false), 0, "{scenario} {seed}");
                assert!(lost(true) >= least, "{scenario} {seed}");
            }
        }
    }

    #[test]
    fn the_same_seed_is_the_same_run() {
        // Keys and connection ids differ; times, sizes and what happened do not.
        let names = |_| -> Vec<(String, u64)> {
            log("small_window", true, 3, NoqController::Bbr3, Script::Jitter)
                .split('\x1e')
                .filter_map(|record| serde_json::from_str::<serde_json::Value>(record).ok())
                .filter_map(|record| {
                    let time = (record.get("time")?.as_f64()? * 1000.0).round() as u64;
                    Some((record.get("name")?.as_str()?.to_owned(), time))
                })
                .collect()
        };
        let runs: Vec<_> = (0..2).map(names).collect();
        assert!(runs[0].len() > 100);
        assert_eq!(runs[0], runs[1]);
    }
}
