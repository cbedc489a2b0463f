//! One deployment's look-up and redaction, as the readers of traces and access logs ask for them.

use crate::access_format::Line;
use crate::address::{Client, Prefix, scrub, scrub_name, scrub_path};
use crate::enrich::{EnrichConfig, EnrichError, Enricher};
use crate::{peer, redact};
use quiclens_core::client::{Edge, Facts};
use quiclens_core::event::Event;
use quiclens_core::header::{Header, Vantage};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

/// What is looked up of clients and what may be kept of them.
#[derive(Debug)]
pub struct Deployment {
    enricher: RwLock<Enricher>,
    host: String,
    redact: Option<Prefix>,
    /// The header that was redacted last, as it was and as it may be kept.
    newest: Mutex<(String, String)>,
    faults: AtomicU64,
}

impl Deployment {
    /// Opens what `config` names. `host` is where the logs are read: it stands in for a trace or a line that names no
    /// server. The error is the enricher's.
    pub fn open(config: &EnrichConfig, host: &str, is_redacting: bool) -> Result<Self, EnrichError> {
        Ok(Self::of(Enricher::open(config)?, host, is_redacting))
    }

    /// The same of an enricher that is open.
    pub fn of(enricher: Enricher, host: &str, is_redacting: bool) -> Self {
        let redact = is_redacting.then(|| enricher.prefix());
        Self {
            enricher: RwLock::new(enricher),
            host: host.to_owned(),
            redact,
            newest: Mutex::default(),
            faults: AtomicU64::new(0),
        }
    }

    /// Fills in the client and the server of a line.
    pub fn enrich_line(&self, line: &mut Line) {
        let facts = line.enrich(&self.enricher(), &self.host);
        self.count(&facts);
    }

    /// Reads databases again that changed on disk; true when one did. A bad one is the error, and the old one stays.
    pub fn reload(&self) -> Result<bool, EnrichError> {
        self.enricher.write().unwrap_or_else(PoisonError::into_inner).reload()
    }

    /// Fields of the databases so far that could not be read.
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    fn enricher(&self) -> RwLockReadGuard<'_, Enricher> {
        // After a panic in another thread, the opened databases are still valid.
        self.enricher.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn facts(&self, client: Client, server: Option<&str>) -> Facts {
        let facts = self.enricher().enrich_client(client, None, &[server.unwrap_or(&self.host)]);
        self.count(&facts);
        facts
    }

    /// A header, by the names of its fields. Connections of one trace have the same: the newest is remembered.
    fn header(&self, text: &str, prefix: Prefix) -> String {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.0 != text {
            let kept = match serde_json::from_str(text) {
                Ok(mut header) => {
                    redact::json(&mut header, prefix);
                    let header = header.to_string();
                    scrub(&header, prefix).unwrap_or(header)
                }
                Err(_) => redact::REDACTED.into(),
            };
            *newest = (text.to_owned(), kept);
        }
        newest.1.clone()
    }

    fn count(&self, facts: &Facts) {
        self.faults.fetch_add(facts.faults.into(), Ordering::Relaxed);
    }
}

impl Edge for Deployment {
    fn of_header(&self, header: &Header, server: Option<&str>) -> Facts {
        self.facts(peer::of_header(header), server)
    }

    fn of_event(&self, vantage: Vantage, flow_is_client: bool, event: &Event, server: Option<&str>) -> Option<Facts> {
        let client = peer::of(vantage, flow_is_client, event);
        client.address.is_some().then(|| self.facts(client, server))
    }

    fn redact_event(&self, event: &mut Event) {
        let Some(prefix) = self.redact else { return };
        for at in 0..event.more.len() {
            let (path, raw) = event.more[at];
            let kept = redact::field(event.str(event.name), event.str(path), event.str(raw), prefix);
            if let Some(kept) = kept {
                event.more[at].1 = event.keep(kept.as_bytes());
            }
        }
    }

    fn redact_text(&self, column: &str, text: &str) -> Option<String> {
        let prefix = self.redact?;
        match column {
            "connection_id" => self
                .redact_id(text)
                .map(|id| id.or_else(|| scrub(text, prefix)).unwrap_or_else(|| redact::REDACTED.into())),
            "header" => Some(self.header(text, prefix)),
            // Between the words of a file's name stands anything.
            "source_file" | "file" => scrub_name(text, prefix),
            // Keys, which are paths, and values of a line.
            "more" => scrub_path(text, prefix),
            _ => scrub(text, prefix),
        }
    }

    fn redact_id(&self, id: &str) -> Option<Option<String>> {
        scrub(id, self.redact?)?;
        Some(self.enricher().id_key(id))
    }

    fn keeps_reject_bytes(&self) -> bool {
        self.redact.is_none()
    }
}
