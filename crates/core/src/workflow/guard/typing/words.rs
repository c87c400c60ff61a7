//! What findings about types say.

use super::super::checker::usage;
use super::super::functions::{Overload, symbol};
use super::super::types::Types;
use super::super::walk::unmetered;
use super::spots::Spots;
use super::value_type::{MapType, ValueType};
use cel::IdedExpr;
use cel::common::ast::Expr;
use orch_base::{Code, enumeration, nearest};
use std::collections::BTreeSet;

/// What a finding says.
pub struct FaultWords {
    pub code: Code,
    pub message: String,
    pub hint: String,
}

/// How many values or names a hint lists.
const MOST_LISTED: usize = 12;

const SAME_TYPE: &str =
    "compare and compute with values of one type; `int()`, `double()` and `string()` convert";

fn words(code: Code, message: String, hint: impl Into<String>) -> FaultWords {
    let hint = hint.into();
    FaultWords {
        code,
        message,
        hint,
    }
}

/// A list of names, cut off where it gets long.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    enumeration(names.map(|name| format!("`{name}`")), MOST_LISTED)
}

pub fn no_members(name: &str, written: &str, of: &ValueType) -> FaultWords {
    let kinds = of.kinds();
    let message = format!("`{name}` is read of {kinds}, which has no members");
    let hint =
        if matches!(name, "length" | "len" | "count") && kinds.meets(Types::LIST.or(Types::TEXT)) {
            format!("write `size({written})`")
        } else if kinds == Types::LIST {
            format!("ask its items: `{written}.exists(item, item.{name} …)`")
        } else {
            "only maps have members".to_owned()
        };
    words(Code::GuardType, message, hint)
}

pub fn maybe_no_map(name: &str, written: &str, of: &ValueType) -> FaultWords {
    let other = of.kinds().without(Types::MAP);
    let message = format!("`{written}` may be {other}, and then it has no `{name}`");
    words(Code::GuardMayFail, message, test_first(written, other))
}

/// How to test that a value is not of these kinds.
fn test_first(written: &str, other: Types) -> String {
    if other == Types::NULL {
        format!("test it first: `{written} != null && …`")
    } else {
        let example = if other.meets(Types::TEXT) {
            "''"
        } else if other.meets(Types::LIST) {
            "[]"
        } else {
            "1"
        };
        format!("test its type first: `type({written}) != type({example}) && …`")
    }
}

pub fn slip(name: &str, written: &str, near: &str) -> FaultWords {
    let message = format!("`{written}` has no `{name}` that its schema knows");
    words(Code::GuardField, message, format!("did you mean `{near}`?"))
}

pub fn never_there(name: &str, written: &str, map: &MapType) -> FaultWords {
    let known = map.fields.keys().map(AsRef::as_ref);
    let hint = match nearest(name, known.clone()) {
        _ if let Some(advice) = map.words.as_ref().and_then(|words| words.advice.clone()) => advice,
        Some(near) => format!("did you mean `{near}`?"),
        None if map.fields.is_empty() => "it has no members".to_owned(),
        None => format!("it has {}", listed(known)),
    };
    let message = match &map.words {
        Some(words) => format!("{} has no `{name}`{}", words.subject, words.because),
        None => format!("`{written}` has no `{name}`"),
    };
    words(Code::GuardField, message, hint)
}

pub fn unasked(written: &str, of: &str) -> FaultWords {
    let message = format!("`{written}` is read without checking `{of}.ready` or `.valid` first");
    let hint = format!(
        "put `{of}.ready && …` or `{of}.valid && …` before it: unless the artifact is valid, the key is missing, and then the guard is an error"
    );
    words(Code::GuardUnasked, message, hint)
}

/// The same, of a named expression that reads it.
pub fn unasked_by(name: &str, read: &str, of: &str) -> FaultWords {
    let message =
        format!("`{name}` reads `{read}`, and nothing checks `{of}.ready` or `.valid` before");
    let hint = format!(
        "put `{of}.ready && …` or `{of}.valid && …` before it, or into the definition of `{name}`"
    );
    words(Code::GuardUnasked, message, hint)
}

pub fn may_be_missing(written: &str, name: &str) -> FaultWords {
    let message = format!("`{written}` may be missing: the schema does not require `{name}`");
    missing(message, written, name)
}

pub fn not_in_every_file(written: &str, name: &str) -> FaultWords {
    let message = format!("`{written}` may be missing: not every file has `{name}`");
    missing(message, written, name)
}

fn missing(message: String, written: &str, name: &str) -> FaultWords {
    let is_path = written.ends_with(name);
    let hint = if is_path {
        format!("test it first: `has({written}) && …`")
    } else {
        "test it first with `in`".to_owned()
    };
    words(Code::GuardMayFail, message, hint)
}

