//! The types of the names in guards: what the formats, the schemas and the expressions of a workflow say of them.
//!
//! They are put together once for a document; every expression of it is typed against them.

mod built_in;
mod formats;
mod schema;
mod whole;

use super::guard::typing::{
    FieldType, NamedType, NamedTypes, Presence, TypeEnv, TypeFault, ValueType,
};
use super::guard::{Guard, Types};
use super::place::source_offset;
use super::{Document, ImportValue, Workflow};
use orch_base::{Code, Diagnostic, Hint};
use std::collections::BTreeSet;

/// A member that need not be there.
fn optional(value: ValueType) -> FieldType {
    FieldType::new(Presence::Maybe, value)
}

/// Warnings about all guards and other expressions of a workflow that use values in ways that do not fit.
pub(super) fn check_types(document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
    let mut check = TypeCheck {
        document,
        workflow,
        env: built_in::env(workflow),
        named: NamedTypes::new(),
        used: BTreeSet::new(),
        findings: Vec::new(),
    };
    check.facts();
    let defined = check.defines();
    check.findings.extend(doubled(document, workflow, &defined));
    check.conditions();
    check.values();
    check.unused();
    check.imports();
    check.findings
}

/// The check of one document.
struct TypeCheck<'d> {
    document: &'d Document,
    workflow: &'d Workflow,
    env: TypeEnv,
    named: NamedTypes,
    /// The named expressions that guards use.
    used: BTreeSet<Vec<String>>,
    findings: Vec<Diagnostic>,
}

impl<'d> TypeCheck<'d> {
    /// Types the facts of the artifacts.
    fn facts(&mut self) {
        let workflow = self.workflow;
        for artifact in &workflow.artifacts {
            let name = artifact.name.as_str();
            let within = self.env.of_artifact(name);
            for (fact, guard) in &artifact.facts {
                let path = vec![name.to_owned(), fact.clone()];
                let value = self.name(path, guard, &within);
                self.env = self.env.with_fact(name, fact, value);
            }
        }
    }

    /// Types the definitions. Returns the kinds of their values.
    fn defines(&mut self) -> Vec<Types> {
        let workflow = self.workflow;
        let mut kinds = Vec::new();
        for (name, guard) in &workflow.defines {
            let env = self.env.clone();
            let value = self.name(vec![name.clone()], guard, &env);
            kinds.push(value.kinds());
            self.env = self.env.with(name, value);
        }
        kinds
    }

    /// Types a named expression, and notes what is wrong with it wherever it is used.
    fn name(&mut self, path: Vec<String>, guard: &Guard, env: &TypeEnv) -> ValueType {
        let typed = guard.typed(env, &self.named);
        let mut needs = Vec::new();
        for fault in typed.faults {
            if fault.need.is_some() {
                needs.push(fault);
            } else {
                self.report(guard, &fault);
            }
        }
        let named = NamedType {
            needs,
            when_true: guard.narrowed(env, &self.named, true).of_guards(),
            when_false: guard.narrowed(env, &self.named, false).of_guards(),
        };
        self.uses(guard, &path);
        self.named.insert(path, named);
        typed.value
    }

    /// Notes which named expressions an expression uses.
    fn uses(&mut self, guard: &Guard, own: &[String]) {
        for chain in guard.chains() {
            let chain = match own {
                // In a fact, the names are those of its artifact.
                [artifact, _] => [std::slice::from_ref(artifact), chain].concat(),
                _ => chain.to_vec(),
            };
            for length in 1..=chain.len().min(2) {
                if self.named.contains_key(&chain[..length]) {
                    self.used.insert(chain[..length].to_vec());
                }
            }
        }
    }

    /// Types an expression of the workflow that has no name.
    fn typed(&mut self, guard: &Guard) -> ValueType {
        let typed = guard.typed(&self.env, &self.named);
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
        self.uses(guard, &[]);
        typed.value
    }

    /// Types an expression that may fail: what it was to yield is left out then.
    fn tolerated(&mut self, guard: &Guard) -> ValueType {
        let typed = guard.typed(&self.env, &self.named);
        let certain = typed.faults.iter().filter(|fault| fault.need.is_none());
        for fault in certain {
            self.report(guard, fault);
        }
        self.uses(guard, &[]);
        typed.value
    }

    fn conditions(&mut self) {
        for guard in conditions(self.workflow) {
            let value = self.typed(guard);
            if guard.types().meets(Types::BOOL) && !value.kinds().meets(Types::BOOL) {
                let message = format!("the guard yields {}, not true or false", value.kinds());
                let hint = "compare the value, for example with `== 0`";
                self.find(guard, 0, Code::GuardType, message, hint);
            }
        }
    }

    /// Types the expressions that yield values. What is known where they are evaluated counts.
    fn values(&mut self) {
        let workflow = self.workflow;
        let env = self.env.clone();
        for rule in &workflow.rules {
            if !rule.set.is_empty() {
                self.env = rule.when.narrowed(&env, &self.named, true);
                rule.set.iter().for_each(|(_, guard)| _ = self.typed(guard));
            }
        }
        for ask in &workflow.asks {
            let asking = workflow
                .rules
                .iter()
                .filter(|rule| rule.ask.as_ref() == Some(&ask.name));
            let known = asking.map(|rule| rule.when.narrowed(&env, &self.named, true));
            self.env = known
                .reduce(|one, two| one.join(&two))
                .unwrap_or_else(|| env.clone());
            let values = ask.options.iter().chain(&ask.default).chain(&ask.set);
            values.for_each(|(_, guard)| _ = self.typed(guard));
        }
        for phase in &workflow.phases {
            self.env = env.clone();
            for need in &phase.needs {
                self.env = self.env.holding(&[need.to_string()], "valid");
            }
            let shown = phase.substate.iter().chain(&phase.remarks);
            shown.for_each(|guard| _ = self.typed(guard));
        }
        self.env = env;
        for artifact in &workflow.artifacts {
            artifact
                .named_by
                .iter()
                .for_each(|guard| _ = self.typed(guard));
        }
        for (_, guard) in &self.workflow.state.rebuild {
            self.tolerated(guard);
        }
        if let Some(guard) = &self.workflow.names {
            let value = self.tolerated(guard);
            if guard.types().meets(Types::LIST) && !value.kinds().meets(Types::LIST) {
                let message = format!("`names` yields {}, not a list of paths", value.kinds());
                let hint = "name a list of texts, for example `plan.paths`";
                self.find(guard, 0, Code::GuardType, message, hint);
            }
        }
    }

    /// What is wrong with named expressions that no guard uses: facts are shown all the same.
    fn unused(&mut self) {
        let workflow = self.workflow;
        for (path, named) in self.named.clone() {
            if self.used.contains(&path) {
                continue;
            }
            if let Some(guard) = home(workflow, &path) {
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
