//! Evaluates a guard: each part separately, with the values that it read.

use super::fault::{GuardFault, fault};
use super::functions::{ENVIRONMENT, MATCHES};
use super::given::Given;
use super::meter::{MAX_MADE, MAX_STEPS, Meter};
use super::value::{glimpse, to_json};
use super::walk::{CHARGED, COPIED, IN_ORDER, SEARCHED, spelled};
use super::{Guard, ParsedPart};
use cel::extractors::This;
use cel::{Context, ExecutionError};
use orch_base::Reason;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// What a guard can see. It never contains a clock, the environment or a file.
pub trait Scope {
    /// Follows a path such as `["plan", "data", "status"]`; the first segment is a root name.
    fn look_up(&self, path: &[String]) -> Lookup<'_>;

    /// The file in which the value at a path lies, and where in it, in words; `None` if it is in no file. The items of
    /// lists are segments of the path, by their indexes.
    fn place_of(&self, path: &[String]) -> Option<String> {
        let _ = path;
        None
    }

    /// The bytes of memory that the value of an expression may have, which is kept.
    fn most_kept(&self) -> u64 {
        MAX_MADE
    }
}

/// The result of following a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup<'a> {
    /// The value at the whole path.
    Found(Cow<'a, Value>),
    /// The first `depth` segments lead to an object that lacks the next key.
    Missing {
        /// The number of segments that could be followed.
        depth: usize,
    },
    /// The first `depth` segments lead to a value without members.
    Ends {
        /// The number of segments that could be followed.
        depth: usize,
        /// The value there.
        value: Cow<'a, Value>,
    },
    /// The value is computed, and computing it failed with this message.
    Failed(String),
}

/// The result of evaluating a guard.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardOutcome {
    /// Whether the guard holds, or why it cannot be evaluated.
    pub result: Result<bool, Reason>,
    /// Its parts, each with the values that it read.
    pub parts: Vec<HeldPart>,
}

/// The result of evaluating one part of a guard.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldPart {
    /// The source text of the part, in CEL.
    pub text: String,
    /// Whether the part holds, or why it cannot be evaluated.
    pub result: Result<bool, Reason>,
    /// The paths that it read, with their values; `None` if missing. Only the beginning of a large value.
    pub saw: Vec<(String, Option<Value>)>,
}

/// The paths that a part read, with their values.
type SeenValues = Vec<(String, Option<Value>)>;

impl Guard {
    /// Evaluates the guard with all its parts. As in CEL, a false part outweighs a part that fails.
    #[must_use]
    pub fn holds(&self, scope: &dyn Scope) -> GuardOutcome {
        let parts: Vec<HeldPart> = self
            .parsed()
            .parts
            .iter()
            .map(|part| Self::hold(part, scope))
            .collect();
        GuardOutcome {
            result: all_hold(parts.iter().map(|part| part.result.clone())),
            parts,
        }
    }

    /// Only the result of [`Self::holds`]: parts after a false one are not evaluated. Returns the reason if the guard
    /// cannot be evaluated.
    pub fn result(&self, scope: &dyn Scope) -> Result<bool, Reason> {
        all_hold(
            self.parsed()
                .parts
                .iter()
                .map(|part| as_condition(Self::run(part, scope, MAX_MADE, None))),
        )
    }

    /// Evaluates the expression. Returns the reason if it has no value.
    pub fn value(&self, scope: &dyn Scope) -> Result<Value, Reason> {
        if let [only] = self.parsed().parts.as_slice() {
            return Self::run(only, scope, scope.most_kept(), None);
        }
        self.result(scope).map(Value::Bool)
    }

    fn hold(part: &ParsedPart, scope: &dyn Scope) -> HeldPart {
        let mut saw = Vec::with_capacity(part.chains.len());
        let result = as_condition(Self::run(part, scope, MAX_MADE, Some(&mut saw)));
        HeldPart {
            text: part.text.clone(),
            result,
            saw,
        }
    }

