//! Secrets of a configuration: where they come from, and what is printed in their place.

use crate::error::{Error, FailureKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::Path;

/// The password of Kafka (`sasl.password`), as `quiclens ingest` has it; it outranks the configuration.
pub const KAFKA_PASSWORD: &str = "QUICLENS_KAFKA_PASSWORD";
/// The password of a ClickHouse sink, or the token of a quiclens sink; it outranks the configuration.
pub const STORE_PASSWORD: &str = "QUICLENS_STORE_PASSWORD";

/// What is printed in place of a secret.
const HIDDEN: &str = "[redacted]";

/// Parts of names of librdkafka's options whose values are secret: passwords, tokens, keys, and what may hold them.
const SECRET: [&str; 7] = ["password", "passphrase", "secret", "token", "pem", "oauthbearer.config", "jaas"];

/// Options of librdkafka by name. Printed, a secret among them is hidden.
#[derive(Clone, Debug, Default)]
pub struct KafkaOptions(BTreeMap<String, String>);

impl KafkaOptions {
    /// The options with the password from its variable, else from its file, else as they are.
    pub fn with_password(&self, file: Option<&Path>) -> Result<BTreeMap<String, String>, Error> {
        let mut options = self.0.clone();
        if let Some(password) = password(KAFKA_PASSWORD, file)? {
            options.insert("sasl.password".into(), password);
        }
        Ok(options)
    }
}

impl<'de> Deserialize<'de> for KafkaOptions {
    /// Values may be text, numbers or booleans: an error for a password that looks like a number would print it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let options = BTreeMap::<String, toml::Value>::deserialize(deserializer)?;
        let text = |(name, value): (String, toml::Value)| match value {
            toml::Value::String(text) => Ok((name, text)),
            toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => Ok((name, value.to_string())),
            _ => Err(serde::de::Error::custom(format!("option {name:?} is neither text nor a number"))),
        };
        options.into_iter().map(text).collect::<Result<_, _>>().map(Self)
    }
}

impl Serialize for KafkaOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_secret = |name: &str| SECRET.iter().any(|part| name.to_lowercase().contains(part));
        serializer.collect_map(
            self.0.iter().map(|(name, value)| (name, if is_secret(name) { HIDDEN } else { value.as_str() })),
        )
    }
}

/// A password from its variable, else from a file, which ends with or without a line feed.
pub fn password(variable: &str, file: Option<&Path>) -> Result<Option<String>, Error> {
    if let Ok(password) = std::env::var(variable) {
        return Ok(Some(password));
    }
    let Some(file) = file else { return Ok(None) };
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::new(FailureKind::Configuration, format!("password_file {}", file.display()), error))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// A URL without its password.
pub fn without_password(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let authority = &url[start..url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at)];
    let hidden = authority.rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?.0, host)));
    let shown = match hidden {
        Some((user, host)) => format!("{}{user}:{HIDDEN}@{host}{}", &url[..start], &url[start + authority.len()..]),
        None => url.to_owned(),
    };
    // ClickHouse takes a password as a parameter too.
    let Some(at) = shown.find("password=").map(|at| at + "password=".len()) else { return shown };
    let end = shown[at..].find('&').map_or(shown.len(), |end| at + end);
    format!("{}{HIDDEN}{}", &shown[..at], &shown[end..])
}

/// [`without_password`], for a field that is printed.
pub fn hide<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&without_password(url))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_printed_and_everything_else_is() {
        let text = "\"sasl.username\" = \"me\"\n\"sasl.password\" = 1234\n\"ssl.key.pem\" = \"hunter2\"\n\
            \"ssl.keystore.password\" = \"hunter2\"\n\"sasl.oauthbearer.client.secret\" = \"hunter2\"\n\"linger.ms\" = 5\n";
        let options: KafkaOptions = toml::from_str(text).unwrap();
        assert_eq!(options.0["sasl.password"], "1234");
        let shown = toml::to_string(&options).unwrap();
        assert!(!shown.contains("hunter2") && !shown.contains("1234"), "{shown}");
        assert!(shown.contains("\"sasl.username\" = \"me\"") && shown.contains("\"linger.ms\" = \"5\""), "{shown}");
        assert_eq!(shown.matches(HIDDEN).count(), 4);
    }

    /// What librdkafka 2.12.1 itself calls sensitive (`_RK_SENSITIVE` in `rdkafka_conf.c`) and lets a file set, but for
    /// `sasl.username`, and the names of files, `ssl.key.location` and `sasl.oauthbearer.assertion.private.key.file`.
    #[test]
    fn what_librdkafka_calls_sensitive_is_hidden() {
        for name in [
            "ssl.key.password",
            "ssl.key.pem",
            "ssl.ca.pem",
            "ssl.keystore.password",
            "sasl.password",
            "sasl.oauthbearer.config",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.assertion.private.key.passphrase",
            "sasl.oauthbearer.assertion.private.key.pem",
        ] {
            let options = KafkaOptions(BTreeMap::from([(name.to_owned(), "hunter2".to_owned())]));
            let shown = toml::to_string(&options).unwrap();
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (url, shown) in [
            ("http://h:8123/db", "http://h:8123/db"),
            ("http://me@h/db", "http://me@h/db"),
            ("https://me:pa:ss@w@h:1/db?a=b", "https://me:[redacted]@h:1/db?a=b"),
            ("http://h/db?user=me&password=x&a=b", "http://h/db?user=me&password=[redacted]&a=b"),
            ("http://h/a:b@c", "http://h/a:b@c"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
