//! What the rules say about one task now, and everything that led to it.

use super::{
    CodeBase, Detail, Direction, DueVerification, ExecutorTrace, FileWriter, Ground, LostTests,
    RecordVersion, Relations, RestsOn, RunningDeadline, SendBack, State, WayStop, direction,
};
use crate::workflow::{Format, Owner, Workflow, is_tree_name};
use orch_base::{
    ActionName, ArtifactName, Code, Diagnostic, Digest, PhaseId, Place, RuleId, TaskId,
    WorkflowName, words,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A decision and its reasons. It is computed, never stored; every output of `orch` renders this value.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The id of the task.
    pub task: TaskId,
    /// The workflow that decided.
    pub workflow: WorkflowName,
    /// The revision of the state that was evaluated.
    pub rev: u64,
    /// The current phase; `None` if the state is lost, broken or names no phase.
    pub phase: Option<PhaseId>,
    /// The substate of the phase, if the phase defines one.
    pub substate: Option<Value>,
    /// What the workflow remarks on the files of the task, for whoever works in the phase.
    pub remarks: Vec<String>,
    /// The number of the attempt at the phase, from 1.
    pub attempt: u32,
    /// The phases from the first to a good end, and where the task is among them; empty if its phase is unknown.
    pub way: Vec<WayStop>,
    /// What the rules say.
    pub verdict: Verdict,
    /// The reason, as a sentence without a final full stop.
    pub reason: String,
    /// The rule that decided, if any.
    pub rule: Option<RuleId>,
    /// Every rule of the phase that was tried, in document order.
    pub tried: Vec<Tried>,
    /// The files to read in this phase, as they are now: its needs, what it reads besides, and the verdicts
    /// that sent the task back to it.
    pub inputs: Vec<Evidence>,
    /// The step that sent the task back to the phase, if one did.
    pub sent_back: Option<SendBack>,
    /// The verdicts and reports on which earlier phases were left, and whether they stand.
    pub grounds: Vec<Ground>,
    /// The artifacts that the decision rests on.
    pub evidence: Vec<Evidence>,
    /// How the task relates to others.
    pub relations: Relations,
    /// The tasks for which it waits before it begins.
    pub blocked_by: Vec<TaskId>,
    /// What has to be written, corrected or rewritten next.
    pub expects: Vec<Expectation>,
    /// The deadlines of the present attempt at the phase.
    pub deadlines: Vec<RunningDeadline>,
    /// The verifications that have to run before a rule leads on.
    pub verifications: Vec<DueVerification>,
    /// Every transition that the rules know from here.
    pub moves: Vec<Move>,
    /// Commands that a person or an agent may choose.
    pub options: Vec<Choice>,
    /// The question that a person is asked, if any.
    pub question: Option<Question>,
    /// Artifacts whose absence a person has accepted.
    pub waived: Vec<ArtifactName>,
    /// The derived facts of every artifact.
    pub artifacts: Vec<Derived>,
    /// Evidence of earlier phases that is gone.
    pub lost: Vec<BrokenNeed>,
    /// Findings about the task, its state and its artifacts.
    pub diagnostics: Vec<Diagnostic>,
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A transition is due.
    Transition(Box<Transition>),
    /// An action is due.
    Run(ActionName),
    /// The task waits.
    Wait {
        /// What it waits for, in words.
        what: String,
        /// Who can end the wait.
        owner: Owner,
    },
    /// A person picks one of these actions.
    Choose(Vec<ActionName>),
    /// The rules lead to a phase that has been attempted too often; a person decides.
    Handover {
        /// The transition that is held back.
        held: Box<Transition>,
        /// How often its target has been attempted.
        attempts: u32,
    },
    /// The task is in a terminal phase.
    Done {
        /// Artifacts that changed since the task ended.
        changed: Vec<ArtifactName>,
    },
    /// An artifact that a phase needs is missing or broken.
    Inconsistent {
        /// The phase with the broken needs: the current one, or the target of the rule that fired.
        phase: PhaseId,
        /// The broken needs.
        broken: Vec<BrokenNeed>,
        /// The latest earlier phase that has a record and whose own needs hold.
        last_consistent: Option<PhaseId>,
    },
    /// The state or a rule cannot be evaluated.
    Error {
        /// The stable code, for example `record-lost` or `guard-error`.
        code: Code,
    },
    /// The rules form a circle that uses up no evidence.
    Livelock {
        /// The phases of the circle.
        cycle: Vec<PhaseId>,
    },
}

