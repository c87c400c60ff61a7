//! The one table that turns a verdict into who must do what, and where it leads.

use super::{RunnerView, Subject};
use crate::base::PhaseId;
use crate::decide::{ExpectState, Expectation, Verdict};
use crate::workflow::{Owner, Workflow};

/// A closed list of words, each spelt in JSON as given.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$word_meta:meta])* $word:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$word_meta])* $word),+ }

        impl $name {
            /// Every word, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$word),+];

            /// The word as JSON spells it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text),+ }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words! {
    /// What kind of decision a suggestion renders.
    Kind {
        /// A transition is due.
        Transition = "transition",
        /// An action is to be performed.
        Run = "run",
        /// Something is awaited.
        Wait = "wait",
        /// A person picks.
        Choose = "choose",
        /// The task is finished.
        Done = "done",
        /// What the phase builds on is missing or broken.
        Inconsistent = "inconsistent",
        /// The state or a rule cannot be evaluated.
        Error = "error",
        /// The rules go round in circles.
        Livelock = "livelock",
        /// A run stopped because nothing changed.
        Stalled = "stalled",
    }
}

words! {
    /// What has to be done.
    Do {
        /// Write what is missing.
        Write = "write",
        /// Mend what is invalid.
        Fix = "fix",
        /// Write anew what is stale.
        Renew = "renew",
        /// Apply the transition that is due.
        Apply = "apply",
        /// Run an action.
        Run = "run",
        /// Decide among options.
        Decide = "decide",
        /// Answer a question.
        Answer = "answer",
        /// Repair the task, its state or its workflow.
        Repair = "repair",
        /// Nothing.
        Nothing = "nothing",
    }
}

words! {
    /// Where the suggested phase lies from the current one, in document order.
    Direction {
        /// Later.
        Advance = "advance",
        /// The same.
        Stay = "stay",
        /// Earlier.
        Regress = "regress",
        /// There is none.
        None = "none",
    }
}

/// Who must do what, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextView {
    /// What kind of decision it is.
    pub kind: Kind,
    /// What has to be done.
    pub task: Do,
    /// Who must act.
    pub owner: Owner,
    /// The phase it leads to, or that has to be done or redone.
    pub phase: Option<PhaseId>,
    /// Where that phase lies.
    pub direction: Direction,
}

/// What follows for whom from a decision, and from what is known of its runner.
#[must_use]
pub fn next(subject: &Subject<'_>) -> NextView {
    let decision = subject.decision;
    let current = decision.phase.as_ref();
    let works =
        current.and_then(|phase| subject.workflow.phase(phase)).map_or(Owner::Agent, |phase| phase.owner);
    let make = |kind, task, owner, phase: Option<&PhaseId>| NextView {
        kind,
        task,
        owner,
        phase: phase.cloned(),
        direction: direction(subject.workflow, current, phase),
    };

    let live = !matches!(decision.verdict, Verdict::Done { .. } | Verdict::Error { .. });
    match &subject.runner {
        Some(RunnerView::Running) if live => return make(Kind::Wait, Do::Nothing, Owner::Process, current),
        Some(RunnerView::Stalled(_)) if live => {
            return make(Kind::Stalled, Do::Decide, Owner::Human, current);
        }
        _ => {}
    }
    match &decision.verdict {
        Verdict::Transition(due) if due.by_human => {
            make(Kind::Transition, Do::Decide, Owner::Human, Some(&due.to))
        }
        Verdict::Transition(due) => make(Kind::Transition, Do::Apply, Owner::Orch, Some(&due.to)),
        Verdict::Run(_) => make(Kind::Run, Do::Run, works, current),
        Verdict::Wait { owner, .. } => make(Kind::Wait, work(&decision.expects, *owner), *owner, current),
        Verdict::Choose(_) => make(Kind::Choose, Do::Decide, Owner::Human, current),
        Verdict::Handover { held, .. } => make(Kind::Choose, Do::Decide, Owner::Human, Some(&held.to)),
        Verdict::Done { .. } => make(Kind::Done, Do::Nothing, Owner::None, None),
        Verdict::Inconsistent { last_consistent, .. } => {
            make(Kind::Inconsistent, Do::Repair, Owner::Human, last_consistent.as_ref())
        }
        Verdict::Error { .. } => make(Kind::Error, Do::Repair, Owner::Human, None),
        Verdict::Livelock { .. } => make(Kind::Livelock, Do::Repair, Owner::Human, None),
    }
}

