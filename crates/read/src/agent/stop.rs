//! Why an agent program cannot work: by the status of HTTP, the type of the error, or the words of its message.

use orch_base::words;
use serde_json::Value;

words! {
    /// Why an agent program cannot work.
    pub enum AgentStop {
        /// A limit of requests or of a subscription is reached.
        Limit = "limit",
        /// The service has too much to do, or is down for a moment.
        Overloaded = "overloaded",
        /// The service cannot be reached.
        NoNetwork = "no-network",
        /// The program is not signed in, or its key is refused.
        NotSignedIn = "not-signed-in",
        /// The account may not do this.
        NotAllowed = "not-allowed",
        /// The model, or the address of the service, does not exist.
        NotFound = "not-found",
        /// The account has no credit.
        NoCredit = "no-credit",
        /// The program does not know an option of its command line.
        UnknownOption = "unknown-option",
        /// The conversation is longer than the model can read.
        ContextTooLong = "context-too-long",
    }
}

/// The words for the types of errors.
const TYPES: [(AgentStop, &[&str]); 8] = [
    (
        AgentStop::Limit,
        &[
            "rate_limit",
            "rate_limit_error",
            "usage_limit_reached",
            "resource_exhausted",
        ],
    ),
    (
        AgentStop::Overloaded,
        &["overloaded", "overloaded_error", "server_error"],
    ),
    (
        AgentStop::NotSignedIn,
        &[
            "authentication",
            "authentication_error",
            "authentication_failed",
            "providerautherror",
            "fatalauthenticationerror",
        ],
    ),
    (
        AgentStop::NotAllowed,
        &["authorization", "permission_error", "oauth_org_not_allowed"],
    ),
    (
        AgentStop::NotFound,
        &[
            "not_found_error",
            "model_not_found",
            "providermodelnotfounderror",
        ],
    ),
    (
        AgentStop::NoCredit,
        &["billing_error", "insufficient_quota", "quota"],
    ),
    (
        AgentStop::ContextTooLong,
        &[
            "context_limit",
            "context_length_exceeded",
            "contextoverflowerror",
        ],
    ),
    (AgentStop::UnknownOption, &["unknown_option"]),
];

/// The words of messages, in small letters; a star stands for anything. The first that a message contains counts.
const PHRASES: [(AgentStop, &[&str]); 9] = [
    // Google says this of every quota, whoever has to pay for it.
    (
        AgentStop::Limit,
        &["resource_exhausted", "resource has been exhausted"],
    ),
    (
        AgentStop::NoCredit,
        &[
            "credit balance is too low",
            "insufficient_quota",
            "insufficient credit",
            "insufficient balance",
            "insufficient funds",
            "out of credit",
            "billing details",
            "billing_error",
            "payment required",
        ],
    ),
    (
        AgentStop::ContextTooLong,
        &[
            "prompt is too long",
            "context_length_exceeded",
            "context length",
            "context window",
            "maximum context",
            "input is too long",
            "input token count",
            "maximum number of tokens",
        ],
    ),
    (
        AgentStop::Limit,
        &[
            "hit your*limit",
            "usage limit",
            "rate limit",
            "rate_limit",
            "ratelimit",
            "limit reached",
            "too many requests",
            "quota exceeded",
            "exceeded your current quota",
            "quota will reset",
            "exhausted your",
        ],
    ),
    (
        AgentStop::NotSignedIn,
        &[
            "invalid api key",
            "invalid x-api-key",
            "invalid_api_key",
            "incorrect api key",
            "api key not valid",
            "not logged in",
            "please run /login",
            "authentication_error",
            "oauth token",
            "unauthorized",
            "set an auth method",
            "failed to authenticate",
            "no authentication information",
            "unauthenticated",
            "invalid authentication",
        ],
    ),
    (
        AgentStop::NotFound,
        &[
            "not_found_error",
            "model_not_found",
            "issue with the selected model",
            "model not found",
            "does not exist or you do not have access",
            "is not found for api version",
            "model is not supported",
        ],
    ),
    (
        AgentStop::NotAllowed,
        &[
            "permission_error",
            "permission_denied",
            "forbidden",
            "organization has been disabled",
            "not have access",
        ],
    ),
    (
        AgentStop::Overloaded,
        &[
            "overloaded",
            "at capacity",
            "high demand",
            "service unavailable",
            "internal server error",
            "bad gateway",
            "gateway timeout",
            "server had an error",
        ],
    ),
    (
        AgentStop::NoNetwork,
        &[
            "econnrefused",
            "econnreset",
            "connectionrefused",
            "enotfound",
            "eai_again",
            "etimedout",
            "ehostunreach",
            "enetunreach",
            "getaddrinfo",
            "connection error",
            "connection refused",
            "connection reset",
            "connection timed out",
            "connection failed",
            "unable to connect",
            "fetch failed",
            "network error",
            "network is unreachable",
            "stream disconnected",
            "error sending request",
            "socket hang up",
            "could not resolve host",
            "dns error",
            "request timed out",
            "failedtoopensocket",
        ],
    ),
];

/// How many bytes of a message may say what is wrong: what follows is no longer about it.
const TOLD: usize = 2_000;

