//! Who a connection's client is, and what may be kept of its trace: asked of an [`Edge`] before anything is recorded.

use crate::crossed::Bound;
use crate::event::{Event, Kind};
use crate::header::{Header, Vantage};
use crate::limits::CLIENT_KEYS;
use crate::record::columns::ClientTable;
use crate::record::columns::connections::Connections;
use crate::record::rows::Row;
use serde::{Deserialize, Serialize};

/// What is known of a client and of the server that it met. Columns of `request_lines` and `connections`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the catalogue says what each is")]
pub struct Facts {
    pub server: Option<String>,
    pub cluster: Option<String>,
    pub pop: Option<String>,
    pub server_release: Option<String>,
    pub client_network: Option<String>,
    pub client_key: Option<String>,
    pub carrier: Option<String>,
    pub asn: Option<u32>,
    pub country: Option<String>,
    pub region: Option<String>,
    pub city: Option<String>,
    pub h3_cell: Option<String>,
    /// Fields of the databases that could not be read, such as a name that is no text. Not a column: to be counted.
    pub faults: u32,
}

impl Facts {
    /// Sets the columns that a row lacks. What the log itself says stays.
    pub fn fill<T: ClientTable>(&self, row: &mut Row<T>) {
        let texts = [
            (T::SERVER, &self.server),
            (T::CLUSTER, &self.cluster),
            (T::POP, &self.pop),
            (T::SERVER_RELEASE, &self.server_release),
            (T::CLIENT_NETWORK, &self.client_network),
            (T::CLIENT_KEY, &self.client_key),
            (T::CARRIER, &self.carrier),
            (T::COUNTRY, &self.country),
            (T::REGION, &self.region),
            (T::CITY, &self.city),
            (T::H3_CELL, &self.h3_cell),
        ];
        for (column, text) in texts.into_iter().filter(|(_, text)| text.is_some()) {
            row.fill(column, text.as_deref());
        }
        if self.asn.is_some() {
            row.fill(T::ASN, self.asn);
        }
    }
}

/// What a deployment adds to a trace and takes from it. Nothing of a client's address but what is in [`Facts`] is kept.
pub trait Edge {
    /// What the header says of the client and the server; `server` is its name where the trace tells one.
    fn of_header(&self, header: &Header, server: Option<&str>) -> Facts;
    /// The same of an event; `None` where it tells no client.
    fn of_event(&self, vantage: Vantage, flow_is_client: bool, event: &Event, server: Option<&str>) -> Option<Facts>;
    /// Takes out of the fields of an event what may not be kept for what their names say.
    fn redact_event(&self, event: &mut Event);
    /// A text of a column that may hold an address, as it may be kept; `None` where that is as it is.
    fn redact_text(&self, column: &str, text: &str) -> Option<String>;
    /// The id of a connection whose name holds an address, such as the four of its path: one that says none of it, the
    /// same for the same name, `Some(None)` where there is no secret to make one with. `None` where it holds none.
    fn redact_id(&self, id: &str) -> Option<Option<String>>;
    /// Whether the bytes of a reject may be kept: what could not be read cannot be redacted.
    fn keeps_reject_bytes(&self) -> bool;
}

/// What is known of one connection's client so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownClient {
    facts: Facts,
    /// Keys, with the trace's time at which each was seen first.
    keys: Vec<(String, i64)>,
}

impl KnownClient {
    /// What the header says.
    pub fn of_header(edge: &dyn Edge, header: &Header, server: Option<&str>) -> Self {
        let mut known = Self::default();
        known.learn(edge.of_header(header, server), 0);
        known
    }

    /// Looks at an event. The first address decides the columns; a client that moves gets one more key.
    pub fn see(&mut self, edge: &dyn Edge, header: &Header, vantage: Vantage, server: Option<&str>, event: &Event) {
        // Addresses stand in events of these kinds alone, and every datagram of picoquic tells the same one.
        let may_tell = matches!(event.kind, Kind::Other | Kind::ConnectionStarted | Kind::MigrationStateUpdated);
        let is_known = self.facts.client_network.is_some();
        if may_tell
            && !(is_known && event.str(event.name).contains("datagram"))
            && let Some(facts) = edge.of_event(vantage, header.flow_is_client(), event, server)
        {
            self.learn(facts, event.time_us);
        }
    }

    fn learn(&mut self, facts: Facts, time_us: i64) {
        if let Some(key) = &facts.client_key
            && !self.keys.iter().any(|(known, _)| known == key)
        {
            if self.keys.len() < CLIENT_KEYS {
                self.keys.push((key.clone(), time_us));
            } else {
                Bound::ClientKeys.cross();
            }
        }
        if self.facts.client_network.is_none() {
            self.facts = facts;
        }
    }

    /// Fills in the connection's columns.
    pub fn fill(&self, row: &mut Row<Connections>) {
        self.facts.fill(row);
    }

    /// The keys, and since when each was in use.
    pub fn keys(&self) -> impl Iterator<Item = (&str, i64)> {
        self.keys.iter().map(|(key, first_us)| (key.as_str(), *first_us))
    }

    /// The server's name, where the host table knows it.
    pub fn server(&self) -> Option<&str> {
        self.facts.server.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;

    #[test]
    fn a_client_that_moves_has_so_many_keys() {
        let mut client = KnownClient::default();
        let facts = |number: usize| Facts { client_key: Some(number.to_string()), ..Facts::default() };
        crosses(Bound::ClientKeys, || {
            for number in (0..=CLIENT_KEYS).chain(0..3) {
                client.learn(facts(number), number as i64);
            }
        });
        let keys: Vec<String> = client.keys().map(|(key, _)| key.to_owned()).collect();
        assert_eq!(keys, (0..CLIENT_KEYS).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
