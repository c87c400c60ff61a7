//! What was found of one version of a document, kept for the next one: after a keystroke, most of it is the same.
//!
//! A memo changes no answer. What it holds is found by all that it depends on: a guard by its text, and the types of an
//! expression by its text and by the vocabulary of the workflow, which is everything that guards can name.

use super::fact_types::TypeMemo;
use super::guard::{GuardError, ParsedText};
use super::{Guard, Workflow};
use std::collections::HashMap;

/// How many guards are kept. An hour of typing makes thousands of half guards.
const MOST_GUARDS: usize = 4_096;

/// What is known of the guards of a document.
#[derive(Debug, Default)]
pub struct CheckMemo {
    guards: HashMap<String, ParsedText>,
    pub(super) types: TypeMemo,
}

impl CheckMemo {
    /// Whether the types of the names in this workflow are others than those of the version before: it takes a while to
    /// find them.
    #[must_use]
    pub fn has_other_types(&self, workflow: &Workflow) -> bool {
        self.types.is_about_another(workflow)
    }

    /// Parses a guard, unless the same text was parsed before. Returns the error of the text if it is none.
    pub(super) fn guard(&mut self, text: &str) -> Result<Guard, GuardError> {
        if let Some(parsed) = self.guards.get(text) {
            return Ok(Guard::of_parsed(text, parsed));
        }
        let guard = Guard::parse(text)?;
        if self.guards.len() >= MOST_GUARDS {
            self.guards.clear();
        }
        self.guards.insert(text.to_owned(), guard.parsed_text());
        Ok(guard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{Document, System, check_fast, compile_with};

    /// Versions of one document, one after the other, are found as if each were the first.
    #[test]
    fn a_memo_changes_no_finding() {
        let system = System::shipped();
        let shipped = system.workflow("global-state-machine").expect("it ships");
        let text = format!("{shipped}\n");
        let mut memo = CheckMemo::default();
        let mut with_findings = 0;
        for (old, new) in [
            ("", ""),
            ("plan.ready", "plan.redy"),
            ("plan.ready", "plan.data.nothing == 1"),
            ("plan.ready", "plan.data.nothing == 1 && true"),
            ("schema = \"plan-review\"", "schema = \"plan\""),
            (
                "[artifact.plan.facts]\n",
                "[artifact.plan.facts]\nodd = \"data.nothing.at.all\"\n",
            ),
            ("", ""),
        ] {
            assert!(text.contains(old), "{old}");
            let version = text.replacen(old, new, 1);
            let document = Document::new("global-state-machine", "w.md", version);
            let found = |memo: &mut CheckMemo| {
                let (workflow, mut findings) = compile_with(&document, &system, memo);
                let more = workflow.map(|workflow| check_fast(&document, &workflow, memo));
                findings.extend(more.into_iter().flatten());
                findings
            };
            let known = found(&mut memo);
            assert_eq!(known, found(&mut CheckMemo::default()), "{new}");
            with_findings += usize::from(!known.is_empty());
        }
        assert!(with_findings > 0);
    }

    /// What only a new vocabulary takes long for waits until the editor has the rest.
    #[test]
    fn other_types_are_those_of_names_and_not_of_guards() {
        let text = "```toml orch\n[define]\nsmall = 'a.count < 3'\n[artifact.a]\npath = 'a.json'\n[phase.p]\n\
            [phase.q]\nterminal = true\n[[rule]]\nid = 'r'\nfrom = 'p'\nwhen = 'a.ready'\nto = 'q'\nbecause = 'x'\n```\n";
        for (old, new, is_other) in [
            ("a.ready", "small", false),
            ("because = 'x'", "because = 'y'", false),
            ("a.count < 3", "a.count < 4", true),
            ("path = 'a.json'", "path = 'a.md'", true),
        ] {
            let mut memo = CheckMemo::default();
            let mut version = |text: String| {
                let document = Document::new("w", "w.md", text);
                let (workflow, _) = compile_with(&document, &System::empty(), &mut memo);
                let workflow = workflow.expect("sound");
                let is_other = memo.has_other_types(&workflow);
                let _ = check_fast(&document, &workflow, &mut memo);
                is_other
            };
            assert!(!version(text.to_owned()), "nothing is known before");
            assert!(text.contains(old), "{old}");
            assert_eq!(version(text.replace(old, new)), is_other, "{new}");
        }
    }
}
