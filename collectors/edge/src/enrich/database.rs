//! One MaxMind-format database, held in memory.

use super::EnrichError;
use maxminddb::{LookupResult, PathElement, Reader};
use quiclens_core::limits::DATABASE_TEXT;
use std::fs::{File, Metadata};
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A database and the file that it came from.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    largest: u64,
    verify: bool,
    stamp: FileStamp,
    reader: Reader<Vec<u8>>,
}

/// Distinguishes one version of a file from the next.
type FileStamp = (u64, Option<SystemTime>);

fn stamp(data: &Metadata) -> FileStamp {
    (data.len(), data.modified().ok())
}

/// One client's record.
pub(super) struct ClientRecord<'a>(LookupResult<'a, Vec<u8>>);

impl Database {
    pub fn open(path: &Path, largest: u64, verify: bool) -> Result<Self, EnrichError> {
        let (reader, stamp) = read(path, largest, verify)?;
        Ok(Self { path: path.to_owned(), largest, verify, stamp, reader })
    }

    /// Reads the file again if it is another one than before.
    pub fn reload(&mut self) -> Result<bool, EnrichError> {
        let data = std::fs::metadata(&self.path)
            .map_err(|error| EnrichError::Unreadable(self.path.clone(), error.to_string()))?;
        if stamp(&data) == self.stamp {
            return Ok(false);
        }
        (self.reader, self.stamp) = read(&self.path, self.largest, self.verify)?;
        Ok(true)
    }

    /// The record of an address. An IPv6 address in a database of IPv4 has none.
    pub fn find(&self, address: IpAddr, faults: &mut u32) -> Option<ClientRecord<'_>> {
        if address.is_ipv6() && self.reader.metadata().ip_version == 4 {
            return None;
        }
        match self.reader.lookup(address) {
            Ok(found) => found.has_data().then_some(ClientRecord(found)),
            Err(_) => {
                *faults += 1;
                None
            }
        }
    }
}

impl<'a> ClientRecord<'a> {
    /// A text that is not empty; one that is too long, or is no text, is a fault.
    pub fn text(&self, path: &[PathElement<'_>], faults: &mut u32) -> Option<String> {
        let text = self.get::<&'a str>(path, faults)?;
        if text.len() > DATABASE_TEXT {
            *faults += 1;
            return None;
        }
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A whole number of 32 bits.
    pub fn whole(&self, path: &[PathElement<'_>], faults: &mut u32) -> Option<u32> {
        self.get(path, faults)
    }

    /// A number.
    pub fn number(&self, path: &[PathElement<'_>], faults: &mut u32) -> Option<f64> {
        self.get(path, faults)
    }

    fn get<T: serde::Deserialize<'a>>(&self, path: &[PathElement<'_>], faults: &mut u32) -> Option<T> {
        self.0.decode_path(path).unwrap_or_else(|_| {
            *faults += 1;
            None
        })
    }
}

fn read(path: &Path, largest: u64, verify: bool) -> Result<(Reader<Vec<u8>>, FileStamp), EnrichError> {
    let unreadable = |error: std::io::Error| EnrichError::Unreadable(path.to_owned(), error.to_string());
    let corrupt = |error: maxminddb::MaxMindDbError| EnrichError::Corrupt(path.to_owned(), error.to_string());
    let file = File::open(path).map_err(unreadable)?;
    let stamp = stamp(&file.metadata().map_err(unreadable)?);
    if stamp.0 > largest {
        return Err(EnrichError::TooLarge(path.to_owned(), largest));
    }
    let mut bytes = Vec::new();
    // A file may grow, and a pipe has no length.
    file.take(largest.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > largest {
        return Err(EnrichError::TooLarge(path.to_owned(), largest));
    }
    let reader = Reader::from_source(bytes).map_err(corrupt)?;
    if verify {
        reader.verify().map_err(corrupt)?;
    }
    Ok((reader, stamp))
}
