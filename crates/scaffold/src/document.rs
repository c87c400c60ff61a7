//! The generated workflow document: prose around the `toml orch` blocks, with the rules in deciding order.

use super::config::required;
use super::plan::{ABORTING, COMPLETE, End, LoopPlan, MAX_ITERATIONS, PlannedMachine};
use super::skill::SPEC_REVIEW;
use super::translate::COUNTER;
use super::words::{escaped, toml};
use super::{Strategy, state_schema};
use serde_json::Value;

/// The document, with an empty diagram.
pub(super) fn document(plan: &LoopPlan<'_>) -> String {
    let mut text = DocumentText::default();
    head(plan, &mut text);
    phases(plan, &mut text);
    state(plan, &mut text);
    actions(plan, &mut text);
    ends(plan, &mut text);
    review(&mut text);
    work(plan, &mut text);
    text.0.trim_end().to_owned() + "\n"
}

#[derive(Default)]
struct DocumentText(String);

impl DocumentText {
    fn prose(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
        self.0.push_str("\n\n");
    }

    fn machine(&mut self, lines: &str) {
        self.prose(format!("```toml orch\n{}\n```", lines.trim_end()));
    }
}

/// One rule as TOML.
struct RuleDraft<'a> {
    id: &'a str,
    from: Vec<&'a str>,
    when: &'a str,
    outcome: String,
    because: &'a str,
    counts: bool,
    on: &'a str,
}

impl<'a> RuleDraft<'a> {
    fn to(id: &'a str, from: &[&'a str], when: &'a str, to: &str, because: &'a str) -> Self {
        let outcome = format!("to = {}", toml(to));
        Self {
            id,
            from: from.to_vec(),
            when,
            outcome,
            because,
            counts: false,
            on: "",
        }
    }

    fn lines(&self) -> String {
        let mut lines = format!("[[rule]]\nid = {}\n", toml(self.id));
        if !self.on.is_empty() {
            lines.push_str(&format!("on = {}\n", toml(self.on)));
        }
        lines.push_str(&format!("from = {}\n", one_or_many(&self.from)));
        if !self.when.is_empty() {
            lines.push_str(&format!("when = {}\n", toml(self.when)));
        }
        lines.push_str(&format!("{}\n", self.outcome));
        if self.counts {
            lines.push_str(&format!(
                "set = {{ \"/{COUNTER}\" = \"state.{COUNTER} + 1\" }}\n"
            ));
        }
        lines.push_str(&format!("because = {}\n\n", toml(self.because)));
        lines
    }
}

/// The document without one of its rules.
pub(super) fn without(text: &str, rule: &str) -> Option<String> {
    let start = text.find(&format!("[[rule]]\nid = {}\n", toml(rule)))?;
    let length = text[start..].find("\n\n").map(|blank| blank + 2);
    let fence = text[start..].find("```")?;
    let end = start + length.map_or(fence, |length| length.min(fence));
    Some(format!("{}{}", &text[..start], &text[end..]))
}

fn one_or_many(names: &[&str]) -> String {
    match names {
        [only] => toml(only),
        _ => list(names.iter().copied()),
    }
}

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    format!("[{}]", names.map(toml).collect::<Vec<_>>().join(", "))
}

fn pointers(names: &[&str]) -> String {
    list(
        names
            .iter()
            .map(|name| format!("/{name}"))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str),
    )
}

fn head(plan: &LoopPlan<'_>, text: &mut DocumentText) {
    let LoopPlan { name, skill, .. } = plan;
    text.prose(format!("# {}", escaped(&skill.title)));
    text.prose(escaped(&skill.description));
    text.prose(format!(
        "`orch workflow new` generated this document. Edit it as you like; `orch workflow check {name}` finds \
         mistakes.\nSee [its README]({name}/README.md) for how to use it."
    ));
    text.prose("<!-- orch:diagram -->\n<!-- /orch:diagram -->");
    let mut lines = format!(
        "[workflow]\ntitle = {}\ninitial = \"{SPEC_REVIEW}\"\nphase_key = \"status\"\n\n[limits]\n",
        toml(&skill.title)
    );
    lines.push_str(&format!(
        "turns = {MAX_ITERATIONS}\nfailures = 3\nerrors = 3\n"
    ));
    text.machine(&lines);
}

