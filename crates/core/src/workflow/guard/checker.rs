//! The types of the values in an expression, and the calls that do not fit them.

use super::functions::{
    LazyRegex, MACROS, MATCHES, OVERLOADS, Overload, Regexes, pattern, spoken_name, symbol,
};
use super::re2;
use super::share::quotient;
use super::strings::calls;
use super::types::{ITEM, Names, NoValue, Types};
use super::walk::{IN_ORDER, is_metered};
use super::{Guard, GuardError};
use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, LiteralValue, operators};
use orch_base::{Code, nearest};
use std::collections::BTreeMap;

/// Knows nothing: every name may be anything.
struct NoNames;

impl Names for NoNames {
    fn types(&self, _: &[String]) -> Result<Types, NoValue> {
        Ok(Types::ANY)
    }
}

impl Guard {
    /// The types of the value, and every call, operator and path that does not fit what is known of the names.
    pub fn typed(&self, names: &dyn Names) -> (Types, Vec<GuardError>) {
        let mut faults = Vec::new();
        let mut types = Types::BOOL;
        for part in &self.parsed().parts {
            let mut checker = TypeChecker::new(&part.text, names);
            types = checker.types(&part.expression);
            faults.extend(checker.faults.into_iter().map(|fault| GuardError {
                offset: part.start + fault.offset,
                ..fault
            }));
        }
        (
            if self.parsed().parts.len() == 1 {
                types
            } else {
                Types::BOOL
            },
            faults,
        )
    }
}

/// The types of an expression whose names may be anything, and its patterns. Returns an error if it calls a function that
/// does not exist, or calls one in a way in which it cannot be called, or contains an invalid pattern. The patterns of an
/// expression that is known to be valid are not compiled.
pub(super) fn check(
    text: &str,
    expression: &IdedExpr,
    is_known: bool,
) -> Result<(Types, Regexes), GuardError> {
    let mut checker = TypeChecker {
        is_known,
        ..TypeChecker::new(text, &NoNames)
    };
    let types = checker.types(expression);
    match checker
        .faults
        .into_iter()
        .find(|fault| fault.code != Code::GuardType)
    {
        Some(fault) => Err(fault),
        None => Ok((types, checker.patterns)),
    }
}

struct TypeChecker<'a> {
    text: &'a str,
    names: &'a dyn Names,
    /// The variables of the macros around this place, each with the path of its values if it is known.
    bound: Vec<(String, Option<Vec<String>>)>,
    /// How often each function was called up to this place.
    called: BTreeMap<&'a str, usize>,
    patterns: Regexes,
    /// Whether the expression is known to be valid.
    is_known: bool,
    faults: Vec<GuardError>,
}

impl<'a> TypeChecker<'a> {
    fn new(text: &'a str, names: &'a dyn Names) -> Self {
        let called = BTreeMap::new();
        let patterns = Regexes::new();
        Self {
            text,
            names,
            bound: Vec::new(),
            called,
            patterns,
            is_known: false,
            faults: Vec::new(),
        }
    }

    fn fault(&mut self, code: Code, offset: usize, message: String, hint: String) {
        self.faults.push(GuardError {
            code,
            offset,
            message,
            hint: Some(hint),
        });
    }

    fn types(&mut self, expression: &'a IdedExpr) -> Types {
        match &expression.expr {
            Expr::Literal(literal) => literal_types(literal),
            Expr::Ident(_) | Expr::Select(_) => self.path_types(expression),
            Expr::Call(_) if super::walk::chain(expression).is_some() => {
                self.path_types(expression)
            }
            Expr::Call(call) if is_metered(call) => self.types(&call.args[0]),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(inner) => self.comprehension(inner),
            Expr::List(list) => {
                list.elements
                    .iter()
                    .for_each(|element| _ = self.types(element));
                Types::LIST
            }
            Expr::Map(_) | Expr::Struct(_) => {
                super::walk::children(expression)
                    .into_iter()
                    .for_each(|child| _ = self.types(child));
                Types::MAP
            }
            Expr::Unspecified => Types::ANY,
        }
    }

    /// A name, a member of something, or `has(…)` of a member.
    fn path_types(&mut self, expression: &'a IdedExpr) -> Types {
        let is_test = matches!(&expression.expr, Expr::Select(select) if select.test);
        let Some(path) = self.path(expression) else {
            if let Expr::Select(select) = &expression.expr {
                let operand = self.types(&select.operand);
                if !operand.meets(Types::MAP) {
                    let member = &select.field;
                    let message = format!("`{member}` is read of {operand}, which has no members");
                    let hint = "only maps have members".to_owned();
                    self.fault(Code::GuardType, 0, message, hint);
                }
            }
            return if is_test { Types::BOOL } else { Types::ANY };
        };
        let types = match self.names.types(&path) {
            Ok(types) => types,
            Err(NoValue { message, hint }) => {
                let words =
                    super::walk::spelled(&super::walk::chain(expression).unwrap_or_default());
                let offset = self.text.find(&words).unwrap_or_default();
                self.fault(Code::GuardType, offset, message, hint);
                Types::ANY
            }
        };
        if is_test { Types::BOOL } else { types }
    }

    /// The path of a chain of members, from a root name; `None` if it begins with something else.
    fn path(&self, expression: &IdedExpr) -> Option<Vec<String>> {
        let mut path = super::walk::chain(expression)?;
        match self.bound.iter().rev().find(|(name, _)| *name == path[0]) {
            Some((_, range)) => {
                let mut full = range.clone()?;
                full.extend(path.drain(1..));
                Some(full)
            }
            None => Some(path),
        }
    }

