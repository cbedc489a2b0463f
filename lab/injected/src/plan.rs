//! What a run is: the scenarios of `lab/quicgo`, by other stacks. Each is one cause, injected into the target request.

use std::time::Duration;

use crate::link::LinkSpec;
use quiclens_simulated::draw::{between, skewed, whole};

/// Streams of the warm-up, and of the first of what is asked for behind it.
pub const WARM_UP: u64 = 0;
const TARGET: u64 = 4;

/// Whose bytes a stack sends next where several answers wait. The target is asked for where the others hold it up.
#[derive(Clone, Copy, Debug)]
pub enum Serves {
    /// A packet of each: the target is asked for first.
    InTurn,
    /// Those of the lowest stream: the target is asked for last.
    LowestFirst,
}

/// What the client sends, how long the server thinks, what it answers and in which pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub think: Duration,
    /// 0: the answer is written in one piece.
    pub piece_bytes: u64,
    pub piece_gap: Duration,
}

/// A loss aimed at one response. It begins with the packet that carries byte `from_byte` of the stream first: that one and
/// the next ones with new data are lost, `packets` in all. With `dark` nothing passes in either direction for that long.
#[derive(Clone, Copy, Debug)]
pub struct Strike {
    pub stream: u64,
    pub from_byte: u64,
    pub packets: u64,
    pub dark: Duration,
}

/// Everything about one connection.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub up: LinkSpec,
    pub down: LinkSpec,
    pub warm_up: Request,
    pub target: Request,
    /// Asked for together with the target.
    pub others: Vec<Request>,
    /// The client's flow control windows, held at this size.
    pub stream_credit: Option<u64>,
    pub connection_credit: Option<u64>,
    pub strikes: Vec<Strike>,
}

/// Scenarios of which nothing is injected, by the size of the response: judged by what the path rules out.
pub const CLEAN_SIZES: [(&str, u64); 3] = [("clean_10k", 10_000), ("clean_200k", 200_000), ("clean_2m", 2_000_000)];

/// A window that no response of [`CLEAN_SIZES`] fills.
const AMPLE_CREDIT: u64 = 16_000_000;

/// A scenario: its name, and the cause that the server's log shows.
pub const SCENARIOS: [(&str, &str); 12] = [
    ("clean", "network"),
    ("think", "server_think"),
    ("burst_loss", "loss_recovery"),
    ("tail_loss", "pto"),
    ("blackout", "pto"),
    ("stream_credit", "stream_flow_control"),
    ("connection_credit", "connection_flow_control"),
    ("small_window", "cwnd_blocked"),
    ("slow_bottleneck", "bandwidth"),
    ("upload", "upload"),
    ("dribble", "app_limited"),
    ("competing", "scheduling"),
];

const MILLISECOND: Duration = Duration::from_millis(1);

impl Plan {
    /// What is asked for at once, in the order of its streams.
    pub fn asked(&self, serves: Serves) -> Vec<Request> {
        let others = self.others.iter().copied();
        match serves {
            Serves::InTurn => [self.target].into_iter().chain(others).collect(),
            Serves::LowestFirst => others.chain([self.target]).collect(),
        }
    }

    /// The stream of the target.
    pub fn target_stream(&self, serves: Serves) -> u64 {
        match serves {
            Serves::InTurn => TARGET,
            Serves::LowestFirst => TARGET + 4 * self.others.len() as u64,
        }
    }

