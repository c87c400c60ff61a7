//! Names in a document: those that guards read, and those that must be unique.

use super::compile::{ARTIFACT_MEMBERS, Compiler, GUARD_ROOTS};
use super::place::{find_word, source_offset};
use super::raw::{RawArtifact, RawRule, Text};
use super::{AFTER, APPROVALS, Artifact, CHILDREN, Guard, VERIFIED};
use crate::Spanned;
use orch_base::{Code, Diagnostic, Hint, WorkflowName};

/// The members of what people said of a phase, in a guard.
const APPROVAL_MEMBERS: [&str; 8] = [
    "count", "needed", "approved", "teams", "missing", "rejected", "stale", "writers",
];
/// The members of an action in a guard.
const ACTION_MEMBERS: [&str; 2] = ["done", "skipped"];
/// The members of the run in a guard.
const RUN_MEMBERS: [&str; 4] = ["mode", "errors", "max_errors", "chosen"];

/// What to write for a name that other languages know.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "True" | "TRUE" => "CEL says `true`",
        "False" | "FALSE" => "CEL says `false`",
        "None" | "nil" | "NULL" | "Null" | "undefined" => "CEL says `null`",
        "now" | "today" | "date" | "time" | "clock" | "Date" => {
            "guards see no clock: the same bytes give the same decision at any time. Let an artifact say when it was made, or declare a `[deadline.PHASE]` and read `lapsed.PHASE`"
        }
        "lapsed" => {
            "the document has no deadline: add `[deadline.PHASE]` with `after`, such as after = \"48h\""
        }
        "env" | "ENV" | "os" | "environment" | "process" => {
            "guards see no environment: the same bytes give the same decision everywhere"
        }
        _ => return None,
    })
}

