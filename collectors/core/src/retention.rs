//! Late retention decides for which connections events are kept. All summaries are kept.
//!
//! A rule of content (slow, failed, lossy, novel) decides by what the connection did, so the probability is 1 whether
//! or not the share would have taken it too. A connection that no rule takes is kept with probability `share`, by a
//! hash of its id; `share` is its probability whether it is kept or not. So at any moment an event is kept with exactly
//! the probability that its connection's row states, and sums of kept events divided by that probability are unbiased
//! (Horvitz and Thompson, JASA 47). The share is decided first, so that events which it keeps are never read twice.

use crate::crossed::Bound;
use crate::fold::Trace;
use crate::fold::connection::Outcome;
use crate::limits::KINDS;
use crate::record::columns::connections::{self, Connections};
use crate::record::columns::streams::{self, Streams};
use crate::record::rows::Row;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Events that are still to be read again, by trace.
pub type Owed = BTreeMap<String, Owing>;

/// Events of one trace that are still to be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owing {
    /// Those before this seq.
    pub before: u64,
    /// Where its first record stands, if another connection of the same name may have ended before; else 0.
    pub began_at: u64,
    /// The time of that record counts from the one before it: reading begins with the first of the trace.
    pub is_delta: bool,
}

/// What is wanted of records that are read again.
#[derive(Clone, Debug, Default)]
pub struct Again {
    /// The events.
    pub owed: Owed,
    /// Where their connections begin.
    starts: BTreeSet<u64>,
    needs_all: bool,
}

impl Again {
    /// Of `owed` alone.
    pub fn new(owed: Owed) -> Self {
        let starts = owed.values().map(|owing| owing.began_at).collect();
        Self { starts, needs_all: owed.values().any(|owing| owing.is_delta), owed }
    }

    /// Where reading begins.
    pub fn start(&self) -> u64 {
        self.starts.first().copied().filter(|_| !self.needs_all).unwrap_or(0)
    }

    /// A wanted connection's first record stands here.
    pub fn starts_at(&self, offset: u64) -> bool {
        self.starts.contains(&offset)
    }
}

/// Keeps the share apart from whatever else is chosen by a hash of the id.
const SHARE_SEED: u64 = 0x7175_6963_6c65_6e73;
/// A kind that was not seen for so long is new again, s.
const NEW_AFTER_S: u64 = 86_400;

/// What is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// A request that took longer decides at once.
    pub slow_us: Option<u64>,
    /// A server error, a reset, a connection closed with an error or without a request.
    pub failed: bool,
    /// Packets lost of those sent, at the end and at `decide_after_us`.
    pub lossy: Option<f64>,
    /// The first connection of a kind not seen for a day.
    pub novel: bool,
    /// Of all others, by a hash of the connection id.
    pub share: f64,
    /// Age by the trace's own clock at which an open connection is looked at.
    pub decide_after_us: i64,
    /// The server's own sampling of connections, as its operator says.
    pub trace_probability: f64,
}

impl Rules {
    /// A request's row decides. `failed_request.sql` of the ingest part is the same condition on stored requests.
    fn takes_request(&self, row: &Row<Streams>) -> bool {
        self.slow_us.is_some_and(|slow_us| row.whole(streams::DURATION_US) > slow_us)
            || self.failed && (row.whole(streams::STATUS) >= 500 || row.text(streams::END_IS) == Some("reset"))
    }

    fn takes_close(&self, outcome: &Outcome) -> bool {
        self.failed && outcome.is_error
    }

    fn takes_loss(&self, outcome: &Outcome) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a threshold")]
        let lost = outcome.packets_lost as f64 / outcome.packets_sent.max(1) as f64;
        outcome.packets_sent > 0 && self.lossy.is_some_and(|lossy| lost >= lossy)
    }

    /// A log without packets says nothing of whether there could have been a request.
    fn takes_end(&self, outcome: &Outcome) -> bool {
        let is_barren = outcome.requests == 0 && outcome.packets_sent + outcome.packets_received > 0;
        self.takes_close(outcome) || self.takes_loss(outcome) || self.failed && is_barren
    }

    /// The share takes this connection, in every collector and at both ends of it.
    pub fn shares(&self, connection_id: &str) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let place = (xxh3_64_with_seed(connection_id.as_bytes(), SHARE_SEED) >> 11) as f64 / (1u64 << 53) as f64;
        place < self.share
    }
}

