//! What is known and noted while one expression is typed.

use super::super::types::ITEM;
use super::super::walk::chain;
use super::super::walk::unmetered;
use super::env::{NeededType, TypeEnv, TypeNeed};
use super::macros::{MacroKind, WrittenMacro};
use super::spots::Spots;
use super::words::FaultWords;
use cel::IdedExpr;
use cel::common::ast::{Expr, LiteralValue, operators};
use orch_base::Code;
use std::collections::BTreeMap;

/// Something that is wrong with an expression.
#[derive(Debug, Clone)]
pub struct TypeFault {
    /// One of the codes that begin with `guard-`.
    pub code: Code,
    /// The byte offset of the part in the text of its expression.
    pub offset: usize,
    /// What is wrong: one sentence without a final full stop.
    pub message: String,
    /// What to write instead.
    pub hint: String,
    /// What would have to be known for it to be right, where a condition before it can tell.
    pub need: Option<TypeNeed>,
    /// The path of the named expression in whose text it stands; `None` for the expression itself.
    pub home: Option<Vec<String>>,
}

/// What is known of a named expression: a definition, or a fact of an artifact.
#[derive(Debug, Clone, Default)]
pub struct NamedType {
    /// What is wrong with it unless a condition before it says so.
    pub needs: Vec<TypeFault>,
    /// What is known where it is true.
    pub when_true: TypeEnv,
    /// What is known where it is false.
    pub when_false: TypeEnv,
}

/// The named expressions, by their paths.
pub type NamedTypes = BTreeMap<Vec<String>, NamedType>;

/// Types the parts of one expression.
pub(super) struct GuardTyper<'e> {
    pub(super) named: &'e NamedTypes,
    /// The place of each part; set for each operand of the outermost `&&`.
    pub(super) spots: Spots<'e>,
    /// The variables of the macros around this place.
    pub(super) locals: Vec<&'e str>,
    pub(super) faults: Vec<TypeFault>,
}

impl GuardTyper<'_> {
    pub(super) fn fault(&mut self, offset: usize, words: FaultWords, need: Option<TypeNeed>) {
        let FaultWords {
            code,
            message,
            hint,
        } = words;
        let is_told = self.faults.iter().any(|fault| fault.message == message);
        if !is_told {
            self.faults.push(TypeFault {
                code,
                offset,
                message,
                hint,
                need,
                home: None,
            });
        }
    }

    pub(super) fn is_local(&self, name: &str) -> bool {
        self.locals.contains(&name)
    }

    pub(super) fn root_path(&self, name: &str, env: &TypeEnv) -> Vec<String> {
        if self.is_local(name) {
            vec![name.to_owned()]
        } else {
            env.path_of(name)
        }
    }

    /// The path of a part that consists of a name and members: an item of a list is one, too.
    pub(super) fn path(&self, part: &IdedExpr, env: &TypeEnv) -> Option<Vec<String>> {
        match &unmetered(part).expr {
            Expr::Ident(name) => Some(self.root_path(name, env)),
            Expr::Select(select) if !select.test => {
                let mut path = self.path(&select.operand, env)?;
                path.push(select.field.clone());
                Some(path)
            }
            Expr::Call(call) if call.func_name == operators::INDEX => {
                let [of, index] = call.args.as_slice() else {
                    return None;
                };
                let segment = match &unmetered(index).expr {
                    Expr::Literal(LiteralValue::String(key)) => key.inner().to_owned(),
                    Expr::Literal(LiteralValue::Int(_)) => ITEM.to_owned(),
                    _ => return None,
                };
                let mut path = self.path(of, env)?;
                path.push(segment);
                Some(path)
            }
            _ => None,
        }
    }

    /// Whether the path of a part begins with a variable of a macro.
    pub(super) fn begins_local(&self, part: &IdedExpr) -> bool {
        let begins = |name: &String| self.is_local(name);
        chain(part).is_some_and(|path| path.first().is_some_and(begins))
    }

    /// What has to be known of a part; `None` if it is no path, or one of a variable.
    pub(super) fn need(
        &self,
        part: &IdedExpr,
        env: &TypeEnv,
        what: NeededType,
    ) -> Option<TypeNeed> {
        let mut part = part;
        // What `map` makes has as many items as what it goes through.
        while let Expr::Comprehension(inner) = &unmetered(part).expr {
            let written = WrittenMacro::of(inner);
            part = written
                .filter(|written| written.kind == MacroKind::Map)?
                .range;
        }
        if self.begins_local(part) {
            return None;
        }
        let path = self.path(part, env)?;
        Some(TypeNeed { path, what })
    }
}
