//! The type of each part of an expression, and what is wrong with it.

use super::super::functions::{MATCHES, OVERLOADS, Overload, spoken_name, symbol};
use super::super::share;
use super::super::types::Types;
use super::super::walk::spelled;
use super::super::walk::unmetered;
use super::constants::Comparisons;
use super::env::{NeededType, TypeEnv};
use super::macros::{MacroKind, WrittenMacro, flatten, written_key};
use super::state::{GuardTyper, TypeFault};
use super::value_type::{
    FieldType, FoundField, ListType, NumberType, Presence, RestType, ValueType,
};
use super::words::{self, FaultWords};
use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, ListExpr, LiteralValue, SelectExpr, operators};
use orch_base::Code;
use std::sync::Arc;

impl<'e> GuardTyper<'e> {
    /// The type of a part. Notes what is wrong with it.
    pub(super) fn value(&mut self, part: &'e IdedExpr, env: &TypeEnv) -> ValueType {
        let part = unmetered(part);
        match &part.expr {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.name(part, name, env),
            Expr::Select(select) => self.select(part, select, env),
            Expr::Call(call) => self.call(part, call, env),
            Expr::Comprehension(inner) => match WrittenMacro::of(inner) {
                Some(written) => self.written_macro(part, &written, env),
                None => ValueType::any(),
            },
            Expr::List(list) => self.list(list, env),
            Expr::Map(_) | Expr::Struct(_) => self.literal_map(part, env),
            Expr::Unspecified => ValueType::any(),
        }
    }

    /// The type of a part, without what is wrong with it.
    pub(super) fn quietly(&mut self, part: &'e IdedExpr, env: &TypeEnv) -> ValueType {
        let before = std::mem::take(&mut self.faults);
        let value = self.value(part, env);
        self.faults = before;
        value
    }

    fn name(&mut self, part: &'e IdedExpr, name: &'e str, env: &TypeEnv) -> ValueType {
        let path = self.root_path(name, env);
        if !self.is_local(name) {
            self.ask_named(part, &path, env);
        }
        match env.at(&path) {
            Some(field) => ValueType::clone(&field.value),
            None => ValueType::any(),
        }
    }

    /// Asks what a named expression asks for, of what is known here.
    fn ask_named(&mut self, part: &IdedExpr, path: &[String], env: &TypeEnv) {
        let Some(named) = self.named.get(path) else {
            return;
        };
        for fault in &named.needs {
            let need = fault.need.as_ref();
            if need.is_some_and(|need| env.meets(need)) {
                continue;
            }
            if let (Code::GuardUnasked, Some(need)) = (fault.code, need) {
                // This is missing where the name is used.
                let written = self.spots.written(part);
                let words = words::unasked_by(written, &spelled(&need.path), &need.path[0]);
                self.fault(self.spots.start(part), words, Some(need.clone()));
            } else if !self.faults.iter().any(|told| told.message == fault.message) {
                let home = fault.home.clone().or_else(|| Some(path.to_vec()));
                self.faults.push(TypeFault {
                    home,
                    ..fault.clone()
                });
            }
        }
    }

    fn select(&mut self, part: &'e IdedExpr, select: &'e SelectExpr, env: &TypeEnv) -> ValueType {
        let path = self.path(part, env);
        if let Some(path) = &path
            && self.named.contains_key(path)
            && !self.begins_local(part)
        {
            self.ask_named(part, path, env);
        }
        let of = self.value(&select.operand, env);
        let offset = self.spots.word(part);
        let member = Member {
            part,
            of: &select.operand,
            name: &select.field,
            is_test: select.test,
            offset,
        };
        let value = self.member(&member, &of, env);
        if select.test {
            ValueType::truth()
        } else {
            value
        }
    }