/// Rules, and what they have to remember.
#[derive(Clone, Debug)]
pub struct Retention {
    /// The rules.
    pub rules: Rules,
    /// Kinds of connections of the last day.
    pub novelty: Novelty,
}

impl Retention {
    /// How a connection stands when its first record has come.
    pub fn begin(&mut self, trace: &Trace) -> Standing {
        let is_novel = self.novelty.is_first(trace) && self.rules.novel;
        Standing {
            by_rule: is_novel,
            by_share: self.rules.shares(&trace.connection_id),
            share: self.rules.share,
            ..Standing::default()
        }
    }
}

/// Which kinds of connections were seen during the last day, and by which trace first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Novelty {
    seen: BTreeMap<u64, (u64, u64)>,
    /// Time, s since 1970.
    #[serde(skip)]
    pub now_s: u64,
    /// Something is new since this was put away.
    #[serde(skip)]
    pub is_dirty: bool,
}

impl Novelty {
    /// No connection of its kind was seen for a day but this one, which may be asked for again after a restart.
    fn is_first(&mut self, trace: &Trace) -> bool {
        let facts = [
            trace.facts.text(connections::STACK),
            trace.facts.text(connections::STACK_VERSION),
            trace.facts.text(connections::CONGESTION_CONTROLLER),
            trace.facts.text(connections::APP_VERSION),
        ]
        .map(Option::unwrap_or_default);
        let kind = xxh3_64(format!("{}\0{}", trace.vantage.name(), facts.join("\0")).as_bytes());
        let who = xxh3_64(trace.trace_id.as_bytes());
        let now_s = self.now_s;
        if let Some((first, at_s)) = self.seen.get_mut(&kind) {
            let is_old = at_s.saturating_add(NEW_AFTER_S) <= now_s;
            // Written down once an hour, lest a restart take an old kind for a new one.
            self.is_dirty |= is_old || *at_s / 3600 != now_s / 3600;
            *at_s = now_s;
            if is_old {
                *first = who;
            }
            return *first == who;
        }
        if self.seen.len() >= KINDS
            && let Some(oldest) = self.seen.iter().min_by_key(|(_, (_, at_s))| *at_s).map(|(kind, _)| *kind)
        {
            Bound::Kinds.cross();
            self.seen.remove(&oldest);
        }
        self.seen.insert(kind, (who, now_s));
        self.is_dirty = true;
        true
    }
}

/// How one connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Standing {
    by_rule: bool,
    by_share: bool,
    share: f64,
    is_looked_at: bool,
    /// Events before this seq were not recorded when they were read.
    owed: Option<u64>,
    /// What was read before cannot be read again.
    is_source_gone: bool,
    is_lost: bool,
}

impl Standing {
    /// Everything is kept.
    pub const ALL: Self = Self {
        by_rule: true,
        by_share: false,
        share: 1.0,
        is_looked_at: true,
        owed: None,
        is_source_gone: false,
        is_lost: false,
    };

    /// Only events before a seq are wanted: they are read again.
    pub fn again(before: Option<u64>) -> Self {
        Self { owed: before, ..Self::default() }
    }

    /// Events are recorded as they are read.
    pub fn flows(&self) -> bool {
        (self.by_rule || self.by_share) && !self.is_lost
    }

    /// A rule of content has decided; nothing can change that.
    pub fn is_settled(&self) -> bool {
        self.by_rule
    }

    /// Events before this seq are still to be read again.
    pub fn owed(&self) -> Option<u64> {
        self.owed
    }

    /// All owed events were read again; the next checkpoint contains them.
    pub fn repaid(&mut self) {
        self.owed = None;
    }

    /// The source's earlier bytes are gone: owed events are lost, and a later decision cannot keep earlier events. True
    /// when something is lost.
    pub fn lose(&mut self) -> bool {
        self.is_source_gone = true;
        self.is_lost |= self.owed.take().is_some();
        self.is_lost
    }

