//! `orch audit`: the verdicts on the history, line by line.

use super::layout::{Cell, counted, id_cell, paragraph, plain, row_text, styled};
use super::step::origin;
use super::vouched::{self, AuditEvidence, VouchedCounts, evidence_of};
use super::{Finding, Paint, Repository, StepView, Style};
use orch_base::{Code, Diagnostic, Digest, Hint, PhaseId, Place, TaskId, TaskPlace, Timestamp};
use orch_core::decide::{Approval, Kind, Proof, ProvenStep, Standing};
use orch_core::verification::{RerunOutcome, Vouched};
use orch_core::workflow::is_tree_name;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The envelope of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditReport {
    /// The repository that was read.
    pub repository: Repository,
    /// The number of commits that were replayed; of an incremental audit, those that are newer than `from`.
    pub commits: usize,
    /// What a range loosens for itself, or changes so that it may be looser.
    #[serde(serialize_with = "found")]
    #[cfg_attr(test, schemars(with = "Vec<Finding>"))]
    pub loosened: Vec<Diagnostic>,
    /// What an incremental audit went on from; null for any other.
    pub incremental: Option<AuditIncremental>,
    /// The number of changes with each verdict.
    #[cfg_attr(
        test,
        schemars(
            extend("propertyNames" = { "enum": Standing::ALL.map(Standing::as_str) }),
            extend("additionalProperties" = { "type": "integer", "minimum": 1 })
        )
    )]
    pub counts: BTreeMap<&'static str, usize>,
    /// The number of pieces of evidence by what stands behind them. What several steps of a task rest on counts once.
    #[cfg_attr(
        test,
        schemars(
            extend("propertyNames" = { "enum": Vouched::ALL.map(Vouched::as_str) }),
            extend("additionalProperties" = { "type": "integer", "minimum": 1 })
        )
    )]
    pub vouched: VouchedCounts,
    /// The evidence that a verification made or could have made, and that does not reach the level that was required.
    #[serde(serialize_with = "found")]
    #[cfg_attr(test, schemars(with = "Vec<Finding>"))]
    pub unvouched: Vec<Diagnostic>,
    /// Every change of a task's record, oldest first.
    #[serde(serialize_with = "written")]
    #[cfg_attr(test, schemars(with = "Vec<AuditChange>"))]
    pub changes: Vec<AuditedChange>,
    /// What came of the recorded verifications that were run again, newest first; empty if none was.
    pub reruns: Vec<RerunLine>,
}

/// A recorded verification that was run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RerunLine {
    /// The commit that records it.
    pub commit: String,
    /// The id of the task.
    pub task: String,
    /// The name of the verification.
    pub name: String,
    /// Whether it gave the same result.
    pub outcome: RerunOutcome,
    /// How both differ, or why it could not be run here.
    pub why: Option<String>,
}

impl RerunLine {
    fn text(&self, paint: Paint, width: usize) -> String {
        let style = match self.outcome {
            RerunOutcome::Same => Style::Good,
            RerunOutcome::Other => Style::Bad,
            RerunOutcome::NotAvailable => Style::Warn,
        };
        let outcome = paint.paint(style, self.outcome.as_str());
        let commit = self.commit.get(..10).unwrap_or(&self.commit);
        let mut text = format!(
            "{commit}  rerun of {} {}: {outcome}\n",
            self.task, self.name
        );
        if let Some(why) = &self.why {
            paragraph(&mut text, why, 4, 0, width);
        }
        text
    }
}

super::json::documents! { AuditReport = "audit" }

/// What an incremental audit went on from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditIncremental {
    /// The commit whose whole history was accepted before; null if all commits were replayed.
    pub from: Option<String>,
    /// The number of commits in that history.
    pub commits: usize,
    /// The number of changes of records in that history. Those that are unverifiable or acknowledged are listed again.
    pub changes: usize,
    /// Why all commits were replayed; null if they were not.
    pub why: Option<String>,
    /// Why the next audit cannot continue from here; null if it can.
    pub not_kept: Option<String>,
}

