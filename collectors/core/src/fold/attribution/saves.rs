//! By how much a request would have ended earlier if one cause alone had been absent.
//!
//! Two figures bound the answer. At most the time is saved in which the cause held and no other condition held that
//! would have held without it too. But the remaining time must still be enough for the response: slow start needs its
//! rounds (Cardwell, Savage and Anderson, "Modeling TCP latency", 2000), a bottleneck needs bytes / rate, and the last
//! flight needs its round trip. `lab` measures the error against runs without the cause.

use crate::fold::attribution::parts::Marks;
use crate::fold::attribution::sweep::Sweep;
use crate::fold::cause::{CAUSES, Cause};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// The room that a response has when it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Room {
    /// Bytes that the window has room for.
    pub bytes: u64,
    /// The window, bytes.
    pub window: u64,
    /// Slow start threshold, bytes.
    pub ssthresh: u64,
    /// Largest packet, bytes.
    pub packet: u64,
}

/// Window, rate and round trips that a response had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, GetSize)]
pub struct Transfer {
    room: Room,
    /// Highest delivery rate while the path was the bottleneck, bytes per microsecond.
    rate: Option<f64>,
    /// Smoothed round trip while losses were repaired, the largest.
    repair_rtt_us: u64,
    /// Bytes in flight when its last data went out.
    flight: u64,
    /// Acknowledgement delay that the peer stated with the last acknowledgement.
    ack_delay_us: u64,
}

impl Transfer {
    /// The response begins.
    pub fn begin(room: Room) -> Self {
        Self { room, ..Self::default() }
    }

    /// Data of it goes out, with so much in flight.
    pub fn send(&mut self, flight: u64) {
        self.flight = flight;
    }

    /// A loss of it was repaired while the smoothed round trip was so long.
    pub fn repair(&mut self, rtt_us: u64) {
        self.repair_rtt_us = self.repair_rtt_us.max(rtt_us);
    }

    /// It ends with an acknowledgement that the peer held back for so long.
    pub fn end(&mut self, ack_delay_us: u64) {
        self.ack_delay_us = ack_delay_us;
    }

    /// Bytes in flight when its last data went out.
    pub fn flight(&self) -> u64 {
        self.flight
    }

    /// The path was the bottleneck and delivered at this rate.
    pub fn measured(&mut self, rate: Option<f64>) {
        self.rate = match (self.rate, rate) {
            (Some(known), Some(rate)) => Some(known.max(rate)),
            (known, rate) => known.or(rate),
        };
    }
}

/// Microseconds that the absence of each cause saves; `None` where that is not known.
pub type Saves = [Option<u64>; CAUSES];

