//! Typed guards: the type of every part of an expression, from what is known of the facts that it reads.
//!
//! A workflow document says much about the facts of its tasks: schemas say what artifacts and the state contain, formats
//! say what their readers yield, and the rest `orch` itself computes. All of it becomes one [`TypeEnv`], once for a
//! document. Each expression is then typed against it, part by part:
//!
//! * [`ValueType`] is the lattice of types. What is not known is [`ValueType::any`], and nothing is ever said about it.
//! * `typer` walks the tree of an expression that the parser made. What it notes is true of at least one value that the
//!   types allow: a part that has no value then, or a comparison that never holds.
//! * `narrow` computes what a condition tells of the names in it: behind `has(plan.data.score) &&`, the member is there. As
//!   in CEL, a false operand of `&&` outweighs one that fails, on either side; so the later operands count too, if they
//!   cannot fail themselves.
//! * A named expression (a definition, a fact) is typed once. What it needs to be known is asked wherever it is used, since
//!   a condition before the use may tell it: a [`TypeFault`] has a [`TypeNeed`] then.
//! * `spots` finds the place of each part in the text, which the parser does not keep.
//!
//! Nothing here decides about tasks. It is only asked by the checks of a document.

mod constants;
mod env;
mod macros;
mod narrow;
mod patterns;
mod spots;
mod state;
mod text_type;
mod typer;
pub mod value_type;
mod words;

pub use env::TypeEnv;
pub use macros::{MacroKind, WrittenMacro};
pub use state::{NamedType, NamedTypes, TypeFault};
pub use text_type::TextType;
pub use value_type::{
    FieldType, ListType, MapType, MapWords, NumberType, Presence, RestType, ValueType,
};

use super::{Guard, ParsedPart};
use cel::IdedExpr;
use spots::Spots;
use state::GuardTyper;

/// What typing an expression yields.
#[derive(Debug)]
pub struct TypedGuard {
    /// The type of its value.
    pub value: ValueType,
    /// What is wrong with it.
    pub faults: Vec<TypeFault>,
}

impl Guard {
    /// The type of the value, and what is wrong with the expression, where this is known of the names.
    pub(in crate::workflow) fn typed(&self, env: &TypeEnv, named: &NamedTypes) -> TypedGuard {
        let parts = &self.parsed().parts;
        let mut faults = Vec::new();
        let mut value = ValueType::truth();
        let is_chain = parts.len() > 1;
        let mut known = env.clone();
        for (at, part) in parts.iter().enumerate() {
            let mut typer = typer(part, named);
            let first = typer.part(&part.expression, &known, is_chain);
            if !typer.faults.is_empty() && is_chain {
                // A later part that is false outweighs this one.
                let later = decided_later(&parts[at + 1..], &known, named);
                typer.faults.clear();
                typer.part(&part.expression, &later, is_chain);
            }
            if !is_chain {
                value = first;
            }
            faults.extend(typer.faults.drain(..).map(|fault| TypeFault {
                offset: match fault.home {
                    Some(_) => fault.offset,
                    None => part.start + fault.offset,
                },
                ..fault
            }));
            known = typer.narrowed(&known, &part.expression, true);
        }
        let mut told = Vec::new();
        faults.retain(|fault: &TypeFault| {
            let is_new = !told.contains(&fault.message);
            told.push(fault.message.clone());
            is_new
        });
        TypedGuard { value, faults }
    }

    /// What is known where the expression is true, or false.
    pub(in crate::workflow) fn narrowed(
        &self,
        env: &TypeEnv,
        named: &NamedTypes,
        holds: bool,
    ) -> TypeEnv {
        let mut before = env.clone();
        let mut known: Option<TypeEnv> = None;
        for part in &self.parsed().parts {
            let mut typer = typer(part, named);
            if holds {
                before = typer.narrowed(&before, &part.expression, true);
                continue;
            }
            let there = typer.narrowed(&before, &part.expression, false);
            known = Some(match known {
                Some(other) => other.join(&there),
                None => there,
            });
            before = typer.narrowed(&before, &part.expression, true);
        }
        known.unwrap_or(before)
    }
}

fn typer<'p>(part: &'p ParsedPart, named: &'p NamedTypes) -> GuardTyper<'p> {
    GuardTyper {
        named,
        spots: Spots::of(&part.text, &part.expression),
        locals: Vec::new(),
        faults: Vec::new(),
    }
}

/// What is known where none of these parts is false, of those that cannot fail.
fn decided_later(parts: &[ParsedPart], env: &TypeEnv, named: &NamedTypes) -> TypeEnv {
    let mut known = env.clone();
    for part in parts {
        let mut typer = typer(part, named);
        let value = typer.part(&part.expression, env, true);
        if typer.faults.is_empty() && !value.unknown {
            known = typer.narrowed(&known, &part.expression, true);
        }
    }
    known
}

impl<'e> GuardTyper<'e> {
    /// The type of an operand of the outermost `&&`, or of the whole expression.
    fn part(&mut self, part: &'e IdedExpr, env: &TypeEnv, is_operand: bool) -> ValueType {
        if is_operand {
            self.condition(part, env, self.spots.start(part), "`&&`")
        } else {
            self.value(part, env)
        }
    }
}
