//! Lists the dialect and topic files, so that a new one needs no code.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let mut dialects = String::from("/// Text of every dialect file.\npub const DIALECTS: &[&str] = &[\n");
    for file in toml_files("catalogue/dialects")? {
        dialects += &format!("    include_str!({file:?}),\n");
    }
    write("dialects.rs", &(dialects + "];\n"))?;
    let mut topics = String::from("/// Name and text of every topic file.\npub const TOPICS: &[(&str, &str)] = &[\n");
    for file in toml_files("topics")? {
        topics += &format!("    ({:?}, include_str!({file:?})),\n", file.file_stem().unwrap_or_default());
    }
    write("topics.rs", &(topics + "];\n"))
}

/// The files of a folder of the schema, in order of name; cargo runs this again when they change.
fn toml_files(folder: &str) -> io::Result<Vec<PathBuf>> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("../../schema").join(folder);
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for file in fs::read_dir(&folder)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path.canonicalize()?);
        }
    }
    files.sort();
    Ok(files)
}

fn write(name: &str, code: &str) -> io::Result<()> {
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join(name), code)
}
