//! The language server: what `orch` knows of workflow documents, settings and artifacts, while they are typed.
//!
//! It decides nothing. Each answer is one of the compiler, the reader of the settings or the readers of artifacts, for the
//! texts as they are in the editor. One thread reads all messages that are there before it checks anything, so what is
//! superseded is never computed; the findings that take a moment are published first, those about the cases of rules once
//! nothing else waits.

mod edits;
mod keys;
mod names;
mod project;
mod server;
mod text;

pub use server::serve;

use orch_base::Error;
use orch_git::Environment;

/// Serves a client on stdin and stdout until it says goodbye. Returns an error if the connection breaks.
pub fn serve_on_stdio(environment: Environment, version: &'static str) -> Result<(), Error> {
    let (connection, threads) = lsp_server::Connection::stdio();
    serve(&connection, environment, version)?;
    drop(connection);
    threads.join().map_err(|error| {
        let message = format!("what the editor sent cannot be read: {error}");
        Error::new(orch_base::Code::Io, message)
    })
}
