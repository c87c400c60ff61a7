//! What the rules say about one task now, with everything that made them say it.

use crate::base::{
    ActionName, ArtifactName, Code, Diagnostic, Digest, PhaseId, RuleId, TaskId, WorkflowName,
};
use crate::workflow::{Format, Owner, is_tree_name};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A decision and its reasons. It is computed, never stored; every face of `orch` renders this value.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The task.
    pub task: TaskId,
    /// The workflow that judged it.
    pub workflow: WorkflowName,
    /// The revision of the state it was judged in.
    pub rev: u64,
    /// The current phase; `None` where the state is lost, broken or names no phase.
    pub phase: Option<PhaseId>,
    /// Where within the phase the task stands, if the phase can say.
    pub substate: Option<Value>,
    /// Which attempt at the phase this is, from 1.
    pub attempt: u32,
    /// What the rules say.
    pub verdict: Verdict,
    /// Why, as a sentence without a final full stop.
    pub reason: String,
    /// The rule that decided, if one did.
    pub rule: Option<RuleId>,
    /// Every rule of the phase that was tried, in order.
    pub tried: Vec<Tried>,
    /// What the phase builds on, as it is now.
    pub inputs: Vec<Evidence>,
    /// The artifacts that the decision rests on.
    pub evidence: Vec<Evidence>,
    /// What has to be written, mended or renewed next.
    pub expects: Vec<Expectation>,
    /// Every move that the rules know from here.
    pub moves: Vec<Move>,
    /// Commands that a person or agent may choose from.
    pub options: Vec<Choice>,
    /// Artifacts whose absence a person has accepted.
    pub waived: Vec<ArtifactName>,
    /// What was derived of every artifact.
    pub artifacts: Vec<Derived>,
    /// Findings about the task, its state and its artifacts.
    pub diagnostics: Vec<Diagnostic>,
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A transition is due.
    Transition(Box<Transition>),
    /// An action is to be performed.
    Run(ActionName),
    /// Something is awaited, in words.
    Wait {
        /// What is awaited.
        what: String,
        /// Who can end the wait.
        owner: Owner,
    },
    /// A person picks one of these actions.
    Choose(Vec<ActionName>),
    /// The rules would go back to a phase that has been attempted often enough: a person decides.
    Handover {
        /// The move that is held back.
        held: Box<Transition>,
        /// How often its target has been attempted.
        attempts: u32,
    },
    /// The task is in a terminal phase.
    Done {
        /// Artifacts that changed since.
        changed: Vec<ArtifactName>,
    },
    /// What a phase builds on is missing or broken.
    Inconsistent {
        /// Whose needs do not hold: the current phase, or the target of the rule that fired.
        phase: PhaseId,
        /// The needs that do not hold.
        broken: Vec<BrokenNeed>,
        /// The latest earlier phase that has a record and whose own needs hold.
        last_consistent: Option<PhaseId>,
    },
    /// The state or a rule cannot be evaluated.
    Error {
        /// Stable code, for example `record-lost` or `guard-error`.
        code: Code,
    },
    /// The rules go round in circles without using up any evidence.
    Livelock {
        /// The phases of the circle.
        cycle: Vec<PhaseId>,
    },
}

impl Verdict {
    /// Its name, for the log.
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
    /// The artifact.
    pub artifact: ArtifactName,
    /// Where it belongs, below the task directory.
    pub path: String,
    /// Whether it is absent (else it is invalid).
    pub missing: bool,
    /// The digest that was last recorded of it, by which git may find it again.
    pub recorded: Option<Digest>,
}

/// A move from one phase to another, ready to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The phase that is left; `None` for the creation of the task.
    pub from: Option<PhaseId>,
    /// The phase that is entered.
    pub to: PhaseId,
    /// What kind of transition.
    pub kind: Kind,
    /// The rule that yields it, if one does.
    pub rule: Option<RuleId>,
    /// Why.
    pub reason: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// Bookkeeping: JSON pointer into the state, and its new value.
    pub set: Vec<(String, Value)>,
    /// Artifacts whose absence is accepted by it.
    pub waive: Vec<ArtifactName>,
    /// For a confirmation: the artifact and the digest that is fresh again.
    pub confirm: Option<(ArtifactName, Digest)>,
    /// Whether the rule asks for a person.
    pub by_human: bool,
    /// The action that it tells of.
    pub action: Option<ActionName>,
    /// What it changes beside the phase.
    pub change: Option<Change>,
}

/// What a record changes that stays in its phase.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The workflow's own keys, as they are before its bookkeeping.
    Data(Map<String, Value>),
    /// How a run goes on from here.
    Mode(Mode),
}

/// Whether a run asks people, or goes by the defaults of the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// People are asked.
    Interactive,
    /// Nobody is asked where a question has a default.
    Auto,
}

/// What kind of transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The task was created or adopted.
    Create,
    /// The rules led to a later phase.
    Advance,
    /// The rules led back, to the same or an earlier phase.
    Regress,
    /// A person ordered it against the rules.
    Override,
    /// A person sent the task back.
    Rollback,
    /// A person re-opened a finished task.
    Reopen,
    /// A person said that unchanged bytes are right.
    Confirm,
    /// The result of an action was accepted.
    Run,
    /// An action failed too often and was given up.
    Skip,
    /// A question was answered, or an action picked.
    Answer,
    /// A person gave an order that a rule answers to.
    Order,
    /// A run began.
    Start,
    /// A run ended.
    End,
    /// A person chose one of two branches that no rule joins.
    Merge,
}

/// An artifact that a decision rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The artifact.
    pub artifact: ArtifactName,
    /// Its files below the task directory, with their blob ids, in path order.
    pub files: Vec<(String, Digest)>,
    /// Its digest: of the one file, or over several.
    pub digest: Digest,
    /// Whether it parses and its schema accepts it.
    pub valid: bool,
    /// Whether transitions commit it.
    pub committed: bool,
}

