//! Databases that change on disk are read again.

use crate::machine;
use quiclens_edge::deployment::Deployment;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// How often the databases' files are looked at. They change weekly or so.
const EVERY: Duration = Duration::from_secs(60);

/// Looks at the databases every minute.
pub struct Refresh {
    deployment: Arc<Deployment>,
    looked: Instant,
    faults_told: u64,
}

impl Refresh {
    /// Of a deployment that was opened just now.
    pub fn new(deployment: Arc<Deployment>) -> Self {
        Self { deployment, looked: machine::now(), faults_told: 0 }
    }

    /// Reads what changed, if a minute has passed. A database that cannot be read is logged; the old one stays in use.
    pub fn turn(&mut self, now: Instant) {
        if now - self.looked < EVERY {
            return;
        }
        self.looked = now;
        match self.deployment.reload() {
            Ok(true) => info!("a database of networks changed and was read again"),
            Ok(false) => {}
            Err(error) => warn!("{error}; the database before it stays in use"),
        }
        let faults = self.deployment.faults();
        if faults > self.faults_told {
            warn!(fields = faults, "fields of the databases of networks could not be read");
            self.faults_told = faults;
        }
    }
}
