//! How long a guard may take, and how much it may make. CEL sets no limit, and the data of a task can be large.

use cel::common::types::{CelList, CelMap, CelMapKey, CelString};
use cel::common::value::{CowVal, Val};
use cel::{ExecutionError, FunctionContext, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A function of the evaluator that may return its operand without copying it.
pub(super) type Function = Box<
    dyn for<'b, 'v> Fn(&mut FunctionContext<'b, 'v>) -> Result<CowVal<'b, 'v>, ExecutionError>
        + Send
        + Sync,
>;

/// The steps that an expression may take: a few seconds.
pub(super) const MAX_STEPS: u64 = 1 << 26;
/// The steps of evaluating the body of a macro once. Copying a value, or comparing it, is one step.
const VISIT: u64 = 16;
/// So many bytes of text are one step.
const TEXT: usize = 64;
/// The bytes of memory that an expression may fill with new values.
pub(super) const MAX_MADE: u64 = 64 << 20;
/// The bytes of memory of a value without its text.
const VALUE: u64 = 64;

/// The steps that the evaluation of one expression has taken.
///
/// The time of an expression without macros grows with its data and its length only, so just macros are charged:
/// what they iterate over, and in their bodies the operands of what takes time that grows with the operands. What an
/// expression makes of copies is counted everywhere: `a + a` in a definition that another one doubles again.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    taken: Arc<AtomicU64>,
    limit: u64,
    /// The bytes of the values that were made.
    made: Arc<AtomicU64>,
    most_made: u64,
    most_kept: u64,
}

impl Meter {
    /// Allows an expression so many steps, to make values of so many bytes, and to yield one of so many.
    pub(super) fn of(limit: u64, most_made: u64, most_kept: u64) -> Self {
        Self {
            taken: Arc::default(),
            limit,
            made: Arc::default(),
            most_made,
            most_kept,
        }
    }

    /// The function that charges a macro for what it will iterate over, and puts the keys of a map in order. It
    /// returns an error if that exceeds the meter.
    pub(super) fn iterate(self) -> Function {
        Box::new(move |call| {
            let range = self.operand(call)?;
            let keys = range.downcast_ref::<CelMap<'_>>().map(keys_in_order);
            let range = keys.map_or(range, CowVal::Owned);
            let visits = range
                .as_sizer()
                .and_then(|sizer| u64::try_from(*sizer.size().inner()).ok());
            self.spend(VISIT.saturating_mul(visits.unwrap_or_default()))?;
            self.weigh(range.as_ref())?;
            Ok(range)
        })
    }

    /// The function that charges for a value that an operator goes through as a whole. It returns an error if that
    /// exceeds the meter.
    pub(super) fn charge(self) -> Function {
        Box::new(move |call| {
            let operand = self.operand(call)?;
            self.weigh(operand.as_ref())?;
            Ok(operand)
        })
    }

