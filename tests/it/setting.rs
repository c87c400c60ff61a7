//! What the caller of the tests may set in the environment; the one door to it.

/// The text of a setting, for example `UPDATE` or `ORCH_MODEL_HISTORIES`.
#[expect(
    clippy::disallowed_methods,
    reason = "tests have no main that the environment could come through"
)]
pub fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The number that a setting holds, if it holds one.
pub fn number(name: &str) -> Option<u64> {
    setting(name)?.parse().ok()
}

/// Whether expected outcomes are to be rewritten.
pub fn is_update() -> bool {
    setting("UPDATE").is_some()
}

/// Every case if the audit is tried at length (`make audit-fuzz`), otherwise one of so many, from a place that
/// `ORCH_AUDIT_SEED` chooses.
pub fn slice<T>(all: impl IntoIterator<Item = T>, one_of: usize) -> Vec<T> {
    let all = all.into_iter();
    if setting("ORCH_AUDIT_HISTORIES").is_some() {
        return all.collect();
    }
    let seed = number("ORCH_AUDIT_SEED").unwrap_or(1);
    let begin = usize::try_from(seed).expect("small") % one_of;
    all.skip(begin).step_by(one_of).collect()
}
