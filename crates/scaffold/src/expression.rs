//! Parses the small language of conditions in a configuration, without evaluating them.
//!
//! It looks like JavaScript: dotted paths, literals, `=== !== < <= > >= && || !`, `.length` and
//! `.includes(x)`. Everything else is rejected at its position.

use super::fault::SkillRefused;
use super::token::{Token, TokenKind, tokens};
use std::ops::Range;

/// The maximum length of an expression in bytes.
const MAX_LENGTH: usize = 1024;
/// The maximum nesting of brackets and negations.
const MAX_DEPTH: usize = 16;

/// A part of an expression and its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression {
    pub kind: ExpressionKind,
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExpressionKind {
    Literal(Literal),
    Path(Vec<String>),
    Length(Vec<String>),
    Includes(Vec<String>, Box<Expression>),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Compare(Comparison, Box<Expression>, Box<Expression>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Integer(i64),
    Decimal(f64),
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Comparison {
    /// The comparison with this JavaScript operator.
    fn of(sign: &str) -> Option<Self> {
        Some(match sign {
            "===" => Self::Equal,
            "!==" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::AtMost,
            ">" => Self::More,
            ">=" => Self::AtLeast,
            _ => return None,
        })
    }

    /// The CEL operator.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// Parses an expression. Returns [`SkillRefused`] with a position if it is not in the language.
pub(super) fn parse(text: &str) -> Result<Expression, SkillRefused> {
    if text.trim().is_empty() {
        return Err(SkillRefused::new(0..text.len(), "the condition is empty"));
    }
    if text.len() > MAX_LENGTH {
        let message = format!("the condition is longer than {MAX_LENGTH} bytes");
        return Err(SkillRefused::new(0..text.len(), message).hint("split it into two conditions"));
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
    };
    let expression = parser.any()?;
    match parser.peek() {
        Token {
            kind: TokenKind::End,
            ..
        } => Ok(expression),
        token => Err(
            SkillRefused::new(token.span.clone(), "the condition should end here")
                .hint("join conditions with `&&` or `||`"),
        ),
    }
}

/// The operands of the outermost `||`, as written.
pub(super) fn alternatives(text: &str) -> Vec<&str> {
    match parse(text) {
        Ok(Expression {
            kind: ExpressionKind::Any(parts),
            span,
        }) if text[span.clone()].len() == text.trim().len() => parts
            .iter()
            .filter_map(|part| text.get(part.span.clone()))
            .collect(),
        _ => vec![text],
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        // The last token is the end; the parser never moves past it.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn accept(&mut self, sign: &str) -> Option<Range<usize>> {
        let Token {
            kind: TokenKind::Sign(next),
            span,
        } = self.peek()
        else {
            return None;
        };
        if *next != sign {
            return None;
        }
        let span = span.clone();
        self.at += 1;
        Some(span)
    }

    fn any(&mut self) -> Result<Expression, SkillRefused> {
        self.joined("||", Self::all, ExpressionKind::Any)
    }

    fn all(&mut self) -> Result<Expression, SkillRefused> {
        self.joined("&&", Self::comparison, ExpressionKind::All)
    }

    fn joined(
        &mut self,
        sign: &str,
        part: fn(&mut Self) -> Result<Expression, SkillRefused>,
        kind: fn(Vec<Expression>) -> ExpressionKind,
    ) -> Result<Expression, SkillRefused> {
        let first = part(self)?;
        let mut parts = vec![first];
        while self.accept(sign).is_some() {
            parts.push(part(self)?);
        }
        match <[Expression; 1]>::try_from(parts) {
            Ok([only]) => Ok(only),
            Err(parts) => {
                let span = parts.first().map_or(0, |part| part.span.start)
                    ..parts.last().map_or(0, |part| part.span.end);
                Ok(Expression {
                    kind: kind(parts),
                    span,
                })
            }
        }
    }

    fn comparison(&mut self) -> Result<Expression, SkillRefused> {
        let left = self.unary()?;
        let Some(comparison) = self.comparison_sign() else {
            return Ok(left);
        };
        self.at += 1;
        let right = self.unary()?;
        if self.comparison_sign().is_some() {
            let span = self.peek().span.clone();
            let refused = SkillRefused::new(span, "comparisons cannot be chained");
            return Err(refused.hint("join them with `&&`"));
        }
        let span = left.span.start..right.span.end;
        Ok(Expression {
            kind: ExpressionKind::Compare(comparison, Box::new(left), Box::new(right)),
            span,
        })
    }

    fn comparison_sign(&self) -> Option<Comparison> {
        match self.peek().kind {
            TokenKind::Sign(sign) => Comparison::of(sign),
            _ => None,
        }
    }

    fn unary(&mut self) -> Result<Expression, SkillRefused> {
        let Some(span) = self.accept("!") else {
            return self.primary();
        };
        self.deeper(&span)?;
        let inner = self.unary()?;
        self.depth -= 1;
        let span = span.start..inner.span.end;
        Ok(Expression {
            kind: ExpressionKind::Not(Box::new(inner)),
            span,
        })
    }

    fn deeper(&mut self, span: &Range<usize>) -> Result<(), SkillRefused> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SkillRefused::new(
                span.clone(),
                format!("this nests deeper than {MAX_DEPTH} levels"),
            ));
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<Expression, SkillRefused> {
        let Token { kind, span } = self.next();
        let literal = match kind {
            TokenKind::Text(text) => Literal::Text(text),
            TokenKind::Integer(value) => Literal::Integer(value),
            TokenKind::Decimal(value) => Literal::Decimal(value),
            TokenKind::Name(name) => match name.as_str() {
                "true" => Literal::Bool(true),
                "false" => Literal::Bool(false),
                "null" => Literal::Null,
                _ => return self.path(name, span),
            },
            TokenKind::Sign("-") => return self.negative(span),
            TokenKind::Sign("(") => return self.bracket(span),
            TokenKind::End => {
                return Err(SkillRefused::new(span, "the condition ends too early"));
            }
            TokenKind::Sign(sign) => {
                let message = format!("expected a value, not `{sign}`");
                return Err(SkillRefused::new(span, message));
            }
        };
        Ok(Expression {
            kind: ExpressionKind::Literal(literal),
            span,
        })
    }

    fn negative(&mut self, start: Range<usize>) -> Result<Expression, SkillRefused> {
        let Token { kind, span } = self.next();
        let span = start.start..span.end;
        let literal = match kind {
            TokenKind::Integer(value) => Literal::Integer(-value),
            TokenKind::Decimal(value) => Literal::Decimal(-value),
            _ => {
                return Err(SkillRefused::new(
                    span,
                    "`-` is allowed only before a number",
                ));
            }
        };
        Ok(Expression {
            kind: ExpressionKind::Literal(literal),
            span,
        })
    }

    fn bracket(&mut self, open: Range<usize>) -> Result<Expression, SkillRefused> {
        self.deeper(&open)?;
        let inner = self.any()?;
        self.depth -= 1;
        match self.accept(")") {
            Some(close) => Ok(Expression {
                span: open.start..close.end,
                ..inner
            }),
            None => Err(SkillRefused::new(open, "this bracket is not closed")),
        }
    }

    fn path(&mut self, first: String, start: Range<usize>) -> Result<Expression, SkillRefused> {
        refuse_word(&first, &start)?;
        let mut segments = vec![first];
        let mut end = start.end;
        while let Some(dot) = self.accept(".") {
            let Token {
                kind: TokenKind::Name(name),
                span,
            } = self.next()
            else {
                return Err(SkillRefused::new(dot, "expected a name after this point"));
            };
            end = span.end;
            if matches!(self.peek().kind, TokenKind::Sign("(")) {
                return self.call(&name, segments, start.start, span);
            }
            segments.push(name);
        }
        if let Token {
            kind: TokenKind::Sign("("),
            span,
        } = self.peek()
        {
            let message = format!("`{}` cannot be called", segments.join("."));
            return Err(SkillRefused::new(start.start..span.end, message)
                .hint("the only supported call is `.includes(x)`"));
        }
        let span = start.start..end;
        let kind = match segments.split_last() {
            Some((last, above)) if last == "length" && !above.is_empty() => {
                ExpressionKind::Length(above.to_vec())
            }
            _ => ExpressionKind::Path(segments),
        };
        Ok(Expression { kind, span })
    }

    fn call(
        &mut self,
        name: &str,
        segments: Vec<String>,
        start: usize,
        called: Range<usize>,
    ) -> Result<Expression, SkillRefused> {
        if name != "includes" {
            return Err(
                SkillRefused::new(called, format!("`.{name}(…)` is not supported"))
                    .hint("the only supported call is `.includes(x)`"),
            );
        }
        self.at += 1;
        let item = self.primary()?;
        if !matches!(
            item.kind,
            ExpressionKind::Literal(_) | ExpressionKind::Path(_)
        ) {
            return Err(SkillRefused::new(
                item.span,
                "`.includes(x)` takes one literal or path",
            ));
        }
        let Some(close) = self.accept(")") else {
            return Err(SkillRefused::new(
                self.peek().span.clone(),
                "`.includes(x)` takes one literal or path",
            ));
        };
        if let Token {
            kind: TokenKind::Sign("." | "("),
            span,
        } = self.peek()
        {
            return Err(SkillRefused::new(
                span.clone(),
                "nothing may follow `.includes(x)`",
            ));
        }
        Ok(Expression {
            kind: ExpressionKind::Includes(segments, Box::new(item)),
            span: start..close.end,
        })
    }
}

/// Rejects words with a special meaning in JavaScript.
fn refuse_word(name: &str, span: &Range<usize>) -> Result<(), SkillRefused> {
    let hint = match name {
        "undefined" => "write `null`: an absent value counts as null",
        "NaN" | "Infinity" | "typeof" | "void" | "delete" | "new" | "function" | "await"
        | "yield" | "in" | "instanceof" | "this" | "return" | "if" | "let" | "const" | "var" => {
            "a condition consists of paths, literals, comparisons and `&& || !`"
        }
        _ => return Ok(()),
    };
    Err(SkillRefused::new(span.clone(), format!("`{name}` is not supported")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_binds_closer_than_or_and_a_comparison_closer_still() {
        let ExpressionKind::Any(parts) = parse("a || b && c === 1").expect("parses").kind else {
            panic!("an or")
        };
        let ExpressionKind::All(inner) = &parts[1].kind else {
            panic!("an and")
        };
        assert!(matches!(
            inner[1].kind,
            ExpressionKind::Compare(Comparison::Equal, ..)
        ));
        let ExpressionKind::All(parts) = parse("(a || b) && !c.length").expect("parses").kind
        else {
            panic!("an and")
        };
        assert_eq!(parts[0].span, 0..8);
        assert!(
            matches!(&parts[1].kind, ExpressionKind::Not(inner) if matches!(inner.kind, ExpressionKind::Length(_)))
        );
    }

    #[test]
    fn everything_else_is_refused_where_it_stands() {
        for (text, span, message) in [
            ("", 0..0, "the condition is empty"),
            ("a &&", 4..4, "the condition ends too early"),
            ("a b", 2..3, "the condition should end here"),
            ("a < b < c", 6..7, "comparisons cannot be chained"),
            ("done()", 0..5, "`done` cannot be called"),
            ("a.every(x)", 2..7, "`.every(…)` is not supported"),
            (
                "a.includes(x, y)",
                12..13,
                "`.includes(x)` takes one literal or path",
            ),
            ("a.includes(!x)", 11..12, "expected a value, not `!`"),
            (
                "a.includes('x').length",
                15..16,
                "nothing may follow `.includes(x)`",
            ),
            ("(a", 0..1, "this bracket is not closed"),
            ("a.", 1..2, "expected a name after this point"),
            ("-a", 0..2, "`-` is allowed only before a number"),
            ("a - 1 > 0", 2..3, "the condition should end here"),
            ("x === undefined", 6..15, "`undefined` is not supported"),
            ("process.exit(1)", 8..12, "`.exit(…)` is not supported"),
            ("typeof a === 'x'", 0..6, "`typeof` is not supported"),
            ("=== 1", 0..3, "expected a value, not `===`"),
        ] {
            let refused = parse(text).expect_err(text);
            assert_eq!(
                (refused.span, refused.message.as_str()),
                (span, message),
                "{text}"
            );
        }
    }

    #[test]
    fn nothing_overflows() {
        for text in [
            "(".repeat(500),
            "!".repeat(1000),
            format!("a{}", " && a".repeat(300)),
        ] {
            assert!(parse(&text).is_err(), "{text}");
        }
        assert!(parse(&format!("a{}", " && a".repeat(200))).is_ok());
    }
}