    /// What was to be kept could not be read again.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Applies the rules to the events up to now. `requests` are rows that became final, `seq` is that of the newest
    /// record.
    pub fn look(&mut self, rules: &Rules, requests: &[Row<Streams>], outcome: impl Fn() -> Outcome, at: At, seq: u64) {
        if self.by_rule {
            return;
        }
        let is_due = matches!(at, At::Us(time_us) if time_us >= rules.decide_after_us && !self.is_looked_at);
        self.is_looked_at |= is_due;
        let is_taken = requests.iter().any(|row| rules.takes_request(row))
            || match at {
                At::Close => rules.takes_close(&outcome()),
                At::End => rules.takes_end(&outcome()),
                At::Us(_) => is_due && rules.takes_loss(&outcome()),
                At::Between => false,
            };
        if is_taken {
            if !self.by_share && seq > 0 {
                self.is_lost = self.is_source_gone;
                self.owed = Some(seq).filter(|_| !self.is_source_gone);
            }
            self.by_rule = true;
        }
    }

    /// Columns of `connections`. A connection whose events are owed has no row until they are there.
    pub fn write(&self, row: &mut Row<Connections>, rules: Option<&Rules>) {
        row.set(connections::EVENTS_KEPT, if self.flows() { "all" } else { "none" });
        row.set(connections::EVENT_PROBABILITY, if self.by_rule { 1.0 } else { self.share });
        row.set(connections::TRACE_PROBABILITY, rules.map_or(1.0, |rules| rules.trace_probability));
    }
}