    /// The value of a member, and whether it is there.
    fn member(&mut self, member: &Member<'e>, of: &ValueType, env: &TypeEnv) -> ValueType {
        if of.unknown {
            return ValueType::any();
        }
        let start = self.spots.start(member.part);
        let written = self.spots.written(member.of);
        let Some(map) = &of.map else {
            if of.kinds() != Types::NONE {
                let words = words::no_members(member.name, written, of);
                self.fault(member.offset, words, None);
            }
            return ValueType::any();
        };
        let other = of.kinds().without(Types::MAP);
        if other != Types::NONE && !self.is_asked(member.of, env, other) {
            let words = words::maybe_no_map(member.name, written, of);
            let need = self.need(member.of, env, NeededType::Kinds(Types::MAP));
            self.fault(start, words, need);
        }
        match map.field(member.name) {
            FoundField::Field(field) => {
                self.presence(member, &field, env);
                ValueType::clone(&field.value)
            }
            FoundField::Slip(near) if !member.is_test => {
                let words = words::slip(member.name, written, &near);
                self.fault(member.offset, words, None);
                ValueType::any()
            }
            FoundField::Slip(_) => ValueType::any(),
            FoundField::Never => {
                let words = words::never_there(member.name, written, map);
                self.fault(member.offset, words, None);
                ValueType::any()
            }
        }
    }

    /// Notes that a member is read which may not be there.
    fn presence(&mut self, member: &Member<'e>, field: &FieldType, env: &TypeEnv) {
        if member.is_test || env.is_tested(&written_key(member.part)) {
            return;
        }
        let written = self.spots.written(member.part);
        let words = match field.presence {
            Presence::Always | Presence::Depends => return,
            Presence::Valid => words::unasked(written, self.spots.written(member.of)),
            Presence::Maybe => words::may_be_missing(written, member.name),
            Presence::Named => words::not_in_every_file(written, member.name),
        };
        let need = self.need(member.part, env, NeededType::Present);
        let start = self.spots.start(member.part);
        let is_told = self
            .faults
            .iter()
            .any(|fault| fault.offset == start && fault.need.is_none());
        if need.is_some() || !is_told {
            self.fault(start, words, need);
        }
    }

    fn list(&mut self, list: &'e ListExpr, env: &TypeEnv) -> ValueType {
        let mut items: Option<ValueType> = None;
        for element in &list.elements {
            let value = self.value(element, env);
            items = Some(match items {
                Some(items) => items.join(&value),
                None => value,
            });
        }
        ValueType::lists(ListType {
            item: items.unwrap_or_default(),
            at_least: Some(list.elements.len()),
        })
    }

    fn literal_map(&mut self, part: &'e IdedExpr, env: &TypeEnv) -> ValueType {
        let mut rest: Option<ValueType> = None;
        for child in super::super::walk::children(part) {
            let value = self.value(child, env);
            rest = Some(rest.map_or(value.clone(), |rest| rest.join(&value)));
        }
        ValueType::map_of(rest.unwrap_or_else(ValueType::any))
    }

    fn written_macro(
        &mut self,
        part: &'e IdedExpr,
        written: &WrittenMacro<'e>,
        env: &TypeEnv,
    ) -> ValueType {
        let range = self.value(written.range, env);
        let over = Types::LIST.or(Types::MAP);
        if !range.kinds().meets(over) && range.kinds() != Types::NONE {
            let words = words::no_range(&range);
            self.fault(self.spots.start(part), words, None);
        } else if !range.unknown
            && !range.kinds().is_within(over)
            && !self.is_asked(written.range, env, range.kinds().without(over))
        {
            let words = words::maybe_no_range(self.spots.written(written.range), &range);
            let need = self.need(written.range, env, NeededType::Kinds(over));
            self.fault(self.spots.start(written.range), words, need);
        }
        let mut within = env.with(written.item, range.within(over).items());
        self.locals.push(written.item);
        if let Some(condition) = written.condition {
            self.condition(condition, &within, self.spots.word(part), "a macro");
            within = self.narrowed(&within, condition, true);
        }
        let made = written.result.map(|result| self.value(result, &within));
        self.locals.pop();
        let of_range = range.list.as_ref().and_then(|list| list.at_least);
        let (item, at_least) = match (written.kind, made) {
            (MacroKind::Map, Some(made)) if written.condition.is_none() => (made, of_range),
            (MacroKind::Map, Some(made)) => (made, None),
            (MacroKind::Filter, _) => {
                let item = within.root(written.item).cloned();
                (item.unwrap_or_default(), None)
            }
            _ => return ValueType::truth(),
        };
        ValueType::lists(ListType { item, at_least })
    }

