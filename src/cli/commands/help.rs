//! `orch help`: the manual of a command, the explanation of a code, and the exit codes.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::{codes, report};
use crate::cli::manual::command_line;
use orch_base::{Code, Hint, nearest};

/// The topic that shows the table of exit codes.
pub const EXIT_CODES: &str = "exit-codes";

/// Show the manual of a command, the exit codes, or the meaning of a code.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command (`next`, `workflow check`), a code (`json-syntax`), or `exit-codes`.
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
    let current = command_named(&mut command, &args.topic)?;
    let mut manual = current.render_long_help().to_string();
    if args.topic.is_empty() {
        manual.push_str("\nExit codes: orch help exit-codes\nThe meaning of a code, for example of `error[json-syntax]`: orch help json-syntax\n");
    }
    report::text(context, ui, &manual)?;
    Ok(ExitCode::Fine)
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