/// For a server's row. `bytes` is the response's length.
pub fn server(sweep: &Sweep, marks: &Marks, transfer: &Transfer, bytes: u64, min_rtt_us: u64) -> Saves {
    let mut saves = [None; CAUSES];
    let (answered, last_byte) = (marks.answered_us(), marks.last_byte_us.unwrap_or(marks.end_us));
    let after_us = marks.end_us.abs_diff(answered);
    // A response that was sent in full before the first loss was not delayed by it up to its last byte.
    let unharmed = sweep.lost_us().filter(|lost| last_byte < *lost).map_or(0, |_| last_byte.abs_diff(answered));
    // The rate does not count if the path was the bottleneck only for a short time.
    let rate = transfer.rate.filter(|_| sweep.part(Cause::Bandwidth) >= after_us / 4);
    // How many round trips the response takes without a cause is not known in a log that shows no window.
    let is_known = transfer.room.window > 0;
    let rounds = |room| is_known.then(|| rounds(bytes, room, transfer).saturating_mul(min_rtt_us));
    let needed = || rounds(transfer.room.bytes);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    let serial = rate.map_or(0, |rate| (bytes as f64 / rate.max(1e-6)) as u64) + min_rtt_us;
    for cause in Cause::ALL {
        let at = cause as usize;
        let mut most = sweep.alone(cause);
        let least = match cause {
            Cause::Handshake | Cause::Upload | Cause::ServerThink | Cause::Network => {
                // They shift everything that follows.
                saves[at] = Some(sweep.part(cause));
                continue;
            }
            Cause::Unattributed => continue,
            Cause::Bandwidth => {
                most += queue(sweep, transfer, min_rtt_us);
                needed().filter(|rounds_us| !is_held_too(sweep, *rounds_us))
            }
            Cause::CwndBlocked => Some(serial),
            Cause::Scheduling => {
                // Others filled the window: alone, this response would have had all of it.
                if sweep.part(cause) > 0 {
                    most += sweep.alone(Cause::CwndBlocked);
                }
                rounds(transfer.room.window).map(|us| us.max(serial))
            }
            Cause::Pto | Cause::LossRecovery => {
                if sweep.part(cause) > 0 {
                    most += sweep.after_loss_us();
                }
                needed().map(|us| us.max(serial).max(unharmed + min_rtt_us))
            }
            Cause::Amplification
            | Cause::ConnectionFlowControl
            | Cause::StreamFlowControl
            | Cause::StreamLimit
            | Cause::Pacing
            | Cause::AppLimited => needed().map(|us| us.max(serial)),
            Cause::Queueing | Cause::RemoteWait | Cause::Receiving | Cause::ReceiverHol => Some(min_rtt_us),
        };
        saves[at] = least.map(|least| most.min(after_us.saturating_sub(least)));
    }
    saves
}

/// Beyond the round trips that the window needs in any case, window and pacer held the response for more than a quarter as
/// long as the path did. A controller that follows the path's rate would open both on a faster path, another would not:
/// what that saves is not known.
fn is_held_too(sweep: &Sweep, rounds_us: u64) -> bool {
    let path_us = sweep.part(Cause::Bandwidth);
    let held_us = sweep.part(Cause::CwndBlocked).saturating_add(sweep.part(Cause::Pacing));
    path_us > 0 && held_us.saturating_sub(rounds_us) > path_us / 4
}

/// What a faster path would save of other parts: the last flight's queueing, if it is more than a quarter of the
/// minimum RTT, and the share of repairs that the growth of the round trip took.
fn queue(sweep: &Sweep, transfer: &Transfer, min_rtt_us: u64) -> u64 {
    let last = sweep.alone(Cause::Queueing).saturating_sub(transfer.ack_delay_us);
    let last = if last > min_rtt_us / 4 { last } else { 0 };
    let grown = transfer.repair_rtt_us.saturating_sub(min_rtt_us);
    let is_grown = grown > min_rtt_us / 4;
    last + if is_grown { sweep.repair_us().saturating_mul(grown) / transfer.repair_rtt_us.max(1) } else { 0 }
}

/// For a client's row: a gap costs only the time from the last arrival before it was filled, as the path was in use
/// until then.
pub fn client(sweep: &Sweep, dead_us: u64) -> Saves {
    let mut saves = [None; CAUSES];
    for cause in [Cause::StreamLimit, Cause::Upload, Cause::Network, Cause::RemoteWait, Cause::Receiving] {
        saves[cause as usize] = Some(sweep.part(cause));
    }
    saves[Cause::ReceiverHol as usize] = Some(dead_us.min(sweep.part(Cause::ReceiverHol)));
    saves
}

/// Round trips until `bytes` are acknowledged: the window doubles each round (RFC 9002, 7.3.1) up to `ssthresh`, then
/// grows by a packet (RFC 9002, 7.3.3).
fn rounds(bytes: u64, room: u64, transfer: &Transfer) -> u64 {
    let packet = transfer.room.packet.max(1200);
    let (mut window, mut sent, mut rounds) = (room.max(packet), 0u64, 0);
    while sent < bytes.max(1) && rounds < 10_000 {
        sent = sent.saturating_add(window);
        rounds += 1;
        window = if window < transfer.room.ssthresh { window.saturating_mul(2) } else { window.saturating_add(packet) };
    }
    rounds
}
