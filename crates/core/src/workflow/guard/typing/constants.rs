//! Comparisons that never hold: of values of other types, with texts and numbers that a value cannot be, and with patterns
//! that nothing matches.

use super::super::functions::{MATCHES, pattern};
use super::super::re2::differs;
use super::super::share;
use super::super::types::Types;
use super::super::walk::unmetered;
use super::env::TypeEnv;
use super::state::GuardTyper;
use super::value_type::{FoundField, Presence, RestType, ValueType};
use super::words::{self, FaultWords};
use cel::IdedExpr;
use cel::common::ast::{Expr, LiteralValue, operators};
use orch_base::Code;

/// The comparisons of an expression.
pub(super) struct Comparisons<'t, 'e> {
    pub(super) typer: &'t mut GuardTyper<'e>,
}

impl<'e> Comparisons<'_, 'e> {
    /// Notes what is wrong with `==` and `!=`.
    pub(super) fn equality(&mut self, part: &'e IdedExpr, sides: [&'e IdedExpr; 2], env: &TypeEnv) {
        let [left, right] = sides;
        let of_left = self.compared(left, right, env);
        let of_right = self.compared(right, left, env);
        let is_null = |value: &ValueType| value.kinds() == Types::NULL;
        if of_left.unknown || of_right.unknown || is_null(&of_left) || is_null(&of_right) {
            return;
        }
        let kinds = [of_left.kinds(), of_right.kinds()];
        if kinds.contains(&Types::NONE) {
            return;
        }
        if !kinds[0].with_numbers().meets(kinds[1].with_numbers()) {
            let words = words::never_equal([left, right], [&of_left, &of_right], &self.typer.spots);
            return self.typer.fault(self.typer.spots.start(part), words, None);
        }
        if let Expr::Call(call) = &part.expr {
            let written = self.typer.spots.written(part);
            let start = self.typer.spots.start(part);
            for fault in share::faults(written, &call.func_name, call, &kinds) {
                let hint = fault.hint.unwrap_or_default();
                let words = FaultWords {
                    code: fault.code,
                    message: fault.message,
                    hint,
                };
                self.typer.fault(start + fault.offset, words, None);
            }
        }
        if self.impossible(left, [&of_left, &of_right], right)
            || self.impossible(right, [&of_right, &of_left], left)
        {
            return;
        }
        let only = |value: &ValueType| {
            let is_text = value.kinds() == Types::TEXT;
            value.text.as_ref().filter(|_| is_text)?.only.clone()
        };
        if let (Some(one), Some(two)) = (only(&of_left), only(&of_right))
            && one.is_disjoint(&two)
        {
            let words = words::disjoint(
                self.typer.spots.written(left),
                self.typer.spots.written(right),
                &two,
            );
            self.typer.fault(self.typer.spots.start(part), words, None);
        }
    }

    /// A side of a comparison. Null may be compared with what is null unless it is valid.
    fn compared(&mut self, side: &'e IdedExpr, other: &'e IdedExpr, env: &TypeEnv) -> ValueType {
        let is_null = matches!(unmetered(other).expr, Expr::Literal(LiteralValue::Null));
        if is_null
            && let Expr::Select(select) = &unmetered(side).expr
            && select.field == "data"
        {
            let of = self.typer.value(&select.operand, env);
            let of = of.map.as_ref().map(|map| map.field("data"));
            if let Some(FoundField::Field(field)) = of
                && field.presence == Presence::Valid
            {
                return field.value.join(&ValueType::null());
            }
        }
        self.typer.value(side, env)
    }

    /// Notes a literal that something else cannot be. Returns whether it did.
    fn impossible(
        &mut self,
        literal: &'e IdedExpr,
        types: [&ValueType; 2],
        other: &'e IdedExpr,
    ) -> bool {
        let [of_literal, of_other] = types;
        let Expr::Literal(written) = &unmetered(literal).expr else {
            return false;
        };
        if of_other.unknown {
            return false;
        }
        let is_possible = match written {
            LiteralValue::String(text) => {
                let known = of_other.text.as_ref();
                known.is_none_or(|known| known.allows(text.inner()))
            }
            LiteralValue::Int(_) | LiteralValue::Double(_) | LiteralValue::UInt(_) => {
                let number = of_literal.number.as_ref().map(|number| number.bounds().0);
                let known = of_other.number.as_ref().zip(number);
                known.is_none_or(|(known, number)| known.allows(number))
            }
            _ => true,
        };
        if is_possible {
            return false;
        }
        let literal_text = self.typer.spots.written(literal);
        let words = words::never_this(self.typer.spots.written(other), literal_text, of_other);
        self.typer
            .fault(self.typer.spots.start(literal), words, None);
        true
    }

    /// Notes what is wrong with `in`.
    pub(super) fn membership(
        &mut self,
        part: &'e IdedExpr,
        sides: [&'e IdedExpr; 2],
        types: [&ValueType; 2],
        _env: &TypeEnv,
    ) {
        let [item, within] = sides;
        let [of_item, of_within] = types;
        if of_item.unknown || of_within.unknown {
            return;
        }
        if let Expr::List(list) = &unmetered(within).expr {
            if !self.is_never_in(part, of_item, &of_within.items()) {
                for element in &list.elements {
                    let of_element = self.typer.quietly(element, &TypeEnv::default());
                    self.impossible(element, [&of_element, of_item], item);
                }
            }
            return;
        }
        if let Some(map) = &of_within.map
            && of_within.list.is_none()
        {
            if let (RestType::Closed, Expr::Literal(LiteralValue::String(key))) =
                (&map.rest, &unmetered(item).expr)
                && matches!(map.field(key.inner()), FoundField::Never)
            {
                let written = self.typer.spots.written(within);
                let words = words::never_there(key.inner(), written, map);
                self.typer.fault(self.typer.spots.start(item), words, None);
            }
            return;
        }
        let items = of_within.items();
        if !self.is_never_in(part, of_item, &items) {
            self.impossible(item, [of_item, &items], within);
        }
    }

    /// Notes that no item of a list is of the type of what is looked for. Returns whether it did.
    fn is_never_in(&mut self, part: &'e IdedExpr, item: &ValueType, items: &ValueType) -> bool {
        let kinds = [item.kinds(), items.kinds()];
        if items.unknown || kinds.contains(&Types::NONE) {
            return false;
        }
        let is_possible = kinds[0].with_numbers().meets(kinds[1].with_numbers());
        if !is_possible {
            let words = words::never_in(item, items);
            self.typer.fault(self.typer.spots.start(part), words, None);
        }
        !is_possible
    }

    /// Notes a comparison of a number with a bound that it never reaches.
    pub(super) fn bounds(
        &mut self,
        part: &'e IdedExpr,
        name: &str,
        sides: [&'e IdedExpr; 2],
        types: [&ValueType; 2],
    ) {
        let is_literal = |side: &IdedExpr| matches!(unmetered(side).expr, Expr::Literal(_));
        let is_known = |value: &ValueType| {
            !value.unknown && value.kinds().is_within(Types::NUMBER) && value.number.is_some()
        };
        if is_literal(sides[0]) == is_literal(sides[1])
            || !types.iter().all(|value| is_known(value))
        {
            return;
        }
        let bounds = types.map(|value| value.number.as_ref().map_or((0.0, 0.0), |of| of.bounds()));
        let [(least_left, most_left), (least_right, most_right)] = bounds;
        let can_hold = match name {
            operators::LESS => least_left < most_right,
            operators::LESS_EQUALS => least_left <= most_right,
            operators::GREATER => most_left > least_right,
            _ => most_left >= least_right,
        };
        if !can_hold {
            let nth = usize::from(is_literal(sides[0]));
            let words = words::never_reached(
                self.typer.spots.written(part),
                self.typer.spots.written(sides[nth]),
                types[nth],
            );
            self.typer.fault(self.typer.spots.start(part), words, None);
        }
    }

    /// Notes a pattern, or a part of a text, that none of the texts of a schema has.
    pub(super) fn part_of_text(
        &mut self,
        part: &'e IdedExpr,
        name: &str,
        sides: [&'e IdedExpr; 2],
        text: &ValueType,
    ) {
        let Expr::Literal(LiteralValue::String(wanted)) = &unmetered(sides[1]).expr else {
            return;
        };
        let wanted = wanted.inner();
        let at = self.typer.spots.start(sides[1]);
        if name == MATCHES
            && let Some((message, hint)) = differs(wanted)
        {
            let hint = hint.to_owned();
            let code = Code::GuardType;
            let words = FaultWords {
                code,
                message,
                hint,
            };
            self.typer.fault(at, words, None);
        }
        if name == MATCHES
            && let Some(why) = super::patterns::never(wanted)
        {
            return self
                .typer
                .fault(at, words::never_matches(wanted, why), None);
        }
        let is_text = !text.unknown && text.kinds() == Types::TEXT;
        let only = text.text.as_ref().and_then(|text| text.only.as_ref());
        let Some(only) = only.filter(|only| is_text && only.len() > 1) else {
            return;
        };
        let regex = if name == MATCHES {
            pattern(wanted).ok()
        } else {
            None
        };
        let has = |text: &String| match name {
            "startsWith" => text.starts_with(wanted),
            "endsWith" => text.ends_with(wanted),
            "contains" => text.contains(wanted),
            _ => regex.as_ref().is_none_or(|regex| regex.is_match(text)),
        };
        if !only.iter().any(has) {
            let words = words::none_of_texts(
                self.typer.spots.written(part),
                self.typer.spots.written(sides[0]),
                only,
            );
            self.typer.fault(at, words, None);
        }
    }
}
