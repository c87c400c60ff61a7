//! Findings as workflow commands of GitHub Actions, which displays them at their lines.

use crate::layout::visible;
use orch_base::{Diagnostic, Severity};

/// One `::error …::message` line per finding.
#[must_use]
pub fn github(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(annotation).collect()
}

fn annotation(diagnostic: &Diagnostic) -> String {
    let command = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(place) = &diagnostic.place {
        properties.push(format!("file={}", property(&place.path)));
        if let Some(line) = place.line {
            properties.push(format!("line={line}"));
            properties.extend(place.column.map(|column| format!("col={column}")));
        }
    }
    properties.push(format!("title={}", property(diagnostic.code.as_str())));
    let mut message = diagnostic.message.clone();
    if let Some(hint) = &diagnostic.hint {
        message.push_str(&format!("\nhint: {hint}"));
    }
    format!("::{command} {}::{}\n", properties.join(","), data(&message))
}

/// Escapes the message; `%` first, because it introduces every escape. Other control characters would reach the
/// terminal that shows the log.
fn data(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        shown.push(match c {
            '\r' | '\n' | '\t' => c,
            _ => visible(c),
        });
    }
    shown
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property, which also ends at `:` and `,`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::{Code, Place};

    #[test]
    fn escapes_what_would_end_a_property_or_a_line() {
        let place = Place {
            path: "a,b:c%\nd".to_owned(),
            line: Some(3),
            column: Some(5),
            ..Place::default()
        };
        let finding = Diagnostic::error(Code::JsonSyntax, "100 % wrong\n::error::forged")
            .at(place)
            .hint("fix it");
        assert_eq!(
            github(&[finding]),
            "::error file=a%2Cb%3Ac%25%0Ad,line=3,col=5,title=json-syntax::100 %25 wrong%0A::error::forged%0Ahint: fix it\n"
        );
        let hostile = Diagnostic::note(Code::Empty, "\u{1b}[2J\u{9b}31mx\u{202e}y");
        let shown = github(&[hostile]);
        assert_eq!(
            shown,
            "::notice title=empty::\u{fffd}[2J\u{fffd}31mx\u{fffd}y\n"
        );
        assert_eq!(
            github(&[Diagnostic::note(Code::Empty, "y")]),
            "::notice title=empty::y\n"
        );
    }
}
