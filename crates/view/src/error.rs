//! The JSON envelope of a failure.

use super::Advice;
use orch_base::{Code, Hint};
use serde::Serialize;

/// What a command prints as JSON if it fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorView {
    /// What failed.
    pub error: FailureBody,
}

super::json::documents! { ErrorView = "error" }

/// What failed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailureBody {
    /// The stable code, in kebab-case.
    #[cfg_attr(test, schemars(extend("pattern" = "^[a-z0-9]+(-[a-z0-9]+)*$")))]
    pub code: String,
    /// What failed, one sentence.
    pub message: String,
    /// What to do about it.
    #[serde(flatten)]
    pub advice: Advice,
}

impl ErrorView {
    /// The envelope of one failure.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>, hint: Option<&Hint>) -> Self {
        let error = FailureBody {
            code: code.to_string(),
            message: message.into(),
            advice: hint.into(),
        };
        Self { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;

    #[test]
    fn is_the_documented_shape() {
        assert_eq!(
            line(&ErrorView::new(
                Code::UnknownTask,
                "there is no task t-9",
                Some(&Hint::from("see which there are: ").command(&["orch", "status"]))
            )),
            "{\"schemaVersion\":1,\"kind\":\"error\",\"error\":{\"code\":\"unknown-task\",\
             \"message\":\"there is no task t-9\",\"hint\":\"see which there are: orch status\",\
             \"commands\":[[\"orch\",\"status\"]]}}\n"
        );
    }
}
