//! Error codes: `orch help CODE`, and the generated page `docs/codes.md`.

use super::prelude::{Context, ExitCode, Failure, Ui};
use orch_base::Code;
use orch_view::CodeView;

/// Prints the explanation of a code.
pub(super) fn explain(code: Code, context: &Context, ui: &Ui) -> Result<(), Failure> {
    let view = view(code);
    if context.global.json {
        return Ok(ui.document(&view)?);
    }
    Ok(context.page(ui, &view.text(ui.width))?)
}

/// The text of `docs/codes.md`: every code with its explanation.
#[must_use]
pub fn codes() -> String {
    let mut page = String::from(
        "# Codes\n\n\
         Every error and every finding has a code. The code is stable, for scripts; the message may change.\n\
         `orch help CODE` prints the same explanation. This page is generated from the program; a test keeps\n\
         it true.\n",
    );
    for code in Code::ALL {
        page.push('\n');
        page.push_str(&view(*code).markdown());
    }
    page
}

fn view(code: Code) -> CodeView {
    CodeView::of(code, ExitCode::from(code.class()) as u8)
}
