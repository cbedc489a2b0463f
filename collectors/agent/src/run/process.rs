//! What the process takes of the machine, by the names that every Prometheus client uses.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fs::read_to_string;

/// Ticks a second of /proc/PID/stat: USER_HZ, 100 wherever we build (proc(5)).
const TICKS: f64 = 100.0;

/// Read anew at every question; left out where /proc does not say it.
#[derive(Debug)]
pub struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        if let Some(seconds) = read_to_string("/proc/self/stat").ok().and_then(|stat| cpu_seconds(&stat)) {
            let (name, help) = ("process_cpu_seconds", "processor time, user and system");
            let metric = ConstCounter::new(seconds);
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)?;
        }
        if let Some(bytes) = read_to_string("/proc/self/status").ok().and_then(|status| resident_bytes(&status)) {
            let (name, help) = ("process_resident_memory_bytes", "resident memory");
            let metric = ConstGauge::new(bytes);
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)?;
        }
        Ok(())
    }
}

/// utime and stime, the 14th and 15th fields; the second, the program's name, may hold spaces and parentheses.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}

fn resident_bytes(status: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_read_as_proc_5_describes_it() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 1 2 3";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("7 (cut"), None);
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(resident_bytes("Name:\tx\n"), None);
    }
}