    /// The function that charges for a value that is copied into another one. It returns an error if that exceeds the
    /// meter.
    pub(super) fn copy(self) -> Function {
        Box::new(move |call| {
            let operand = self.operand(call)?;
            self.weigh(operand.as_ref())?;
            // A number or a text that is made anew does not stay, however often that happens.
            if let Some(text) = operand.downcast_ref::<CelString<'_>>() {
                self.make(steps(text.inner().len()))?;
            } else if operand.downcast_ref::<CelList<'_>>().is_some()
                || operand.downcast_ref::<CelMap<'_>>().is_some()
            {
                self.copy_of(operand.as_ref())?;
            }
            Ok(operand)
        })
    }

    /// Counts the bytes of a value. Stops at the first part that is too much.
    fn copy_of(&self, value: &dyn Val) -> Result<(), ExecutionError> {
        let mut bytes = VALUE;
        if let Some(text) = value.downcast_ref::<CelString<'_>>() {
            bytes += steps(text.inner().len());
        }
        self.make(bytes)?;
        if let Some(list) = value.downcast_ref::<CelList<'_>>() {
            list.inner()
                .iter()
                .try_for_each(|item| self.copy_of(item.as_ref()))?;
        } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
            map.inner()
                .values()
                .try_for_each(|item| self.copy_of(item.as_ref()))?;
        }
        Ok(())
    }

    fn make(&self, bytes: u64) -> Result<(), ExecutionError> {
        let made = self.made.load(Ordering::Relaxed).saturating_add(bytes);
        self.made.store(made, Ordering::Relaxed);
        if made > self.most_made {
            return Err(ExecutionError::InternalError(self.exceeded()));
        }
        Ok(())
    }

    /// Returns an error in words if a result has more bytes than one may have that is kept.
    pub(super) fn keep(&self, result: &Value) -> Result<(), String> {
        if is_within(result, &mut { self.most_kept }) {
            Ok(())
        } else {
            Err(too_much("value", self.most_kept))
        }
    }

    /// The function that charges for what `in` looks into.
    pub(super) fn search(self) -> Function {
        Box::new(move |call| {
            let searched = self.operand(call)?;
            match searched.downcast_ref::<CelMap<'_>>() {
                Some(_) => self.spend(1)?,
                None => self.weigh(searched.as_ref())?,
            }
            Ok(searched)
        })
    }

    /// The only operand of a call. What is exceeded stays exceeded.
    fn operand<'b, 'v>(
        &self,
        call: &mut FunctionContext<'b, 'v>,
    ) -> Result<CowVal<'b, 'v>, ExecutionError> {
        self.spend(0)?;
        call.args
            .pop()
            .ok_or_else(|| ExecutionError::InternalError(self.exceeded()))
    }

    /// Whether the expression has taken more steps than it may. An `||` may hide the error.
    pub(super) fn is_exceeded(&self) -> bool {
        self.taken.load(Ordering::Relaxed) > self.limit
            || self.made.load(Ordering::Relaxed) > self.most_made
    }

    /// What to say then.
    pub(super) fn exceeded(&self) -> String {
        if self.taken.load(Ordering::Relaxed) > self.limit {
            "its macros over so much data would take too long".to_owned()
        } else {
            too_much("values", self.most_made)
        }
    }

    /// Stops at the first value that exceeds the meter.
    fn weigh(&self, value: &dyn Val) -> Result<(), ExecutionError> {
        self.spend(1)?;
        if let Some(text) = value.downcast_ref::<CelString<'_>>() {
            self.spend(steps(text.inner().len() / TEXT))
        } else if let Some(list) = value.downcast_ref::<CelList<'_>>() {
            list.inner()
                .iter()
                .try_for_each(|item| self.weigh(item.as_ref()))
        } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
            self.spend(steps(map.inner().len()))?;
            map.inner()
                .values()
                .try_for_each(|item| self.weigh(item.as_ref()))
        } else {
            Ok(())
        }
    }

    fn spend(&self, steps: u64) -> Result<(), ExecutionError> {
        let before = self.taken.load(Ordering::Relaxed);
        self.taken
            .store(before.saturating_add(steps), Ordering::Relaxed);
        if self.is_exceeded() {
            return Err(ExecutionError::InternalError(self.exceeded()));
        }
        Ok(())
    }
}

/// What to say of what is too large.
fn too_much(what: &str, most: u64) -> String {
    format!(
        "its {what} would take more than {} KiB of memory",
        most >> 10
    )
}

/// Whether a value has at most `left` bytes. Takes them from `left`.
fn is_within(value: &Value, left: &mut u64) -> bool {
    let text = match value {
        Value::String(text) => steps(text.len()),
        _ => 0,
    };
    let Some(rest) = left.checked_sub(VALUE + text) else {
        return false;
    };
    *left = rest;
    match value {
        Value::List(items) => items.iter().all(|item| is_within(item, left)),
        Value::Map(map) => map.map.values().all(|item| is_within(item, left)),
        _ => true,
    }
}

fn steps(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The keys of a map, in order: the evaluator's own order is unspecified.
fn keys_in_order<'v>(map: &CelMap<'v>) -> Box<dyn Val + 'v> {
    let mut keys: Vec<&CelMapKey<'v>> = map.inner().keys().collect();
    keys.sort();
    Box::new(CelList::from(
        keys.into_iter()
            .map(|key| key.inner().clone_as_boxed())
            .collect::<Vec<_>>(),
    ))
}
