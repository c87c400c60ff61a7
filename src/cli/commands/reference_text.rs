//! The reference of the command line, generated from the definition of the commands.

use super::help::exit_codes;
use crate::cli::manual::command_line;
use clap::Command;

/// The text of `docs/cli.md`: the manual of every command, and the exit codes. A test compares it with the
/// file.
#[must_use]
pub fn reference() -> String {
    let mut command = command_line();
    let mut page = String::from(
        "# Command line reference\n\nGenerated from the program; a test keeps it true.\n",
    );
    section(&mut command, &mut page);
    page.push_str("\n## Exit codes\n\n```text\n");
    page.push_str(exit_codes().trim_end());
    page.push_str("\n```\n");
    page
}

fn section(command: &mut Command, page: &mut String) {
    let name = command
        .get_bin_name()
        .unwrap_or_else(|| command.get_name())
        .to_owned();
    *command = std::mem::take(command).term_width(100);
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    page.push_str(&format!(
        "\n## `{name}`\n\n```text\n{}\n```\n",
        lines.join("\n")
    ));
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set())
    {
        section(sub, page);
    }
}
