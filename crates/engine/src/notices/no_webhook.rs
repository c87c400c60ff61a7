//! Webhooks in a program that is built without them.

use orch_core::config::Webhook;
use std::time::Duration;

/// Returns that nothing can be sent.
pub(super) fn post(_: &Webhook, _: Option<&str>, _: &str, _: Duration) -> Result<(), String> {
    Err("this orch is built without the feature `webhook`".to_owned())
}
