//! Reads `.sqlog` files with quiche's `qlog` crate and drops what it reads: events, how many of them typed, seconds.
//! `peers newest FILE…` or `peers until-2025 FILE…`.

use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

macro_rules! reader {
    ($name:ident, $crate_name:ident) => {
        fn $name(path: &str, typed: &mut u64, untyped: &mut u64) -> Result<(), Failure> {
            let file = BufReader::with_capacity(1 << 18, File::open(path)?);
            for event in $crate_name::reader::QlogSeqReader::new(Box::new(file))? {
                match event {
                    $crate_name::reader::Event::Qlog(event) => {
                        black_box(&event);
                        *typed += 1;
                    }
                    $crate_name::reader::Event::Json(event) => {
                        black_box(&event);
                        *untyped += 1;
                    }
                }
            }
            Ok(())
        }
    };
}

reader!(newest, qlog);
reader!(until_2025, qlog_until_2025);

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let read = match arguments.next().as_deref() {
        Some("newest") => newest,
        Some("until-2025") => until_2025,
        _ => return Err("usage: peers newest|until-2025 FILE...".into()),
    };
    let started = Instant::now();
    let (mut typed, mut untyped) = (0u64, 0u64);
    for path in arguments {
        read(&path, &mut typed, &mut untyped)?;
    }
    println!("{{\"events\":{},\"typed\":{typed},\"seconds\":{}}}", typed + untyped, started.elapsed().as_secs_f64());
    Ok(())
}