fn phases(plan: &LoopPlan<'_>, text: &mut DocumentText) {
    text.prose("## Phases");
    text.prose(
        "The specification is reviewed first. Every later phase needs the file that the review writes.\n\
         `completed`, `failed` and `user_exit` are terminal: no rule leaves them.",
    );
    let name = plan.name;
    let mut lines = format!(
        "[artifact.{SPEC_REVIEW}]\ntitle = \"the review of the specification\"\n\
         path = \"spec-review.json\"\nschema = \"{name}-spec-review\"\n\n\
         [artifact.{SPEC_REVIEW}.facts]\ncomplete = \"data.status == 'complete'\"\n\n\
         [phase.{SPEC_REVIEW}]\ntitle = \"Phase 0: review the specification\"\nproduces = [\"{SPEC_REVIEW}\"]\n{}\n",
        required(plan.skill)
    );
    for phase in ["pending", "running"] {
        lines.push_str(&format!("[phase.{phase}]\nneeds = [\"{SPEC_REVIEW}\"]\n\n"));
    }
    if plan.abort().is_some() {
        lines.push_str(&format!("[phase.{ABORTING}]\n\n"));
    }
    lines.push_str("[phase.completed]\nterminal = true\n\n");
    for phase in ["failed", "user_exit"] {
        lines.push_str(&format!(
            "[phase.{phase}]\nterminal = true\nsuccess = false\n\n"
        ));
    }
    text.machine(&lines);
}

fn state(plan: &LoopPlan<'_>, text: &mut DocumentText) {
    let defaults = state_schema::defaults(plan);
    text.prose("## State");
    if plan.skill.fields.is_empty() {
        text.prose("The workflow adds no fields of its own to the state.");
    } else {
        text.prose("A field without a default is absent until an action writes it.");
    }
    let mut lines = format!(
        "[state]\nschema = \"{}-state\"\n\n[state.defaults]\n",
        plan.name
    );
    for (key, value) in &defaults {
        lines.push_str(&format!("{key} = {}\n", value_of(value)));
    }
    text.machine(&lines);
}

/// A JSON value as TOML, which has no null.
fn value_of(value: &Value) -> String {
    match value {
        Value::String(text) => toml(text),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(value_of).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{} = {}", toml(key), value_of(value)))
                .collect();
            if members.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", members.join(", "))
            }
        }
        other => other.to_string(),
    }
}

fn actions(plan: &LoopPlan<'_>, text: &mut DocumentText) {
    text.prose("## Actions");
    let mut rows = "| action | purpose | preconditions |\n| --- | --- | --- |\n".to_owned();
    let mut lines = format!(
        "[action.{SPEC_REVIEW}]\ntitle = \"review the specification\"\nprompt = \"{}-spec-review\"\n\
         outputs = [\"spec-review.json\"]\nensures = \"{SPEC_REVIEW}.valid\"\n\n",
        plan.name
    );
    for planned in &plan.actions {
        let action = planned.action;
        let purpose = if action.description.is_empty() {
            &action.title
        } else {
            &action.description
        };
        let asked: Vec<String> = action
            .preconditions
            .iter()
            .map(|condition| escaped(&condition.text))
            .collect();
        let asked = if asked.is_empty() {
            "-".to_owned()
        } else {
            asked.join(", ")
        };
        rows.push_str(&format!(
            "| `{}` | {} | {asked} |\n",
            action.name,
            escaped(purpose)
        ));
        lines.push_str(&format!(
            "[action.{}]\ntitle = {}\n",
            action.name,
            toml(&action.title)
        ));
        lines.push_str(&format!(
            "prompt = {}\n",
            toml(&super::prompt_name(plan.name, &action.name))
        ));
        if !planned.when.is_empty() {
            lines.push_str(&format!("when = {}\n", toml(&planned.when)));
        }
        for (key, names) in [("writes", &planned.writes), ("show", &planned.shows)] {
            if !names.is_empty() {
                lines.push_str(&format!("{key} = {}\n", pointers(names)));
            }
        }
        lines.push('\n');
    }
    text.prose(rows.trim_end());
    text.machine(&lines);
}

/// What happens to a loop that something goes wrong with.
const RECOVERY: &str = "
| what went wrong | what happens |
| --- | --- |
| an action fails | it is tried again, three times in all; then it is given up, and its rules are skipped |
| three actions were given up | the loop ends as `failed` |
| fewer were given up | the other actions continue; then the loop ends as `failed` |
| a result does not fit the state | it counts as a failure, and the state stays as it was |
| the process dies | `orch run` continues after the last recorded step |
| the state is lost or damaged | `orch recover` brings it back from git or the transcript |
| a person ends the loop | `orch stop` leads to `user_exit`; `orch reopen` takes it up again |
";

