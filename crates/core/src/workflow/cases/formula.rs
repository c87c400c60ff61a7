//! The guards of one phase as formulas over variables with few values each.
//!
//! What a guard asks of one value is a variable: true or false, one of the texts that guards compare it with, or one of the
//! ranges between the numbers that they compare it with. As CEL has it, a guard is true, false or an error; a formula says
//! when it is true, and another one when it is false.

use super::super::guard::{Logic, SameValues, Test, ValueQuestion};
use super::super::{Artifact, Phase, Rule, VERIFIED, Workflow, schema_field};
use super::version::Version;
use orch_base::PhaseId;
use orch_base::pointer::child;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The values of a variable, as bits: the n-th value is the n-th bit.
pub(super) type Values = u64;

/// More constants than this are not told apart.
const MOST_VALUES: usize = 63;

/// A named expression whose formula has more parts than this is not looked into.
const MOST_PARTS: usize = 2_000;

/// When something holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Formula {
    /// Always or never.
    Known(bool),
    /// If the variable has one of these values.
    Is { variable: usize, values: Values },
    /// If all of them hold.
    All(Vec<Rc<Self>>),
    /// If at least one of them holds.
    Any(Vec<Rc<Self>>),
}

/// A value that guards ask about.
#[derive(Debug)]
pub(super) struct Variable {
    /// The value, as CEL spells it.
    pub(super) subject: String,
    pub(super) domain: Domain,
    /// Whether it stands for a named expression that is not looked into.
    pub(super) is_closed: bool,
}

/// What the values of a variable are.
#[derive(Debug, PartialEq)]
pub(super) enum Domain {
    /// Yes and no, in this order.
    Bool,
    /// These texts, and perhaps any other one.
    Texts { texts: Vec<String>, others: bool },
    /// These numbers, and the ranges around and between them.
    Numbers(Vec<NumberCell>),
    /// Of two values that guards compare with each other: less, equal and greater.
    Orders,
}

/// Numbers that no guard tells apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NumberCell {
    /// One number.
    Only(f64),
    /// All that are less.
    Below(f64),
    /// All between.
    Between(f64, f64),
    /// All that are greater.
    Above(f64),
}

impl Domain {
    fn size(&self) -> usize {
        match self {
            Self::Bool => 2,
            Self::Texts { texts, others } => texts.len() + usize::from(*others),
            Self::Numbers(cells) => cells.len(),
            Self::Orders => 3,
        }
    }

    pub(super) fn all(&self) -> Values {
        (1 << self.size()) - 1
    }
}

impl Formula {
    /// How many parts it has, as it is written out.
    fn parts(&self) -> usize {
        match self {
            Self::Known(_) | Self::Is { .. } => 1,
            Self::All(of) | Self::Any(of) => {
                let parts = of.iter().map(|one| one.parts());
                parts.fold(1, usize::saturating_add)
            }
        }
    }

    /// Adds the variables that it is about.
    pub(super) fn collect(&self, found: &mut BTreeSet<usize>) {
        match self {
            Self::Known(_) => {}
            Self::Is { variable, .. } => {
                found.insert(*variable);
            }
            Self::All(of) | Self::Any(of) => of.iter().for_each(|one| one.collect(found)),
        }
    }

    /// The formula that holds where this one does not.
    pub(super) fn negated(&self, variables: &[Variable]) -> Self {
        let each = |all: &[Rc<Self>]| {
            let all = all.iter().map(|one| Rc::new(one.negated(variables)));
            all.collect::<Vec<_>>()
        };
        match self {
            Self::Known(known) => Self::Known(!known),
            Self::Is { variable, values } => Self::Is {
                variable: *variable,
                values: variables[*variable].domain.all() & !values,
            },
            Self::All(all) => Self::Any(each(all)),
            Self::Any(any) => Self::All(each(any)),
        }
    }
}

/// The guards of a workflow.
pub(super) struct WorkflowFormulas<'w> {
    pub(super) phases: Vec<PhaseFormulas<'w>>,
    pub(super) variables: Vec<Variable>,
    /// What is so if every file can be read, and every verification that is due has run.
    pub(super) sound: Vec<Rc<Formula>>,
}

