//! What is known of a value: for each kind of value whether it may be of it, and what is known then.
//!
//! The types are a lattice: [`ValueType::join`] is what is known of a value that is of one type or the other,
//! [`ValueType::meet`] what is known of one that is of both. Below all is the type without values, above all
//! [`ValueType::any`], of which nothing is known and about which no finding is made.

use super::super::types::Types;
use super::text_type::TextType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of a value.
#[derive(Debug, Clone, Default)]
pub struct ValueType {
    /// It may be something of which nothing is known.
    pub unknown: bool,
    /// It may be null.
    pub null: bool,
    /// It may be true or false.
    pub truth: bool,
    /// It may be bytes, or a type as `type(value)` yields it.
    pub other: bool,
    /// The numbers that it may be.
    pub number: Option<NumberType>,
    /// The texts that it may be.
    pub text: Option<TextType>,
    /// The lists that it may be.
    pub list: Option<Arc<ListType>>,
    /// The maps that it may be.
    pub map: Option<Arc<MapType>>,
}

/// What is known of a number.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberType {
    /// Whole numbers, fractions or both; and whether a division of whole numbers made it.
    pub kinds: Types,
    /// It is at least this.
    pub least: Option<f64>,
    /// It is at most this.
    pub most: Option<f64>,
    /// It is one of these.
    pub only: Option<Arc<Vec<f64>>>,
    /// A condition has excluded that it is zero.
    pub is_nonzero: bool,
}

/// What is known of a list.
#[derive(Debug, Clone)]
pub struct ListType {
    /// Each of its items.
    pub item: ValueType,
    /// How many items it has at least; `None` if nothing is known of that.
    pub at_least: Option<usize>,
}

/// What is known of a map.
#[derive(Debug, Clone)]
pub struct MapType {
    /// The members that are declared.
    pub fields: BTreeMap<Arc<str>, FieldType>,
    /// The members that are not.
    pub rest: RestType,
    /// What is known where a member that is true or false is true, for example `valid`.
    pub when: BTreeMap<String, Arc<Self>>,
    /// What it is, in words.
    pub words: Option<Arc<MapWords>>,
}

/// What a map is, in words, for findings about members that it does not have.
#[derive(Debug, Clone, Default)]
pub struct MapWords {
    /// For example: the data of `plan`, which is markdown,
    pub subject: String,
    /// Why it has only these members; empty, or a clause after a colon.
    pub because: String,
    /// What to do about it.
    pub advice: Option<String>,
}

/// What is known of a member of a map.
#[derive(Debug, Clone)]
pub struct FieldType {
    /// Whether it is there.
    pub presence: Presence,
    /// Its value, if it is there.
    pub value: Arc<ValueType>,
}

/// Whether a member is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// In every map of the type.
    Always,
    /// It depends on something that nothing here can follow, such as another member.
    Depends,
    /// Not in every map of the type.
    Maybe,
    /// Each file has members of its own.
    Named,
    /// Only while its artifact is valid.
    Valid,
}

/// What is known of the members of a map that are not declared.
#[derive(Debug, Clone)]
pub enum RestType {
    /// There are none.
    Closed,
    /// There may be some, of which nobody has said anything. A name much like a declared one is a slip.
    Silent,
    /// There may be some, with values of this type.
    Open(ValueType),
    /// Each file chooses which there are, such as the headings of a text; with values of this type.
    Named(ValueType),
}

/// What a map says of a member.
pub enum FoundField {
    /// It is declared, or it may be there.
    Field(FieldType),
    /// It is never there.
    Never,
    /// It is not declared, and a declared name is much like it.
    Slip(String),
}

impl NumberType {
    /// Numbers of these kinds.
    #[must_use]
    pub fn of(kinds: Types) -> Self {
        Self {
            kinds,
            least: None,
            most: None,
            only: None,
            is_nonzero: false,
        }
    }

    /// Whether it can be this number.
    #[must_use]
    pub fn allows(&self, number: f64) -> bool {
        let is_listed = self.only.as_ref().is_none_or(|only| only.contains(&number));
        is_listed
            && self.least.is_none_or(|least| number >= least)
            && self.most.is_none_or(|most| number <= most)
    }

    /// The least and the greatest number that it can be.
    #[must_use]
    pub fn bounds(&self) -> (f64, f64) {
        let mut least = self.least.unwrap_or(f64::NEG_INFINITY);
        let mut most = self.most.unwrap_or(f64::INFINITY);
        if let Some(only) = &self.only {
            least = only
                .iter()
                .copied()
                .fold(f64::INFINITY, f64::min)
                .max(least);
            most = only
                .iter()
                .copied()
                .fold(f64::NEG_INFINITY, f64::max)
                .min(most);
        }
        (least, most)
    }