/// One change of a task's record in one commit, with its verdict. Its JSON form, [`AuditChange`], is made when it is
/// written: of a long history all forms together would take several times as much memory.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedChange {
    /// The commit.
    pub commit: AuditCommit,
    /// The id of the task.
    pub task: TaskId,
    /// Where its files are.
    pub place: TaskPlace,
    /// The verdict.
    pub proof: Proof,
    /// Whether a step of it holds only by rules that stand at neither end of the range.
    pub is_doubted: bool,
    /// Why a forged change is acceptable, if `orch.toml` acknowledges it.
    pub acknowledged: Option<String>,
}

/// The commit of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditCommit {
    /// The id of the commit.
    pub id: Digest,
    /// Its first parent: the commit that contains the code on which its steps rest.
    pub parent: Option<Digest>,
    /// The author time.
    pub at: Timestamp,
    /// The author.
    pub author: String,
}

/// Writes each finding in its JSON form.
fn found<S: Serializer>(findings: &[Diagnostic], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings.iter().map(Finding::of))
}

/// Writes each change in its JSON form.
fn written<S: Serializer>(changes: &[AuditedChange], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(changes.iter().map(AuditChange::of))
}

/// One change of a task's record in one commit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditChange {
    /// The id of the commit.
    pub commit: String,
    /// The author time, in UTC.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub at: String,
    /// The author.
    pub author: String,
    /// The id of the task.
    pub task: String,
    /// Its directory, or its file if it is one.
    pub path: String,
    /// The verdict on the change.
    pub standing: Standing,
    /// The reason, unless the verdict says everything.
    pub why: Option<String>,
    /// The rule that was broken, if the change is forged.
    pub rule: Option<String>,
    /// Why a forged change is acceptable, if `orch.toml` acknowledges it.
    pub acknowledged: Option<String>,
    /// The recorded steps, oldest first.
    pub steps: Vec<AuditStep>,
}

/// A recorded step with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditStep {
    /// The recorded step.
    #[serde(flatten)]
    pub step: StepView,
    /// The verdict on the step.
    pub standing: Standing,
    /// The reason, unless the verdict says everything.
    pub why: Option<String>,
    /// If the step needs a person: `claimed` by the record, or `verified` by a signature.
    #[cfg_attr(test, schemars(extend("enum" = ["claimed", "verified", null])))]
    pub approval: Option<&'static str>,
    /// The signer, if the approval is verified.
    pub signer: Option<String>,
    /// The committed code that the step rests on.
    pub code: Vec<AuditCode>,
    /// What stands behind the files that the step rests on, or that it records as the result of a verification.
    pub vouched: Vec<AuditEvidence>,
}

/// Code that a step rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditCode {
    /// The name that stands for it in the evidence.
    pub path: String,
    /// The recorded digest.
    pub digest: String,
    /// The commit that contains the code; null if the step is forged or unverifiable.
    pub commit: Option<String>,
}

impl AuditReport {
    /// The envelope of these changes. What stands behind their evidence is counted by [`Self::weigh`].
    #[must_use]
    pub fn new(repository: Repository, commits: usize, changes: Vec<AuditedChange>) -> Self {
        let mut counts = BTreeMap::new();
        for change in &changes {
            *counts.entry(change.proof.standing.as_str()).or_insert(0) += 1;
        }
        Self {
            repository,
            commits,
            loosened: Vec::new(),
            incremental: None,
            counts,
            vouched: VouchedCounts::new(),
            unvouched: Vec::new(),
            changes,
            reruns: Vec::new(),
        }
    }

