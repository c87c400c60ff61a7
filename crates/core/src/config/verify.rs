//! `[verify.NAME]`: a command of the project that `orch` runs on the code that it judges.

use super::keys::{VERIFY, example};
use super::reader::{SettingsReader, invalid};
use crate::verification::VerifyTable;
use crate::{TomlTable, TomlValue};
use orch_base::{Patterns, Period, RepoPath, VerificationName};
use std::collections::BTreeMap;

/// Parses `[verify.*]`. A table without a usable command is left out.
pub(super) fn verifications(
    reader: &mut SettingsReader<'_>,
    value: &TomlValue<'_>,
) -> BTreeMap<VerificationName, VerifyTable> {
    let mut found = BTreeMap::new();
    for (name, value) in reader.entries("verify", value) {
        let span = name.span.clone();
        let named = reader.parsed(name, own_name, || "for example `[verify.tests]`".to_owned());
        let Some(table) = reader.table_of("verify", value, VERIFY.title) else {
            continue;
        };
        let (Some(named), Some(table)) = (named, verification(reader, table, span)) else {
            continue;
        };
        found.insert(named, table);
    }
    found
}

/// The name of a table. What follows an `@` in other names says how it was run.
fn own_name(text: &str) -> Result<VerificationName, String> {
    if text.contains('@') {
        return Err(
            "the name contains `@`, which is for the run with the tests of the base".to_owned(),
        );
    }
    VerificationName::new(text).map_err(|why| why.to_string())
}

fn verification(
    reader: &mut SettingsReader<'_>,
    mut table: TomlTable<'_, '_>,
    at: std::ops::Range<usize>,
) -> Option<VerifyTable> {
    let commands = commands(reader, &mut table, at.clone());
    let setup = table
        .take("setup")
        .map(|value| words_of(reader, "setup", value))
        .unwrap_or_default();
    let timeout = reader.parsed_at(&mut table, "timeout", |text| match Period::parse(text) {
        Some(period) if period.milliseconds() > 0 => Ok(period),
        Some(_) => Err("a verification has a time limit above zero"),
        None => Err("the value is not a duration"),
    });
    let mut patterns = |key: &'static str| patterns(reader, &mut table, key);
    let setup_key = patterns("setup_key");
    let has_idle_key = setup.is_empty() && !setup_key.is_empty();
    let report = patterns("report");
    let paths = patterns("paths");
    let protect = patterns("protect");
    let mut texts = |key: &'static str, parse: fn(&str) -> Result<String, String>| {
        let value = table.take(key);
        value.map_or_else(Vec::new, |value| reader.items(key, value, parse))
    };
    let keep = texts("keep", kept);
    let env = texts("env", variable);
    let files = texts("files", file);
    let network = reader.boolean(&mut table, "network", true);
    let allow_empty = reader.boolean(&mut table, "allow_empty", false);
    let retries = reader.integer_at(&mut table, "retries", 0..=10, 0);
    if has_idle_key {
        let hint = "write the command that prepares a checkout, or remove `setup_key`";
        reader.report(at, invalid("`setup_key` needs `setup`", hint));
    }
    reader.finish(table);
    Some(VerifyTable {
        setup,
        setup_key,
        commands: commands?,
        report,
        paths,
        timeout: timeout.unwrap_or(VerifyTable::TIMEOUT),
        keep,
        protect,
        env,
        files,
        network,
        retries: u32::try_from(retries).unwrap_or_default(),
        allow_empty,
    })
}

/// `command` or `commands`, of which there is exactly one.
fn commands(
    reader: &mut SettingsReader<'_>,
    table: &mut TomlTable<'_, '_>,
    at: std::ops::Range<usize>,
) -> Option<Vec<Vec<String>>> {
    let one = table.take("command");
    let several = table.take("commands");
    let hint = format!(
        "write `{}`, or `commands` with a list of such lists",
        example_of("command")
    );
    let found = match (one, several) {
        (Some(one), None) => vec![words_of(reader, "command", one)],
        (None, Some(several)) => {
            let lists = several.get_ref().as_array();
            let Some(lists) = lists.filter(|lists| !lists.is_empty()) else {
                reader.report(several.span(), invalid("expected a list of commands", hint));
                return None;
            };
            lists
                .iter()
                .map(|command| words_of(reader, "commands", command))
                .collect()
        }
        (Some(_), Some(several)) => {
            let message = "the table has `command` and `commands`";
            reader.report(several.span(), invalid(message, "keep one of them"));
            return None;
        }
        (None, None) => {
            reader.report(at, invalid("the table has no `command`", hint));
            return None;
        }
    };
    let is_whole = found.iter().all(|command| !command.is_empty());
    if is_whole { Some(found) } else { None }
}

