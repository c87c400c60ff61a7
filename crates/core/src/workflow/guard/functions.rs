//! The functions and operators of guards: how each is called, and what it yields.
//!
//! A guard can call only what [`OVERLOADS`] lists. All of it ends quickly: nothing here grows faster than the
//! data of a task, and patterns are matched in linear time.

use super::re2;
use super::types::Types;
use cel::common::ast::operators;
use cel::common::types::{CelList, CelString, LIST_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError, Value};
use regex::{Regex, RegexBuilder};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

/// One way to call a function, or to use an operator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overload {
    /// The name in the syntax tree: `size`, `math.abs`, `_+_`.
    pub name: &'static str,
    /// The value on which the function is called, as in `value.split(…)`.
    pub target: Option<Types>,
    /// The arguments.
    pub takes: &'static [Types],
    pub yields: Types,
}

/// The functions and methods that a guard may call, sorted.
#[must_use]
pub fn function_names() -> Vec<&'static str> {
    let names = OVERLOADS.iter().map(|overload| overload.name);
    let mut names: Vec<&str> = names
        .filter(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))
        .collect();
    names.extend(["has", "all", "exists", "exists_one", "filter", "map"]);
    names.sort_unstable();
    names.dedup();
    names
}

const fn function(name: &'static str, takes: &'static [Types], yields: Types) -> Overload {
    Overload {
        name,
        target: None,
        takes,
        yields,
    }
}

const fn method(
    target: Types,
    name: &'static str,
    takes: &'static [Types],
    yields: Types,
) -> Overload {
    Overload {
        name,
        target: Some(target),
        takes,
        yields,
    }
}

const BOOL: Types = Types::BOOL;
const INT: Types = Types::INT;
const UINT: Types = Types::UINT;
const DOUBLE: Types = Types::DOUBLE;
const NUMBER: Types = Types::NUMBER;
const TEXT: Types = Types::TEXT;
const BYTES: Types = Types::BYTES;
const LIST: Types = Types::LIST;
const MAP: Types = Types::MAP;
const ANY: Types = Types::ANY;
/// What has an order: `<` and `.max()` go with it.
const ORDERED: Types = NUMBER.or(TEXT);

/// The macros: they are expanded before anything is called, so a call of one has the wrong arguments.
pub(super) const MACROS: [(&str, &str); 7] = [
    ("has", "has(value.key)"),
    ("all", "list.all(item, condition)"),
    ("exists", "list.exists(item, condition)"),
    ("exists_one", "list.exists_one(item, condition)"),
    ("existsOne", "list.existsOne(item, condition)"),
    ("map", "list.map(item, value)"),
    ("filter", "list.filter(item, condition)"),
];

/// The function that the patterns of a guard are matched by.
pub(super) const MATCHES: &str = "matches";
/// What `math.greatest` and `math.least` are called in the evaluator, which knows them as macros only.
const VARIADIC: [(&str, &str); 2] = [("math.greatest", "math.@max"), ("math.least", "math.@min")];