/// The guards of the rules of a phase.
pub(super) struct PhaseFormulas<'w> {
    pub(super) phase: &'w Phase,
    /// The rules that decide by themselves, in order.
    pub(super) rules: Vec<&'w Rule>,
    /// When the guard of each of them is true.
    pub(super) holds: Vec<Rc<Formula>>,
    /// What is true in the phase whatever happens.
    pub(super) given: Vec<Rc<Formula>>,
    /// What says that the work of the phase is done; empty if it produces nothing.
    pub(super) done: Vec<Rc<Formula>>,
}

impl<'w> WorkflowFormulas<'w> {
    /// Reads all guards.
    pub(super) fn of(workflow: &'w Workflow) -> Self {
        let version = Version::only(workflow);
        let mut reading = FormulaReader::of(&[&version]);
        let phases = reading.phases(&version);
        let sound = reading.sound(&version);
        Self {
            phases,
            variables: reading.variables,
            sound,
        }
    }

    /// What is so after a rule has sent back to a phase: nothing has changed, and of what that phase or a later one produces,
    /// nothing is fresh.
    pub(super) fn spent(&self, workflow: &Workflow, to: &PhaseId) -> Vec<Rc<Formula>> {
        let end = workflow.position(to);
        let is_used_up = |name: &str| {
            let artifact = workflow.artifact_named(name);
            artifact.is_none_or(|artifact| {
                let mut producers = workflow.producers(&artifact.name);
                producers.any(|phase| workflow.position(&phase.id) >= end)
            })
        };
        let is_no = |subject: &str| {
            subject.ends_with(".changed") || subject.strip_suffix(".fresh").is_some_and(is_used_up)
        };
        let spent = self.variables.iter().enumerate();
        spent
            .filter(|(_, variable)| is_no(&variable.subject))
            .map(|(variable, _)| {
                Rc::new(Formula::Is {
                    variable,
                    values: NO,
                })
            })
            .collect()
    }
}

/// The guards of two versions of a workflow, about the same variables.
pub(super) struct VersionFormulas<'w> {
    pub(super) former: Vec<PhaseFormulas<'w>>,
    pub(super) now: Vec<PhaseFormulas<'w>>,
    pub(super) variables: Vec<Variable>,
}

impl<'w> VersionFormulas<'w> {
    /// Reads all guards of both.
    pub(super) fn of(former: &Version<'w>, now: &Version<'w>) -> Self {
        let mut reading = FormulaReader::of(&[now, former]);
        let of_now = reading.phases(now);
        let of_former = reading.phases(former);
        Self {
            former: of_former,
            now: of_now,
            variables: reading.variables,
        }
    }
}

/// The constants that guards compare a value with.
#[derive(Default)]
struct AskedConstants<'v, 'w> {
    texts: BTreeMap<String, Vec<String>>,
    /// Of each value that is compared with texts, those that schemas permit; `None` if others may be there.
    permitted: BTreeMap<String, Option<Vec<String>>>,
    numbers: BTreeMap<String, Vec<f64>>,
    /// Values that guards compare with numbers below zero.
    negative: Vec<String>,
    /// Pairs of values of which guards ask more than whether they are equal.
    ordered: BTreeSet<String>,
    /// Values that a guard takes as true or false.
    truths: BTreeSet<String>,
    /// Pairs of values of which it is asked whether they are equal.
    same: Vec<(&'v Version<'w>, SameValues)>,
    seen: Vec<(*const Workflow, String)>,
}

impl<'v, 'w> AskedConstants<'v, 'w> {
    fn read(&mut self, version: &'v Version<'w>, logic: &Logic) {
        let workflow = version.workflow;
        match logic {
            Logic::Known(_) => {}
            Logic::Named(name) => {
                let define = workflow.defines.iter().find(|(define, _)| define == name);
                let key = (std::ptr::from_ref(workflow), name.clone());
                if let Some((_, define)) = define
                    && !self.seen.contains(&key)
                {
                    self.seen.push(key);
                    self.read(version, &define.logic());
                }
            }
            Logic::Asks(question) => match fact_logic(workflow, question) {
                Some(logic) => self.read(version, &logic),
                None => self.note(version, question),
            },
            Logic::Not(of) => self.read(version, of),
            Logic::All(all) | Logic::Any(all) => {
                all.iter().for_each(|one| self.read(version, one));
            }
            Logic::If(parts) => parts.iter().for_each(|one| self.read(version, one)),
            Logic::Same(same) => self.same.push((version, SameValues::clone(same))),
        }
    }

