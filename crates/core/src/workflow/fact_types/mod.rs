//! The types of the names in guards: what the formats, the schemas and the expressions of a workflow say of them.
//!
//! They are put together once for a document; every expression of it is typed against them.

mod built_in;
mod formats;
mod names;
mod schema;
mod whole;

pub use names::{NameType, name_type};

use super::guard::typing::{
    FieldType, NamedType, NamedTypes, Presence, TypeEnv, TypeFault, TypedGuard, ValueType,
};
use super::guard::{Guard, Types};
use super::place::source_offset;
use super::{Document, ImportValue, Workflow};
use orch_base::{Code, Diagnostic, Hint};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A member that need not be there.
fn optional(value: ValueType) -> FieldType {
    FieldType::new(Presence::Maybe, value)
}

/// Warnings about all guards and other expressions of a workflow that use values in ways that do not fit. What the memo
/// knows of the same expressions is not found again.
pub(super) fn check_types(
    document: &Document,
    workflow: &Workflow,
    memo: &mut TypeMemo,
) -> Vec<Diagnostic> {
    memo.about(workflow);
    let vocabulary = Arc::clone(&memo.vocabulary);
    let mut check = TypeCheck {
        document,
        workflow,
        used: vocabulary.used.clone(),
        vocabulary,
        memo,
        findings: Vec::new(),
    };
    check.vocabulary();
    check.conditions();
    check.values();
    check.unused();
    check.imports();
    check.findings
}

/// How many expressions are remembered.
const MOST_TYPED: usize = 4_096;

/// The types of the expressions of one version of a document, for the next one.
#[derive(Debug, Default)]
pub(super) struct TypeMemo {
    /// What the vocabulary was made from.
    key: String,
    vocabulary: Arc<Vocabulary>,
    /// What typing an expression yields, by its text and by what is known where it stands.
    typed: HashMap<(String, String), Arc<TypedGuard>>,
}

impl TypeMemo {
    /// Whether it holds the types of another vocabulary than that of this workflow.
    pub(super) fn is_about_another(&self, workflow: &Workflow) -> bool {
        !self.key.is_empty() && self.key != vocabulary_key(workflow)
    }

    /// Turns to a workflow: if its vocabulary is another one, everything is forgotten.
    fn about(&mut self, workflow: &Workflow) {
        let key = vocabulary_key(workflow);
        if self.key != key {
            self.vocabulary = Arc::new(Vocabulary::of(workflow));
            self.key = key;
            self.typed.clear();
        }
        if self.typed.len() > MOST_TYPED {
            self.typed.clear();
        }
    }
}

/// Everything on which a [`Vocabulary`] depends.
fn vocabulary_key(workflow: &Workflow) -> String {
    let mut key = format!("{:?}{:?}", workflow.phase_key, workflow.defines);
    for phase in &workflow.phases {
        key.push_str(&format!("{}{:?}", phase.id, phase.approvals));
    }
    for action in &workflow.actions {
        key.push_str(&format!("{}{:?}", action.name, action.writes));
    }
    for artifact in &workflow.artifacts {
        let schema = artifact.schema.as_ref();
        key.push_str(&format!(
            "{}{:?}{:?}{:?}{:?}{:?}{:?}{:?}",
            artifact.name,
            artifact.aliases,
            artifact.paths,
            artifact.tree,
            artifact.repository,
            artifact.format,
            schema.map(|schema| (&schema.name, schema.digest)),
            artifact.facts,
        ));
    }
    let state = &workflow.state;
    let schema = state.schema.as_ref().map(|schema| schema.digest);
    key.push_str(&format!("{schema:?}{:?}", state.defaults));
    for pointer in built_in::written_pointers(workflow) {
        key.push_str(pointer);
        key.push(' ');
    }
    key
}

/// What the guards of a workflow can name, and what is wrong with the named expressions.
#[derive(Debug, Default)]
struct Vocabulary {
    env: TypeEnv,
    named: NamedTypes,
    /// The kinds of the values of the definitions.
    kinds: Vec<Types>,
    /// What is certainly wrong with named expressions, each with its path.
    faults: Vec<(Vec<String>, TypeFault)>,
    /// The named expressions that other ones use.
    used: BTreeSet<Vec<String>>,
}

