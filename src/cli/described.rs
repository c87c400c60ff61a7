//! What the servers know of the command line: the commands and their arguments, as clap has them.

use super::manual::command_line;
use clap::{Arg, ArgAction, Command};
use orch_base::Period;
use orch_serve::{Argument, ArgumentForm, CommandDescription, CommandDescriptions};
use std::any::TypeId;

/// The commands, as a server is told of them.
pub(super) fn described() -> CommandDescriptions {
    let mut found = Vec::new();
    describe(&command_line(), "", &mut found);
    CommandDescriptions(found)
}

fn describe(command: &Command, before: &str, found: &mut Vec<CommandDescription>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = [before, sub.get_name()].join(" ").trim_start().to_owned();
        if sub.has_subcommands() {
            describe(sub, &name, found);
            continue;
        }
        let own = sub.get_arguments().filter(|arg| !arg.is_global_set());
        found.push(CommandDescription {
            name,
            about: sentence(sub.get_about()),
            arguments: own.map(argument).collect(),
        });
    }
}

fn argument(arg: &Arg) -> Argument {
    Argument {
        name: arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned(),
        about: sentence(arg.get_help()),
        form: form(arg),
        is_required: arg.is_required_set(),
    }
}

/// How an argument is written.
fn form(arg: &Arg) -> ArgumentForm {
    let Some(long) = arg.get_long() else {
        return ArgumentForm::Word;
    };
    let option = format!("--{long}");
    if !arg.get_action().takes_values() {
        return ArgumentForm::Flag(option);
    }
    let is_repeatable = matches!(arg.get_action(), ArgAction::Append);
    let values = arg.get_possible_values();
    let values: Vec<String> = values.iter().map(|one| one.get_name().to_owned()).collect();
    let of_type = arg.get_value_parser().type_id();
    let is_number = of_type == TypeId::of::<u32>() || of_type == TypeId::of::<u64>();
    if !values.is_empty() && is_repeatable {
        ArgumentForm::SomeOf(option, values)
    } else if !values.is_empty() {
        ArgumentForm::OneOf(option, values)
    } else if is_number {
        ArgumentForm::Number(option)
    } else if of_type == TypeId::of::<Period>() {
        ArgumentForm::Duration(option)
    } else if is_repeatable {
        ArgumentForm::Texts(option)
    } else {
        ArgumentForm::Text(option)
    }
}

/// A text of the help as a sentence.
fn sentence(text: Option<&clap::builder::StyledStr>) -> String {
    let mut text = text.map(ToString::to_string).unwrap_or_default();
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}
