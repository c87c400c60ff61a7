//! In which cases two versions of a workflow decide differently.
//!
//! The phases that both versions have are compared, also under another name: for each rule that decides in one version, and
//! each that decides in the other one with another outcome, a case is looked for. That nothing of a phase differs is known
//! without a search for as long as the rules are the same from the first one on.

use super::super::renames::Renames;
use super::super::{Outcome, Rule, Workflow};
use super::formula::{Formula, PhaseFormulas, Variable, VersionFormulas};
use super::search::{CaseSearch, search};
use super::version::Version;
use super::{RuleCase, in_words, rests_on_closed};
use orch_base::PhaseId;
use std::rc::Rc;

/// What two versions of a workflow decide differently.
#[derive(Debug)]
pub struct DecisionDifferences<'w> {
    /// Each two decisions of a phase, with a case.
    pub found: Vec<DecisionDifference<'w>>,
    /// How many questions were given up, because they take too many steps.
    pub given_up: usize,
}

/// A case in which two versions of a workflow decide differently.
#[derive(Debug)]
pub struct DecisionDifference<'w> {
    /// The phase, as the present version names it.
    pub phase: &'w PhaseId,
    /// The rule that decides in the former version; `None` if none does.
    pub former: Option<&'w Rule>,
    /// The rule that decides now.
    pub now: Option<&'w Rule>,
    /// When this is so.
    pub case: RuleCase,
}

/// Compares what the former version of a workflow and the present one decide, for all that their guards ask about.
#[must_use]
pub fn differences<'w>(former: &'w Workflow, now: &'w Workflow) -> DecisionDifferences<'w> {
    let renames = Renames::between(former, now);
    let former = Version::former(former, now);
    let formulas = VersionFormulas::of(&former, &Version::only(now));
    let mut comparing = Comparing {
        renames: &renames,
        variables: &formulas.variables,
        found: Vec::new(),
        given_up: 0,
    };
    for of in &formulas.former {
        let name = renames.name(of.phase.id.as_str());
        let mut same = formulas.now.iter();
        if let Some(other) = same.find(|other| other.phase.id.as_str() == name) {
            comparing.phase(of, other);
        }
    }
    DecisionDifferences {
        found: comparing.found,
        given_up: comparing.given_up,
    }
}

/// Whether the outcome of a rule of the former version is that of a rule now.
fn is_same_outcome(renames: &Renames, former: Option<&Rule>, now: Option<&Rule>) -> bool {
    let (Some(former), Some(now)) = (former, now) else {
        return former.is_none() && now.is_none();
    };
    let is_same = match (&former.outcome, &now.outcome) {
        (Outcome::To(former), Outcome::To(now)) => renames.name(former.as_str()) == now.as_str(),
        (former, now) => former == now,
    };
    let values = |rule: &Rule, renames: &Renames| -> Vec<(String, String)> {
        let set = rule.set.iter();
        set.map(|(pointer, value)| (pointer.clone(), renames.expression(value.text())))
            .collect()
    };
    is_same
        && former.by_human == now.by_human
        && former.ask == now.ask
        && values(former, renames) == values(now, &Renames::default())
}

/// Compares the phases of two versions.
struct Comparing<'f, 'w> {
    renames: &'f Renames,
    variables: &'f [Variable],
    found: Vec<DecisionDifference<'w>>,
    given_up: usize,
}

impl<'w> Comparing<'_, 'w> {
    fn phase(&mut self, former: &PhaseFormulas<'w>, now: &PhaseFormulas<'w>) {
        let both = former.rules.iter().zip(&now.rules);
        let both = both.zip(former.holds.iter().zip(&now.holds));
        let same = both.take_while(|((one, other), (holds, other_holds))| {
            holds == other_holds && is_same_outcome(self.renames, Some(one), Some(other))
        });
        // Where one of these decides, it does in both.
        let same = same.count();
        let is_all = same == former.rules.len() && same == now.rules.len();
        if is_all {
            return;
        }
        let mut given = former.given.clone();
        given.extend(now.given.iter().cloned());
        let decided_now = Deciding::of(now, self.variables);
        let mut told: Vec<(Option<&Rule>, Option<&Rule>)> = Vec::new();
        for one in Deciding::of(former, self.variables).into_iter().skip(same) {
            let mut wanted = given.clone();
            wanted.extend(one.formulas.iter().cloned());
            for other in decided_now.iter().skip(same) {
                let is_told = |(first, second): &(Option<&Rule>, Option<&Rule>)| {
                    let unchanged = Renames::default();
                    is_same_outcome(&unchanged, *first, one.rule)
                        && is_same_outcome(&unchanged, *second, other.rule)
                };
                if is_same_outcome(self.renames, one.rule, other.rule) || told.iter().any(is_told) {
                    continue;
                }
                let mut all = wanted.clone();
                all.extend(other.formulas.iter().cloned());
                let Some(case) = self.case(&all) else {
                    continue;
                };
                told.push((one.rule, other.rule));
                self.found.push(DecisionDifference {
                    phase: &now.phase.id,
                    former: one.rule,
                    now: other.rule,
                    case,
                });
            }
        }
    }

    fn case(&mut self, all: &[Rc<Formula>]) -> Option<RuleCase> {
        match search(all, self.variables) {
            CaseSearch::Case(values) if !rests_on_closed(&values, self.variables) => {
                Some(in_words(&values, self.variables))
            }
            CaseSearch::None => None,
            CaseSearch::Case(_) | CaseSearch::Unknown => {
                self.given_up += 1;
                None
            }
        }
    }
}