/// The words of a command; one without a program is reported and empty.
pub(super) fn words_of(
    reader: &mut SettingsReader<'_>,
    key: &str,
    value: &TomlValue<'_>,
) -> Vec<String> {
    let words = reader.items(key, value, |text| {
        if text.contains('\0') {
            Err("the argument contains a NUL byte".to_owned())
        } else if matches!(text, "&&" | "||" | ";") {
            Err(format!(
                "no shell reads the command, so `{text}` is an argument"
            ))
        } else {
            Ok(text.to_owned())
        }
    });
    if words.first().is_none_or(String::is_empty) {
        let hint = format!("for example `{}`", example_of("command"));
        reader.report(
            value.span(),
            invalid(format!("`{key}` names no program"), hint),
        );
        return Vec::new();
    }
    words
}

fn example_of(key: &str) -> &'static str {
    let found = VERIFY.keys.iter().find(|(name, _)| *name == key);
    found.map_or_else(|| example(key), |(_, example)| example)
}

/// Globs of files of the repository; all of them, or none if one is invalid.
fn patterns(
    reader: &mut SettingsReader<'_>,
    table: &mut TomlTable<'_, '_>,
    key: &'static str,
) -> Patterns {
    let Some(value) = table.take(key) else {
        return Patterns::default();
    };
    let texts = reader.items(key, value, |text| {
        let is_inside = !text.starts_with('/') && text.split('/').all(|part| part != "..");
        let is_all = text.trim_matches(['*', '/']).is_empty();
        if key == "report" && is_all {
            return Err(
                "what `report` matches is deleted before each run, so it names files".to_owned(),
            );
        }
        if text.trim().is_empty() || !is_inside {
            return Err("write a glob below the root of the repository".to_owned());
        }
        Patterns::new([text])
            .map(|_| text.to_owned())
            .map_err(|fault| fault.kind().to_string())
    });
    Patterns::new(texts).unwrap_or_default()
}

/// A directory that stays: `/` and its path below the root of the repository.
fn kept(text: &str) -> Result<String, String> {
    let Some(below) = text.strip_prefix('/') else {
        return Err("a kept directory begins with `/`, the root of the repository".to_owned());
    };
    let path = RepoPath::new(below.trim_end_matches('/')).map_err(|why| why.to_string())?;
    let first = path.as_str().split('/').next().unwrap_or_default();
    if path.as_str().is_empty() || first.eq_ignore_ascii_case(".git") {
        return Err("what is kept is a directory below the root of the repository".to_owned());
    }
    // git takes what is kept as an ignore pattern, in which `*` stays within a name.
    if path.as_str().contains(['?', '[', '{', '\\', '!']) || path.as_str().contains("**") {
        return Err("the only wildcard of a kept directory is `*` within a name".to_owned());
    }
    if path.name().trim_matches('*').is_empty() {
        return Err("the name of a kept directory is no wildcard alone".to_owned());
    }
    Ok(format!("/{path}"))
}

/// Variables that no run takes from its caller.
const SET_BY_ORCH: [&str; 6] = [
    "CI",
    "TMPDIR",
    "CARGO_TARGET_DIR",
    "NO_COLOR",
    "TERM",
    "PATH",
];

