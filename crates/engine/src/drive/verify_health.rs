//! What is wrong with the tables of verifications, before one of them runs; and which settings of the user decide in a run.

use super::verification::{store, variables};
use crate::apply::Writer;
use crate::survey::Error;
use crate::verify::unfound_program;
use orch_base::{Code, Diagnostic, Hint, Patterns, VerificationName};
use orch_core::verification::VerifyTable;
use std::fs;
use std::path::{Path, PathBuf};

/// Settings in the home directory that decide what a program does in a run: the program, the variable with its directory,
/// the file below the home directory or below that one, and words one of which it has to contain; without words it decides
/// by itself.
const OF_USER: [(&str, Option<&str>, &str, &[&str]); 8] = [
    ("cargo", Some("CARGO_HOME"), ".cargo/config.toml", CARGO),
    ("cargo", Some("CARGO_HOME"), ".cargo/config", CARGO),
    ("npm", None, ".npmrc", &[]),
    ("npx", None, ".npmrc", &[]),
    ("pnpm", None, ".npmrc", &[]),
    ("yarn", None, ".yarnrc.yml", &[]),
    ("mvn", None, ".m2/settings.xml", &[]),
    ("go", None, ".config/go/env", &[]),
];

/// What in the settings of Cargo changes which code runs, and where it is built.
const CARGO: &[&str] = &[
    "target-dir",
    "build-dir",
    "rustflags",
    "runner",
    "rustc-wrapper",
    "[env]",
    "[patch",
    "[source",
];

/// The findings about the tables of the settings as they lie in the work tree. Returns an error if git cannot be read.
pub fn examine_verifications(writer: &Writer<'_>) -> Result<Vec<Diagnostic>, Error> {
    let store = store(writer)?;
    let tracked = store.index().tracked()?;
    let root = store.layout().root();
    let mut findings = Vec::new();
    let config = writer.workspace.settings().config();
    for (name, table) in &config.verify {
        let health = TableHealth {
            name,
            table,
            tracked: &tracked,
        };
        health.globs(&mut findings);
        health.programs(writer, root, &mut findings);
    }
    let home = writer.caller.variables.get("HOME").map(PathBuf::from);
    if let Some(home) = home {
        let tables: Vec<&VerifyTable> = config.verify.values().collect();
        of_user(writer, &home, &tables, &mut findings);
    }
    Ok(findings)
}

/// A table, and what git tracks.
struct TableHealth<'t> {
    name: &'t VerificationName,
    table: &'t VerifyTable,
    tracked: &'t [String],
}

impl TableHealth<'_> {
    fn globs(&self, findings: &mut Vec<Diagnostic>) {
        let Self { name, table, .. } = self;
        let tracked = |globs: &Patterns| self.tracked.iter().find(|path| globs.matches(path));
        if let Some(path) = tracked(&table.report) {
            let message = format!(
                "[verify.{name}] cannot run: git tracks {path}, which `report` names, and a report must be written by the run"
            );
            let hint = Hint::run(&["git", "rm", "--cached", path]);
            findings.push(Diagnostic::warning(Code::VerificationNotRun, message).hint(hint));
        }
        let given = |glob: &String| {
            Patterns::new([glob])
                .is_ok_and(|glob| table.files.iter().any(|path| glob.matches(path)))
        };
        for (key, globs) in [
            ("setup_key", &table.setup_key),
            ("protect", &table.protect),
            ("paths", &table.paths),
        ] {
            let idle: Vec<&str> = globs
                .texts()
                .iter()
                .filter(|text| {
                    let is_idle = Patterns::new([*text]).is_ok_and(|glob| tracked(&glob).is_none());
                    is_idle && !(key == "setup_key" && given(text))
                })
                .map(String::as_str)
                .collect();
            // One table may serve several kinds of projects; a list of which nothing is there is a mistake.
            if idle.is_empty() || idle.len() < globs.texts().len() {
                continue;
            }
            let message = format!(
                "git tracks nothing that `{key}` of [verify.{name}] names: {}",
                idle.join(", ")
            );
            let hint = "correct it, or remove the key";
            findings.push(Diagnostic::warning(Code::ConfigValue, message).hint(hint));
        }
    }

    /// The programs that cannot be found as a run would look for them. What a setup makes is not looked for.
    fn programs(&self, writer: &Writer<'_>, root: &Path, findings: &mut Vec<Diagnostic>) {
        let Self { name, table, .. } = self;
        let environment = variables(writer, Some(table));
        let setup = Some(&table.setup).filter(|setup| !setup.is_empty());
        for argv in setup.into_iter().chain(&table.commands) {
            let program = argv.first().map_or("", String::as_str);
            let is_made = program.contains('/') && (setup.is_some() || table.commands.len() > 1);
            if is_made {
                continue;
            }
            if let Some(why) = unfound_program(program, root, &environment) {
                let message = format!("[verify.{name}] cannot run here: {why}");
                let hint = "install it; virtual environments and directories of the repository are not on the PATH of a \
                            verification";
                findings.push(Diagnostic::warning(Code::VerificationNotRun, message).hint(hint));
            }
        }
    }
}

fn of_user(
    writer: &Writer<'_>,
    home: &Path,
    tables: &[&VerifyTable],
    findings: &mut Vec<Diagnostic>,
) {
    let is_used = |program: &str| {
        let mut commands = tables
            .iter()
            .flat_map(|table| table.commands.iter().chain([&table.setup]));
        commands.any(|argv| argv.iter().any(|word| starts_program(word, program)))
    };
    let mut told: Vec<PathBuf> = Vec::new();
    for (program, variable, place, words) in OF_USER {
        let own = variable.and_then(|name| writer.caller.variables.get(name));
        let file = match (own, place.split_once('/')) {
            (Some(directory), Some((_, below))) => PathBuf::from(directory).join(below),
            _ => home.join(place),
        };
        if told.contains(&file) || !is_used(program) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let decides = words.is_empty() || words.iter().any(|word| text.contains(word));
        if text.trim().is_empty() || !decides {
            continue;
        }
        let message = format!(
            "{} decides what {program} does in a verification, and is in no commit",
            file.display()
        );
        let hint =
            "another machine may get another result; keep in the repository what the tests need";
        findings.push(Diagnostic::note(Code::ConfigValue, message).hint(hint));
        told.push(file);
    }
}

/// Whether a word of a command is a program, or a line of a shell that starts it.
fn starts_program(word: &str, program: &str) -> bool {
    word.split([' ', ';', '&', '|', '('])
        .any(|part| part.rsplit('/').next() == Some(program))
}
