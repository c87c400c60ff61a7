//! Writes and removes what agents' programs read, by the table of [`super::programs`].

use super::INSTRUCTIONS;
use super::clash::Clash;
use super::files::SetupFiles;
use super::programs::{AgentProgram, PartForm, PartPurpose, ProgramPart};
use super::section::{self, CommentStyle, TextSection, WholeFile};
use super::splice;
use crate::cli::Failure;
use orch_base::{Code, Diagnostic, Hint, Place, Severity};
use std::path::Path;

/// The programs that are meant, each once. Returns an error if they are to be detected and none is found.
pub fn chosen(named: &[AgentProgram], root: &Path) -> Result<Vec<AgentProgram>, Failure> {
    let is_there = |path: &&str| root.join(path).symlink_metadata().is_ok();
    let detected = |program: &AgentProgram| program.marks().iter().any(is_there);
    let mut programs: Vec<AgentProgram> = named
        .iter()
        .copied()
        .filter(|program| *program != AgentProgram::Detected)
        .collect();
    if named.contains(&AgentProgram::Detected) {
        programs.extend(AgentProgram::ALL.into_iter().filter(detected));
        if programs.is_empty() {
            let names = AgentProgram::ALL.map(AgentProgram::name).join(", ");
            let message = "no file of an agent's program is in this repository";
            return Err(Failure::new(Code::Usage, message).hint(
                Hint::from("name one: ")
                    .command(&["orch", "init", "--agent", "NAME"])
                    .text(format!(" ({names})")),
            ));
        }
    }
    programs.sort_unstable();
    programs.dedup();
    Ok(programs)
}

/// Writes the parts of a program. What cannot be written safely becomes a finding. Returns an error if a file cannot
/// be read or written.
pub fn install(program: AgentProgram, files: &mut SetupFiles) -> Result<(), Failure> {
    for part in program.parts() {
        let path = part.path(files);
        if matches!(part.form, PartForm::Block) {
            instruct(path, program.name(), files)?;
            continue;
        }
        let Some(before) = readable(path, program.name(), files)? else {
            continue;
        };
        match part.added(before.as_deref(), program) {
            Ok(after) if before.as_ref() == Some(&after) => {}
            Ok(after) => files.write(path, &after)?,
            Err(clash) => {
                let mut found = finding(path, &clash, &part.by_hand(&clash));
                if part.purpose == PartPurpose::StatusLine {
                    found.severity = Severity::Note;
                }
                files.findings.push(found);
            }
        }
    }
    Ok(())
}

/// Removes the parts of a program. What someone changed becomes a finding. Returns an error if a file cannot be read
/// or written.
pub fn remove(program: AgentProgram, files: &mut SetupFiles) -> Result<(), Failure> {
    // In the reverse order, so that a file loses what it got last first.
    for part in program.parts().into_iter().rev() {
        for path in part.all_paths(files) {
            if files.link(path).is_some() || !files.has(path) {
                continue;
            }
            let Some(Some(before)) = readable(path, program.name(), files)? else {
                continue;
            };
            match part.removed(&before, program) {
                Ok(None) => files.delete(path)?,
                Ok(Some(after)) if after == before => {}
                Ok(Some(after)) => files.write(path, &after)?,
                // Another status line was never that of orch.
                Err(_) if part.purpose == PartPurpose::StatusLine => {}
                Err(clash) => files
                    .findings
                    .push(finding(path, &clash, "remove the part by hand")),
            }
        }
    }
    Ok(())
}

/// Puts the standing instructions into a Markdown file at the root, or into the one that it stands for. Returns an
/// error if a file cannot be read or written.
pub fn instruct(path: &'static str, who: &str, files: &mut SetupFiles) -> Result<(), Failure> {
    let path = meant(path, files);
    let Some(before) = readable(path, who, files)? else {
        return Ok(());
    };
    match section::added(before.as_deref(), &instructions(who)) {
        Ok(after) if before.as_ref() == Some(&after) => Ok(()),
        Ok(after) => files.write(path, &after),
        Err(clash) => {
            files.findings.push(finding(path, &clash, EDITED));
            Ok(())
        }
    }
}