impl Verdict {
    /// The name of the verdict, for the diagnostic log.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Transition(_) => "transition",
            Self::Run(_) => "run",
            Self::Wait { .. } => "wait",
            Self::Choose(_) => "choose",
            Self::Handover { .. } => "handover",
            Self::Done { .. } => "done",
            Self::Inconsistent { .. } => "inconsistent",
            Self::Error { code } => code.as_str(),
            Self::Livelock { .. } => "livelock",
        }
    }
}

/// A need that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenNeed {
    /// The name of the artifact.
    pub artifact: ArtifactName,
    /// Its path relative to the task directory.
    pub path: String,
    /// Whether it is absent; otherwise it is invalid.
    pub missing: bool,
    /// The digest last recorded of it, by which git may find it again.
    pub recorded: Option<Digest>,
    /// Why it is no longer about what is there, as what follows its name in a sentence; `None` if that is not its fault.
    pub outdated: Option<String>,
}

/// A transition that is ready to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The phase that is left; `None` for the creation of the task.
    pub from: Option<PhaseId>,
    /// The phase that is entered.
    pub to: PhaseId,
    /// The kind of transition.
    pub kind: Kind,
    /// The rule that yields it, if any.
    pub rule: Option<RuleId>,
    /// Why the transition happens: the `because` of the rule, or the reason of a person.
    pub reason: String,
    /// The artifacts that it rests on.
    pub evidence: Vec<Evidence>,
    /// Bookkeeping: JSON pointers into the state, and their new values.
    pub set: Vec<(String, Value)>,
    /// Artifacts whose absence it accepts.
    pub waive: Vec<ArtifactName>,
    /// For a confirmation: the artifact, and the digests that count again.
    pub confirm: Option<(ArtifactName, Vec<Digest>)>,
    /// For a confirmation that tests are gone on purpose: these tests.
    pub lost: LostTests,
    /// What a move to a good end rests on.
    pub rests_on: Vec<RestsOn>,
    /// The commit that tells the commits of the task from those of others, if that decided.
    pub base: Option<CodeBase>,
    /// Whether the rule requires a person.
    pub by_human: bool,
    /// The action that it records.
    pub action: Option<ActionName>,
    /// Changes other than that of the phase.
    pub change: Option<Change>,
    /// What it says beside its move, if its kind does so.
    pub detail: Option<Box<Detail>>,
}

impl Transition {
    /// A transition that rests on nothing and changes only the phase.
    #[must_use]
    pub fn new(from: Option<PhaseId>, to: PhaseId, kind: Kind, reason: &str) -> Self {
        Self {
            from,
            to,
            kind,
            rule: None,
            reason: reason.to_owned(),
            evidence: Vec::new(),
            set: Vec::new(),
            waive: Vec::new(),
            confirm: None,
            lost: LostTests::new(),
            rests_on: Vec::new(),
            base: None,
            by_human: false,
            action: None,
            change: None,
            detail: None,
        }
    }

    /// Whether it sends the task back, to the same phase or an earlier one of this workflow.
    #[must_use]
    pub fn sends_back(&self, workflow: &Workflow) -> bool {
        let leads = direction(workflow, self.from.as_ref(), Some(&self.to));
        let is_back = matches!(leads, Direction::Regress | Direction::Stay);
        is_back && self.kind != Kind::Create && !self.kind.stays()
    }
}