    /// The value of a part. What it reads is added to `saw`.
    fn run(
        part: &ParsedPart,
        scope: &dyn Scope,
        most_kept: u64,
        saw: Option<&mut SeenValues>,
    ) -> Result<Value, Reason> {
        let Some((chain, value)) = plainly(part, scope) else {
            return part.run(scope, &Meter::of(MAX_STEPS, MAX_MADE, most_kept), saw);
        };
        if let Some(saw) = saw {
            saw.push((spelled(chain), Some(Value::Bool(value))));
        }
        Ok(Value::Bool(part.denies != Some(value)))
    }
}

/// Whether a part of a guard holds, given its value.
fn as_condition(value: Result<Value, Reason>) -> Result<bool, Reason> {
    match value? {
        Value::Bool(value) => Ok(value),
        other => Err(format!("the guard yields {}, not true or false", kind_of(&other)).into()),
    }
}

/// The result of a guard with parts of these results.
fn all_hold(mut parts: impl Iterator<Item = Result<bool, Reason>>) -> Result<bool, Reason> {
    let mut failure = None;
    let is_false = parts.any(|part| match part {
        Ok(holds) => !holds,
        Err(reason) => {
            failure.get_or_insert(reason);
            false
        }
    });
    if is_false {
        Ok(false)
    } else {
        failure.map_or(Ok(true), Err)
    }
}

impl ParsedPart {
    fn run(
        &self,
        scope: &dyn Scope,
        meter: &Meter,
        mut saw: Option<&mut SeenValues>,
    ) -> Result<Value, Reason> {
        let mut given = Given::default();
        let mut failure = None;
        let found: Vec<Lookup<'_>> = self
            .chains
            .iter()
            .map(|chain| scope.look_up(chain))
            .collect();
        for (chain, found) in self.chains.iter().zip(&found) {
            match found {
                Lookup::Found(value) => given.set(chain, value),
                Lookup::Missing { depth } => given.set_empty(&chain[..*depth]),
                Lookup::Ends { depth, value } => given.set(&chain[..*depth], value),
                Lookup::Failed(message) => {
                    failure = failure.or(Some(format!("{}: {message}", spelled(chain))));
                }
            }
            if let Some(saw) = &mut saw {
                let shown = if let Lookup::Found(value) = found {
                    Some(glimpse(value))
                } else {
                    None
                };
                saw.push((spelled(chain), shown));
            }
        }
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        if self.is_metered && add_metering(&mut context, meter).is_err() {
            return Err("macros are not available".into());
        }
        if !self.patterns.is_empty() && add_patterns(&mut context, self).is_err() {
            return Err("`matches` is not available".into());
        }
        for (name, value) in given.into_values() {
            context.add_variable_as_val(name, value);
        }
        let result = match cel::Value::resolve(&self.expression, &context) {
            _ if meter.is_exceeded() => Err(meter.exceeded()),
            Ok(value) => meter.keep(&value).and_then(|()| {
                to_json(&value).ok_or_else(|| {
                    "the expression yields a value that JSON cannot represent".to_owned()
                })
            }),
            Err(error) => Err(failure
                .unwrap_or_else(|| explained(&fault(&self.expression, &context, &error), scope))),
        };
        result.map_err(Reason::from)
    }
}

/// A fault in words, with the place of the value where the scope knows it.
fn explained(fault: &GuardFault, scope: &dyn Scope) -> String {
    match fault.path.as_deref().and_then(|path| scope.place_of(path)) {
        Some(place) => format!("{}, in {place}", fault.message),
        None => fault.message.clone(),
    }
}

/// Defines what wraps the ranges of macros, and the operands in their bodies.
fn add_metering(context: &mut Context<'_, '_>, meter: &Meter) -> Result<(), cel::DeclarationError> {
    context.add_function(IN_ORDER, meter.clone().iterate())?;
    context.add_function(SEARCHED, meter.clone().search())?;
    context.add_function(COPIED, meter.clone().copy())?;
    context.add_function(CHARGED, meter.clone().charge())
}