/// A rule, or that there is none, and when it is the one that decides.
struct Deciding<'w> {
    rule: Option<&'w Rule>,
    formulas: Vec<Rc<Formula>>,
}

impl<'w> Deciding<'w> {
    /// The rules of a phase in order, and that none holds.
    fn of(phase: &PhaseFormulas<'w>, variables: &[Variable]) -> Vec<Self> {
        let mut fails: Vec<Rc<Formula>> = Vec::new();
        let mut all = Vec::new();
        for (rule, holds) in phase.rules.iter().zip(&phase.holds) {
            let mut formulas = vec![holds.clone()];
            formulas.extend(fails.iter().cloned());
            all.push(Self {
                rule: Some(*rule),
                formulas,
            });
            fails.push(Rc::new(holds.negated(variables)));
        }
        all.push(Self {
            rule: None,
            formulas: fails,
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{Document, System, compile};

    const SCHEMA: &str = r#"{"type": "object", "required": ["kind"], "properties": {
        "kind": {"enum": ["x", "y"]}, "n": {"type": "integer"}}}"#;
    const TEXT: &str = r#"```toml orch
[define]
small = "a.valid && a.data.n < 3"
[artifact.a]
path = "a.json"
schema = "a"
[artifact.a.facts]
kind = "data.kind"
[phase.write]
produces = ["a"]
[phase.review]
needs = ["a"]
[phase.done]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "a.ready && a.kind == 'x'"
to = "review"
because = "it is there"
[[rule]]
id = "again"
from = "review"
when = "small && a.changed"
to = "write"
because = "it is small"
[[rule]]
id = "end"
from = "review"
when = "a.fresh"
to = "done"
because = "it is over"
```
"#;

    fn version(replaced: &[(&str, &str)]) -> Workflow {
        let mut text = TEXT.to_owned();
        for (old, new) in replaced {
            assert!(text.contains(old), "{old}");
            text = text.replace(old, new);
        }
        let system = System::empty().with("schemas/a.schema.json", SCHEMA);
        let (workflow, found) = compile(&Document::new("w", "w.md", text), &system);
        workflow.unwrap_or_else(|| panic!("{found:#?}"))
    }

    #[test]
    fn what_is_decided_differently_comes_with_a_case() {
        for (replaced, expected) in [
            (vec![], vec![]),
            // The same in other words.
            (
                vec![
                    ("a.kind == 'x'", "a.kind != 'y'"),
                    ("small && a.changed", "a.changed && a.data.n < 3 && a.valid"),
                ],
                vec![],
            ),
            // Other names.
            (
                vec![
                    ("[artifact.a]\n", "[artifact.b]\naliases = ['a']\n"),
                    ("artifact.a.", "artifact.b."),
                    ("\"a", "\"b"),
                    (" a.", " b."),
                    ("schema = \"b\"", "schema = \"a\""),
                    ("[phase.review]\n", "[phase.check]\naliases = ['review']\n"),
                    ("\"review\"", "\"check\""),
                ],
                vec![],
            ),
            (
                vec![("a.kind == 'x'", "a.kind == 'y'")],
                vec![
                    "write: written / - if a.ready, a.data.kind == 'x'",
                    "write: - / written if a.ready, a.data.kind == 'y'",
                ],
            ),
            (
                vec![("a.data.n < 3", "a.data.n < 5")],
                vec![
                    "review: end / again if a.ready, a.data.n == 3, a.changed",
                    "review: - / again if a.valid, !a.fresh, a.data.n == 3, a.changed",
                ],
            ),
            (
                vec![(
                    "when = \"a.fresh\"\nto = \"done\"",
                    "when = \"a.fresh\"\nwait = \"a word\"",
                )],
                vec!["review: end / end if a.ready, a.data.n == 3"],
            ),
        ] {
            let [former, now] = [version(&[]), version(&replaced)];
            let differences = differences(&former, &now);
            assert_eq!(differences.given_up, 0);
            let id = |rule: Option<&Rule>| rule.map_or("-".to_owned(), |rule| rule.id.to_string());
            let found: Vec<String> = differences
                .found
                .iter()
                .map(|one| {
                    let case = one.case.0.join(", ");
                    format!(
                        "{}: {} / {} if {case}",
                        one.phase,
                        id(one.former),
                        id(one.now)
                    )
                })
                .collect();
            assert_eq!(found, expected, "{replaced:?}");
        }
    }
}