impl Vocabulary {
    fn of(workflow: &Workflow) -> Self {
        let mut vocabulary = Self {
            env: built_in::env(workflow),
            ..Self::default()
        };
        for artifact in &workflow.artifacts {
            let name = artifact.name.as_str();
            let within = vocabulary.env.of_artifact(name);
            for (fact, guard) in &artifact.facts {
                let path = vec![name.to_owned(), fact.clone()];
                let value = vocabulary.name(path, guard, &within);
                vocabulary.env = vocabulary.env.with_fact(name, fact, value);
            }
        }
        for (name, guard) in &workflow.defines {
            let env = vocabulary.env.clone();
            let value = vocabulary.name(vec![name.clone()], guard, &env);
            vocabulary.kinds.push(value.kinds());
            vocabulary.env = vocabulary.env.with(name, value);
        }
        vocabulary
    }

    /// Types a named expression, and notes what is wrong with it wherever it is used.
    fn name(&mut self, path: Vec<String>, guard: &Guard, env: &TypeEnv) -> ValueType {
        let typed = guard.typed(env, &self.named);
        let mut needs = Vec::new();
        for fault in typed.faults {
            if fault.need.is_some() {
                needs.push(fault);
            } else {
                self.faults.push((path.clone(), fault));
            }
        }
        let named = NamedType {
            needs,
            when_true: guard.narrowed(env, &self.named, true).of_guards(),
            when_false: guard.narrowed(env, &self.named, false).of_guards(),
        };
        uses(guard, &path, &self.named, &mut self.used);
        self.named.insert(path, named);
        typed.value
    }
}

/// Notes which named expressions an expression uses.
fn uses(guard: &Guard, own: &[String], named: &NamedTypes, used: &mut BTreeSet<Vec<String>>) {
    for chain in guard.chains() {
        let chain = match own {
            // In a fact, the names are those of its artifact.
            [artifact, _] => [std::slice::from_ref(artifact), chain].concat(),
            _ => chain.to_vec(),
        };
        for length in 1..=chain.len().min(2) {
            if named.contains_key(&chain[..length]) {
                used.insert(chain[..length].to_vec());
            }
        }
    }
}

/// The check of one document.
struct TypeCheck<'d> {
    document: &'d Document,
    workflow: &'d Workflow,
    vocabulary: Arc<Vocabulary>,
    memo: &'d mut TypeMemo,
    /// The named expressions that guards use.
    used: BTreeSet<Vec<String>>,
    findings: Vec<Diagnostic>,
}

/// What is known where an expression stands.
struct KnownThere<'k> {
    /// What it depends on, beside the vocabulary.
    key: String,
    /// What the vocabulary says there.
    env: &'k dyn Fn(&Vocabulary) -> TypeEnv,
}

impl<'d> TypeCheck<'d> {
    /// What is wrong with the vocabulary itself.
    fn vocabulary(&mut self) {
        let vocabulary = Arc::clone(&self.vocabulary);
        for (path, fault) in &vocabulary.faults {
            if let Some(guard) = home(self.workflow, path) {
                self.report(guard, fault);
            }
        }
        let doubled = doubled(self.document, self.workflow, &vocabulary.kinds);
        self.findings.extend(doubled);
    }

    /// The type of an expression, and what is wrong with it.
    fn typed_there(&mut self, guard: &Guard, there: &KnownThere<'_>) -> Arc<TypedGuard> {
        uses(guard, &[], &self.vocabulary.named, &mut self.used);
        let key = (guard.source().to_owned(), there.key.clone());
        if let Some(known) = self.memo.typed.get(&key) {
            return Arc::clone(known);
        }
        let env = (there.env)(&self.vocabulary);
        let typed = Arc::new(guard.typed(&env, &self.vocabulary.named));
        self.memo.typed.insert(key, Arc::clone(&typed));
        typed
    }