    /// The plan of a scenario, with its cause or the same run without it. Nothing for a name that is none.
    pub fn of(scenario: &str, is_with: bool, seed: u64) -> Option<Self> {
        let size = |low: f64, high: f64| skewed(low, high, seed, "size") as u64;
        let micros = |low: u64, high: u64, name: &str| Duration::from_micros(whole(low, high, seed, name));
        let delay = Duration::from_secs_f64(between(0.030, 0.080, seed, "rtt") / 2.0);
        let target = Request { think: MILLISECOND, ..Request::default() };
        let warm_up = Request { response_bytes: 2_000, think: micros(300, 1_500, "warm-up think"), ..target };
        let mut plan = Self {
            seed,
            up: LinkSpec { bits_per_second: 20_000_000, delay, queue_bytes: 400_000 },
            down: LinkSpec { bits_per_second: 40_000_000, delay, queue_bytes: 400_000 },
            warm_up,
            target,
            others: Vec::new(),
            stream_credit: None,
            connection_credit: None,
            strikes: Vec::new(),
        };
        let strike = Strike { stream: TARGET, from_byte: 0, packets: 0, dark: Duration::ZERO };
        if let Some((_, bytes)) = CLEAN_SIZES.iter().find(|(name, _)| *name == scenario) {
            plan.target.response_bytes = *bytes;
            (plan.stream_credit, plan.connection_credit) = (Some(AMPLE_CREDIT), Some(AMPLE_CREDIT));
            return Some(plan);
        }
        match scenario {
            "clean" => {
                plan.target.response_bytes = size(1_000.0, 10_000.0);
                plan.target.think = micros(200, 2_000, "think");
            }
            "think" => {
                plan.target.response_bytes = size(1_000.0, 10_000.0);
                if is_with {
                    plan.target.think = micros(200_000, 900_000, "think");
                }
            }
            "burst_loss" => {
                // One window: the repair is not hidden behind later data.
                plan.target.response_bytes = size(8_000.0, 12_000.0);
                let packets = whole(2, 4, seed, "packets");
                plan.strikes.push(Strike { from_byte: plan.target.response_bytes / 3, packets, ..strike });
            }
            "tail_loss" => {
                plan.target.response_bytes = size(5_000.0, 12_000.0);
                plan.strikes.push(Strike { from_byte: plan.target.response_bytes - 1, packets: 10, ..strike });
            }
            "blackout" => {
                plan.target.response_bytes = size(30_000.0, 100_000.0);
                let dark = micros(400_000, 900_000, "blackout");
                plan.strikes.push(Strike { from_byte: plan.target.response_bytes / 2, dark, ..strike });
            }
            "stream_credit" | "connection_credit" => {
                plan.target.response_bytes = size(60_000.0, 150_000.0);
                let credit = is_with.then(|| whole(8_000, 16_000, seed, "credit"));
                match scenario {
                    "stream_credit" => plan.stream_credit = credit,
                    _ => plan.connection_credit = credit,
                }
            }
            "small_window" => {
                // Losses in each of several windows of the warm-up leave a small window and a threshold that keeps it so.
                plan.target.response_bytes = size(60_000.0, 120_000.0);
                let delay = Duration::from_secs_f64(between(0.120, 0.250, seed, "rtt") / 2.0);
                (plan.up.delay, plan.down.delay, plan.down.bits_per_second) = (delay, delay, 100_000_000);
                plan.warm_up.response_bytes = 265_000;
                for from_byte in [20_000, 80_000, 130_000, 170_000, 200_000, 225_000, 245_000] {
                    plan.strikes.push(Strike { stream: WARM_UP, from_byte, packets: 1, ..strike });
                }
            }
            "slow_bottleneck" => {
                plan.target.response_bytes = size(300_000.0, 600_000.0);
                if is_with {
                    plan.down.bits_per_second = (between(1.0, 2.5, seed, "rate") * 1e6) as u64;
                    plan.down.queue_bytes = 2_000_000;
                }
            }
            "upload" => {
                plan.target.response_bytes = 1_000;
                plan.up.bits_per_second = 2_000_000;
                if is_with {
                    plan.target.request_bytes = size(150_000.0, 400_000.0);
                }
            }
            "dribble" => {
                plan.target.response_bytes = 24_000;
                if is_with {
                    (plan.target.piece_bytes, plan.target.piece_gap) = (3_000, micros(50_000, 150_000, "gap"));
                }
            }
            "competing" => {
                plan.target.response_bytes = size(15_000.0, 30_000.0);
                plan.target.think = 2 * MILLISECOND;
                (plan.down.bits_per_second, plan.down.queue_bytes) = (100_000_000, 2_000_000);
                if is_with {
                    let other = Request { response_bytes: 3 * plan.target.response_bytes, ..target };
                    plan.others = vec![other; whole(8, 12, seed, "others") as usize];
                }
            }
            _ => return None,
        }
        if !is_with {
            plan.strikes.clear();
        }
        Some(plan)
    }
}
