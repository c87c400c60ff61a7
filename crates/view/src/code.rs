//! The explanation of a code, for `orch help CODE` and for the page of all codes.

use super::layout::paragraph;
use orch_base::{Class, Code};
use serde::Serialize;

/// The explanation of one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CodeView {
    /// The code.
    pub code: &'static str,
    /// What the code means.
    pub meaning: &'static str,
    /// How the situation arises.
    pub cause: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// The exit code of a command that ends with this code; null if it is a finding about a file.
    pub exit_code: Option<u8>,
}

super::json::documents! { CodeView = "code" }

impl CodeView {
    /// The explanation of a code whose errors end a command with the exit code `exit`.
    #[must_use]
    pub fn of(code: Code, exit: u8) -> Self {
        let entry = code.entry();
        Self {
            code: entry.text,
            meaning: entry.meaning,
            cause: entry.cause,
            remedy: entry.remedy,
            exit_code: (entry.class != Class::Finding).then_some(exit),
        }
    }

    /// The explanation for a terminal of this width.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let mut text = format!("{}\n\n", self.code);
        paragraph(&mut text, self.meaning, 2, 0, width);
        paragraph(&mut text, &format!("Cause: {}", self.cause), 2, 2, width);
        paragraph(
            &mut text,
            &format!("What to do: {}", self.remedy),
            2,
            2,
            width,
        );
        if let Some(exit) = self.exit_code {
            paragraph(&mut text, &format!("Exit code: {exit}"), 2, 2, width);
        }
        text
    }

    /// The explanation as a section of a Markdown page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let exit = self
            .exit_code
            .map(|exit| format!(" Exit code {exit}."))
            .unwrap_or_default();
        let Self {
            code,
            meaning,
            cause,
            remedy,
            ..
        } = self;
        format!("## `{code}`\n\n{meaning}{exit}\n\n*Cause:* {cause}\n\n*What to do:* {remedy}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_says_what_why_and_what_to_do() {
        let text = CodeView::of(Code::BranchMoved, 4).text(80);
        assert!(
            text.starts_with("branch-moved\n\n  The branch moved"),
            "{text}"
        );
        assert!(
            text.contains("\n  Cause: ") && text.contains("\n  What to do: "),
            "{text}"
        );
        assert!(text.ends_with("  Exit code: 4\n"), "{text}");
        assert_eq!(CodeView::of(Code::JsonSyntax, 2).exit_code, None);
    }
}