    /// Reads what is asked of equal values, now that it is known which are true or false.
    fn read_same(&mut self) {
        while let Some((version, same)) = self.same.pop() {
            if self.are_truths(version, &same) {
                same.truths.iter().for_each(|one| self.read(version, one));
            } else {
                self.note(version, &same.question);
            }
        }
    }

    /// Whether two values are true or false, so that they are equal if both are or neither is. It is enough to know it of
    /// one: nothing else is equal to it.
    fn are_truths(&self, version: &Version<'w>, same: &SameValues) -> bool {
        let mut truths = same.truths.iter();
        truths.any(|one| self.is_truth(version, one))
    }

    /// Whether the logic of a value says all of it, because it is true or false.
    fn is_truth(&self, version: &Version<'w>, logic: &Logic) -> bool {
        let workflow = version.workflow;
        match logic {
            Logic::Known(_) | Logic::Not(_) | Logic::All(_) | Logic::Any(_) | Logic::Same(_) => {
                true
            }
            Logic::If(parts) => parts[1..].iter().all(|one| self.is_truth(version, one)),
            Logic::Named(name) => {
                let define = workflow.defines.iter().find(|(define, _)| define == name);
                match define.map(|(_, define)| define.logic()) {
                    Some(Logic::All(parts)) if parts.len() == 1 => {
                        self.is_truth(version, &parts[0])
                    }
                    parts => parts.is_some(),
                }
            }
            Logic::Asks(question) if question.test != Test::IsTrue => true,
            Logic::Asks(question) => match fact_logic(workflow, question) {
                Some(logic) => self.is_truth(version, &logic),
                None => self.is_asked_truth(version, question),
            },
        }
    }

    fn is_asked_truth(&self, version: &Version<'w>, question: &ValueQuestion) -> bool {
        if let Some([name, flag]) = question.path.as_deref() {
            let mut artifacts = version.workflow.artifacts.iter();
            if FLAGS.contains(&flag.as_str())
                && artifacts.any(|artifact| artifact.name.as_str() == name)
            {
                return true;
            }
        }
        let is_asked = || self.truths.contains(&version.subject(question));
        question.subject.starts_with("has(") || is_asked()
    }

    fn note(&mut self, version: &Version<'w>, question: &ValueQuestion) {
        let subject = version.subject(question);
        match &version.test(question) {
            Test::IsTrue => {
                self.truths.insert(subject);
            }
            Test::IsText(text) => {
                self.permit(&subject, texts_of_schema(version.workflow, question));
                let texts = self.texts.entry(subject).or_default();
                if !texts.contains(text) && texts.len() < MOST_VALUES {
                    texts.push(text.clone());
                }
            }
            Test::Number { than, less, .. } => {
                if *than < 0.0 || (*than == 0.0 && *less) {
                    self.negative.push(subject.clone());
                }
                let numbers = self.numbers.entry(subject).or_default();
                if !numbers.contains(than) && numbers.len() < MOST_VALUES / 2 {
                    numbers.push(*than);
                }
            }
            Test::Order { less, more, .. } => {
                if less != more {
                    self.ordered.insert(subject);
                }
            }
        }
    }

    /// Adds what a schema permits of a value to what others permit.
    fn permit(&mut self, subject: &str, texts: Option<Vec<String>>) {
        let known = self.permitted.entry(subject.to_owned());
        let known = known.or_insert_with(|| texts.clone());
        let Some(texts) = texts else {
            *known = None;
            return;
        };
        if let Some(known) = known {
            let more = texts.into_iter().filter(|text| !known.contains(text));
            let more: Vec<String> = more.collect();
            known.extend(more);
        }
        *known = known.take().filter(|known| known.len() <= MOST_VALUES);
    }

