//! `orch hook agent`: the hooks of agent programs, which `orch init --agent` registers.
//!
//! Each reads one JSON document on stdin and answers with one on stdout. A hook never fails: the exit code 1 would
//! be a notice that nobody acts on, and 2 would block the agent without a decision. What goes wrong, such as input
//! that cannot be read, is told to the person as a message, and the agent continues: what orch records is protected
//! without these hooks, too.

mod agent_task;
mod guard;
mod input;
mod stops;
mod writing_tools;

use super::super::init::AgentProgram;
use super::super::prelude::{Args, Context, ExitCode, Failure, Ui};
use agent_task::AgentTask;
use clap::Subcommand;
use guard::refusal;
use input::{
    AgentSession, HookDialect, HookInput, SessionStartInput, StatuslineInput, StopInput, ToolInput,
    UserPromptInput,
};
use orch_base::{AgentMark, Code, Error};
use orch_core::workflow::Owner;
use orch_engine::survey::{Sight, Workspace};
use orch_files::{Directory, io_error};
use orch_git::durable::parent;
use orch_view::{Briefs, Suggestion, Suggestions};
use serde_json::json;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use stops::may_block;
pub use writing_tools::WritingTools;

/// The arguments of every hook.
#[derive(Debug, Clone, Args)]
pub struct AgentHookArgs {
    #[command(subcommand)]
    event: AgentHook,
    /// The program that calls the hook, unless its environment says so.
    #[arg(long, value_name = "NAME", global = true)]
    program: Option<AgentProgram>,
}

/// The hooks, by the names of the events.
#[derive(Debug, Clone, Subcommand)]
pub enum AgentHook {
    /// Tell the agent where its task stands, and make its orders those of an agent.
    SessionStart(SessionArgs),
    /// Tell the agent where its task stands before it reads a prompt. `orch init` does not register it.
    UserPromptSubmit,
    /// Refuse to write a file that the agent may not write.
    PreToolUse,
    /// Keep the agent from stopping while the rules wait for it.
    Stop(StopHookArgs),
    /// Print a line about the task.
    Statusline,
}

/// The options of the hook at the start of a session.
#[derive(Debug, Clone, Args)]
pub struct SessionArgs {
    /// A file of shell commands that the program executes before each of the agent's.
    #[arg(long, value_name = "FILE")]
    env_file: Option<String>,
}

/// The options of the hook at the end of a turn.
#[derive(Debug, Clone, Args)]
pub struct StopHookArgs {
    /// Block at most N times while nothing changes.
    #[arg(long, value_name = "N", default_value_t = 3)]
    times: u32,
}

/// How much input is read: a tool may write a large file.
const LONGEST: u64 = 64 << 20;

/// The shell command that makes the orders of the agent's commands those of an agent: of the one that a run names, or
/// else of the program, which is the only one that executes such a file.
fn environment() -> String {
    let program = AgentMark::CLAUDE_CODE.program;
    format!(
        "case \"${{ORCH_ACTOR-}}\" in agent:*) ;; *) export ORCH_ACTOR='agent:{program}' ;; esac\n"
    )
}

/// What the program is told.
enum HookReply {
    Nothing,
    /// What the agent has to know.
    Context(&'static str, String),
    /// Why the tool may not be used.
    Deny(String),
    /// What the agent has to do before it stops.
    Block(String),
    /// A line to show.
    Line(String),
}

impl HookReply {
    /// The text to print, as the program reads it; JSON except for a line.
    fn text(&self, dialect: HookDialect) -> Option<String> {
        let document = match (self, dialect) {
            (Self::Nothing, _) => return None,
            (Self::Line(line), _) => return Some(format!("{line}\n")),
            (Self::Context(_, text), HookDialect::Copilot) => json!({"additionalContext": text}),
            (Self::Context(event, text), _) => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            }
            (Self::Deny(reason), HookDialect::Copilot) => {
                json!({"permissionDecision": "deny", "permissionDecisionReason": reason})
            }
            (Self::Deny(reason), HookDialect::Gemini) => {
                json!({"decision": "deny", "reason": reason})
            }
            (Self::Deny(reason), HookDialect::Claude) => json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }}),
            (Self::Block(reason), _) => json!({"decision": "block", "reason": reason}),
        };
        Some(format!("{document}\n"))
    }
}

