//! The map by which tasks move to a version of a document: `[migrate]`, with the aliases and what the document forgets.
//!
//! An alias says that a phase has another name now. The map is for phases that are no more: it names the phase in which a task
//! goes on that was there, one that does not come later.

use super::Workflow;
use super::raw::{RawPhase, Text};
use super::rule::RuleCompiler;
use orch_base::{Code, Diagnostic, Digest, PhaseId};
use serde_json::json;
use std::collections::BTreeMap;

/// A phase that the document has no more, and that in which its tasks go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseMove {
    /// The former phase.
    pub from: PhaseId,
    /// The phase of the document.
    pub to: PhaseId,
}

impl Workflow {
    /// The digest of what says how tasks of earlier versions move: the aliases, what is forgotten, and `[migrate]`.
    #[must_use]
    pub fn map(&self) -> Digest {
        let artifacts = self.artifacts.iter();
        let artifacts = artifacts.map(|one| (one.name.as_str(), &one.aliases));
        let phases = self.phases.iter();
        let phases = phases.map(|one| (one.id.as_str(), &one.aliases));
        let moves = self.moves.iter();
        let moves = moves.map(|one| (one.from.as_str(), one.to.as_str()));
        let map = json!({
            "workflow": self.aliases,
            "forgets": self.forgets,
            "artifacts": artifacts.collect::<BTreeMap<_, _>>(),
            "phases": phases.collect::<BTreeMap<_, _>>(),
            "moves": moves.collect::<BTreeMap<_, _>>(),
        });
        self.digest.format().blob(map.to_string().as_bytes())
    }

    /// The phase in which a task goes on that was in a phase with this name: the same one, also under an alias, or that
    /// which the map names.
    #[must_use]
    pub fn goes_on_in(&self, name: &str) -> Option<&PhaseId> {
        let own = self.phase_named(name).map(|phase| &phase.id);
        own.or_else(|| {
            let mut moves = self.moves.iter();
            let found = moves.find(|one| one.from.as_str() == name)?;
            Some(&found.to)
        })
    }

    /// Why a task that was in a phase of a former version would come forward in a phase of this one, in words; `None` if it
    /// would not.
    ///
    /// A phase that the former version has too, perhaps under another name, must not come later there. One that is new must
    /// not come after another new one behind that in which a task goes on which was in an earlier phase.
    #[must_use]
    pub fn leads_forward(&self, former: &Self, from: &PhaseId, to: &PhaseId) -> Option<String> {
        let left = former.phase_named(from.as_str());
        let Some(left) = left.and_then(|phase| former.position(&phase.id)) else {
            return Some(format!("the version from before has no phase `{from}`"));
        };
        let now = |phase: &super::Phase| self.phase_named(phase.id.as_str()).map(|own| &own.id);
        let mut same = former.phases.iter();
        if let Some(then) = same.position(|phase| now(phase) == Some(to)) {
            let is_later = then > left;
            return is_later.then(|| format!("`{to}` came after `{from}`"));
        }
        let before = former.phases[..left].iter();
        let last = before.filter_map(|phase| {
            let on = self.goes_on_in(phase.id.as_str())?;
            // What the map says of an earlier phase counts as far as it leads nobody forward.
            let is_sound =
                now(phase).is_some() || self.leads_forward(former, &phase.id, on).is_none();
            self.position(on).filter(|_| is_sound)
        });
        let last = last.max();
        let first_new = last.map_or(0, |last| last + 1);
        let at = self.position(to)?;
        if at <= first_new {
            return None;
        }
        let skipped = &self.phases[first_new].id;
        Some(format!("`{skipped}` comes before `{to}`"))
    }
}