/// The name of a variable of the environment.
fn variable(text: &str) -> Result<String, String> {
    if SET_BY_ORCH.contains(&text) || text.starts_with("GIT_") {
        return Err(format!("orch sets `{text}` itself"));
    }
    if text.is_empty() || text.contains(['=', '\0']) || text.trim() != text {
        return Err(
            "write the name of a variable of the environment, without its value".to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// A file of the repository.
fn file(text: &str) -> Result<String, String> {
    let path = RepoPath::new(text).map_err(|why| why.to_string())?;
    if path.as_str().is_empty() {
        return Err("write the path of a file below the root of the repository".to_owned());
    }
    Ok(path.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn only(table: &str) -> Result<VerifyTable, String> {
        let (config, findings) = parse(&format!("[verify.tests]\n{table}"), "orch.toml");
        if let Some(finding) = findings.first() {
            let at = finding.place.as_ref().and_then(|place| place.line);
            return Err(format!("{}: {}", at.unwrap_or_default(), finding.message));
        }
        let name = VerificationName::new("tests").expect("a name");
        Ok(config.verify[&name].clone())
    }

    #[test]
    fn every_key_is_read() {
        let table = only(
            "setup = ['npm', 'ci']\nsetup_key = ['package-lock.json']\ncommands = [['make'], ['make', 'test']]\n\
             report = ['out/**/*.xml']\npaths = ['src/**']\ntimeout = '90s'\nkeep = ['/node_modules/', '/a/b']\n\
             protect = ['tests/**']\nenv = ['DATABASE_URL']\nfiles = ['.env.test']\nnetwork = false\nretries = 2\n\
             allow_empty = true\n",
        )
        .expect("valid");
        assert_eq!(table.commands, [vec!["make"], vec!["make", "test"]]);
        assert_eq!(table.keep, ["/node_modules", "/a/b"]);
        assert_eq!(table.timeout, Period::from_seconds(90));
        assert_eq!(table.retries, 2);
        assert!(!table.network && table.allow_empty);
        let short = only("command = ['make']").expect("valid");
        assert_eq!(short.timeout, VerifyTable::TIMEOUT);
        assert!(short.network && short.report.is_empty());
    }

    #[test]
    fn each_mistake_is_told_with_its_line() {
        for (table, told) in [
            ("", "1: the table has no `command`"),
            (
                "command = ['a']\ncommands = [['b']]",
                "3: the table has `command` and `commands`",
            ),
            ("command = []", "2: `command` names no program"),
            ("command = ['']", "2: `command` names no program"),
            ("commands = []", "2: expected a list of commands"),
            ("commands = [['a'], []]", "2: `commands` names no program"),
            (
                "command = ['a', \"b\\u0000\"]",
                "2: the argument contains a NUL byte",
            ),
            ("command = ['a']\nsetup = []", "3: `setup` names no program"),
            (
                "command = ['a']\nkeep = ['target']",
                "3: a kept directory begins with `/`, the root of the repository",
            ),
            (
                "command = ['a']\nkeep = ['/.git']",
                "3: what is kept is a directory below the root of the repository",
            ),
            (
                "command = ['a']\nkeep = ['/*']",
                "3: the name of a kept directory is no wildcard alone",
            ),
            (
                "command = ['a']\nkeep = ['/**/target']",
                "3: the only wildcard of a kept directory is `*` within a name",
            ),
            (
                "command = ['a']\nreport = ['**']",
                "3: what `report` matches is deleted before each run, so it names files",
            ),
            (
                "command = ['a']\nsetup_key = ['x']",
                "1: `setup_key` needs `setup`",
            ),
            ("command = ['a']\nenv = ['CI']", "3: orch sets `CI` itself"),
            (
                "command = ['make', '&&', 'b']",
                "2: no shell reads the command, so `&&` is an argument",
            ),
            (
                "command = ['a']\nreport = ['../x.xml']",
                "3: write a glob below the root of the repository",
            ),
            (
                "command = ['a']\nreport = ['/x.xml']",
                "3: write a glob below the root of the repository",
            ),
            (
                "command = ['a']\ntimeout = '0s'",
                "3: a verification has a time limit above zero",
            ),
            (
                "command = ['a']\ntimeout = 'soon'",
                "3: the value is not a duration",
            ),
            (
                "command = ['a']\nenv = ['A=1']",
                "3: write the name of a variable of the environment, without its value",
            ),
            ("command = ['a']\nretries = 11", "3: 11 is out of range"),
            (
                "command = ['a']\nreports = ['x.xml']",
                "3: unknown key `reports`",
            ),
        ] {
            assert_eq!(only(table).err().as_deref(), Some(told), "{table}");
        }
        for name in ["'a@base'", "'a b'"] {
            let (config, findings) =
                parse(&format!("[verify.{name}]\ncommand = ['a']"), "orch.toml");
            assert!(
                config.verify.is_empty() && findings.len() == 1,
                "{name}: {findings:?}"
            );
        }
        let outside = only("command = ['a']\nfiles = ['../secret']").err();
        assert!(outside.is_some_and(|told| told.starts_with("3: ")));
    }

    /// What is kept in the git directory and in events is by this digest.
    #[test]
    fn the_digest_is_of_what_is_in_force() {
        let digest = |table: &str| {
            only(table)
                .expect("valid")
                .digest(orch_base::ObjectFormat::Sha1)
        };
        let plain = digest("command = ['make', 'test']");
        assert_eq!(
            plain,
            digest("commands = [['make', 'test']]\nretries = 0\ntimeout = '20m'")
        );
        assert_ne!(plain, digest("command = ['make', 'test']\nretries = 1"));
        assert_ne!(plain, digest("command = ['make test']"));
    }
}
