//! Standard output of a command.

use crate::error::{Error, Kind};

/// What came of writing to standard output. Where nobody reads it any more, as behind `head`, the command is over and
/// nothing is wrong.
pub fn written(done: std::io::Result<()>) -> Result<(), Error> {
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        done => done.map_err(|error| Error::new(Kind::Output, "", format!("cannot write: {error}"))),
    }
}
