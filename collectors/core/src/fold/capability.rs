//! What a log can show, and which field to switch on for the rest. "Cannot know" is never drawn as zero.

use crate::dialect::Losses;
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

/// `known`, `because` and `switch_on`.
type Answer = (&'static str, &'static str, &'static [&'static str]);

const OBSERVED: &str = "observed";
const INFERRED: &str = "inferred";
const CANNOT: &str = "cannot";

const FRAMES: &[&str] = &["packet_sent.frames", "packet_received.frames"];
const ACKS: &[&str] = &["packet_received.frames[].acked_ranges"];
const RTT: &[&str] = &["recovery_metrics_updated.smoothed_rtt"];
const WINDOW: &[&str] = &["recovery_metrics_updated.congestion_window"];
const QUEUED: &[&str] = &["http3:frame_created", "or stream_data_moved to the transport"];

impl Fold {
    /// How each cause could be known from what this log holds.
    pub fn abilities(&self) -> Vec<Ability> {
        let causes = Cause::ALL.into_iter().filter(|cause| *cause != Cause::Unattributed);
        causes
            .map(|cause| {
                let (known, because, switch_on) = self.answer(cause);
                Ability { cause: cause.name(), known, because, switch_on: switch_on.to_vec() }
            })
            .collect()
    }

    /// Causes that this log could not have shown.
    pub fn cannot_show(&self) -> Vec<String> {
        let abilities = self.abilities().into_iter();
        abilities.filter(|ability| ability.known == CANNOT).map(|ability| ability.cause.to_owned()).collect()
    }

    fn answer(&self, cause: Cause) -> Answer {
        match self.role {
            Vantage::Network => (CANNOT, "a network vantage sees neither end", &[]),
            Vantage::Unknown => (CANNOT, "the trace does not say who logged it", &["vantage_point.type"]),
            _ if !self.seen.frames && !self.seen.stream_events => {
                (CANNOT, "packets are logged without their frames", FRAMES)
            }
            Vantage::Server => self.server_answer(cause),
            Vantage::Client => self.client_answer(cause),
        }
    }

    fn client_answer(&self, cause: Cause) -> Answer {
        match cause {
            Cause::Upload => self.upload_answer(),
            Cause::Receiving | Cause::ReceiverHol => (OBSERVED, "stream frames of received packets", &[]),
            Cause::RemoteWait | Cause::Network if self.recovery.rtt().min_us().is_some() => {
                (INFERRED, "time to the first byte against the minimum RTT", &[])
            }
            Cause::RemoteWait | Cause::Network => (CANNOT, "no RTT is logged and none could be computed", RTT),
            _ => (CANNOT, "only the server's trace shows what held its data back", &[]),
        }
    }

    fn upload_answer(&self) -> Answer {
        if self.seen.fins || self.seen.stream_events {
            (OBSERVED, "first packet to FIN of the request", &[])
        } else {
            (CANNOT, "no FIN is logged", &["packet_received.frames[].fin"])
        }
    }

    fn server_answer(&self, cause: Cause) -> Answer {
        let seen = &self.seen;
        let is_told = seen.http || seen.moves;
        match cause {
            Cause::Upload => self.upload_answer(),
            Cause::RemoteWait | Cause::Receiving | Cause::ReceiverHol => {
                (CANNOT, "only the client's trace shows what arrived when", &[])
            }
            Cause::ServerThink if seen.http || seen.stream_events || seen.moves => {
                (OBSERVED, "FIN of the request to the response's first data in the transport", &[])
            }
            Cause::ServerThink => {
                (INFERRED, "FIN of the request to the first packet of the response", &["http3:frame_created"])
            }
            Cause::Pto if seen.probe_timers => (OBSERVED, "probe timers are logged", &[]),
            Cause::Pto if seen.acks && self.recovery.rtt().min_us().is_some() => {
                (INFERRED, "a ping or a repetition after a silence as long as a probe timeout", &["timer_updated"])
            }
            Cause::Pto => (CANNOT, "no acknowledgements are logged", ACKS),
            Cause::ConnectionFlowControl | Cause::StreamFlowControl => self.credit_answer(cause),
            Cause::CwndBlocked if seen.window => {
                (INFERRED, "window full, and new data followed the next acknowledgement", &[])
            }
            Cause::CwndBlocked => (CANNOT, "the congestion window is not logged", WINDOW),
            Cause::Bandwidth if seen.window && self.recovery.rtt().min_us().is_some() => {
                (INFERRED, "window full while the round trip had grown or the delivery rate had stopped growing", &[])
            }
            Cause::Bandwidth if seen.window => (CANNOT, "no RTT is logged and none could be computed", RTT),
            Cause::Bandwidth => (CANNOT, "the congestion window is not logged", WINDOW),
            Cause::Queueing | Cause::Network if seen.acks && self.recovery.rtt().min_us().is_some() => {
                (INFERRED, "the last flight's round trip against the minimum RTT", &[])
            }
            Cause::Queueing | Cause::Network => (CANNOT, "no RTT is logged and none could be computed", RTT),
            _ if !seen.frames => (CANNOT, "rows without frames do not say which packet carries which stream", FRAMES),
            Cause::LossRecovery if !seen.acks => (CANNOT, "no acknowledgements are logged", ACKS),
            Cause::LossRecovery if matches!(self.trace.losses, Losses::Packet) => {
                (OBSERVED, "lost packets are logged one by one", &[])
            }
            Cause::LossRecovery => {
                (INFERRED, "losses are not logged one by one: data that is sent again was lost", &["packet_lost"])
            }
            Cause::Handshake if self.zero_rtt.is_readable() => {
                (INFERRED, "0-RTT packets that were dropped or buffered, and when the request could be read", &[])
            }
            Cause::Handshake => {
                (CANNOT, "packet types are not logged", &["packet_dropped.header.packet_type", "packet_buffered"])
            }
            Cause::Amplification if seen.packet_sizes => {
                (INFERRED, "bytes sent against three times those received, before the address was validated", &[])
            }
            Cause::Amplification => (CANNOT, "packet sizes are not logged", &["packet_sent.raw.length"]),
            Cause::Scheduling if is_told => {
                (OBSERVED, "data was queued, and packets of other streams went before its own", &[])
            }
            Cause::Scheduling => (INFERRED, "packets of other streams, followed at once by one of its own", QUEUED),
            Cause::Pacing if seen.window || self.pacer.is_stated() => {
                (INFERRED, "a wait as long as the pacer's, with room in window and credit", &[])
            }
            Cause::Pacing => (CANNOT, "neither window nor pacing rate is logged", WINDOW),
            Cause::AppLimited if is_told => (OBSERVED, "all that was queued was sent, and the FIN was not", &[]),
            Cause::AppLimited => (INFERRED, "a wait that nothing else explains, before the FIN was sent", QUEUED),
            Cause::Unattributed => (OBSERVED, "the rest", &[]),
        }
    }

    fn credit_answer(&self, cause: Cause) -> Answer {
        let (is_known, switch_on): (bool, &[&str]) = if cause == Cause::StreamFlowControl {
            (self.seen.stream_credit, &["parameters_set", "max_stream_data frames"])
        } else {
            (self.seen.connection_credit, &["parameters_set", "max_data frames"])
        };
        match (self.seen.flow_events, is_known) {
            (true, _) => (OBSERVED, "flow control events are logged", &[]),
            (false, true) => (INFERRED, "stream offsets against the peer's limits", &[]),
            (false, false) => (CANNOT, "the peer's limits are not logged", switch_on),
        }
    }
}
