//! What failed, where, and what is to be done about it.

use rustix::io::Errno;
use std::fmt::Display;
use std::io::{self, ErrorKind};

/// Why something failed. It alone decides what a caller does: see [`FailureKind::handling`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The command line or the configuration is not valid.
    Configuration,
    /// Another process owns the state.
    InUse,
    /// The state cannot be used as it is: no permission, or a sync failed, after which nobody knows what is on disk.
    State,
    /// The disk of the state has no room, or the process no descriptor.
    Disk,
    /// One followed file.
    File,
    /// The sink is unreachable, or refuses for now.
    SinkAway,
    /// The sink refuses authentication or authorization.
    NotLetIn,
    /// The sink refuses for good.
    SinkRefuses,
    /// Standard output cannot be written.
    Output,
    /// The process was told to stop, and leaves a long piece of work unfinished.
    Told,
    /// A fault of this program: a value that cannot be encoded, a thread that cannot be started.
    Internal,
}

/// What a caller does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorHandling {
    /// The item is bad: it is counted, and the others go on.
    Reject,
    /// The cause is temporary: the operation is retried later.
    Retry,
    /// The collector cannot keep its guarantees: the process ends with the reason.
    Stop,
}

impl FailureKind {
    /// Every kind.
    #[cfg(test)]
    pub const ALL: [Self; 11] = [
        Self::Configuration,
        Self::InUse,
        Self::State,
        Self::Disk,
        Self::File,
        Self::SinkAway,
        Self::NotLetIn,
        Self::SinkRefuses,
        Self::Output,
        Self::Told,
        Self::Internal,
    ];

    /// What is to be done.
    pub const fn handling(self) -> ErrorHandling {
        match self {
            Self::File => ErrorHandling::Reject,
            Self::Disk | Self::SinkAway | Self::NotLetIn => ErrorHandling::Retry,
            Self::Configuration
            | Self::InUse
            | Self::State
            | Self::SinkRefuses
            | Self::Output
            | Self::Told
            | Self::Internal => ErrorHandling::Stop,
        }
    }

    /// Its name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::InUse => "in_use",
            Self::State => "state",
            Self::Disk => "disk",
            Self::File => "file",
            Self::SinkAway => "sink_away",
            Self::NotLetIn => "not_let_in",
            Self::SinkRefuses => "sink_refuses",
            Self::Output => "output",
            Self::Told => "told",
            Self::Internal => "internal",
        }
    }
}

/// An error with its kind and its place.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{said}", if place.is_empty() { String::new() } else { format!("{place}: ") })]
pub struct Error {
    /// Why.
    pub kind: FailureKind,
    /// A path, an address, a key of the configuration; empty where there is none.
    pub place: String,
    /// What the user should know.
    pub said: String,
}

impl Error {
    /// An error of any kind.
    pub fn new(kind: FailureKind, place: impl Display, said: impl Display) -> Self {
        Self { kind, place: place.to_string(), said: said.to_string() }
    }

    /// An error of the configuration.
    pub fn configuration(said: impl Display) -> Self {
        Self::new(FailureKind::Configuration, "", said)
    }

    /// A fault of this program.
    pub fn internal(said: impl Display) -> Self {
        Self::new(FailureKind::Internal, "", said)
    }

    /// An error of the state on disk; a temporary one is retried.
    pub fn of_state(place: impl Display, error: &io::Error) -> Self {
        Self::new(if is_full(error) { FailureKind::Disk } else { FailureKind::State }, place, error)
    }

    /// An error of one followed file; a temporary one is retried.
    pub fn of_file(place: impl Display, error: &io::Error) -> Self {
        Self::new(if is_full(error) { FailureKind::Disk } else { FailureKind::File }, place, error)
    }

    /// The same error, with the enclosing `place` before its own.
    pub fn within(self, place: impl Display) -> Self {
        let place = if self.place.is_empty() { place.to_string() } else { format!("{place}: {}", self.place) };
        Self { place, ..self }
    }

    /// What is to be done.
    pub fn handling(&self) -> ErrorHandling {
        self.kind.handling()
    }
}

/// The disk, the quota or the table of descriptors is used up: it will have room again.
pub fn is_full(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::MFILE | Errno::NFILE))
        || matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_tried_again_and_the_rest_of_the_state_ends_the_process() {
        for (code, handling) in [
            (Errno::NOSPC, ErrorHandling::Retry),
            (Errno::DQUOT, ErrorHandling::Retry),
            (Errno::MFILE, ErrorHandling::Retry),
            (Errno::NFILE, ErrorHandling::Retry),
            (Errno::FBIG, ErrorHandling::Retry),
            (Errno::ACCESS, ErrorHandling::Stop),
            (Errno::ROFS, ErrorHandling::Stop),
            (Errno::IO, ErrorHandling::Stop),
        ] {
            let error = Error::of_state("/state/checkpoints", &io::Error::from(code));
            assert_eq!(error.handling(), handling, "{error}");
        }
    }

    #[test]
    fn no_two_kinds_have_one_name() {
        let names = std::collections::BTreeSet::from_iter(FailureKind::ALL.map(FailureKind::name));
        assert_eq!(names.len(), FailureKind::ALL.len());
    }

    #[test]
    fn a_place_stands_before_what_is_said() {
        let error = Error::configuration("cpu_cap is -1, the least is 0");
        assert_eq!(error.to_string(), "cpu_cap is -1, the least is 0");
        assert_eq!(error.within("/etc/c.toml").to_string(), "/etc/c.toml: cpu_cap is -1, the least is 0");
    }
}