/// Every function and operator. The functions are those of CEL's standard library; of its extension `math`, and
/// `split` and `lowerAscii` of its extension `strings`; and `sum`, `min` and `max` of lists, as Kubernetes defines them.
pub(super) static OVERLOADS: &[Overload] = &[
    function("_+_", &[INT, INT], INT),
    function("_+_", &[UINT, UINT], UINT),
    function("_+_", &[DOUBLE, DOUBLE], DOUBLE),
    function("_+_", &[TEXT, TEXT], TEXT),
    function("_+_", &[BYTES, BYTES], BYTES),
    function("_+_", &[LIST, LIST], LIST),
    function("_-_", &[INT, INT], INT),
    function("_-_", &[UINT, UINT], UINT),
    function("_-_", &[DOUBLE, DOUBLE], DOUBLE),
    function("_*_", &[INT, INT], INT),
    function("_*_", &[UINT, UINT], UINT),
    function("_*_", &[DOUBLE, DOUBLE], DOUBLE),
    function("_/_", &[INT, INT], INT),
    function("_/_", &[UINT, UINT], UINT),
    function("_/_", &[DOUBLE, DOUBLE], DOUBLE),
    function("_%_", &[INT, INT], INT),
    function("_%_", &[UINT, UINT], UINT),
    function("-_", &[INT], INT),
    function("-_", &[DOUBLE], DOUBLE),
    function("_<_", &[NUMBER, NUMBER], BOOL),
    function("_<_", &[TEXT, TEXT], BOOL),
    function("_<_", &[BOOL, BOOL], BOOL),
    function("_<_", &[BYTES, BYTES], BOOL),
    function("_<=_", &[NUMBER, NUMBER], BOOL),
    function("_<=_", &[TEXT, TEXT], BOOL),
    function("_<=_", &[BOOL, BOOL], BOOL),
    function("_<=_", &[BYTES, BYTES], BOOL),
    function("_>_", &[NUMBER, NUMBER], BOOL),
    function("_>_", &[TEXT, TEXT], BOOL),
    function("_>_", &[BOOL, BOOL], BOOL),
    function("_>_", &[BYTES, BYTES], BOOL),
    function("_>=_", &[NUMBER, NUMBER], BOOL),
    function("_>=_", &[TEXT, TEXT], BOOL),
    function("_>=_", &[BOOL, BOOL], BOOL),
    function("_>=_", &[BYTES, BYTES], BOOL),
    function("_&&_", &[BOOL, BOOL], BOOL),
    function("_||_", &[BOOL, BOOL], BOOL),
    function("!_", &[BOOL], BOOL),
    function("@in", &[ANY, LIST.or(MAP)], BOOL),
    function("_[_]", &[LIST, NUMBER], ANY),
    function("_[_]", &[MAP, ANY], ANY),
    function("size", &[TEXT.or(BYTES).or(LIST).or(MAP)], INT),
    method(TEXT.or(BYTES).or(LIST).or(MAP), "size", &[], INT),
    method(TEXT, "contains", &[TEXT], BOOL),
    method(TEXT, "startsWith", &[TEXT], BOOL),
    method(TEXT, "endsWith", &[TEXT], BOOL),
    method(TEXT, MATCHES, &[TEXT], BOOL),
    function(MATCHES, &[TEXT, TEXT], BOOL),
    method(TEXT, "split", &[TEXT], LIST),
    method(TEXT, "lowerAscii", &[], TEXT),
    method(LIST, "sum", &[], NUMBER),
    method(LIST, "min", &[], ORDERED),
    method(LIST, "max", &[], ORDERED),
    function("int", &[NUMBER.or(TEXT)], INT),
    function("uint", &[NUMBER.or(TEXT)], UINT),
    function("double", &[NUMBER.or(TEXT)], DOUBLE),
    function("string", &[NUMBER.or(TEXT).or(BOOL).or(BYTES)], TEXT),
    function("bool", &[TEXT.or(BOOL)], BOOL),
    function("bytes", &[TEXT.or(BYTES)], BYTES),
    function("dyn", &[ANY], ANY),
    function("type", &[ANY], Types::TYPE),
    function("math.greatest", &[NUMBER.or(LIST)], NUMBER),
    function("math.greatest", &[NUMBER, NUMBER], NUMBER),
    function("math.least", &[NUMBER.or(LIST)], NUMBER),
    function("math.least", &[NUMBER, NUMBER], NUMBER),
    function("math.abs", &[NUMBER], NUMBER),
    function("math.sign", &[NUMBER], NUMBER),
    function("math.ceil", &[DOUBLE], DOUBLE),
    function("math.floor", &[DOUBLE], DOUBLE),
    function("math.round", &[DOUBLE], DOUBLE),
    function("math.trunc", &[DOUBLE], DOUBLE),
];

