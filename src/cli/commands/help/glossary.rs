//! The glossary, `docs/words.md`, as the program knows it.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/words.md");

/// The most terms that a meaning refers to.
const MOST_RELATED: usize = 6;

/// A term with its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    /// The names; several if they are explained together.
    pub names: Vec<String>,
    /// What stands for them in the table, such as `head (of the log)`.
    pub head: String,
    /// The meaning, as plain text.
    pub meaning: String,
}

/// All terms, in the order of the page.
pub(super) fn terms() -> Vec<Term> {
    PAGE.lines().filter_map(term).collect()
}

fn term(line: &str) -> Option<Term> {
    let row = line.strip_prefix("| **")?.strip_suffix(" |")?;
    let (head, meaning) = row.split_once(" | ")?;
    let head = format!("**{head}");
    let names = head
        .split("**")
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    Some(Term {
        names,
        head: plain(&head),
        meaning: plain(meaning),
    })
}

/// The other terms that a meaning uses.
pub(super) fn related(meant: &Term, all: &[Term]) -> Vec<String> {
    let words: BTreeSet<&str> = meant
        .meaning
        .split(|letter: char| !letter.is_alphanumeric() && letter != '-')
        .collect();
    let mut related = Vec::new();
    for term in all.iter().filter(|term| *term != meant) {
        let named = term.names.iter().find(|name| {
            words.contains(name.as_str()) || words.contains(format!("{name}s").as_str())
        });
        related.extend(named.cloned());
    }
    related.truncate(MOST_RELATED);
    related
}

/// The text without the marks of Markdown.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        let shown = link.split_once("](");
        match shown.and_then(|(shown, after)| Some((shown, after.split_once(')')?.1))) {
            Some((shown, after)) => {
                out.push_str(shown);
                rest = after;
            }
            None => {
                out.push('[');
                rest = link;
            }
        }
    }
    out.push_str(rest);
    out.replace("**", "").replace('*', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_core::decide::{Do, DutyKind, ExpectState, Kind, WayStage};

    #[test]
    fn rows_are_terms_without_marks() {
        let row = "| **forward**, **back** | to [a later](a.md) phase; *not* `[x]` |";
        assert_eq!(
            term(row),
            Some(Term {
                names: vec!["forward".to_owned(), "back".to_owned()],
                head: "forward, back".to_owned(),
                meaning: "to a later phase; not `[x]`".to_owned(),
            })
        );
        assert_eq!(term("| term | meaning |"), None);
    }

    #[test]
    fn every_word_of_answers_is_a_term_or_a_command() {
        let terms = terms();
        let commands = crate::cli::manual::command_line();
        let is_known = |word: &str| {
            let mut names = terms.iter().flat_map(|term| &term.names);
            names.any(|name| name == word) || commands.find_subcommand(word).is_some()
        };
        let words = Kind::ALL.map(Kind::as_str).into_iter();
        let words = words
            .chain(DutyKind::ALL.map(DutyKind::as_str))
            .chain(Do::ALL.map(Do::as_str))
            .chain(ExpectState::ALL.map(ExpectState::as_str))
            .chain(WayStage::ALL.map(WayStage::as_str));
        let unknown: Vec<&str> = words.filter(|word| !is_known(word)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