/// Answers an event. Returns an error only if stdout cannot be written.
pub fn run(hook: &AgentHookArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let answered = input().and_then(|text| {
        let input = HookInput::parse(&text)?;
        Ok(reply(hook, &input, context)?.text(input.dialect))
    });
    let text = match answered {
        Ok(text) => text,
        // A status line has no place for a problem.
        Err(_) if matches!(hook.event, AgentHook::Statusline) => None,
        Err(error) => Some(format!(
            "{}\n",
            json!({"systemMessage": format!("orch: {error}")})
        )),
    };
    text.map_or(Ok(()), |text| ui.answer(&text))?;
    Ok(ExitCode::Fine)
}

fn input() -> Result<String, Error> {
    let mut text = String::new();
    let read = io::stdin().lock().take(LONGEST).read_to_string(&mut text);
    read.map_err(|error| {
        Error::new(
            Code::BadHookInput,
            format!("the input of the hook cannot be read: {error}"),
        )
    })?;
    Ok(text)
}

fn reply(hook: &AgentHookArgs, input: &HookInput, context: &Context) -> Result<HookReply, Error> {
    let own = context.caller.program();
    let named = || hook.program.and_then(AgentProgram::recorded);
    let announce = |session: &AgentSession| {
        announce(session.cwd.as_deref(), own.or_else(named), context);
    };
    match &hook.event {
        AgentHook::SessionStart(args) => {
            let input: SessionStartInput = input.read()?;
            announce(&input.session);
            args.env_file
                .as_deref()
                .map(Path::new)
                .map_or(Ok(()), set_environment)?;
            standing("SessionStart", input.session.cwd.as_deref(), context)
        }
        AgentHook::UserPromptSubmit => {
            let input: UserPromptInput = input.read()?;
            announce(&input.session);
            standing("UserPromptSubmit", input.session.cwd.as_deref(), context)
        }
        AgentHook::PreToolUse => {
            let input: ToolInput = input.read()?;
            announce(&input.session);
            let cwd = input.session.cwd.as_deref();
            for file in input.files() {
                let path = cwd.unwrap_or(&context.start).join(file);
                if let Some(reason) = refusal(&path, cwd, context)? {
                    return Ok(HookReply::Deny(reason));
                }
            }
            Ok(HookReply::Nothing)
        }
        AgentHook::Stop(args) => {
            let input: StopInput = input.read()?;
            announce(&input.session);
            stop(&input, args.times, context)
        }
        AgentHook::Statusline => {
            let input: StatuslineInput = input.read()?;
            let workspace = opened(input.directory(), context)?;
            // It is drawn again and again, so it looks at no task but one that is named.
            let Some(task) = AgentTask::named(&workspace, input.directory(), context)? else {
                return Ok(HookReply::Nothing);
            };
            let sight = workspace.look(&task)?;
            let suggestion = Suggestion::of(&workspace.reader().subject(&sight));
            Ok(HookReply::Line(orch_view::standing(
                &suggestion,
                orch_view::Paint { colour: false },
            )))
        }
    }
}

/// The repository around the directory of the agent. Returns an error if it cannot be opened.
fn opened(cwd: Option<&Path>, context: &Context) -> Result<Workspace, Error> {
    let start = cwd.filter(|cwd| cwd.is_dir()).unwrap_or(&context.start);
    Workspace::open_to_look(start, context.caller.environment.clone())
}

/// Keeps that the program which has called the hook is an agent, with all that it starts. Failing to keep it keeps
/// nobody from working.
fn announce(cwd: Option<&Path>, program: Option<&str>, context: &Context) {
    let kept = opened(cwd, context)
        .and_then(|workspace| workspace.callers().announce_agent(&context.caller, program));
    if let Err(error) = kept {
        tracing::warn!(
            error = error.logged(),
            "cannot keep that an agent has called a hook"
        );
    }
}

/// Where the task in use stands.
fn standing(
    event: &'static str,
    cwd: Option<&Path>,
    context: &Context,
) -> Result<HookReply, Error> {
    let workspace = opened(cwd, context)?;
    let text = match AgentTask::find(&workspace, cwd, context)? {
        AgentTask::One(sight) => brief(&workspace, &sight),
        AgentTask::Several(ids) => {
            let ids = ids.join(", ");
            format!(
                "Several tasks of orch wait for an agent: {ids}. `orch prompt TASK` says what to do.\n"
            )
        }
        AgentTask::Unknown => return Ok(HookReply::Nothing),
    };
    Ok(HookReply::Context(event, text))
}

