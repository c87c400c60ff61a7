//! Where each part of an expression stands in its text.
//!
//! The parser keeps no places. The tree has its parts in the order of the text, so a walk that takes the words of the
//! text one after the other finds them.

use super::super::functions::{spoken_name, symbol};
use super::super::strings::end_of_string;
use super::super::walk::unmetered;
use super::macros::WrittenMacro;
use cel::IdedExpr;
use cel::common::ast::{CallExpr, EntryExpr, Expr, operators};
use std::collections::BTreeMap;
use std::ops::Range;

/// The places of the parts of an expression, by their ids.
pub struct Spots<'t> {
    text: &'t str,
    found: BTreeMap<u64, PartSpot>,
}

/// The place of a part: byte offsets in the text.
#[derive(Debug, Clone, Copy, Default)]
struct PartSpot {
    start: usize,
    end: usize,
    /// The word that makes it what it is: the operator, the function, the member.
    word: usize,
}

/// The words of a text.
struct SpotWords<'t> {
    text: &'t str,
    words: Vec<Range<usize>>,
    next: usize,
}

impl<'t> Spots<'t> {
    /// Finds the parts of an expression in its text.
    pub fn of(text: &'t str, expression: &IdedExpr) -> Self {
        let mut walk = SpotWalk {
            words: SpotWords::of(text),
            found: BTreeMap::new(),
        };
        walk.part(expression);
        let found = walk.found;
        Self { text, found }
    }

    /// The offset at which a part starts.
    pub fn start(&self, part: &IdedExpr) -> usize {
        self.spot(part).start
    }

    /// The offset of the operator, the function or the member of a part.
    pub fn word(&self, part: &IdedExpr) -> usize {
        self.spot(part).word
    }

    /// A part as it is written.
    pub fn written(&self, part: &IdedExpr) -> &'t str {
        let spot = self.spot(part);
        self.text.get(spot.start..spot.end).unwrap_or_default()
    }

    fn spot(&self, part: &IdedExpr) -> PartSpot {
        let id = unmetered(part).id;
        self.found.get(&id).copied().unwrap_or_default()
    }
}

struct SpotWalk<'t> {
    words: SpotWords<'t>,
    found: BTreeMap<u64, PartSpot>,
}

impl SpotWalk<'_> {
    /// Finds a part and what is in it. Returns its place.
    fn part(&mut self, part: &IdedExpr) -> PartSpot {
        let part = unmetered(part);
        let spot = match &part.expr {
            Expr::Ident(name) => self.words.take(name),
            Expr::Literal(_) => self.words.take_literal(),
            Expr::Select(select) => {
                let opening = select.test.then(|| self.words.take("has"));
                let of = self.part(&select.operand);
                self.words.take(".");
                let field = self.words.take(&select.field);
                let closing = select.test.then(|| self.words.take(")"));
                PartSpot {
                    start: opening.unwrap_or(of).start,
                    end: closing.unwrap_or(field).end,
                    word: field.start,
                }
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(inner) => self.written_macro(inner),
            Expr::List(list) => {
                let opening = self.words.take("[");
                for element in &list.elements {
                    self.part(element);
                }
                opening.to(self.words.take("]"))
            }
            Expr::Map(map) => {
                let opening = self.words.take("{");
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.part(&entry.key);
                        self.part(&entry.value);
                    }
                }
                opening.to(self.words.take("}"))
            }
            Expr::Struct(_) | Expr::Unspecified => self.words.here(),
        };
        self.found.insert(part.id, spot);
        spot
    }

    fn call(&mut self, call: &CallExpr) -> PartSpot {
        let name = spoken_name(&call.func_name);
        match (name, call.args.as_slice()) {
            (operators::CONDITIONAL, [condition, yes, no]) => {
                let first = self.part(condition);
                let word = self.words.take("?");
                self.part(yes);
                self.words.take(":");
                first.to(self.part(no)).with_word(word)
            }
            (operators::INDEX, [of, index]) => {
                let first = self.part(of);
                self.words.take("[");
                let index = self.part(index);
                first.to(self.words.take("]")).with_word(index)
            }
            (_, [left, right]) if symbol(name).is_some() => {
                let first = self.part(left);
                let word = self.words.take(symbol(name).unwrap_or_default());
                first.to(self.part(right)).with_word(word)
            }
            (_, [of]) if symbol(name).is_some() => {
                let word = self.words.take(symbol(name).unwrap_or_default());
                word.to(self.part(of))
            }
            (_, args) => self.function(call.target.as_deref(), name, args),
        }
    }

    fn function(&mut self, target: Option<&IdedExpr>, name: &str, args: &[IdedExpr]) -> PartSpot {
        let of = target.map(|target| self.part(target));
        let mut first = None;
        let mut word = PartSpot::default();
        for part in name.split('.') {
            word = self.words.take(part);
            first = first.or(Some(word));
        }
        for arg in args {
            self.part(arg);
        }
        let closing = self.words.take(")");
        of.or(first).unwrap_or(word).to(closing).with_word(word)
    }

    fn written_macro(&mut self, inner: &cel::common::ast::ComprehensionExpr) -> PartSpot {
        let Some(written) = WrittenMacro::of(inner) else {
            return self.words.here();
        };
        let range = self.part(written.range);
        self.words.take(".");
        let word = self.words.here();
        self.words.take(written.item);
        for part in written.condition.into_iter().chain(written.result) {
            self.part(part);
        }
        range.to(self.words.take(")")).with_word(word)
    }
}