/// Defines `matches` with the compiled patterns of this part.
fn add_patterns(
    context: &mut Context<'_, '_>,
    part: &ParsedPart,
) -> Result<(), cel::DeclarationError> {
    let patterns = Arc::clone(&part.patterns);
    context.add_function(
        MATCHES,
        move |This(text): This<Arc<String>>, pattern: Arc<String>| {
            let known = patterns.get(pattern.as_str());
            match known.and_then(|known| known.compiled(&pattern)) {
                Some(pattern) => Ok(pattern.is_match(&text)),
                None => Err(ExecutionError::function_error(
                    MATCHES,
                    "the pattern is not a string literal",
                )),
            }
        },
    )
}

/// If a part only states that a path is true or false, which needs no evaluator: the path, and its value.
fn plainly<'p>(part: &'p ParsedPart, scope: &dyn Scope) -> Option<(&'p [String], bool)> {
    let (Some(_), [chain]) = (part.denies, part.chains.as_slice()) else {
        return None;
    };
    let Lookup::Found(found) = scope.look_up(chain) else {
        return None;
    };
    Some((chain, found.as_bool()?))
}

/// Follows the segments of `path` from index `start` inside a JSON value.
#[must_use]
pub fn follow<'a>(root: &'a Value, path: &[String], start: usize) -> Lookup<'a> {
    let mut value = root;
    for (depth, segment) in path.iter().enumerate().skip(start) {
        match value {
            Value::Object(members) => match members.get(segment) {
                Some(member) => value = member,
                None => return Lookup::Missing { depth },
            },
            _ => {
                return Lookup::Ends {
                    depth,
                    value: Cow::Borrowed(value),
                };
            }
        }
    }
    Lookup::Found(Cow::Borrowed(value))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    struct JsonOf(Value);

    impl Scope for JsonOf {
        fn look_up(&self, path: &[String]) -> Lookup<'_> {
            follow(&self.0, path, 0)
        }
    }

    fn holds(text: &str, scope: Value) -> Result<bool, Reason> {
        let guard = Guard::parse(text).expect(text);
        let scope = JsonOf(scope);
        let held = guard.holds(&scope).result;
        assert_eq!(guard.result(&scope), held, "{text}");
        held
    }

    /// What an expression makes of copies is limited, in macros or not, and so is what it yields.
    #[test]
    fn an_expression_makes_no_more_than_it_may() {
        let scope = JsonOf(json!({"a": vec![1; 200], "text": "x".repeat(9_000), "n": 1}));
        for (text, fits) in [
            ("size(a) == 200 && n + 1 == 2", true),
            ("size(a + [1]) == 201", true),
            ("size(a + a) == 400", false),
            ("size([a, a]) == 2", false),
            ("size({'x': a, 'y': a}) == 2", false),
            ("size(text + text) > 0", false),
            ("size(text + 'x') > 0", true),
            ("a.map(i, a) == []", false),
            ("a.all(i, i + n == 2)", true),
            ("a", true),
            ("text", true),
        ] {
            let guard = Guard::parse(text).expect(text);
            let meter = Meter::of(MAX_STEPS, 16_000, 16_000);
            let parts = &guard.parsed().parts;
            let results = parts.iter().map(|part| part.run(&scope, &meter, None));
            let result: Result<Vec<Value>, Reason> = results.collect();
            let is_too_much = result.as_ref().is_err_and(|reason| {
                reason
                    .to_string()
                    .ends_with("would take more than 15 KiB of memory")
            });
            assert_eq!(is_too_much, !fits, "{text}: {result:?}");
        }
        let guard = Guard::parse("[1, 2, 3, 4]").expect("a guard");
        let result =
            guard.parsed().parts[0].run(&scope, &Meter::of(MAX_STEPS, MAX_MADE, 256), None);
        assert!(result.is_err(), "{result:?}");
    }

    #[test]
    fn evaluates_like_cel() {
        let scope = json!({"a": {"n": 3, "ok": true, "list": [1, 2], "s": "x", "none": null}, "i": 9007199254740993_i64});
        for (text, expected) in [
            ("a.ok && a.n == 3", Ok(true)),
            ("a.n + 1 == 4", Ok(true)),
            ("i + 1 == 9007199254740994", Ok(true)),
            ("a.list.exists(x, x > 1)", Ok(true)),
            ("has(a.ok) && !has(a.gone)", Ok(true)),
            ("a.n > 5 && a.gone", Ok(false)),
            ("a.gone && a.n > 5", Ok(false)),
            ("a.none == null", Ok(true)),
            ("size(a.list) == 2 && a.s.startsWith('x')", Ok(true)),
            ("a.gone || a.ok", Ok(true)),
        ] {
            assert_eq!(holds(text, scope.clone()), expected, "{text}");
        }
    }

    #[test]
    fn macros_go_through_a_map_in_the_order_of_its_keys() {
        let map: Map<String, Value> = (0..64)
            .map(|n| (format!("k{}", n * 37 % 64), json!(n)))
            .collect();
        let mut keys: Vec<&String> = map.keys().collect();
        keys.sort();
        for text in ["a.map(k, k)", "a.filter(k, true)", "a.map(k, a[k] >= 0, k)"] {
            let value = Guard::parse(text)
                .expect(text)
                .value(&JsonOf(json!({ "a": map })));
            assert_eq!(value, Ok(json!(keys)), "{text}");
        }
        assert_eq!(
            holds(
                "a.all(k, k.startsWith('k')) && !a.exists(k, k == 'x')",
                json!({ "a": map })
            ),
            Ok(true)
        );
    }

    #[test]
    fn no_number_is_too_large_to_be_judged() {
        let scope = json!({"min": i64::MIN, "max": i64::MAX, "big": u64::MAX, "f": 1e308, "z": 0, "m": -1, "s": "x"});
        for text in [
            "max + 1",
            "min - 1",
            "-min",
            "min / m",
            "min % m",
            "max * max",
            "big + big",
            "f * f",
            "z / z",
            "z % z",
            "int(f)",
            "uint(m)",
            "int(s)",
            "double(s)",
            "s[0]",
            "[1][max]",
            "size(z)",
            "int(big)",
            "f / z",
            "big - f",
            "timestamp(s)",
            "duration(s)",
            "bytes(s)",
            "string(min)",
            "s.matches('(')",
            "{}[s]",
            "min == big",
            "max < f",
        ] {
            if let Ok(guard) = Guard::parse(text) {
                let first = guard.value(&JsonOf(scope.clone()));
                let again = guard.value(&JsonOf(scope.clone()));
                assert_eq!(first, again, "{text}");
            }
        }
    }

    #[test]
    fn an_error_is_not_false() {
        let scope = json!({"a": {"n": 3}});
        assert_eq!(
            holds("a.gone == 1", scope.clone()),
            Err(Reason::from("there is no key `gone`".to_owned()))
        );
        assert!(holds("a.n && true", scope.clone()).is_err());
        assert!(holds("a.n / 0 == 1", scope.clone()).is_err());
        assert!(
            holds("a.n", scope)
                .expect_err("not boolean")
                .as_str()
                .contains("a number")
        );
    }

    #[test]
    fn parts_say_what_they_saw() {
        let guard = Guard::parse("a.ok && a.n > 5 && a.gone == 1").expect("parses");
        let held = guard.holds(&JsonOf(json!({"a": {"ok": true, "n": 3}})));
        assert_eq!(held.result, Ok(false));
        assert_eq!(held.parts[1].result, Ok(false));
        assert_eq!(held.parts[1].saw, [("a.n".to_owned(), Some(json!(3)))]);
        assert_eq!(held.parts[2].saw, [("a.gone".to_owned(), None)]);
    }

    /// Each of these would take minutes or gigabytes. The same over few data has its value.
    #[test]
    fn what_takes_too_many_steps_is_refused() {
        let scope = |many: usize| {
            let texts: Vec<String> = (0..many).map(|n| format!("{n:01000}")).collect();
            let numbers: Vec<usize> = (0..many).collect();
            let lists = vec![&numbers; many.min(600)];
            json!({"a": {"n": numbers, "m": numbers, "texts": texts, "text": texts.join(","), "lists": lists}})
        };
        let run = |text: &str, many: usize| {
            let guard = Guard::parse(text).expect(text);
            guard.parsed().parts[0].run(
                &JsonOf(scope(many)),
                &Meter::of(1 << 16, MAX_MADE, MAX_MADE),
                None,
            )
        };
        for text in [
            "a.n.all(x, a.m.exists(y, x == y))",
            "a.n.all(x, x in a.m)",
            "a.n.all(x, a.m == a.n)",
            "a.lists.all(x, x == a.n)",
            "a.lists.all(x, a.lists.all(y, x == y))",
            "a.texts.all(x, a.text.contains(x))",
            "a.texts.all(x, (a.text + x).size() > 0)",
            "a.texts.all(x, a.text.matches('0$|9$'))",
            "a.texts.all(x, a.text.split(',').size() > 0)",
            "a.n.map(x, a.n.map(y, a.lists)).size() > 0",
            "a.n.map(x, a.n.map(y, a.n)) != [[[1]]]",
            "a.n.all(x, a.m.all(y, a.m.max() > y) || true)",
            "a.n.all(x, a.m.sum() > x) || true",
        ] {
            assert!(run(text, 10).is_ok(), "{text}: {:?}", run(text, 10));
            let refused = run(text, 500).expect_err(text);
            assert!(refused.as_str().contains("too long"), "{text}: {refused:?}");
        }
    }

    /// `in` finds the key of a map at once.
    #[test]
    fn a_key_costs_no_more_in_a_large_map() {
        let numbers: Vec<usize> = (0..100).collect();
        let map: Map<String, Value> = (0..10_000)
            .map(|n| (n.to_string(), json!([1, 2, 3])))
            .collect();
        let scope = JsonOf(json!({"a": {"n": numbers, "map": map}}));
        let run = |text: &str| {
            Guard::parse(text).expect(text).parsed().parts[0].run(
                &scope,
                &Meter::of(1 << 12, MAX_MADE, MAX_MADE),
                None,
            )
        };
        assert_eq!(run("a.n.all(x, string(x) in a.map)"), Ok(Value::Bool(true)));
        assert!(run("a.n.all(x, string(x) in a.map.map(k, k))").is_err());
    }

    /// A value can hold another one as often as its expression names it.
    #[test]
    fn a_value_does_not_grow_without_limit() {
        let numbers: Vec<usize> = (0..200).collect();
        let guard = Guard::parse("a.map(x, a)").expect("parses");
        let value = guard.parsed().parts[0].run(
            &JsonOf(json!({ "a": numbers })),
            &Meter::of(40_000, MAX_MADE, MAX_MADE),
            None,
        );
        assert!(value.expect_err("too much").as_str().contains("too long"));
    }

    #[test]
    fn parts_show_the_beginning_of_what_they_saw() {
        let guard = Guard::parse("a.list.size() == 3000 && a.text.size() == 9000").expect("parses");
        let list: Vec<Value> = (0..3000).map(|n| json!({ "n": n })).collect();
        let held = guard.holds(&JsonOf(
            json!({"a": {"list": list, "text": "x".repeat(9000)}}),
        ));
        assert_eq!(held.result, Ok(true));
        let saw = |part: usize| held.parts[part].saw[0].1.clone().expect("there");
        let list = saw(0);
        let text = saw(1);
        let last = list
            .as_array()
            .and_then(|items| items.last())
            .and_then(Value::as_str);
        assert!(
            last.is_some_and(|last| last.ends_with(" more")) && list[2] == json!({"n": 2}),
            "{list}"
        );
        assert!(
            text.as_str()
                .is_some_and(|text| text.ends_with("… 7000 more")),
            "{text}"
        );
    }

    #[test]
    fn the_longest_allowed_guard_fits_a_small_stack() {
        let text = "!".repeat(60) + &"(".repeat(16) + "a.ok" + &")".repeat(16);
        let chain = vec!["a.ok"; 90].join(" || ");
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let handle = thread.spawn(move || {
            (
                Guard::parse(&text).is_ok(),
                holds(&chain, json!({"a": {"ok": false}})),
            )
        });
        assert_eq!(
            handle.expect("starts").join().expect("no overflow").1,
            Ok(false)
        );
    }
}