pub fn no_range(range: &ValueType) -> FaultWords {
    let kinds = range.kinds();
    let message = format!("a macro iterates over a list or the keys of a map, not over {kinds}");
    words(Code::GuardType, message, "call it on a list")
}

pub fn maybe_no_range(written: &str, range: &ValueType) -> FaultWords {
    let other = range.kinds().without(Types::LIST.or(Types::MAP));
    let message = format!("`{written}` may be {other}, and a macro iterates over a list");
    words(Code::GuardMayFail, message, test_first(written, other))
}

pub fn no_condition(what: &str, value: &ValueType) -> FaultWords {
    let kinds = value.kinds();
    let message = match what {
        "`!`" => format!("{what} does not work with {kinds}"),
        _ => format!("{what} needs true or false, not {kinds}"),
    };
    let hint = if Types::LIST.or(Types::MAP).meets(kinds) && !Types::BOOL.meets(kinds) {
        "ask whether it is empty: `size(…) > 0`, or `.exists(i, …)`"
    } else {
        "compare the value first"
    };
    words(Code::GuardType, message, hint)
}

pub fn maybe_no_condition(written: &str, value: &ValueType) -> FaultWords {
    let other = value.kinds().without(Types::BOOL);
    let message = format!("`{written}` may be {other}, not true or false");
    words(
        Code::GuardMayFail,
        message,
        format!("compare it: `{written} == true`"),
    )
}

pub fn few_items(written: &str, wanted: usize) -> FaultWords {
    let message = format!("`{written}` may have fewer than {wanted} items");
    let hint = format!("test it first: `size({written}) >= {wanted} && …`");
    words(Code::GuardMayFail, message, hint)
}

pub fn no_extreme(written: &str) -> FaultWords {
    let message = format!("`{written}` may be empty, and then it has no `min` or `max`");
    let hint = format!("test it first: `size({written}) > 0 && …`");
    words(Code::GuardMayFail, message, hint)
}

pub fn by_zero(written: &str) -> FaultWords {
    let message = format!("`{written}` may be 0, and a whole number cannot be divided by 0");
    let hint = format!("test it first: `{written} > 0 && …`");
    words(Code::GuardMayFail, message, hint)
}

/// Whether one value is a text and the other a number.
fn is_text_beside_number(kinds: [Types; 2]) -> bool {
    kinds.contains(&Types::TEXT) && kinds.iter().any(|kinds| kinds.is_within(Types::NUMBER))
}

/// How to compare a text with a number.
fn converted(operands: [&IdedExpr; 2], kinds: [Types; 2], spots: &Spots<'_>) -> Option<String> {
    if !is_text_beside_number(kinds) {
        return None;
    }
    let is_literal = |operand: &IdedExpr| matches!(unmetered(operand).expr, Expr::Literal(_));
    let text = usize::from(kinds[1] == Types::TEXT);
    let number = 1 - text;
    let function = if kinds[number].is_within(Types::INT) {
        "int"
    } else {
        "double"
    };
    let written = operands.map(|operand| spots.written(operand));
    Some(
        if is_literal(operands[text]) && !is_literal(operands[number]) {
            format!(
                "`{}` is a number: write one without quotes",
                written[number]
            )
        } else {
            format!(
                "`{}` is text: write `{function}({})`",
                written[text], written[text]
            )
        },
    )
}

/// How to compare a list with an item, or true and false with a text.
fn compared_otherwise(
    sides: [&IdedExpr; 2],
    kinds: [Types; 2],
    spots: &Spots<'_>,
) -> Option<String> {
    let written = sides.map(|side| spots.written(side));
    let nth = |wanted: Types| kinds.iter().position(|kinds| *kinds == wanted);
    if let Some(list) = nth(Types::LIST) {
        return Some(format!(
            "write `{} in {}`",
            written[1 - list],
            written[list]
        ));
    }
    let truth = nth(Types::BOOL)?;
    nth(Types::TEXT).map(|_| {
        format!(
            "`{}` is true or false: write it alone, or `!{}`",
            written[truth], written[truth]
        )
    })
}

pub fn never_equal(sides: [&IdedExpr; 2], types: [&ValueType; 2], spots: &Spots<'_>) -> FaultWords {
    let kinds = types.map(ValueType::kinds);
    let message = format!("{} is never equal to {}", kinds[0], kinds[1]);
    let hint = converted(sides, kinds, spots).or_else(|| compared_otherwise(sides, kinds, spots));
    words(
        Code::GuardType,
        message,
        hint.unwrap_or_else(|| SAME_TYPE.to_owned()),
    )
}

pub fn never_in(item: &ValueType, items: &ValueType) -> FaultWords {
    let message = format!("{} is never in a list of {}", item.kinds(), items.kinds());
    words(Code::GuardType, message, SAME_TYPE)
}

