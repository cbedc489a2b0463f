//! `check CONFIG`: what it prints, and what it must never print.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SECRET: &str = "hunter2";

fn write(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn check(config: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiclens-collector"));
    command.arg("check").arg(config).args(more).env("QUICLENS_KAFKA_PASSWORD", SECRET).output().unwrap()
}

fn kafka(more: &str) -> String {
    let traces = env!("CARGO_TARGET_TMPDIR");
    format!("state_dir = \"s\"\ntraces = [{traces:?}]\n[sink]\nkind = \"kafka\"\nbrokers = \"b:9092\"\n{more}")
}

#[test]
fn secrets_are_not_printed_from_wherever_they_come() {
    let (file, missing) = (write("password", SECRET), write("missing", "x").with_extension("none"));
    let url = format!(
        "state_dir = \"s\"\ntraces = [\"logs\"]\n[sink]\nkind = \"clickhouse\"\nurl = \"https://me:{SECRET}@h/db\"\n"
    );
    let options = format!("[sink.options]\n\"sasl.password\" = \"{SECRET}\"\n\"ssl.key.password\" = \"{SECRET}\"\n");
    let listen =
        format!("[[listen]]\nkind = \"kafka\"\nbrokers = \"b\"\n[listen.options]\n\"sasl.password\" = \"{SECRET}\"\n");
    for (name, text, is_good, says) in [
        ("options", kafka(&options), true, "\"sasl.password\" = \"[redacted]\""),
        ("listen", kafka(&listen), true, "\"sasl.password\" = \"[redacted]\""),
        ("file", kafka(&format!("password_file = {file:?}\n")), true, "password_file"),
        ("no_quotes", kafka(&format!("[sink.options]\n\"sasl.password\" = {SECRET}\n")), false, "line 7: "),
        ("unknown", kafka(&format!("password = \"{SECRET}\"\n")), false, "unknown field `password`"),
        ("url", url.clone(), true, "https://me:[redacted]@h/db"),
        ("scheme", url.replace("https", "ftp"), false, "ftp://me:[redacted]@h/db"),
    ] {
        let done = check(&write(name, &text), &[]);
        let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert_eq!(done.status.success(), is_good, "{name}: {said}");
        assert!(!said.contains(SECRET) && said.contains(says), "{name}: {said}");
        let quiet = check(&write(name, &text), &["--quiet"]);
        assert_eq!((quiet.status.code(), quiet.stdout.len()), (done.status.code(), 0), "{name}");
    }
    let mut without = Command::new(env!("CARGO_BIN_EXE_quiclens-collector"));
    let config = write("missing_file", &kafka(&format!("password_file = {missing:?}\n")));
    let done = without.arg("check").arg(config).output().unwrap();
    assert!(!done.status.success() && String::from_utf8_lossy(&done.stderr).contains("password_file"));
}

#[test]
fn a_collector_does_not_follow_what_it_writes() {
    let config = |state: &str, out: &str| {
        format!("state_dir = {state:?}\ntraces = [\"logs\"]\n[sink]\nkind = \"files\"\nfolder = {out:?}\n")
    };
    for (name, state, out, said) in [
        ("beside", "logs-state", "out", "logs is not there; it is followed once it is"),
        ("state", "logs/state", "out", "state_dir is logs/state: it lies in "),
        ("itself", "logs", "out", "state_dir is logs: it lies in "),
        ("sink", "state", "./logs/../logs/out", "sink.folder is ./logs/../logs/out: it lies in "),
    ] {
        let done = check(&write(name, &config(state, out)), &[]);
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success() == (name == "beside") && error.contains(said), "{name}: {error}");
    }
}

#[test]
fn what_a_start_would_not_find_is_told() {
    let missing = write("not_there", "x").with_extension("none");
    for (setting, says) in [
        (format!("secret_file = {missing:?}\n"), "secret_file: cannot read"),
        ("secret_env = \"QUICLENS_NOT_SET\"\n".to_owned(), "QUICLENS_NOT_SET is not set"),
        (format!("city = {missing:?}\n"), "not_there.none"),
    ] {
        let config = write("enrich", &kafka("").replace("[sink]", &format!("[enrich]\n{setting}[sink]")));
        for more in [&[][..], &["--quiet"]] {
            let done = check(&config, more);
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(!done.status.success() && said.contains(says), "{setting}: {said}");
        }
    }
}

#[test]
fn a_closed_standard_output_is_no_error() {
    let config = write("closed", &kafka(""));
    for command in ["check", "load", "bench", "dump"] {
        let mut process = Command::new(env!("CARGO_BIN_EXE_quiclens-collector"));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done =
            process.arg(command).arg(&config).stdout(Stdio::from(writer)).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()), (Some(0), ""), "{command}");
    }
}