    /// Types an expression of the workflow that has no name.
    fn typed(&mut self, guard: &Guard, there: &KnownThere<'_>) -> Types {
        let typed = self.typed_there(guard, there);
        let mut asked: Vec<&[String]> = Vec::new();
        for fault in &typed.faults {
            let path = fault.need.as_ref().map(|need| need.path.as_slice());
            // What is missing has no members: one finding is enough.
            let is_told = path.is_some_and(|path| asked.iter().any(|told| path.starts_with(told)));
            if !is_told {
                self.report(guard, fault);
            }
            asked.extend(path);
        }
        typed.value.kinds()
    }

    /// Types an expression that may fail: what it was to yield is left out then.
    fn tolerated(&mut self, guard: &Guard) -> Types {
        let typed = self.typed_there(guard, &anywhere());
        let certain = typed.faults.iter().filter(|fault| fault.need.is_none());
        for fault in certain {
            self.report(guard, fault);
        }
        typed.value.kinds()
    }

    fn conditions(&mut self) {
        for guard in conditions(self.workflow) {
            let kinds = self.typed(guard, &anywhere());
            if guard.types().meets(Types::BOOL) && !kinds.meets(Types::BOOL) {
                let message = format!("the guard yields {kinds}, not true or false");
                let hint = if kinds.is_within(Types::LIST.or(Types::MAP)) {
                    format!(
                        "ask whether it is empty: `size({}) > 0`",
                        guard.text().trim()
                    )
                } else {
                    "compare the value, for example with `== 0`".to_owned()
                };
                self.find(guard, 0, Code::GuardType, message, &hint);
            }
        }
    }

    /// Types the expressions that yield values. What is known where they are evaluated counts.
    fn values(&mut self) {
        let workflow = self.workflow;
        for rule in &workflow.rules {
            let there = KnownThere {
                key: rule.when.source().to_owned(),
                env: &|known| rule.when.narrowed(&known.env, &known.named, true),
            };
            for (_, guard) in &rule.set {
                self.typed(guard, &there);
            }
        }
        for ask in &workflow.asks {
            let rules = workflow.rules.iter();
            let asking: Vec<&Guard> = rules
                .filter(|rule| rule.ask.as_ref() == Some(&ask.name))
                .map(|rule| &rule.when)
                .collect();
            let there = KnownThere {
                key: format!("{asking:?}"),
                env: &|known| {
                    let of_rules = asking.iter();
                    let envs = of_rules.map(|when| when.narrowed(&known.env, &known.named, true));
                    let joined = envs.reduce(|one, two| one.join(&two));
                    joined.unwrap_or_else(|| known.env.clone())
                },
            };
            for (_, guard) in ask.options.iter().chain(&ask.default).chain(&ask.set) {
                self.typed(guard, &there);
            }
        }
        for phase in &workflow.phases {
            let there = KnownThere {
                key: format!("needs {:?}", phase.needs),
                env: &|known| {
                    let mut env = known.env.clone();
                    for need in &phase.needs {
                        env = env.holding(&[need.to_string()], "valid");
                    }
                    env
                },
            };
            for guard in phase.substate.iter().chain(&phase.remarks) {
                self.typed(guard, &there);
            }
        }
        for artifact in &workflow.artifacts {
            if let Some(guard) = &artifact.named_by {
                self.typed(guard, &anywhere());
            }
        }
        for (_, guard) in &workflow.state.rebuild {
            self.tolerated(guard);
        }
        if let Some(guard) = &workflow.names {
            let kinds = self.tolerated(guard);
            if guard.types().meets(Types::LIST) && !kinds.meets(Types::LIST) {
                let message = format!("`names` yields {kinds}, not a list of paths");
                let hint = "name a list of texts, for example `plan.paths`";
                self.find(guard, 0, Code::GuardType, message, hint);
            }
        }
    }

    /// What is wrong with named expressions that no guard uses: facts are shown all the same.
    fn unused(&mut self) {
        let vocabulary = Arc::clone(&self.vocabulary);
        for (path, named) in &vocabulary.named {
            if self.used.contains(path) {
                continue;
            }
            if let Some(guard) = home(self.workflow, path) {
                for fault in &named.needs {
                    self.report(guard, fault);
                }
            }
        }
    }