    fn join(&self, other: &Self) -> Self {
        let only = match (&self.only, &other.only) {
            (Some(one), Some(two)) => Some(Arc::new([one.as_slice(), two.as_slice()].concat())),
            _ => None,
        };
        Self {
            kinds: self.kinds.or(other.kinds),
            least: self.least.zip(other.least).map(|(one, two)| one.min(two)),
            most: self.most.zip(other.most).map(|(one, two)| one.max(two)),
            only,
            is_nonzero: self.is_nonzero && other.is_nonzero,
        }
    }

    fn meet(&self, other: &Self) -> Option<Self> {
        let kinds = self.kinds.both(other.kinds);
        if !kinds.meets(Types::NUMBER) {
            return None;
        }
        let larger = |one: Option<f64>, two: Option<f64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.max(two)),
            (one, two) => one.or(two),
        };
        let negated = |bound: Option<f64>| bound.map(|bound| -bound);
        let only = match (&self.only, &other.only) {
            (Some(one), Some(two)) => {
                let both = one.iter().copied().filter(|number| two.contains(number));
                Some(Arc::new(both.collect()))
            }
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        Some(Self {
            kinds,
            least: larger(self.least, other.least),
            most: negated(larger(negated(self.most), negated(other.most))),
            only,
            is_nonzero: self.is_nonzero || other.is_nonzero,
        })
    }
}

impl ListType {
    fn join(one: &Arc<Self>, two: &Arc<Self>) -> Arc<Self> {
        if Arc::ptr_eq(one, two) {
            return Arc::clone(one);
        }
        let at_least = one.at_least.zip(two.at_least);
        let both = Self {
            item: one.item.join(&two.item),
            at_least: at_least.map(|(one, two)| one.min(two)),
        };
        both.kept(one)
    }

    fn meet(one: &Arc<Self>, two: &Arc<Self>) -> Arc<Self> {
        if Arc::ptr_eq(one, two) {
            return Arc::clone(one);
        }
        let both = Self {
            item: one.item.meet(&two.item),
            at_least: one.at_least.max(two.at_least),
        };
        both.kept(one)
    }

    fn kept(self, before: &Arc<Self>) -> Arc<Self> {
        if self.at_least == before.at_least && self.item.is_same(&before.item) {
            Arc::clone(before)
        } else {
            Arc::new(self)
        }
    }
}

impl Presence {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::Valid, _) | (_, Self::Valid) => Self::Valid,
            (Self::Depends, _) | (_, Self::Depends) => Self::Depends,
            _ => Self::Maybe,
        }
    }

    fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::Depends, _) | (_, Self::Depends) => Self::Depends,
            (one, _) => one,
        }
    }
}

impl MapType {
    /// A map that has these members and no others.
    #[must_use]
    pub fn closed(fields: impl IntoIterator<Item = (String, FieldType)>) -> Self {
        let fields = fields
            .into_iter()
            .map(|(name, field)| (Arc::from(name), field));
        Self {
            fields: fields.collect(),
            rest: RestType::Closed,
            when: BTreeMap::new(),
            words: None,
        }
    }

    /// What it says of a member.
    #[must_use]
    pub fn field(&self, name: &str) -> FoundField {
        if let Some(field) = self.fields.get(name) {
            return FoundField::Field(field.clone());
        }
        let value = match &self.rest {
            RestType::Closed => return FoundField::Never,
            RestType::Silent => {
                let names = self.fields.keys().map(Arc::as_ref);
                if let Some(near) = orch_base::nearest(name, names) {
                    return FoundField::Slip(near.to_owned());
                }
                ValueType::any()
            }
            RestType::Open(value) => value.clone(),
            RestType::Named(value) => {
                return FoundField::Field(FieldType::new(Presence::Named, value.clone()));
            }
        };
        FoundField::Field(FieldType::new(Presence::Depends, value))
    }

