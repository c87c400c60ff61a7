//! Which rules of a phase hold together, what none of them covers, and which of them never decides.
//!
//! The guards of a phase are read as formulas over the values that they ask about, each with the few values that some guard
//! tells apart. That is exact for flags, for comparisons with constants and for how they are joined. What a formula cannot
//! see is taken as possible: that two values depend on each other, because both are computed from one file, or that a
//! schema excludes one. So an overlap or a gap that is found comes with its case, for a reader to judge; and what is not
//! found, and was not given up, cannot happen.

mod difference;
mod findings;
mod formula;
mod search;
mod version;

pub use difference::{DecisionDifference, DecisionDifferences, differences};
pub(super) use findings::case_findings;
pub use findings::{EndlessPhase, endless_phases};

use super::guard::COMPARED;
use super::{Outcome, Rule, Workflow};
use formula::{Domain, Formula, NumberCell, PhaseFormulas, Values, Variable, WorkflowFormulas};
use orch_base::PhaseId;
use search::{CaseSearch, search};
use std::collections::BTreeSet;
use std::rc::Rc;

/// What is known of the rules of one phase.
#[derive(Debug)]
pub struct PhaseCases<'w> {
    /// The phase.
    pub phase: &'w PhaseId,
    /// Each two rules that may hold together, in order.
    pub overlaps: Vec<RuleOverlap<'w>>,
    /// A case in which the work of the phase is done, and no rule says what comes next.
    pub gap: Option<RuleCase>,
    /// The rules before which another one always holds, each with the rule that always does, if it is one.
    pub covered: Vec<(&'w Rule, Option<&'w Rule>)>,
    /// The rules that never hold.
    pub impossible: Vec<&'w Rule>,
    /// The rules that send back and may hold at once again, because they read nothing that is used up.
    pub unspent: Vec<(&'w Rule, RuleCase)>,
    /// How many questions were given up, because they take too many steps.
    pub given_up: usize,
}

/// Two rules that may hold together; the first decides.
#[derive(Debug)]
pub struct RuleOverlap<'w> {
    /// The one that stands first.
    pub first: &'w Rule,
    /// The other one.
    pub second: &'w Rule,
    /// When both hold.
    pub case: RuleCase,
}

/// Values with which something is so, in words; what does not matter is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCase(pub Vec<String>);

impl RuleOverlap<'_> {
    /// Whether it matters which of the two decides.
    #[must_use]
    pub fn differs(&self) -> bool {
        differ(self.first, self.second)
    }

    /// Whether nobody has said that the order of the two is meant: both stand in one group.
    #[must_use]
    pub fn is_in_one_group(&self) -> bool {
        are_in_one_group(self.first, self.second)
    }
}

fn are_in_one_group(first: &Rule, second: &Rule) -> bool {
    first.group.is_some() && first.group == second.group
}

/// Whether it matters which of two rules decides.
fn differ(first: &Rule, second: &Rule) -> bool {
    first.outcome != second.outcome || first.by_human != second.by_human
}

/// Whether an overlap of two rules is a finding: they differ, and as both stand in one group, nobody has said that their
/// order is meant.
fn must_not_overlap(first: &Rule, second: &Rule) -> bool {
    are_in_one_group(first, second) && differ(first, second)
}

/// Looks at all combinations of what the guards of each phase ask about.
#[must_use]
pub fn cases(workflow: &Workflow) -> Vec<PhaseCases<'_>> {
    looked_at(workflow, |_, _| true)
}

/// The same, with the overlaps of those pairs of rules that are asked for.
fn looked_at(workflow: &Workflow, is_asked: fn(&Rule, &Rule) -> bool) -> Vec<PhaseCases<'_>> {
    let formulas = WorkflowFormulas::of(workflow);
    let phases = formulas.phases.iter();
    let found = phases.map(|of| {
        let mut looking = Looking {
            formulas: &formulas,
            of,
            is_asked,
            given_up: 0,
        };
        looking.cases(workflow)
    });
    found.collect()
}

/// Looks at the rules of one phase.
struct Looking<'f, 'w> {
    formulas: &'f WorkflowFormulas<'w>,
    of: &'f PhaseFormulas<'w>,
    is_asked: fn(&Rule, &Rule) -> bool,
    given_up: usize,
}

