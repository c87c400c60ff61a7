//! What whoever asks may order, which pages say before anything is typed.

use super::gate::Asker;
use orch_base::Hint;
use orch_engine::apply::Writer;
use orch_engine::survey::{Caller, Workspace};
use orch_view::html::Rights;

/// Why a server takes no orders that need a person, and what helps; `None` if it takes them. `caller` has started it.
pub(super) fn refused_orders(workspace: &Workspace, caller: &Caller) -> Option<(String, Hint)> {
    let refusal = match Writer::new(workspace, caller).authority().refusal() {
        Ok(refusal) => refusal?,
        Err(error) => {
            let hint = error.hint().cloned().unwrap_or_default();
            return Some((format!("This server takes no orders: {error}."), hint));
        }
    };
    let why = format!(
        "This server takes no orders that need a person: it was started by {}.",
        refusal.who
    );
    let hint = if refusal.lacks_signature {
        Hint::from("Set up signatures that git verifies; ").command(&["orch", "doctor"])
    } else {
        Hint::from("Stop it, and start it at a terminal: ").command(&["orch", "serve"])
    };
    Some((why, hint))
}

/// What whoever asks may do. `caller` is what the asker counts as.
pub(super) fn rights(
    workspace: &Workspace,
    caller: &Caller,
    asker: &Asker,
    is_read_only: bool,
) -> Rights {
    if *asker != Asker::Person {
        let why = "This browser is signed in with the token of agents, which gives no orders.";
        let hint = "Open the URL that `orch serve` printed.";
        return Rights {
            may_write: false,
            refusal: Some((why.to_owned(), hint.into())),
        };
    }
    if is_read_only {
        let why = "This server takes no orders: it was started with `--read-only`.";
        let hint = Hint::from("To decide here, start it again: ").command(&["orch", "serve"]);
        return Rights {
            may_write: false,
            refusal: Some((why.to_owned(), hint)),
        };
    }
    Rights {
        may_write: true,
        refusal: refused_orders(workspace, caller),
    }
}
