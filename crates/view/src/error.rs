//! The JSON envelope of a failure.

use super::{Advice, SourcePlace};
use orch_base::Error;
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
    /// What failed, one sentence. The place comes first, if it is known.
    pub message: String,
    /// Where it is, if it is in a file.
    pub place: Option<SourcePlace>,
    /// What to do about it.
    #[serde(flatten)]
    pub advice: Advice,
}

impl ErrorView {
    /// The envelope of one failure.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        let error = FailureBody {
            code: error.code().to_string(),
            message: error.to_string(),
            place: error.place().map(SourcePlace::from),
            advice: error.hint().into(),
        };
        Self { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;
    use orch_base::{Code, Diagnostic, Hint, Place};

    #[test]
    fn is_the_documented_shape() {
        let hint = Hint::from("see which there are: ").command(&["orch", "status"]);
        let error = Error::new(Code::UnknownTask, "there is no task t-9").with_hint(hint);
        assert_eq!(
            line(&ErrorView::of(&error)),
            "{\"schemaVersion\":1,\"kind\":\"error\",\"error\":{\"code\":\"unknown-task\",\
             \"message\":\"there is no task t-9\",\"place\":null,\"hint\":\"see which there are: orch status\",\
             \"commands\":[[\"orch\",\"status\"]]}}\n"
        );
        let place = Place::at("orch.toml", "[[root]]\npath = 1\n", 16, 1);
        let error = Diagnostic::error(Code::ConfigValue, "expected a string").at(place);
        assert_eq!(
            line(&ErrorView::of(&error.into())),
            "{\"schemaVersion\":1,\"kind\":\"error\",\"error\":{\"code\":\"config-value\",\
             \"message\":\"orch.toml:2:8: expected a string\",\
             \"place\":{\"path\":\"orch.toml\",\"line\":2,\"column\":8,\"source\":\"path = 1\"},\
             \"hint\":null,\"commands\":[]}}\n"
        );
    }
}