    /// What is known of a map that is one or the other. A member that only one of them always has is there or not; where
    /// the two are alternatives of a schema, that may depend on other members.
    fn join(one: &Arc<Self>, two: &Arc<Self>, are_alternatives: bool) -> Arc<Self> {
        if Arc::ptr_eq(one, two) {
            return Arc::clone(one);
        }
        let mut both = Lazy::of(one);
        for (name, field) in &one.fields {
            let joined = match two.fields.get(name) {
                Some(other) => field.join(other, are_alternatives),
                None => two.beside(name, field, are_alternatives),
            };
            both.put(name, field, joined);
        }
        for (name, field) in &two.fields {
            if !one.fields.contains_key(name) {
                let joined = one.beside(name, field, are_alternatives);
                both.change().fields.insert(Arc::clone(name), joined);
            }
        }
        let rest = match (&one.rest, &two.rest) {
            (RestType::Closed, RestType::Closed) | (RestType::Silent, RestType::Silent) => None,
            (RestType::Named(one), RestType::Named(two)) => Some(RestType::Named(one.join(two))),
            (
                RestType::Open(one) | RestType::Named(one),
                RestType::Open(two) | RestType::Named(two),
            ) => Some(RestType::Open(one.join(two))),
            (RestType::Open(_) | RestType::Named(_), _)
            | (_, RestType::Open(_) | RestType::Named(_)) => Some(RestType::Open(ValueType::any())),
            _ => Some(RestType::Silent),
        };
        if let Some(rest) = rest {
            both.change().rest = rest;
        }
        both.when(&two.when);
        both.done()
    }

    /// A member that the other map has and this one does not declare.
    fn beside(&self, name: &str, field: &FieldType, are_alternatives: bool) -> FieldType {
        let value = match self.field(name) {
            FoundField::Field(own) => Arc::new(own.value.joined(&field.value, are_alternatives)),
            FoundField::Never => Arc::clone(&field.value),
            FoundField::Slip(_) => Arc::new(ValueType::any()),
        };
        let presence = if are_alternatives || field.presence == Presence::Depends {
            Presence::Depends
        } else {
            Presence::Maybe
        };
        FieldType { presence, value }
    }

    /// What is known of a map that is of both types.
    pub(super) fn meet(one: &Arc<Self>, two: &Arc<Self>) -> Arc<Self> {
        if Arc::ptr_eq(one, two) {
            return Arc::clone(one);
        }
        let mut both = Lazy::of(one);
        for (name, field) in &two.fields {
            match one.fields.get(name) {
                Some(own) => both.put(name, own, own.meet(field)),
                None => _ = both.change().fields.insert(Arc::clone(name), field.clone()),
            }
        }
        let rest = match (&one.rest, &two.rest) {
            (RestType::Closed, _) | (_, RestType::Silent) => None,
            (_, RestType::Closed) => Some(RestType::Closed),
            (RestType::Silent, rest) => Some(rest.clone()),
            (RestType::Named(one), RestType::Open(two) | RestType::Named(two))
            | (RestType::Open(one), RestType::Named(two)) => Some(RestType::Named(one.meet(two))),
            (RestType::Open(one), RestType::Open(two)) => Some(RestType::Open(one.meet(two))),
        };
        if let Some(rest) = rest {
            both.change().rest = rest;
        }
        both.when(&two.when);
        both.done()
    }
}

impl FieldType {
    /// A member that is always there.
    #[must_use]
    pub fn always(value: ValueType) -> Self {
        Self::new(Presence::Always, value)
    }

    /// A member with this presence.
    #[must_use]
    pub fn new(presence: Presence, value: ValueType) -> Self {
        let value = Arc::new(value);
        Self { presence, value }
    }

    fn join(&self, other: &Self, are_alternatives: bool) -> Self {
        let is_unequal = self.presence != other.presence && are_alternatives;
        let presence = if is_unequal {
            Presence::Depends
        } else {
            self.presence.join(other.presence)
        };
        let value = if Arc::ptr_eq(&self.value, &other.value) {
            Arc::clone(&self.value)
        } else {
            let value = self.value.joined(&other.value, are_alternatives);
            kept(&self.value, value)
        };
        Self { presence, value }
    }

    fn meet(&self, other: &Self) -> Self {
        let presence = self.presence.meet(other.presence);
        let value = if Arc::ptr_eq(&self.value, &other.value) {
            Arc::clone(&self.value)
        } else {
            kept(&self.value, self.value.meet(&other.value))
        };
        Self { presence, value }
    }
}

/// The type that was there, if the new one says the same: what is shared need not be compared again.
pub(super) fn kept(before: &Arc<ValueType>, now: ValueType) -> Arc<ValueType> {
    if before.is_same(&now) {
        Arc::clone(before)
    } else {
        Arc::new(now)
    }
}

/// A map that is copied once something of it changes.
struct Lazy<'m> {
    before: &'m Arc<MapType>,
    changed: Option<MapType>,
}

impl<'m> Lazy<'m> {
    fn of(before: &'m Arc<MapType>) -> Self {
        let changed = None;
        Self { before, changed }
    }

    fn change(&mut self) -> &mut MapType {
        self.changed
            .get_or_insert_with(|| MapType::clone(self.before))
    }