impl Compiler<'_> {
    /// Parses a guard and applies a check to it. An invalid guard is reported and replaced by another, so that names
    /// that depend on it cause no further findings; the document is rejected anyway.
    pub(super) fn guard(&mut self, text: &Text, check: impl FnOnce(&mut Self, &Guard)) -> Guard {
        if self.is_checked {
            return Guard::known(&text.value).at(text.span.clone());
        }
        match self.memo.guard(&text.value) {
            Ok(guard) => {
                check(self, &guard);
                guard.at(text.span.clone())
            }
            Err(error) => {
                let at = self.inside(text, error.offset);
                let problem = Diagnostic::error(error.code, error.message);
                self.problem(
                    &(at..at + 1),
                    Diagnostic {
                        hint: error.hint.map(Hint::from),
                        ..problem
                    },
                );
                Guard::always()
            }
        }
    }

    /// Parses a guard over artifacts and named expressions, and checks its names.
    pub(super) fn named_guard(
        &mut self,
        text: &Text,
        artifacts: &[Artifact],
        defines: &[(String, Guard)],
    ) -> Guard {
        self.guard(text, |compiler, guard| {
            compiler.check_names(text, guard, artifacts, defines)
        })
    }

    /// Reports each path of a guard that begins with none of the names.
    pub(super) fn roots(&mut self, text: &Text, guard: &Guard, names: &[&str]) {
        for chain in guard
            .chains()
            .filter(|chain| !names.contains(&chain[0].as_str()))
        {
            let root = self.inner(text, &chain[0]);
            self.unknown(&root, Code::GuardUnknownName, "name", names.iter().copied());
        }
    }

    /// Checks every name that a guard reads.
    pub(super) fn check_names(
        &mut self,
        text: &Text,
        guard: &Guard,
        artifacts: &[Artifact],
        defines: &[(String, Guard)],
    ) {
        for chain in guard.chains() {
            let root = chain[0].as_str();
            if root == "run" {
                self.member(text, chain, &RUN_MEMBERS);
            }
            if root == "action" {
                let names = self.actions.clone();
                self.member(
                    text,
                    chain,
                    &names.iter().map(String::as_str).collect::<Vec<_>>(),
                );
                self.member(text, chain.get(1..).unwrap_or_default(), &ACTION_MEMBERS);
            }
            if GUARD_ROOTS.contains(&root) || defines.iter().any(|(name, _)| name == root) {
                continue;
            }
            let is_own = artifacts
                .iter()
                .any(|artifact| artifact.name.as_str() == root);
            if root == APPROVALS && !is_own && !self.approved.is_empty() {
                let phases = self.approved.clone();
                self.member(
                    text,
                    chain,
                    &phases.iter().map(String::as_str).collect::<Vec<_>>(),
                );
                self.member(text, chain.get(1..).unwrap_or_default(), &APPROVAL_MEMBERS);
                continue;
            }
            if !is_own && self.rules().lapsed_names(text, chain) {
                continue;
            }
            if matches!(root, AFTER | CHILDREN) && !is_own {
                continue;
            }
            if root == VERIFIED && !is_own {
                self.verified_names(text, chain);
                continue;
            }
            let Some(artifact) = artifacts
                .iter()
                .find(|artifact| artifact.name.as_str() == root)
            else {
                let known: Vec<&str> = artifacts
                    .iter()
                    .map(|artifact| artifact.name.as_str())
                    .chain(defines.iter().map(|(name, _)| name.as_str()))
                    .chain(GUARD_ROOTS)
                    .collect();
                let at = self.inner(text, root);
                match elsewhere(root) {
                    Some(hint) => {
                        let message = format!("there is no artifact or name `{root}`");
                        let problem = Diagnostic::error(Code::GuardUnknownName, message);
                        self.problem(&at.span, problem.hint(hint));
                    }
                    None => self.unknown(
                        &at,
                        Code::GuardUnknownName,
                        "artifact or name",
                        known.into_iter(),
                    ),
                }
                continue;
            };
            let members: Vec<&str> = ARTIFACT_MEMBERS
                .into_iter()
                .chain(artifact.facts.iter().map(|(name, _)| name.as_str()))
                .collect();
            match chain.get(1) {
                Some(_) => self.member(text, chain, &members),
                None => {
                    let at = self.inner(text, root);
                    let message = format!("`{root}` is an artifact; use one of its facts");
                    let hint = format!("for example `{root}.ready`");
                    self.problem(
                        &at.span,
                        Diagnostic::error(Code::GuardUnknownName, message).hint(hint),
                    );
                }
            }
        }
    }

    /// Reports a member that its root does not have.
    pub(super) fn member(&mut self, text: &Text, chain: &[String], members: &[&str]) {
        let [root, member, ..] = chain else { return };
        if members.contains(&member.as_str()) {
            return;
        }
        let mut at = self.inner(text, &format!("{root}.{member}"));
        at.span.start += root.len() + 1;
        at.value.clone_from(member);
        let what = format!("fact of `{root}` named");
        self.unknown(&at, Code::GuardUnknownName, &what, members.iter().copied());
    }

    /// A word inside an expression, with its place in the document.
    pub(super) fn inner(&self, text: &Text, word: &str) -> Text {
        let offset = find_word(&text.value, word).unwrap_or_default();
        let start = self.inside(text, offset);
        let end = self.inside(text, offset + word.len());
        Spanned {
            value: word.to_owned(),
            span: start..end,
        }
    }

    /// Maps an offset in a quoted text to an offset in the document.
    fn inside(&self, text: &Text, offset: usize) -> usize {
        text.span.start + source_offset(&self.document.text[text.span.clone()], &text.value, offset)
    }

    /// Reports names that occur twice in one list, or in two lists that must not share names.
    pub(super) fn twice<'t>(&mut self, texts: impl Iterator<Item = &'t Text>) {
        let mut seen: Vec<&str> = Vec::new();
        for text in texts {
            if seen.contains(&text.value.as_str()) {
                let message = format!("`{}` is named twice", text.value);
                self.problem(
                    &text.span,
                    Diagnostic::error(Code::WorkflowDuplicate, message),
                );
            }
            seen.push(&text.value);
        }
    }

    /// Names and aliases must be unique, so that each identifies one. `what` names one of them in words.
    pub(super) fn aliases<'t>(
        &mut self,
        what: &str,
        named: impl Iterator<Item = (&'t Text, &'t [Text])> + Clone,
    ) {
        let mut seen: Vec<&str> = named.clone().map(|(name, _)| name.value.as_str()).collect();
        for alias in named.flat_map(|(_, aliases)| aliases) {
            if seen.contains(&alias.value.as_str()) {
                let message = format!("`{}` is already the name of {what}", alias.value);
                self.problem(
                    &alias.span,
                    Diagnostic::error(Code::WorkflowDuplicate, message),
                );
            }
            seen.push(&alias.value);
        }
    }

    /// What the document forgets is no artifact of it.
    pub(super) fn forgets(&mut self, forgets: &[Text], artifacts: &[RawArtifact]) {
        self.twice(forgets.iter());
        for text in forgets {
            let mut names = artifacts
                .iter()
                .flat_map(|artifact| std::iter::once(&artifact.name).chain(&artifact.aliases));
            if names.any(|name| name.value == text.value) {
                let message = format!("`{}` is an artifact, so it cannot be forgotten", text.value);
                self.problem(
                    &text.span,
                    Diagnostic::error(Code::WorkflowDuplicate, message),
                );
            }
        }
    }

    /// The aliases of the document are names of documents, and of none that is there.
    pub(super) fn own_aliases(&mut self, aliases: &[Text]) {
        self.twice(aliases.iter());
        for alias in aliases {
            self.name(alias, |text| WorkflowName::new(text));
            if self.system.workflow(&alias.value).is_some() {
                let message = format!("`{}` is the name of a workflow", alias.value);
                let hint = "an alias is the name that the document had before; remove the document of that name, or the alias";
                self.problem(
                    &alias.span,
                    Diagnostic::error(Code::WorkflowDuplicate, message).hint(hint),
                );
            }
        }
    }

    pub(super) fn rule_ids(&mut self, rules: &[RawRule]) {
        let ids: Vec<&Text> = rules.iter().filter_map(|rule| rule.id.as_ref()).collect();
        for (index, id) in ids.iter().enumerate() {
            if let Some(first) = ids[..index].iter().find(|other| other.value == id.value) {
                let line = self.place(&first.span).line.unwrap_or_default();
                let message = format!("rule `{}` is already declared on line {line}", id.value);
                self.problem(
                    &id.span,
                    Diagnostic::error(Code::WorkflowDuplicate, message),
                );
            }
        }
    }
}
