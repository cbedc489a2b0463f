//! Clients are looked up in databases that these tests write.
#![expect(clippy::unwrap_used, reason = "tests")]

mod mmdb;

use mmdb::{Value, database, text};
use quiclens_core::limits::DATABASE_TEXT;
use quiclens_core::record::columns::connections;
use quiclens_core::record::rows::{Cell, Row};
use quiclens_edge::enrich::{EnrichConfig, EnrichError, Enricher, Facts};
use std::path::PathBuf;

const SECRET: &str = "a secret of the deployment";

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{name}-{}.mmdb", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn names(name: &str) -> Value {
    Value::Map(vec![("names", Value::Map(vec![("de", text("anders")), ("en", text(name))]))])
}

fn place(city: &str) -> Value {
    Value::Map(vec![
        ("city", names(city)),
        ("country", Value::Map(vec![("iso_code", text("DE"))])),
        ("location", Value::Map(vec![("latitude", Value::Double(52.52)), ("longitude", Value::Double(13.405))])),
        ("subdivisions", Value::List(vec![names("Land Berlin"), names("Mitte")])),
    ])
}

fn holder(number: u32, name: &str) -> Value {
    Value::Map(vec![("autonomous_system_number", Value::Whole(number)), ("autonomous_system_organization", text(name))])
}

/// Writes the usual three files under a test's own name.
fn config(test: &str) -> EnrichConfig {
    let cities = [("192.0.2.0/24", place("Berlin")), ("2001:db8::/32", place("Potsdam")), ("10.0.0.0/8", place("no"))];
    let holders = [("192.0.2.0/24", holder(64500, "Example Net")), ("198.51.100.0/24", holder(64501, "Other Net"))];
    let carriers = [("192.0.2.0/25", Value::Map(vec![("isp", text("Example Mobile")), ("mcc", text("262"))]))];
    EnrichConfig {
        city: Some(file(&format!("{test}-city"), &database(6, &cities))),
        asn: Some(file(&format!("{test}-asn"), &database(4, &holders))),
        carrier: Some(file(&format!("{test}-carrier"), &database(6, &carriers))),
        ..EnrichConfig::default()
    }
}

fn ask(enricher: &Enricher, address: &str) -> Facts {
    enricher.enrich(Some(address.parse().unwrap()), Some(443), None, &[])
}

#[test]
fn a_client_is_looked_up_hashed_and_truncated() {
    let enricher = Enricher::with_secret(&config("whole"), Some(SECRET)).unwrap();
    let facts = ask(&enricher, "192.0.2.77");
    let key = facts.client_key.clone().unwrap();
    assert_eq!(key.len(), 32);
    let want = Facts {
        client_network: Some("192.0.2.0/24".into()),
        client_key: Some(key.clone()),
        carrier: Some("Example Mobile".into()),
        asn: Some(64500),
        country: Some("DE".into()),
        region: Some("Land Berlin".into()),
        city: Some("Berlin".into()),
        ..Facts::default()
    };
    assert_eq!(facts, want);
    // An IPv4 client on a socket of IPv6 is the same client.
    assert_eq!(ask(&enricher, "::ffff:192.0.2.77"), facts);
    // Not in the carrier's database: the AS's holder is the carrier.
    assert_eq!(ask(&enricher, "192.0.2.200").carrier.as_deref(), Some("Example Net"));
    // IPv6 is in the city's database and cannot be in one of IPv4.
    let six = ask(&enricher, "2001:db8:1:2::7");
    assert_eq!((six.city.as_deref(), six.asn, six.faults), (Some("Potsdam"), None, 0));
    assert_eq!(six.client_network.as_deref(), Some("2001:db8:1::/48"));
    // Nobody's.
    let unknown = ask(&enricher, "203.0.113.9");
    assert_eq!((unknown.country, unknown.carrier, unknown.faults), (None, None, 0));
}

#[test]
fn keys_depend_on_address_port_and_secret_alone() {
    let with = |secret| Enricher::with_secret(&EnrichConfig::default(), secret).unwrap();
    let (one, two) = (with(Some(SECRET)), with(Some("another secret of another one")));
    let key = |enricher: &Enricher, address: &str, port| enricher.client_key(address.parse().unwrap(), port);
    let first = key(&one, "192.0.2.7", 443);
    assert_eq!(first, key(&one, "192.0.2.7", 443));
    assert_eq!(first, key(&one, "::ffff:192.0.2.7", 443));
    assert_ne!(first, key(&one, "192.0.2.7", 444));
    assert_ne!(first, key(&one, "192.0.2.8", 443));
    assert_ne!(first, key(&two, "192.0.2.7", 443));
    assert_eq!(key(&with(None), "192.0.2.7", 443), None);
    assert_eq!(one.enrich(Some("192.0.2.7".parse().unwrap()), None, None, &[]).client_key, None, "no port, no key");
    // Stored keys must stay joinable: the form is a promise.
    assert_eq!(first.as_deref(), Some("2dbf2c876889fc134dbe37018a290d9d"));
}

