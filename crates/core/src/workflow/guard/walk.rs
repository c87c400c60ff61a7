//! What a parsed expression reads, determined by walking its tree, and what is rewritten in it.

use super::functions::variadic;
use cel::IdedExpr;
use cel::common::ast::{CallExpr, EntryExpr, Expr, ListExpr, LiteralValue, operators};

/// The names and member paths that an expression reads, in source order, without duplicates.
pub(super) fn chains(expression: &IdedExpr) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    collect(expression, &mut Vec::new(), &mut found);
    found
}

/// The function that wraps the range of every macro: it iterates over maps in the order of their keys, and charges for
/// what it iterates over. Its name is not valid CEL, so no guard can call it.
pub(super) const IN_ORDER: &str = "@in_order";
/// The function that wraps what an operator in the body of a macro goes through as a whole, and charges for it.
pub(super) const CHARGED: &str = "@charged";
/// The same for what is copied into another value, in the body of a macro or not.
pub(super) const COPIED: &str = "@copied";
/// The same for what `in` looks into: it goes through a list, and finds the key of a map at once.
pub(super) const SEARCHED: &str = "@searched";

/// Makes macros iterate over maps in key order, since the evaluator's own order is unspecified, and makes them
/// charge for the steps that they take. What is copied is charged for everywhere. Returns whether anything is charged for.
pub(super) fn meter(expression: &mut IdedExpr) -> bool {
    meter_at(expression, false)
}

fn meter_at(expression: &mut IdedExpr, in_body: bool) -> bool {
    if let Expr::Comprehension(inner) = &mut expression.expr {
        meter_at(&mut inner.iter_range, in_body);
        wrap(&mut inner.iter_range, IN_ORDER);
        meter_at(&mut inner.loop_step, true);
        return true;
    }
    let function = match &expression.expr {
        Expr::Call(call) if call.func_name == operators::ADD => COPIED,
        Expr::List(_) | Expr::Map(_) => COPIED,
        Expr::Call(call) if call.func_name == operators::IN => SEARCHED,
        _ => CHARGED,
    };
    let mut is_metered = false;
    if in_body || function == COPIED {
        for operand in gone_through(expression) {
            wrap(operand, function);
            is_metered = true;
        }
    }
    for child in children_mut(expression) {
        is_metered |= meter_at(child, in_body);
    }
    is_metered
}

/// Whether a call only charges for its operand, which it yields.
pub(super) fn is_metered(call: &CallExpr) -> bool {
    matches!(call.func_name.as_str(), CHARGED | COPIED | SEARCHED)
}

/// An expression without what charges for it.
pub(super) fn unmetered(expression: &IdedExpr) -> &IdedExpr {
    match &expression.expr {
        Expr::Call(call) if is_metered(call) => call.args.first().map_or(expression, unmetered),
        _ => expression,
    }
}

fn wrap(expression: &mut IdedExpr, function: &str) {
    let inner = std::mem::take(expression);
    let id = inner.id;
    let call = CallExpr {
        func_name: function.to_owned(),
        target: None,
        args: vec![inner],
    };
    *expression = IdedExpr {
        id,
        expr: Expr::Call(call),
    };
}