/// The most pressing work that a list of expectations asks for.
fn work(expects: &[Expectation], owner: Owner) -> Do {
    let any = |wanted: &[ExpectState]| expects.iter().any(|expected| wanted.contains(&expected.state));
    if any(&[ExpectState::Invalid, ExpectState::Unmet]) {
        return Do::Fix;
    }
    if any(&[ExpectState::Stale]) {
        return Do::Renew;
    }
    if any(&[ExpectState::Missing]) {
        return Do::Write;
    }
    match owner {
        Owner::Human => Do::Answer,
        // Every output is ready and still no rule fires: something in them has to change.
        Owner::Agent => Do::Fix,
        Owner::Orch | Owner::Process | Owner::None => Do::Nothing,
    }
}

/// Where a phase lies from another, in document order; a task without a phase can only advance.
#[must_use]
pub fn direction(workflow: &Workflow, from: Option<&PhaseId>, to: Option<&PhaseId>) -> Direction {
    let Some(to) = to else { return Direction::None };
    let Some(from) = from else { return Direction::Advance };
    if from == to {
        return Direction::Stay;
    }
    if workflow.position(to) > workflow.position(from) { Direction::Advance } else { Direction::Regress }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::samples::{self, Sample};

    fn row(sample: &Sample) -> String {
        let next = next(&sample.subject());
        let phase = next.phase.as_ref().map_or("-", |phase| phase.as_str());
        let words =
            [next.kind.as_str(), next.task.as_str(), next.owner.as_str(), phase, next.direction.as_str()];
        words.join(" ")
    }

    #[test]
    fn every_verdict_says_who_must_do_what() {
        let mut by_human = samples::transition_due();
        if let Verdict::Transition(due) = &mut by_human.decision.verdict {
            due.by_human = true;
        }
        let wait = |owner| {
            let verdict = Verdict::Wait { what: String::new(), owner };
            samples::plain("codegen", verdict, "waiting")
        };
        let runner = |runner| Sample { runner: Some(runner), ..samples::run() };
        let lost = {
            let mut sample = samples::inconsistent();
            if let Verdict::Inconsistent { last_consistent, .. } = &mut sample.decision.verdict {
                *last_consistent = None;
            }
            sample
        };
        let table = [
            (samples::transition_due(), "transition apply orch plan_review advance"),
            (by_human, "transition decide human plan_review advance"),
            (samples::write_missing(), "wait write agent codegen stay"),
            (samples::fix_invalid(), "wait fix agent plan_review stay"),
            (samples::renew_stale(), "wait renew agent plan_review stay"),
            (wait(Owner::Human), "wait answer human codegen stay"),
            (wait(Owner::Agent), "wait fix agent codegen stay"),
            (wait(Owner::Process), "wait nothing process codegen stay"),
            (samples::run(), "run run agent codegen stay"),
            (samples::plain("codegen", Verdict::Choose(Vec::new()), ""), "choose decide human codegen stay"),
            (samples::handover(), "choose decide human planning regress"),
            (samples::done(), "done nothing none - none"),
            (samples::inconsistent(), "inconsistent repair human planning regress"),
            (lost, "inconsistent repair human - none"),
            (samples::error(), "error repair human - none"),
            (samples::livelock(), "livelock repair human - none"),
            (runner(RunnerView::Running), "wait nothing process codegen stay"),
            (runner(RunnerView::Stalled("twice")), "stalled decide human codegen stay"),
            (Sample { runner: Some(RunnerView::Running), ..samples::done() }, "done nothing none - none"),
        ];
        for (sample, expected) in &table {
            assert_eq!(row(sample), *expected, "{:?}", sample.decision.verdict);
        }
    }

    #[test]
    fn the_most_pressing_work_names_the_rest() {
        let mut sample = samples::write_missing();
        sample.decision.expects.extend(samples::renew_stale().decision.expects);
        assert_eq!(next(&sample.subject()).task, Do::Renew);
        sample.decision.expects.extend(samples::fix_invalid().decision.expects);
        assert_eq!(next(&sample.subject()).task, Do::Fix);
    }
}