impl<'w> Looking<'_, 'w> {
    fn cases(&mut self, workflow: &Workflow) -> PhaseCases<'w> {
        let of = self.of;
        let mut cases = PhaseCases {
            phase: &of.phase.id,
            overlaps: Vec::new(),
            gap: None,
            covered: Vec::new(),
            impossible: Vec::new(),
            unspent: Vec::new(),
            given_up: 0,
        };
        for second in 0..of.rules.len() {
            for first in 0..second {
                if !(self.is_asked)(of.rules[first], of.rules[second]) {
                    continue;
                }
                let both = [of.holds[first].clone(), of.holds[second].clone()];
                if let Some(case) = self.case(&both) {
                    cases.overlaps.push(RuleOverlap {
                        first: of.rules[first],
                        second: of.rules[second],
                        case,
                    });
                }
            }
            let rule = of.rules[second];
            if self.is_never(std::slice::from_ref(&of.holds[second])) {
                cases.impossible.push(rule);
            } else if let Some(by) = self.covered_by(second) {
                cases.covered.push((rule, by));
            } else if let Some(case) = self.again(workflow, second) {
                cases.unspent.push((rule, case));
            }
        }
        cases.gap = self.gap();
        cases.given_up = self.given_up;
        cases
    }

    /// A case in which all these formulas hold in the phase.
    fn case(&mut self, wanted: &[Rc<Formula>]) -> Option<RuleCase> {
        let given = self.of.given.iter();
        let all: Vec<Rc<Formula>> = given.chain(wanted).cloned().collect();
        let variables = &self.formulas.variables;
        match search(&all, variables) {
            CaseSearch::Case(values) if !rests_on_closed(&values, variables) => {
                Some(in_words(&values, variables))
            }
            CaseSearch::None => None,
            CaseSearch::Case(_) | CaseSearch::Unknown => {
                self.given_up += 1;
                None
            }
        }
    }

    /// Whether formulas never hold together in the phase.
    fn is_never(&mut self, wanted: &[Rc<Formula>]) -> bool {
        let given_up = self.given_up;
        self.case(wanted).is_none() && self.given_up == given_up
    }

    /// When a rule does not hold: its guard is false, or an error.
    fn fails(&self, rule: usize) -> Rc<Formula> {
        Rc::new(self.of.holds[rule].negated(&self.formulas.variables))
    }

    /// Whether an earlier rule decides wherever this one holds: by itself, or together with others.
    fn covered_by(&mut self, rule: usize) -> Option<Option<&'w Rule>> {
        let of = self.of;
        let deciding: Vec<usize> = (0..rule)
            .filter(|earlier| of.rules[*earlier].outcome.actions().is_empty())
            .collect();
        let mut beside = vec![of.holds[rule].clone()];
        beside.extend(deciding.iter().map(|earlier| self.fails(*earlier)));
        if deciding.is_empty() || !self.is_never(&beside) {
            return None;
        }
        let alone = deciding.into_iter().find(|earlier| {
            let fails = self.fails(*earlier);
            self.is_never(&[of.holds[rule].clone(), fails])
        });
        Some(alone.map(|earlier| of.rules[earlier]))
    }

    /// A case in which the work of the phase is done, all that is there can be read, and no rule holds.
    fn gap(&mut self) -> Option<RuleCase> {
        if self.of.done.is_empty() {
            return None;
        }
        let mut wanted = self.of.done.clone();
        wanted.extend((0..self.of.rules.len()).map(|rule| self.fails(rule)));
        let mut about = BTreeSet::new();
        wanted.iter().for_each(|one| one.collect(&mut about));
        let sound = self.formulas.sound.iter().filter(|sound| {
            let mut variables = BTreeSet::new();
            sound.collect(&mut variables);
            !variables.is_disjoint(&about)
        });
        wanted.extend(sound.cloned());
        self.case(&wanted)
    }

    /// A case in which a rule sends back, and rules lead here again although the way back has used up what it does. A rule that
    /// writes to the state, or waits for a person, ends that.
    fn again(&mut self, workflow: &Workflow, rule: usize) -> Option<RuleCase> {
        let of = self.of;
        let is_bound = |rule: &Rule| rule.by_human || !rule.set.is_empty();
        let Outcome::To(to) = &of.rules[rule].outcome else {
            return None;
        };
        let is_back = workflow.position(to) <= workflow.position(&of.phase.id);
        if !is_back || is_bound(of.rules[rule]) {
            return None;
        }
        let mut wanted = self.formulas.spent(workflow, to);
        wanted.push(of.holds[rule].clone());
        let mut reached = vec![to];
        let mut open = vec![(to, wanted)];
        while let Some((at, wanted)) = open.pop() {
            if *at == of.phase.id {
                return self.case(&wanted);
            }
            let phases = self.formulas.phases.iter();
            for there in phases.filter(|there| there.phase.id == *at) {
                for (next, holds) in there.rules.iter().zip(&there.holds) {
                    let Outcome::To(to) = &next.outcome else {
                        continue;
                    };
                    let mut further = wanted.clone();
                    further.push(holds.clone());
                    let is_new = *to == of.phase.id || !reached.contains(&to);
                    if is_new && !is_bound(next) && self.case(&further).is_some() {
                        reached.push(to);
                        open.push((to, further));
                    }
                }
            }
        }
        None
    }
}