/// What the termination condition at a place of the configuration leads to.
fn leads_to(plan: &LoopPlan<'_>, pointer: &str) -> String {
    let mut targets: Vec<&str> = Vec::new();
    for found in &plan.ends {
        let target = if found.when.is_limit {
            plan.failure()
        } else {
            "completed"
        };
        if found.pointer == pointer && !targets.contains(&target) {
            targets.push(target);
        }
    }
    match targets.as_slice() {
        [] => "a status that is terminal anyway".to_owned(),
        found => format!("it holds: `{}`", found.join("` or `")),
    }
}

/// The termination conditions as written, each with what it leads to.
fn conditions(plan: &LoopPlan<'_>) -> String {
    let mut rows = String::new();
    for end in &plan.skill.ends {
        let meaning = match end.text.trim() {
            "user_exit" => "a person ends the loop with `orch stop`".to_owned(),
            "error_limit" => format!("three actions were given up: `{}`", plan.failure()),
            "task_completed" => "the loop has ended as `completed`".to_owned(),
            "max_iterations" => format!("{MAX_ITERATIONS} actions were done: `{}`", plan.failure()),
            _ => leads_to(plan, &end.pointer),
        };
        rows.push_str(&format!("- {}: {meaning}\n", escaped(&end.text)));
    }
    if rows.is_empty() {
        "- none\n".to_owned()
    } else {
        rows
    }
    .trim_end()
    .to_owned()
}

fn ends(plan: &LoopPlan<'_>, text: &mut DocumentText) {
    text.prose("## When the loop ends");
    text.prose(
        "These rules come first. An action that fails three times in a row is given up. After three given-up \
         actions\nthe task fails. A person may end the loop at any time.",
    );
    text.prose(format!(
        "The configuration lists these conditions:\n\n{}",
        conditions(plan)
    ));
    text.prose(RECOVERY.trim());
    let before = [SPEC_REVIEW, "pending", "running"];
    let mut lines = RuleDraft::to(
        "too-many-failures",
        &before,
        "run.errors >= run.max_errors",
        plan.failure(),
        "too many actions were given up",
    )
    .lines();
    let stop = RuleDraft::to(
        "stopped",
        &["*"],
        "",
        "user_exit",
        "a person ended the loop",
    );
    lines.push_str(&RuleDraft { on: "stop", ..stop }.lines());
    for (index, End { when, written, .. }) in plan.ends.iter().enumerate() {
        let id = format!("end-{}", index + 1);
        let because = format!("the loop ends when `{written}`");
        let from = when.status.as_deref().unwrap_or("running");
        let to = if when.is_limit {
            plan.failure()
        } else {
            "completed"
        };
        lines.push_str(&RuleDraft::to(&id, &[from], &when.cel, to, &because).lines());
    }
    if plan.limited {
        let when = format!("state.{COUNTER} >= {MAX_ITERATIONS}");
        let because = format!("{MAX_ITERATIONS} actions were done without reaching an end");
        let from = ["pending", "running"];
        lines.push_str(
            &RuleDraft::to("iteration-limit", &from, &when, plan.failure(), &because).lines(),
        );
    }
    text.machine(&lines);
}

fn review(text: &mut DocumentText) {
    text.prose("## Phase 0: the specification");
    text.prose(
        "The loop starts when `spec-review.json` exists and its `status` is `complete`. An agent or a person \
         writes it.",
    );
    let done = RuleDraft::to(
        "specification-reviewed",
        &[SPEC_REVIEW],
        "spec_review.ready && spec_review.complete",
        "pending",
        "the specification is reviewed",
    );
    let open = RuleDraft {
        outcome: "wait = \"answers to the open questions in spec-review.json\"\nby = \"human\""
            .to_owned(),
        ..RuleDraft::to(
            "specification-incomplete",
            &[SPEC_REVIEW],
            "spec_review.ready && !spec_review.complete",
            "",
            "the review has open questions: resolve them, then set `status` to `complete` in spec-review.json",
        )
    };
    let run = RuleDraft {
        outcome: format!("run = \"{SPEC_REVIEW}\""),
        ..RuleDraft::to(
            "review-the-specification",
            &[SPEC_REVIEW],
            "",
            "",
            "the specification must be reviewed first",
        )
    };
    text.machine(&(done.lines() + &open.lines() + &run.lines()));
}

