//! How a version of a document names what an earlier one had under other names.

use super::Workflow;
use std::collections::BTreeMap;

/// What has a field for each phase or artifact.
const BY_NAME: [&str; 2] = ["approvals.", "state.waived."];

/// The present names by the former ones, of artifacts and of phases.
#[derive(Debug, Default)]
pub(super) struct Renames {
    names: BTreeMap<String, String>,
}

impl Renames {
    /// Reads the aliases of the present version, as far as they name what the former one had.
    pub(super) fn between(former: &Workflow, now: &Workflow) -> Self {
        let mut names = BTreeMap::new();
        for artifact in &former.artifacts {
            let name = artifact.name.as_str();
            if let Some(own) = now.artifact_named(name) {
                names.insert(name.to_owned(), own.name.to_string());
            }
        }
        for phase in &former.phases {
            let name = phase.id.as_str();
            if let Some(own) = now.phase_named(name) {
                names.insert(name.to_owned(), own.id.to_string());
            }
        }
        names.retain(|former, now| former != now);
        Self { names }
    }

    /// The present name of what had this name.
    pub(super) fn name<'n>(&'n self, former: &'n str) -> &'n str {
        self.names.get(former).map_or(former, String::as_str)
    }

    /// An expression of the former version with the present names in it. The name of a field is no name, unless it is a field
    /// for each phase or artifact.
    pub(super) fn expression(&self, former: &str) -> String {
        if self.names.is_empty() {
            return former.to_owned();
        }
        let mut text = String::new();
        for word in words(former) {
            let is_field = text.ends_with('.') && !names_follow(&text);
            text.push_str(if is_field { word } else { self.name(word) });
        }
        text
    }
}

/// Whether an expression goes on with the name of a phase or of an artifact, although a dot is before it.
fn names_follow(expression: &str) -> bool {
    BY_NAME.iter().any(|by_name| {
        let before = expression.strip_suffix(by_name);
        before.is_some_and(|before| {
            !before.ends_with(|letter: char| letter.is_alphanumeric() || "_.".contains(letter))
        })
    })
}

/// The words of an expression, and what is between them.
pub(super) fn words(expression: &str) -> impl Iterator<Item = &str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut rest = expression;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let ends = |letter: char| is_word(letter) != is_word(first);
        let (word, more) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        rest = more;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_renamed_and_fields_are_not() {
        let names = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        let renames = Renames { names };
        for (former, now) in [
            ("a.ready && !a.data.a", "b.ready && !b.data.a"),
            (
                "has(a.data.x) || phase == 'a'",
                "has(b.data.x) || phase == 'b'",
            ),
            ("aa.ready", "aa.ready"),
            (
                "size(approvals.a.approved) > 1 && has(state.waived.a)",
                "size(approvals.b.approved) > 1 && has(state.waived.b)",
            ),
            ("a.data.approvals.a", "b.data.approvals.a"),
            ("", ""),
        ] {
            assert_eq!(renames.expression(former), now);
        }
    }
}