    /// The same report with only the changes of tasks for whose id `is_meant` is true.
    #[must_use]
    pub fn of_tasks(self, is_meant: impl Fn(&str) -> bool) -> Self {
        let changes = self
            .changes
            .into_iter()
            .filter(|change| is_meant(change.task.as_str()))
            .collect();
        let loosened = self.loosened;
        let incremental = self.incremental;
        Self {
            loosened,
            incremental,
            ..Self::new(self.repository, self.commits, changes)
        }
    }

    /// Counts what stands behind the evidence, and holds what a verification made or could have made against a level.
    pub fn weigh(&mut self, required: Option<Vouched>) {
        self.vouched = vouched::counts(&self.changes);
        self.unvouched = match required {
            None => Vec::new(),
            Some(level) => vouched::unvouched(&self.changes, level),
        };
    }

    /// Whether any change has this verdict, apart from those that are acknowledged.
    #[must_use]
    pub fn has(&self, standing: Standing) -> bool {
        self.changes
            .iter()
            .any(|change| change.proof.standing == standing && change.acknowledged.is_none())
    }

    /// Whether any change holds only by rules that stand at neither end of the range, apart from those that are
    /// acknowledged.
    #[must_use]
    pub fn has_doubted(&self) -> bool {
        self.changes
            .iter()
            .any(|change| change.is_doubted && change.acknowledged.is_none())
    }

    /// Whether nothing speaks against what was audited. For strict callers, what cannot be verified and looser rules do.
    #[must_use]
    pub fn is_fine(&self, is_strict: bool) -> bool {
        let is_unproven =
            is_strict && (self.has(Standing::Unverifiable) || !self.loosened.is_empty());
        let mut reruns = self.reruns.iter();
        let is_other = reruns.any(|one| one.outcome == RerunOutcome::Other);
        let is_wrong = self.has(Standing::Forged)
            || self.has_doubted()
            || !self.unvouched.is_empty()
            || is_unproven
            || is_other;
        !is_wrong
    }

    /// A summary such as `12 commits, 3 changes: 2 proven, 1 forged`.
    #[must_use]
    pub fn summary(&self) -> String {
        let counts: Vec<String> = Standing::ALL
            .iter()
            .filter_map(|standing| {
                Some(format!(
                    "{} {}",
                    self.counts.get(standing.as_str())?,
                    standing.as_str()
                ))
            })
            .collect();
        let colon = if counts.is_empty() { "" } else { ": " };
        let commits = counted(self.commits, "commit");
        let changes = counted(self.changes.len(), "change");
        format!(
            "{commits}, {changes} of records{colon}{}",
            counts.join(", ")
        )
    }

    /// How much of the evidence is vouched for, such as `evidence: 4 none, 2 run`; `None` if no verification made any of
    /// it, or could have.
    #[must_use]
    pub fn vouched_summary(&self) -> Option<String> {
        let mut steps = self.changes.iter().flat_map(|change| &change.proof.steps);
        if steps.all(|step| step.vouched.is_empty()) {
            return None;
        }
        let counts: Vec<String> = Vouched::ALL
            .iter()
            .filter_map(|level| {
                Some(format!(
                    "{} {}",
                    self.vouched.get(level.as_str())?,
                    level.as_str()
                ))
            })
            .collect();
        Some(format!("evidence: {}", counts.join(", ")))
    }

    /// Where an incremental audit went on from, and whether the next one can continue from here.
    #[must_use]
    pub fn continuation(&self) -> Option<String> {
        let incremental = self.incremental.as_ref()?;
        let began = match (&incremental.from, &incremental.why) {
            (Some(from), _) => {
                let from: String = from.chars().take(10).collect();
                let commits = counted(incremental.commits, "commit");
                let changes = counted(incremental.changes, "change");
                format!(
                    "continued after {from}: {commits} with {changes} of records were audited before"
                )
            }
            (None, why) => format!(
                "audited the whole history: {}",
                why.as_deref().unwrap_or_default()
            ),
        };
        let kept = incremental.not_kept.as_ref();
        let kept = kept.map_or(String::new(), |why| {
            format!("; the next audit does not continue here: {why}")
        });
        Some(began + &kept)
    }