const EDITED: &str = "take your lines out of the part between the markers, or delete the part, and run the command again";

fn instructions(who: &str) -> TextSection<'_> {
    TextSection {
        style: CommentStyle::Markup,
        text: INSTRUCTIONS,
        who: Some(who),
    }
}

/// The files with instructions of which one may stand for another.
const STANDING: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// The file that is meant by one: another one at the root if it is a link to it or consists of an import (`@FILE`).
fn meant(path: &'static str, files: &SetupFiles) -> &'static str {
    let mut path = path;
    // A circle ends somewhere.
    for _ in 0..STANDING.len() {
        let Some(next) = stands_for(path, files) else {
            break;
        };
        path = next;
    }
    path
}

fn stands_for(path: &str, files: &SetupFiles) -> Option<&'static str> {
    let other = |name: &str| {
        let name = name.strip_prefix("./").unwrap_or(name);
        STANDING
            .into_iter()
            .find(|known| *known == name && *known != path)
    };
    if !STANDING.contains(&path) {
        return None;
    }
    if let Some(target) = files.link(path) {
        return other(target.to_str()?);
    }
    let text = files.read(path).ok()??;
    text.lines()
        .find_map(|line| other(line.trim().strip_prefix('@')?))
}

/// The instructions that many programs read.
const SHARED: &str = "AGENTS.md";
/// Those of Claude Code, which reads the shared ones only where it has none of its own.
const OF_CLAUDE: &str = "CLAUDE.md";
/// The lines that Claude Code reads as those of the shared file.
const IMPORT: &str = "@AGENTS.md\n";

/// Lets the instructions of Claude Code that orch alone wrote import the shared ones, if there are any: they would silence
/// what a person writes there. Returns an error if a file cannot be written.
pub fn import_shared(files: &mut SetupFiles) -> Result<(), Failure> {
    let who = AgentProgram::Claude.name();
    let present = files.read(OF_CLAUDE).ok().flatten();
    let is_of_orch = present.is_some_and(|text| {
        section::removed(&text, &instructions(who)) == Ok(None) && !text.contains(IMPORT)
    });
    if !is_of_orch || !files.has(SHARED) || meant(SHARED, files) != SHARED {
        return Ok(());
    }
    let import = TextSection {
        text: IMPORT,
        ..instructions(who)
    };
    match section::added(None, &import) {
        Ok(text) => files.write(OF_CLAUDE, &text)?,
        Err(_) => return Ok(()),
    }
    instruct(SHARED, who, files)
}

/// The text of a file; the outer `None` if it may not be touched, which becomes a finding. Returns an error if it
/// cannot be read and `orch init` itself asks for it; for a program, that becomes a finding, too.
fn readable(
    path: &str,
    who: &str,
    files: &mut SetupFiles,
) -> Result<Option<Option<String>>, Failure> {
    if let Some(link) = files.linked(path) {
        files.findings.push(link);
        return Ok(None);
    }
    match files.read(path) {
        Ok(text) => Ok(Some(text)),
        // `orch init` without a program stops at what it cannot read.
        Err(failure) if who == "init" => Err(failure),
        Err(failure) => {
            let why = failure
                .into_error()
                .map_or(String::new(), |error| format!(": {error}"));
            let message = format!("left alone{why}");
            let place = Place {
                path: path.to_owned(),
                ..Place::default()
            };
            files.findings.push(
                Diagnostic::error(Code::AgentFile, message)
                    .at(place)
                    .hint("correct the file, and run the command again"),
            );
            Ok(None)
        }
    }
}

fn finding(path: &str, clash: &Clash, by_hand: &str) -> Diagnostic {
    let place = Place {
        path: path.to_owned(),
        ..Place::default()
    };
    Diagnostic::error(Code::AgentFile, format!("left alone: {clash}"))
        .at(place)
        .hint(by_hand)
}