/// The name by which the evaluator knows a function, if it has any number of arguments.
pub(super) fn variadic(name: &str) -> Option<&'static str> {
    VARIADIC
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, evaluated)| *evaluated)
}

/// The name by which guards know a function of the evaluator.
pub(super) fn spoken_name(name: &str) -> &str {
    VARIADIC
        .iter()
        .find(|(_, evaluated)| *evaluated == name)
        .map_or(name, |(known, _)| known)
}

/// The sign of an operator; `None` for a function.
pub(super) fn symbol(name: &str) -> Option<&str> {
    match name {
        "@in" => Some("in"),
        "_[_]" => Some("[ ]"),
        operators::CONDITIONAL => Some("?"),
        _ if name.starts_with('_') || name.ends_with('_') => Some(name.trim_matches('_')),
        _ => None,
    }
}

/// The functions are the same for every guard and expensive to set up.
pub(super) static ENVIRONMENT: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(environment().unwrap_or_else(|_| Env::stdlib())));

fn environment() -> Result<Env, DeclarationError> {
    let mut env = Env::stdlib();
    env.add_extension(cel::extensions::math)?;
    cel::add_member_overload!(env, fn split: (CelString, CelString) -> Result<CelList>)?;
    let name = "lowerAscii";
    env.add_member_overload(name, "string.lowerAscii()", STRING_TYPE, Vec::new(), lower)?;
    env.add_member_overload("sum", "list.sum()", LIST_TYPE, Vec::new(), sum)?;
    env.add_member_overload("min", "list.min()", LIST_TYPE, Vec::new(), min)?;
    env.add_member_overload("max", "list.max()", LIST_TYPE, Vec::new(), max)?;
    Ok(env)
}

/// `lowerAscii` of CEL's extension `strings`.
fn lower<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    match args.first().map(|text| Value::try_from(text.as_ref())) {
        Some(Ok(Value::String(text))) => {
            let lower = Value::String(Arc::new(text.to_ascii_lowercase()));
            Ok(CowVal::Owned(lower.try_into()?))
        }
        Some(Err(error)) => Err(error),
        _ => Err(ExecutionError::function_error(
            "lowerAscii",
            "it is called on a text",
        )),
    }
}

/// The largest number of parts of a text that is split.
const MAX_PARTS: usize = 100_000;

/// `split` of CEL's extension `strings`, with a limit.
fn split(
    text: &CelString<'_>,
    separator: &CelString<'_>,
) -> Result<CelList<'static>, ExecutionError> {
    let text = text.inner();
    let separator = separator.inner();
    let parts: Vec<&str> = if separator.is_empty() {
        text.char_indices()
            .map(|(at, char)| &text[at..at + char.len_utf8()])
            .take(MAX_PARTS + 1)
            .collect()
    } else {
        text.split(separator).take(MAX_PARTS + 1).collect()
    };
    if parts.len() > MAX_PARTS {
        let message = format!("the text has more than {MAX_PARTS} parts");
        return Err(ExecutionError::function_error("split", message));
    }
    let parts = parts
        .into_iter()
        .map(|part| Box::new(CelString::from(part.to_owned())) as Box<dyn Val>);
    Ok(parts.collect::<Vec<_>>().into())
}

fn min<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    extreme("min", &args, cel::functions::min)
}

fn max<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    extreme("max", &args, cel::functions::max)
}

fn extreme<'b, 'v>(
    function: &str,
    args: &[CowVal<'b, 'v>],
    of: impl Fn(cel::extractors::Arguments) -> Result<Value, ExecutionError>,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let items = items(function, args)?;
    if items.is_empty() {
        return Err(ExecutionError::function_error(
            function,
            "the list is empty",
        ));
    }
    let found = of(cel::extractors::Arguments(Arc::new(vec![Value::List(
        items,
    )])))?;
    Ok(CowVal::Owned(found.try_into()?))
}

