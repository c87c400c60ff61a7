//! The invariants of ARCHITECTURE.md, held by reading the source.

mod count;
mod files;
mod licences;

use crate::harness::project;
use orch_base::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates of more than one room, with their rooms, lowest first: each may import only those before it. Cargo holds
/// the crates in their order.
const CRATES: [(&str, &[&str]); 3] = [
    ("core", &["workflow", "decide", "record", "trial", "config"]),
    (
        "engine",
        &[
            "watch", "run", "verify", "trial", "survey", "history", "apply", "drive", "notices",
            "gather",
        ],
    ),
    ("serve", &["mcp", "http"]),
];

/// Rooms that lie side by side: neither imports the other.
const APART: [(&str, &str); 1] = [("apply", "history")];

/// The rooms that only compute.
const PURE: [&str; 8] = [
    "base", "core", "workflow", "scaffold", "decide", "record", "config", "view",
];

/// Names of the outside world that a pure room never says.
const OUTSIDE: [&str; 13] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::time",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "std::io",
    "println!",
    "eprintln!",
    "tempfile",
    "tracing",
];

fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path))
        } else {
            found.push(path)
        }
    }
    found.sort();
    found
}

/// Every Rust file of the workspace: its path from its room on (`git/objects.rs`), its room (`""` at the top), its text.
fn sources() -> Vec<(String, String, String)> {
    let mut found = sources_below(&project().join("src"), "");
    let crates = fs::read_dir(project().join("crates")).expect("crates");
    for entry in crates.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        found.extend(sources_below(&entry.path().join("src"), &name));
    }
    found.sort();
    found
}

/// The same for the crate of this name.
fn sources_below(root: &Path, name: &str) -> Vec<(String, String, String)> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let mut found = Vec::new();
    for path in files(root).into_iter().filter(is_rust) {
        let text = fs::read_to_string(&path).expect("readable");
        let below = path.strip_prefix(root).expect("inside");
        let below = below.to_string_lossy().into_owned();
        let is_in_room = is_of_rooms(name) && below.contains('/');
        let from_room = if name.is_empty() || is_in_room {
            below
        } else {
            format!("{name}/{below}")
        };
        let room = from_room.split_once('/').map_or("", |(room, _)| room);
        found.push((from_room.clone(), room.to_owned(), text));
    }
    found
}

/// Whether the crate of this name consists of several rooms; the binary is one too.
fn is_of_rooms(name: &str) -> bool {
    name.is_empty() || CRATES.iter().any(|(of_rooms, _)| *of_rooms == name)
}