    /// The audit as text: aligned lines, with the reason below every change that is not simply proven.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        // The rows of a long history are made twice rather than kept.
        let head = row_text(
            self.changes.iter().map(AuditedChange::row),
            &[0, 1, 2],
            0,
            paint,
            width,
        );
        let mut out = String::new();
        for audited in &self.changes {
            out.push_str(&head(&audited.row()));
            let AuditedChange {
                proof,
                acknowledged,
                ..
            } = audited;
            if let Some(why) = &proof.why {
                paragraph(&mut out, why, 4, 0, width);
            }
            if let (Some(rule), true) = (&proof.rule, proof.standing == Standing::Forged) {
                paragraph(
                    &mut out,
                    &format!("the change breaks the rule `{rule}`"),
                    4,
                    0,
                    width,
                );
            }
            if let Some(reason) = acknowledged {
                paragraph(
                    &mut out,
                    &format!("acknowledged in orch.toml: {reason}"),
                    4,
                    0,
                    width,
                );
            }
            // Most steps of a long history say nothing more.
            let steps = audited.steps(|step| !is_plain(step));
            for step in steps.iter().filter(|step| !step.is_order()) {
                if let Some(approval) = step.approval {
                    let text = format!("approved by {} ({approval}{})", step.by().0, step.signed());
                    paragraph(&mut out, &text, 4, 0, width);
                }
            }
            for code in steps.iter().flat_map(|step| &step.code) {
                let mut text = format!("on {}, {:.10}", code.path, code.digest);
                if let Some(commit) = &code.commit {
                    text.push_str(&format!(" of {commit:.10}"));
                }
                paragraph(&mut out, &text, 4, 0, width);
            }
            for step in steps.iter().filter(|step| step.is_order()) {
                let (name, kind) = step.by();
                let reason = &step.step.reason;
                let text = format!(
                    "{} by {name} ({kind}{}): {reason}",
                    step.step.kind.as_str(),
                    step.signed()
                );
                paragraph(&mut out, &text, 4, 0, width);
            }
        }
        for one in &self.reruns {
            out.push_str(&one.text(paint, width));
        }
        out
    }

    /// The forged and unverifiable changes, and the evidence that does not reach the required level, as findings.
    #[must_use]
    pub fn findings(&self) -> Vec<Diagnostic> {
        let wrong = self.changes.iter().filter_map(AuditedChange::finding);
        let others = self.unvouched.iter().chain(&self.loosened).cloned();
        wrong.chain(others).collect()
    }
}

impl AuditChange {
    /// The JSON form of a change.
    fn of(change: &AuditedChange) -> Self {
        let AuditedChange {
            commit,
            task,
            place,
            proof,
            acknowledged,
            ..
        } = change;
        Self {
            at: commit.at.to_string(),
            author: commit.author.clone(),
            task: task.to_string(),
            path: place.shown([]).to_string(),
            standing: proof.standing,
            why: proof.why.clone(),
            rule: proof.rule.clone(),
            acknowledged: acknowledged.clone(),
            steps: change.steps(|_| true),
            commit: commit.id.to_string(),
        }
    }
}

impl AuditedChange {
    /// The steps that are wanted, in their JSON form.
    fn steps(&self, is_wanted: impl Fn(&ProvenStep) -> bool) -> Vec<AuditStep> {
        let wanted = self.proof.steps.iter().filter(|step| is_wanted(step));
        wanted.map(|step| AuditStep::of(self, step)).collect()
    }