    fn domain(&self, subject: &str, test: &Test) -> Domain {
        match test {
            Test::IsTrue => Domain::Bool,
            Test::Order { .. } if self.ordered.contains(subject) => Domain::Orders,
            Test::Order { .. } => Domain::Bool,
            Test::IsText(_) => match self.permitted.get(subject) {
                Some(Some(texts)) => Domain::Texts {
                    texts: texts.clone(),
                    others: false,
                },
                _ => Domain::Texts {
                    texts: self.texts.get(subject).cloned().unwrap_or_default(),
                    others: true,
                },
            },
            Test::Number { .. } => {
                let mut numbers = self.numbers.get(subject).cloned().unwrap_or_default();
                numbers.sort_by(f64::total_cmp);
                let is_counted = !self.negative.iter().any(|one| one == subject);
                Domain::Numbers(cells(&numbers, is_counted))
            }
        }
    }
}

/// The numbers that guards tell apart, in order. Those that nothing compares with less than zero are counted from zero, and
/// between neighbouring whole numbers there is nothing.
fn cells(numbers: &[f64], is_counted: bool) -> Vec<NumberCell> {
    let mut cells = Vec::new();
    for (nth, number) in numbers.iter().enumerate() {
        match nth.checked_sub(1).map(|before| numbers[before]) {
            None if is_counted && *number <= 0.0 => {}
            None => cells.push(NumberCell::Below(*number)),
            Some(before) => {
                let is_whole = before.fract() == 0.0 && number.fract() == 0.0;
                if !is_whole || number - before > 1.0 {
                    cells.push(NumberCell::Between(before, *number));
                }
            }
        }
        cells.push(NumberCell::Only(*number));
    }
    cells.extend(numbers.last().map(|last| NumberCell::Above(*last)));
    cells
}

/// Turns guards into formulas.
struct FormulaReader<'v, 'w> {
    asked: AskedConstants<'v, 'w>,
    variables: Vec<Variable>,
    by_subject: BTreeMap<(String, &'static str), usize>,
    defines: BTreeMap<(*const Workflow, String, bool), Rc<Formula>>,
}

impl<'v, 'w> FormulaReader<'v, 'w> {
    /// A reader of the guards of these versions.
    fn of(versions: &[&'v Version<'w>]) -> Self {
        let mut asked = AskedConstants::default();
        for version in versions {
            for rule in &version.workflow.rules {
                asked.read(version, &rule.when.logic());
            }
        }
        asked.read_same();
        Self {
            variables: Vec::new(),
            by_subject: BTreeMap::new(),
            defines: BTreeMap::new(),
            asked,
        }
    }

