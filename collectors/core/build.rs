//! Lists the dialect and topic files, so that a new one needs no code; makes the columns of the tables that rows are of;
//! and tells the types of a checkpoint from others.

mod column_constants;
mod fingerprint;

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
    write("topics.rs", &(topics + "];\n"))?;
    let tables = toml_files("catalogue")?.into_iter().map(fs::read_to_string).collect::<io::Result<Vec<_>>>()?;
    write("columns.rs", &column_constants::code(&tables)?)?;
    println!("cargo:rerun-if-changed=column_constants.rs");
    println!("cargo:rerun-if-changed=fingerprint.rs");
    println!("cargo:rerun-if-changed=src");
    let mut definitions = Vec::new();
    sources(Path::new("src"), &mut definitions)?;
    let fingerprint = fingerprint::fingerprint(definitions);
    let code = format!("/// Of the types that a checkpoint is made of.\nconst FINGERPRINT: u64 = {fingerprint:#x};\n");
    write("fingerprint.rs", &code)
}

/// Definitions of serialized types in a folder and all below it.
fn sources(folder: &Path, definitions: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, definitions)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            definitions.extend(fingerprint::definitions(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
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