    fn row(&self) -> Vec<Cell> {
        let Proof {
            standing, steps, ..
        } = &self.proof;
        let style = match standing {
            Standing::Forged => Style::Bad,
            Standing::Unverifiable | Standing::Overridden | Standing::Claimed => Style::Warn,
            Standing::Proven | Standing::Restored | Standing::Merged | Standing::Folded => {
                Style::Good
            }
        };
        let moved = match (steps.first(), steps.last()) {
            (Some(first), Some(last)) => {
                format!(
                    "{} -> {}",
                    origin(first.entry.from.as_ref().map(PhaseId::as_str)),
                    last.entry.to
                )
            }
            _ => String::new(),
        };
        let rule = steps
            .last()
            .and_then(|step| step.entry.rule.clone())
            .unwrap_or_default();
        vec![
            styled(self.commit.id.short(), Style::Dim),
            styled(standing.as_str(), style),
            id_cell(self.task.as_str()),
            plain(moved),
            plain(rule),
        ]
    }

    fn finding(&self) -> Option<Diagnostic> {
        let commit = self.commit.id.short();
        let why = self.proof.why.as_deref().unwrap_or_default();
        let message = format!("commit {commit}, task `{}`: {why}", self.task);
        let finding = match self.proof.standing {
            _ if self.acknowledged.is_some() => return None,
            Standing::Forged => Diagnostic::error(Code::Forged, message).hint(
                Hint::run(&["git", "show", &commit])
                    .text("; to undo it: ")
                    .command(&["git", "revert", &commit]),
            ),
            Standing::Unverifiable => Diagnostic::warning(Code::Unverifiable, message),
            _ => return None,
        };
        let path = format!("{}/state.json", self.place.shown([]));
        Some(finding.at(Place {
            path,
            ..Place::default()
        }))
    }
}

/// Whether a rule yielded a step, on files alone and without a person.
fn is_plain(step: &ProvenStep) -> bool {
    let mut evidence = step.entry.evidence.iter();
    step.entry.rule.is_some()
        && step.approval.is_none()
        && !evidence.any(|(path, _)| is_tree_name(path))
}

/// The code that a step rests on. The step's own commit contains no code, so it is the code of its parent.
fn code(step: &ProvenStep, parent: Option<&String>) -> Vec<AuditCode> {
    let stands = !matches!(step.standing, Standing::Unverifiable | Standing::Forged);
    let mut code = Vec::new();
    for (path, digest) in &step.entry.evidence {
        if is_tree_name(path) {
            code.push(AuditCode {
                path: path.clone(),
                digest: digest.clone(),
                commit: parent.filter(|_| stands).cloned(),
            });
        }
    }
    code
}

impl AuditStep {
    fn of(change: &AuditedChange, step: &ProvenStep) -> Self {
        let commit = change.commit.id.to_string();
        let parent = change.commit.parent.map(|parent| parent.to_string());
        let task = change.task.as_str();
        let (approval, signer) = match &step.approval {
            None => (None, None),
            Some(Approval::Claimed) => (Some("claimed"), None),
            Some(Approval::Verified { signer }) => (Some("verified"), Some(signer.clone())),
        };
        Self {
            step: StepView::recorded(task, &change.place, &step.entry, Some(&commit)),
            standing: step.standing,
            why: step.why.clone(),
            approval,
            signer,
            code: code(step, parent.as_ref()),
            vouched: evidence_of(step),
        }
    }

    /// The actor of the step: a name, and the kind of actor.
    fn by(&self) -> (&str, &'static str) {
        self.step
            .actor
            .as_ref()
            .map_or(("unknown", "none"), |actor| {
                (&actor.name, actor.kind.as_str())
            })
    }

    /// The signer, as an addition to the actor.
    fn signed(&self) -> String {
        self.signer
            .as_ref()
            .map_or(String::new(), |signer| format!(", signed by {signer}"))
    }

    /// Whether an actor made the step without a rule.
    fn is_order(&self) -> bool {
        match self.step.kind {
            Kind::Create => false,
            Kind::Rename => self.approval.is_some(),
            _ => self.step.rule.is_none(),
        }
    }
}
