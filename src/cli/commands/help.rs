//! `orch help`: the manual of a command, the explanation of a code or of a word, and the exit codes.

mod glossary;
mod repository;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::{codes, report};
use crate::cli::manual::command_line;
use crate::cli::typed::{TYPED, typed};
use orch_base::{Code, Hint, nearest};
use orch_view::layout::paragraph;
use repository::WorkflowWords;

/// The topic that shows the table of exit codes.
pub const EXIT_CODES: &str = "exit-codes";

/// Show the manual of a command, the exit codes, or the meaning of a code or of a word that orch prints.
///
/// Words are those of the glossary, such as `stale`, and the names of workflows, phases, rules and artifacts that are in
/// use in this repository.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command (`next`, `workflow check`), a code (`json-syntax`), a word (`stale`, `plan-ready`), or `exit-codes`.
    topic: Vec<String>,
}

pub fn run(args: &HelpArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    if args.topic == [EXIT_CODES] {
        report::text(context, ui, &exit_codes())?;
        return Ok(ExitCode::Fine);
    }
    if let Some(code) = args
        .topic
        .first()
        .filter(|_| args.topic.len() == 1)
        .and_then(|word| Code::named(word))
    {
        codes::explain(code, context, ui)?;
        return Ok(ExitCode::Fine);
    }
    let mut command = command_line();
    if let Some(first) = args.topic.first()
        && command.find_subcommand(first).is_none()
    {
        let words = args.topic.join(" ");
        let text = meaning(&words, context, ui.width).ok_or_else(|| unknown(&words, context))?;
        report::text(context, ui, &text)?;
        return Ok(ExitCode::Fine);
    }
    let current = command_named(&mut command, &args.topic)?;
    let mut manual = current.render_long_help().to_string();
    if args.topic.is_empty() {
        manual.push_str("\nExit codes: orch help exit-codes\nThe meaning of a code, for example of `error[json-syntax]`: orch help json-syntax\nThe meaning of a word, a phase, a rule or an artifact: orch help stale\n");
    }
    report::text(context, ui, &manual)?;
    Ok(ExitCode::Fine)
}

/// What a word means: in the glossary, in the workflows of this repository, or as a word that people type. `None` if it
/// means nothing.
fn meaning(word: &str, context: &Context, width: usize) -> Option<String> {
    let terms = glossary::terms();
    let lower = word.to_lowercase();
    let mut parts = Vec::new();
    for term in terms.iter().filter(|term| term.names.contains(&lower)) {
        let mut part = format!("{}\n", term.head);
        paragraph(&mut part, &term.meaning, 4, 0, width);
        let related = glossary::related(term, &terms);
        if !related.is_empty() {
            paragraph(
                &mut part,
                &format!("see also: {}", related.join(", ")),
                4,
                4,
                width,
            );
        }
        parts.push(part);
    }
    if let Ok(workspace) = context.bare_workspace() {
        let names = WorkflowWords {
            workspace: &workspace,
        };
        parts.extend(names.meanings(word));
    }
    if let Some(typed) = typed(&lower) {
        parts.push(format!("{word}: no command; type\n{}", typed.lines()));
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// The error about a word that means nothing, with the nearest one that does.
fn unknown(word: &str, context: &Context) -> Failure {
    let mut known: Vec<String> = command_line()
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    known.extend(glossary::terms().into_iter().flat_map(|term| term.names));
    known.extend(Code::ALL.iter().map(|code| code.as_str().to_owned()));
    known.push(EXIT_CODES.to_owned());
    let typed = TYPED.iter().flat_map(|typed| typed.words);
    known.extend(typed.map(|word| (*word).to_owned()));
    if let Ok(workspace) = context.bare_workspace() {
        let names = WorkflowWords {
            workspace: &workspace,
        };
        known.extend(names.all());
    }
    let failure = Failure::new(Code::Usage, format!("there is no help on `{word}`"));
    match nearest(word, known.iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(
            Hint::run(&["orch", "help", "exit-codes"])
                .text(", ")
                .command(&["orch", "help", "WORD"])
                .or(&["orch", "--help"]),
        ),
    }
}

/// The command with this name, which has two words for a subcommand. Returns an error with the nearest topic of
/// `orch help` if there is none.
pub fn command_named<'c>(
    command: &'c mut clap::Command,
    name: &[String],
) -> Result<&'c mut clap::Command, Failure> {
    let mut current = command;
    for word in name {
        let names: Vec<String> = current
            .get_subcommands()
            .map(|sub| sub.get_name().to_owned())
            .collect();
        current = current.find_subcommand_mut(word).ok_or_else(|| {
            let failure = Failure::new(Code::Usage, format!("there is no help on `{word}`"));
            let codes = Code::ALL
                .iter()
                .map(|code| code.as_str())
                .filter(|_| name.len() == 1);
            match nearest(
                word,
                names
                    .iter()
                    .map(String::as_str)
                    .chain([EXIT_CODES])
                    .chain(codes),
            ) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint(
                    Hint::run(&["orch", "help", "exit-codes"])
                        .text(", ")
                        .command(&["orch", "help", "CODE"])
                        .or(&["orch", "--help"]),
                ),
            }
        })?;
    }
    Ok(current)
}

/// The table of exit codes, as plain text.
#[must_use]
pub fn exit_codes() -> String {
    let lines = ExitCode::ALL
        .iter()
        .map(|code| format!("{:>5}  {}\n", *code as u8, code.meaning()));
    format!(
        "Exit codes, the same for every command:\n\n{}",
        lines.collect::<String>()
    )
}
