//! What a condition tells of the names in it.

use super::super::functions::spoken_name;
use super::super::types::{ITEM, Types};
use super::super::walk::unmetered;
use super::env::TypeEnv;
use super::macros::{MacroKind, WrittenMacro, flatten, written_key};
use super::state::GuardTyper;
use super::value_type::{FieldType, ListType, NumberType, ValueType, kept};
use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use std::sync::Arc;

impl<'e> GuardTyper<'e> {
    /// What is known where a condition is true, or false.
    pub(super) fn narrowed(&mut self, env: &TypeEnv, part: &'e IdedExpr, holds: bool) -> TypeEnv {
        let part = unmetered(part);
        match &part.expr {
            Expr::Call(call) => self.by_call(env, part, call, holds),
            Expr::Comprehension(inner) => match WrittenMacro::of(inner) {
                Some(written) => self.by_macro(env, &written, holds),
                None => env.clone(),
            },
            Expr::Select(select) if select.test => {
                if !holds {
                    return env.clone();
                }
                match self.path(&select.operand, env) {
                    Some(mut path) => {
                        let env = env.narrowed(&path, Types::MAP);
                        path.push(select.field.clone());
                        env.present(&path)
                    }
                    None => env.with_test(written_key(part)),
                }
            }
            Expr::Select(_) | Expr::Ident(_) => self.by_path(env, part, holds),
            _ => env.clone(),
        }
    }

    /// What a path says that is true or false.
    fn by_path(&mut self, env: &TypeEnv, part: &'e IdedExpr, holds: bool) -> TypeEnv {
        let Some(path) = self.path(part, env) else {
            return env.clone();
        };
        if let Some(named) = self.named.get(&path)
            && !self.is_local(&path[0])
        {
            return env.meet(if holds {
                &named.when_true
            } else {
                &named.when_false
            });
        }
        match path.split_last() {
            Some((member, map)) if holds && !map.is_empty() => env.holding(map, member),
            _ => env.clone(),
        }
    }

