//! Changes of path: validated by challenge and response, or stated by the log.

use crate::event::{Event, Word};
use crate::fold::moment::Moment;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Path validation and migration in progress, and how often either was completed. Boxed, as most connections never
/// migrate.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Migration(Option<Box<Moves>>);

#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
struct Moves {
    challenged: Option<Moment>,
    /// A migration that the log says has started.
    started: Option<Moment>,
    migrations: u64,
    validated: u64,
}

impl Migration {
    /// A PATH_CHALLENGE goes out: "an endpoint ... initiates path validation" (RFC 9000, 8.2.1).
    pub fn challenge(&mut self, now: Moment) {
        self.0.get_or_insert_default().challenged.get_or_insert(now);
    }

    /// "Path validation succeeds when a PATH_RESPONSE frame is received that contains the data" (RFC 9000, 8.2.3).
    /// Gives since when it was under way.
    pub fn respond(&mut self) -> Option<Moment> {
        let moves = self.0.as_mut()?;
        let since = moves.challenged.take()?;
        moves.validated += 1;
        Some(since)
    }

    /// The log states a migration state; states of probing are no migration. Gives the start of a migration that is
    /// complete.
    pub fn state(&mut self, event: &Event, now: Moment) -> Option<Moment> {
        let state = event.word(Word::NewState);
        if state == "migration_started" {
            self.0.get_or_insert_default().started.get_or_insert(now);
        }
        if state.starts_with("probing") || matches!(state, "migration_started" | "migration_abandoned") {
            return None;
        }
        let moves = self.0.get_or_insert_default();
        moves.migrations += 1;
        Some(moves.started.take().unwrap_or(now))
    }

    /// How often the connection moved.
    pub fn migrations(&self) -> u64 {
        self.0.as_ref().map_or(0, |moves| moves.migrations)
    }

    /// How many paths were validated.
    pub fn validated(&self) -> u64 {
        self.0.as_ref().map_or(0, |moves| moves.validated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(word: &str) -> Event {
        let mut event = Event::default();
        event.set_word(Word::NewState, word.as_bytes());
        event
    }

    #[test]
    fn a_migration_lasts_from_its_start_to_its_end_and_probing_is_none() {
        let mut migration = Migration::default();
        let [first, second, third] = [1, 2, 3].map(|us| Moment { us, seq: 0 });
        assert_eq!(migration.state(&state("probing_started"), first), None);
        assert_eq!(migration.state(&state("migration_started"), second), None);
        assert_eq!(migration.state(&state("migration_complete"), third), Some(second));
        assert_eq!((migration.state(&state("migrated"), third), migration.migrations()), (Some(third), 2));
    }

    #[test]
    fn a_response_to_no_challenge_validates_nothing() {
        let (mut migration, now) = (Migration::default(), Moment { us: 1, seq: 0 });
        assert_eq!(migration.respond(), None);
        migration.challenge(now);
        assert_eq!((migration.respond(), migration.respond(), migration.validated()), (Some(now), None, 1));
    }
}
