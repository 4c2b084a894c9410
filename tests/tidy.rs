//! The house's rows as a test (DESIGN §6): floors, homes of outside crates, banned words, sizes.
//!
//! Always holds: every rule has a small bad input below that it must refuse, so that none of them
//! can rot into a test that always passes. Does not know: what the code does.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Who may import whom, top floor first. A floor may always import itself.
const FLOORS: &[(&str, &[&str])] = &[
    ("cli", &["daemon", "store", "edge", "logic", "units"]),
    ("daemon", &["store", "edge", "logic", "units"]),
    ("store", &["logic", "units"]),
    ("edge", &["logic", "units"]),
    ("logic", &["units"]),
    ("units", &[]),
];

/// Where an outside crate may be used: beginnings of paths.
const HOMES: &[(&str, &[&str])] = &[
    ("base64", &["src/logic/recorder.rs"]),
    ("clap", &["src/cli/"]),
    ("csv", &["src/logic/gnss/record", "src/cli/replay"]),
    ("foldhash", &["src/logic/engine/"]),
    ("flate2", &["src/edge/"]),
    ("http-body-util", &["src/edge/"]),
    ("hyper", &["src/edge/"]),
    ("hyper-util", &["src/edge/"]),
    ("indicatif", &["src/cli/"]),
    ("jiff", &["src/units.rs"]),
    ("nix", &["src/edge/"]),
    ("nmea", &["src/logic/gnss/epoch"]),
    ("percent-encoding", &["src/edge/control/", "src/logic/event.rs"]),
    ("rand_distr", &["src/logic/simulate/chance.rs"]),
    ("rand_pcg", &["src/logic/simulate/chance.rs"]),
    ("rusqlite", &["src/store/"]),
    ("rustls", &["src/edge/http"]),
    ("sd-notify", &["src/edge/systemd.rs"]),
    ("serde", &["src/"]),
    ("serde_json", &["src/"]),
    ("sha2", &["src/logic/hash.rs"]),
    ("strsim", &["src/logic/config/", "src/logic/zones/"]),
    ("thiserror", &["src/"]),
    ("tokio", &["src/edge/", "src/daemon/"]),
    ("tokio-serial", &["src/edge/serial"]),
    ("toml", &["src/logic/config/"]),
    ("tracing", &["src/cli/", "src/daemon/", "src/edge/", "src/store/"]),
    ("tracing-subscriber", &["src/cli/log.rs"]),
    ("ureq", &["src/edge/http"]),
];

/// Words that may not stand in code, and what to write instead. Split, so that this file may
/// hold them.
const BANNED: &[(&str, &str, &str)] = &[
    ("todo", "!", "build it, or leave it out and say so"),
    ("unimplemented", "!", "build it, or leave it out and say so"),
    ("dbg", "!", "tracing, or nothing"),
    ("thread::", "sleep", "wait for an event or a deadline"),
    ("#[ign", "ore", "make the test fast, or make it a bench"),
    ("should_", "panic", "return the fault and compare it"),
    ("#[al", "low(", "#[expect(lint, reason = \"…\")]"),
];

/// Banned in comments as well.
const SHOUT: (&str, &str, &str) = ("FIX", "ME", "fix it, or write the reason down");

/// Banned outside tests only.
const BANNED_IN_PRODUCT: &[(&str, &str, &str)] = &[
    (".unw", "rap()", "return the fault, or expect(\"why it cannot fail\")"),
    ("print", "ln!(", "cli::out for data, cli::exit::say for talk, tracing for the log"),
    ("eprint", "!(", "cli::exit::say for talk, tracing for the log"),
];

const COLUMNS_MAX: usize = 100;
const COLUMNS_OF_TEXT_MAX: usize = 140;
const LINES_MAX: usize = 600;

/// Paths of one machine. They mean nothing on another.
const MACHINE: &[(&str, &str)] = &[("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/")];

/// A file of the package: its path from the root, its text.
struct File {
    path: String,
    text: String,
}