/// What a step changes that stays in its phase.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The workflow's own data before bookkeeping.
    Data(Map<String, Value>),
    /// Whether the run asks people from here on.
    Mode(Mode),
    /// The last try of an action that is given up.
    Failed(ExecutorTrace),
    /// Everything is as in this state, which stood before an order that is taken back.
    Back(Box<State>),
}

words! {
    /// Whether a run asks people or answers questions by their defaults.
    pub enum Mode {
        /// People are asked.
        Interactive = "interactive",
        /// Questions with a default are answered by it.
        Auto = "auto",
    }
}

words! {
    /// The kind of a transition.
    pub enum Kind {
        /// The task was created or adopted.
        Create = "create",
        /// The rules led to a later phase.
        Advance = "advance",
        /// The rules led back, to the same or an earlier phase.
        Regress = "regress",
        /// A person ordered it against the rules.
        Override = "override",
        /// A person sent the task back.
        Rollback = "rollback",
        /// A person reopened a finished task.
        Reopen = "reopen",
        /// A person confirmed that unchanged content is correct, or that tests are gone on purpose.
        Confirm = "confirm",
        /// The result of an action was accepted.
        Run = "run",
        /// An action failed too often and was given up.
        Skip = "skip",
        /// A question was answered, or an action picked.
        Answer = "answer",
        /// A person gave an order that a rule responds to.
        Signal = "signal",
        /// A run began.
        Start = "start",
        /// A run ended.
        End = "end",
        /// A person chose one of two branches that the rules cannot join.
        Merge = "merge",
        /// The task got another id, and its directory moved.
        Rename = "rename",
        /// A person took back an order.
        Undo = "undo",
        /// `orch` ran a command of the project.
        Verify = "verify",
        /// One of several people said yes or no.
        Approve = "approve",
        /// The relations of the task to others changed.
        Relate = "relate",
        /// Somebody took the task over.
        Take = "take",
        /// A deadline passed.
        Lapse = "lapse",
        /// The task moved to another version of its workflow.
        Migrate = "migrate",
    }
}

/// An artifact that a decision rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The name of the artifact.
    pub artifact: ArtifactName,
    /// The paths of its files, relative to the task directory, with their blob ids, sorted by path.
    pub files: Vec<(String, Digest)>,
    /// Its digest: that of the only file, or over several files.
    pub digest: Digest,
    /// Whether all files parse and match the schema.
    pub valid: bool,
    /// Whether transitions commit it.
    pub committed: bool,
}

/// Everything derived about one artifact: the facts that guards see.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// The name of the artifact.
    pub name: ArtifactName,
    /// The files, sorted by path.
    pub files: Vec<DerivedFile>,
    /// Whether at least one file matches.
    pub present: bool,
    /// Whether every file that counts parses and matches the schema; if none counts, whether every file does.
    pub valid: bool,
    /// Whether a file counts: it is not used up, early or unfilled, and what its `of` names still has that digest.
    pub fresh: bool,
    /// Whether the latest record of the artifact has another digest.
    pub changed: bool,
    /// The digest of the files.
    pub digest: Option<Digest>,
    /// Why the artifact is not fresh, in words; `None` if it is.
    pub stale_because: Option<String>,
    /// Who wrote its files or made its commits, as far as known.
    pub writers: Vec<FileWriter>,
    /// What the artifact says it judged.
    pub of: BTreeMap<String, NamedVersion>,
    /// For an artifact that is committed code: the commits and files since the last recorded step; null if
    /// they are unknown.
    pub tree: Option<Arc<Value>>,
}

/// The version of an artifact that a report says it judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedVersion {
    /// The artifact with this digest.
    Digest(Digest),
    /// No artifact: it was absent.
    Absent,
    /// A value that is not a digest, or several files of the report that disagree.
    Unreadable,
}

impl NamedVersion {
    /// The digest, if it is one.
    #[must_use]
    pub fn digest(self) -> Option<Digest> {
        match self {
            Self::Digest(digest) => Some(digest),
            Self::Absent | Self::Unreadable => None,
        }
    }
}