#[test]
fn private_addresses_are_truncated_and_not_looked_up() {
    let enricher = Enricher::with_secret(&config("private"), Some(SECRET)).unwrap();
    for (address, network) in
        [("10.1.2.3", "10.1.2.0/24"), ("127.0.0.1", "127.0.0.0/24"), ("fd00::1", "fd00::/48"), ("::1", "::/48")]
    {
        let facts = ask(&enricher, address);
        assert_eq!(facts.client_network.as_deref(), Some(network));
        assert_eq!((facts.city, facts.carrier), (None, None), "{address}");
        assert!(facts.client_key.is_some());
    }
    assert_eq!(ask(&enricher, "0.0.0.0"), Facts::default());
    assert_eq!(enricher.enrich(None, Some(1), None, &[]), Facts::default());
}

#[test]
fn cells_are_of_given_coordinates_else_of_the_database_when_asked() {
    let mut config = config("cells");
    let cell = |config: &EnrichConfig, location| {
        let enricher = Enricher::with_secret(config, None).unwrap();
        enricher.enrich(Some("192.0.2.7".parse().unwrap()), None, location, &[]).h3_cell
    };
    // The H3 library's own example: 37.7955, -122.3937 at resolution 7.
    let there = Some((37.7955, -122.3937));
    let seven = cell(&config, there).unwrap();
    assert!(seven.starts_with("87") && seven.len() == 15, "{seven}");
    assert_eq!(cell(&config, None), None);
    assert_eq!(cell(&config, Some((91.0, 0.0))), None);
    assert_eq!(cell(&config, Some((f64::NAN, 0.0))), None);
    config.h3_resolution = 9;
    assert!(cell(&config, there).unwrap().starts_with("89"));
    config.h3_from_database = true;
    assert_eq!(cell(&config, None), cell(&config, Some((52.52, 13.405))));
    assert_ne!(cell(&config, there), cell(&config, None));
    config.h3_resolution = 16;
    assert!(matches!(Enricher::with_secret(&config, None), Err(EnrichError::Setting(_))));
}

#[test]
fn hosts_are_found_by_name_and_by_the_longest_pattern() {
    let config: EnrichConfig = toml::from_str(
        r#"
        [hosts."edge-1.example.net"]
        server = "edge-1"
        cluster = "a"
        pop = "ber1"
        [hosts."*.example.net"]
        pop = "somewhere"
        [hosts."*.ber.example.net"]
        pop = "ber2"
        "#,
    )
    .unwrap();
    let enricher = Enricher::with_secret(&config, None).unwrap();
    let pop = |host| enricher.enrich(None, None, None, &[host]).pop;
    assert_eq!(enricher.enrich(None, None, None, &["Edge-1.example.net:443"]).server.as_deref(), Some("edge-1"));
    assert_eq!(pop("edge-1.example.net."), Some("ber1".into()));
    assert_eq!(pop("x.ber.example.net"), Some("ber2".into()));
    assert_eq!(pop("x.example.net"), Some("somewhere".into()));
    for host in ["example.net", "", "[2001:db8::1]:443", "other.example"] {
        assert_eq!(pop(host), None, "{host}");
    }
}

#[test]
fn what_a_log_says_itself_stays() {
    let enricher = Enricher::with_secret(&config("rows"), Some(SECRET)).unwrap();
    let facts = ask(&enricher, "192.0.2.7");
    let mut row = Row::default();
    row.set(connections::CARRIER, Some("as logged"));
    row.set(connections::CITY, None::<&str>);
    facts.fill(&mut row);
    assert_eq!(row.text(connections::CARRIER), Some("as logged"));
    assert_eq!(row.text(connections::CITY), Some("Berlin"));
    assert!(row.text(connections::CLIENT_KEY).is_some());
    assert_eq!(row.get(connections::ASN), Some(&Cell::Whole(64500)));
}

#[test]
fn wrong_types_and_sizes_in_a_database_are_counted_and_left_out() {
    let odd = Value::Map(vec![
        ("city", Value::Map(vec![("names", Value::Map(vec![("en", Value::Whole(5))]))])),
        ("country", text("DE")),
        ("subdivisions", Value::List(vec![Value::Map(vec![("names", names("x")), ("iso_code", text("BE"))])])),
        ("autonomous_system_number", text("many")),
        ("autonomous_system_organization", Value::Text("x".repeat(60_000))),
        ("isp", Value::Bytes(vec![0xff, 0xfe])),
    ]);
    let path = file("odd", &database(6, &[("192.0.2.0/24", odd)]));
    let config = EnrichConfig {
        city: Some(path.clone()),
        asn: Some(path.clone()),
        carrier: Some(path),
        ..EnrichConfig::default()
    };
    let facts = ask(&Enricher::with_secret(&config, None).unwrap(), "192.0.2.7");
    assert_eq!((facts.city, facts.country, facts.asn, facts.carrier), (None, None, None, None));
    assert_eq!(facts.region.as_deref(), Some("BE"));
    assert!(facts.faults >= 4, "{}", facts.faults);
}