/// Whether a case is one only if a named expression has a value that was not looked into.
fn rests_on_closed(values: &[Values], variables: &[Variable]) -> bool {
    let mut both = values.iter().zip(variables);
    both.any(|(values, variable)| variable.is_closed && *values != variable.all())
}

/// One value for each variable of which not all will do, in words.
fn in_words(values: &[Values], variables: &[Variable]) -> RuleCase {
    let mut words: Vec<String> = Vec::new();
    for (variable, values) in variables.iter().zip(values) {
        if *values != variable.all() {
            words.push(variable.words(*values));
        }
    }
    RuleCase(folded(words))
}

/// Says `ready` where an artifact is present, valid and fresh, and leaves out that a valid one is present.
fn folded(words: Vec<String>) -> Vec<String> {
    let has = |name: &str, flag: &str| words.contains(&format!("{name}.{flag}"));
    let kept = words.iter().filter_map(|word| {
        let Some((name, flag)) = word.rsplit_once('.') else {
            return Some(word.clone());
        };
        let is_ready = ["present", "valid", "fresh"]
            .iter()
            .all(|flag| has(name, flag));
        match flag {
            "present" if is_ready => Some(format!("{name}.ready")),
            "valid" | "fresh" if is_ready => None,
            "present" if has(name, "valid") => None,
            _ => Some(word.clone()),
        }
    });
    kept.collect()
}

impl Variable {
    /// All its values.
    fn all(&self) -> Values {
        self.domain.all()
    }

