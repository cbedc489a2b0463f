//! What a log can show, and which fields to switch on for the rest. A cause that cannot be known is never shown as
//! zero.

use crate::dialect::LossReporting;
use crate::fold::cause::{Cause, Causes};
use crate::header::Vantage;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

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
type CauseAnswer = (&'static str, &'static str, &'static [&'static str]);

const OBSERVED: &str = "observed";
const INFERRED: &str = "inferred";
const CANNOT: &str = "cannot";

const FRAMES: &[&str] = &["packet_sent.frames", "packet_received.frames"];
const ACKS: &[&str] = &["packet_received.frames[].acked_ranges"];
const RTT: &[&str] = &["recovery_metrics_updated.smoothed_rtt"];
const WINDOW: &[&str] = &["recovery_metrics_updated.congestion_window"];
const REASONS: &[&str] = &["stream_data_blocked_updated", "connection_data_blocked_updated"];
const STATED: CauseAnswer = (OBSERVED, "the log states why data waits", &[]);
const QUEUED: &[&str] = &["http3:frame_created", "or stream_data_moved to the transport"];

/// Something that a log may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Sight {
    /// Frames of packets.
    Frames,
    /// Acknowledgements.
    Acks,
    /// The congestion window.
    Window,
    /// Probe timers, or their count.
    ProbeTimers,
    /// HTTP frames.
    Http,
    /// The peer's limit for the connection.
    ConnectionCredit,
    /// Its limits for streams.
    StreamCredit,
    /// The HTTP layer's view of streams (QUIC_TRACE).
    StreamEvents,
    /// Where credit is used up (QUIC_TRACE).
    FlowEvents,
    /// Ends of streams.
    Fins,
    /// Sizes of packets.
    PacketSizes,
    /// Data that moves from the application to the transport.
    Moves,
    /// First bytes of requests.
    Requests,
    /// Frames in the events of packets, not in events of their own.
    PacketFrames,
    /// Lost packets.
    Losses,
    /// Data that goes out again and is not known to be lost.
    Copies,
}

/// What of that was seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Seen {
    sights: u16,
    /// Causes that the log states for waiting data (`*_data_blocked_updated`). A stack may state some causes and never
    /// others.
    stated: Causes,
}

impl Seen {
    /// It was seen.
    pub fn note(&mut self, sight: Sight) {
        self.sights |= 1 << sight as u8;
    }

    /// It was seen, if so.
    pub fn note_if(&mut self, is: bool, sight: Sight) {
        self.sights |= u16::from(is) << sight as u8;
    }

    /// Whether it was.
    pub fn has(self, sight: Sight) -> bool {
        self.sights >> sight as u8 & 1 == 1
    }

    /// The log states that data waits for this.
    pub fn note_stated(&mut self, cause: Cause) {
        self.stated.insert(cause);
    }

    /// Whether it ever did.
    pub fn is_stated(self, cause: Cause) -> bool {
        self.stated.contains(cause)
    }
}

/// What decides how a log's causes are known.
#[derive(Clone, Copy, Debug)]
pub struct CapabilityFacts {
    /// Who logged.
    pub role: Vantage,
    /// What was seen.
    pub seen: Seen,
    /// How losses are reported.
    pub losses: LossReporting,
    /// An RTT is logged, or could be computed.
    pub has_rtt: bool,
    /// The pacing rate is stated.
    pub has_pacing_rate: bool,
    /// Packet types are logged.
    pub has_packet_types: bool,
}

impl CapabilityFacts {
    /// How each cause could be known from what this log holds.
    pub fn abilities(self) -> Vec<Ability> {
        let causes = Cause::ALL.into_iter().filter(|cause| *cause != Cause::Unattributed);
        causes
            .map(|cause| {
                let (known, because, switch_on) = self.answer(cause);
                Ability { cause: cause.name(), known, because, switch_on: switch_on.to_vec() }
            })
            .collect()
    }

    /// Causes that this log could not have shown.
    pub fn cannot_show(self) -> Vec<String> {
        let hidden = Cause::ALL.into_iter().filter(|cause| self.is(*cause, CANNOT));
        hidden.map(|cause| cause.name().to_owned()).collect()
    }

    /// The time of a cause would be an inference.
    pub fn is_inferred(self, cause: Cause) -> bool {
        self.is(cause, INFERRED)
    }

    fn is(self, cause: Cause, known: &str) -> bool {
        cause != Cause::Unattributed && self.answer(cause).0 == known
    }

    fn answer(self, cause: Cause) -> CauseAnswer {
        match self.role {
            Vantage::Network => (CANNOT, "a network vantage sees neither end", &[]),
            Vantage::Unknown => (CANNOT, "the trace does not say who logged it", &["vantage_point.type"]),
            _ if !self.seen.has(Sight::Frames) && !self.seen.has(Sight::StreamEvents) => {
                (CANNOT, "packets are logged without their frames", FRAMES)
            }
            Vantage::Server => self.server_answer(cause),
            Vantage::Client => self.client_answer(cause),
        }
    }