/// A file of an artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedFile {
    /// The path relative to the task directory.
    pub path: String,
    /// Its blob id.
    pub digest: Option<Digest>,
    /// Whether the file parses and matches the schema.
    pub valid: bool,
    /// Why the file does not count, in words; `None` if it does.
    pub not_counted: Option<String>,
}

/// A rule that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The id of the rule.
    pub rule: RuleId,
    /// The outcome of the rule, in words: `to codegen`, `wait for …`.
    pub outcome: String,
    /// The phase that the rule leads to, if any.
    pub to: Option<PhaseId>,
    /// The line of the rule in the workflow document.
    pub line: Option<u32>,
    /// The result of its guard.
    pub result: Truth,
    /// The operands of the guard's outermost `&&`, each with the values that it read.
    pub parts: Vec<GuardPart>,
}

/// The result of a guard or of a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    /// The guard is true.
    True,
    /// The guard is false.
    False,
    /// The guard could not be evaluated; the message.
    Error(String),
    /// An earlier rule decided.
    NotTried,
}

/// A part of a guard: one operand of its outermost `&&`.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardPart {
    /// The source text of the part, in CEL.
    pub text: String,
    /// Whether the part is true.
    pub result: Truth,
    /// The values that it read: paths such as `plan_review.blocking` with their values; `None` if missing.
    pub saw: Vec<(String, Option<Value>)>,
    /// The named expression that contains the part; `None` for a part of the guard itself.
    pub within: Option<String>,
}

/// An artifact that has to be written, corrected or rewritten.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The name of the artifact.
    pub artifact: ArtifactName,
    /// One concrete path relative to the task directory, even for a glob.
    pub path: String,
    /// The format of the file.
    pub format: Format,
    /// The name of the schema.
    pub schema: Option<String>,
    /// Why the artifact does not suffice as it is.
    pub state: ExpectState,
    /// The same in words.
    pub because: String,
    /// The map that its `of` should contain: the needs of the phase, as they are now.
    pub of: BTreeMap<ArtifactName, Digest>,
    /// What is wrong with the current bytes.
    pub problems: Vec<Diagnostic>,
}

words! {
    /// Why an expected artifact does not suffice.
    pub enum ExpectState {
        /// There is no file.
        Missing = "missing",
        /// The file does not parse, or its schema rejects it.
        Invalid = "invalid",
        /// The artifact is used up, or what it judged has changed.
        Stale = "stale",
        /// The artifact is ready, but the rules require other content.
        Unmet = "unmet",
    }
}

/// A transition that the rules know from here.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    /// The phase that the transition leads to.
    pub to: PhaseId,
    /// The id of the rule.
    pub rule: RuleId,
    /// Whether the rules allow the transition now.
    pub allowed: bool,
    /// The reasons that it is not allowed.
    pub unmet: Vec<String>,
}

/// What an offered command has in place of a reason.
pub const WHY: &str = "WHY";
/// What an offered command has in place of a phase.
pub const PHASE: &str = "PHASE";

/// A command that a person or an agent may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The stable id, for example `rollback`.
    pub id: &'static str,
    /// The command, argument by argument.
    pub argv: Vec<String>,
    /// Who may choose it.
    pub by: Owner,
    /// What it does, as a sentence without a final full stop.
    pub effect: String,
}

/// Whether the command with this id goes against the rules, so that only a person may be offered it.
#[must_use]
pub fn is_order(id: &str) -> bool {
    matches!(id, "override" | "again" | "rollback" | "reopen" | "confirm")
}

/// Whether only a person may give the order with this name.
#[must_use]
pub fn needs_person(order: &str) -> bool {
    is_order(order) || matches!(order, "approve" | "reject" | "undo")
}

/// A question to a person, with what may be answered now.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question.
    pub title: String,
    /// The fields that an answer may set.
    pub fields: Vec<QuestionField>,
}