    /// The first of these values, in words.
    fn words(&self, values: Values) -> String {
        let nth = values.trailing_zeros() as usize;
        let subject = &self.subject;
        match &self.domain {
            Domain::Bool | Domain::Orders if subject.contains(COMPARED) => {
                let signs: &[&str] = match self.domain {
                    Domain::Orders => &[" < ", " == ", " > "],
                    _ => &[" == ", " != "],
                };
                let sign = signs.get(nth).copied().unwrap_or_default();
                subject.replacen(COMPARED, sign, 1)
            }
            Domain::Orders => subject.clone(),
            Domain::Bool if nth == 0 => subject.clone(),
            Domain::Bool if subject.contains(' ') => format!("!({subject})"),
            Domain::Bool => format!("!{subject}"),
            Domain::Texts { texts, .. } => match texts.get(nth) {
                Some(text) => format!("{subject} == '{text}'"),
                None => format!("{subject} is another text"),
            },
            Domain::Numbers(cells) => match cells.get(nth) {
                Some(NumberCell::Only(number)) => format!("{subject} == {number}"),
                Some(NumberCell::Below(number)) => format!("{subject} < {number}"),
                Some(NumberCell::Above(number)) => format!("{subject} > {number}"),
                Some(NumberCell::Between(from, to)) => format!("{from} < {subject} < {to}"),
                None => subject.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::guard::{Lookup, Scope, follow};
    use super::super::{Document, System, compile};
    use super::*;
    use serde_json::{Value, json};

    const SCHEMA: &str = r#"{"type": "object", "required": ["kind", "n", "ok"], "properties": {
        "kind": {"enum": ["x", "y", "z"]}, "n": {"type": "integer"}, "ok": {"type": "boolean"}}}"#;
    const HEAD: &str = r#"```toml orch
[workflow]
title = "Cases"
initial = "p"
[define]
settled = "a.valid && a.ok"
[artifact.a]
path = "a.json"
schema = "a"
[artifact.a.facts]
kind = "data.kind"
n = "data.n"
ok = "data.ok"
[artifact.b]
path = "b.json"
[phase.p]
produces = ["a", "b"]
[phase.q]
terminal = true
"#;

    /// Rules of `p`, each with its guard, its outcome and its group.
    fn document(rules: &[(&str, &str, &str)]) -> Document {
        let mut text = HEAD.to_owned();
        for (nth, (when, outcome, group)) in rules.iter().enumerate() {
            text.push_str(&format!(
                "[[rule]]\nid = \"r{nth}\"\nfrom = \"p\"\nwhen = \"{when}\"\n{outcome}\nbecause = \"it is so\"\n"
            ));
            if !group.is_empty() {
                text.push_str(&format!("group = \"{group}\"\n"));
            }
        }
        Document::new("cases", "cases.md", format!("{text}```\n"))
    }

    fn compiled(document: &Document) -> Workflow {
        let system = System::empty().with("schemas/a.schema.json", SCHEMA);
        let (workflow, problems) = compile(document, &system);
        workflow.unwrap_or_else(|| panic!("{problems:#?}"))
    }

    #[test]
    fn findings_name_the_rules_and_a_case() {
        const TO: &str = "to = \"q\"";
        const WAIT: &str = "wait = \"a word\"";
        let ends = ("true", TO, "");
        for (rules, expected) in [
            // One group, two outcomes.
            (
                vec![
                    ("a.ready && a.ok", TO, "g"),
                    ("a.ready && a.n > 1", WAIT, "g"),
                    ends,
                ],
                vec![
                    "rules `r0` and `r1` of group `g` both hold in phase `p`: a.ready, a.data.ok, a.data.n > 1",
                ],
            ),
            // The same outcome, other groups, no group, or no case in common.
            (
                vec![("a.ready && a.ok", TO, "g"), ("a.ready", TO, "g"), ends],
                vec![],
            ),
            (
                vec![("a.ready && a.ok", TO, "g"), ("a.ready", WAIT, "h"), ends],
                vec![],
            ),
            (
                vec![("a.ready && a.ok", TO, ""), ("a.ready", WAIT, ""), ends],
                vec![],
            ),
            (
                vec![
                    ("a.ready && a.kind == 'x'", TO, "g"),
                    ("a.ready && a.kind != 'x'", WAIT, "g"),
                    ends,
                ],
                vec![],
            ),
            (
                vec![
                    ("settled", TO, "g"),
                    ("a.valid && !settled", WAIT, "g"),
                    ends,
                ],
                vec![],
            ),
            // Everything is there, and nothing is said of it.
            (
                vec![("a.ready && b.ready && a.kind in ['x', 'y']", TO, "")],
                vec![
                    "phase `p` is done, and no rule says what is next: a.ready, b.ready, a.data.kind == 'z'",
                ],
            ),
            (
                vec![
                    ("a.ready && a.n == 0", TO, ""),
                    ("a.ready && a.n >= 1", TO, ""),
                ],
                vec![],
            ),
            // Two values, compared with each other; and two that are true or false.
            (
                vec![
                    ("a.ready && b.ready && a.n > state.m", TO, "g"),
                    ("a.ready && b.ready && state.m >= a.n", WAIT, "g"),
                ],
                vec![],
            ),
            (
                vec![
                    ("a.ready && b.ready && a.n >= state.m", TO, "g"),
                    ("a.ready && b.ready && a.n <= state.m", WAIT, "g"),
                ],
                vec![
                    "rules `r0` and `r1` of group `g` both hold in phase `p`: a.ready, b.ready, a.n == state.m",
                ],
            ),
            (
                vec![
                    ("a.ready && b.ready && a.ready == settled", TO, "g"),
                    ("a.ready && b.ready && !settled", WAIT, "g"),
                ],
                vec![],
            ),
            (
                vec![("a.ready && b.ready && a.kind == state.k", TO, "")],
                vec![
                    "phase `p` is done, and no rule says what is next: a.ready, b.ready, a.kind != state.k",
                ],
            ),
            // Never.
            (
                vec![("a.ready && a.kind == 'x' && a.kind == 'y'", TO, ""), ends],
                vec!["rule `r0` never fires: its guard is never true"],
            ),
            (
                vec![("a.n > 1", TO, ""), ("a.n > 2", WAIT, ""), ends],
                vec!["rule `r1` never fires: `r0` on line 20 fires first in all its cases"],
            ),
            (
                vec![
                    ("a.ready && a.ok", TO, ""),
                    ("a.ready && !a.ok", WAIT, ""),
                    ("a.ready", TO, ""),
                    ends,
                ],
                vec!["rule `r2` never fires: in all its cases one of the rules before it does"],
            ),
            // Round and round.
            (
                vec![("a.valid && a.ok", "to = \"p\"", ""), ends],
                vec![
                    "rule `r0` sends back from `p`, and rules lead here again although nothing was written: a.valid, a.data.ok, !a.fresh, !b.fresh",
                ],
            ),
            (vec![("a.ready && a.ok", "to = \"p\"", ""), ends], vec![]),
        ] {
            let document = document(&rules);
            let workflow = compiled(&document);
            let found: Vec<String> = case_findings(&document, &workflow)
                .into_iter()
                .map(|finding| finding.message)
                .collect();
            assert_eq!(found, expected, "{rules:?}");
        }
    }

    #[test]
    fn a_phase_from_which_only_circles_lead_is_told() {
        let text = HEAD.replace("[phase.q]", "[phase.r]\n[phase.s]\n[phase.q]");
        let rules = [
            ("p", "q", "a.ready"),
            ("p", "r", "b.ready"),
            ("r", "s", "a.ready"),
            ("s", "r", "b.ready"),
        ];
        let rules = rules.map(|(from, to, when)| {
            format!("[[rule]]\nid = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nwhen = \"{when}\"\nbecause = \"x\"\n")
        });
        let document = Document::new(
            "cases",
            "cases.md",
            format!("{text}{}```\n", rules.concat()),
        );
        let findings = case_findings(&document, &compiled(&document));
        let found: Vec<&str> = findings
            .iter()
            .map(|finding| finding.message.as_str())
            .collect();
        assert_eq!(
            found,
            [
                // What leads round was made before, so nothing uses it up.
                "rule `s-r` sends back from `s`, and rules lead here again although nothing was written: a.ready, b.ready",
                "from phase `r` rules lead only in circles, to no end",
                "from phase `s` rules lead only in circles, to no end"
            ]
        );
    }

    #[test]
    fn rules_of_a_group_stand_together_where_its_first_one_does() {
        const TO: &str = "to = \"q\"";
        let rules = [
            ("a.ready", TO, "g"),
            ("b.ready", TO, ""),
            ("a.valid", TO, "h"),
            ("a.fresh", TO, "g"),
        ];
        let workflow = compiled(&document(&rules));
        let order: Vec<&str> = workflow.rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(order, ["r0", "r3", "r1", "r2"]);
    }

    /// Facts of a task.
    struct Given(Value);

    impl Scope for Given {
        fn look_up(&self, path: &[String]) -> Lookup<'_> {
            follow(&self.0, path, 0)
        }
    }