    fn client_answer(self, cause: Cause) -> CauseAnswer {
        match cause {
            Cause::StreamLimit => self.stream_limit_answer(),
            Cause::Upload => self.upload_answer(),
            Cause::Receiving | Cause::ReceiverHol => (OBSERVED, "stream frames of received packets", &[]),
            Cause::RemoteWait | Cause::Network if self.has_rtt => {
                (INFERRED, "time to the first byte against the minimum RTT", &[])
            }
            Cause::RemoteWait | Cause::Network => (CANNOT, "no RTT is logged and none could be computed", RTT),
            _ => (CANNOT, "only the server's trace shows what held its data back", &[]),
        }
    }

    fn upload_answer(self) -> CauseAnswer {
        if self.seen.has(Sight::Fins) || self.seen.has(Sight::StreamEvents) {
            (OBSERVED, "first packet to FIN of the request", &[])
        } else {
            (CANNOT, "no FIN is logged", &["packet_received.frames[].fin"])
        }
    }

    fn stream_limit_answer(self) -> CauseAnswer {
        if self.seen.is_stated(Cause::StreamLimit) {
            STATED
        } else {
            (CANNOT, "the log states no wait for the limit of streams", REASONS)
        }
    }

    fn server_answer(self, cause: Cause) -> CauseAnswer {
        let seen = |sight| self.seen.has(sight);
        let is_told = seen(Sight::Http) || seen(Sight::Moves);
        match cause {
            Cause::StreamLimit => self.stream_limit_answer(),
            cause if self.seen.is_stated(cause) => STATED,
            Cause::Upload => self.upload_answer(),
            Cause::RemoteWait | Cause::Receiving | Cause::ReceiverHol => {
                (CANNOT, "only the client's trace shows what arrived when", &[])
            }
            Cause::ServerThink if seen(Sight::Http) || seen(Sight::StreamEvents) || seen(Sight::Moves) => {
                (OBSERVED, "FIN of the request to the response's first data in the transport", &[])
            }
            Cause::ServerThink => {
                (INFERRED, "FIN of the request to the first packet of the response", &["http3:frame_created"])
            }
            Cause::Pto if seen(Sight::ProbeTimers) => (OBSERVED, "probe timers are logged", &[]),
            Cause::Pto if seen(Sight::Acks) && self.has_rtt => {
                (INFERRED, "a ping or a repetition after a silence as long as a probe timeout", &["timer_updated"])
            }
            Cause::Pto => (CANNOT, "no acknowledgements are logged", ACKS),
            Cause::ConnectionFlowControl | Cause::StreamFlowControl => self.credit_answer(cause),
            Cause::CwndBlocked if seen(Sight::Window) => {
                (INFERRED, "window full, and new data followed the next acknowledgement", &[])
            }
            Cause::CwndBlocked => (CANNOT, "the congestion window is not logged", WINDOW),
            Cause::Bandwidth if seen(Sight::Window) && self.has_rtt => {
                (INFERRED, "window full while the round trip had grown or the delivery rate had stopped growing", &[])
            }
            Cause::Bandwidth if seen(Sight::Window) => (CANNOT, "no RTT is logged and none could be computed", RTT),
            Cause::Bandwidth => (CANNOT, "the congestion window is not logged", WINDOW),
            Cause::Queueing | Cause::Network if seen(Sight::Acks) && self.has_rtt => {
                (INFERRED, "the last flight's round trip against the minimum RTT", &[])
            }
            Cause::Queueing | Cause::Network => (CANNOT, "no RTT is logged and none could be computed", RTT),
            _ if !seen(Sight::Frames) => {
                (CANNOT, "rows without frames do not say which packet carries which stream", FRAMES)
            }
            Cause::LossRecovery if !seen(Sight::Acks) => (CANNOT, "no acknowledgements are logged", ACKS),
            Cause::LossRecovery if matches!(self.losses, LossReporting::Packet) => {
                (OBSERVED, "lost packets are logged one by one", &[])
            }
            Cause::LossRecovery
                if self.losses == LossReporting::Unknown && (seen(Sight::Losses) || !seen(Sight::Copies)) =>
            {
                (OBSERVED, "lost packets are logged one by one, or nothing went out again", &[])
            }
            Cause::LossRecovery if self.losses == LossReporting::Unknown => {
                (CANNOT, "data goes out again, and the log of an unknown stack names no lost packet", &["packet_lost"])
            }
            Cause::LossRecovery => {
                (INFERRED, "losses are not logged one by one: data that is sent again was lost", &["packet_lost"])
            }
            Cause::Handshake if self.has_packet_types => {
                (INFERRED, "0-RTT packets that were dropped or buffered, and when the request could be read", &[])
            }
            Cause::Handshake => {
                (CANNOT, "packet types are not logged", &["packet_dropped.header.packet_type", "packet_buffered"])
            }
            Cause::Amplification if seen(Sight::PacketSizes) => {
                (INFERRED, "bytes sent against three times those received, before the address was validated", &[])
            }
            Cause::Amplification => (CANNOT, "packet sizes are not logged", &["packet_sent.raw.length"]),
            Cause::Scheduling if is_told => {
                (OBSERVED, "data was queued, and packets of other streams went before its own", &[])
            }
            Cause::Scheduling => (INFERRED, "packets of other streams, followed at once by one of its own", QUEUED),
            Cause::Pacing if seen(Sight::Window) || self.has_pacing_rate => {
                (INFERRED, "a wait as long as the pacer's, with room in window and credit", &[])
            }
            Cause::Pacing => (CANNOT, "neither window nor pacing rate is logged", WINDOW),
            Cause::AppLimited if is_told => (OBSERVED, "all that was queued was sent, and the FIN was not", &[]),
            Cause::AppLimited => (INFERRED, "a wait that nothing else explains, before the FIN was sent", QUEUED),
            Cause::Unattributed => (OBSERVED, "the rest", &[]),
        }
    }