    /// The guards of the phases that are no ends.
    fn phases(&mut self, version: &Version<'w>) -> Vec<PhaseFormulas<'w>> {
        let phases = version.workflow.phases.iter();
        let open = phases.filter(|phase| !phase.terminal);
        let mut reading = VersionReader {
            version,
            reader: self,
        };
        open.map(|phase| reading.phase(phase)).collect()
    }

    fn sound(&mut self, version: &Version<'w>) -> Vec<Rc<Formula>> {
        let mut reading = VersionReader {
            version,
            reader: self,
        };
        reading.sound()
    }
}

/// Turns the guards of one version into formulas.
struct VersionReader<'r, 'v, 'w> {
    version: &'r Version<'w>,
    reader: &'r mut FormulaReader<'v, 'w>,
}

impl<'w> VersionReader<'_, '_, 'w> {
    fn phase(&mut self, phase: &'w Phase) -> PhaseFormulas<'w> {
        let workflow = self.version.workflow;
        let rules: Vec<&Rule> = workflow
            .rules_from(&phase.id)
            .filter(|rule| rule.on.is_none())
            .collect();
        let logics = rules.iter().map(|rule| rule.when.logic());
        let holds = logics.map(|logic| self.formula(&logic, true)).collect();
        let expected = phase.produces.iter();
        let done = expected
            .filter(|name| !phase.optional.contains(name))
            .filter_map(|name| workflow.artifact(name))
            .map(|artifact| self.flags(artifact, &["present", "valid", "fresh"]))
            .collect();
        PhaseFormulas {
            phase,
            rules,
            holds,
            given: self.given(phase),
            done,
        }
    }

    /// When a logic is true, or when it is false.
    fn formula(&mut self, logic: &Logic, is_true: bool) -> Rc<Formula> {
        match logic {
            Logic::Known(known) => Rc::new(Formula::Known(*known == is_true)),
            Logic::Asks(question) => self.asks(question, is_true),
            Logic::Named(name) => self.named(name, is_true),
            Logic::Not(of) => self.formula(of, !is_true),
            Logic::All(all) => {
                let all = all.iter().map(|one| self.formula(one, is_true)).collect();
                Rc::new(joined(all, is_true))
            }
            Logic::Any(any) => {
                let any = any.iter().map(|one| self.formula(one, is_true)).collect();
                Rc::new(joined(any, !is_true))
            }
            Logic::If(parts) => {
                let [of, then, other] = &**parts;
                let first = vec![self.formula(of, true), self.formula(then, is_true)];
                let second = vec![self.formula(of, false), self.formula(other, is_true)];
                let both = [first, second].map(|all| Rc::new(Formula::All(all)));
                Rc::new(Formula::Any(both.to_vec()))
            }
            Logic::Same(same) if self.reader.asked.are_truths(self.version, same) => {
                let [left, right] = &same.truths;
                let first = vec![self.formula(left, true), self.formula(right, is_true)];
                let second = vec![self.formula(left, false), self.formula(right, !is_true)];
                let both = [first, second].map(|all| Rc::new(Formula::All(all)));
                Rc::new(Formula::Any(both.to_vec()))
            }
            Logic::Same(same) => self.asks(&same.question, is_true),
        }
    }

    /// When a named expression is true, or when it is false.
    fn named(&mut self, name: &str, is_true: bool) -> Rc<Formula> {
        let key = (
            std::ptr::from_ref(self.version.workflow),
            name.to_owned(),
            is_true,
        );
        if let Some(known) = self.reader.defines.get(&key) {
            return known.clone();
        }
        let workflow = self.version.workflow;
        let define = workflow.defines.iter().find(|(define, _)| define == name);
        let formula = define.map(|(_, define)| self.formula(&define.logic(), is_true));
        let formula = match formula.filter(|formula| formula.parts() <= MOST_PARTS) {
            Some(formula) => formula,
            None => {
                let question = truth_of(vec![name.to_owned()]);
                let variable = self.variable(&question);
                self.reader.variables[variable].is_closed = true;
                self.asks(&question, is_true)
            }
        };
        self.reader.defines.insert(key, formula.clone());
        formula
    }

    /// When the answer to a question is yes, or when it is no.
    fn asks(&mut self, question: &ValueQuestion, is_true: bool) -> Rc<Formula> {
        let workflow = self.version.workflow;
        if let Some(logic) = fact_logic(workflow, question) {
            return self.formula(&logic, is_true);
        }
        let path = question.path.as_deref().unwrap_or_default();
        let of = path.first().and_then(|name| {
            let artifacts = &workflow.artifacts;
            artifacts.iter().find(|one| one.name.as_str() == name)
        });
        let Some(artifact) = of else {
            return Rc::new(self.is(question, is_true));
        };
        match path.get(1).map(String::as_str) {
            Some("ready") => self.flag(artifact, &["present", "valid", "fresh"], is_true),
            Some("valid") => self.flag(artifact, &["present", "valid"], is_true),
            Some("present" | "fresh" | "changed" | "digest" | "count" | "path" | "all") => {
                Rc::new(self.is(question, is_true))
            }
            // Without a valid file, reading it is an error: neither true nor false.
            _ => {
                let readable = self.flags(artifact, &["present", "valid"]);
                let is = Rc::new(self.is(question, is_true));
                Rc::new(Formula::All(vec![readable, is]))
            }
        }
    }

    fn flag(&mut self, artifact: &Artifact, flags: &[&str], is_true: bool) -> Rc<Formula> {
        let all = self.flags(artifact, flags);
        if is_true {
            all
        } else {
            Rc::new(all.negated(&self.reader.variables))
        }
    }

    /// When an artifact has all these flags.
    fn flags(&mut self, artifact: &Artifact, flags: &[&str]) -> Rc<Formula> {
        let flags = flags.iter().map(|flag| {
            let path = vec![artifact.name.to_string(), (*flag).to_owned()];
            Rc::new(self.is(&truth_of(path), true))
        });
        Rc::new(Formula::All(flags.collect()))
    }

    fn is(&mut self, question: &ValueQuestion, is_true: bool) -> Formula {
        let test = self.version.test(question);
        let variable = self.variable(question);
        let domain = &self.reader.variables[variable].domain;
        let yes = answers(domain, &test);
        let values = if is_true { yes } else { domain.all() & !yes };
        Formula::Is { variable, values }
    }

    fn variable(&mut self, question: &ValueQuestion) -> usize {
        let kind = match question.test {
            Test::IsTrue => "bool",
            Test::IsText(_) => "text",
            Test::Number { .. } => "number",
            Test::Order { .. } => "order",
        };
        let reader = &mut *self.reader;
        let subject = self.version.subject(question);
        let key = (subject.clone(), kind);
        if let Some(known) = reader.by_subject.get(&key) {
            return *known;
        }
        let variable = reader.variables.len();
        let domain = reader.asked.domain(&subject, &question.test);
        reader.variables.push(Variable {
            subject,
            domain,
            is_closed: false,
        });
        reader.by_subject.insert(key, variable);
        variable
    }

    /// What is true in a phase whatever happens: what it needs is there, and it is this phase.
    fn given(&mut self, phase: &Phase) -> Vec<Rc<Formula>> {
        let workflow = self.version.workflow;
        let needs = phase.needs.iter();
        let mut given: Vec<Rc<Formula>> = needs
            .filter_map(|name| workflow.artifact(name))
            .map(|artifact| self.flags(artifact, &["present", "valid"]))
            .collect();
        if self.reader.asked.texts.contains_key("phase") {
            let own = ValueQuestion {
                test: Test::IsText(phase.id.to_string()),
                ..truth_of(vec!["phase".to_owned()])
            };
            given.push(Rc::new(self.is(&own, true)));
        }
        given.extend(self.of_verifications("fresh", "defined"));
        given
    }

    /// What is so if every file can be read, and every verification that is due has run.
    fn sound(&mut self) -> Vec<Rc<Formula>> {
        let artifacts = self.version.workflow.artifacts.iter();
        let mut sound: Vec<Rc<Formula>> = artifacts
            .map(|artifact| {
                let absent = self
                    .flags(artifact, &["present"])
                    .negated(&self.reader.variables);
                let valid = self.flags(artifact, &["valid"]);
                Rc::new(Formula::Any(vec![Rc::new(absent), valid]))
            })
            .collect();
        sound.extend(self.of_verifications("defined", "fresh"));
        sound
    }

    /// Of each verification that guards ask about: if one of its flags is set, so is the other one.
    fn of_verifications(&mut self, one: &str, other: &str) -> Vec<Rc<Formula>> {
        let subjects = self.reader.by_subject.keys().map(|(subject, _)| subject);
        let mut names: Vec<String> = subjects
            .filter_map(|subject| subject.strip_prefix(VERIFIED)?.strip_prefix('.'))
            .filter_map(|rest| rest.split('.').next())
            .map(str::to_owned)
            .collect();
        names.dedup();
        let path = |name: &str, member: &str| {
            truth_of([VERIFIED, name, member].map(str::to_owned).to_vec())
        };
        let pairs = names.iter().map(|name| {
            let is_not = self.is(&path(name, one), false);
            let is = self.is(&path(name, other), true);
            Rc::new(Formula::Any(vec![Rc::new(is_not), Rc::new(is)]))
        });
        pairs.collect()
    }
}

/// What a question about a named fact asks of the data of its artifact; `None` if it is about something else, or the fact
/// computes more than comparisons of single values.
fn fact_logic(workflow: &Workflow, question: &ValueQuestion) -> Option<Logic> {
    let [name, fact] = question.path.as_deref()? else {
        return None;
    };
    let mut artifacts = workflow.artifacts.iter();
    let artifact = artifacts.find(|one| one.name.as_str() == name)?;
    let (_, guard) = artifact.facts.iter().find(|(known, _)| known == fact)?;
    below(name, guard.tested(&question.test)?)
}

/// The facts of an artifact that are true or false.
const FLAGS: [&str; 5] = ["present", "valid", "fresh", "ready", "changed"];

/// A logic about the data of an artifact, as the rules of the workflow would ask it.
fn below(name: &str, logic: Logic) -> Option<Logic> {
    let each = |all: Vec<Logic>| {
        let all = all.into_iter().map(|one| below(name, one));
        all.collect::<Option<Vec<_>>>()
    };
    Some(match logic {
        Logic::Known(known) => Logic::Known(known),
        Logic::Named(_) | Logic::Same(_) => return None,
        Logic::Asks(question) => {
            let is_presence = question.subject.starts_with("has(data.");
            let path = question.path.filter(|path| path[0] == "data");
            let subject = match &path {
                Some(_) => format!("{name}.{}", question.subject),
                None if is_presence => {
                    question
                        .subject
                        .replacen("has(", &format!("has({name}."), 1)
                }
                None => return None,
            };
            let path = path.map(|mut path| {
                path.insert(0, name.to_owned());
                path
            });
            Logic::Asks(ValueQuestion {
                subject,
                path,
                test: question.test,
            })
        }
        Logic::Not(of) => Logic::Not(Box::new(below(name, *of)?)),
        Logic::All(all) => Logic::All(each(all)?),
        Logic::Any(any) => Logic::Any(each(any)?),
        Logic::If(parts) => {
            let [of, then, other] = *parts;
            let parts = [below(name, of)?, below(name, then)?, below(name, other)?];
            Logic::If(Box::new(parts))
        }
    })
}

/// The texts that a schema permits for a value; `None` if it permits others.
fn texts_of_schema(workflow: &Workflow, question: &ValueQuestion) -> Option<Vec<String>> {
    let [name, data, rest @ ..] = question.path.as_deref()? else {
        return None;
    };
    let mut artifacts = workflow.artifacts.iter();
    let artifact = artifacts.find(|one| one.name.as_str() == name && data == "data")?;
    let pointer = rest
        .iter()
        .fold(String::new(), |pointer, key| child(&pointer, key));
    let field = schema_field(artifact.schema.as_ref()?.value()?, &pointer)?;
    let texts = field.get("enum")?.as_array()?.iter();
    let texts = texts.map(|text| text.as_str().map(str::to_owned));
    texts
        .collect::<Option<Vec<_>>>()
        .filter(|texts| texts.len() <= MOST_VALUES)
}

/// The values of a variable that is true, and of one that is false.
const YES: Values = 1;
const NO: Values = 2;

fn joined(all: Vec<Rc<Formula>>, is_all: bool) -> Formula {
    if is_all {
        Formula::All(all)
    } else {
        Formula::Any(all)
    }
}

/// The question whether the value at a path is true.
fn truth_of(path: Vec<String>) -> ValueQuestion {
    ValueQuestion {
        subject: path.join("."),
        path: Some(path),
        test: Test::IsTrue,
    }
}

/// The values for which the answer is yes.
fn answers(domain: &Domain, test: &Test) -> Values {
    let of = |holds: Vec<bool>| {
        let bits = holds.iter().enumerate();
        bits.fold(0, |values, (nth, holds)| {
            values | (Values::from(*holds) << nth)
        })
    };
    match (domain, test) {
        (Domain::Texts { texts, .. }, Test::IsText(text)) => {
            of(texts.iter().map(|one| one == text).collect())
        }
        (Domain::Numbers(cells), Test::Number { .. }) => {
            of(cells.iter().map(|cell| cell.passes(test)).collect())
        }
        (Domain::Orders, Test::Order { less, same, more }) => of(vec![*less, *same, *more]),
        (_, Test::Order { same: false, .. }) => NO,
        _ => YES,
    }
}

impl NumberCell {
    fn passes(self, test: &Test) -> bool {
        let Test::Number {
            than,
            less,
            same,
            more,
        } = test
        else {
            return false;
        };
        let (from, to) = match self {
            Self::Only(number) if number == *than => return *same,
            Self::Only(number) => (number, number),
            Self::Below(to) => (f64::NEG_INFINITY, to),
            Self::Between(from, to) => (from, to),
            Self::Above(from) => (from, f64::INFINITY),
        };
        (*less && to <= *than) || (*more && from >= *than)
    }
}
