//! Webhooks: word of an event, posted and signed.

use hmac::{Hmac, KeyInit, Mac};
use orch_base::hexadecimal;
use orch_core::config::Webhook;
use sha2::{Digest, Sha256};
use std::thread::sleep;
use std::time::{Duration, Instant};
use ureq::Agent;
use ureq::http::StatusCode;

/// How often a document is sent at most.
const TRIES: u32 = 4;
/// How long to wait after the first try that failed; after each further one, twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// The header with the signature, which is that of webhooks of GitHub.
const SIGNATURE: &str = "X-Hub-Signature-256";
/// The header with a word that is the same for all tries of one document.
const DELIVERY: &str = "X-Orch-Delivery";

/// Posts a document, and waits for the answer, at most until `limit` has passed since now. Another try follows if the
/// server cannot be reached or is at fault, but not if it has answered what is not HTTP, because then it has the
/// document. No redirect is followed, and the proxies of the environment are not used. Returns why the document was not
/// taken.
pub(super) fn post(
    webhook: &Webhook,
    key: Option<&str>,
    body: &str,
    limit: Duration,
) -> Result<(), String> {
    let until = Instant::now() + limit;
    let mut pause = PAUSE;
    let mut last = String::new();
    for number in 1..=TRIES {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        last = match attempt(webhook, key, body, left) {
            Ok(status) if status.is_success() => return Ok(()),
            Ok(status) if status.is_server_error() => answered(status),
            Ok(status) if status.is_redirection() => {
                return Err(format!("{}; redirects are not followed", answered(status)));
            }
            Ok(status) => return Err(answered(status)),
            Err(FailedTry::Final(why)) => return Err(why),
            Err(FailedTry::Passing(why)) => why,
        };
        tracing::info!(number, last, "a webhook was not accepted");
        if number < TRIES {
            sleep(pause.min(until.saturating_duration_since(Instant::now())));
            pause *= 2;
        }
    }
    Err(last)
}

fn answered(status: StatusCode) -> String {
    format!("it answered with {}", status.as_u16())
}

/// Why there is no answer to a document that was sent.
enum FailedTry {
    /// Another try may do better.
    Passing(String),
    /// The document has arrived, or never will: another try would deliver it twice, or not at all.
    Final(String),
}

/// Sends a document once. Returns the status of the answer, or why there is none.
fn attempt(
    webhook: &Webhook,
    key: Option<&str>,
    body: &str,
    limit: Duration,
) -> Result<StatusCode, FailedTry> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .timeout_global(Some(limit))
        .user_agent(concat!("orch/", env!("CARGO_PKG_VERSION")))
        .build();
    let request = Agent::new_with_config(config)
        .post(&webhook.url)
        .header("Content-Type", "application/json")
        .header(
            DELIVERY,
            &hexadecimal(&Sha256::digest(body.as_bytes())[..16]),
        );
    let request = match key {
        Some(key) => request.header(SIGNATURE, &format!("sha256={}", signature(key, body))),
        None => request,
    };
    match request.send(body) {
        Ok(answer) => Ok(answer.status()),
        Err(ureq::Error::Timeout(_)) => {
            Err(FailedTry::Passing("there was no answer in time".to_owned()))
        }
        // It answers only what it has got.
        Err(
            error @ (ureq::Error::Protocol(_)
            | ureq::Error::Http(_)
            | ureq::Error::LargeResponseHeader(..)),
        ) => {
            let why =
                format!("it received the document, but its answer is not valid HTTP: {error}");
            Err(FailedTry::Final(why))
        }
        Err(error) => Err(FailedTry::Passing(error.to_string())),
    }
}

/// The HMAC-SHA256 of a body, in hexadecimal digits.
fn signature(key: &str, body: &str) -> String {
    // A key of any length is one.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else {
        return String::new();
    };
    mac.update(body.as_bytes());
    hexadecimal(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second test case of RFC 4231.
    #[test]
    fn a_body_is_signed_as_others_sign_it() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature("Jefe", "what do ya want for nothing?"), expected);
    }
}