    fn credit_answer(self, cause: Cause) -> CauseAnswer {
        let (is_known, switch_on): (bool, &[&str]) = if cause == Cause::StreamFlowControl {
            (self.seen.has(Sight::StreamCredit), &["parameters_set", "max_stream_data frames"])
        } else {
            (self.seen.has(Sight::ConnectionCredit), &["parameters_set", "max_data frames"])
        };
        match (self.seen.has(Sight::FlowEvents), is_known) {
            (true, _) => (OBSERVED, "flow control events are logged", &[]),
            (false, true) => (INFERRED, "stream offsets against the peer's limits", &[]),
            (false, false) => (CANNOT, "the peer's limits are not logged", switch_on),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> CapabilityFacts {
        CapabilityFacts {
            role: Vantage::Server,
            seen: Seen::default(),
            losses: LossReporting::Packet,
            has_rtt: false,
            has_pacing_rate: false,
            has_packet_types: false,
        }
    }

    fn known(cause: Cause, log: CapabilityFacts) -> &'static str {
        log.answer(cause).0
    }

    #[test]
    fn a_log_cannot_show_causes_whose_fields_it_lacks() {
        assert_eq!(nothing().cannot_show().len(), Cause::ALL.len() - 1);
        let mut log = nothing();
        [Sight::Frames, Sight::Acks, Sight::Window].into_iter().for_each(|sight| log.seen.note(sight));
        assert_eq!(known(Cause::LossRecovery, log), OBSERVED);
        assert_eq!(known(Cause::LossRecovery, CapabilityFacts { losses: LossReporting::None, ..log }), INFERRED);
        let mut unknown = CapabilityFacts { losses: LossReporting::Unknown, ..log };
        assert_eq!(known(Cause::LossRecovery, unknown), OBSERVED, "nothing went out again");
        unknown.seen.note(Sight::Copies);
        assert_eq!(known(Cause::LossRecovery, unknown), CANNOT);
        unknown.seen.note(Sight::Losses);
        assert_eq!(known(Cause::LossRecovery, unknown), OBSERVED);
        assert_eq!([known(Cause::Bandwidth, log), known(Cause::CwndBlocked, log)], [CANNOT, INFERRED]);
        assert_eq!(known(Cause::Bandwidth, CapabilityFacts { has_rtt: true, ..log }), INFERRED);
        log.seen.note_if(false, Sight::StreamCredit);
        assert_eq!(known(Cause::StreamFlowControl, log), CANNOT);
        log.seen.note_if(true, Sight::StreamCredit);
        assert_eq!(
            [known(Cause::StreamFlowControl, log), known(Cause::ConnectionFlowControl, log)],
            [INFERRED, CANNOT]
        );
    }

    #[test]
    fn a_client_sees_what_arrived_and_not_what_held_it_back() {
        let mut log = CapabilityFacts { role: Vantage::Client, has_rtt: true, ..nothing() };
        log.seen.note(Sight::Frames);
        assert_eq!([known(Cause::ReceiverHol, log), known(Cause::RemoteWait, log)], [OBSERVED, INFERRED]);
        assert_eq!(known(Cause::CwndBlocked, log), CANNOT);
    }

    #[test]
    fn a_stated_cause_is_observed_and_statements_change_no_other_cause() {
        let mut log = nothing();
        log.seen.note(Sight::Frames);
        log.seen.note_stated(Cause::StreamFlowControl);
        log.seen.note_stated(Cause::Pacing);
        assert_eq!([Cause::StreamFlowControl, Cause::Pacing].map(|cause| known(cause, log)), [OBSERVED; 2]);
        let others = [Cause::ConnectionFlowControl, Cause::CwndBlocked, Cause::StreamLimit];
        assert_eq!(others.map(|cause| known(cause, log)), [CANNOT; 3]);
        log.seen.note_stated(Cause::StreamLimit);
        let client = CapabilityFacts { role: Vantage::Client, ..log };
        assert_eq!([known(Cause::StreamLimit, log), known(Cause::StreamLimit, client)], [OBSERVED; 2]);
    }
}
