//! The functions that an expression calls, and its patterns. What the names in it may be is asked by [`super::typing`].

use super::GuardError;
use super::functions::{
    LazyRegex, MACROS, MATCHES, OVERLOADS, Overload, Regexes, pattern, spoken_name, symbol,
};
use super::strings::calls;
use super::types::Types;
use super::walk::is_metered;
use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use orch_base::{Code, nearest};
use std::collections::BTreeMap;

/// The types of an expression whose names may be anything, and its patterns. Returns an error if it calls a function that
/// does not exist, or calls one in a way in which it cannot be called, or contains an invalid pattern. The patterns of an
/// expression that is known to be valid are not compiled.
pub(super) fn check(
    text: &str,
    expression: &IdedExpr,
    is_known: bool,
) -> Result<(Types, Regexes), GuardError> {
    let mut checker = TypeChecker {
        text,
        called: BTreeMap::new(),
        patterns: Regexes::new(),
        is_known,
        fault: None,
    };
    let types = checker.types(expression);
    match checker.fault {
        Some(fault) => Err(fault),
        None => Ok((types, checker.patterns)),
    }
}

struct TypeChecker<'a> {
    text: &'a str,
    /// How often each function was called up to this place.
    called: BTreeMap<&'a str, usize>,
    patterns: Regexes,
    /// Whether the expression is known to be valid.
    is_known: bool,
    /// The first thing that is wrong.
    fault: Option<GuardError>,
}

impl<'a> TypeChecker<'a> {
    fn fault(&mut self, code: Code, offset: usize, message: String, hint: String) {
        let hint = Some(hint);
        self.fault.get_or_insert(GuardError {
            code,
            offset,
            message,
            hint,
        });
    }

    fn types(&mut self, expression: &'a IdedExpr) -> Types {
        match &expression.expr {
            Expr::Literal(literal) => literal_types(literal),
            Expr::Ident(_) | Expr::Unspecified => Types::ANY,
            Expr::Call(call) if is_metered(call) => self.types(&call.args[0]),
            Expr::Call(call) => self.call(call),
            Expr::Select(select) => {
                self.types(&select.operand);
                if select.test { Types::BOOL } else { Types::ANY }
            }
            Expr::Comprehension(inner) => {
                self.types(&inner.iter_range);
                self.types(&inner.loop_step);
                match &inner.accu_init.expr {
                    Expr::List(_) => Types::LIST,
                    _ => Types::BOOL,
                }
            }
            Expr::List(_) | Expr::Map(_) | Expr::Struct(_) => {
                for child in super::walk::children(expression) {
                    self.types(child);
                }
                match &expression.expr {
                    Expr::List(_) => Types::LIST,
                    _ => Types::MAP,
                }
            }
        }
    }

    fn call(&mut self, call: &'a CallExpr) -> Types {
        let name = spoken_name(&call.func_name);
        let target = call.target.as_deref().map(|target| self.types(target));
        let nth = self.nth(name);
        let args: Vec<Types> = call.args.iter().map(|arg| self.types(arg)).collect();
        match (name, args.as_slice()) {
            (operators::CONDITIONAL, [_, yes, no]) => return yes.or(*no),
            (operators::EQUALS | operators::NOT_EQUALS, _) => return Types::BOOL,
            _ => {}
        }
        let known: Vec<&Overload> = OVERLOADS
            .iter()
            .filter(|overload| overload.name == name)
            .collect();
        if known.is_empty() {
            let (message, hint) = unknown(name);
            self.fault(Code::GuardFunction, self.offset(name, nth), message, hint);
            return Types::ANY;
        }
        let callable: Vec<&&Overload> = known
            .iter()
            .filter(|overload| {
                overload.target.is_some() == target.is_some() && overload.takes.len() == args.len()
            })
            .collect();
        if callable.is_empty() {
            let message = format!("`{name}` cannot be called like this");
            self.fault(
                Code::GuardFunction,
                self.offset(name, nth),
                message,
                usage(&known),
            );
            return Types::ANY;
        }
        if name == MATCHES {
            self.pattern(self.offset(name, nth), call.args.last());
        }
        let fitting = callable.iter().filter(|overload| {
            let wanted = overload.target.iter().chain(overload.takes);
            let mut both = target.iter().chain(&args).zip(wanted);
            both.all(|(given, wanted)| given.meets(*wanted))
        });
        let yields = fitting.map(|overload| overload.yields).reduce(Types::or);
        let all = callable.iter().map(|overload| overload.yields);
        yields
            .or_else(|| all.reduce(Types::or))
            .unwrap_or(Types::ANY)
    }