pub fn never_fits(
    name: &str,
    known: &[&Overload],
    operands: &[&IdedExpr],
    given: &[ValueType],
    spots: &Spots<'_>,
) -> FaultWords {
    let kinds: Vec<Types> = given.iter().map(ValueType::kinds).collect();
    let all: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    let all = all.join(" and ");
    let Some(symbol) = symbol(name) else {
        let hint = match (name, kinds.as_slice(), operands) {
            ("contains", [list, _], [of, item]) if *list == Types::LIST => {
                format!("write `{} in {}`", spots.written(item), spots.written(of))
            }
            _ => usage(known),
        };
        return words(
            Code::GuardType,
            format!("`{name}` does not work with {all}"),
            hint,
        );
    };
    if kinds.iter().all(|kinds| kinds.is_within(Types::NUMBER)) {
        let message = format!("`{symbol}` does not work with a whole number and a fraction");
        let hint = "`double()` makes a fraction of a whole number: `double(a) + 0.5`";
        return words(Code::GuardType, message, hint);
    }
    let hint = match (operands, kinds.as_slice()) {
        ([left, right], [of_left, of_right]) if symbol != "+" => {
            converted([left, right], [*of_left, *of_right], spots)
        }
        _ => None,
    };
    let message = format!("`{symbol}` does not work with {all}");
    words(
        Code::GuardType,
        message,
        hint.unwrap_or_else(|| SAME_TYPE.to_owned()),
    )
}

pub fn may_not_fit(name: &str, written: &str, refused: Types) -> FaultWords {
    let shown = symbol(name).unwrap_or(name);
    let kind = if refused.is_within(Types::WHOLE) {
        "a whole number".to_owned()
    } else {
        refused.to_string()
    };
    let message = format!("`{written}` may be {kind}, and `{shown}` does not work with that");
    let hint = if refused.is_within(Types::WHOLE) {
        format!("write `double({written})`")
    } else {
        test_first(written, refused)
    };
    words(Code::GuardMayFail, message, hint)
}

/// What a value can be, in words.
fn possible(of: &ValueType) -> String {
    if let Some(text) = &of.text {
        if let Some(only) = &text.only {
            return format!("it is one of {}", listed(only.iter().map(String::as_str)));
        }
        if let Some(pattern) = text.patterns.first() {
            return format!("its schema asks for texts that match `{pattern}`");
        }
        if text.is_lower {
            return "it is in small letters".to_owned();
        }
        return "its schema limits its length".to_owned();
    }
    let Some(number) = &of.number else {
        return "its schema never allows that".to_owned();
    };
    if let Some(only) = &number.only {
        let shown: Vec<String> = only.iter().map(|number| format!("{number}")).collect();
        return format!("it is one of {}", listed(shown.iter().map(String::as_str)));
    }
    match (number.least, number.most) {
        (Some(least), Some(most)) => format!("it is between {least} and {most}"),
        (Some(least), None) => format!("it is at least {least}"),
        (None, Some(most)) => format!("it is at most {most}"),
        (None, None) => "its schema never allows that".to_owned(),
    }
}

pub fn never_this(written: &str, literal: &str, of: &ValueType) -> FaultWords {
    let message = format!("`{written}` is never {literal}");
    let text = literal.trim_matches(['\'', '"']);
    let only = of.text.as_ref().and_then(|text| text.only.as_ref());
    let lower = of.text.as_ref().is_some_and(|text| text.is_lower);
    let near = only.and_then(|only| nearest(text, only.iter().map(String::as_str)));
    let hint = match near {
        Some(near) => format!("did you mean `'{near}'`?"),
        None if lower => format!("write `'{}'`", text.to_ascii_lowercase()),
        None => possible(of),
    };
    words(Code::GuardConstant, message, hint)
}

pub fn disjoint(left: &str, right: &str, only: &BTreeSet<String>) -> FaultWords {
    let message = format!("`{left}` is never equal to `{right}`");
    let hint = format!(
        "`{right}` is one of {}",
        listed(only.iter().map(String::as_str))
    );
    words(Code::GuardConstant, message, hint)
}

pub fn never_reached(part: &str, written: &str, of: &ValueType) -> FaultWords {
    let message = format!("`{part}` is never true");
    let hint = format!("`{written}`: {}", possible(of));
    words(Code::GuardConstant, message, hint)
}

pub fn never_matches(pattern: &str, why: &str) -> FaultWords {
    let message = format!("no text matches `{pattern}`: {why}");
    let hint =
        "`^` is the start of the text and `$` its end; `\\\\^` and `\\\\$` are the characters";
    words(Code::GuardConstant, message, hint)
}

pub fn none_of_texts(part: &str, written: &str, only: &BTreeSet<String>) -> FaultWords {
    let message = format!("`{part}` is never true");
    let hint = format!(
        "`{written}` is one of {}",
        listed(only.iter().map(String::as_str))
    );
    words(Code::GuardConstant, message, hint)
}