/// A field that an answer may set.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionField {
    /// The JSON pointer into the state.
    pub pointer: String,
    /// The values to choose from; for a list, those of its items. `None` if any value is allowed.
    pub options: Option<Vec<Value>>,
    /// The value that a run without a person takes.
    pub default: Option<Value>,
}

impl QuestionField {
    /// The key of the field in `orch answer`.
    #[must_use]
    pub fn key(&self) -> String {
        self.pointer.trim_start_matches('/').replace('/', ".")
    }
}

impl Kind {
    /// The version of the record from which on there are events of this kind.
    #[must_use]
    pub fn since(self) -> RecordVersion {
        if Detail::is_of(self) {
            RecordVersion::Second
        } else {
            RecordVersion::First
        }
    }

    /// Whether a step of this kind is computed from the files of the task; any other can be derived without them.
    pub(super) fn looks_at_files(self) -> bool {
        !matches!(self, Self::Rename | Self::Undo) && !Detail::is_of(self)
    }

    /// Whether the task stays in its phase, so that only its record grows.
    #[must_use]
    pub fn stays(self) -> bool {
        match self {
            Self::Confirm
            | Self::Run
            | Self::Skip
            | Self::Answer
            | Self::Start
            | Self::End
            | Self::Rename
            | Self::Verify
            | Self::Approve
            | Self::Relate
            | Self::Take
            | Self::Lapse => true,
            Self::Create
            | Self::Advance
            | Self::Regress
            | Self::Override
            | Self::Rollback
            | Self::Reopen
            | Self::Signal
            | Self::Merge
            | Self::Undo
            | Self::Migrate => false,
        }
    }
}

impl BrokenNeed {
    /// `missing`, `invalid` or `outdated`.
    pub(super) fn fault(&self) -> &'static str {
        if self.outdated.is_some() {
            "outdated"
        } else if self.missing {
            "missing"
        } else {
            "invalid"
        }
    }

    /// The artifact and its path.
    pub(super) fn named(&self) -> String {
        if is_tree_name(&self.path) {
            self.path.clone()
        } else {
            format!("{} ({})", self.artifact, self.path)
        }
    }
}

/// The option that fetches the history that a shallow clone lacks.
pub(super) const UNSHALLOW: &str = "unshallow";

impl Decision {
    /// Whether the task cannot be judged because this clone is shallow.
    #[must_use]
    pub fn lacks_history(&self) -> bool {
        self.options.iter().any(|option| option.id == UNSHALLOW)
    }

    /// Where the error is that keeps the task from being decided, if that is known.
    #[must_use]
    pub fn error_place(&self) -> Option<&Place> {
        self.diagnostics
            .iter()
            .filter(|found| found.is_error())
            .find_map(|found| found.place.as_ref())
    }

    /// Whether git ignores evidence of the transition that is due, so that it cannot be committed.
    #[must_use]
    pub fn is_held_by_ignored(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|found| found.code == Code::EvidenceIgnored)
    }

    /// The transition that is due, if any.
    #[must_use]
    pub fn transition(&self) -> Option<&Transition> {
        match &self.verdict {
            Verdict::Transition(transition) => Some(transition),
            _ => None,
        }
    }

    /// The transition that the rules yield, and whether it is held back because its phase was attempted too often.
    pub(super) fn yielded(&self) -> Option<(Transition, bool)> {
        match &self.verdict {
            Verdict::Transition(due) => Some(((**due).clone(), false)),
            Verdict::Handover { held, .. } => Some(((**held).clone(), true)),
            _ => None,
        }
    }

    /// The derived facts of an artifact.
    #[must_use]
    pub fn artifact(&self, name: &ArtifactName) -> Option<&Derived> {
        self.artifacts.iter().find(|derived| derived.name == *name)
    }

    /// Whether the task is finished.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.verdict, Verdict::Done { .. })
    }
}