#[test]
fn a_name_in_a_database_has_so_many_bytes() {
    for (length, faults) in [(DATABASE_TEXT, 0), (DATABASE_TEXT + 1, 1)] {
        let name = "x".repeat(length);
        let asn = Value::Map(vec![("autonomous_system_organization", Value::Text(name.clone()))]);
        let path = file(&format!("name-{length}"), &database(6, &[("192.0.2.0/24", asn)]));
        let config = EnrichConfig { carrier: Some(path), ..EnrichConfig::default() };
        let facts = ask(&Enricher::with_secret(&config, None).unwrap(), "192.0.2.7");
        assert_eq!((facts.carrier, facts.faults), ((faults == 0).then_some(name), faults), "{length}");
    }
}

#[test]
fn damaged_databases_are_refused_with_their_name() {
    let whole = database(6, &[("192.0.2.0/24", place("Berlin"))]);
    let open = |path: PathBuf, largest| {
        let config = EnrichConfig { city: Some(path), largest_database_bytes: largest, ..EnrichConfig::default() };
        Enricher::with_secret(&config, None)
    };
    assert!(matches!(open("/nowhere/x.mmdb".into(), 1000), Err(EnrichError::Unreadable(..))));
    let good = file("good", &whole);
    assert!(open(good.clone(), 1 << 20).is_ok());
    assert!(matches!(open(good, 100), Err(EnrichError::TooLarge(_, 100))));
    for length in (0..whole.len()).step_by(7) {
        let path = file("cut", &whole[..length]);
        let error = open(path.clone(), 1 << 20).map(|_| length).unwrap_err();
        assert!(matches!(&error, EnrichError::Corrupt(at, _) if *at == path), "{length}: {error}");
        assert!(error.to_string().contains("cut-"), "{error}");
    }
    // The tree's end is cut away, but the metadata are whole.
    let torn = [&whole[..60], &whole[whole.len() - 260..]].concat();
    assert!(open(file("torn", &torn), 1 << 20).is_err());
}

/// Whatever byte is wrong, opening and asking end, and without a panic.
#[test]
fn any_flipped_byte_is_survived() {
    let whole = database(6, &[("192.0.2.0/24", place("Berlin")), ("2001:db8::/32", place("Potsdam"))]);
    let path = file("flipped", &whole);
    let config = EnrichConfig { city: Some(path.clone()), verify_databases: false, ..EnrichConfig::default() };
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(enricher) = Enricher::with_secret(&config, None) {
            for address in ["192.0.2.7", "2001:db8::7", "203.0.113.1"] {
                let _ = ask(&enricher, address);
            }
        }
    }
}

#[test]
fn a_changed_database_is_read_again_and_a_bad_one_is_not_taken() {
    let path = file("reload", &database(6, &[("192.0.2.0/24", place("Berlin"))]));
    let config = EnrichConfig { city: Some(path.clone()), ..EnrichConfig::default() };
    let mut enricher = Enricher::with_secret(&config, None).unwrap();
    assert_eq!(enricher.reload(), Ok(false));
    std::fs::write(&path, database(6, &[("192.0.2.0/24", place("Frankfurt"))])).unwrap();
    assert_eq!(enricher.reload(), Ok(true));
    assert_eq!(ask(&enricher, "192.0.2.7").city.as_deref(), Some("Frankfurt"));
    std::fs::write(&path, b"half a download").unwrap();
    assert!(matches!(enricher.reload(), Err(EnrichError::Corrupt(..))));
    assert_eq!(ask(&enricher, "192.0.2.7").city.as_deref(), Some("Frankfurt"));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(enricher.reload(), Err(EnrichError::Unreadable(..))));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let short = Enricher::with_secret(&EnrichConfig::default(), Some("short"));
    assert!(matches!(short, Err(EnrichError::Setting(_))));
    let unset = EnrichConfig { secret_env: Some("QUICLENS_NO_SUCH_VARIABLE".into()), ..EnrichConfig::default() };
    assert!(matches!(Enricher::open(&unset), Err(EnrichError::Setting(_))));
    // Set by cargo for every test, and long enough.
    let set = EnrichConfig { secret_env: Some("CARGO_MANIFEST_DIR".into()), ..EnrichConfig::default() };
    assert!(Enricher::open(&set).unwrap().client_key("192.0.2.7".parse().unwrap(), 1).is_some());
    assert!(toml::from_str::<EnrichConfig>("prefix_v4_bits = 33").is_ok_and(|c| Enricher::open(&c).is_err()));
    assert!(toml::from_str::<EnrichConfig>("no_such_key = 1").is_err());
}