/// The code of a file: no comments, and nothing from the test module on.
fn code(text: &str) -> String {
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_test(name: &str) -> bool {
    name.ends_with("tests.rs") || name.contains("/tests/")
}

/// The names at the top of the crate that a file reaches, by `crate::` or by enough `super::`.
fn reached(name: &str, code: &str) -> Vec<String> {
    let depth = name
        .trim_end_matches(".rs")
        .split('/')
        .filter(|part| *part != "mod")
        .count();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let from_crate = code
        .match_indices("crate::")
        .filter(|(at, _)| !code[..*at].ends_with(is_word))
        .map(|(at, found)| at + found.len());
    let supers = code
        .match_indices("super::")
        .filter(|(at, _)| !code[..*at].ends_with("super::"));
    let from_super = supers.filter_map(|(at, _)| {
        let rest = code[at..].trim_start_matches("super::");
        let end = code.len() - rest.len();
        ((end - at) / "super::".len() >= depth).then_some(end)
    });
    let word = |text: &str| {
        text.trim_start()
            .chars()
            .take_while(|c| is_word(*c))
            .collect::<String>()
    };
    let named = from_crate
        .chain(from_super)
        .flat_map(|at| match code[at..].strip_prefix('{') {
            Some(group) => members(group).into_iter().map(word).collect(),
            None => vec![word(&code[at..])],
        });
    named.collect()
}

/// The members of a group of imports, given the text after its opening brace.
fn members(group: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.push(&group[start..at]);
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn imports_are_seen_in_every_form() {
    for (name, code, expected) in [
        ("read/source.rs", "use crate::store::Store;", &["store"][..]),
        ("read/source.rs", "use crate::cli;", &["cli"]),
        (
            "read/source.rs",
            "crate::engine::Workspace::open()",
            &["engine"],
        ),
        (
            "read/source.rs",
            "use crate::{base::RepoPath, cli::{ui, args}, store};",
            &["base", "cli", "store"],
        ),
        (
            "read/source.rs",
            "use crate::{\n    base,\n    engine::Workspace,\n};",
            &["base", "engine", ""],
        ),
        ("read/source.rs", "use super::{span, schema};", &[]),
        (
            "read/source.rs",
            "use super::super::store::Store;",
            &["store"],
        ),
        (
            "read/source.rs",
            "use super::super::{cli, store::Store};",
            &["cli", "store"],
        ),
        ("read/read/json.rs", "use super::super::span;", &[]),
        (
            "read/read/json.rs",
            "use super::super::super::store;",
            &["store"],
        ),
        ("read/read/mod.rs", "use super::super::store;", &["store"]),
        ("read/mod.rs", "pub use super::store;", &["store"]),
        ("read/mod.rs", "othercrate::store", &[]),
    ] {
        assert_eq!(reached(name, code), expected, "{name}: {code}");
    }
}

#[test]
fn imports_go_one_way() {
    let mut wrong = Vec::new();
    for (name, room, text) in sources() {
        let rooms = CRATES.iter().map(|(_, rooms)| *rooms);
        let mut with_own = rooms.filter(|rooms| rooms.contains(&room.as_str()));
        let Some(rooms) = with_own.next() else {
            continue;
        };
        let own = rooms.iter().position(|known| *known == room);
        let reached = reached(&name, &code(&text));
        let is_reached = |other: &str| reached.iter().any(|room| room == other);
        for above in rooms.iter().skip(own.unwrap_or(0) + 1) {
            if is_reached(above) {
                wrong.push(format!("{name} imports {above}"));
            }
        }
        for (one, other) in APART {
            if one == room && is_reached(other) {
                wrong.push(format!("{name} imports {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_environment_and_the_clock_have_one_door_each() {
    let mut wrong = Vec::new();
    for (name, _, text) in sources().into_iter().filter(|(name, ..)| !is_test(name)) {
        let code = code(&text);
        for (words, door) in [
            (&["env::var(", "env::var_os", "env::args"][..], "main.rs"),
            (
                &["SystemTime::now", "Timestamp::now", "Zoned::now"],
                "survey/caller.rs",
            ),
        ] {
            let named = words.iter().filter(|word| code.contains(**word));
            if name != door {
                wrong.extend(named.map(|word| format!("{name}: {word} belongs to {door}")));
            } else {
                assert!(named.count() > 0, "{door} is not a door any more");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_room_is_known() {
    let sources = sources();
    let of_crates = CRATES.iter().flat_map(|(_, rooms)| rooms.iter().copied());
    for known in of_crates.chain(PURE) {
        assert!(
            sources.iter().any(|(_, room, _)| room == known),
            "there is no room {known}"
        );
    }
}

#[test]
fn pure_rooms_do_not_touch_the_world() {
    let mut wrong = Vec::new();
    for (name, room, text) in sources().into_iter().filter(|(name, ..)| !is_test(name)) {
        if PURE.contains(&room.as_str()) {
            let code = code(&text);
            wrong.extend(
                OUTSIDE
                    .iter()
                    .filter(|word| code.contains(**word))
                    .map(|word| format!("{name}: {word}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_library_has_one_home() {
    // Cargo says which crate may name what; here is what belongs to one part of a crate.
    let homes = [
        ("notify", "watch/"),
        ("jsonschema", "read/schema/"),
        ("cel", "workflow/guard/"),
        ("regex", "workflow/guard/"),
        ("regex_syntax", "workflow/guard/"),
        ("libc", "files/regular.rs"),
        (
            "rustix::fs",
            "files/directory.rs files/stamp.rs run/fence/inside.rs",
        ),
        ("rustix::mount", "run/fence/"),
        ("rustix::event", "run/ cli/keyboard.rs"),
        ("rustix::termios", "cli/keyboard.rs"),
        ("tracing_subscriber", "cli/logging.rs"),
        ("reedline", "cli/commands/repl/"),
        ("rmcp", "mcp/"),
        ("tokio", "mcp/ http/ serve/queue.rs loops/ fleet/nats/"),
        ("async_nats", "fleet/nats/"),
        ("futures_util", "fleet/nats/"),
        ("axum", "http/ loops/"),
        ("hyper", "http/"),
        ("hyper_util", "http/"),
        ("getrandom", "fleet/random.rs"),
        ("jsonc_parser", "cli/commands/init/"),
        ("maud", "view/html/"),
        ("ureq", "notices/webhook.rs"),
        ("hmac", "notices/webhook.rs"),
    ];
    let mut wrong = Vec::new();
    let mut used = Vec::new();
    for (name, _, text) in sources() {
        let code = code(&text);
        for (library, home) in homes
            .iter()
            .filter(|(library, _)| code.contains(&format!("{library}::")))
        {
            used.push(*library);
            if !home.split(' ').any(|home| name.starts_with(home)) {
                wrong.push(format!("{name} names {library}"));
            }
        }
    }
    wrong.extend(
        homes
            .iter()
            .filter(|home| !used.contains(&home.0))
            .map(|home| format!("{home:?} is not a home")),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_id_of_libgit2_is_a_key() {
    // Two that are equal may have different hashes: what follows the 20 bytes of a SHA-1 is hashed, too.
    for (name, _, text) in sources() {
        let code = code(&text);
        for map in ["HashMap<Oid", "HashSet<Oid"] {
            assert!(!code.contains(map), "{name} has a {map}>: use a Digest");
        }
    }
}

#[test]
fn unsafe_code_is_in_two_files() {
    let mut found = Vec::new();
    for (name, _, text) in sources() {
        for _ in code(&text).matches("unsafe ") {
            assert!(
                text.contains("    // SAFETY: "),
                "{name} says why it is sound"
            );
            found.push(name.clone());
        }
    }
    let many = |name: &str| found.iter().filter(|found| *found == name).count();
    let counts = ["run/child_process.rs", "git/environment.rs"].map(many);
    assert_eq!((counts, found.len()), ([1, 2], 3), "{found:?}");
}

#[test]
fn only_the_printer_prints() {
    for (name, _, text) in sources() {
        let code = code(&text);
        for word in [
            "println!",
            "eprintln!",
            "print!",
            "eprint!",
            "io::stdout",
            "io::stderr",
        ] {
            assert!(
                name == "cli/ui.rs" || !code.contains(word),
                "{name} prints with {word}"
            );
        }
    }
}

#[test]
fn every_file_says_what_lives_there() {
    for (name, _, text) in sources() {
        if name != "workflow/shipped.rs" {
            assert!(
                text.starts_with("//! "),
                "{name} opens without a `//!` line"
            );
        }
    }
}

#[test]
fn files_stay_small() {
    // A table is as long as what it lists.
    for (name, _, text) in sources()
        .into_iter()
        .filter(|(name, ..)| name != "base/code/table.rs")
    {
        let lines = code(&text).lines().count();
        assert!(lines <= 900, "{name} has {lines} lines of code");
    }
}

/// The most methods that a type may have of its own: a type with more is several.
const MOST_METHODS: usize = 40;

#[test]
fn no_type_has_too_many_methods() {
    let mut counted: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (name, room, text) in sources() {
        if is_test(&name) {
            continue;
        }
        for (owner, methods) in methods_of(&code(&text)) {
            *counted.entry((room.clone(), owner)).or_default() += methods;
        }
    }
    for ((room, owner), methods) in &counted {
        assert!(
            *methods <= MOST_METHODS,
            "`{owner}` in `{room}` has {methods} methods, and may have {MOST_METHODS}: hand out a part of it"
        );
    }
}

/// The types with methods of their own in this code, each with their number; once for each of its blocks.
fn methods_of(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        let indent = &line[..line.len() - start.len()];
        if !start.starts_with("impl<") && !start.starts_with("impl ") {
            continue;
        }
        let mut header = start.to_owned();
        while !header.ends_with('{') && !header.ends_with('}') {
            let Some(next) = lines.next() else { break };
            header.push(' ');
            header.push_str(next.trim());
        }
        let Some(owner) = owner_of(&header) else {
            continue;
        };
        let end = format!("{indent}}}");
        let inside = format!("{indent}    ");
        let block = lines.by_ref().take_while(|line| *line != end);
        let methods = block.filter(|line| line.strip_prefix(&inside).is_some_and(begins_function));
        found.push((owner, methods.count()));
    }
    found
}

/// The type that a block of methods is for, given the first line of the block; `None` if it implements a trait.
fn owner_of(header: &str) -> Option<String> {
    let mut rest = header.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0_usize;
        let end = rest.char_indices().find(|(at, letter)| {
            match letter {
                '<' => depth += 1,
                '>' if !rest[..*at].ends_with('-') => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        rest = &rest[end?.0 + 1..];
    }
    let subject = rest.split(" where ").next().unwrap_or_default();
    if subject.contains(" for ") {
        return None;
    }
    let path = subject.split(['<', '{']).next().unwrap_or_default().trim();
    path.rsplit("::").next().map(str::to_owned)
}

/// Whether a line of a block begins a function: it is not indented further than the items of the block.
fn begins_function(item: &str) -> bool {
    let words = item.split(['(', '<']).next().unwrap_or_default();
    let is_item = !item.starts_with([' ', '}', '/', '#', ')']);
    is_item && (words.starts_with("fn ") || words.contains(" fn ") || item.contains(") fn "))
}

#[test]
fn methods_are_counted_in_every_form_of_a_block() {
    let code = "\
impl<'a, F: Fn(u8) -> u8> Holder<'a, F>
where
    F: Send,
{
    pub(crate) fn one(&self) {}

    const fn two() {
        let fn_like = 1;
    }
}
impl Display for Holder<'_> {
    fn fmt(&self) {}
}
impl super::Holder<u8> {
    fn three<T: Fn()>(
        &self,
    ) {
        fn inner() {}
    }
}
mod inside {
    impl Other {
        fn four() {}
    }
}
";
    let found: Vec<(String, usize)> = methods_of(code);
    let expected = [("Holder", 2), ("Holder", 1), ("Other", 1)];
    assert_eq!(
        found,
        expected.map(|(owner, methods)| (owner.to_owned(), methods))
    );
}

#[test]
fn everything_that_ships_is_in_the_binary() {
    let root = project().join("system");
    let listed = orch_core::workflow::System::shipped();
    for path in files(&root) {
        let name = path
            .strip_prefix(&root)
            .expect("inside")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).expect("readable");
        assert_eq!(
            listed.text(&name),
            Some(text.as_str()),
            "system/{name} is not shipped as it is"
        );
    }
    assert_eq!(
        listed.iter().count(),
        files(&root).len(),
        "something ships that is not under system/"
    );
}

#[test]
fn links_in_documents_lead_somewhere() {
    let root = project();
    let top = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let below = ["docs", "system", "crates", "findings"]
        .into_iter()
        .flat_map(|directory| files(&root.join(directory)));
    let mut wrong = Vec::new();
    for page in top
        .chain(below)
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
    {
        let text = fs::read_to_string(&page).expect("readable");
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if let Some(problem) = dead_link(&page, &text, link) {
                wrong.push(format!("{}: {problem}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is wrong with a link of a page: its file is not there, or has no such heading.
fn dead_link(page: &Path, text: &str, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = page.parent().expect("a directory").join(file);
    if !file.is_empty() && !target.exists() {
        return Some(format!("{link} leads nowhere"));
    }
    let there = if file.is_empty() {
        text.to_owned()
    } else {
        fs::read_to_string(target).unwrap_or_default()
    };
    let has = heading.is_empty()
        || there
            .lines()
            .any(|line| line.starts_with('#') && anchor(line) == heading);
    (!has).then(|| format!("{link}: no such heading"))
}

/// The name by which a heading is linked to: small letters, hyphens for spaces, no punctuation.
fn anchor(line: &str) -> String {
    let title = line.trim_start_matches('#').trim().to_lowercase();
    let kept = title
        .chars()
        .filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[test]
fn the_reference_is_what_the_program_says() {
    generated("docs/cli.md", &orch::cli::reference());
}

#[test]
fn the_page_of_codes_is_what_the_program_says() {
    generated("docs/codes.md", &orch::cli::codes());
}

#[cfg(feature = "api")]
#[test]
fn the_openapi_document_is_what_the_program_says() {
    generated("docs/openapi.json", &orch::cli::openapi());
}

#[cfg(all(feature = "api", feature = "mcp", feature = "repl"))]
#[test]
fn the_page_of_faces_is_what_the_program_says() {
    generated("docs/faces.md", &orch::cli::faces());
}

/// Words in place of a code: `error[…]` and `"code": "…"` in outputs, `` (`…`) `` is checked by hand.
fn codes_in(text: &str) -> BTreeSet<String> {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let mut found = BTreeSet::new();
    for (before, after) in [
        ("error[", "]"),
        ("warning[", "]"),
        ("note[", "]"),
        ("\"code\": \"", "\""),
        ("\"code\"], \"", "\""),
        ("\"ruleId\": \"", "\""),
    ] {
        let words = text
            .split(before)
            .skip(1)
            .filter_map(|rest| rest.split(after).next());
        found.extend(words.filter(|word| is_word(word)).map(str::to_owned));
    }
    found
}

#[test]
fn every_code_is_used_and_every_printed_code_exists() {
    let root = project();
    let mut used = BTreeSet::new();
    for (name, _, text) in sources()
        .iter()
        .filter(|(name, ..)| name != "base/code/table.rs")
    {
        let lives = if is_test(name) {
            String::new()
        } else {
            code(text)
        };
        let words = lives.split("Code::").skip(1).map(|rest| {
            rest.chars()
                .take_while(|letter| letter.is_alphanumeric())
                .collect::<String>()
        });
        used.extend(words);
    }
    let unused: Vec<&Code> = Code::ALL
        .iter()
        .filter(|code| !used.contains(&format!("{code:?}")))
        .collect();
    assert!(unused.is_empty(), "no code of src uses {unused:?}");

    let mut unknown = Vec::new();
    for place in ["src", "crates", "tests", "fixtures", "docs", "system"] {
        for path in files(&root.join(place))
            .into_iter()
            .chain([root.join("README.md")])
        {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let words = codes_in(&text)
                .into_iter()
                .filter(|word| Code::named(word).is_none());
            unknown.extend(words.map(|word| format!("{}: {word}", path.display())));
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn no_code_has_the_name_of_a_command() {
    // Else `orch help WORD` would have two answers.
    let reference = orch::cli::reference();
    let commands = reference
        .lines()
        .filter_map(|line| line.strip_prefix("## `orch ")?.strip_suffix('`'));
    let both: Vec<&str> = commands
        .filter(|name| Code::named(name).is_some())
        .collect();
    assert!(both.is_empty(), "{both:?}");
}

/// A generated document equals what the code generates; `UPDATE=1` writes it.
fn generated(path: &str, text: &str) {
    let target = project().join(path);
    if crate::setting::is_update() {
        fs::create_dir_all(target.parent().expect("a parent")).expect("a directory");
        fs::write(&target, text).expect("written");
    }
    let present = fs::read_to_string(&target).unwrap_or_default();
    assert!(
        present == text,
        "{path} is out of date; run UPDATE=1 cargo test --test it tidy"
    );
}
