//! What is known of the names at one place of an expression, which conditions before it narrow.

use super::super::types::{ITEM, Types};
use super::value_type::{FieldType, FoundField, ListType, MapType, Presence, ValueType, kept};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is known of the names at one place.
#[derive(Debug, Clone, Default)]
pub struct TypeEnv {
    roots: Arc<BTreeMap<Arc<str>, Arc<ValueType>>>,
    /// What else was tested, as it is written: `has(list[n].key)`.
    tested: Arc<BTreeSet<String>>,
    /// The artifact whose own facts are typed: `data` is its data.
    artifact: Option<Arc<str>>,
}

/// What would have to be known of a path for an expression to have a value.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeNeed {
    /// The names and members, from a root name.
    pub path: Vec<String>,
    /// What of it.
    pub what: NeededType,
}

/// What would have to be known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NeededType {
    /// It is there.
    Present,
    /// It is of one of these kinds.
    Kinds(Types),
    /// It is a list of at least so many items.
    Items(usize),
    /// It is not zero.
    Nonzero,
}

impl TypeEnv {
    /// These names are known.
    #[must_use]
    pub fn new(roots: BTreeMap<Arc<str>, Arc<ValueType>>) -> Self {
        Self {
            roots: Arc::new(roots),
            ..Self::default()
        }
    }

    /// The same, for the facts of an artifact: its data is valid, and `data` is short for it.
    #[must_use]
    pub fn of_artifact(&self, artifact: &str) -> Self {
        let mut env = self.holding(&[artifact.to_owned()], "valid");
        env.artifact = Some(artifact.into());
        env
    }

    /// The same, for guards.
    #[must_use]
    pub fn of_guards(&self) -> Self {
        Self {
            artifact: None,
            ..self.clone()
        }
    }

    /// The path of a name.
    pub(super) fn path_of(&self, name: &str) -> Vec<String> {
        let short = ["data", "all", "count", "path"].contains(&name);
        match &self.artifact {
            Some(artifact) if short && !self.roots.contains_key(name) => {
                vec![artifact.to_string(), name.to_owned()]
            }
            _ => vec![name.to_owned()],
        }
    }

    /// What is known of a root name.
    pub(super) fn root(&self, name: &str) -> Option<&ValueType> {
        self.roots.get(name).map(Arc::as_ref)
    }

    /// The same, with this known of a root name.
    #[must_use]
    pub fn with(&self, name: &str, value: ValueType) -> Self {
        let mut env = self.clone();
        Arc::make_mut(&mut env.roots).insert(Arc::from(name), Arc::new(value));
        env
    }

    /// The same, with a fact of an artifact known, which is there while the artifact is valid.
    #[must_use]
    pub fn with_fact(&self, artifact: &str, fact: &str, value: ValueType) -> Self {
        let value = Arc::new(value);
        let fact_at = |presence| FieldType {
            presence,
            value: Arc::clone(&value),
        };
        self.changed(&[artifact.to_owned()], |field| {
            let mut artifact = ValueType::clone(&field.value);
            if let Some(map) = &mut artifact.map {
                let map = Arc::make_mut(map);
                map.fields.insert(Arc::from(fact), fact_at(Presence::Valid));
                for (name, known) in &mut map.when {
                    let presence = match name.as_str() {
                        "valid" | "ready" => Presence::Always,
                        _ => Presence::Valid,
                    };
                    let known = Arc::make_mut(known);
                    known.fields.insert(Arc::from(fact), fact_at(presence));
                }
            }
            FieldType::new(field.presence, artifact)
        })
    }

    /// What is known of the value at a path, and whether it is there; `None` if nothing is.
    #[must_use]
    pub fn at(&self, path: &[String]) -> Option<FieldType> {
        let (root, rest) = path.split_first()?;
        let mut value = Arc::clone(self.roots.get(root.as_str())?);
        let mut presence = Presence::Always;
        for segment in rest {
            if value.unknown {
                return None;
            }
            if segment == ITEM {
                value = Arc::new(value.list.as_ref()?.item.clone());
                continue;
            }
            let FoundField::Field(field) = value.map.as_ref()?.field(segment) else {
                return None;
            };
            if presence == Presence::Always {
                presence = field.presence;
            }
            value = field.value;
        }
        Some(FieldType { presence, value })
    }

    /// Whether this is known.
    #[must_use]
    pub fn meets(&self, need: &TypeNeed) -> bool {
        let Some(field) = self.at(&need.path) else {
            return true;
        };
        let value = &field.value;
        match need.what {
            NeededType::Present => !matches!(
                field.presence,
                Presence::Maybe | Presence::Named | Presence::Valid
            ),
            NeededType::Kinds(kinds) => value.unknown || value.kinds().is_within(kinds),
            NeededType::Items(many) => value
                .list
                .as_ref()
                .is_none_or(|list| list.at_least.is_none_or(|at_least| at_least >= many)),
            NeededType::Nonzero => value
                .number
                .as_ref()
                .is_none_or(|number| number.is_nonzero || !number.allows(0.0)),
        }
    }

