//! Inside a room: no files import each other in a circle, and every type has a name of its own.

use super::{CRATES, code, is_test, members, sources};
use std::collections::{BTreeMap, BTreeSet};

/// Type names that still mean several things. None may be added.
const KNOWN_NAMES: [&str; 0] = [];

/// The path of the module that a file is, from the top of the crate.
fn module(file: &str) -> Vec<&str> {
    file.trim_end_matches(".rs")
        .split('/')
        .filter(|part| !["mod", "lib", "main"].contains(part))
        .collect()
}

/// Whether a room is a crate of its own.
fn is_crate(room: &str) -> bool {
    let is_part = CRATES.iter().any(|(_, rooms)| rooms.contains(&room));
    room != "cli" && room != "room" && !is_part
}

/// The paths that a text of code begins with, given without `use`: groups are taken apart.
fn paths(text: &str) -> Vec<Vec<&str>> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        return members(group).into_iter().flat_map(paths).collect();
    }
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    match rest.strip_prefix("::") {
        Some(rest) => paths(rest)
            .into_iter()
            .map(|path| [&[first], path.as_slice()].concat())
            .collect(),
        None => vec![vec![first]],
    }
}

/// The files of the own room that a file names by `crate::`, `self::` or `super::`, each the deepest on
/// its path. A file that opens a directory stands for the room, and is left out.
fn imports<'f>(
    file: &str,
    code: &str,
    modules: &BTreeMap<Vec<&'f str>, &'f str>,
) -> BTreeSet<&'f str> {
    let own = module(file);
    let starts = ["crate::", "self::", "super::"]
        .into_iter()
        .flat_map(|word| code.match_indices(word));
    let starts = starts.filter(|(at, _)| {
        !code[..*at]
            .ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':')
    });
    let mut found = BTreeSet::new();
    for path in starts.flat_map(|(at, _)| paths(&code[at..])) {
        let mut at: Vec<&str> = match path[0] {
            "crate" if is_crate(own[0]) => vec![own[0]],
            "crate" => Vec::new(),
            _ => own.clone(),
        };
        for part in path
            .into_iter()
            .filter(|part| !["crate", "self"].contains(part))
        {
            if part == "super" {
                at.pop();
                continue;
            }
            at.push(part);
            if !modules.contains_key(&at) {
                at.pop();
                break;
            }
        }
        let is_facade = modules
            .keys()
            .any(|module| module.len() > at.len() && module.starts_with(&at));
        let is_sibling = at.first() == own.first() && at != own && !is_facade;
        found.extend(modules.get(&at).filter(|_| is_sibling).copied());
    }
    found
}

/// Who imports whom, over every file that is not a test and does not open a directory.
fn arrows(files: &[(String, String)]) -> BTreeMap<&str, BTreeSet<&str>> {
    let modules: BTreeMap<Vec<&str>, &str> = files
        .iter()
        .map(|(name, _)| (module(name), name.as_str()))
        .collect();
    files
        .iter()
        .map(|(name, code)| (name.as_str(), imports(name, code, &modules)))
        .collect()
}

/// Everything that can be reached from a file.
fn reached<'f>(from: &'f str, arrows: &BTreeMap<&'f str, BTreeSet<&'f str>>) -> BTreeSet<&'f str> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        open.extend(
            arrows
                .get(at)
                .into_iter()
                .flatten()
                .copied()
                .filter(|next| found.insert(*next)),
        );
    }
    found
}

/// The circles: files that reach each other, each circle once and in order.
fn circles<'f>(arrows: &BTreeMap<&'f str, BTreeSet<&'f str>>) -> BTreeSet<Vec<&'f str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = arrows
        .keys()
        .map(|file| (*file, reached(file, arrows)))
        .collect();
    let in_circle = arrows.keys().filter(|file| reach[*file].contains(*file));
    in_circle
        .map(|file| {
            reach[file]
                .iter()
                .filter(|other| reach[*other].contains(file))
                .copied()
                .collect()
        })
        .collect()
}

fn files() -> Vec<(String, String)> {
    let all = sources().into_iter().filter(|(name, ..)| !is_test(name));
    all.map(|(name, _, text)| (name, code(&text))).collect()
}

#[test]
fn files_of_a_room_do_not_import_each_other_in_a_circle() {
    let files = files();
    let arrows = arrows(&files);
    assert!(
        arrows.values().any(|targets| !targets.is_empty()),
        "no import is seen at all"
    );
    let circles = circles(&arrows);
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn circles_are_seen_in_every_form() {
    for (a, b, expected) in [
        ("use super::b::B;", "use super::a::A;", true),
        ("use super::{b, c};", "fn f() { super::a::f() }", true),
        (
            "use super::{\n    b::{self, B},\n};",
            "use crate::room::a::A;",
            true,
        ),
        ("use crate::{base::X, room::b::B};", "use super::a;", true),
        ("use super::b::B;", "use super::A;", false),
        ("use super::b::B;", "use super::c::C;", false),
        ("use super::b::B;", "use other_crate::a::A;", false),
    ] {
        let names = [
            "room/mod.rs",
            "room/a.rs",
            "room/b.rs",
            "room/c.rs",
            "base/mod.rs",
        ];
        let codes = ["pub use a::A;", a, b, "", ""];
        let files: Vec<_> = names
            .iter()
            .zip(codes)
            .map(|(name, code)| ((*name).to_owned(), code.to_owned()))
            .collect();
        let found = circles(&arrows(&files));
        assert_eq!(
            found.contains(&vec!["room/a.rs", "room/b.rs"]),
            expected,
            "{a} | {b}"
        );
    }
}

/// The types that a file declares at its top level, by itself or by one of our macros.
fn types(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_macro = false;
    for line in code.lines() {
        if !line.starts_with([' ', '}', ')']) {
            in_macro = line.ends_with("! {") || line.ends_with("!(");
        }
        let line = line
            .strip_prefix("    ")
            .filter(|_| in_macro)
            .unwrap_or(line);
        found.extend(declared(line, in_macro));
    }
    found
}

/// The type that a line declares: `pub enum NAME`, and in a macro `NAME {` or `NAME, "` too.
fn declared(line: &str, in_macro: bool) -> Option<&str> {
    let bare = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let end = |text: &str| {
        text.find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len())
    };
    for keyword in ["struct ", "enum ", "trait ", "type ", "union "] {
        if let Some(rest) = bare.strip_prefix(keyword) {
            return Some(&rest[..end(rest)]);
        }
    }
    let (name, rest) = line.split_at(end(line));
    let is_named =
        name.starts_with(char::is_uppercase) && (rest == " {" || rest.starts_with(", \""));
    (in_macro && is_named).then_some(name)
}

#[test]
fn a_type_name_is_used_once() {
    let files = files();
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, code) in &files {
        types(code)
            .into_iter()
            .for_each(|declared| homes.entry(declared).or_default().push(name));
    }
    for present in [
        "PhaseId",
        "Ending",
        "Diagnostic",
        "TomlDialect",
        "GeneratedFiles",
    ] {
        assert!(homes.contains_key(present), "{present} is not seen");
    }
    homes.retain(|_, homes| homes.len() > 1);
    let new: Vec<_> = homes
        .iter()
        .filter(|(name, _)| !KNOWN_NAMES.contains(name))
        .collect();
    let gone: Vec<_> = KNOWN_NAMES
        .iter()
        .filter(|name| !homes.contains_key(*name))
        .collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "new: {new:#?}\nto be taken out of KNOWN_NAMES: {gone:#?}"
    );
}