    /// Notes the pattern of a `matches`.
    fn pattern(&mut self, offset: usize, arg: Option<&IdedExpr>) {
        let Some(Expr::Literal(LiteralValue::String(text))) = arg.map(|arg| &arg.expr) else {
            let message = "the pattern of `matches` is not a string literal".to_owned();
            let hint = "write the pattern itself, for example `matches('^v[0-9]+$')`".to_owned();
            return self.fault(Code::GuardPattern, offset, message, hint);
        };
        let checked = if self.is_known {
            Ok(LazyRegex::default())
        } else {
            pattern(text.inner()).map(LazyRegex::from)
        };
        match checked {
            Ok(pattern) => _ = self.patterns.insert(text.inner().to_owned(), pattern),
            Err(message) => {
                let hint =
                    "see https://docs.rs/regex for the syntax; it has no look-around and no \
                            back-references"
                        .to_owned();
                self.fault(Code::GuardPattern, offset, message, hint);
            }
        }
    }

    /// Counts the calls of a function: the walk visits them in the order of the text.
    fn nth(&mut self, name: &'a str) -> usize {
        let count = self
            .called
            .entry(name.strip_prefix("math.").unwrap_or(name))
            .or_default();
        *count += 1;
        *count - 1
    }

    /// Where the nth call of a function stands in the text. The start of the text for an operator.
    fn offset(&self, name: &str, nth: usize) -> usize {
        let name = name.strip_prefix("math.").unwrap_or(name);
        if symbol(name).is_some() {
            return 0;
        }
        calls(self.text, name).nth(nth).unwrap_or_default()
    }
}

/// Functions of other languages, and what guards have in their place.
const ELSEWHERE: [(&[&str], &str); 6] = [
    (
        &[
            "now",
            "today",
            "date",
            "time",
            "timestamp",
            "duration",
            "getTime",
            "clock",
        ],
        "guards see no clock: the same bytes give the same decision at any time. Let an artifact say when it was made",
    ),
    (
        &["env", "getenv", "exec", "shell", "random", "rand", "uuid"],
        "guards see no environment: the same bytes give the same decision everywhere",
    ),
    (&["len", "length", "count"], "write `size(x)`"),
    (
        &["includes", "has_key", "hasKey"],
        "write `item in list`, or `'key' in map`",
    ),
    (&["any", "some"], "write `list.exists(item, condition)`"),
    (&["every"], "write `list.all(item, condition)`"),
];

/// What is wrong with a call of a function that there is not, and what to write instead.
fn unknown(name: &str) -> (String, String) {
    if let Some((_, form)) = MACROS.iter().find(|(known, _)| *known == name) {
        return (
            format!("`{name}` is not called like this"),
            format!("it is used as `{form}`"),
        );
    }
    let mut names: Vec<&str> = OVERLOADS
        .iter()
        .map(|overload| overload.name)
        .chain(MACROS.map(|(name, _)| name))
        .collect();
    names.retain(|name| symbol(name).is_none());
    names.sort_unstable();
    names.dedup();
    let elsewhere = ELSEWHERE.iter().find(|(words, _)| words.contains(&name));
    let hint = match nearest(name, names.iter().copied()) {
        _ if let Some((_, hint)) = elsewhere => (*hint).to_owned(),
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the functions are: {}", names.join(", ")),
    };
    (format!("there is no function `{name}`"), hint)
}

/// How a function is called, in all its ways.
pub(super) fn usage(known: &[&Overload]) -> String {
    let mut ways: Vec<String> = Vec::new();
    for overload in known {
        let takes: Vec<String> = overload.takes.iter().map(|types| plain(*types)).collect();
        let call = format!("{}({})", overload.name, takes.join(", "));
        let way = match overload.target {
            Some(target) => format!("`{}.{call}`", plain(target)),
            None => format!("`{call}`"),
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    format!("it is used as {}", ways.join(" or "))
}

/// The name of a parameter.
fn plain(types: Types) -> String {
    let words = types.to_string();
    let words = words.replace(" or ", "|");
    words
        .replace("true|false", "boolean")
        .replace("a ", "")
        .replace("anything", "value")
}

fn literal_types(literal: &LiteralValue) -> Types {
    match literal {
        LiteralValue::Boolean(_) => Types::BOOL,
        LiteralValue::Bytes(_) => Types::BYTES,
        LiteralValue::Double(_) => Types::DOUBLE,
        LiteralValue::Int(_) => Types::INT,
        LiteralValue::Null => Types::NULL,
        LiteralValue::String(_) => Types::TEXT,
        LiteralValue::UInt(_) => Types::UINT,
    }
}