/// The sum of the numbers of a list; 0 for an empty list. Whole numbers stay whole unless a fraction is among
/// them.
fn sum<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let items = items("sum", &args)?;
    let mut whole = Some(0_i64);
    let mut total = 0.0_f64;
    for item in items.iter() {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a sum with a fraction in it is a double anyway"
        )]
        let (integer, fraction) = match item {
            Value::Int(number) => (Some(*number), *number as f64),
            Value::UInt(number) => (i64::try_from(*number).ok(), *number as f64),
            Value::Float(number) => {
                whole = None;
                total += number;
                continue;
            }
            _ => {
                let message = "the list contains something other than numbers";
                return Err(ExecutionError::function_error("sum", message));
            }
        };
        total += fraction;
        if let Some(sum) = whole {
            let sum = integer.and_then(|number| sum.checked_add(number));
            if sum.is_none() {
                return Err(ExecutionError::function_error(
                    "sum",
                    "the sum is too large",
                ));
            }
            whole = sum;
        }
    }
    Ok(CowVal::Owned(
        whole.map_or(Value::Float(total), Value::Int).try_into()?,
    ))
}

fn items(function: &str, args: &[CowVal<'_, '_>]) -> Result<Arc<Vec<Value>>, ExecutionError> {
    match args.first().map(|list| Value::try_from(list.as_ref())) {
        Some(Ok(Value::List(items))) => Ok(items),
        Some(Err(error)) => Err(error),
        _ => Err(ExecutionError::function_error(
            function,
            "it is called on a list",
        )),
    }
}

/// The largest size of a compiled pattern, in bytes. The time that a match takes grows with it.
const MAX_PATTERN: usize = 256 << 10;

/// The patterns of an expression, by their texts.
pub(super) type Regexes = BTreeMap<String, LazyRegex>;

/// A pattern that is compiled when it is first asked for.
#[derive(Default)]
pub(super) struct LazyRegex(OnceLock<Option<Regex>>);

impl LazyRegex {
    /// The compiled pattern of this text; `None` if it is not a pattern.
    pub(super) fn compiled(&self, text: &str) -> Option<&Regex> {
        self.0.get_or_init(|| pattern(text).ok()).as_ref()
    }
}

impl From<Regex> for LazyRegex {
    fn from(regex: Regex) -> Self {
        Self(OnceLock::from(Some(regex)))
    }
}

/// Compiles the pattern of `matches`. Returns what is wrong with it in one sentence without a final full stop.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(&re2::ascii(text))
        .size_limit(MAX_PATTERN)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large; repeat less".to_owned(),
            other => {
                let text = other.to_string();
                let last = text
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ")
                    .to_owned();
                format!("the pattern is no regular expression: {last}")
            }
        })
}

#[cfg(test)]
mod tests {
    use super::super::{Guard, Lookup, Scope, follow};
    use super::*;
    use orch_base::Code;
    use serde_json::json;

    struct JsonOf(serde_json::Value);