    /// The expressions of `[state.import]` see a file of which nothing is known.
    fn imports(&mut self) {
        let Some(import) = &self.workflow.state.import else {
            return;
        };
        let computed = import.data.iter().filter_map(|(_, value)| match value {
            ImportValue::Computed(guard) => Some(guard),
            ImportValue::Copy(_) => None,
        });
        let named = import.defines.iter().map(|(_, guard)| guard);
        for guard in named.chain(computed) {
            let typed = guard.typed(&TypeEnv::default(), &NamedTypes::new());
            for fault in &typed.faults {
                self.report(guard, fault);
            }
        }
    }

    /// Adds a finding, where its fault stands: in the expression itself, or in one that this names.
    fn report(&mut self, guard: &Guard, fault: &TypeFault) {
        let of = fault
            .home
            .as_deref()
            .and_then(|path| home(self.workflow, path));
        let (guard, offset) = (of.unwrap_or(guard), fault.offset);
        self.find(
            guard,
            offset,
            fault.code,
            fault.message.clone(),
            &fault.hint,
        );
    }

    fn find(&mut self, guard: &Guard, offset: usize, code: Code, message: String, hint: &str) {
        let finding = finding(self.document, guard, offset, code, message, hint);
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// Nothing is known but the vocabulary.
fn anywhere() -> KnownThere<'static> {
    KnownThere {
        key: String::new(),
        env: &|known| known.env.clone(),
    }
}

/// The named expression at a path.
fn home<'w>(workflow: &'w Workflow, path: &[String]) -> Option<&'w Guard> {
    let found = match path {
        [name] => workflow.defines.iter().find(|(define, _)| define == name),
        [artifact, fact] => {
            let mut artifacts = workflow.artifacts.iter();
            let artifact = artifacts.find(|known| known.name.as_str() == artifact)?;
            artifact.facts.iter().find(|(name, _)| name == fact)
        }
        _ => None,
    };
    found.map(|(_, guard)| guard)
}

fn finding(
    document: &Document,
    guard: &Guard,
    offset: usize,
    code: Code,
    message: String,
    hint: &str,
) -> Diagnostic {
    let span = guard.span();
    let start = span.start + source_offset(&document.text[span], guard.source(), offset);
    let warning = Diagnostic::warning(code, message).at(document.place(start, 1));
    Diagnostic {
        hint: Some(Hint::from(hint.to_owned())),
        ..warning
    }
}

/// How often a definition may contain the value of another one.
const MOST_CONTAINED: u64 = 10_000;

/// The first definition that grows without end: it contains another one twice, which contains another one twice, and so on.
fn doubled(document: &Document, workflow: &Workflow, types: &[Types]) -> Option<Diagnostic> {
    let small = Types::BOOL.or(Types::NUMBER).or(Types::NULL);
    let mut sizes: Vec<u64> = Vec::new();
    for (nth, (name, define)) in workflow.defines.iter().enumerate() {
        let mut size = 0_u64;
        for (earlier, (other, _)) in workflow.defines[..nth].iter().enumerate() {
            let contained = define.mentions(other).saturating_mul(sizes[earlier]);
            size = size.saturating_add(contained);
        }
        if types[nth].is_within(small) {
            size = 1;
        }
        if size > MOST_CONTAINED {
            let message = format!(
                "`{name}` may contain the values of earlier definitions {size} times, and then has no value"
            );
            let hint = "name each definition once: what an expression makes is limited";
            let code = Code::GuardType;
            return Some(finding(document, define, 0, code, message, hint));
        }
        sizes.push(size.max(1));
    }
    None
}

/// The expressions that must yield true or false.
fn conditions(workflow: &Workflow) -> impl Iterator<Item = &Guard> {
    let actions = workflow
        .actions
        .iter()
        .flat_map(|action| [&action.when, &action.ensures]);
    workflow.rules.iter().map(|rule| &rule.when).chain(actions)
}

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
