//! The invariants of ARCHITECTURE.md, held by reading the source.

mod files;

use crate::harness::project;
use orch::base::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, lowest first: each may import only those before it.
const ROOMS: [&str; 17] = [
    "base", "workflow", "scaffold", "decide", "record", "config", "view", "scan", "store", "watch",
    "run", "survey", "history", "apply", "drive", "notices", "cli",
];

/// Rooms that lie side by side: neither imports the other.
const APART: [(&str, &str); 1] = [("apply", "history")];

/// The rooms that only compute.
const PURE: [&str; 7] = [
    "base", "workflow", "scaffold", "decide", "record", "config", "view",
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

/// Every Rust file of the library with its room (`""` at the top) and its text without tests.
fn sources() -> Vec<(String, String, String)> {
    let root = project().join("src");
    files(&root)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| {
            let name = path
                .strip_prefix(&root)
                .expect("inside")
                .to_string_lossy()
                .into_owned();
            let room = name.split_once('/').map_or("", |(room, _)| room).to_owned();
            let text = fs::read_to_string(&path).expect("readable");
            (name, room, text)
        })
        .collect()
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
        ("scan/source.rs", "use crate::store::Store;", &["store"][..]),
        ("scan/source.rs", "use crate::cli;", &["cli"]),
        (
            "scan/source.rs",
            "crate::engine::Workspace::open()",
            &["engine"],
        ),
        (
            "scan/source.rs",
            "use crate::{base::RepoPath, cli::{ui, args}, store};",
            &["base", "cli", "store"],
        ),
        (
            "scan/source.rs",
            "use crate::{\n    base,\n    engine::Workspace,\n};",
            &["base", "engine", ""],
        ),
        ("scan/source.rs", "use super::{span, schema};", &[]),
        (
            "scan/source.rs",
            "use super::super::store::Store;",
            &["store"],
        ),
        (
            "scan/source.rs",
            "use super::super::{cli, store::Store};",
            &["cli", "store"],
        ),
        ("scan/read/json.rs", "use super::super::span;", &[]),
        (
            "scan/read/json.rs",
            "use super::super::super::store;",
            &["store"],
        ),
        ("scan/read/mod.rs", "use super::super::store;", &["store"]),
        ("scan/mod.rs", "pub use super::store;", &["store"]),
        ("scan/mod.rs", "othercrate::store", &[]),
    ] {
        assert_eq!(reached(name, code), expected, "{name}: {code}");
    }
}