    fn by_call(
        &mut self,
        env: &TypeEnv,
        part: &'e IdedExpr,
        call: &'e CallExpr,
        holds: bool,
    ) -> TypeEnv {
        let name = spoken_name(&call.func_name);
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, _) => {
                let mut operands = Vec::new();
                flatten(part, name, &mut operands);
                self.by_operands(env, &operands, name == operators::LOGICAL_AND, holds)
            }
            (operators::LOGICAL_NOT, [of]) => self.narrowed(env, of, !holds),
            (operators::CONDITIONAL, [condition, yes, no]) => {
                let mut known: Option<TypeEnv> = None;
                for (branch, of_condition) in [(yes, true), (no, false)] {
                    if is_literally(branch, !holds) {
                        continue;
                    }
                    let there = self.narrowed(env, condition, of_condition);
                    let there = self.narrowed(&there, branch, holds);
                    known = Some(match known {
                        Some(other) => other.join(&there),
                        None => there,
                    });
                }
                known.unwrap_or_else(|| env.clone())
            }
            (operators::EQUALS, [left, right]) => self.by_equality(env, [left, right], holds),
            (operators::NOT_EQUALS, [left, right]) => self.by_equality(env, [left, right], !holds),
            (operators::IN, [item, within]) if holds => self.by_membership(env, item, within),
            (operators::LESS, [left, right]) => self.by_order(env, [left, right], holds, !holds),
            (operators::LESS_EQUALS, [left, right]) => {
                self.by_order(env, [left, right], holds, holds)
            }
            (operators::GREATER, [left, right]) => self.by_order(env, [right, left], holds, !holds),
            (operators::GREATER_EQUALS, [left, right]) => {
                self.by_order(env, [right, left], holds, holds)
            }
            (operators::INDEX, _) => self.by_path(env, part, holds),
            _ => env.clone(),
        }
    }

    fn by_operands(
        &mut self,
        env: &TypeEnv,
        operands: &[&'e IdedExpr],
        is_and: bool,
        holds: bool,
    ) -> TypeEnv {
        if is_and == holds {
            let mut known = env.clone();
            for operand in operands {
                known = self.narrowed(&known, operand, holds);
            }
            return known;
        }
        // One of them decides, the first that does, and those before it do not.
        let mut before = env.clone();
        let mut known: Option<TypeEnv> = None;
        for operand in operands {
            let there = self.narrowed(&before, operand, holds);
            known = Some(match known {
                Some(other) => other.join(&there),
                None => there,
            });
            before = self.narrowed(&before, operand, !holds);
        }
        known.unwrap_or(before)
    }

    /// What is known of two sides that are equal, or not.
    fn by_equality(&mut self, env: &TypeEnv, sides: [&'e IdedExpr; 2], is_equal: bool) -> TypeEnv {
        let mut known = env.clone();
        for (side, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
            if let Some(same) = literal_truth(other) {
                return self.narrowed(env, side, same == is_equal);
            }
            if let Some((of, kinds)) = self.asked_type(env, side, other)
                && let Some(path) = self.path(of, env)
            {
                let kinds = if is_equal {
                    kinds
                } else {
                    Types::ANY.without(kinds)
                };
                return env.narrowed(&path, kinds);
            }
            if let Some(of) = sized(side) {
                known = self.by_size(&known, of, other, is_equal);
            }
            known = self.by_same(&known, side, other, is_equal);
        }
        known
    }

    /// What equality with something else says of a path.
    fn by_same(
        &mut self,
        env: &TypeEnv,
        side: &'e IdedExpr,
        other: &'e IdedExpr,
        is_equal: bool,
    ) -> TypeEnv {
        let of_other = self.quietly(other, env);
        let is_null = of_other.kinds() == Types::NULL;
        let Some(path) = self.path(side, env) else {
            if is_null && !is_equal {
                return env.with_test(written_key(side));
            }
            return env.clone();
        };
        if is_null && !is_equal {
            let known = env.narrowed(&path, Types::ANY.without(Types::NULL));
            return match path.split_last() {
                // The data of an artifact is null unless it is valid.
                Some((member, map)) if member == "data" => known.holding(map, "valid"),
                _ => known,
            };
        }
        if !is_equal {
            if is_zero(other) {
                return nonzero(env, &path);
            }
            if matches!(&unmetered(other).expr, Expr::List(list) if list.elements.is_empty()) {
                return filled(env, &path, 1);
            }
            return env.clone();
        }
        if of_other.unknown {
            return env.clone();
        }
        let kinds = of_other.kinds();
        let kinds = if kinds.meets(Types::NUMBER) {
            kinds.or(Types::NUMBER)
        } else {
            kinds
        };
        let known = match path.split_last() {
            // Of one file there is one data.
            Some((member, map)) if member == "count" && whole(other) == Some(1) => {
                let data = [map, &["data".to_owned()]].concat();
                env.narrowed(&data, Types::ANY.without(Types::NULL))
            }
            _ => env.clone(),
        };
        known.changed(&path, |field| FieldType {
            presence: field.presence,
            value: if field.value.unknown {
                Arc::clone(&field.value)
            } else {
                kept(&field.value, field.value.within(kinds))
            },
        })
    }

    /// `type(value) == type('')`: the value, and the kinds that are asked for.
    fn asked_type(
        &mut self,
        env: &TypeEnv,
        side: &'e IdedExpr,
        other: &'e IdedExpr,
    ) -> Option<(&'e IdedExpr, Types)> {
        let of = argument(side, "type")?;
        self.path(of, env)?;
        let sample = argument(other, "type")?;
        let kinds = self.quietly(sample, env).kinds();
        (kinds != Types::ANY && kinds.each().count() == 1).then_some((of, kinds))
    }

    fn by_membership(
        &mut self,
        env: &TypeEnv,
        item: &'e IdedExpr,
        within: &'e IdedExpr,
    ) -> TypeEnv {
        if let (Expr::Literal(LiteralValue::String(key)), Some(path)) =
            (&unmetered(item).expr, self.path(within, env))
        {
            let is_map = env.at(&path).is_some_and(|field| field.value.map.is_some());
            let mut member = path;
            member.push(key.inner().to_owned());
            return if is_map {
                env.present(&member)
            } else {
                env.clone()
            };
        }
        let of_items = self.quietly(within, env).items();
        match self.path(item, env) {
            Some(path) if !of_items.unknown => env.narrowed(&path, of_items.kinds()),
            _ => env.clone(),
        }
    }

    /// What `less < more` says if it is true, or false; `or_equal` if the two may be equal where it is so.
    fn by_order(
        &mut self,
        env: &TypeEnv,
        sides: [&'e IdedExpr; 2],
        holds: bool,
        or_equal: bool,
    ) -> TypeEnv {
        let [less, more] = if holds { sides } else { [sides[1], sides[0]] };
        let step = if or_equal { 0 } else { 1 };
        if let Some(least) = whole(less) {
            let least = least.saturating_add(step);
            if let Some(of) = sized(more) {
                let many = usize::try_from(least).unwrap_or_default();
                return match self.path(of, env) {
                    Some(path) => filled(env, &path, many),
                    None => env.clone(),
                };
            }
            if least >= 1
                && let Some(path) = self.path(more, env)
            {
                return nonzero(env, &path);
            }
        }
        if let Some(most) = whole(more)
            && most.saturating_sub(step) < 0
            && let Some(path) = self.path(less, env)
        {
            return nonzero(env, &path);
        }
        env.clone()
    }

    fn by_size(
        &mut self,
        env: &TypeEnv,
        of: &'e IdedExpr,
        other: &'e IdedExpr,
        is_equal: bool,
    ) -> TypeEnv {
        let (Some(path), Some(size)) = (self.path(of, env), whole(other)) else {
            return env.clone();
        };
        let size = usize::try_from(size).unwrap_or_default();
        match (is_equal, size) {
            (true, _) => filled(env, &path, size),
            (false, 0) => filled(env, &path, 1),
            _ => env.clone(),
        }
    }

    fn by_macro(&mut self, env: &TypeEnv, written: &WrittenMacro<'e>, holds: bool) -> TypeEnv {
        let Some(path) = self.path(written.range, env) else {
            return env.clone();
        };
        let of_each = match (written.kind, holds) {
            (MacroKind::All, true) => true,
            (MacroKind::Exists, false) => false,
            (MacroKind::Exists | MacroKind::ExistsOne, true) => return filled(env, &path, 1),
            (MacroKind::All, false) => return filled(env, &path, 1),
            _ => return env.clone(),
        };
        let Some(condition) = written.condition else {
            return env.clone();
        };
        let mut items = path;
        items.push(ITEM.to_owned());
        let Some(field) = env.at(&items) else {
            return env.clone();
        };
        let within = env.with(written.item, ValueType::clone(&field.value));
        self.locals.push(written.item);
        let within = self.narrowed(&within, condition, of_each);
        self.locals.pop();
        let Some(item) = within.root(written.item) else {
            return env.clone();
        };
        env.changed(&items, |field| FieldType {
            presence: field.presence,
            value: kept(&field.value, item.clone()),
        })
    }
}

/// The list at a path has at least so many items.
fn filled(env: &TypeEnv, path: &[String], many: usize) -> TypeEnv {
    env.changed(path, |field| {
        let mut value = ValueType::clone(&field.value);
        if let Some(list) = &value.list {
            value.list = Some(Arc::new(ListType {
                item: list.item.clone(),
                at_least: list.at_least.map(|at_least| at_least.max(many)),
            }));
        }
        FieldType::new(field.presence, value)
    })
}

/// The number at a path is not zero.
fn nonzero(env: &TypeEnv, path: &[String]) -> TypeEnv {
    env.changed(path, |field| {
        let number = field.value.number.clone().map(|number| NumberType {
            is_nonzero: true,
            ..number
        });
        let value = ValueType {
            number,
            ..ValueType::clone(&field.value)
        };
        FieldType::new(field.presence, value)
    })
}

/// What `size(of)` or `of.size()` is about.
fn sized(part: &IdedExpr) -> Option<&IdedExpr> {
    let Expr::Call(call) = &unmetered(part).expr else {
        return None;
    };
    if call.func_name != "size" {
        return None;
    }
    call.target.as_deref().or_else(|| call.args.first())
}

/// The only argument of a call of this function.
fn argument<'e>(part: &'e IdedExpr, name: &str) -> Option<&'e IdedExpr> {
    let Expr::Call(call) = &unmetered(part).expr else {
        return None;
    };
    match call.args.as_slice() {
        [only] if call.func_name == name && call.target.is_none() => Some(only),
        _ => None,
    }
}

/// The whole number that a part is.
fn whole(part: &IdedExpr) -> Option<i64> {
    match &unmetered(part).expr {
        Expr::Literal(LiteralValue::Int(number)) => Some(*number.inner()),
        _ => None,
    }
}

fn is_zero(part: &IdedExpr) -> bool {
    whole(part) == Some(0)
}

fn literal_truth(part: &IdedExpr) -> Option<bool> {
    match &unmetered(part).expr {
        Expr::Literal(LiteralValue::Boolean(truth)) => Some(*truth.inner()),
        _ => None,
    }
}

/// Whether a part is this truth value, as a literal.
fn is_literally(part: &IdedExpr, truth: bool) -> bool {
    literal_truth(part) == Some(truth)
}
