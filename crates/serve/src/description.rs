//! The commands that a server executes, as the command line defines them, and how a face names their arguments.

use crate::{Argument, ArgumentForm};

/// A command, as the command line defines it.
#[derive(Debug, Clone)]
pub struct CommandDescription {
    /// Its words, such as `workflow list`.
    pub name: String,
    /// What it does, in one sentence.
    pub about: String,
    /// Its arguments: each has the name of its option, or that of its place.
    pub arguments: Vec<Argument>,
}

/// The commands of `orch`.
#[derive(Debug, Clone)]
pub struct CommandDescriptions(pub Vec<CommandDescription>);

impl CommandDescriptions {
    /// The command that is written with these words, of which options may follow; `None` if there is none.
    #[must_use]
    pub fn of(&self, words: &[&str]) -> Option<&CommandDescription> {
        let is_word = |word: &&str| !word.starts_with("--");
        let name: Vec<&str> = words.iter().copied().take_while(is_word).collect();
        let name = name.join(" ");
        self.0.iter().find(|command| command.name == name)
    }
}

impl CommandDescription {
    /// What it does, unless a face says so in other words.
    #[must_use]
    pub fn about_or(&self, own: &str) -> String {
        if own.is_empty() {
            self.about.clone()
        } else {
            own.to_owned()
        }
    }

    /// The arguments that a face names; `None` if the command lacks one of them.
    #[must_use]
    pub fn arguments_of(&self, named: &[CallArgument]) -> Option<Vec<Argument>> {
        named.iter().map(|one| one.of(self)).collect()
    }
}

/// An argument of a face: which argument of the command it is.
#[derive(Debug, Clone, Copy)]
pub enum CallArgument {
    /// The one with this name.
    Same(&'static str),
    /// The one with the second name, called by the first.
    Renamed(&'static str, &'static str),
    /// Like [`Self::Renamed`], but each call has it.
    Required(&'static str, &'static str),
    /// The one with this name, which means this to the clients of the face.
    Explained(&'static str, &'static str),
    /// One that the face words itself.
    Own(OwnArgument),
}

/// An argument that a face words itself.
#[derive(Debug, Clone, Copy)]
pub struct OwnArgument {
    /// Its name in a call.
    pub name: &'static str,
    /// What it means, for the client.
    pub about: &'static str,
    /// How it is written.
    pub form: OwnForm,
    /// Whether each call has it.
    pub is_required: bool,
}

/// How an argument is written that a face words itself.
#[derive(Debug, Clone, Copy)]
pub enum OwnForm {
    /// A text that stands by itself.
    Word,
    /// The task, as an option, because the words of the command mean something else.
    TaskInUse,
    /// An object: `KEY=VALUE` for each of its members.
    Pairs,
}

impl CallArgument {
    /// The argument, given its command. `None` if the command has no such argument.
    fn of(self, command: &CommandDescription) -> Option<Argument> {
        let (name, known, is_required) = match self {
            Self::Same(name) | Self::Explained(name, _) => (name, name, false),
            Self::Renamed(name, known) => (name, known, false),
            Self::Required(name, known) => (name, known, true),
            Self::Own(own) => return Some(own.argument()),
        };
        let found = command.arguments.iter().find(|one| one.name == known)?;
        let mut argument = found.clone();
        argument.name = in_camel_case(name);
        argument.is_required |= is_required;
        if let Self::Explained(_, about) = self {
            argument.about = about.to_owned();
        }
        Some(argument)
    }
}

impl OwnArgument {
    fn argument(self) -> Argument {
        Argument {
            name: self.name.to_owned(),
            about: self.about.to_owned(),
            form: match self.form {
                OwnForm::Word => ArgumentForm::Word,
                OwnForm::TaskInUse => ArgumentForm::Text("--use".to_owned()),
                OwnForm::Pairs => ArgumentForm::Pairs,
            },
            is_required: self.is_required,
        }
    }
}

/// The name of an option as a key of JSON: `dry-run` is `dryRun`.
fn in_camel_case(name: &str) -> String {
    let mut parts = name.split('-');
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        found.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        found.push_str(letters.as_str());
    }
    found
}