    impl Scope for JsonOf {
        fn look_up(&self, path: &[String]) -> Lookup<'_> {
            follow(&self.0, path, 0)
        }
    }

    fn value(text: &str) -> Result<serde_json::Value, String> {
        let scope = json!({
            "i": 2, "f": 1.5, "s": "a,b,,c", "l": [3, 1, 2], "m": {"k": 1}, "e": [], "t": ["b", "a"],
            "lines": ["ok 1", "FAIL 2"], "big": [i64::MAX, 1],
        });
        let guard = Guard::parse(text).map_err(|error| error.message)?;
        guard
            .value(&JsonOf(scope))
            .map_err(|reason| reason.as_str().to_owned())
    }

    /// Every function that is listed can be called with the types that are listed.
    #[test]
    fn the_evaluator_has_every_function_of_the_table() {
        let samples = [
            (Types::BOOL, "true"),
            (Types::INT, "i"),
            (Types::UINT, "2u"),
            (Types::DOUBLE, "f"),
            (Types::TEXT, "'1'"),
            (Types::BYTES, "b'x'"),
            (Types::LIST, "l"),
            (Types::MAP, "m"),
        ];
        let sample = |types: Types| {
            samples
                .iter()
                .find(|(of, _)| of.meets(types))
                .map(|(_, text)| *text)
        };
        for overload in OVERLOADS {
            let args: Vec<&str> = overload
                .takes
                .iter()
                .map(|types| sample(*types).expect("a sample"))
                .collect();
            let text = match (overload.name, overload.target, args.as_slice()) {
                ("_[_]", _, [target, _]) if *target == "m" => "m['k']".to_owned(),
                ("_[_]", _, [target, index]) => format!("{target}[{index}]"),
                ("@in", _, [item, list]) => format!("{item} in {list}"),
                ("bool", ..) => "bool('true')".to_owned(),
                (name, _, [left, right]) if name.starts_with('_') => {
                    format!("{left} {} {right}", name.trim_matches('_'))
                }
                (name, _, [only]) if name.ends_with('_') => {
                    format!("{}{only}", name.trim_matches('_'))
                }
                (name, Some(target), _) => {
                    format!(
                        "{}.{name}({})",
                        sample(target).expect("a sample"),
                        args.join(", ")
                    )
                }
                (name, None, _) => format!("{name}({})", args.join(", ")),
            };
            match value(&text) {
                Ok(_) => {}
                // Bytes are no JSON, but they were computed.
                Err(message) => assert!(
                    message.contains("JSON cannot represent"),
                    "{text}: {message}"
                ),
            }
        }
    }

    #[test]
    fn lists_and_texts_are_computed_with() {
        for (text, expected) in [
            ("'To DÖ'.lowerAscii()", Ok(json!("to dÖ"))),
            ("l.sum()", Ok(json!(6))),
            ("e.sum()", Ok(json!(0))),
            ("[1, 2.5].sum()", Ok(json!(3.5))),
            ("l.min()", Ok(json!(1))),
            ("l.max()", Ok(json!(3))),
            ("t.max()", Ok(json!("b"))),
            ("s.split(',')", Ok(json!(["a", "b", "", "c"]))),
            ("'aä'.split('')", Ok(json!(["a", "ä"]))),
            ("math.greatest(1, 2.5, i)", Ok(json!(2.5))),
            ("math.least(l)", Ok(json!(1))),
            ("math.abs(-i)", Ok(json!(2))),
            (
                "lines.exists(line, line.matches('^FAIL [0-9]+$'))",
                Ok(json!(true)),
            ),
            ("lines.all(line, line.matches('(?i)ok'))", Ok(json!(false))),
            ("matches(s, 'b,,')", Ok(json!(true))),
            ("e.max()", Err("`max`: the list is empty: `e` is []")),
            (
                "t.sum()",
                Err("`sum`: the list contains something other than numbers: `t` is [\"b\",\"a\"]"),
            ),
            (
                "big.sum()",
                Err("`sum`: the sum is too large: `big` is [9223372036854775807,1]"),
            ),
        ] {
            assert_eq!(value(text), expected.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn a_pattern_is_literal_valid_and_small() {
        let long = format!("s.matches('{}')", "(a|b)".repeat(2));
        assert!(Guard::parse(&long).is_ok());
        for text in [
            "s.matches('(')",
            "s.matches('(?<!a)b')",
            "s.matches(s)",
            "s.matches('(\\\\pL{1,99}){1,99}')",
        ] {
            assert_eq!(
                Guard::parse(text).expect_err(text).code,
                Code::GuardPattern,
                "{text}"
            );
        }
        let error = Guard::parse("s == 'matches(' && s.matches('[') ").expect_err("no pattern");
        assert_eq!((error.offset, error.hint.is_some()), (21, true), "{error}");
    }
}