/// What an expression goes through, or copies, as a whole, unless a literal limits how far it goes.
fn gone_through(expression: &mut IdedExpr) -> Vec<&mut IdedExpr> {
    if matches!(expression.expr, Expr::List(_) | Expr::Map(_)) {
        return long(children_mut(expression));
    }
    let Expr::Call(call) = &mut expression.expr else {
        return Vec::new();
    };
    match (call.func_name.as_str(), call.args.as_mut_slice()) {
        (
            operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS,
            [left, right],
        ) => {
            if is_long(right) {
                long(vec![left])
            } else {
                Vec::new()
            }
        }
        (operators::IN, [_, list]) => vec![list],
        // What a macro appends to its result, it has made itself.
        (
            operators::ADD,
            [
                IdedExpr {
                    expr: Expr::Ident(name),
                    ..
                },
                _,
            ],
        ) if name.starts_with('@') => Vec::new(),
        (operators::ADD, [left, right]) => long(vec![left, right]),
        ("startsWith" | "endsWith", [part]) => long(vec![part]),
        (
            "contains" | "matches" | "split" | "lowerAscii" | "sum" | "min" | "max" | "string"
            | "bytes" | "math.@max" | "math.@min",
            args,
        ) => call
            .target
            .as_deref_mut()
            .or_else(|| args.first_mut())
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

/// The operands whose length no literal limits.
fn long(operands: Vec<&mut IdedExpr>) -> Vec<&mut IdedExpr> {
    operands
        .into_iter()
        .filter(|operand| is_long(operand))
        .collect()
}

fn is_long(operand: &IdedExpr) -> bool {
    !matches!(operand.expr, Expr::Literal(_))
}

/// The name before the functions of the extension for numbers.
pub(super) const MATH: &str = "math";

/// Turns `math.abs(x)` into a call of the function `math.abs`. To the parser it is the method `abs` of a value
/// named `math`.
pub(super) fn name_functions(expression: &mut IdedExpr) {
    let id = expression.id;
    if let Expr::Call(call) = &mut expression.expr
        && matches!(call.target.as_deref(), Some(IdedExpr { expr: Expr::Ident(name), .. }) if name == MATH)
    {
        call.target = None;
        call.func_name.insert_str(0, "math.");
        if let Some(name) = variadic(&call.func_name) {
            call.func_name = name.to_owned();
            if call.args.len() > 2 {
                let list = Expr::List(ListExpr::new(std::mem::take(&mut call.args)));
                call.args.push(IdedExpr { id, expr: list });
            }
        }
    }
    children_mut(expression)
        .into_iter()
        .for_each(name_functions);
}

/// The nesting depth of macros in an expression; 0 if there are none.
pub(super) fn macro_depth(expression: &IdedExpr) -> usize {
    let below = children(expression)
        .into_iter()
        .map(macro_depth)
        .max()
        .unwrap_or_default();
    below + usize::from(matches!(expression.expr, Expr::Comprehension(_)))
}

fn collect(expression: &IdedExpr, bound: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if let Some(chain) = chain(expression) {
        if !bound.contains(&chain[0]) && !found.contains(&chain) {
            found.push(chain);
        }
        return;
    }
    if let Expr::Comprehension(comprehension) = &expression.expr {
        collect(&comprehension.iter_range, bound, found);
        let before = bound.len();
        bound.push(comprehension.iter_var.clone());
        bound.extend(comprehension.iter_var2.clone());
        bound.push(comprehension.accu_var.clone());
        for inner in [
            &comprehension.accu_init,
            &comprehension.loop_cond,
            &comprehension.loop_step,
            &comprehension.result,
        ] {
            collect(inner, bound, found);
        }
        bound.truncate(before);
        return;
    }
    for child in children(expression) {
        collect(child, bound, found);
    }
}

/// `a.b.c`, `a.b['c']` or `has(a.b.c)`, as its segments.
pub(super) fn chain(expression: &IdedExpr) -> Option<Vec<String>> {
    match &expression.expr {
        Expr::Call(call) if call.func_name == operators::INDEX => {
            let [of, key] = call.args.as_slice() else {
                return None;
            };
            let Expr::Literal(LiteralValue::String(key)) = &key.expr else {
                return None;
            };
            let mut segments = chain(of)?;
            segments.push(key.inner().to_owned());
            Some(segments)
        }
        Expr::Call(call) if is_metered(call) => chain(call.args.first()?),
        Expr::Ident(name) => Some(vec![name.clone()]),
        Expr::Select(select) => {
            let mut segments = chain(&select.operand)?;
            segments.push(select.field.clone());
            Some(segments)
        }
        _ => None,
    }
}

/// A path as CEL spells it: `a.b['c d']`.
#[must_use]
pub fn spelled(path: &[String]) -> String {
    let mut text = String::new();
    for segment in path {
        let is_name = segment.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && segment
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match (is_name, text.is_empty()) {
            (true, true) => text.push_str(segment),
            (true, false) => text.extend([".", segment]),
            (false, _) => text.extend([
                "['",
                &segment.replace('\\', "\\\\").replace('\'', "\\'"),
                "']",
            ]),
        }
    }
    text
}

/// How often a name occurs in an expression.
pub(super) fn mentions(expression: &IdedExpr, name: &str) -> u64 {
    let here = matches!(&expression.expr, Expr::Ident(found) if found == name);
    let below = children(expression)
        .into_iter()
        .map(|child| mentions(child, name));
    below.fold(u64::from(here), u64::saturating_add)
}

/// The expressions directly below an expression.
pub(super) fn children(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect(),
        Expr::Comprehension(inner) => {
            vec![
                &inner.iter_range,
                &inner.accu_init,
                &inner.loop_cond,
                &inner.loop_step,
                &inner.result,
            ]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => entries(map.entries.iter().map(|entry| &entry.expr)),
        Expr::Struct(structure) => entries(structure.entries.iter().map(|entry| &entry.expr)),
        Expr::Select(select) => vec![&select.operand],
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
    }
}

fn children_mut(expression: &mut IdedExpr) -> Vec<&mut IdedExpr> {
    match &mut expression.expr {
        Expr::Call(call) => call
            .target
            .as_deref_mut()
            .into_iter()
            .chain(&mut call.args)
            .collect(),
        Expr::Comprehension(inner) => vec![
            &mut inner.iter_range,
            &mut inner.accu_init,
            &mut inner.loop_cond,
            &mut inner.loop_step,
            &mut inner.result,
        ],
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => map
            .entries
            .iter_mut()
            .flat_map(|entry| entry_mut(&mut entry.expr))
            .collect(),
        Expr::Struct(structure) => structure
            .entries
            .iter_mut()
            .flat_map(|entry| entry_mut(&mut entry.expr))
            .collect(),
        Expr::Select(select) => vec![&mut select.operand],
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
    }
}

fn entry_mut(entry: &mut EntryExpr) -> Vec<&mut IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&mut field.value],
        EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
    }
}

fn entries<'a>(entries: impl Iterator<Item = &'a EntryExpr>) -> Vec<&'a IdedExpr> {
    entries
        .flat_map(|entry| match entry {
            EntryExpr::StructField(field) => vec![&field.value],
            EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Guard;

    #[test]
    fn finds_what_is_read_and_leaves_bound_names_out() {
        let guard = Guard::parse("has(plan.data.x) && plan.all.exists(p, p.valid && state.n > 1)")
            .expect("parses");
        let chains: Vec<String> = guard.chains().map(super::spelled).collect();
        assert_eq!(chains, ["plan.data.x", "plan.all", "state.n"]);
    }

    #[test]
    fn an_index_with_a_literal_is_a_member() {
        let guard = Guard::parse(
            "plan.data.sections['Why \\'now\\''].words > 0 && plan.data[task] == state['n'][0]",
        );
        let guard = guard.expect("parses");
        let chains: Vec<String> = guard.chains().map(super::spelled).collect();
        assert_eq!(
            chains,
            [
                "plan.data.sections['Why \\'now\\''].words",
                "plan.data",
                "task",
                "state.n"
            ]
        );
    }
}
