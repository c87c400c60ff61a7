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