    fn put(&mut self, name: &Arc<str>, before: &FieldType, now: FieldType) {
        let is_same = before.presence == now.presence && Arc::ptr_eq(&before.value, &now.value);
        if !is_same {
            self.change().fields.insert(Arc::clone(name), now);
        }
    }

    /// Adds what is known where a member is true.
    fn when(&mut self, when: &BTreeMap<String, Arc<MapType>>) {
        for (name, known) in when {
            if !self.before.when.contains_key(name) {
                self.change().when.insert(name.clone(), Arc::clone(known));
            }
        }
    }

    fn done(self) -> Arc<MapType> {
        match self.changed {
            Some(changed) => Arc::new(changed),
            None => Arc::clone(self.before),
        }
    }
}

impl ValueType {
    /// Nothing is known.
    #[must_use]
    pub fn any() -> Self {
        Self {
            unknown: true,
            ..Self::default()
        }
    }

    /// Null.
    #[must_use]
    pub fn null() -> Self {
        Self {
            null: true,
            ..Self::default()
        }
    }

    /// True or false.
    #[must_use]
    pub fn truth() -> Self {
        Self {
            truth: true,
            ..Self::default()
        }
    }

    /// A number.
    #[must_use]
    pub fn number(number: NumberType) -> Self {
        Self {
            number: Some(number),
            ..Self::default()
        }
    }

    /// A whole number.
    #[must_use]
    pub fn whole() -> Self {
        Self::number(NumberType::of(Types::INT))
    }

    /// A whole number that is at least this.
    #[must_use]
    pub fn at_least(least: f64) -> Self {
        Self::number(NumberType {
            least: Some(least),
            ..NumberType::of(Types::INT)
        })
    }

    /// Any text.
    #[must_use]
    pub fn text() -> Self {
        Self::texts(TextType::default())
    }

