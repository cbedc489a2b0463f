//! A fingerprint of the types that a checkpoint is made of, out of their definitions: postcard does not describe itself, so
//! a state of other types would be read as numbers of these. Used by `build.rs`, and by its test in `trace/saved.rs`.

/// Definitions in a source text of types that can be put away and taken up, without comments and spaces.
pub fn definitions(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let text: String = source.lines().map(without_comment).collect::<Vec<_>>().join("\n");
    let mut rest = text.as_str();
    while let Some(at) = rest.find("#[derive(") {
        rest = &rest[at..];
        let end = rest.find(")]").map_or(rest.len(), |end| end + 2);
        let (derive, after) = rest.split_at(end);
        rest = after;
        let derives = |name: &str| derive.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
        if derives("Serialize") && derives("Deserialize") {
            found.push(item(after));
        }
    }
    found
}

/// The item at the start of a text: to the brace that closes it, or to the semicolon of one that has none.
fn item(text: &str) -> String {
    let mut depth = 0;
    let mut taken = String::new();
    for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
        taken.push(letter);
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(letter, '}' | ';') {
            break;
        }
    }
    taken
}

fn without_comment(line: &str) -> &str {
    line.find("//").map_or(line, |at| &line[..at])
}

/// FNV-1a (Fowler, Noll and Vo) over all of them, in order of their texts: 48 bits.
pub fn fingerprint(mut definitions: Vec<String>) -> u64 {
    definitions.sort();
    let bytes = definitions.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) >> 16
}
