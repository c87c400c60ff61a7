//! Who may order what: the only table of the steps that need a person, and of who counts as one.
//!
//! The command line, a server and the audit all ask [`People::refuses`]; the settings of a repository say how
//! a person is recognised.

use super::{ActorKind, Kind};
use orch_base::words;
use std::collections::BTreeMap;

words! {
    /// How a repository recognises the person behind an order.
    pub enum OrdersBy {
        /// `"terminal"`: an interactive terminal that no agent uses.
        Terminal = "terminal",
        /// `"signed"`: a commit signed by a signer that git trusts.
        Signed = "signed",
        /// `"anyone"`: nothing is required.
        Anyone = "anyone",
    }
}

words! {
    /// An order that a repository may permit to agents.
    pub enum AgentOrder {
        /// `"confirm"`: that an unchanged artifact is still correct.
        Confirm = "confirm",
    }
}

/// The table `[people]` of the settings: who may order what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct People {
    /// How a person is recognised.
    pub orders: OrdersBy,
    /// The orders that need no person.
    pub agents_may: Vec<AgentOrder>,
}

/// The addresses of people, by the names of their teams.
pub type Teams = BTreeMap<String, Vec<String>>;

/// What is known about the sender of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// A person, an agent, or `orch` itself.
    pub kind: ActorKind,
    /// Whether the order was typed at an interactive terminal.
    pub at_terminal: bool,
    /// Whether a signer that git trusts signs the commit of the order.
    pub signs: bool,
}

impl Default for People {
    fn default() -> Self {
        Self {
            orders: OrdersBy::Terminal,
            agents_may: Vec::new(),
        }
    }
}

impl People {
    /// Whether a step needs a person: an order against the rules, or a step in a person's place. `by_human`
    /// says whether its rule requires a person.
    #[must_use]
    pub fn asks(&self, kind: Kind, by_human: bool) -> bool {
        match kind {
            Kind::Override
            | Kind::Rollback
            | Kind::Reopen
            | Kind::Merge
            | Kind::Undo
            | Kind::Approve => true,
            Kind::Confirm => !self.agents_may.contains(&AgentOrder::Confirm),
            Kind::Create
            | Kind::Advance
            | Kind::Regress
            | Kind::Run
            | Kind::Skip
            | Kind::Answer
            | Kind::Signal
            | Kind::Start
            | Kind::End
            | Kind::Rename
            | Kind::Verify
            | Kind::Relate
            | Kind::Take
            | Kind::Lapse
            | Kind::Migrate => by_human,
        }
    }

    /// Whether the commit of a step must be signed.
    #[must_use]
    pub fn asks_for_signature(&self, kind: Kind, by_human: bool) -> bool {
        self.orders == OrdersBy::Signed && self.asks(kind, by_human)
    }

    /// Why this sender may not order such a step, in words; `None` if the sender may.
    #[must_use]
    pub fn refuses(&self, kind: Kind, by_human: bool, sender: Sender) -> Option<&'static str> {
        if self.asks(kind, by_human) {
            self.refuses_sender(sender)
        } else {
            None
        }
    }

    /// Why this sender is no person, in words; `None` if the sender is one.
    #[must_use]
    pub fn refuses_sender(&self, sender: Sender) -> Option<&'static str> {
        match (self.orders, sender.kind) {
            // `orch` applies rules and gives no orders.
            (_, ActorKind::Orch) => Some("orch itself"),
            (OrdersBy::Anyone, _) => None,
            (_, ActorKind::Agent) => Some("an agent"),
            (OrdersBy::Terminal, ActorKind::Human) if !sender.at_terminal => Some("a program"),
            (OrdersBy::Signed, ActorKind::Human) if !sender.signs => {
                Some("someone whose commits git does not verify")
            }
            (OrdersBy::Terminal | OrdersBy::Signed, ActorKind::Human) => None,
        }
    }

    /// Why the recorded actor of a step cannot have ordered it, in words; `None` if the actor can have. A
    /// record does not show the terminal, and a signature is verified apart.
    #[must_use]
    pub fn refuses_record(
        &self,
        kind: Kind,
        by_human: bool,
        actor: ActorKind,
    ) -> Option<&'static str> {
        self.refuses(
            kind,
            by_human,
            Sender {
                kind: actor,
                at_terminal: true,
                signs: true,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [(Kind, bool); 11] = [
        (Kind::Override, false),
        (Kind::Rollback, false),
        (Kind::Reopen, false),
        (Kind::Merge, false),
        (Kind::Advance, true),
        (Kind::Regress, true),
        (Kind::Confirm, false),
        (Kind::Advance, false),
        (Kind::Undo, false),
        (Kind::Rename, true),
        (Kind::Rename, false),
    ];

    /// Who may order each of [`STEPS`]: `y` for yes.
    #[test]
    fn orders_need_a_person_and_moves_by_the_rules_do_not() {
        use ActorKind::{Agent, Human, Orch};
        for (orders, agents_may, kind, at_terminal, signs, expected) in [
            ("terminal", "", Human, true, false, "yyyyyyyyyyy"),
            ("terminal", "", Human, false, true, ".......y..y"),
            ("terminal", "", Agent, true, true, ".......y..y"),
            ("terminal", "confirm", Agent, false, false, "......yy..y"),
            ("terminal", "confirm", Human, false, false, "......yy..y"),
            ("terminal", "", Orch, true, true, ".......y..y"),
            ("signed", "", Human, false, true, "yyyyyyyyyyy"),
            ("signed", "", Human, true, false, ".......y..y"),
            ("signed", "", Agent, true, true, ".......y..y"),
            ("anyone", "", Agent, false, false, "yyyyyyyyyyy"),
            ("anyone", "", Human, false, false, "yyyyyyyyyyy"),
            ("anyone", "", Orch, false, false, ".......y..y"),
        ] {
            let orders_by = OrdersBy::named(orders).expect("a word");
            let agents_may: Vec<_> = AgentOrder::named(agents_may).into_iter().collect();
            let people = People {
                orders: orders_by,
                agents_may,
            };
            let sender = Sender {
                kind,
                at_terminal,
                signs,
            };
            let may = STEPS.map(
                |(step, by_human)| match people.refuses(step, by_human, sender) {
                    None => 'y',
                    Some(_) => '.',
                },
            );
            assert_eq!(
                may.iter().collect::<String>(),
                expected,
                "{orders} {sender:?}"
            );
        }
    }

    #[test]
    fn a_record_is_held_to_what_it_shows() {
        let terminal = People::default();
        assert_eq!(
            terminal.refuses_record(Kind::Override, false, ActorKind::Agent),
            Some("an agent")
        );
        assert_eq!(
            terminal.refuses_record(Kind::Override, false, ActorKind::Human),
            None
        );
        assert_eq!(
            terminal.refuses_record(Kind::Advance, true, ActorKind::Orch),
            Some("orch itself")
        );
        let signed = People {
            orders: OrdersBy::Signed,
            ..People::default()
        };
        assert!(signed.asks_for_signature(Kind::Rollback, false));
        assert!(
            !signed.asks_for_signature(Kind::Advance, false)
                && !terminal.asks_for_signature(Kind::Rollback, false)
        );
    }
}
