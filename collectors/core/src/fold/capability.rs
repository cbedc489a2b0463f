//! What a log can show, and which field to switch on for the rest. "Cannot know" is never drawn as zero.

use crate::fold::Fold;
use crate::fold::cause::Cause;
use crate::header::Vantage;
use serde::Serialize;

/// One cause and one log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ability {
    /// The cause.
    pub cause: &'static str,
    /// `observed`, `inferred` or `cannot`.
    pub known: &'static str,
    /// Why.
    pub because: &'static str,
    /// Fields or events that would show it.
    pub switch_on: Vec<&'static str>,
}

impl Fold {
    /// How each cause that is split so far could be known from what this log holds.
    pub fn abilities(&self) -> Vec<Ability> {
        let mut all: Vec<Ability> = Cause::SPLIT.into_iter().map(|cause| self.ability(cause)).collect();
        all.push(self.ability(Cause::ReceiverHol));
        all
    }

    /// Causes that this log could not have shown.
    pub fn cannot_show(&self) -> Vec<String> {
        self.abilities()
            .iter()
            .filter(|ability| ability.known == "cannot")
            .map(|ability| ability.cause.to_owned())
            .collect()
    }

    fn ability(&self, cause: Cause) -> Ability {
        let make = |known, because, switch_on: &[&'static str]| Ability {
            cause: cause.name(),
            known,
            because,
            switch_on: switch_on.to_vec(),
        };
        let seen = &self.seen;
        let streams = seen.frames || seen.stream_events;
        match self.role {
            Vantage::Network => return make("cannot", "a network vantage sees neither end", &[]),
            Vantage::Unknown => return make("cannot", "the trace does not say who logged it", &["vantage_point.type"]),
            Vantage::Server | Vantage::Client => {}
        }
        if !streams {
            return make(
                "cannot",
                "packets are logged without their frames",
                &["packet_sent.frames", "packet_received.frames"],
            );
        }
        let server_only = "only the server's trace shows what held its data back";
        let client_only = "only the client's trace shows what arrived when";
        match (cause, self.is_server()) {
            (Cause::Upload, _) if seen.fins || seen.stream_events => {
                make("observed", "first packet to FIN of the request", &[])
            }
            (Cause::Upload, _) => make("cannot", "no FIN is logged", &["packet_received.frames[].fin"]),
            (Cause::RemoteWait | Cause::Receiving | Cause::ReceiverHol, true) => make("cannot", client_only, &[]),
            (Cause::Receiving | Cause::ReceiverHol, false) => {
                make("observed", "stream frames of received packets", &[])
            }
            (Cause::RemoteWait | Cause::Network, false) if self.rtt.min_us.is_some() => {
                make("inferred", "time to the first byte against the minimum RTT", &[])
            }
            (Cause::RemoteWait | Cause::Network, false) => {
                make("cannot", "no RTT is logged and none could be computed", &["recovery_metrics_updated"])
            }
            (_, false) => make("cannot", server_only, &[]),
            (Cause::ServerThink, true) if seen.http || seen.stream_events => {
                make("observed", "FIN of the request to the response's first HTTP frame", &[])
            }
            (Cause::ServerThink, true) => {
                make("inferred", "FIN of the request to the first packet of the response", &["http3:frame_created"])
            }
            (Cause::Pto, true) if seen.timers => make("observed", "probe timers are logged", &[]),
            (Cause::Pto, true) if seen.acks && self.rtt.min_us.is_some() => make(
                "inferred",
                "a ping or a repetition after a silence as long as a probe timeout",
                &["timer_updated"],
            ),
            (Cause::Pto, true) => {
                make("cannot", "no acknowledgements are logged", &["packet_received.frames[].acked_ranges"])
            }
            (Cause::LossRecovery, true) if !seen.frames => {
                make("cannot", "packets are logged without their frames", &["packet_sent.frames"])
            }
            (Cause::LossRecovery, true) if !seen.acks => {
                make("cannot", "no acknowledgements are logged", &["packet_received.frames[].acked_ranges"])
            }
            (Cause::LossRecovery, true) if matches!(self.trace.losses, crate::dialect::Losses::Packet) => {
                make("observed", "lost packets are logged one by one", &[])
            }
            (Cause::LossRecovery, true) => {
                make("inferred", "losses are not logged one by one: data that is sent again was lost", &["packet_lost"])
            }
            (Cause::ConnectionFlowControl, true) if seen.flow_events => {
                make("observed", "flow control events are logged", &[])
            }
            (Cause::ConnectionFlowControl, true) if seen.connection_credit => {
                make("inferred", "stream offsets against the peer's limits", &[])
            }
            (Cause::ConnectionFlowControl, true) => {
                make("cannot", "the peer's limits are not logged", &["parameters_set", "max_data frames"])
            }
            (Cause::StreamFlowControl, true) if seen.flow_events => {
                make("observed", "flow control events are logged", &[])
            }
            (Cause::StreamFlowControl, true) if seen.stream_credit => {
                make("inferred", "stream offsets against the peer's limits", &[])
            }
            (Cause::StreamFlowControl, true) => {
                make("cannot", "the peer's limits are not logged", &["parameters_set", "max_stream_data frames"])
            }
            (Cause::CwndBlocked, true) if seen.window => {
                make("inferred", "window full, and new data followed the next acknowledgement", &[])
            }
            (Cause::CwndBlocked, true) => {
                make("cannot", "the congestion window is not logged", &["recovery_metrics_updated.congestion_window"])
            }
            (Cause::Queueing | Cause::Network, true) if seen.acks && self.rtt.min_us.is_some() => {
                make("inferred", "the last flight's round trip against the minimum RTT", &[])
            }
            (Cause::Queueing | Cause::Network, true) => {
                make("cannot", "no RTT is logged and none could be computed", &["recovery_metrics_updated"])
            }
            (
                Cause::Handshake
                | Cause::Amplification
                | Cause::Scheduling
                | Cause::Bandwidth
                | Cause::Pacing
                | Cause::AppLimited
                | Cause::Unattributed,
                true,
            ) => make("cannot", "not split off yet", &[]),
        }
    }
}
