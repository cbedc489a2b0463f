//! Lists the dialect files, so that a new one needs no code.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("../../schema/catalogue/dialects");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.path().extension().is_some_and(|e| e == "toml"));
    files.sort_by_key(fs::DirEntry::path);
    let mut code = String::from("/// Text of every dialect file.\npub const DIALECTS: &[&str] = &[\n");
    for file in files {
        code += &format!("    include_str!({:?}),\n", file.path().canonicalize()?);
    }
    code += "];\n";
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("dialects.rs"), code)
}
