//! Changes of path: validated by challenge and response, or told by the log.

use crate::event::Event;
use crate::fold::Fold;
use crate::fold::finish::Episode;
use crate::fold::recovery::SpaceKind;
use serde::{Deserialize, Serialize};

/// Path validation that is under way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Migration {
    challenged: Option<(i64, u64)>,
    /// A migration that the log says has started.
    started: Option<(i64, u64)>,
}

impl Fold {
    /// A PATH_CHALLENGE goes out: "an endpoint ... initiates path validation" (RFC 9000, 8.2.1).
    pub(super) fn path_challenged(&mut self) {
        self.migration.challenged.get_or_insert((self.now.us, self.now.seq));
    }

    /// "Path validation succeeds when a PATH_RESPONSE frame is received that contains the data" (RFC 9000, 8.2.3).
    pub(super) fn path_validated(&mut self, event: &Event) {
        let Some((start_us, first_seq)) = self.migration.challenged.take() else { return };
        let end_us = self.now.us;
        let path_id = event.get(crate::event::Number::PathId).unwrap_or(0);
        self.episode(Episode {
            kind: "migration",
            trigger: "path_validation",
            path_id,
            first_seq,
            start_us,
            end_us,
            confirmed: true,
            ..Episode::default()
        });
        self.count.paths_validated += 1;
    }

    /// The log says that the connection moved: states of probing say only that it may. "The endpoint MUST immediately
    /// reset the congestion controller and round-trip time estimator for the new path" (RFC 9000, 9.4).
    pub(super) fn migrated(&mut self, event: &Event) {
        let state = event.word(crate::event::Word::NewState);
        if state == "migration_started" {
            self.migration.started.get_or_insert((self.now.us, self.now.seq));
        }
        if state.starts_with("probing") || matches!(state, "migration_started" | "migration_abandoned") {
            return;
        }
        self.count.migrations += 1;
        self.recovery.restart_rtt();
        let (start_us, first_seq) = self.migration.started.take().unwrap_or((self.now.us, self.now.seq));
        self.episode(Episode {
            kind: "migration",
            first_seq,
            start_us,
            end_us: self.now.us,
            confirmed: true,
            ..Episode::default()
        });
    }

    /// Application keys were changed (RFC 9001, 6); the first keys of a connection are not a change.
    pub(super) fn key_updated(&mut self, event: &Event) {
        let text = |key: &str| event.leftover(key).unwrap_or("").trim_matches('"').to_owned();
        let generation = text("generation").parse::<u64>().or_else(|_| text("key_phase").parse());
        let is_ours = text("key_type").starts_with(if self.is_server() { "server_1rtt" } else { "client_1rtt" });
        if is_ours && generation.is_ok_and(|generation| generation > 0) {
            self.count.key_updates += 1;
        }
    }

    /// Keys were thrown away: Initial ones with the first Handshake packet, Handshake ones once the handshake is
    /// confirmed (RFC 9001, 4.9).
    pub(super) fn key_discarded(&mut self, event: &Event) {
        let key = event.leftover("key_type").unwrap_or("").trim_matches('"').to_owned();
        if key.contains("initial") {
            self.discard(SpaceKind::Initial);
        } else if key.contains("handshake") {
            self.discard(SpaceKind::Handshake);
        }
    }
}