fn work(plan: &LoopPlan<'_>, text: &mut DocumentText) {
    text.prose("## The loop");
    text.prose(match plan.strategy {
        Strategy::Priority => {
            "The first action that can run does so, in order of priority. An action that changes what its \
             preconditions\nread repeats while they hold; if it changes nothing, the run ends as stalled. Every \
             other action runs once."
        }
        Strategy::User => "A person picks the next action among those whose preconditions hold.",
        Strategy::State => {
            "The state decides. The first action whose preconditions hold runs, and repeats while they hold. If \
             an\naction changes nothing, the run ends as stalled. An action that reads nothing of the state runs \
             once."
        }
    });
    let mut lines = String::new();
    for planned in plan.in_phase("pending") {
        lines.push_str(&run(plan, planned));
    }
    if plan.strategy != Strategy::User {
        for planned in plan.in_phase("running") {
            lines.push_str(&run(plan, planned));
        }
    }
    lines.push_str(&given_up(plan, "pending"));
    lines.push_str(
        &RuleDraft::to(
            "started",
            &["pending"],
            "",
            "running",
            "the preparation is done",
        )
        .lines(),
    );
    match plan.strategy {
        Strategy::User => by_a_person(plan, &mut lines),
        _ => by_itself(plan, &mut lines),
    }
    if let Some(abort) = plan.abort() {
        lines.push_str(&run(plan, abort));
        let because = "the cleanup is finished or was given up";
        lines.push_str(&RuleDraft::to("aborted", &[ABORTING], "", "failed", because).lines());
    }
    text.machine(&lines);
}

/// The rule that runs one action.
fn run(plan: &LoopPlan<'_>, planned: &PlannedMachine<'_>) -> String {
    let name = &planned.action.name;
    let id = format!("run-{name}");
    let because = planned.action.title.clone();
    let when = if planned.once {
        format!("action.{name}.done == 0")
    } else {
        String::new()
    };
    let rule = RuleDraft::to(&id, &[planned.phase], &when, "", &because);
    RuleDraft {
        outcome: format!("run = {}", toml(name)),
        counts: plan.counts,
        ..rule
    }
    .lines()
}

fn given_up(plan: &LoopPlan<'_>, phase: &str) -> String {
    let because = "an action was given up, and no other action can run";
    let id = format!("given-up-{phase}");
    RuleDraft::to(&id, &[phase], "run.errors > 0", plan.failure(), because).lines()
}

fn by_itself(plan: &LoopPlan<'_>, lines: &mut String) {
    let running = ["running"];
    match plan.last() {
        Some(last) => {
            lines.push_str(&run(plan, last));
            // The last action may sum up what was done, but what was given up is not done.
            lines.push_str(&given_up(plan, "running"));
            let done = format!("action.{COMPLETE}.done > 0");
            lines.push_str(
                &RuleDraft::to(
                    "done",
                    &running,
                    &done,
                    "completed",
                    "the last action is done",
                )
                .lines(),
            );
            let because = "no action can run, and the preconditions of the last action do not hold";
            lines.push_str(&RuleDraft::to("stuck", &running, "", plan.failure(), because).lines());
        }
        None => {
            lines.push_str(&given_up(plan, "running"));
            lines.push_str(
                &RuleDraft::to("done", &running, "", "completed", "no action can run").lines(),
            );
        }
    }
}

fn by_a_person(plan: &LoopPlan<'_>, lines: &mut String) {
    let running = ["running"];
    let done = format!("action.{COMPLETE}.done > 0");
    lines.push_str(
        &RuleDraft::to(
            "done",
            &running,
            &done,
            "completed",
            "a person picked the last action",
        )
        .lines(),
    );
    let offered: Vec<&PlannedMachine<'_>> = plan.in_phase("running").chain(plan.last()).collect();
    // A menu cannot count, so if picked actions are counted, each runs by a rule of its own.
    for planned in offered.iter().filter(|_| plan.counts) {
        let name = &planned.action.name;
        let id = format!("run-{name}");
        let when = format!("run.chosen == '{name}'");
        let rule = RuleDraft::to(&id, &running, &when, "", "a person picked it");
        lines.push_str(
            &RuleDraft {
                outcome: format!("run = {}", toml(name)),
                counts: true,
                ..rule
            }
            .lines(),
        );
    }
    let rule = RuleDraft::to("menu", &running, "", "", "a person picks the next action");
    let names = list(offered.iter().map(|planned| planned.action.name.as_str()));
    lines.push_str(
        &RuleDraft {
            outcome: format!("choose = {names}"),
            ..rule
        }
        .lines(),
    );
    let because = "no action can be picked";
    lines
        .push_str(&RuleDraft::to("nothing-to-pick", &running, "", plan.failure(), because).lines());
}