/// When a connection is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// After a record, us of its trace.
    Us(i64),
    /// It was closed.
    Close,
    /// Not with a record.
    Between,
    /// Nothing comes any more.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;
    use crate::record::rows::Cell;

    const NOTHING: Rules = Rules {
        slow_us: None,
        failed: false,
        lossy: None,
        novel: false,
        share: 0.0,
        decide_after_us: 60_000_000,
        trace_probability: 0.5,
    };

    fn standing(rules: &Rules, requests: &[Row<Streams>], outcome: Outcome, at: At) -> Standing {
        let mut standing = Standing { share: rules.share, ..Standing::default() };
        standing.look(rules, requests, || outcome, at, 7);
        standing
    }

    fn request(duration_us: u64, status: u64, end_is: &str) -> Row<Streams> {
        let mut row = Row::default();
        row.set(streams::DURATION_US, duration_us);
        row.set(streams::STATUS, Some(status));
        row.set(streams::END_IS, end_is);
        row
    }

    fn trace(connection_id: &str, stack: &str) -> Trace {
        let mut facts = Row::default();
        facts.set(connections::STACK, stack);
        Trace {
            connection_id: connection_id.into(),
            trace_id: connection_id.into(),
            facts: facts.into(),
            ..Trace::default()
        }
    }

    #[test]
    fn a_request_decides_at_once_when_it_was_slow_or_failed() {
        let slow = Rules { slow_us: Some(500_000), ..NOTHING };
        let failed = Rules { failed: true, ..NOTHING };
        for (rules, row, is_kept) in [
            (&slow, request(500_001, 200, "acked"), true),
            (&slow, request(500_000, 500, "reset"), false),
            (&failed, request(1, 500, "acked"), true),
            (&failed, request(1, 200, "reset"), true),
            (&failed, request(9_000_000, 499, "acked"), false),
        ] {
            let found = standing(rules, &[request(1, 200, "acked"), row], Outcome::default(), At::Us(1));
            assert_eq!((found.flows(), found.owed()), (is_kept, is_kept.then_some(7)));
        }
    }

    #[test]
    fn loss_is_looked_at_once_at_an_age_and_at_the_end() {
        let rules = Rules { lossy: Some(0.05), ..NOTHING };
        let outcome = |packets_lost| Outcome { packets_sent: 100, packets_lost, requests: 1, ..Outcome::default() };
        for (lost, at, is_kept) in [
            (5, At::Us(59_999_999), false),
            (5, At::Us(60_000_000), true),
            (4, At::Us(60_000_000), false),
            (5, At::End, true),
            (4, At::End, false),
        ] {
            assert_eq!(standing(&rules, &[], outcome(lost), at).flows(), is_kept, "{lost} {at:?}");
        }
        let mut found = standing(&rules, &[], outcome(4), At::Us(60_000_000));
        found.look(&rules, &[], || outcome(5), At::Us(61_000_000), 9);
        assert!(!found.flows(), "its age came once");
    }

    #[test]
    fn a_connection_that_ended_with_an_error_or_without_a_request_failed() {
        let rules = Rules { failed: true, ..NOTHING };
        let fine = Outcome { packets_sent: 9, requests: 1, ..Outcome::default() };
        for (outcome, at, is_kept) in [
            (fine, At::End, false),
            (Outcome { is_error: true, ..fine }, At::Close, true),
            (Outcome { is_error: true, ..fine }, At::Us(1), false),
            (Outcome { requests: 0, ..fine }, At::Close, false),
            (Outcome { requests: 0, ..fine }, At::End, true),
            (Outcome::default(), At::End, false),
        ] {
            assert_eq!(standing(&rules, &[], outcome, at).flows(), is_kept, "{outcome:?} {at:?}");
        }
    }

    #[test]
    fn a_larger_share_contains_the_ids_of_a_smaller_one() {
        let small = Rules { share: 0.1, ..NOTHING };
        let large = Rules { share: 0.3, ..NOTHING };
        let ids: Vec<String> = (0..20_000).map(|number| format!("{number:016x}")).collect();
        let taken = ids.iter().filter(|id| small.shares(id)).count();
        // Five standard deviations of a binomial.
        assert!((1788..=2212).contains(&taken), "{taken}");
        assert!(ids.iter().all(|id| !small.shares(id) || large.shares(id)));
        let all = Rules { share: 1.0, ..NOTHING };
        assert!(ids.iter().all(|id| all.shares(id) && !NOTHING.shares(id)));
    }

    #[test]
    fn a_rule_makes_the_probability_one_whatever_the_share_did() {
        let rules = Rules { failed: true, share: 0.25, ..NOTHING };
        let mut retention = Retention { rules: rules.clone(), novelty: Novelty::default() };
        let mut seen = [0, 0];
        for number in 0..64 {
            let mut found = retention.begin(&trace(&format!("{number:x}"), "aioquic"));
            let is_shared = found.flows();
            seen[usize::from(is_shared)] += 1;
            let mut row = Row::default();
            found.write(&mut row, Some(&rules));
            assert_eq!(row.get(connections::EVENT_PROBABILITY), Some(&Cell::Float(0.25)));
            assert_eq!(row.text(connections::EVENTS_KEPT), Some(if is_shared { "all" } else { "none" }));
            found.look(&rules, &[request(1, 500, "acked")], Outcome::default, At::Us(1), 3);
            let mut row = Row::default();
            found.write(&mut row, Some(&rules));
            assert_eq!(row.get(connections::EVENT_PROBABILITY), Some(&Cell::Float(1.0)));
            assert_eq!(row.get(connections::TRACE_PROBABILITY), Some(&Cell::Float(0.5)));
            assert_eq!(row.text(connections::EVENTS_KEPT), Some("all"));
            assert_eq!(found.owed().is_some(), !is_shared, "what the share kept was recorded all along");
        }
        assert!(seen.iter().all(|count| *count > 0));
    }

    #[test]
    fn the_first_of_its_kind_is_new_also_after_a_restart_until_a_day_without_any() {
        let mut retention = Retention {
            rules: Rules { novel: true, ..NOTHING },
            novelty: Novelty { now_s: 1000, ..Novelty::default() },
        };
        let mut is_new = |id: &str, stack: &str, now_s| {
            retention.novelty.now_s = now_s;
            retention.begin(&trace(id, stack)).flows()
        };
        assert!(is_new("a", "aioquic", 1000));
        assert!(!is_new("b", "aioquic", 1001));
        assert!(is_new("a", "aioquic", 1002), "read again after a restart");
        assert!(is_new("c", "quiche", 1003));
        assert!(!is_new("d", "aioquic", 1002 + NEW_AFTER_S - 1));
        assert!(is_new("e", "aioquic", 1001 + 2 * NEW_AFTER_S));
        crosses(Bound::Kinds, || {
            for number in 0..2 * KINDS {
                is_new("x", &number.to_string(), 1_000_000);
            }
        });
        assert_eq!(retention.novelty.seen.len(), KINDS);
    }

    #[test]
    fn events_that_cannot_be_read_again_are_lost() {
        let rules = Rules { failed: true, ..NOTHING };
        let mut found = standing(&rules, &[request(1, 500, "acked")], Outcome::default(), At::Us(1));
        assert!(found.lose() && found.is_lost() && !found.flows() && found.owed().is_none());
        let mut late = Standing::default();
        assert!(!late.lose());
        late.look(&rules, &[request(1, 500, "acked")], Outcome::default, At::Us(1), 7);
        assert!(late.is_lost() && !late.flows() && late.owed().is_none());
    }
}
