//! The macros, which the parser expands into loops, as they were written.

use super::super::walk::{IN_ORDER, chain, is_metered, spelled, unmetered};
use cel::IdedExpr;
use cel::common::ast::{ComprehensionExpr, Expr, LiteralValue, operators};

/// What a macro does with each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacroKind {
    /// `all`
    All,
    /// `exists`
    Exists,
    /// `exists_one`
    ExistsOne,
    /// `filter`
    Filter,
    /// `map`, also with a condition
    Map,
}

/// A macro as it was written: `range.all(item, condition)`.
pub struct WrittenMacro<'e> {
    pub kind: MacroKind,
    pub range: &'e IdedExpr,
    pub item: &'e str,
    /// The condition; of `map`, only one with three arguments has it.
    pub condition: Option<&'e IdedExpr>,
    /// What `map` yields.
    pub result: Option<&'e IdedExpr>,
}

impl<'e> WrittenMacro<'e> {
    /// The macro that was expanded into a loop; `None` for what is no macro of guards.
    pub fn of(inner: &'e ComprehensionExpr) -> Option<Self> {
        let range = match &inner.iter_range.expr {
            Expr::Call(call) if call.func_name == IN_ORDER => call.args.first()?,
            _ => &inner.iter_range,
        };
        let Expr::Call(step) = &inner.loop_step.expr else {
            return None;
        };
        let item = inner.iter_var.as_str();
        let written = |kind, condition, result| {
            Some(Self {
                kind,
                range,
                item,
                condition,
                result,
            })
        };
        match (step.func_name.as_str(), step.args.as_slice()) {
            (operators::LOGICAL_AND, [_, condition]) => {
                written(MacroKind::All, Some(condition), None)
            }
            (operators::LOGICAL_OR, [_, condition]) => {
                written(MacroKind::Exists, Some(condition), None)
            }
            (operators::ADD, [_, made]) => written(MacroKind::Map, None, Some(only(made)?)),
            (operators::CONDITIONAL, [condition, made, _]) => {
                if matches!(&inner.accu_init.expr, Expr::Literal(LiteralValue::Int(_))) {
                    return written(MacroKind::ExistsOne, Some(condition), None);
                }
                let Expr::Call(added) = &made.expr else {
                    return None;
                };
                let result = only(added.args.last()?)?;
                match &result.expr {
                    Expr::Ident(name) if name == item => {
                        written(MacroKind::Filter, Some(condition), None)
                    }
                    _ => written(MacroKind::Map, Some(condition), Some(result)),
                }
            }
            _ => None,
        }
    }
}

/// The only element of a list.
fn only(list: &IdedExpr) -> Option<&IdedExpr> {
    let Expr::List(list) = &unmetered(list).expr else {
        return None;
    };
    list.elements.first().map(unmetered)
}

/// The operands of a chain of `&&` or `||`.
pub fn flatten<'e>(part: &'e IdedExpr, name: &str, operands: &mut Vec<&'e IdedExpr>) {
    let part = unmetered(part);
    match &part.expr {
        Expr::Call(call) if call.func_name == name => {
            for arg in &call.args {
                flatten(arg, name, operands);
            }
        }
        _ => operands.push(part),
    }
}

/// A part in one form, by which a test of it is known again.
pub fn written_key(part: &IdedExpr) -> String {
    let part = unmetered(part);
    if let Some(path) = chain(part) {
        return spelled(&path);
    }
    match &part.expr {
        Expr::Select(select) => format!("{}.{}", written_key(&select.operand), select.field),
        Expr::Literal(literal) => format!("{literal:?}"),
        Expr::Call(call) if is_metered(call) => written_key(&call.args[0]),
        Expr::Call(call) => {
            let mut text = call.func_name.clone();
            for operand in call.target.as_deref().into_iter().chain(&call.args) {
                text.push('(');
                text.push_str(&written_key(operand));
            }
            text
        }
        other => format!("{other:?}"),
    }
}
