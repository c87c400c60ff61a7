//! `orch audit`: what replaying history came to, line by line.

use super::json::SCHEMA_VERSION;
use super::layout::{Cell, columns, counted, paragraph, plain, styled};
use super::log::LogActor;
use super::{Paint, Repository, Style};
use crate::base::{Code, Diagnostic, Place};
use crate::decide::{Approval, Proof, ProvenStep, Standing};
use crate::workflow::is_tree_name;
use serde::Serialize;
use std::collections::BTreeMap;

/// The envelope of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditReport {
    /// The version of this shape.
    pub schema_version: u32,
    /// `audit`.
    pub kind: &'static str,
    /// What was looked at.
    pub repository: Repository,
    /// How many commits were walked.
    pub commits: usize,
    /// How many changes there are of each standing.
    pub counts: BTreeMap<&'static str, usize>,
    /// Every change of a task's record, oldest first.
    pub changes: Vec<AuditChange>,
}

/// One change of a task's record in one commit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditChange {
    /// The commit.
    pub commit: String,
    /// When it was authored, in UTC.
    pub at: String,
    /// Who authored it.
    pub author: String,
    /// The task.
    pub task: String,
    /// Its directory.
    pub path: String,
    /// The verdict.
    pub standing: &'static str,
    /// Why, where the verdict does not say everything.
    pub why: Option<String>,
    /// The rule that is broken, where it is forged.
    pub rule: Option<String>,
    /// The recorded steps, oldest first.
    pub steps: Vec<AuditStep>,
}

/// A commit, and the first that it follows.
pub struct AuditCommit<'a> {
    /// Its id.
    pub id: &'a str,
    /// The commit on whose code its steps were taken.
    pub parent: Option<&'a str>,
}

/// One recorded step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditStep {
    /// Its number, from 1.
    pub seq: u64,
    /// The phase that was left; null for the creation of the task.
    pub from: Option<String>,
    /// The phase that was entered.
    pub to: String,
    /// What kind of transition.
    pub kind: &'static str,
    /// The rule that yielded it.
    pub rule: Option<String>,
    /// Why it was made.
    pub reason: String,
    /// Who made it.
    pub actor: LogActor,
    /// The verdict.
    pub standing: &'static str,
    /// Why, where the verdict does not say everything.
    pub why: Option<String>,
    /// Where the rule asks for a person: `claimed` by the record, or `verified` by a signature.
    pub approval: Option<&'static str>,
    /// Who signed, where that is verified.
    pub signer: Option<String>,
    /// The committed code that it rests on.
    pub code: Vec<AuditCode>,
}

/// Code that a step rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditCode {
    /// The name that stands for it among the evidence.
    pub path: String,
    /// Its digest, as the record says.
    pub digest: String,
    /// The commit whose code it is; null where the step does not stand.
    pub commit: Option<String>,
}

impl AuditReport {
    /// The envelope of these changes.
    #[must_use]
    pub fn new(repository: Repository, commits: usize, changes: Vec<AuditChange>) -> Self {
        let mut counts = BTreeMap::new();
        for change in &changes {
            *counts.entry(change.standing).or_insert(0) += 1;
        }
        Self { schema_version: SCHEMA_VERSION, kind: "audit", repository, commits, counts, changes }
    }

    /// Whether anything is forged.
    #[must_use]
    pub fn finds_forgery(&self) -> bool {
        self.counts.contains_key(Standing::Forged.as_str())
    }

    /// `12 commits, 3 changes: 2 proven, 1 forged`.
    #[must_use]
    pub fn summary(&self) -> String {
        let counts: Vec<String> = Standing::ALL
            .iter()
            .filter_map(|standing| {
                Some(format!("{} {}", self.counts.get(standing.as_str())?, standing.as_str()))
            })
            .collect();
        let colon = if counts.is_empty() { "" } else { ": " };
        let (commits, changes) = (counted(self.commits, "commit"), counted(self.changes.len(), "change"));
        format!("{commits}, {changes} of records{colon}{}", counts.join(", "))
    }