impl File {
    fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.starts_with("benches/")
            || self.path.contains("/tests/")
            || self.path.ends_with("tests.rs")
    }

    fn at(&self, byte: usize) -> String {
        format!("{}:{}", self.path, self.text[..byte].matches('\n').count() + 1)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every text file of the package; `target*` and `.git` are not of it.
fn package() -> Vec<File> {
    let mut files = Vec::new();
    let mut dirs: Vec<PathBuf> = vec![root().to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name == ".git" || name.starts_with("target") || path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                dirs.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                files.push(File { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn rust() -> Vec<File> {
    package()
        .into_iter()
        .filter(|f| Path::new(&f.path).extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// The text with comments and what stands in quotes blanked, byte for byte.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut i = 0;
    while i < bytes.len() {
        let end = skip(bytes, i);
        for byte in &mut code[i..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        i = end.max(i + 1);
    }
    String::from_utf8(code).expect("blanked whole, at ASCII boundaries")
}

/// The end of the comment or quotation that begins at `i`; `i` itself where none does.
fn skip(bytes: &[u8], i: usize) -> usize {
    let rest = &bytes[i..];
    let find = |needle: &[u8], from: usize| {
        rest[from..].windows(needle.len()).position(|w| w == needle).map(|p| from + p)
    };
    let word_before = i > 0 && (bytes[i - 1].is_ascii_alphanumeric() || bytes[i - 1] == b'_');
    let len = if rest.starts_with(b"//") {
        find(b"\n", 0).unwrap_or(rest.len())
    } else if rest.starts_with(b"/*") {
        find(b"*/", 2).map_or(rest.len(), |p| p + 2)
    } else if !word_before && (rest.starts_with(b"r\"") || rest.starts_with(b"r#")) {
        let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
        if rest.get(1 + hashes) != Some(&b'"') {
            return i;
        }
        let close = [b"\"".as_slice(), &rest[1..=hashes]].concat();
        find(&close, 2 + hashes).map_or(rest.len(), |p| p + close.len())
    } else if rest[0] == b'"' {
        let mut at = 1;
        while at < rest.len() && rest[at] != b'"' {
            at += if rest[at] == b'\\' { 2 } else { 1 };
        }
        (at + 1).min(rest.len())
    } else if rest.starts_with(b"'\\") {
        find(b"'", 3).map_or(0, |p| p + 1)
    } else if rest[0] == b'\'' && rest.get(2) == Some(&b'\'') {
        3
    } else {
        0
    };
    i + len
}

/// Code without its tests: up to the first test module that is written in the file itself.
fn product_of(code: &str) -> &str {
    let marker = "#[cfg(test)]\nmod ";
    let inline = code.match_indices(marker).find(|(at, _)| {
        let rest = &code[at + marker.len()..];
        rest.find(['{', ';']).is_some_and(|end| rest.as_bytes()[end] == b'{')
    });
    inline.map_or(code, |(at, _)| &code[..at])
}

/// The names that follow each `prefix` in code, with their place; `{a, b::c}` gives a and b.
fn names_after(code: &str, prefix: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push((at, word(rest).to_owned()));
            continue;
        };
        let mut depth = 0;
        let mut fresh = true;
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => fresh = true,
                c if fresh && (c.is_alphanumeric() || c == '_') => {
                    names.push((at, word(&group[i..]).to_owned()));
                    fresh = false;
                }
                _ => {}
            }
        }
    }
    names
}

fn word(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// Imports that go up or sideways.
fn check_floors(file: &File) -> Vec<String> {
    let Some(inside) = file.path.strip_prefix("src/") else { return Vec::new() };
    let floor = word(inside);
    let Some((_, below)) = FLOORS.iter().find(|(name, _)| *name == floor) else {
        return match floor {
            "main" | "lib" => Vec::new(),
            _ => vec![format!("{}: is on no floor; DESIGN §6 draws them", file.path)],
        };
    };
    let code = code_of(&file.text);
    let mut found = Vec::new();
    for (at, name) in names_after(&code, "crate::") {
        let is_floor = FLOORS.iter().any(|(floor, _)| *floor == name);
        if is_floor && name != floor && !below.contains(&name.as_str()) {
            found.push(format!("{}: {floor} may not import {name}", file.at(at)));
        }
    }
    found
}

/// Where a crate is used in code: `name::`, `use name;`, not as part of a longer path.
fn uses_of(code: &str, name: &str) -> Vec<usize> {
    let ident = name.replace('-', "_");
    let uses = code.match_indices(&ident).filter(|(at, _)| {
        let before = &code[..*at];
        let after = &code[at + ident.len()..];
        let apart = !before.ends_with(|c: char| c.is_alphanumeric() || "_:.".contains(c));
        let imported = before.ends_with("use ") && after.starts_with([';', ' ']);
        apart && (after.starts_with("::") || imported)
    });
    uses.map(|(at, _)| at).collect()
}

/// Outside crates away from home.
fn check_homes(file: &File) -> Vec<String> {
    if !file.path.starts_with("src/") {
        return Vec::new();
    }
    let code = code_of(&file.text);
    let mut found = Vec::new();
    for (name, homes) in HOMES {
        if homes.iter().any(|home| file.path.starts_with(home)) {
            continue;
        }
        for at in uses_of(&code, name) {
            found.push(format!("{}: {name} is used in {} only", file.at(at), homes.join(", ")));
        }
    }
    found
}

/// Dependencies without a home, homes without a dependency, dependencies nobody uses.
fn check_dependencies(manifest: &str, files: &[File]) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let declared: BTreeSet<&str> =
        manifest["dependencies"].as_table().unwrap().keys().map(String::as_str).collect();
    let housed: BTreeSet<&str> = HOMES.iter().map(|(name, _)| *name).collect();
    let mut found: Vec<String> = Vec::new();
    for name in declared.difference(&housed) {
        found.push(format!("Cargo.toml: {name} has no home; give it one in tests/tidy.rs"));
    }
    for name in housed.difference(&declared) {
        found.push(format!("tests/tidy.rs: {name} has a home and is no dependency"));
    }
    let in_src = files.iter().filter(|f| f.path.starts_with("src/"));
    let sources: Vec<String> = in_src.map(|f| code_of(&f.text)).collect();
    for name in declared.intersection(&housed) {
        let used = sources.iter().any(|code| !uses_of(code, name).is_empty());
        if !used {
            found.push(format!("Cargo.toml: {name} is used nowhere"));
        }
    }
    found
}

/// Banned words.
fn check_words(file: &File) -> Vec<String> {
    let code = code_of(&file.text);
    let product =
        if file.path.starts_with("src/") && !file.is_test() { product_of(&code) } else { "" };
    let mut found = Vec::new();
    let rows = BANNED.iter().map(|row| (code.as_str(), row));
    let rows = rows.chain(BANNED_IN_PRODUCT.iter().map(|row| (product, row)));
    for (text, (head, tail, instead)) in rows.chain([(file.text.as_str(), &SHOUT)]) {
        for (at, word) in text.match_indices(&[*head, *tail].concat()) {
            found.push(format!("{}: `{word}`; write: {instead}", file.at(at)));
        }
    }
    found
}

/// Long lines, long files, a file that does not say what it is.
fn check_shape(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    if !file.text.starts_with("//!") {
        found.push(format!("{}: open it with //! what it is, what always holds", file.path));
    }
    let lines = file.text.lines().count();
    if lines > LINES_MAX {
        found.push(format!("{}: {lines} lines; at most {LINES_MAX}, one idea", file.path));
    }
    let product_lines = product_of(&file.text).lines().count();
    for (i, line) in file.text.lines().enumerate() {
        // An expected text in a test stands as it is printed; a message elsewhere may run on a
        // little, because a broken one cannot be searched for.
        let in_test = file.is_test() || i >= product_lines;
        let text = line.contains('"');
        let columns = line.chars().count();
        let most = if text { COLUMNS_OF_TEXT_MAX } else { COLUMNS_MAX };
        if columns > most && !(in_test && text) {
            found.push(format!("{}:{}: {columns} columns of {COLUMNS_MAX}", file.path, i + 1));
        }
    }
    found
}

/// Paths of one machine.
fn check_paths(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (head, tail) in MACHINE {
        let path = [*head, *tail].concat();
        for (at, _) in file.text.match_indices(&path) {
            let before = &file.text[..at];
            if !before.ends_with(|c: char| c.is_alphanumeric() || "_.-".contains(c)) {
                found.push(format!("{}: {path} is a path of one machine", file.at(at)));
            }
        }
    }
    found
}

fn none(found: &[String]) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

fn everywhere(files: &[File], check: fn(&File) -> Vec<String>) {
    assert!(files.len() > 10, "only {} files found", files.len());
    none(&files.iter().flat_map(check).collect::<Vec<_>>());
}

#[test]
fn imports_go_down_only() {
    everywhere(&rust(), check_floors);
}

#[test]
fn each_outside_crate_stays_at_home() {
    everywhere(&rust(), check_homes);
}

#[test]
fn dependencies_are_used_and_housed() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    none(&check_dependencies(&manifest, &rust()));
}

#[test]
fn no_banned_words() {
    everywhere(&rust(), check_words);
}

#[test]
fn files_have_their_shape() {
    everywhere(&rust(), check_shape);
}

#[test]
fn no_path_of_one_machine() {
    everywhere(&package(), check_paths);
}

/// A rule finds this many things wrong with a small file.
fn check(rule: fn(&File) -> Vec<String>, path: &str, text: &str, bad: usize) {
    let file = File { path: path.to_owned(), text: text.to_owned() };
    let found = rule(&file);
    assert_eq!(found.len(), bad, "{path}: {text:?}: {found:?}");
}

#[test]
fn the_floor_rule_can_fail() {
    for (path, text, bad) in [
        ("src/logic/a.rs", "use crate::store::Store;", 1),
        ("src/logic/a.rs", "use crate::{units::Span, edge};", 1),
        ("src/logic/a.rs", "use crate::{logic::{edge, store}, units};", 0),
        ("src/logic/a.rs", "fn f() { crate::cli::main() }", 1),
        ("src/logic/a.rs", "// crate::store\nlet a = \"crate::store\";", 0),
        ("src/store/a.rs", "use crate::edge::clock;", 1),
        ("src/edge/a.rs", "use crate::store;", 1),
        ("src/daemon/a.rs", "use crate::{edge, store, logic, units};", 0),
        ("src/daemon.rs", "use crate::cli;", 1),
        ("src/units.rs", "use crate::logic;", 1),
        ("src/cli/a.rs", "use crate::daemon;", 0),
        ("src/attic/a.rs", "", 1),
    ] {
        check(check_floors, path, text, bad);
    }
}

#[test]
fn the_home_rule_can_fail() {
    for (path, text, bad) in [
        ("src/logic/a.rs", "use rusqlite::Connection;", 1),
        ("src/store/a.rs", "use rusqlite::Connection;", 0),
        ("src/logic/a.rs", "fn f() -> tokio_serial::Result<()>", 1),
        ("src/logic/a.rs", "tracing::info!(x)", 1),
        ("src/edge/a.rs", "use super::nmea::x; crate::logic::csv::y; my_toml::z", 0),
        ("src/edge/a.rs", "// toml::x\n/* toml::x */ r#\"toml::x\"# \"\\\"toml::x\" '\"' ", 0),
        ("src/edge/a.rs", "r#\"toml::x\"# \"\\\"toml::x\" '\"' toml::x", 1),
        ("src/edge/a.rs", "fn f<'a>(x: &'a str) -> &'a toml::X", 1),
        ("src/cli/a.rs", "use clap;", 0),
        ("src/edge/a.rs", "use clap;", 1),
    ] {
        check(check_homes, path, text, bad);
    }
}

#[test]
fn the_dependency_rule_can_fail() {
    let name_used = |name: &str| format!("use {}::x;\n", name.replace('-', "_"));
    let named = |name: &str| format!("{name} = \"1\"\n");
    let all = HOMES.iter().map(|(name, _)| named(name)).collect::<Vec<_>>().concat();
    let used = HOMES.iter().map(|(name, _)| name_used(name)).collect::<Vec<_>>().concat();
    let files = |text: &str| vec![File { path: "src/a.rs".into(), text: text.into() }];
    let check = |deps: &str, text: &str, expected: &[&str]| {
        let found = check_dependencies(&format!("[dependencies]\n{deps}"), &files(text));
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    };
    check(&all, &used, &[]);
    check(&format!("{all}left-pad = \"1\"\n"), &used, &["left-pad has no home"]);
    check(&all.replace("serde = \"1\"\n", ""), &used, &["serde has a home"]);
    check(&all, &used.replace("use serde::x;\n", ""), &["serde is used nowhere"]);
}

#[test]
fn the_word_rule_can_fail() {
    for (head, tail, _) in BANNED {
        check(check_words, "tests/a.rs", &format!("fn f() {{ {head}{tail} }}"), 1);
        check(check_words, "tests/a.rs", &format!("// {head}{tail}"), 0);
    }
    for (head, tail, _) in BANNED_IN_PRODUCT {
        let code = format!("fn f() {{ x; {head}{tail} }}");
        check(check_words, "src/a.rs", &code, 1);
        check(check_words, "tests/a.rs", &code, 0);
        check(check_words, "src/a/tests.rs", &code, 0);
        check(check_words, "src/a.rs", &format!("#[cfg(test)]\nmod tests {{ {code} }}"), 0);
        check(check_words, "src/a.rs", &format!("#[cfg(test)]\nmod tests;\n{code}"), 1);
    }
    check(check_words, "src/a.rs", &format!("// {}{} later", SHOUT.0, SHOUT.1), 1);
}

#[test]
fn the_shape_rule_can_fail() {
    let wide = "x".repeat(101);
    for (path, text, bad) in [
        ("src/a.rs", "//! a\n".to_owned(), 0),
        ("src/a.rs", "// a\n".to_owned(), 1),
        ("src/a.rs", format!("//! a\n{wide}"), 1),
        ("src/a.rs", format!("//! a\n\"{wide}\""), 0),
        ("src/a.rs", format!("//! a\n\"{wide}{wide}\""), 1),
        ("src/a.rs", format!("//! a\n#[cfg(test)]\nmod tests {{\n\"{wide}\""), 0),
        ("tests/a.rs", format!("//! a\n{wide}"), 1),
        ("tests/a.rs", format!("//! a\n\"{wide}\""), 0),
        ("tests/a.rs", "//! a\n".repeat(601), 1),
    ] {
        check(check_shape, path, &text, bad);
    }
}

#[test]
fn the_path_rule_can_fail() {
    for (head, tail) in MACHINE {
        check(check_paths, "README.md", &format!("see {head}{tail}x"), 1);
        check(check_paths, "README.md", &format!("see target{head}{tail}x"), 0);
    }
}
