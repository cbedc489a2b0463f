//! A log's bytes while the stack still has its writer.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A writer whose copies write to one place in memory.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// What was written from this byte on.
    pub fn since(&self, at: usize) -> Vec<u8> {
        self.bytes()[at..].to_vec()
    }

    /// What was written from one byte on, before another.
    pub fn between(&self, from: usize, until: usize) -> Vec<u8> {
        self.bytes()[from..until].to_vec()
    }

    /// How many bytes were written.
    pub fn length(&self) -> usize {
        self.bytes().len()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