    /// The audit as text: aligned lines; below those that are not plainly proven, why.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        let rows: Vec<Vec<Cell>> = self.changes.iter().map(AuditChange::row).collect();
        let heads = columns(&rows, 0, paint, width);
        let mut out = String::new();
        for (change, head) in self.changes.iter().zip(heads.lines()) {
            out.push_str(head);
            out.push('\n');
            if let Some(why) = &change.why {
                paragraph(&mut out, why, 4, 0, width);
            }
            if let (Some(rule), true) = (&change.rule, change.standing == Standing::Forged.as_str()) {
                paragraph(&mut out, &format!("it breaks the rule `{rule}`"), 4, 0, width);
            }
            for step in &change.steps {
                if let Some(approval) = step.approval {
                    let signed =
                        step.signer.as_ref().map_or(String::new(), |signer| format!(", signed by {signer}"));
                    paragraph(
                        &mut out,
                        &format!("approved by {} ({approval}{signed})", step.actor.name),
                        4,
                        0,
                        width,
                    );
                }
            }
            for code in change.steps.iter().flat_map(|step| &step.code) {
                let short = |digest: &str| digest.chars().take(10).collect::<String>();
                let place =
                    code.commit.as_ref().map_or(String::new(), |commit| format!(" of {}", short(commit)));
                paragraph(
                    &mut out,
                    &format!("on {}, {}{place}", code.path, short(&code.digest)),
                    4,
                    0,
                    width,
                );
            }
            for step in change.steps.iter().filter(|step| step.rule.is_none() && step.kind != "create") {
                let by = format!("{} ({})", step.actor.name, step.actor.kind);
                paragraph(&mut out, &format!("{} by {by}: {}", step.kind, step.reason), 4, 0, width);
            }
        }
        out
    }

    /// What is forged, or cannot be verified, as findings.
    #[must_use]
    pub fn findings(&self) -> Vec<Diagnostic> {
        self.changes.iter().filter_map(AuditChange::finding).collect()
    }
}

impl AuditChange {
    /// The wire shape of a change. `at` is the time of the commit.
    #[must_use]
    pub fn of(
        commit: &AuditCommit<'_>,
        at: String,
        author: String,
        task: &str,
        path: &str,
        proof: &Proof,
    ) -> Self {
        Self {
            commit: commit.id.to_owned(),
            at,
            author,
            task: task.to_owned(),
            path: path.to_owned(),
            standing: proof.standing.as_str(),
            why: proof.why.clone(),
            rule: proof.rule.clone(),
            steps: proof.steps.iter().map(|step| AuditStep::of(step, commit.parent)).collect(),
        }
    }

    fn row(&self) -> Vec<Cell> {
        let style = match self.standing {
            "forged" => Style::Bad,
            "unverifiable" | "overridden" | "claimed" => Style::Warn,
            _ => Style::Good,
        };
        let commit: String = self.commit.chars().take(10).collect();
        let moved = match (self.steps.first(), self.steps.last()) {
            (Some(first), Some(last)) => format!("{} -> {}", first.from.as_deref().unwrap_or("new"), last.to),
            _ => String::new(),
        };
        let rule = self.steps.last().and_then(|step| step.rule.clone()).unwrap_or_default();
        vec![
            styled(commit, Style::Dim),
            styled(self.standing, style),
            styled(&self.task, Style::Strong),
            plain(moved),
            plain(rule),
        ]
    }

    fn finding(&self) -> Option<Diagnostic> {
        let commit: String = self.commit.chars().take(10).collect();
        let why = self.why.as_deref().unwrap_or_default();
        let message = format!("commit {commit}, task `{}`: {why}", self.task);
        let finding = match self.standing {
            "forged" => Diagnostic::error(Code::Forged, message)
                .hint(format!("see: git show {commit}; undo it by: git revert {commit}")),
            "unverifiable" => Diagnostic::warning(Code::Unverifiable, message),
            _ => return None,
        };
        Some(finding.at(Place { path: format!("{}/state.json", self.path), ..Place::default() }))
    }
}

/// The code that a step rests on. Its own commit holds none, so it is that of the commit before.
fn code(step: &ProvenStep, parent: Option<&str>) -> Vec<AuditCode> {
    let stands = !matches!(step.standing, Standing::Unverifiable | Standing::Forged);
    let trees = step.entry.evidence.iter().filter(|(path, _)| is_tree_name(path));
    let row = |(path, digest): &(String, String)| AuditCode {
        path: path.clone(),
        digest: digest.clone(),
        commit: parent.filter(|_| stands).map(str::to_owned),
    };
    trees.map(row).collect()
}

impl AuditStep {
    fn of(step: &ProvenStep, parent: Option<&str>) -> Self {
        let entry = &step.entry;
        let (approval, signer) = match &step.approval {
            None => (None, None),
            Some(Approval::Claimed) => (Some("claimed"), None),
            Some(Approval::Verified { signer }) => (Some("verified"), Some(signer.clone())),
        };
        Self {
            approval,
            signer,
            code: code(step, parent),
            seq: entry.seq,
            from: entry.from.as_ref().map(ToString::to_string),
            to: entry.to.to_string(),
            kind: entry.kind.as_str(),
            rule: entry.rule.clone(),
            reason: entry.reason.clone(),
            actor: LogActor { kind: entry.actor.kind.as_str(), name: entry.actor.name.clone() },
            standing: step.standing.as_str(),
            why: step.why.clone(),
        }
    }
}