impl ProgramPart {
    /// The file of the part: the first of its paths that exists, or else the first.
    fn path(&self, files: &SetupFiles) -> &'static str {
        self.paths
            .iter()
            .find(|path| files.has(path))
            .unwrap_or(&self.paths[0])
    }

    /// Every file that the part may have been put into.
    fn all_paths(&self, files: &SetupFiles) -> Vec<&'static str> {
        let mut paths = self.paths.to_vec();
        if matches!(self.form, PartForm::Block) {
            paths.extend(self.paths.iter().map(|path| meant(path, files)));
            paths.dedup();
        }
        paths
    }

    fn added(&self, before: Option<&str>, program: AgentProgram) -> Result<String, Clash> {
        match &self.form {
            PartForm::Block => section::added(before, &instructions(program.name())),
            PartForm::Json(spot) => splice::added(before, spot),
            PartForm::Toml { keys, text } => with_table(before, keys, text, program),
            PartForm::Whole { text, style } => whole(text, *style, program).added(before),
        }
    }

    fn removed(&self, before: &str, program: AgentProgram) -> Result<Option<String>, Clash> {
        match &self.form {
            PartForm::Block => section::removed(before, &instructions(program.name())),
            PartForm::Json(spot) => splice::removed(before, spot),
            PartForm::Toml { text, .. } => {
                let rest = section::removed(before, &table(text, program))?;
                let is_valid = |rest: &String| rest.parse::<toml::Table>().is_ok();
                if rest.as_ref().is_none_or(is_valid) {
                    Ok(rest)
                } else {
                    Err(Clash::Markers)
                }
            }
            PartForm::Whole { text, style } => whole(text, *style, program).removed(before),
        }
    }

    /// What a person may do instead.
    fn by_hand(&self, clash: &Clash) -> String {
        match (&self.form, clash) {
            (PartForm::Whole { .. }, _) => {
                "move the file away, and run the command again".to_owned()
            }
            (PartForm::Json(spot), Clash::Edited) => format!(
                "delete `{}`, and run the command again; or write by hand: {}",
                spot.keys.join("."),
                spot.value
            ),
            (_, Clash::Edited | Clash::Markers) | (PartForm::Block, _) => EDITED.to_owned(),
            (PartForm::Json(spot), _) => {
                format!("add by hand: {}: {}", spot.keys.join("."), spot.value)
            }
            (PartForm::Toml { text, .. }, _) => {
                format!("add by hand: {}", text.trim().replace('\n', "; "))
            }
        }
    }
}

fn whole(text: &str, style: CommentStyle, program: AgentProgram) -> WholeFile<'_> {
    WholeFile {
        style,
        text,
        who: program.name(),
    }
}

fn table<'a>(text: &'a str, program: AgentProgram) -> TextSection<'a> {
    TextSection {
        style: CommentStyle::Hash,
        text,
        who: Some(program.name()),
    }
}

/// A TOML text with a table at its end. Returns an error if the text is not valid, or would not be.
fn with_table(
    before: Option<&str>,
    keys: &[&str],
    text: &'static str,
    program: AgentProgram,
) -> Result<String, Clash> {
    let parsed = |text: &str| text.parse::<toml::Table>();
    let syntax = |error: toml::de::Error| Clash::Syntax {
        format: "TOML",
        message: error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    let present = parsed(before.unwrap_or_default()).map_err(syntax)?;
    let after = section::added(before, &table(text, program))?;
    if parsed(&after).is_ok() {
        return Ok(after);
    }
    let at = |table: &toml::Table| {
        keys.iter()
            .try_fold(toml::Value::from(table.clone()), |at, key| {
                at.get(key).cloned()
            })
    };
    match at(&present) {
        None => Err(Clash::Shape(keys[0].to_owned())),
        // It is there already, in this form or another.
        same if same == at(&parsed(text).map_err(syntax)?) => {
            Ok(before.unwrap_or_default().to_owned())
        }
        Some(_) => Err(Clash::Taken(keys.join("."))),
    }
}