/// Everything derived of one artifact: the facts that guards see.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// The artifact.
    pub name: ArtifactName,
    /// The files of it that count, in path order.
    pub files: Vec<DerivedFile>,
    /// At least one file matches.
    pub present: bool,
    /// Every file parses and its schema accepts it.
    pub valid: bool,
    /// Its digest is not spent, and what its `of` names still has those digests.
    pub fresh: bool,
    /// The latest record of it holds another digest.
    pub changed: bool,
    /// The digest of the files that count.
    pub digest: Option<Digest>,
    /// Why it is not fresh, in words; `None` where it is.
    pub stale_because: Option<String>,
    /// What it says it judged.
    pub of: BTreeMap<String, Option<Digest>>,
    /// Where it is committed code: the commits and files since the last recorded step; null where they
    /// are not known.
    pub tree: Option<Arc<Value>>,
}

/// One file of an artifact that counts.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedFile {
    /// Path below the task directory.
    pub path: String,
    /// Its blob id.
    pub digest: Option<Digest>,
    /// Whether it parses and its schema accepts it.
    pub valid: bool,
}

/// One rule as it was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The rule.
    pub rule: RuleId,
    /// What it would yield, in words: `to codegen`, `wait for …`.
    pub outcome: String,
    /// The phase it leads to, if it leads to one.
    pub to: Option<PhaseId>,
    /// Line of the rule in the workflow document.
    pub line: Option<u32>,
    /// What came out.
    pub result: Truth,
    /// The parts of the guard, joined by `&&`, each with what it saw.
    pub parts: Vec<GuardPart>,
}

/// What a guard, or a part of one, came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It could not be evaluated.
    Error(String),
    /// A rule before it decided.
    NotTried,
}

/// A part of a guard: one operand of its outermost `&&`.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardPart {
    /// Its source text.
    pub text: String,
    /// What it came to.
    pub result: Truth,
    /// The values it saw: a path such as `plan_review.blocking`, and its value; `None` where missing.
    pub saw: Vec<(String, Option<Value>)>,
    /// The named expression that it is a part of; `None` where it stands in the guard itself.
    pub within: Option<String>,
}

/// Something that has to be written, mended or renewed.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The artifact.
    pub artifact: ArtifactName,
    /// One concrete path below the task directory, also for a glob.
    pub path: String,
    /// How it is read.
    pub format: Format,
    /// The name of its schema.
    pub schema: Option<String>,
    /// What is the matter with it.
    pub state: ExpectState,
    /// Why, in words.
    pub because: String,
    /// What its `of` should say: what the phase builds on, as it is now.
    pub of: BTreeMap<ArtifactName, Digest>,
    /// What is wrong with the present bytes.
    pub problems: Vec<Diagnostic>,
}

/// What is the matter with an expected artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectState {
    /// It is not there.
    Missing,
    /// It does not parse, or its schema refuses it.
    Invalid,
    /// It has been used up, or judges something that has changed.
    Stale,
    /// It is ready, but the rules ask for something else in it.
    Unmet,
}

/// One move that the rules know from here.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    /// Where it leads.
    pub to: PhaseId,
    /// The rule.
    pub rule: RuleId,
    /// Whether the rules allow it now.
    pub allowed: bool,
    /// What keeps it from being allowed.
    pub unmet: Vec<String>,
}

/// A command that somebody may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Stable id, for example `rollback`.
    pub id: &'static str,
    /// The command, argument by argument.
    pub argv: Vec<String>,
    /// Who may choose it.
    pub by: Owner,
    /// What it does, as a sentence without a final full stop.
    pub effect: String,
}

impl Kind {
    /// The kind as records spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Advance => "advance",
            Self::Regress => "regress",
            Self::Override => "override",
            Self::Rollback => "rollback",
            Self::Reopen => "reopen",
            Self::Confirm => "confirm",
            Self::Run => "run",
            Self::Skip => "skip",
            Self::Answer => "answer",
            Self::Order => "order",
            Self::Start => "start",
            Self::End => "end",
            Self::Merge => "merge",
        }
    }

    /// The kind that a text of a record means.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Create,
        Self::Advance,
        Self::Regress,
        Self::Override,
        Self::Rollback,
        Self::Reopen,
        Self::Confirm,
        Self::Run,
        Self::Skip,
        Self::Answer,
        Self::Order,
        Self::Start,
        Self::End,
        Self::Merge,
    ];

    /// Whether the task stays in its phase, and only its record grows.
    #[must_use]
    pub fn stays(self) -> bool {
        matches!(self, Self::Confirm | Self::Run | Self::Skip | Self::Answer | Self::Start | Self::End)
    }
}

impl Mode {
    /// The mode as records and guards spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Auto => "auto",
        }
    }

    /// The mode with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Interactive, Self::Auto].into_iter().find(|mode| mode.as_str() == name)
    }
}

impl BrokenNeed {
    /// The artifact, and where it belongs.
    pub(super) fn named(&self) -> String {
        if is_tree_name(&self.path) {
            self.path.clone()
        } else {
            format!("{} ({})", self.artifact, self.path)
        }
    }
}

impl ExpectState {
    /// The state as JSON spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Invalid => "invalid",
            Self::Stale => "stale",
            Self::Unmet => "unmet",
        }
    }
}

impl Decision {
    /// The transition that is due, if one is.
    #[must_use]
    pub fn transition(&self) -> Option<&Transition> {
        match &self.verdict {
            Verdict::Transition(transition) => Some(transition),
            _ => None,
        }
    }

    /// What was derived of an artifact.
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