    fn comprehension(&mut self, inner: &'a ComprehensionExpr) -> Types {
        let range = match &inner.iter_range.expr {
            Expr::Call(call) if call.func_name == IN_ORDER => &call.args[0],
            _ => &inner.iter_range,
        };
        let types = self.types(range);
        if !types.meets(Types::LIST.or(Types::MAP)) {
            let message =
                format!("a macro iterates over a list or the keys of a map, not over {types}");
            self.fault(Code::GuardType, 0, message, "call it on a list".to_owned());
        }
        let is_list = types.meets(Types::LIST) && !types.meets(Types::MAP);
        let mut items = if is_list { self.path(range) } else { None };
        if let Some(path) = &mut items {
            path.push(ITEM.to_owned());
        }
        let before = self.bound.len();
        self.bound.push((inner.iter_var.clone(), items));
        self.bound
            .extend(inner.iter_var2.clone().map(|name| (name, None)));
        self.bound.push((inner.accu_var.clone(), None));
        self.types(&inner.loop_step);
        self.bound.truncate(before);
        match &inner.accu_init.expr {
            Expr::Literal(_) => Types::BOOL,
            Expr::List(_) => Types::LIST,
            _ => Types::ANY,
        }
    }

    fn call(&mut self, call: &'a CallExpr) -> Types {
        let name = spoken_name(&call.func_name);
        let target = call.target.as_deref().map(|target| self.types(target));
        let nth = self.nth(name);
        let args: Vec<Types> = call.args.iter().map(|arg| self.types(arg)).collect();
        match (name, args.as_slice()) {
            (operators::CONDITIONAL, [condition, yes, no]) => {
                if !condition.meets(Types::BOOL) {
                    let message = format!("`?` needs true or false, not {condition}");
                    self.fault(
                        Code::GuardType,
                        self.offset(name, nth),
                        message,
                        "compare the value first".to_owned(),
                    );
                }
                return yes.or(*no);
            }
            (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => {
                let is_null = *left == Types::NULL || *right == Types::NULL;
                if !is_null && !left.with_numbers().meets(right.with_numbers()) {
                    let message = format!("{left} is never equal to {right}");
                    self.fault(
                        Code::GuardType,
                        self.offset(name, nth),
                        message,
                        SAME_TYPE.to_owned(),
                    );
                }
                let shares = super::share::faults(self.text, name, call, &args);
                self.faults.extend(shares);
                return Types::BOOL;
            }
            _ => {}
        }
        let known: Vec<&Overload> = OVERLOADS
            .iter()
            .filter(|overload| overload.name == name)
            .collect();
        if known.is_empty() {
            let NoValue { message, hint } = unknown(name);
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
        let shares = super::share::faults(self.text, name, call, &args);
        let is_quotient = quotient(name, &args);
        self.faults.extend(shares);
        let fitting = callable.iter().filter(|overload| {
            let wanted = overload.target.iter().chain(overload.takes);
            let mut both = target.iter().chain(&args).zip(wanted);
            both.all(|(given, wanted)| given.meets(*wanted))
        });
        let yields = fitting.map(|overload| overload.yields).reduce(Types::or);
        let yields = yields.unwrap_or_else(|| {
            let given: Vec<String> = target
                .iter()
                .chain(&args)
                .map(ToString::to_string)
                .collect();
            let (message, hint) = match symbol(name) {
                Some(symbol) if args.iter().all(|types| types.is_within(Types::NUMBER)) => (
                    format!("`{symbol}` does not work with a whole number and a fraction"),
                    "`double()` makes a fraction of a whole number: `double(a) + 0.5`".to_owned(),
                ),
                Some(symbol) => (
                    format!("`{symbol}` does not work with {}", given.join(" and ")),
                    SAME_TYPE.to_owned(),
                ),
                None => (
                    format!("`{name}` does not work with {}", given.join(" and ")),
                    usage(&known),
                ),
            };
            self.fault(Code::GuardType, self.offset(name, nth), message, hint);
            callable
                .iter()
                .map(|overload| overload.yields)
                .reduce(Types::or)
                .unwrap_or(Types::ANY)
        });
        if is_quotient {
            yields.or(Types::QUOTIENT)
        } else {
            yields
        }
    }

    /// Notes the pattern of a `matches`.
    fn pattern(&mut self, offset: usize, arg: Option<&IdedExpr>) {
        let Some(Expr::Literal(LiteralValue::String(text))) = arg.map(|arg| &arg.expr) else {
            let message = "the pattern of `matches` is not a string literal".to_owned();
            let hint = "write the pattern itself, for example `matches('^v[0-9]+$')`".to_owned();
            return self.fault(Code::GuardPattern, offset, message, hint);
        };
        if let Some((message, hint)) = re2::differs(text.inner()) {
            self.fault(Code::GuardType, offset, message, hint.to_owned());
        }
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

const SAME_TYPE: &str =
    "compare and compute with values of one type; `int()`, `double()` and `string()` convert";

/// Why a function yields no value.
fn unknown(name: &str) -> NoValue {
    if let Some((_, form)) = MACROS.iter().find(|(known, _)| *known == name) {
        return NoValue {
            message: format!("`{name}` is not called like this"),
            hint: format!("it is used as `{form}`"),
        };
    }
    let mut names: Vec<&str> = OVERLOADS
        .iter()
        .map(|overload| overload.name)
        .chain(MACROS.map(|(name, _)| name))
        .collect();
    names.retain(|name| symbol(name).is_none());
    names.sort_unstable();
    names.dedup();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the functions are: {}", names.join(", ")),
    };
    NoValue {
        message: format!("there is no function `{name}`"),
        hint,
    }
}

/// How a function is called, in all its ways.
fn usage(known: &[&Overload]) -> String {
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
