//! Numbers that CEL computes otherwise than readers expect: whole numbers divide to a whole number, and a whole number and
//! a fraction do not add.

use super::GuardError;
use super::functions::{spoken_name, symbol};
use super::types::Types;
use super::walk::{chain, spelled, unmetered};
use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use orch_base::Code;

const COMPARISONS: [&str; 6] = [
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
];
const ARITHMETIC: [&str; 5] = [
    operators::ADD,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
];

/// Whether a call yields what comes of a division of whole numbers.
pub(super) fn quotient(name: &str, args: &[Types]) -> bool {
    let is_division =
        name == operators::DIVIDE && args.iter().all(|types| types.meets(Types::WHOLE));
    is_division || (ARITHMETIC.contains(&name) && args.iter().any(|types| types.is_quotient()))
}

/// What is likely wrong with the numbers of a call.
pub(super) fn faults(text: &str, name: &str, call: &CallExpr, args: &[Types]) -> Vec<GuardError> {
    let exprs: Vec<&IdedExpr> = call.args.iter().map(unmetered).collect();
    let found = match (exprs.as_slice(), args) {
        ([left, right], [of_left, of_right]) if COMPARISONS.contains(&name) => {
            let is_share = |one: &Types, other: &Types| {
                one.is_quotient() && *other != Types::NULL && other.is_within(Types::DOUBLE)
            };
            if is_share(of_left, of_right) {
                Some(rounded(left))
            } else if is_share(of_right, of_left) {
                Some(rounded(right))
            } else {
                None
            }
        }
        // The product of a rounded share: `failures / tests * 100`.
        ([left, right], _) if name == operators::MULTIPLY => {
            let factor = [left, right]
                .into_iter()
                .find(|factor| is_share(factor, args));
            factor.map(|factor| rounded(factor))
        }
        ([of], [types]) if name == "double" && types.is_quotient() => Some(rounded(of)),
        _ => None,
    };
    let mixed = match (exprs.as_slice(), args) {
        ([left, right], [of_left, of_right]) if ARITHMETIC.contains(&name) => {
            mixed(name, [left, right], [*of_left, *of_right])
        }
        _ => None,
    };
    let found = found.or(mixed);
    let error = found.map(|(at, message, hint)| GuardError {
        code: Code::GuardType,
        offset: text.find(&at).unwrap_or_default(),
        message,
        hint: Some(hint),
    });
    error.into_iter().collect()
}

/// Where something is wrong, as it is spelled; what is wrong; and what to write.
type NumberFault = (String, String, String);

/// Whether this is a division of which neither side is a literal.
fn is_share(factor: &IdedExpr, args: &[Types]) -> bool {
    let Some((left, right)) = division(factor) else {
        return false;
    };
    let is_literal = |side: &IdedExpr| matches!(side.expr, Expr::Literal(_));
    args.iter().any(|types| types.is_quotient()) && !is_literal(left) && !is_literal(right)
}

/// The two sides of a division.
fn division(of: &IdedExpr) -> Option<(&IdedExpr, &IdedExpr)> {
    match &of.expr {
        Expr::Call(call) if call.func_name == operators::DIVIDE => match call.args.as_slice() {
            [left, right] => Some((unmetered(left), unmetered(right))),
            _ => None,
        },
        _ => None,
    }
}

/// The first division in what an expression computes.
fn division_in(of: &IdedExpr) -> Option<(&IdedExpr, &IdedExpr)> {
    if let Some(found) = division(of) {
        return Some(found);
    }
    match &of.expr {
        Expr::Call(call) if ARITHMETIC.contains(&call.func_name.as_str()) => {
            call.args.iter().map(unmetered).find_map(division_in)
        }
        _ => None,
    }
}

/// What is wrong with a share that a division of whole numbers yields.
fn rounded(share: &IdedExpr) -> NumberFault {
    let why = "of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75";
    let Some((left, right)) = division_in(share) else {
        let name = words(share).unwrap_or_default();
        return (
            name.clone(),
            format!("`{name}` divides, and a division {why}"),
            "in its definition, write `double(a) / double(b)` for `a / b`".to_owned(),
        );
    };
    let left = words(left);
    let right = words(right);
    let at = left.clone().or(right.clone()).unwrap_or_default();
    let left = left.unwrap_or_else(|| "a".to_owned());
    let right = right.unwrap_or_else(|| "b".to_owned());
    (
        at,
        format!("the division `{left} / {right}` {why}"),
        format!("write `double({left}) / double({right})`"),
    )
}

/// What is wrong with a computation that mixes a number that may have a fraction with one of one type.
fn mixed(name: &str, sides: [&IdedExpr; 2], types: [Types; 2]) -> Option<NumberFault> {
    let any = (0..2).find(|nth| is_any_number(types[*nth]) && chain(sides[*nth]).is_some())?;
    let other = types[1 - any];
    let is_both = is_any_number(other) && chain(sides[1 - any]).is_some();
    let is_one = other.is_within(Types::WHOLE) || other.is_within(Types::DOUBLE);
    // Of a share, its comparison says more.
    if !is_one && (!is_both || name == operators::DIVIDE) {
        return None;
    }
    let number = words(sides[any])?;
    let sign = symbol(name).unwrap_or(name);
    let converted = |side: usize| match &sides[side].expr {
        Expr::Literal(LiteralValue::Int(whole)) => format!("{}.0", whole.inner()),
        Expr::Literal(LiteralValue::Double(fraction)) => format!("{:?}", fraction.inner()),
        _ => {
            let text = words(sides[side]).unwrap_or_else(|| "b".to_owned());
            format!("double({text})")
        }
    };
    let message = format!(
        "`{number}` may be written with or without a fraction, and `{sign}` does not work with a whole number and a fraction"
    );
    let hint = format!("write `{} {sign} {}`", converted(0), converted(1));
    Some((number, message, hint))
}

/// Whether the values are numbers of which nothing says that they are whole. A value that may be missing counts.
fn is_any_number(types: Types) -> bool {
    types.meets(Types::WHOLE)
        && types.meets(Types::DOUBLE)
        && types.is_within(Types::NUMBER.or(Types::NULL))
}

/// An expression as it is spelled, if it is simple.
fn words(expression: &IdedExpr) -> Option<String> {
    if let Some(path) = chain(expression) {
        return Some(spelled(&path));
    }
    match &expression.expr {
        Expr::Literal(LiteralValue::Int(number)) => Some(number.inner().to_string()),
        Expr::Call(call) => {
            let name = spoken_name(&call.func_name);
            let is_function = name.starts_with(|c: char| c.is_ascii_alphabetic());
            let target = call.target.as_deref().map(unmetered).map(words);
            match (target, call.args.as_slice()) {
                (Some(Some(target)), []) if is_function => Some(format!("{target}.{name}()")),
                (None, [only]) if is_function => {
                    Some(format!("{name}({})", words(unmetered(only))?))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
