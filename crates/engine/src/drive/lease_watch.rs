//! Asks the store of leases that clones share who holds what, again and again, beside a watch or a server.
//!
//! So a lease that nobody renews is watched until it ends, and whoever shows the tasks of this clone knows who holds them.

use crate::apply::Writer;
use crate::survey::{Caller, Error, Purpose, Workspace};
use orch_core::config::LeaseStoreKind;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How often the store is asked.
const OFTEN: Duration = Duration::from_secs(60);
/// How often it is asked at least, however short leases are.
const SHORTEST: Duration = Duration::from_secs(2);

/// Asks the store until it is dropped.
pub struct LeaseWatch {
    /// Nothing is sent; the thread ends when it is gone.
    _goes_on: Option<Sender<()>>,
}

impl LeaseWatch {
    /// Asks the store of the repository around a directory, for the caller; not if clones share none, or nobody has trusted
    /// it.
    #[must_use]
    pub fn begin(start: PathBuf, caller: Caller) -> Self {
        let (goes_on, is_over) = channel::<()>();
        let ask = move || {
            while let Ok(Some(pause)) = ask_once(&start, &caller) {
                if is_over.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name("leases".to_owned()).spawn(ask);
        Self {
            _goes_on: started.is_ok().then_some(goes_on),
        }
    }
}

/// Asks the store once. Returns after how long to ask again; `None` if there is none. Returns an error if the workspace cannot
/// be opened.
fn ask_once(start: &std::path::Path, caller: &Caller) -> Result<Option<Duration>, Error> {
    let environment = caller.environment.clone();
    let workspace = Workspace::open_for(Purpose::Look, start, environment, None)?;
    let leases = &workspace.reader.settings.config.leases;
    if leases.store == LeaseStoreKind::Local {
        return Ok(None);
    }
    if let Err(error) = Writer::new(&workspace, caller).taking().ask_store() {
        tracing::info!(error = error.logged(), "the store of leases is not asked");
    }
    let length = Duration::from_millis(leases.length.milliseconds());
    Ok(Some(OFTEN.min(length / 4).max(SHORTEST)))
}
