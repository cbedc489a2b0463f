//! What a deployment says of its clients' look-up.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `[enrich]` of the collector's config. Everything may be left out; what is left out is not looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnrichConfig {
    /// MaxMind-format database with `country`, `subdivisions`, `city`, `location` (GeoIP2 or GeoLite2 City).
    pub city: Option<PathBuf>,
    /// MaxMind-format database with `autonomous_system_number` and `autonomous_system_organization`.
    pub asn: Option<PathBuf>,
    /// MaxMind-format database with `isp` or `organization`. Without it the AS's holder is the carrier.
    pub carrier: Option<PathBuf>,
    /// Which server, cluster, point of presence and release of the server's software a host is: a name, `*.` and the end of one, or `*`.
    pub hosts: BTreeMap<String, Host>,
    /// Bits of an IPv4 address that are kept. 24.
    pub prefix_v4_bits: u8,
    /// Bits of an IPv6 address that are kept. 48.
    pub prefix_v6_bits: u8,
    /// Name of the environment variable with the deployment's secret, of 16 bytes or more; without it there is no
    /// `client_key`. All collectors whose lines and traces are to meet need the same one.
    pub secret_env: Option<String>,
    /// A file with it instead, which ends with or without a line feed.
    pub secret_file: Option<PathBuf>,
    /// H3 resolution of `h3_cell`, 0 to 15. 7, whose cells have edges of 1.4 km on average.
    pub h3_resolution: u8,
    /// Make `h3_cell` of the database's location where a log gives no coordinates. Off: such a location is often tens
    /// of kilometres wrong, and a cell does not show it.
    pub h3_from_database: bool,
    /// Language of `region` and `city`. `en`.
    pub language: String,
    /// Largest database that is read, in bytes: it is held in memory. 1 GiB.
    pub largest_database_bytes: u64,
    /// Walk a whole database when it is opened, so that a damaged one is refused and not half used. On.
    pub verify_databases: bool,
}

impl Default for EnrichConfig {
    fn default() -> Self {
        Self {
            city: None,
            asn: None,
            carrier: None,
            hosts: BTreeMap::new(),
            prefix_v4_bits: 24,
            prefix_v6_bits: 48,
            secret_env: None,
            secret_file: None,
            h3_resolution: 7,
            h3_from_database: false,
            language: "en".to_owned(),
            largest_database_bytes: 1 << 30,
            verify_databases: true,
        }
    }
}

/// Where a host stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// The server's name.
    pub server: Option<String>,
    /// Its cluster.
    pub cluster: Option<String>,
    /// Its point of presence.
    pub pop: Option<String>,
    /// The release of its software.
    pub server_release: Option<String>,
}
