//! Batches as files: one Arrow IPC stream each, in a folder a table.

use crate::error::{Error, FailureKind};
use crate::run::folders::{make_dir, sync_folder, write_durably};
use crate::run::sink::{Message, Patience, Sink};
use std::path::{Path, PathBuf};

/// A folder of batches.
pub struct BatchFolder {
    folder: PathBuf,
}

impl BatchFolder {
    /// Makes the folder.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        // The sync makes folders of tables durable too that were made right before the last process ended.
        make_dir(folder)
            .and_then(|()| sync_folder(folder))
            .map_err(|error| Error::of_state(folder.display(), &error))?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn write(&self, message: &Message) -> std::io::Result<()> {
        let folder = self.folder.join(message.table);
        make_dir(&folder)?;
        let draft = folder.join(format!(".{}", message.batch));
        write_durably(&draft, &folder.join(format!("{}.arrow", message.batch)), &[&message.bytes])
    }
}

impl Sink for BatchFolder {
    fn give(&mut self, messages: &[Message], _: &Patience<'_>) -> Result<(), Error> {
        for message in messages {
            self.write(message).map_err(|error| Error::new(FailureKind::SinkAway, self.folder.display(), error))?;
        }
        Ok(())
    }
}
