//! Who a client is: its network's carrier and place, its key, and which of our servers answered it.

mod config;
mod database;

pub use config::{EnrichConfig, Host};
pub use quiclens_core::client::Facts;

use crate::address::{Client, Prefix, is_public};
use database::Database;
use std::net::IpAddr;
use std::path::PathBuf;

/// Why there is no enricher, or why a database was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnrichError {
    /// The file cannot be opened or read.
    Unreadable(PathBuf, String),
    /// The file is larger than the limit, in bytes.
    TooLarge(PathBuf, u64),
    /// The file is no database, or a damaged one.
    Corrupt(PathBuf, String),
    /// A setting that cannot be.
    Setting(String),
}

impl std::fmt::Display for EnrichError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(path, why) => write!(f, "{}: cannot be read: {why}", path.display()),
            Self::TooLarge(path, limit) => write!(f, "{}: larger than {limit} bytes", path.display()),
            Self::Corrupt(path, why) => write!(f, "{}: no sound MaxMind database: {why}", path.display()),
            Self::Setting(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for EnrichError {}

/// Looks clients up. Cheap to ask from many threads; [`Enricher::reload`] needs it alone.
#[derive(Debug)]
pub struct Enricher {
    city: Option<Database>,
    asn: Option<Database>,
    carrier: Option<Database>,
    hosts: Vec<(String, Host)>,
    prefix: Prefix,
    key: Option<[u8; 32]>,
    resolution: h3o::Resolution,
    cell_from_database: bool,
    language: String,
}

/// Separates our keys from whatever else the secret is used for.
const KEY_CONTEXT: &str = "quiclens 2026-11 client_key";
/// A shorter secret could be guessed, and with it every address.
const SHORTEST_SECRET: usize = 16;

impl Enricher {
    /// Opens the databases and takes the secret from the environment or its file. The first thing that is missing, damaged or
    /// out of bounds is the error; there is no enricher with half of what was asked for.
    pub fn open(config: &EnrichConfig) -> Result<Self, EnrichError> {
        let secret = match (&config.secret_env, &config.secret_file) {
            (None, None) => None,
            (Some(name), None) => Some(
                std::env::var(name)
                    .map_err(|_| EnrichError::Setting(format!("secret_env: {name} is not set in the environment")))?,
            ),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    EnrichError::Setting(format!("secret_file: cannot read {}: {error}", path.display()))
                })?;
                Some(text.trim_end_matches(['\r', '\n']).to_owned())
            }
            (Some(_), Some(_)) => {
                return Err(EnrichError::Setting("secret_env and secret_file: one is enough".to_owned()));
            }
        };
        Self::with_secret(config, secret.as_deref())
    }

    /// The same with the secret given.
    pub fn with_secret(config: &EnrichConfig, secret: Option<&str>) -> Result<Self, EnrichError> {
        if secret.is_some_and(|secret| secret.len() < SHORTEST_SECRET) {
            return Err(EnrichError::Setting(format!("the secret has fewer than {SHORTEST_SECRET} bytes")));
        }
        if config.prefix_v4_bits > 32 || config.prefix_v6_bits > 128 {
            return Err(EnrichError::Setting("prefix_v4_bits is at most 32, prefix_v6_bits at most 128".to_owned()));
        }
        let resolution = h3o::Resolution::try_from(config.h3_resolution)
            .map_err(|_| EnrichError::Setting(format!("h3_resolution: {} is not of 0 to 15", config.h3_resolution)))?;
        let open = |path: &Option<PathBuf>| {
            path.as_deref()
                .map(|path| Database::open(path, config.largest_database_bytes, config.verify_databases))
                .transpose()
        };
        let mut hosts: Vec<_> =
            config.hosts.iter().map(|(name, host)| (name.to_ascii_lowercase(), host.clone())).collect();
        // The longest pattern that fits is the one meant.
        hosts.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Ok(Self {
            city: open(&config.city)?,
            asn: open(&config.asn)?,
            carrier: open(&config.carrier)?,
            hosts,
            prefix: Prefix { v4: config.prefix_v4_bits, v6: config.prefix_v6_bits },
            key: secret.map(|secret| blake3::derive_key(KEY_CONTEXT, secret.as_bytes())),
            resolution,
            cell_from_database: config.h3_from_database,
            language: config.language.clone(),
        })
    }

    /// Reads the databases again whose files changed; true when one did. On an error the old one stays in use.
    pub fn reload(&mut self) -> Result<bool, EnrichError> {
        let (mut changed, mut failed) = (false, None);
        for database in [&mut self.city, &mut self.asn, &mut self.carrier].into_iter().flatten() {
            match database.reload() {
                Ok(read) => changed |= read,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(changed), Err)
    }

    /// What is known of the client at `address` and of the host that answered, by the first of its `names` that the
    /// table has. `location` is latitude and longitude in degrees where a log has them. Whatever is not known, or not
    /// asked for in the config, is `None`.
    pub fn enrich(
        &self,
        address: Option<IpAddr>,
        port: Option<u16>,
        location: Option<(f64, f64)>,
        names: &[&str],
    ) -> Facts {
        let mut facts = Facts::default();
        if let Some(found) = self.host(names) {
            facts.server.clone_from(&found.server);
            facts.cluster.clone_from(&found.cluster);
            facts.pop.clone_from(&found.pop);
            facts.server_release.clone_from(&found.server_release);
        }
        let mut location = location;
        if let Some(address) = address.map(|address| address.to_canonical()).filter(|a| !a.is_unspecified()) {
            facts.client_network = Some(self.prefix.network(address));
            facts.client_key = port.and_then(|port| self.client_key(address, port));
            if is_public(address) {
                let from_database = self.look_up(address, &mut facts);
                location = location.or(from_database.filter(|_| self.cell_from_database));
            }
        }
        facts.h3_cell = location.and_then(|(latitude, longitude)| self.cell(latitude, longitude));
        facts
    }

    /// The same for a [`Client`].
    pub fn enrich_client(&self, client: Client, location: Option<(f64, f64)>, names: &[&str]) -> Facts {
        self.enrich(client.address, client.port, location, names)
    }

    /// The key under which lines and connections of one client address and port meet: the first 16 bytes, as hex, of
    /// BLAKE3 keyed with a key derived from the deployment's secret, over the address's 16 bytes (IPv4 as mapped
    /// IPv6) and the port's two, most significant first. `None` without a secret.
    pub fn client_key(&self, address: IpAddr, port: u16) -> Option<String> {
        let mut told = [0; 18];
        let (place, end) = told.split_at_mut(16);
        place.copy_from_slice(&match address.to_canonical() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        });
        end.copy_from_slice(&port.to_be_bytes());
        let hash = blake3::keyed_hash(self.key.as_ref()?, &told);
        Some(hash.to_hex().chars().take(32).collect())
    }

    /// What stands for a connection's name that holds addresses, as [`Enricher::client_key`] does for an address.
    pub fn id_key(&self, id: &str) -> Option<String> {
        let hash = blake3::keyed_hash(self.key.as_ref()?, id.as_bytes());
        Some(format!("k-{}", hash.to_hex().chars().take(32).collect::<String>()))
    }

    /// Which bits of an address this deployment keeps.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    fn cell(&self, latitude: f64, longitude: f64) -> Option<String> {
        if !(-90.0..=90.0).contains(&latitude) || !(-180.0..=180.0).contains(&longitude) {
            return None;
        }
        let point = h3o::LatLng::new(latitude, longitude).ok()?;
        Some(point.to_cell(self.resolution).to_string())
    }

    /// The entry of the first name that has one; `*`, which fits every name, is for those of which none has another.
    fn host(&self, names: &[&str]) -> Option<&Host> {
        let names: Vec<_> = names.iter().filter_map(|name| Some(name_of(name)?.to_ascii_lowercase())).collect();
        let of = |name: &String| self.hosts.iter().find(|(pattern, _)| pattern != "*" && fits(pattern, name));
        let rest = || self.hosts.iter().find(|(pattern, _)| pattern == "*" && !names.is_empty());
        names.iter().find_map(of).or_else(rest).map(|(_, host)| host)
    }

    /// Fills in what the databases say; gives the place that they name.
    fn look_up(&self, address: IpAddr, facts: &mut Facts) -> Option<(f64, f64)> {
        use maxminddb::PathElement::{Index, Key};
        let language = || Key(self.language.as_str());
        let mut place = None;
        if let Some(record) = self.city.as_ref().and_then(|city| city.find(address, &mut facts.faults)) {
            facts.country = record.text(&[Key("country"), Key("iso_code")], &mut facts.faults);
            // Subdivisions go from large to small.
            let region = [Key("subdivisions"), Index(0), Key("names"), language()];
            let code = [Key("subdivisions"), Index(0), Key("iso_code")];
            facts.region = record.text(&region, &mut facts.faults).or_else(|| record.text(&code, &mut facts.faults));
            facts.city = record.text(&[Key("city"), Key("names"), language()], &mut facts.faults);
            let degrees = |name, faults: &mut u32| record.number(&[Key("location"), Key(name)], faults);
            if self.cell_from_database {
                let latitude = degrees("latitude", &mut facts.faults);
                place = latitude.zip(degrees("longitude", &mut facts.faults));
            }
        }
        let number = [Key("autonomous_system_number")];
        let organization = [Key("autonomous_system_organization")];
        let mut holder = None;
        if let Some(record) = self.asn.as_ref().and_then(|asn| asn.find(address, &mut facts.faults)) {
            facts.asn = record.whole(&number, &mut facts.faults);
            holder = record.text(&organization, &mut facts.faults);
        }
        if let Some(record) = self.carrier.as_ref().and_then(|carrier| carrier.find(address, &mut facts.faults)) {
            facts.carrier = record
                .text(&[Key("isp")], &mut facts.faults)
                .or_else(|| record.text(&[Key("organization")], &mut facts.faults));
            facts.asn = facts.asn.or_else(|| record.whole(&number, &mut facts.faults));
            holder = holder.or_else(|| record.text(&organization, &mut facts.faults));
        }
        facts.carrier = facts.carrier.take().or(holder);
        place
    }
}

/// The name in `host`, `host:port`, `[v6]:port`.
fn name_of(host: &str) -> Option<&str> {
    let host = host.trim().trim_end_matches('.');
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ if host.starts_with('[') => host.split(']').next()?.trim_start_matches('['),
        _ => host,
    };
    let name = name.trim_end_matches('.');
    (!name.is_empty()).then_some(name)
}

/// A pattern is a name, `*.` and the end of one, or `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.ends_with(end),
        None => pattern == name,
    }
}