impl RuleCompiler<'_, '_> {
    /// The map of phases that are no more. Reports those that are there, and targets that are not.
    pub(super) fn moves(&mut self, raw: &[(Text, Text)], phases: &[RawPhase]) -> Vec<PhaseMove> {
        let mut found = Vec::new();
        for (from, to) in raw {
            let is_known = |phase: &RawPhase| {
                let mut names = std::iter::once(&phase.name).chain(&phase.aliases);
                names.any(|name| name.value == from.value)
            };
            if phases.iter().any(is_known) {
                let message = format!("`{}` is a phase, so its tasks stay there", from.value);
                let hint = "the map is for phases that the document has no more";
                let finding = Diagnostic::error(Code::WorkflowDuplicate, message).hint(hint);
                self.compiler.problem(&from.span, finding);
                continue;
            }
            if !phases.iter().any(|phase| phase.name.value == to.value) {
                let known = phases.iter().map(|phase| phase.name.value.as_str());
                let code = Code::WorkflowUnknownPhase;
                self.compiler.unknown(to, code, "phase", known);
                continue;
            }
            let from = self.compiler.name(from, |text| PhaseId::new(text));
            let to = self.compiler.name(to, |text| PhaseId::new(text));
            if let (Some(from), Some(to)) = (from, to) {
                found.push(PhaseMove { from, to });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{Document, System, compile};

    /// A document with these phases, each with its aliases after a `=`, and more text.
    fn version(phases: &str, more: &str) -> (Document, Workflow) {
        let (document, workflow) = read(phases, more);
        let workflow = workflow.unwrap_or_else(|found| panic!("{found:#?}"));
        (document, workflow)
    }

    fn read(phases: &str, more: &str) -> (Document, Result<Workflow, Vec<Diagnostic>>) {
        let mut text = String::from("```toml orch\n");
        for phase in phases.split_whitespace() {
            let (name, alias) = phase.split_once('=').unwrap_or((phase, ""));
            text.push_str(&format!("[phase.{name}]\n"));
            if !alias.is_empty() {
                text.push_str(&format!("aliases = ['{alias}']\n"));
            }
            if name == "done" {
                text.push_str("terminal = true\n");
            }
        }
        text.push_str(more);
        text.push_str("\n[[rule]]\nid = 'end'\nfrom = '*'\nto = 'done'\nbecause = 'x'\n```\n");
        let document = Document::new("w", "w.md", text);
        let (workflow, found) = compile(&document, &System::empty());
        (document, workflow.ok_or(found))
    }

    #[test]
    fn a_map_leads_no_task_forward() {
        let old = "plan review code test done";
        for (new, from, to, is_forward) in [
            // Removed.
            ("plan code test done", "review", "plan", false),
            ("plan code test done", "review", "code", true),
            ("plan code test done", "review", "done", true),
            ("plan=review code test done", "review", "plan", false),
            // Split.
            ("plan first second code test done", "review", "first", false),
            ("plan first second code test done", "review", "second", true),
            ("plan first second code test done", "review", "code", true),
            // What was before is gone too.
            ("first code test done", "review", "first", false),
            ("first second code test done", "review", "second", true),
            // Renamed and in another order.
            ("code plan check=test done", "review", "plan", false),
            ("code plan check=test done", "review", "check", true),
        ] {
            let former = version(old, "").1;
            let now = version(new, "").1;
            let [from, to] = [from, to].map(|name| PhaseId::new(name).expect("a name"));
            let why = now.leads_forward(&former, &from, &to);
            assert_eq!(why.is_some(), is_forward, "{new}: {from} to {to}: {why:?}");
        }
        // The map says where earlier phases went, as far as that leads nobody forward.
        for (map, is_forward) in [("plan = 'first'", false), ("plan = 'second'", true)] {
            let former = version(old, "").1;
            let map = format!("[migrate.phases]\n{map}");
            let now = version("first second third code test done", &map).1;
            let [from, to] = ["review", "second"].map(|name| PhaseId::new(name).expect("a name"));
            let why = now.leads_forward(&former, &from, &to);
            assert_eq!(why.is_some(), is_forward, "{map}: {why:?}");
        }
    }

    #[test]
    fn a_map_is_about_phases_that_are_no_more() {
        for (map, words) in [
            ("[migrate.phases]\nplan = 'code'", "so its tasks stay there"),
            (
                "[migrate.phases]\nreview = 'cod'",
                "there is no phase `cod`",
            ),
            ("[migrate]\nphase = {}", "`phase`"),
        ] {
            let found = read("plan code done", map).1.expect_err(words);
            let told = found.iter().any(|one| one.message.contains(words));
            assert!(told, "{map}: {found:#?}");
        }
        let map = "[migrate.phases]\nreview = 'plan'";
        let now = version("plan code done", map).1;
        let goes_on = |name: &str| now.goes_on_in(name).map(PhaseId::as_str);
        assert_eq!(goes_on("review"), Some("plan"));
        assert_eq!(goes_on("code"), Some("code"));
        assert_eq!(goes_on("test"), None);
        assert_ne!(now.map(), version("plan code done", "").1.map());
    }

    #[test]
    fn prose_layout_and_the_order_of_tables_make_no_other_machine() {
        let own = version(
            "plan code done",
            "[define]\na = 'true'\n[limits]\nturns = 3",
        );
        for (phases, more, is_same) in [
            (
                "plan code done",
                "[limits]\nturns   =  3 # three\n[define]\na='true'",
                true,
            ),
            (
                "plan code done",
                "[limits]\nturns = 4\n[define]\na = 'true'",
                false,
            ),
            (
                "code plan done",
                "[define]\na = 'true'\n[limits]\nturns = 3",
                false,
            ),
            (
                "plan=x code done",
                "[define]\na = 'true'\n[limits]\nturns = 3",
                false,
            ),
        ] {
            let other = version(phases, more);
            let is = own.1.digest == other.1.digest;
            assert_eq!(is, is_same, "{phases} {more}");
        }
    }
}
