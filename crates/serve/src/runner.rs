//! What executes commands for the clients of a server: the binary, which has the command line.

use crate::CommandDescriptions;
use orch_base::{AgentMark, Error, Period};
use orch_core::decide::ActorKind;
use orch_engine::drive::{Interruption, LaterWork};
use orch_engine::survey::{Caller, TaskRef, Workspace};
use orch_view::layout::one_line;

/// The most characters of a client's name in a record.
const NAME: usize = 60;

/// Executes command lines where the server was started.
pub trait CommandRunner: Send + Sync {
    /// The commands, as the command line defines them.
    fn commands(&self) -> CommandDescriptions;

    /// Who started the server.
    fn caller(&self) -> &Caller;

    /// The repository as it is now. Returns an error if there is none that can be read.
    fn workspace(&self) -> Result<Workspace, Error>;

    /// Executes a command with `--json` for a caller. `words` are those after the name of the program.
    fn execute(&self, caller: Caller, words: &[String], terms: CallTerms) -> Executed;

    /// An agent, whoever started the server. `client` names it in records, by its program where that is known, unless the
    /// environment names an agent. A person whom the environment names has only started the program.
    fn agent(&self, client: Option<&str>) -> Caller {
        let caller = self.caller().clone();
        let own = caller
            .name
            .clone()
            .filter(|_| caller.kind == ActorKind::Agent);
        let named = || {
            let named = client
                .map(one_line)
                .filter(|name| !name.trim().is_empty())?;
            let program = AgentMark::of_client(&named).map(|mark| mark.program.to_owned());
            Some(program.unwrap_or_else(|| named.chars().take(NAME).collect()))
        };
        Caller {
            kind: ActorKind::Agent,
            at_terminal: false,
            name: own.or_else(named),
            ..caller
        }
    }

    /// The task with exactly this id, and the repository as it is now. Returns an error if there is none.
    fn task(&self, id: &str) -> Result<(Workspace, TaskRef), Error> {
        let mut workspace = self.workspace()?;
        workspace.take_whole_ids_alone();
        let task = workspace.finder().task(id)?;
        Ok((workspace, task))
    }
}

/// How a command of a client differs from one that is typed.
#[derive(Clone, Default)]
pub struct CallTerms {
    /// Interrupts the command; by default signals to the process do.
    pub interruption: Option<Interruption>,
    /// Whether a task is named by its whole id alone.
    pub whole_ids: bool,
    /// How long the call has waited already. It is deducted from what the command may wait for locks.
    pub waited: Period,
    /// Receives the work that follows the answer; by default the command does it before it answers.
    pub later: Option<LaterWork>,
}

/// What a command has done.
pub struct Executed {
    /// The exit code that its process would have.
    pub exit: u8,
    /// What it printed: one document. A command that fails prints one of the kind `error`.
    pub printed: String,
    /// Why it failed.
    pub error: Option<Error>,
}