    /// All facts that the guards below may see.
    fn every_fact() -> Vec<Given> {
        let mut all = Vec::new();
        for bits in 0..1024_u32 {
            let bit = |nth: u32| bits >> nth & 1 == 1;
            let [present, valid] = [bit(0), bit(0) && bit(1)];
            if bit(1) && !present {
                continue;
            }
            let flags = json!({"present": present, "valid": valid, "fresh": bit(2),
                "ready": valid && bit(2), "changed": bit(3)});
            let other = json!({"present": bit(4), "valid": bit(4), "fresh": bit(5),
                "ready": bit(4) && bit(5), "changed": false});
            let state = json!({"go": bit(7), "l": u8::from(bit(8)), "m": u8::from(bit(9))});
            for kind in ["x", "y", "z"] {
                for n in 0..4 {
                    let mut a = flags.clone();
                    if valid {
                        let facts = json!({"kind": kind, "n": n, "ok": bit(6)});
                        a.as_object_mut()
                            .expect("an object")
                            .extend(facts.as_object().expect("an object").clone());
                    }
                    let settled = valid && bit(6);
                    all.push(Given(
                        json!({"a": a, "b": other, "settled": settled, "state": state}),
                    ));
                    if !valid {
                        break;
                    }
                }
                if !valid {
                    break;
                }
            }
        }
        all
    }

