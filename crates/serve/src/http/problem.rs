//! Problem documents (RFC 9457), and which status of HTTP an error has.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use orch_base::{Class, Code, Diagnostic, Error};
use orch_view::{Advice, SourcePlace};
use serde_json::{Value, json};

/// The media type of a problem document.
pub(super) const MEDIA: &str = "application/problem+json";

/// The status of an error with this code.
pub fn status_of(code: Code) -> StatusCode {
    match code {
        Code::NoToken => return StatusCode::UNAUTHORIZED,
        Code::ForeignRequest | Code::ServerReadOnly => return StatusCode::FORBIDDEN,
        Code::UnknownArtifact
        | Code::UnknownPhase
        | Code::UnknownTask
        | Code::UnknownRevision
        | Code::UnknownSchema
        | Code::UnknownRoute
        | Code::WorkflowMissing => return StatusCode::NOT_FOUND,
        Code::NoExecutor | Code::NoRoot | Code::TaskExists => return StatusCode::CONFLICT,
        Code::MethodNotAllowed => return StatusCode::METHOD_NOT_ALLOWED,
        Code::RequestTooSlow => return StatusCode::REQUEST_TIMEOUT,
        Code::TaskChanged => return StatusCode::PRECONDITION_FAILED,
        Code::RequestTooLarge => return StatusCode::PAYLOAD_TOO_LARGE,
        // A file of the repository is wrong, not the request.
        Code::ConfigSyntax
        | Code::ConfigUnknownKey
        | Code::ConfigUnreadable
        | Code::ConfigValue
        | Code::RunUnreadable
        | Code::WorkflowDuplicate
        | Code::WorkflowEmpty
        | Code::WorkflowFaulty
        | Code::WorkflowMissingAgent
        | Code::WorkflowMissingKey
        | Code::WorkflowMissingSchema
        | Code::WorkflowName
        | Code::WorkflowOutcome
        | Code::WorkflowSyntax
        | Code::WorkflowUnknownAction
        | Code::WorkflowUnknownArtifact
        | Code::WorkflowUnknownAsk
        | Code::WorkflowUnknownKey
        | Code::WorkflowUnknownPhase
        | Code::WorkflowUnknownRule
        | Code::WorkflowValue => return StatusCode::UNPROCESSABLE_ENTITY,
        Code::BodyNotJson => return StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::AnswerLate => return StatusCode::GATEWAY_TIMEOUT,
        _ => {}
    }
    match code.class() {
        Class::Usage => StatusCode::BAD_REQUEST,
        Class::Person => StatusCode::FORBIDDEN,
        Class::No | Class::Moved | Class::NotNow | Class::Held => StatusCode::CONFLICT,
        Class::Finding => StatusCode::UNPROCESSABLE_ENTITY,
        Class::Busy | Class::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
        Class::Fault => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The answer to a request that failed.
pub fn problem(error: Error) -> Response {
    let mut response = refusal(error.code(), MEDIA, document(error.clone()).to_string());
    response.extensions_mut().insert(ShownError(error));
    response
}

/// What a problem document is about, for a browser that asked for a page.
#[derive(Clone)]
pub(super) struct ShownError(pub Error);

/// The answer to a request that failed with this code, in the form of one API.
pub fn refusal(code: Code, media: &'static str, body: String) -> Response {
    let status = status_of(code);
    let media = [(CONTENT_TYPE, HeaderValue::from_static(media))];
    let mut response = (status, media, body).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// The problem document of an error.
pub(super) fn document(error: Error) -> Value {
    let Diagnostic {
        code,
        place,
        message,
        hint,
        ..
    } = error.into();
    let place = place.as_ref().map(SourcePlace::from);
    Advice::from(hint).within(json!({
        "type": format!("/api/v1/codes/{code}"),
        "title": code.entry().meaning,
        "status": status_of(code).as_u16(),
        "detail": message,
        "code": code.as_str(),
        "place": place,
    }))
}

/// The schema of a problem document.
pub(super) fn schema() -> Value {
    let number = || json!({"type": ["integer", "null"], "minimum": 1});
    json!({
        "description": "Why a request failed (RFC 9457).",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "hint", "commands", "place"],
        "properties": {
            "type": {"type": "string", "format": "uri-reference", "description": "Where the code is explained."},
            "title": {"type": "string", "description": "What the code means."},
            "status": {"type": "integer", "description": "The status of the answer."},
            "detail": {"type": "string", "description": "What failed, one sentence."},
            "code": {"type": "string", "description": "The stable code, in kebab-case."},
            "hint": {"type": ["string", "null"], "description": "What to do about it."},
            "commands": {
                "description": "The arguments of each command in the hint, in order.",
                "type": "array",
                "items": {"type": "array", "items": {"type": "string"}},
            },
            "place": {
                "description": "The file that is wrong, or `body` for the body of the request, and where.",
                "type": ["object", "null"],
                "required": ["path", "line", "column", "source"],
                "properties": {
                    "path": {"type": "string"},
                    "line": number(),
                    "column": number(),
                    "source": {"type": ["string", "null"], "description": "The line, if it is known."},
                },
                "additionalProperties": false,
            },
        },
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::{Hint, Place};

    #[test]
    fn a_problem_says_what_the_command_line_says() {
        let mut diagnostic = Diagnostic::error(Code::ByHuman, "an override needs a person")
            .hint(Hint::from("ask: ").command(&["orch", "next", "t"]));
        diagnostic.place = Some(Place::on_line("a.md", "a\nb\nc\n", 3, None));
        assert_eq!(
            document(diagnostic.into()),
            json!({
                "type": "/api/v1/codes/by-human", "title": Code::ByHuman.entry().meaning, "status": 403,
                "detail": "an override needs a person", "code": "by-human", "hint": "ask: orch next t", "commands": [["orch", "next", "t"]],
                "place": {"path": "a.md", "line": 3, "column": null, "source": "c"},
            })
        );
    }

    #[test]
    fn the_status_follows_from_the_code() {
        for (code, status) in [
            (Code::NoToken, 401),
            (Code::UnknownTask, 404),
            (Code::UnknownPhase, 404),
            (Code::TaskExists, 409),
            (Code::Usage, 400),
            (Code::NotEnabled, 409),
            (Code::BranchMoved, 409),
            (Code::BranchProtected, 409),
            (Code::TaskChanged, 412),
            (Code::JsonSyntax, 422),
            (Code::ConfigSyntax, 422),
            (Code::WorkflowFaulty, 422),
            (Code::Busy, 503),
            (Code::AnswerLate, 504),
            (Code::Io, 500),
        ] {
            assert_eq!(status_of(code).as_u16(), status, "{code}");
        }
    }
}
