//! What to do about a finding: text, and commands that can be typed as they are.

use super::{RepoPath, argv_at, command};
use std::fmt;

/// What to do about a finding: a line of text and commands.
///
/// A command is kept as its arguments, so a program can start it, and nobody has to find it in the text. The text of a
/// hint is the line itself, with every command quoted for a shell.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hint(Vec<HintPart>);

/// A part of a hint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HintPart {
    /// Text, which contains no command to type.
    Text(String),
    /// The arguments of a command. The first is the program.
    Command(Vec<String>),
}

impl Hint {
    /// A hint that begins with this command.
    #[must_use]
    pub fn run(argv: &[impl AsRef<str>]) -> Self {
        Self::default().command(argv)
    }

    /// The hint, followed by text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(HintPart::Text(text.into()));
        self
    }

    /// The hint, followed by a command.
    #[must_use]
    pub fn command(mut self, argv: &[impl AsRef<str>]) -> Self {
        let argv = argv.iter().map(|word| word.as_ref().to_owned()).collect();
        self.0.push(HintPart::Command(argv));
        self
    }

    /// The hint, followed by `&&` and a command. Without parts before it, only the command.
    #[must_use]
    pub fn and(self, argv: &[impl AsRef<str>]) -> Self {
        self.joined(" && ").command(argv)
    }

    /// The hint, followed by `, or: ` and a command.
    #[must_use]
    pub fn or(self, argv: &[impl AsRef<str>]) -> Self {
        self.joined(", or: ").command(argv)
    }

    /// The hint, followed by `; then: ` and a command.
    #[must_use]
    pub fn then(self, argv: &[impl AsRef<str>]) -> Self {
        self.joined("; then: ").command(argv)
    }

    /// The hint, followed by another.
    #[must_use]
    pub fn followed_by(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn joined(self, separator: &str) -> Self {
        if self.0.is_empty() {
            self
        } else {
            self.text(separator)
        }
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[HintPart] {
        &self.0
    }

    /// The arguments of each command, in order.
    pub fn commands(&self) -> impl Iterator<Item = &[String]> {
        self.0.iter().filter_map(|part| match part {
            HintPart::Text(_) => None,
            HintPart::Command(argv) => Some(argv.as_slice()),
        })
    }

    /// The same hint for whoever types its commands in the directory `here`, like [`argv_at`].
    #[must_use]
    pub fn at(&self, here: &RepoPath) -> Self {
        let parts = self.0.iter().map(|part| match part {
            HintPart::Text(text) => HintPart::Text(text.clone()),
            HintPart::Command(argv) => HintPart::Command(argv_at(here, argv)),
        });
        Self(parts.collect())
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                HintPart::Text(text) => f.write_str(text)?,
                HintPart::Command(argv) => f.write_str(&command(argv))?,
            }
        }
        Ok(())
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Self::default().text(text)
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::default().text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_one_line_and_keeps_its_commands() {
        let hint = Hint::from("put it back: ")
            .command(&["git", "restore", "--", "tasks/a b/plan.json"])
            .and(&["orch", "next", "k"])
            .or(&["orch", "recover", "k"])
            .then(&["orch", "status"])
            .text(", if that helps");
        assert_eq!(
            hint.to_string(),
            "put it back: git restore -- 'tasks/a b/plan.json' && orch next k, or: orch recover k; then: orch status, \
             if that helps"
        );
        let commands: Vec<String> = hint.commands().map(|argv| argv.join("|")).collect();
        assert_eq!(
            commands,
            [
                "git|restore|--|tasks/a b/plan.json",
                "orch|next|k",
                "orch|recover|k",
                "orch|status",
            ]
        );
        let here = RepoPath::new("tasks").expect("a path");
        assert!(
            hint.at(&here)
                .to_string()
                .starts_with("put it back: git restore -- 'a b/plan.json' && orch next k,")
        );
        let texts_stay = Hint::from("it doesn't mv tasks/k");
        assert_eq!(texts_stay.at(&here), texts_stay);
    }

    #[test]
    fn a_chain_has_no_sign_before_its_first_command() {
        let chain = Hint::default()
            .and(&["mkdir", "-p", "a"])
            .and(&["mv", "b", "a/b"]);
        assert_eq!(chain.to_string(), "mkdir -p a && mv b a/b");
        let whole = Hint::from("make room: ").followed_by(chain);
        assert_eq!(whole.to_string(), "make room: mkdir -p a && mv b a/b");
    }
}