    /// A guard at random.
    fn guard(next: &mut impl FnMut(usize) -> usize, depth: usize) -> String {
        const LEAVES: [&str; 22] = [
            "a.present",
            "a.valid",
            "a.fresh",
            "a.ready",
            "a.changed",
            "b.ready",
            "b.present",
            "a.kind == 'x'",
            "a.kind != 'y'",
            "a.kind in ['x', 'z']",
            "a.n > 1",
            "a.n == 2",
            "1 >= a.n",
            "a.ok",
            "a.ok == false",
            "settled",
            "state.go",
            "state.l < state.m",
            "state.l <= state.m",
            "state.m < state.l",
            "state.m != state.l",
            "true",
        ];
        let below = |next: &mut _| guard(next, depth - 1);
        match if depth == 0 { 9 } else { next(9) } {
            0 | 1 => format!("({} && {})", below(next), below(next)),
            2 | 3 => format!("({} || {})", below(next), below(next)),
            4 => format!("!({})", below(next)),
            5 => format!("({} ? {} : {})", below(next), below(next), below(next)),
            6 => format!("(({}) == ({}))", below(next), below(next)),
            _ => LEAVES[next(LEAVES.len())].to_owned(),
        }
    }

    #[test]
    fn random_workflows_have_the_cases_that_trying_all_of_them_finds() {
        let facts = every_fact();
        let mut seed = 7_u64;
        let mut next = |limit: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).expect("small") % limit
        };
        for _ in 0..12 {
            let guards: Vec<String> = (0..4).map(|_| guard(&mut next, 3)).collect();
            let outcomes = ["to = \"q\"", "wait = \"a word\""];
            let rules: Vec<(&str, &str, &str)> = guards
                .iter()
                .enumerate()
                .map(|(nth, guard)| (guard.as_str(), outcomes[nth % 2], ""))
                .collect();
            let workflow = compiled(&document(&rules));
            let holds: Vec<Vec<bool>> = facts
                .iter()
                .map(|facts| {
                    let rules = workflow.rules.iter();
                    rules
                        .map(|rule| rule.when.holds(facts).result == Ok(true))
                        .collect()
                })
                .collect();
            let found = &cases(&workflow)[0];
            assert_eq!(found.given_up, 0);
            for second in 0..4 {
                for first in 0..second {
                    let expected = holds.iter().any(|holds| holds[first] && holds[second]);
                    let is_found = found.overlaps.iter().any(|one| {
                        one.first.id == workflow.rules[first].id
                            && one.second.id == workflow.rules[second].id
                    });
                    assert_eq!(is_found, expected, "{first} {second} of {guards:#?}");
                }
                let id = &workflow.rules[second].id;
                let is_possible = holds.iter().any(|holds| holds[second]);
                let is_impossible = found.impossible.iter().any(|rule| rule.id == *id);
                assert_eq!(is_impossible, !is_possible, "{second} of {guards:#?}");
                let decides = holds
                    .iter()
                    .any(|holds| holds[second] && !holds[..second].contains(&true));
                let is_covered = found.covered.iter().any(|(rule, _)| rule.id == *id);
                assert_eq!(
                    is_covered,
                    is_possible && !decides,
                    "{second} of {guards:#?}"
                );
            }
            let is_done =
                |facts: &Given| facts.0["a"]["ready"] == true && facts.0["b"]["ready"] == true;
            let gap = facts
                .iter()
                .zip(&holds)
                .any(|(facts, holds)| is_done(facts) && !holds.contains(&true));
            assert_eq!(found.gap.is_some(), gap, "{guards:#?}");
        }
    }
}
