//! The one place that checks whether the caller may order a step.

use crate::run::{ControlRequest, RunState};
use crate::survey::{Caller, Callers, Error, TaskRef};
use orch_base::{AgentMark, Code, Hint, Timestamp, command};
use orch_core::decide::{ActorKind, By, Kind, OrdersBy, People, Sender, Stamp};

/// A step that a caller orders.
pub(super) struct OrderedStep {
    /// The kind of step.
    pub kind: Kind,
    /// Whether it takes the place of a person.
    pub by_human: bool,
    /// The command that orders it.
    pub argv: Vec<String>,
}

/// Why a caller may give no order of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What the caller is, in words, such as `a program`.
    pub who: String,
    /// Whether a signature that git verifies is all that is missing.
    pub lacks_signature: bool,
}

/// Whether a caller may order a step, and the stamp of what the caller orders.
#[derive(Clone, Copy)]
pub struct Authority<'w> {
    pub(super) callers: Callers<'w>,
    /// The caller, whose name and clock go into the records.
    pub(crate) caller: &'w Caller,
}

impl Authority<'_> {
    /// The current time of the caller's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.caller.clock.now()
    }

    /// The stamp of a record that the caller orders: an agent's if anything shows that the caller is one.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let identity = self
            .callers
            .reader
            .store
            .as_ref()
            .and_then(|store| store.identity().name());
        let mut stamp = self.caller.stamp(identity.as_deref());
        // Who gives another name than that of git may be somebody else.
        let is_of_git = self.caller.name.is_none();
        let address = self
            .callers
            .reader
            .store
            .as_ref()
            .and_then(|store| store.identity().address());
        stamp.address = address.filter(|_| is_of_git);
        let Some(shown) = self.callers.agent_shown(self.caller) else {
            return stamp;
        };
        if stamp.by.kind != ActorKind::Agent {
            // Git and the environment name the person whose machine it is.
            let name = shown.name.unwrap_or_else(|| AgentMark::UNKNOWN.to_owned());
            stamp.by = By {
                kind: ActorKind::Agent,
                name,
            };
        }
        stamp
    }

    /// The stamp of a step that the caller orders. Returns [`Code::ByHuman`] if the step needs a person and
    /// the caller is none, and an error if git or the tasks cannot be read.
    ///
    /// A run whose executor orders such a step is told, refused or not, and ends.
    pub(super) fn stamp_of(&self, ordered: &OrderedStep) -> Result<Stamp, Error> {
        let stamp = self.stamp();
        let people = self.callers.people()?;
        if !people.asks(ordered.kind, ordered.by_human) {
            return Ok(stamp);
        }
        let above = self.callers.run_above(self.caller)?;
        let mut stamp = stamp;
        if let Some((task, run)) = &above {
            stamp.by.kind = ActorKind::Agent;
            self.notify_run(task, run, ordered);
        }
        let sender = self.sender(&people, stamp.by.kind)?;
        match people.refuses(ordered.kind, ordered.by_human, sender) {
            None => Ok(stamp),
            Some(who) => Err(self.refused(&people, ordered, who)),
        }
    }

    /// Why the caller may give no order of a person; `None` if it may. Returns an error if git or the tasks cannot be
    /// read.
    pub fn refusal(&self) -> Result<Option<Refusal>, Error> {
        let people = self.callers.people()?;
        let kind = match self.callers.run_above(self.caller)? {
            Some(_) => ActorKind::Agent,
            None => self.stamp().by.kind,
        };
        let who = people.refuses_sender(self.sender(&people, kind)?);
        Ok(who.map(|who| Refusal {
            who: format!("{who}{}", self.because(who)),
            lacks_signature: people.orders == OrdersBy::Signed && kind == ActorKind::Human,
        }))
    }

    /// The caller as one who orders.
    fn sender(&self, people: &People, kind: ActorKind) -> Result<Sender, Error> {
        let signs = people.orders == OrdersBy::Signed && self.callers.signs_verifiably()?;
        Ok(Sender {
            kind,
            at_terminal: self.caller.at_terminal,
            signs,
        })
    }

    /// Returns [`Code::ByHuman`] if the caller is an agent, whatever it says of itself.
    pub fn refuse_agent(&self, argv: &[&str]) -> Result<(), Error> {
        match self.stamp().by.kind {
            ActorKind::Agent => Err(self.needs_person(argv, "an agent")),
            ActorKind::Human | ActorKind::Orch => Ok(()),
        }
    }

    /// Returns [`Code::ByHuman`] unless the caller is a person at a terminal. The settings of the repository loosen
    /// nothing here: they may have come with a clone.
    pub(crate) fn require_person(&self, argv: &[&str]) -> Result<(), Error> {
        let sender = Sender {
            kind: self.stamp().by.kind,
            at_terminal: self.caller.at_terminal,
            signs: false,
        };
        match People::default().refuses_sender(sender) {
            None => Ok(()),
            Some(who) => Err(self.needs_person(argv, who)),
        }
    }

    fn needs_person(&self, argv: &[&str], who: &str) -> Error {
        let typed = command(argv);
        let message = format!(
            "`{typed}` needs a person, and {who} ordered it{}",
            self.because(who)
        );
        Error::new(Code::ByHuman, message)
            .with_hint(Hint::from("ask a person to type at a terminal: ").command(argv))
    }

    /// Why the caller counts as an agent, in parentheses.
    fn because(&self, who: &str) -> String {
        let because = self
            .callers
            .agent_shown(self.caller)
            .filter(|_| who == "an agent");
        because
            .map(|shown| format!(" ({})", shown.because))
            .unwrap_or_default()
    }

    /// Asks the run to end, because its executor gave an order that needs a person.
    fn notify_run(&self, task: &TaskRef, run: &RunState, ordered: &OrderedStep) {
        let files = self.callers.reader.run_files(task);
        let work = run.unsettled().map_or("the run", |work| work.work.name());
        let why = format!(
            "the executor of `{work}` ordered `{}`, which needs a person",
            command(&ordered.argv)
        );
        // The order is checked whether or not the run can be told.
        if let Err(error) = files.control().send(Some(ControlRequest::AskPerson), &why) {
            tracing::warn!(
                error = error.logged(),
                "cannot tell the run about an order of its executor"
            );
        }
    }

    fn refused(&self, people: &People, ordered: &OrderedStep, who: &str) -> Error {
        let because = self.because(who);
        let message = format!(
            "{} needs a person, and {who} ordered it{because}",
            what(ordered)
        );
        let hint = match people.orders {
            OrdersBy::Signed => {
                "ask a person whose commits git verifies (commit.gpgSign, and an allowed signer) to type: "
            }
            OrdersBy::Terminal | OrdersBy::Anyone => "ask a person to type at a terminal: ",
        };
        let hint = Hint::from(hint).command(&ordered.argv);
        let is_uncommitted = !self.callers.states_people(people);
        let hint = if is_uncommitted {
            hint.text("; [people] counts as it is in HEAD: commit orch.toml")
        } else {
            hint
        };
        Error::new(Code::ByHuman, message).with_hint(hint)
    }
}

/// The ordered step with its article.
fn what(ordered: &OrderedStep) -> &'static str {
    match ordered.kind {
        Kind::Override => "an override",
        Kind::Rollback => "a rollback",
        Kind::Reopen => "a reopening",
        Kind::Confirm => "a confirmation",
        Kind::Merge => "the choice of a side",
        Kind::Rename => "archiving a task that is not finished",
        Kind::Undo => "taking back an order",
        Kind::Regress => "a rejection",
        _ => "an approval",
    }
}