impl AgentStop {
    /// Why a program cannot work that reports an error with this text, status of HTTP and words for its type. A limit
    /// that is told when it passes is one, whatever else is said. `None` if a further try may succeed at once.
    pub(super) fn of(
        text: &str,
        status: Option<u16>,
        types: &[String],
        has_reset: bool,
    ) -> Option<Self> {
        let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= TOLD);
        let text = text[..end.unwrap_or(text.len())].to_lowercase();
        let by_type = || {
            let words = types.iter().map(|word| word.to_lowercase());
            words
                .filter_map(|word| listed(&TYPES, |known| word == known))
                .next()
        };
        let by_phrase = || listed(&PHRASES, |phrase| contains(&text, phrase));
        let status = status.or_else(|| status_in(&text));
        let by_status = match status {
            Some(401) => Some(Self::NotSignedIn),
            Some(402) => Some(Self::NoCredit),
            Some(403) => Some(Self::NotAllowed),
            Some(404) => Some(Self::NotFound),
            Some(413) => Some(Self::ContextTooLong),
            Some(429) => by_phrase()
                .filter(|stop| *stop == Self::NoCredit)
                .or(Some(Self::Limit)),
            Some(500..=599) => Some(Self::Overloaded),
            _ => None,
        };
        let found = by_status.or_else(by_type).or_else(by_phrase);
        match found {
            Some(Self::NoCredit | Self::Overloaded) if has_reset => Some(Self::Limit),
            found => found,
        }
    }

    /// Whether it passes by itself.
    #[must_use]
    pub fn passes(self) -> bool {
        matches!(self, Self::Limit | Self::Overloaded | Self::NoNetwork)
    }

    /// What it means for the program, as part of a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Limit => "has reached a limit",
            Self::Overloaded => "found its service overloaded",
            Self::NoNetwork => "could not reach its service",
            Self::NotSignedIn => "is not signed in",
            Self::NotAllowed => "is not allowed to work",
            Self::NotFound => "asked for what does not exist",
            Self::NoCredit => "has no credit",
            Self::UnknownOption => "does not know an option of its command line",
            Self::ContextTooLong => "was given more than its model can read",
        }
    }
}

/// The first row with a word for which this holds.
fn listed(rows: &[(AgentStop, &[&str])], holds: impl Fn(&str) -> bool) -> Option<AgentStop> {
    let mut rows = rows.iter();
    let row = rows.find(|(_, words)| words.iter().any(|word| holds(word)))?;
    Some(row.0)
}

/// Whether a text contains the parts of a phrase between its stars, in their order.
fn contains(text: &str, phrase: &str) -> bool {
    let mut rest = text;
    for part in phrase.split('*') {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

/// The status of HTTP that a text in small letters names, as in `api error: 529` or `last status: 429`.
fn status_in(text: &str) -> Option<u16> {
    const BEFORE: [&str; 6] = ["error", "status", "code", "http", "http/1.1", "http/2"];
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '/' | '.' | '_');
    let words: Vec<&str> = text
        .split(|letter| !is_part(letter))
        .filter(|word| !word.is_empty())
        .collect();
    let pairs = words.windows(2);
    let named = pairs.filter(|pair| BEFORE.contains(&pair[0]) && pair[1].len() == 3);
    let mut found = named.filter_map(|pair| pair[1].parse().ok());
    found.find(|status| (400..600).contains(status))
}

/// Whether a line is that of a parser of options that refuses a command line.
pub(super) fn is_unknown_option(line: &str) -> bool {
    let line = line.to_lowercase();
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    begins_as(
        line,
        &[
            "unknown option",
            "unknown argument",
            "unexpected argument",
            "unrecognized option",
            "unrecognized argument",
            "invalid option",
            "found argument",
            "option '*argument missing",
            "a value is required for",
        ],
    )
}

/// Whether a line begins with the first part of one of these phrases, and contains the others.
fn begins_as(line: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| {
        let begin = phrase.split('*').next().unwrap_or_default();
        line.starts_with(begin) && contains(line, phrase)
    })
}

/// Whether a line of plain text announces that an agent program cannot work, in the words that it uses at the beginning of
/// a line, capital letters included. Those that other programs may use, too, count only with what the program puts before
/// them.
pub(super) fn is_announced(line: &str) -> bool {
    const ALONE: [&str; 10] = [
        "You've hit your*limit",
        "You\u{2019}ve hit your*limit",
        "You have hit your*limit",
        "Claude AI usage limit reached",
        "Claude usage limit reached",
        "5-hour limit reached",
        "Weekly limit reached",
        "Session limit reached",
        "Credit balance is too low",
        "Prompt is too long",
    ];
    const WHOLE: [&str; 8] = [
        "Invalid API key ·*/login",
        "Not logged in ·*/login",
        "API Error: ",
        "[API Error: ",
        "ERROR: unexpected status ",
        "ERROR: exceeded retry limit",
        "ERROR: stream disconnected before",
        "ERROR: Quota exceeded. Check your plan",
    ];
    let alone = line.strip_prefix("ERROR: ").unwrap_or(line);
    begins_as(alone, &ALONE) || begins_as(line, &WHOLE)
}

/// The message of an error, without the JSON of the service in which it may be wrapped.
pub(super) fn message_in(text: &str) -> String {
    let text = text.trim();
    let Some(at) = text.find('{') else {
        return text.to_owned();
    };
    let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
    let Some(Ok(value)) = values.next() else {
        return text.to_owned();
    };
    let places = ["/error/message", "/message", "/error/error/message"];
    let said = places
        .iter()
        .find_map(|place| value.pointer(place)?.as_str());
    let before = text[..at].trim().trim_start_matches('[');
    match said {
        // The message of a service may itself be JSON.
        Some(said) => format!("{before} {}", message_in(said)).trim().to_owned(),
        None => before.trim_end_matches(':').to_owned(),
    }
}