    /// The same, with this known of the value at a path.
    pub(super) fn changed(
        &self,
        path: &[String],
        change: impl Fn(&FieldType) -> FieldType,
    ) -> Self {
        let Some((root, rest)) = path.split_first() else {
            return self.clone();
        };
        let Some(value) = self.roots.get(root.as_str()) else {
            return self.clone();
        };
        let field = FieldType {
            presence: Presence::Always,
            value: Arc::clone(value),
        };
        let value = changed(&field, rest, &change).value;
        let mut env = self.clone();
        if !Arc::ptr_eq(&field.value, &value) {
            Arc::make_mut(&mut env.roots).insert(Arc::from(root.as_str()), value);
        }
        env
    }

    /// The same, with the value at a path of these kinds.
    pub(super) fn narrowed(&self, path: &[String], kinds: Types) -> Self {
        self.changed(path, |field| FieldType {
            presence: field.presence,
            value: kept(&field.value, field.value.within(kinds)),
        })
    }

    /// The same, with the value at a path there.
    pub(super) fn present(&self, path: &[String]) -> Self {
        self.changed(path, |field| FieldType {
            presence: match field.presence {
                // The data of an artifact is null, not missing.
                Presence::Valid if path.last().is_some_and(|last| last == "data") => {
                    Presence::Valid
                }
                _ => Presence::Always,
            },
            value: Arc::clone(&field.value),
        })
    }

    /// The same, with a member that is true or false of the map at a path true.
    #[must_use]
    pub fn holding(&self, path: &[String], member: &str) -> Self {
        self.changed(path, |field| {
            let mut value = ValueType::clone(&field.value);
            if let Some(map) = &value.map
                && let Some(known) = map.when.get(member)
            {
                value.map = Some(MapType::meet(map, known));
            }
            FieldType {
                presence: field.presence,
                value: kept(&field.value, value),
            }
        })
    }

    /// Notes a test of what is no path, as it is written.
    pub(super) fn with_test(&self, written: String) -> Self {
        let mut env = self.clone();
        Arc::make_mut(&mut env.tested).insert(written);
        env
    }

    /// Whether this was tested, as it is written.
    pub(super) fn is_tested(&self, written: &str) -> bool {
        self.tested.contains(written)
    }

    /// What is known if one of the two is.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        self.combined(other, ValueType::join, |one, two| {
            one.intersection(two).cloned().collect()
        })
    }

    /// What is known if both are.
    pub(super) fn meet(&self, other: &Self) -> Self {
        self.combined(other, ValueType::meet, |one, two| {
            one.union(two).cloned().collect()
        })
    }

    fn combined(
        &self,
        other: &Self,
        of_values: fn(&ValueType, &ValueType) -> ValueType,
        of_tests: fn(&BTreeSet<String>, &BTreeSet<String>) -> BTreeSet<String>,
    ) -> Self {
        let mut env = self.clone();
        if !Arc::ptr_eq(&self.tested, &other.tested) {
            env.tested = Arc::new(of_tests(&self.tested, &other.tested));
        }
        if Arc::ptr_eq(&self.roots, &other.roots) {
            return env;
        }
        for (name, one) in self.roots.iter() {
            let Some(two) = other.roots.get(name) else {
                continue;
            };
            if !Arc::ptr_eq(one, two) {
                let both = kept(one, of_values(one, two));
                if !Arc::ptr_eq(one, &both) {
                    Arc::make_mut(&mut env.roots).insert(Arc::clone(name), both);
                }
            }
        }
        env
    }
}

fn changed(
    field: &FieldType,
    path: &[String],
    change: &impl Fn(&FieldType) -> FieldType,
) -> FieldType {
    let Some((segment, rest)) = path.split_first() else {
        return change(field);
    };
    let mut value = ValueType::clone(&field.value);
    if segment == ITEM {
        if let Some(list) = &value.list {
            let item = FieldType::always(list.item.clone());
            let item = changed(&item, rest, change).value;
            value.list = Some(Arc::new(ListType {
                item: ValueType::clone(&item),
                at_least: list.at_least,
            }));
        }
    } else if let Some(map) = &value.map
        && let FoundField::Field(member) = map.field(segment)
    {
        let now = changed(&member, rest, change);
        if now.presence == member.presence && Arc::ptr_eq(&now.value, &member.value) {
            return field.clone();
        }
        let mut map = MapType::clone(map);
        map.fields.insert(Arc::from(segment.as_str()), now);
        value.map = Some(Arc::new(map));
    }
    FieldType::new(field.presence, value)
}