/// What to do now about a task, in a few lines.
fn brief(workspace: &Workspace, sight: &Sight) -> String {
    let suggestion = Suggestion::of(&workspace.reader().subject(sight));
    let lines = match workspace.reader().repository() {
        Ok(repository) => {
            Briefs::of(&Suggestions::of(repository, vec![suggestion], 0, &[])).text("")
        }
        Err(_) => String::new(),
    };
    format!("The task in use, as orch evaluates its files:\n\n{lines}")
}

/// Appends the environment of the agent to a file of shell commands, once. Returns an error if it cannot be written.
fn set_environment(file: &Path) -> Result<(), Error> {
    // The variable that names the file may be unset.
    if file.as_os_str().is_empty() {
        return Ok(());
    }
    let failed = |source| io_error(file, source);
    let known = std::fs::read_to_string(file).unwrap_or_default();
    let environment = environment();
    if known.contains(&environment) {
        return Ok(());
    }
    let directory = parent(file);
    let name = file.file_name().unwrap_or_default();
    let mut opened = Directory::open(directory, directory)
        .and_then(|directory| directory.append(name))
        .map_err(failed)?;
    let before = if known.is_empty() || known.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    opened
        .write_all(format!("{before}{environment}").as_bytes())
        .map_err(failed)
}

/// Blocks while the rules wait for the agent, as often as it may.
fn stop(input: &StopInput, times: u32, context: &Context) -> Result<HookReply, Error> {
    let cwd = input.session.cwd.as_deref();
    let workspace = opened(cwd, context)?;
    // An agent that does something else in the repository is not kept at work on a task that waits for any agent.
    let Some(task) = AgentTask::named(&workspace, cwd, context)? else {
        return Ok(HookReply::Nothing);
    };
    let sight = workspace.look(&task)?;
    let waits = workspace.reader().subject(&sight).duty().owner == Owner::Agent && !sight.untracked;
    if !waits || !may_block(&workspace, &sight, input, times)? {
        return Ok(HookReply::Nothing);
    }
    let id = &sight.task.id;
    let lines = brief(&workspace, &sight);
    Ok(HookReply::Block(format!(
        "{lines}\nThe rules wait for you. Do this before you stop; `orch prompt {id}` has the complete instructions. If you \
         cannot, say why and stop.\n"
    )))
}

#[cfg(test)]
mod tests {
    use super::input::*;
    use schemars::generate::SchemaSettings;
    use serde_json::Value;
    use std::path::Path;

    /// The schema of an input: what orch reads of it. Programs may add keys.
    fn schema<T: schemars::JsonSchema>(event: &str, name: &str) -> (String, String) {
        let mut schema = SchemaSettings::draft2020_12()
            .into_generator()
            .into_root_schema_for::<T>();
        schema.insert("$id".to_owned(), format!("{name}.schema.json").into());
        schema.insert(
            "title".to_owned(),
            format!("What agent programs write to their hook {event}").into(),
        );
        (name.to_owned(), orch_view::indented(&Value::from(schema)))
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "tests have no main that the environment could come through"
    )]
    fn the_schemas_are_those_of_the_inputs() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("system/schemas/input");
        for (name, text) in [
            schema::<SessionStartInput>("SessionStart", "agent-session-start"),
            schema::<UserPromptInput>("UserPromptSubmit", "agent-user-prompt-submit"),
            schema::<ToolInput>("PreToolUse", "agent-pre-tool-use"),
            schema::<StopInput>("Stop", "agent-stop"),
            schema::<StatuslineInput>("statusLine", "agent-statusline"),
        ] {
            let path = directory.join(format!("{name}.schema.json"));
            if std::env::var("UPDATE").is_ok() {
                std::fs::create_dir_all(&directory).expect("a directory");
                std::fs::write(&path, &text).expect("written");
            }
            let present = std::fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(
                present, text,
                "run UPDATE=1 cargo test --lib the_schemas_are"
            );
        }
    }
}