impl PartSpot {
    fn to(self, last: Self) -> Self {
        Self {
            end: last.end,
            ..self
        }
    }

    fn with_word(self, word: Self) -> Self {
        Self {
            word: word.start,
            ..self
        }
    }
}

impl<'t> SpotWords<'t> {
    fn of(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut words = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            match bytes[at] {
                quote @ (b'"' | b'\'') => at = end_of_string(bytes, at, quote) + 1,
                byte if byte.is_ascii_digit() => at = end_of_number(bytes, at),
                byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                    while at < bytes.len()
                        && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_')
                    {
                        at += 1;
                    }
                }
                byte if byte.is_ascii_whitespace() => {
                    at += 1;
                    continue;
                }
                _ => {
                    let rest = text.get(at..).unwrap_or_default();
                    let doubled = ["&&", "||", "==", "!=", "<=", ">="];
                    let long = doubled.iter().any(|sign| rest.starts_with(sign));
                    at += if long { 2 } else { 1 };
                }
            }
            words.push(start..at.min(bytes.len()));
        }
        Self {
            text,
            words,
            next: 0,
        }
    }

    fn spot(&self, at: usize) -> PartSpot {
        let word = self.words.get(at).cloned().unwrap_or_default();
        PartSpot {
            start: word.start,
            end: word.end,
            word: word.start,
        }
    }

    /// The place of the next word.
    fn here(&self) -> PartSpot {
        self.spot(self.next.min(self.words.len().saturating_sub(1)))
    }

    /// Goes behind the next word that `is` accepts. Stays where it is if there is none.
    fn take_next(&mut self, is: impl Fn(&str) -> bool) -> PartSpot {
        let mut rest = self.words[self.next..].iter();
        let found = rest.position(|word| self.text.get(word.clone()).is_some_and(&is));
        match found {
            Some(skipped) => {
                self.next += skipped + 1;
                self.spot(self.next - 1)
            }
            None => self.here(),
        }
    }

    fn take(&mut self, word: &str) -> PartSpot {
        self.take_next(|found| found == word)
    }

    /// Goes behind the next literal. A sign before a number, or letters before quotes, belong to it.
    fn take_literal(&mut self) -> PartSpot {
        let is_literal = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_digit() || c == '\'' || c == '"')
                || matches!(word, "true" | "false" | "null")
        };
        let before = self.next;
        let mut spot = self.take_next(is_literal);
        if self.next > before + 1 {
            let sign = self.words[self.next - 2].clone();
            let written = self.text.get(sign.clone()).unwrap_or_default();
            let is_prefix = written == "-"
                || sign.end == spot.start
                    && written.len() < 3
                    && written.starts_with(['r', 'R', 'b', 'B']);
            if is_prefix {
                spot.start = sign.start;
                spot.word = sign.start;
            }
        }
        spot
    }
}

/// The end of a number: `1`, `0x1f`, `1.5e-3`, `2u`.
fn end_of_number(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() {
        let is_sign = matches!(bytes[at], b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E');
        let is_point = bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        if !(bytes[at].is_ascii_alphanumeric() || is_point || is_sign && at > start) {
            break;
        }
        at += 1;
    }
    at
}