#[test]
fn imports_go_one_way() {
    let mut wrong = Vec::new();
    for (name, room, text) in sources() {
        let Some(own) = ROOMS.iter().position(|known| *known == room) else {
            continue;
        };
        let reached = reached(&name, &code(&text));
        let above = ROOMS[own + 1..]
            .iter()
            .filter(|above| reached.iter().any(|room| room == *above));
        wrong.extend(above.map(|above| format!("{name} imports {above}")));
        let apart = APART
            .iter()
            .filter(|(one, other)| *one == room && reached.iter().any(|room| room == other));
        wrong.extend(apart.map(|(_, other)| format!("{name} imports {other}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The types to which code adds inherent methods or functions.
fn extended(code: &str) -> Vec<String> {
    let is_first = |at: usize| {
        code[..at]
            .rsplit('\n')
            .next()
            .is_none_or(|line| line.trim().is_empty())
    };
    let heads = code.match_indices("impl").filter(|(at, _)| is_first(*at));
    let heads = heads.filter_map(|(at, found)| code[at + found.len()..].split('{').next());
    let named = heads.filter_map(|head| {
        let head = if head.starts_with('<') {
            after_generics(head)?
        } else {
            head
        };
        let is_inherent = head.starts_with(' ') && !format!("{head} ").contains(" for ");
        let path = head
            .trim()
            .trim_start_matches("dyn ")
            .split(['<', '\n'])
            .next()?;
        let name = path.rsplit("::").next()?.trim();
        let is_name =
            name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric);
        (is_inherent && is_name).then(|| name.to_owned())
    });
    named.collect()
}

/// What follows the parameters in angle brackets at the start of `head`.
fn after_generics(head: &str) -> Option<&str> {
    let mut depth = 0;
    let (end, _) = head.char_indices().find(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' if !head[..*at].ends_with('-') => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(&head[end + 1..])
}

/// The types that code declares, also within a macro.
fn declared(code: &str) -> BTreeSet<String> {
    let word = |rest: &str| {
        rest.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let kinds = ["struct ", "enum ", "trait "].into_iter();
    let named = kinds.flat_map(|kind| code.split(kind).skip(1).map(word));
    // `name!` declares the type whose name follows its comments.
    let first = |rest: &'_ str| {
        let mut lines = rest
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.starts_with("//"));
        lines.next().map(word).unwrap_or_default()
    };
    let made = code.split("\nname!(\n").skip(1).map(first);
    named.chain(made).collect()
}

/// The aliases that code declares, each with the words of the parameters that it gives to a type.
fn aliases(code: &str) -> Vec<(String, Vec<&str>)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for rest in code.split("type ").skip(1) {
        let Some((alias, meant)) = rest.split(';').next().and_then(|rest| rest.split_once('='))
        else {
            continue;
        };
        let Some((_, given)) = meant.split_once('<') else {
            continue;
        };
        let name = alias.chars().take_while(|c| is_word(*c)).collect();
        found.push((name, given.split(|c| !is_word(c)).collect()));
    }
    found
}

#[test]
fn additions_to_types_are_seen_in_every_form() {
    for (code, expected) in [
        ("impl Error {\n}", &["Error"][..]),
        (
            "}\n\nimpl<'a, F: Fn(&str) -> bool> crate::base::Error<'a, F> {",
            &["Error"],
        ),
        (
            "impl<D: Dialect> Reader<D>\nwhere\n    D: Copy,\n{",
            &["Reader"],
        ),
        ("impl dyn Source {", &["Source"]),
        ("impl From<io::Error> for Error {", &[]),
        ("impl<T> From<T>\n    for Error {", &[]),
        ("fn each(names: impl Iterator<Item = Name>) {", &[]),
    ] {
        assert_eq!(extended(code), expected, "{code}");
    }
}

#[test]
fn a_type_has_all_its_methods_in_the_room_that_declares_it() {
    let sources = sources();
    let mut types: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (_, room, text) in &sources {
        types.entry(room).or_default().extend(declared(text));
    }
    for (_, room, text) in &sources {
        // A type of another room with a parameter of this one is this one's own.
        let own = types.entry(room).or_default();
        let made = aliases(text)
            .into_iter()
            .filter(|(_, words)| words.iter().any(|word| own.contains(*word)));
        let made: Vec<String> = made.map(|(alias, _)| alias).collect();
        own.extend(made);
    }
    let mut wrong = Vec::new();
    for (name, room, text) in &sources {
        let strange = extended(&code(text))
            .into_iter()
            .filter(|found| !types[room.as_str()].contains(found));
        wrong.extend(strange.map(|found| format!("{name} adds to {found}")));
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
            // What a program inherits is passed on as a whole.
            (&["env::vars"], "run/grouped_start.rs"),
            (
                &["SystemTime::now", "Timestamp::now", "Zoned::now"],
                "survey/caller.rs",
            ),
        ] {
            let named = words.iter().filter(|word| code.contains(**word));
            if name != door {
                wrong.extend(named.map(|word| format!("{name}: {word} belongs to {door}")));
            } else {
                assert!(named.count() > 0, "{door} is no door any more");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_room_is_known() {
    let sources = sources();
    for (name, room, _) in &sources {
        assert!(
            room.is_empty() || ROOMS.contains(&room.as_str()),
            "{name} lies in no known room"
        );
    }
    let apart = APART.iter().flat_map(|(one, other)| [one, other]);
    for known in ROOMS.iter().chain(&PURE).chain(apart) {
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
fn each_crate_of_the_outside_has_one_home() {
    let homes = [
        ("git2", "store/"),
        ("flate2", "store/"),
        ("libdeflater", "store/deflate.rs"),
        ("memmap2", "store/file_bytes.rs store/mapped_file.rs"),
        ("notify", "watch/"),
        ("jsonschema", "scan/schema/"),
        ("cel", "workflow/guard/"),
        ("regex", "workflow/guard/"),
        ("libc", "run/grouped_start.rs scan/regular.rs"),
        ("rustix::fs", "scan/directory.rs scan/stamp.rs"),
        ("rustix::process", "run/ store/durable.rs"),
        ("rustix::event", "run/"),
        ("rustix::system", "store/gc.rs"),
        ("tracing_subscriber", "cli/logging.rs"),
        ("reedline", "cli/commands/repl/"),
        ("rmcp", "cli/commands/mcp/"),
        (
            "tokio",
            "cli/commands/mcp cli/commands/serve cli/remote/queue.rs",
        ),
        (
            "percent_encoding",
            "cli/commands/mcp/ cli/commands/serve/ scan/schema/ view/",
        ),
        ("axum", "cli/commands/serve/"),
        ("hyper", "cli/commands/serve/"),
        ("hyper_util", "cli/commands/serve/"),
        ("getrandom", "cli/random.rs"),
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
            .map(|home| format!("{home:?} is no home")),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn unsafe_code_is_in_three_files() {
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
    let counts = [
        "run/grouped_start.rs",
        "store/environment.rs",
        "store/mapped_file.rs",
    ]
    .map(many);
    assert_eq!((counts, found.len()), ([7, 1, 2], 10), "{found:?}");
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

#[test]
fn everything_that_ships_is_in_the_binary() {
    let root = project().join("system");
    let listed = orch::workflow::System::shipped();
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
    let below = ["docs", "system"]
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

/// Words in the place of a code: `error[…]` and `"code": "…"` in outputs, `` (`…`) `` is checked by hand.
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
    for place in ["src", "tests", "fixtures", "docs", "system"] {
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
