//! `orch generate`: an executor proposes tasks for the list of a loop.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_base::{Code, Error, Period};
use orch_core::decide::data_of;
use orch_engine::drive::{self, Commission, StopFlag};
use orch_engine::gather;
use orch_engine::survey::{Sight, Workspace};
use orch_loops::{LIST, MOST_GENERATED, TOOL, WORKFLOW, members, new_task};
use orch_read::Schema;
use orch_view::{GenerationAnswer, generation_prompt};
use serde_json::{Map, Value};

/// The instructions of the executor.
const AGENT: &str = "ccw-loop-generate";
/// The schema of its answer.
const SCHEMA: &str = "ccw-loop-tasks";
/// What its prompt shows of the state.
const SHOWN: [&str; 4] = ["description", "notes", "max_iterations", "skill_state"];
/// The longest that it may take.
const LIMIT: Period = Period::from_seconds(10 * 60);

/// Have an executor propose tasks for a development loop, and add them to its list.
///
/// Starts `[executor.NAME]` of orch.toml that `--tool` names, or else `[executor.generate]` or `[executor.default]`,
/// with its time limits and at most 10 minutes, and asks for tasks as JSON (`orch schema ccw-loop-tasks`). An answer
/// that the schema rejects, or that has more tasks than requested, is refused as a whole. The tasks are added to the
/// current list in one commit.
///
/// The loop (a task of the workflow `ccw-loop`) must have a plan, and must not be running. No run of it can start
/// meanwhile. Ctrl-C ends the executor, and nothing is added.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// The loop; optional if the current directory, the branch name or a single open task identifies it.
    pub task: Option<String>,
    /// Ask for at most N tasks.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=MOST_GENERATED))]
    count: u32,
    /// The tool of tasks that name none; also the executor to ask, if one has this name.
    #[arg(long, value_name = "NAME", default_value = TOOL)]
    tool: String,
    /// Start what orch.toml names even if nobody has trusted it; in CI, you can set ORCH_TRUST_ONCE=1 instead.
    #[arg(long)]
    trust_once: bool,
}

pub fn run(args: &GenerateArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let writer = context.writer(&workspace);
    if args.trust_once {
        writer
            .authority()
            .refuse_agent(&["orch", "generate", task.id.as_str(), "--trust-once"])?;
    }
    let sight = workspace.look(&task)?;
    sight.require_tracked()?;
    let shown = shown(&sight)?;
    // Whatever would keep the tasks out is found before an executor is started.
    let now = || context.caller.clock.now();
    let placeholder = members(&Value::Null, 0);
    let placeholders: Result<Vec<Value>, Error> = (0..args.count)
        .map(|_| new_task(&placeholder, now()))
        .collect();
    drive::extend_list(
        &writer,
        &task,
        (LIST, &placeholders?),
        "would be generated",
        true,
    )?;
    let schema = workspace
        .settings()
        .system()
        .schema(SCHEMA)
        .unwrap_or_default();
    let subject = workspace.reader().subject(&sight);
    let commission = Commission {
        executor: Some(&args.tool),
        prompt: generation_prompt(&subject, AGENT, args.count, &args.tool, &shown, schema),
        limit: LIMIT,
        trust: args.trust_once,
    };
    context.keep_log(&workspace);
    ui.status(&format!("an executor proposes tasks for `{}`", task.id));
    let stop = StopFlag::default();
    context.interrupts.drives(stop.clone());
    let flag = stop.clone();
    context.interrupts.instead(move || flag.stop());
    let answered = drive::commission(&writer, &task, &commission, &stop);
    context.interrupts.at_once();
    let tasks = proposed(&workspace, &answered?, args)?;
    let tasks: Result<Vec<Value>, Error> = tasks.iter().map(|task| new_task(task, now())).collect();
    let tasks = tasks?;
    let added: Vec<String> = tasks
        .iter()
        .filter_map(|task| Some(task["id"].as_str()?.to_owned()))
        .collect();
    let reason = format!("generated {} tasks: {}", added.len(), added.join(", "));
    let applied = drive::extend_list(&writer, &task, (LIST, &tasks), &reason, false)?;
    if !context.global.json {
        report::applied(&workspace, context, ui, &applied, false)?;
        return Ok(ExitCode::Fine);
    }
    writer.renew_suggestion(&applied.sight)?;
    let transitions = gather::transition_lines(&applied);
    ui.document(&GenerationAnswer {
        task: task.id.to_string(),
        added,
        applied: true,
        transitions,
    })?;
    Ok(ExitCode::Fine)
}

/// What the executor is shown of the state. Returns an error if the task is no loop, or has no list yet.
fn shown(sight: &Sight) -> Result<Vec<(String, Value)>, Error> {
    let workflow = sight.workflow();
    let id = &sight.task.id;
    if workflow.name.as_str() != WORKFLOW {
        let message = format!(
            "`{id}` is not a loop: its workflow is `{}`, not `{WORKFLOW}`",
            workflow.name
        );
        return Err(Error::new(Code::NotEnabled, message));
    }
    let data = sight
        .state()
        .map(|state| Value::Object(data_of(workflow, state)))
        .unwrap_or_default();
    if data
        .pointer(&format!("/{}", LIST.replace('.', "/")))
        .is_none()
    {
        return Err(
            Error::new(Code::NotEnabled, format!("`{id}` has no plan yet"))
                .with_hint("start the loop; its first action makes the list of tasks"),
        );
    }
    let shown = SHOWN
        .iter()
        .filter_map(|key| Some((format!("/{key}"), data.get(key)?.clone())));
    Ok(shown.collect())
}

/// The tasks in the answer of an executor, with all members that a task of the list has.
fn proposed(
    workspace: &Workspace,
    answer: &Value,
    args: &GenerateArgs,
) -> Result<Vec<Map<String, Value>>, Error> {
    let text = workspace
        .settings()
        .system()
        .schema(SCHEMA)
        .unwrap_or_default();
    let schema = Schema::compile(&format!("schemas/{SCHEMA}.schema.json"), text);
    let schema = schema.map_err(|problems| {
        let first = problems.into_iter().next();
        first.map_or_else(
            || Error::new(Code::SchemaInvalid, "the schema cannot be used"),
            Error::from,
        )
    })?;
    if let Some(problem) = schema.validate(answer).first() {
        return Err(drive::no_answer(&format!(
            "{} at `{}`",
            problem.message, problem.pointer
        )));
    }
    let tasks = answer["tasks"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if u64::try_from(tasks.len()).is_ok_and(|count| count > u64::from(args.count)) {
        let why = format!(
            "it has {} tasks, and at most {} were asked for",
            tasks.len(),
            args.count
        );
        return Err(drive::no_answer(&why));
    }
    let tools = Value::from(args.tool.as_str());
    let complete = |(order, task): (usize, &Value)| {
        let mut task = task.clone();
        if task.get("tool").is_none() {
            task["tool"] = tools.clone();
        }
        members(&task, order)
    };
    Ok(tasks.iter().enumerate().map(complete).collect())
}