    /// Notes that a part is no condition. `offset` is the place of what needs one.
    pub(super) fn condition(
        &mut self,
        part: &'e IdedExpr,
        env: &TypeEnv,
        offset: usize,
        what: &str,
    ) -> ValueType {
        let value = self.value(part, env);
        let kinds = value.kinds();
        if !kinds.meets(Types::BOOL) && kinds != Types::NONE {
            let words = words::no_condition(what, &value);
            self.fault(offset, words, None);
        } else if !value.unknown
            && !kinds.is_within(Types::BOOL)
            && !self.is_asked(part, env, kinds.without(Types::BOOL))
        {
            let words = words::maybe_no_condition(self.spots.written(part), &value);
            let need = self.need(part, env, NeededType::Kinds(Types::BOOL));
            self.fault(self.spots.start(part), words, need);
        }
        value
    }

    /// Whether a condition before has excluded that a part, which is no path, is of these other kinds.
    fn is_asked(&self, part: &IdedExpr, env: &TypeEnv, other: Types) -> bool {
        other == Types::NULL && env.is_tested(&written_key(part))
    }

    fn call(&mut self, part: &'e IdedExpr, call: &'e CallExpr, env: &TypeEnv) -> ValueType {
        let name = spoken_name(&call.func_name);
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, _) => {
                let mut operands = Vec::new();
                flatten(part, name, &mut operands);
                self.operands(&operands, env, name == operators::LOGICAL_AND);
                ValueType::truth()
            }
            (operators::LOGICAL_NOT, [of]) => {
                self.condition(of, env, self.spots.start(part), "`!`");
                ValueType::truth()
            }
            (operators::CONDITIONAL, [condition, yes, no]) => {
                self.condition(condition, env, self.spots.start(part), "`?`");
                let held = self.narrowed(env, condition, true);
                let refused = self.narrowed(env, condition, false);
                let yes = self.value(yes, &held);
                let no = self.value(no, &refused);
                yes.join(&no)
            }
            (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => {
                Comparisons { typer: self }.equality(part, [left, right], env);
                ValueType::truth()
            }
            (operators::INDEX, [of, index]) => self.index(part, of, index, env),
            _ => self.function(part, name, call, env),
        }
    }

    /// The operands of `&&` or `||`. An operand that fails does not count where another one decides: an earlier one, or a
    /// later one that cannot fail.
    pub(super) fn operands(&mut self, operands: &[&'e IdedExpr], env: &TypeEnv, is_and: bool) {
        let sign = if is_and { "`&&`" } else { "`||`" };
        let mut known = env.clone();
        for (at, operand) in operands.iter().enumerate() {
            let told = self.faults.len();
            let offset = self.spots.start(operand);
            self.condition(operand, &known, offset, sign);
            if self.faults.len() > told && at + 1 < operands.len() {
                let later = self.decided_later(&operands[at + 1..], &known, is_and);
                self.faults.truncate(told);
                self.condition(operand, &later, offset, sign);
            }
            known = self.narrowed(&known, operand, is_and);
        }
    }

    /// What is known where none of these operands decides, of those that cannot fail.
    fn decided_later(&mut self, operands: &[&'e IdedExpr], env: &TypeEnv, is_and: bool) -> TypeEnv {
        let mut known = env.clone();
        for operand in operands {
            let before = std::mem::take(&mut self.faults);
            let value = self.value(operand, env);
            let is_sure = self.faults.is_empty() && !value.unknown;
            self.faults = before;
            if is_sure {
                known = self.narrowed(&known, operand, is_and);
            }
        }
        known
    }

    /// The value of `of[index]`.
    fn index(
        &mut self,
        part: &'e IdedExpr,
        of: &'e IdedExpr,
        index: &'e IdedExpr,
        env: &TypeEnv,
    ) -> ValueType {
        let value = self.value(of, env);
        let of_index = self.value(index, env);
        if let Expr::Literal(LiteralValue::String(name)) = &unmetered(index).expr
            && value.map.is_some()
        {
            let offset = self.spots.start(index);
            let name = name.inner();
            let member = Member {
                part,
                of,
                name,
                is_test: false,
                offset,
            };
            return self.member(&member, &value, env);
        }
        let given = [value.clone(), of_index.clone()];
        self.overloads(part, operators::INDEX, &[of, index], &given, env);
        if value.unknown {
            return ValueType::any();
        }
        let of_list = value.list.as_ref().map(|list| {
            self.item_index(part, of, index, list, env);
            list.item.clone()
        });
        let of_map = value.map.as_ref().map(|map| {
            let mut values = match &map.rest {
                RestType::Closed => ValueType::default(),
                RestType::Silent => ValueType::any(),
                RestType::Open(value) | RestType::Named(value) => value.clone(),
            };
            let only = of_index.text.as_ref().and_then(|text| text.only.clone());
            if let Some(only) = &only {
                values = ValueType::default();
                for key in only.iter() {
                    match map.field(key) {
                        FoundField::Field(field) => values = values.join(&field.value),
                        FoundField::Never => {}
                        FoundField::Slip(_) => values = ValueType::any(),
                    }
                }
            } else {
                for field in map.fields.values() {
                    values = values.join(&field.value);
                }
            }
            if values.kinds() == Types::NONE {
                ValueType::any()
            } else {
                values
            }
        });
        match (of_list, of_map) {
            (Some(one), Some(two)) => one.join(&two),
            (one, two) => one.or(two).unwrap_or_else(ValueType::any),
        }
    }

    /// Notes an item that the list may not have.
    fn item_index(
        &mut self,
        part: &'e IdedExpr,
        of: &'e IdedExpr,
        index: &'e IdedExpr,
        list: &ListType,
        env: &TypeEnv,
    ) {
        let Expr::Literal(LiteralValue::Int(nth)) = &unmetered(index).expr else {
            return;
        };
        let wanted = usize::try_from(*nth.inner()).ok().map(|nth| nth + 1);
        let (Some(wanted), Some(at_least)) = (wanted, list.at_least) else {
            return;
        };
        if at_least < wanted {
            let words = words::few_items(self.spots.written(of), wanted);
            let need = self.need(of, env, NeededType::Items(wanted));
            self.fault(self.spots.start(part), words, need);
        }
    }

    /// A call of a function or an operator of the table.
    fn function(
        &mut self,
        part: &'e IdedExpr,
        name: &'e str,
        call: &'e CallExpr,
        env: &TypeEnv,
    ) -> ValueType {
        let operands: Vec<&'e IdedExpr> = call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect();
        let mut given = Vec::new();
        for operand in &operands {
            given.push(self.value(operand, env));
        }
        let yields = self.overloads(part, name, &operands, &given, env);
        self.shares(part, name, call, &given);
        match (name, given.as_slice()) {
            (operators::IN, [item, within]) => {
                Comparisons { typer: self }.membership(
                    part,
                    [operands[0], operands[1]],
                    [item, within],
                    env,
                );
                ValueType::truth()
            }
            (operators::DIVIDE | operators::MODULO, [dividend, divisor]) => {
                self.divisor(part, operands[1], [dividend, divisor], env);
                yields
            }
            (
                operators::LESS
                | operators::LESS_EQUALS
                | operators::GREATER
                | operators::GREATER_EQUALS,
                [left, right],
            ) => {
                Comparisons { typer: self }.bounds(
                    part,
                    name,
                    [operands[0], operands[1]],
                    [left, right],
                );
                ValueType::truth()
            }
            (MATCHES | "startsWith" | "endsWith" | "contains", [text, _]) => {
                Comparisons { typer: self }.part_of_text(
                    part,
                    name,
                    [operands[0], operands[1]],
                    text,
                );
                ValueType::truth()
            }
            ("lowerAscii", [text]) => match &text.text {
                Some(text) => ValueType::texts(text.lower()),
                None => yields,
            },
            ("min" | "max", [of]) => {
                self.extreme(part, operands[0], of, env);
                item_of(of, yields)
            }
            ("sum", [of]) => sum_of(of, yields),
            ("split", _) => ValueType::lists(ListType {
                item: ValueType::text(),
                at_least: Some(1),
            }),
            ("size", _) => ValueType::at_least(0.0),
            ("dyn", _) => ValueType::any(),
            (operators::ADD, [left, right]) => match (&left.list, &right.list) {
                (Some(left), Some(right)) => ValueType::lists(ListType {
                    item: left.item.join(&right.item),
                    at_least: left
                        .at_least
                        .zip(right.at_least)
                        .map(|(one, two)| one + two),
                }),
                _ => yields,
            },
            _ => yields,
        }
    }

    /// Notes numbers that are computed otherwise than readers expect.
    fn shares(&mut self, part: &IdedExpr, name: &str, call: &CallExpr, given: &[ValueType]) {
        let kinds: Vec<Types> = given.iter().map(ValueType::kinds).collect();
        let written = self.spots.written(part);
        let start = self.spots.start(part);
        for fault in share::faults(written, name, call, &kinds) {
            let words = FaultWords {
                code: fault.code,
                message: fault.message,
                hint: fault.hint.unwrap_or_default(),
            };
            self.fault(start + fault.offset, words, None);
        }
    }

    /// What a function or an operator yields. Notes what it does not work with.
    fn overloads(
        &mut self,
        part: &'e IdedExpr,
        name: &str,
        operands: &[&'e IdedExpr],
        given: &[ValueType],
        env: &TypeEnv,
    ) -> ValueType {
        let callable: Vec<&Overload> = OVERLOADS
            .iter()
            .filter(|overload| {
                let takes = overload.takes.len() + usize::from(overload.target.is_some());
                overload.name == name && takes == given.len()
            })
            .collect();
        let kinds: Vec<Types> = given.iter().map(ValueType::kinds).collect();
        let fits = |overload: &Overload, kinds: &[Types]| {
            let wanted = overload.target.iter().chain(overload.takes);
            kinds
                .iter()
                .zip(wanted)
                .all(|(given, wanted)| given.meets(*wanted))
        };
        let is_empty = kinds.contains(&Types::NONE);
        let fitting = callable.iter().filter(|overload| fits(overload, &kinds));
        let Some(yields) = fitting.map(|overload| overload.yields).reduce(Types::or) else {
            if !callable.is_empty() && !is_empty {
                let words = words::never_fits(name, &callable, operands, given, &self.spots);
                let offset = match symbol(name) {
                    Some(_) => self.spots.start(part),
                    None => self.spots.word(part),
                };
                self.fault(offset, words, None);
            }
            // What it would have yielded is no matter of another finding.
            let is_truth = callable
                .iter()
                .all(|overload| overload.yields == Types::BOOL);
            return if is_truth {
                ValueType::truth()
            } else {
                ValueType::any()
            };
        };
        for (nth, operand) in operands.iter().enumerate() {
            if given[nth].unknown || is_empty {
                continue;
            }
            let allowed = |kind: &Types| {
                let mut kinds = kinds.clone();
                kinds[nth] = *kind;
                callable.iter().any(|overload| fits(overload, &kinds))
            };
            let possible: Vec<Types> = kinds[nth].each().collect();
            let refused: Vec<Types> = possible
                .iter()
                .copied()
                .filter(|kind| !allowed(kind))
                .collect();
            // Numbers of another kind are what `share` tells.
            let is_number = |kind: &Types| kind.is_within(Types::NUMBER);
            let is_share = symbol(name).is_some() && refused.iter().all(is_number);
            let refused_kinds = refused.iter().copied().fold(Types::NONE, Types::or);
            if refused.is_empty() || is_share || self.is_asked(operand, env, refused_kinds) {
                continue;
            }
            let accepted: Types = possible
                .iter()
                .copied()
                .filter(|kind| !refused.contains(kind))
                .fold(Types::NONE, Types::or);
            let words = words::may_not_fit(name, self.spots.written(operand), refused_kinds);
            let need = self.need(operand, env, NeededType::Kinds(accepted));
            self.fault(self.spots.start(operand), words, need);
        }
        let is_quotient = share::quotient(name, &kinds);
        ValueType::of_kinds(if is_quotient {
            yields.or(Types::QUOTIENT)
        } else {
            yields
        })
    }

    /// Notes a division by what may be zero.
    fn divisor(
        &mut self,
        part: &'e IdedExpr,
        divisor: &'e IdedExpr,
        types: [&ValueType; 2],
        env: &TypeEnv,
    ) {
        let [dividend, by] = types;
        let Some(number) = by.number.as_ref().filter(|_| !by.unknown) else {
            return;
        };
        let is_whole = number.kinds.is_within(Types::WHOLE) && dividend.kinds().meets(Types::WHOLE);
        if is_whole && !number.is_nonzero && number.allows(0.0) {
            let words = words::by_zero(self.spots.written(divisor));
            let need = self.need(divisor, env, NeededType::Nonzero);
            self.fault(self.spots.start(part), words, need);
        }
    }

    /// Notes the least or greatest item of a list that may have none.
    fn extreme(&mut self, part: &'e IdedExpr, of: &'e IdedExpr, list: &ValueType, env: &TypeEnv) {
        let known = list.list.as_ref().filter(|_| !list.unknown);
        if known.is_some_and(|list| list.at_least == Some(0)) {
            let words = words::no_extreme(self.spots.written(of));
            let need = self.need(of, env, NeededType::Items(1));
            self.fault(self.spots.start(part), words, need);
        }
    }
}

/// A member that is read or tested.
struct Member<'e> {
    part: &'e IdedExpr,
    of: &'e IdedExpr,
    name: &'e str,
    is_test: bool,
    offset: usize,
}

fn literal_type(literal: &LiteralValue) -> ValueType {
    let number = |kinds: Types, number: f64| {
        ValueType::number(NumberType {
            only: Some(Arc::new(vec![number])),
            ..NumberType::of(kinds)
        })
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "constants are compared with the bounds of a schema, which are doubles"
    )]
    match literal {
        LiteralValue::Boolean(_) => ValueType::truth(),
        LiteralValue::Bytes(_) => ValueType::of_kinds(Types::BYTES),
        LiteralValue::Double(value) => number(Types::DOUBLE, *value.inner()),
        LiteralValue::Int(value) => number(Types::INT, *value.inner() as f64),
        LiteralValue::Null => ValueType::null(),
        LiteralValue::String(text) => ValueType::one_of([text.inner()]),
        LiteralValue::UInt(value) => number(Types::UINT, *value.inner() as f64),
    }
}

/// The type of an item of a list, as far as it has an order.
fn item_of(list: &ValueType, ordered: ValueType) -> ValueType {
    match &list.list {
        Some(list) if !list.item.unknown => list.item.clone(),
        _ => ordered,
    }
}

/// The type of a sum: whole if all items are.
fn sum_of(list: &ValueType, number: ValueType) -> ValueType {
    let item = list.list.as_ref().map(|list| list.item.kinds());
    if item.is_some_and(|kinds| kinds.is_within(Types::INT)) {
        ValueType::whole()
    } else {
        number
    }
}
