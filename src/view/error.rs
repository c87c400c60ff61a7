//! The envelope of a failure.

use super::json::SCHEMA_VERSION;
use crate::base::Code;
use serde::Serialize;

/// What a command prints as JSON when it could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView {
    /// The version of this shape.
    pub schema_version: u32,
    /// `error`.
    pub kind: &'static str,
    /// What went wrong.
    pub error: FailureBody,
}

/// What went wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureBody {
    /// A stable kebab-case code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do about it; often a command to type.
    pub hint: Option<String>,
}

impl ErrorView {
    /// The envelope of one failure.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>, hint: Option<String>) -> Self {
        let error = FailureBody { code: code.to_string(), message: message.into(), hint };
        Self { schema_version: SCHEMA_VERSION, kind: "error", error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::line;

    #[test]
    fn is_the_documented_shape() {
        assert_eq!(
            line(&ErrorView::new(Code::UnknownTask, "there is no task t-9", Some("orch status".to_owned()))),
            "{\"schemaVersion\":1,\"kind\":\"error\",\"error\":{\"code\":\"unknown-task\",\
             \"message\":\"there is no task t-9\",\"hint\":\"orch status\"}}\n"
        );
    }
}
