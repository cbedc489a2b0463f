//! The examples of the README are configs that work.
#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_edge::access_format::{AccessFormatConfig, Format};
use quiclens_edge::enrich::EnrichConfig;

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    enrich: Option<EnrichConfig>,
    access_log: Option<AccessLog>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessLog {
    format: AccessFormatConfig,
}

#[test]
fn the_readme_s_examples_are_configs() {
    let readme = include_str!("../README.md");
    let examples: Vec<_> = readme.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 6);
    for example in examples {
        let config: Config = toml::from_str(example).unwrap();
        assert!(config.enrich.is_some() || config.access_log.is_some());
        if let Some(log) = config.access_log {
            Format::compile(&log.format).unwrap();
        }
    }
}
