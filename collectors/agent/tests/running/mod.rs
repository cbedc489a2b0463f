//! A collector that tests run beside them. What it says is always read: a full pipe would stop it, and a test with it.

#![allow(dead_code, reason = "each file of tests uses a part of it")]

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longer than any state takes on a loaded machine. Only a fault is waited for as long.
const PATIENCE: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(20);

/// Where a collector serves its metrics.
#[derive(Clone, Copy)]
pub struct Metrics(SocketAddr);

/// What a collector's metrics say; nothing where they could not be asked.
pub struct Scraped(String);

impl Metrics {
    pub fn scrape(self) -> Scraped {
        Scraped(self.asked().unwrap_or_default())
    }

    fn asked(self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.0)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut told = String::new();
        stream.read_to_string(&mut told)?;
        Ok(told)
    }
}

impl Scraped {
    /// A metric without labels, by its name after `quiclens_collector_`.
    pub fn value(&self, name: &str) -> Option<u64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(&format!("quiclens_collector_{name} ")))?;
        line.parse().ok()
    }

    /// A metric of that name is there, with any labels.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(&format!("\nquiclens_collector_{name}{{"))
    }
}

/// A collector, and what it says.
pub struct Running {
    process: Child,
    lines: Receiver<String>,
    pub said: String,
}

impl Running {
    /// Starts `run` with a file of settings; a word before it, as `exec` of a shell.
    pub fn start(config: &Path, shell: Option<&str>) -> Self {
        let program = env!("CARGO_BIN_EXE_quiclens-collector");
        let mut command = match shell {
            Some(before) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(format!("{before}; exec \"$0\" run \"$1\"")).arg(program);
                command
            }
            None => {
                let mut command = Command::new(program);
                command.arg("run");
                command
            }
        };
        let mut process = command.arg(config).stderr(Stdio::piped()).spawn().unwrap();
        let from = BufReader::new(process.stderr.take().unwrap());
        let (to, lines) = channel();
        std::thread::spawn(move || {
            for line in from.split(b'\n').map_while(Result::ok) {
                if to.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        Self { process, lines, said: String::new() }
    }

    /// Waits until it says something; gives that line, or none where it ended before.
    pub fn line_with(&mut self, words: &str) -> Option<String> {
        let since = Instant::now();
        loop {
            match self.lines.recv_timeout(PATIENCE.saturating_sub(since.elapsed())) {
                Ok(line) => {
                    self.note(&line);
                    if line.contains(words) {
                        return Some(line);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("it does not say {words:?}: {}", self.said),
            }
        }
    }

    /// Waits until it says something; gives whether it did before it ended.
    pub fn wait_for(&mut self, words: &str) -> bool {
        self.line_with(words).is_some()
    }

    /// Waits for a state that shows elsewhere. Panics where the collector ends before.
    pub fn until(&mut self, mut is_so: impl FnMut() -> bool) {
        let since = Instant::now();
        while !is_so() {
            self.hear();
            assert!(self.process.try_wait().unwrap().is_none(), "it ended: {}", self.said);
            assert!(since.elapsed() < PATIENCE, "nothing more happens: {}", self.said);
            std::thread::sleep(PAUSE);
        }
    }

    fn hear(&mut self) {
        while let Ok(line) = self.lines.try_recv() {
            self.note(&line);
        }
    }

    fn note(&mut self, line: &str) {
        self.said.push_str(line);
        self.said.push('\n');
    }

    /// Waits until its metrics are served.
    pub fn metrics(&mut self) -> Metrics {
        let line = self.line_with("metrics are served").unwrap_or_else(|| panic!("{}", self.said));
        Metrics(line.rsplit('=').next().unwrap().parse().unwrap())
    }

    /// Processor time that it has used, s.
    pub fn used_s(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid().as_raw_nonzero())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u32 = fields[11].parse::<u32>().unwrap() + fields[12].parse::<u32>().unwrap();
        f64::from(ticks) / 100.0 // USER_HZ of Linux
    }

    /// Most memory that it has had, KiB.
    pub fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid().as_raw_nonzero())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Ends it at once.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Asks it to end; gives its exit code and all that it said.
    pub fn end(self) -> (Option<i32>, String) {
        kill_process(self.pid(), Signal::TERM).unwrap();
        self.ended()
    }

    /// Waits until it has ended by itself.
    pub fn ended(mut self) -> (Option<i32>, String) {
        self.wait_for("\0");
        (self.process.wait().unwrap().code(), std::mem::take(&mut self.said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