    /// These texts.
    #[must_use]
    pub fn texts(text: TextType) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }

    /// One of these texts.
    #[must_use]
    pub fn one_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self::texts(TextType::one_of(texts))
    }

    /// A list of such items, which may be empty.
    #[must_use]
    pub fn list(item: Self) -> Self {
        Self::lists(ListType {
            item,
            at_least: Some(0),
        })
    }

    /// Such lists.
    #[must_use]
    pub fn lists(list: ListType) -> Self {
        Self {
            list: Some(Arc::new(list)),
            ..Self::default()
        }
    }

    /// Such maps.
    #[must_use]
    pub fn map(map: MapType) -> Self {
        Self {
            map: Some(Arc::new(map)),
            ..Self::default()
        }
    }

    /// A map that always has these members, and no others.
    #[must_use]
    pub fn record<'n>(fields: impl IntoIterator<Item = (&'n str, Self)>) -> Self {
        let always = |(name, value): (&str, Self)| (name.to_owned(), FieldType::always(value));
        Self::map(MapType::closed(fields.into_iter().map(always)))
    }

    /// A map from texts that nobody has declared to such values.
    #[must_use]
    pub fn map_of(value: Self) -> Self {
        Self::map(MapType {
            fields: BTreeMap::new(),
            rest: RestType::Open(value),
            when: BTreeMap::new(),
            words: None,
        })
    }

    /// A map from texts that each file chooses to such values.
    #[must_use]
    pub fn map_by_name(value: Self) -> Self {
        Self::map(MapType {
            rest: RestType::Named(value),
            ..MapType::closed([])
        })
    }

    /// A value of these kinds, of which nothing more is known.
    #[must_use]
    pub fn of_kinds(kinds: Types) -> Self {
        if kinds.contains(Types::ANY) {
            return Self::any();
        }
        let number = kinds.both(Types::NUMBER.or(Types::QUOTIENT));
        Self {
            unknown: false,
            null: kinds.meets(Types::NULL),
            truth: kinds.meets(Types::BOOL),
            other: kinds.meets(Types::BYTES.or(Types::TYPE)),
            number: number.meets(Types::NUMBER).then(|| NumberType::of(number)),
            text: kinds.meets(Types::TEXT).then(TextType::default),
            list: kinds.meets(Types::LIST).then(|| {
                Arc::new(ListType {
                    item: Self::any(),
                    at_least: None,
                })
            }),
            map: kinds.meets(Types::MAP).then(|| {
                Arc::new(MapType {
                    fields: BTreeMap::new(),
                    rest: RestType::Open(Self::any()),
                    when: BTreeMap::new(),
                    words: None,
                })
            }),
        }
    }

    /// The kinds of value that it may be; all if nothing is known.
    #[must_use]
    pub fn kinds(&self) -> Types {
        if self.unknown {
            return Types::ANY;
        }
        let mut kinds = Types::NONE;
        for (is_possible, kind) in [
            (self.null, Types::NULL),
            (self.truth, Types::BOOL),
            (self.other, Types::BYTES.or(Types::TYPE)),
            (self.text.is_some(), Types::TEXT),
            (self.list.is_some(), Types::LIST),
            (self.map.is_some(), Types::MAP),
        ] {
            if is_possible {
                kinds = kinds.or(kind);
            }
        }
        self.number
            .as_ref()
            .map_or(kinds, |number| kinds.or(number.kinds))
    }

    /// What is left of it if it is of one of these kinds.
    #[must_use]
    pub fn within(&self, kinds: Types) -> Self {
        if self.unknown {
            // Whatever it is, that is all that is known.
            let known = Self::of_kinds(kinds);
            return if kinds.contains(Types::ANY) {
                Self::any()
            } else {
                known
            };
        }
        let mut left = self.clone();
        left.null &= kinds.meets(Types::NULL);
        left.truth &= kinds.meets(Types::BOOL);
        left.other &= kinds.meets(Types::BYTES.or(Types::TYPE));
        left.number = left.number.and_then(|number| {
            let both = number.kinds.both(kinds.or(Types::QUOTIENT));
            both.meets(Types::NUMBER).then_some(NumberType {
                kinds: both,
                ..number
            })
        });
        left.text = left.text.filter(|_| kinds.meets(Types::TEXT));
        left.list = left.list.filter(|_| kinds.meets(Types::LIST));
        left.map = left.map.filter(|_| kinds.meets(Types::MAP));
        left
    }

    /// What is known of a value that is of one type or the other.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        self.joined(other, false)
    }

    /// The same, where the two are alternatives of a schema.
    #[must_use]
    pub fn either(&self, other: &Self) -> Self {
        self.joined(other, true)
    }

    fn joined(&self, other: &Self, are_alternatives: bool) -> Self {
        let number = match (&self.number, &other.number) {
            (Some(one), Some(two)) => Some(one.join(two)),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        let text = match (&self.text, &other.text) {
            (Some(one), Some(two)) => Some(one.join(two)),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        let list = match (&self.list, &other.list) {
            (Some(one), Some(two)) => Some(ListType::join(one, two)),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        let map = match (&self.map, &other.map) {
            (Some(one), Some(two)) => Some(MapType::join(one, two, are_alternatives)),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        Self {
            unknown: self.unknown || other.unknown,
            null: self.null || other.null,
            truth: self.truth || other.truth,
            other: self.other || other.other,
            number,
            text,
            list,
            map,
        }
    }

    /// What is known of a value that is of both types.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        if self.unknown && other.unknown {
            return self.joined(other, false);
        }
        if self.unknown {
            return other.clone();
        }
        if other.unknown {
            return self.clone();
        }
        let number = self.number.as_ref().zip(other.number.as_ref());
        let text = self.text.as_ref().zip(other.text.as_ref());
        let list = self.list.as_ref().zip(other.list.as_ref());
        let map = self.map.as_ref().zip(other.map.as_ref());
        Self {
            unknown: false,
            null: self.null && other.null,
            truth: self.truth && other.truth,
            other: self.other && other.other,
            number: number.and_then(|(one, two)| one.meet(two)),
            text: text.map(|(one, two)| one.meet(two)),
            list: list.map(|(one, two)| ListType::meet(one, two)),
            map: map.map(|(one, two)| MapType::meet(one, two)),
        }
    }

    /// Whether it says the same, as far as a short look tells.
    fn is_same(&self, other: &Self) -> bool {
        let is_same_list = match (&self.list, &other.list) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        };
        let is_same_map = match (&self.map, &other.map) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        };
        is_same_list
            && is_same_map
            && self.unknown == other.unknown
            && self.null == other.null
            && self.truth == other.truth
            && self.other == other.other
            && self.number == other.number
            && self.text == other.text
    }

    /// The items of the lists that it may be, or the keys of the maps.
    #[must_use]
    pub fn items(&self) -> Self {
        if self.unknown {
            return Self::any();
        }
        let items = self.list.as_ref().map(|list| list.item.clone());
        let keys = self.map.as_ref().map(|map| match map.rest {
            RestType::Closed => Self::one_of(map.fields.keys().map(Arc::as_ref)),
            _ => Self::text(),
        });
        match (items, keys) {
            (Some(items), Some(keys)) => items.join(&keys),
            (items, keys) => items.or(keys).unwrap_or_else(Self::any),
        }
    }
}
