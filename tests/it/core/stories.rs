//! Stories: what happens to a task, told as data, with what the core says about it at each step.
//!
//! A story file holds stories under `## title`. A header `//- path` writes a file (`!invalid` after
//! the path: its schema refuses it), `@artifact` in its text standing for that artifact's present
//! digest. Any other header is a step, and the lines below it are what it must come to:
//! `//- at PHASE`, `//- settle`, `//- show`, `//- explain`, `//- records`, `//- substate`, `//- delete PATH`, `//- order: VERB …`,
//! `//- state` (the text of state.json), `//- machine` (another workflow), `//- shipped NAME` (one that ships), `//- amend` (the same task, its workflow edited), `//- lose state`,
//! `//- recover`, `//- commit TASKS: CODE` (other code outside the task). `UPDATE=1` rewrites what the steps come to.

use super::world::{LIFECYCLE, World, compiled, shipped};
use crate::setting::is_update;
use orch_base::Error;
use orch_core::decide::{
    Decision, Settled, Transition, Truth, Verdict, confirm, create, override_to, reopen, rollback,
};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

#[test]
fn stories_come_to_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/core/stories");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("stories")
        .map(|e| e.expect("entry").path())
        .collect();
    paths.sort();
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        let told = tell(&text);
        count += told.matches("\n## ").count();
        if told == text {
            continue;
        }
        if is_update() {
            std::fs::write(&path, told).expect("writable");
        } else {
            wrong.push(difference(&path, &text, &told));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 40, "{count} stories");
}

fn difference(path: &Path, expected: &str, told: &str) -> String {
    let at = expected
        .lines()
        .zip(told.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let (a, b) = (
        expected.lines().nth(at).unwrap_or_default(),
        told.lines().nth(at).unwrap_or_default(),
    );
    format!(
        "{}:{}:\n  expected: {a}\n  came to:  {b}",
        path.display(),
        at + 1
    )
}

/// The text of a story file with every step's outcome as it is.
fn tell(text: &str) -> String {
    let mut out = String::new();
    let mut world = World::new(Arc::clone(&LIFECYCLE));
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        if line.starts_with("## ") {
            world = World::new(Arc::clone(&LIFECYCLE));
        }
        let Some(header) = line.strip_prefix("//- ") else {
            continue;
        };
        let mut body = String::new();
        while let Some(next) =
            lines.next_if(|next| !next.starts_with("//- ") && !next.starts_with("## "))
        {
            body.push_str(next);
        }
        match play(&mut world, header.trim(), body.trim_end()) {
            Some(outcome) => {
                let gap = if lines.peek().is_some_and(|next| next.starts_with("## ")) {
                    "\n"
                } else {
                    ""
                };
                let _ = write!(out, "{outcome}{gap}");
            }
            None => out.push_str(&body),
        }
    }
    out
}

/// Plays one step; what it comes to, or nothing where the text below the header is what it takes.
fn play(world: &mut World, header: &str, body: &str) -> Option<String> {
    let (verb, rest) = header.split_once(' ').unwrap_or((header, ""));
    let mut out = String::new();
    match verb {
        "settle" => settled(&mut out, &world.settle()),
        "show" => decision(&mut out, &world.decide()),
        "explain" => explained(&mut out, &world.decide()),
        "substate" => {
            let _ = writeln!(out, "{}", world.decide().substate.unwrap_or_default());
        }
        "records" => records(&mut out, world),
        "approve" => {
            world.approve();
            decision(&mut out, &world.decide());
        }
        "recover" => {
            let _ = writeln!(out, "recovered: {}", world.recover());
            decision(&mut out, &world.decide());
        }
        "delete" => assert!(world.files.remove(rest).is_some(), "{rest} is not there"),
        "at" => world.reach(rest),
        "lose" if rest == "log" => world.transcript.clear(),
        "lose" => world.state = None,
        "commit" => {
            let (tasks, code) = rest.split_once(": ").expect("`//- commit TASKS: CODE`");
            world.commit(code, &tasks.split(' ').collect::<Vec<_>>());
            return None;
        }
        "state" => {
            world.state = Some(body.to_owned());
            return None;
        }
        "machine" => {
            *world = World::new(Arc::new(compiled("machine", body)));
            return None;
        }
        "shipped" => {
            *world = World::new(Arc::new(shipped(rest)));
            return None;
        }
        "amend" => {
            world.workflow = Arc::new(compiled("machine", body));
            return None;
        }
        "order:" => match ordered(world, rest) {
            Ok(transition) => {
                world.apply(&transition);
                arrow(&mut out, &transition);
                decision(&mut out, &world.decide());
            }
            Err(refusal) => {
                let _ = writeln!(out, "refused: {}: {}", refusal.code(), refusal.message());
                let _ = writeln!(
                    out,
                    "  hint: {}",
                    refusal.hint().cloned().unwrap_or_default()
                );
            }
        },
        path => {
            write_file(world, path, rest == "!invalid", body);
            return None;
        }
    }
    Some(out)
}

fn write_file(world: &mut World, path: &str, refused: bool, body: &str) {
    let mut text = body.to_owned();
    for artifact in Arc::clone(&world.workflow).artifacts.iter().rev() {
        let mark = format!("@{}\"", artifact.name);
        if text.contains(&mark) {
            let digest = world
                .digest(artifact.name.as_str())
                .expect("present")
                .to_string();
            text = text.replace(&mark, &format!("{digest}\""));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    world.write(path, text);
    world.files.get_mut(path).expect("written").refused = refused;
}

fn ordered(world: &World, order: &str) -> Result<Transition, Error> {
    let (verb, rest) = order.split_once(' ').unwrap_or((order, ""));
    let (to, reason) = match rest.strip_prefix("--to ") {
        Some(rest) => {
            let (to, reason) = rest.split_once(' ').unwrap_or((rest, ""));
            (Some(to), reason)
        }
        None => (None, rest),
    };
    let (workflow, state, facts) = (&world.workflow, world.known(), world.facts());
    match verb {
        "create" => Ok(create(workflow, rest)),
        "override" => override_to(workflow, &state, &facts, to, reason),
        "rollback" => rollback(workflow, &state, &facts, to, reason),
        "reopen" => reopen(workflow, &state, &facts, to, reason),
        "confirm" => {
            let (artifact, reason) = rest.split_once(' ').unwrap_or((rest, ""));
            confirm(workflow, &state, &facts, artifact, reason)
        }
        other => panic!("no order `{other}`"),
    }
}

fn arrow(out: &mut String, transition: &Transition) {
    let from = transition
        .from
        .as_ref()
        .map_or("nothing", |from| from.as_str());
    let by = transition
        .rule
        .as_ref()
        .map_or(transition.kind.as_str(), |rule| rule.as_str());
    let _ = write!(out, "{from} -> {} ({by})", transition.to);
    let evidence: Vec<&str> = transition
        .evidence
        .iter()
        .map(|one| one.artifact.as_str())
        .collect();
    if !evidence.is_empty() {
        let _ = write!(out, " on {}", evidence.join(", "));
    }
    if !transition.waive.is_empty() {
        let _ = write!(out, ", waiving {}", names(&transition.waive));
    }
    out.push('\n');
}

fn names<T: ToString>(items: &[T]) -> String {
    items
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn settled(out: &mut String, settled: &Settled) {
    for step in &settled.steps {
        arrow(out, &step.transition);
    }
    decision(out, &settled.decision);
}

fn decision(out: &mut String, decision: &Decision) {
    let phase = decision.phase.as_ref().map_or("-", |phase| phase.as_str());
    let kind = match &decision.verdict {
        Verdict::Transition(transition) if transition.by_human => {
            "asks a person to agree".to_owned()
        }
        Verdict::Transition(transition) => format!("due -> {}", transition.to),
        Verdict::Run(action) => format!("run {action}"),
        Verdict::Wait { owner, .. } => format!("waits for {}", owner.as_str()),
        Verdict::Choose(actions) => format!("choose of {}", names(actions)),
        Verdict::Handover { held, .. } => format!("handover, holding -> {}", held.to),
        Verdict::Done { .. } => "done".to_owned(),
        Verdict::Inconsistent {
            last_consistent, ..
        } => {
            format!(
                "inconsistent, last was {}",
                last_consistent.as_ref().map_or("none", |id| id.as_str())
            )
        }
        Verdict::Error { code } => format!("error {code}"),
        Verdict::Livelock { .. } => "livelock".to_owned(),
    };
    let _ = writeln!(
        out,
        "{phase}#{} {kind}: {}",
        decision.attempt, decision.reason
    );
    for issue in decision.sent_back.iter().flat_map(|back| &back.issues) {
        let _ = writeln!(out, "  issue {}: {}", issue.path, issue.value);
    }
    for remark in &decision.remarks {
        let _ = writeln!(out, "  remark: {remark}");
    }
    for expected in &decision.expects {
        let of: Vec<&str> = expected.of.keys().map(|name| name.as_str()).collect();
        let of = if of.is_empty() {
            String::new()
        } else {
            format!(", of {}", of.join(", "))
        };
        let _ = writeln!(
            out,
            "  expects {} {}{of}",
            expected.path,
            expected.state.as_str()
        );
    }
    for option in &decision.options {
        let _ = writeln!(out, "  option {}", option.argv.join(" "));
    }
    if !decision.waived.is_empty() {
        let _ = writeln!(out, "  waived {}", names(&decision.waived));
    }
    for diagnostic in &decision.diagnostics {
        let hint = diagnostic
            .hint
            .as_ref()
            .map(|hint| format!(" ({hint})"))
            .unwrap_or_default();
        let _ = writeln!(out, "  {}: {}{hint}", diagnostic.code, diagnostic.message);
    }
}

fn explained(out: &mut String, decision: &Decision) {
    for tried in &decision.tried {
        let result = match &tried.result {
            Truth::True => "holds".to_owned(),
            Truth::False => "does not hold".to_owned(),
            Truth::Error(message) => format!("fails: {message}"),
            Truth::NotTried => "not tried".to_owned(),
        };
        let _ = writeln!(out, "{} ({}): {result}", tried.rule, tried.outcome);
        for part in tried.parts.iter().filter(|part| part.result != Truth::True) {
            let saw: Vec<String> = part
                .saw
                .iter()
                .map(|(path, value)| match value {
                    Some(value) => format!("{path}={value}"),
                    None => format!("{path} missing"),
                })
                .collect();
            let _ = writeln!(out, "  {}: {}", part.text, saw.join(" "));
        }
    }
    for one in &decision.moves {
        let unmet = if one.allowed {
            "allowed".to_owned()
        } else {
            one.unmet.join("; ")
        };
        let _ = writeln!(out, "move -> {} by {}: {unmet}", one.to, one.rule);
    }
}

fn records(out: &mut String, world: &World) {
    let state = world.known();
    let order = |name: &str| {
        world
            .workflow
            .phases
            .iter()
            .position(|phase| phase.id.as_str() == name)
    };
    let mut actors: Vec<_> = state.actors.iter().collect();
    actors.sort_by_key(|(name, _)| order(name));
    for (name, actor) in actors {
        let _ = write!(out, "{name}: {} #{}", actor.status.as_str(), actor.attempt);
        for (what, records) in [
            ("left with", &actor.left_with),
            ("entered with", &actor.entered_with),
        ] {
            if !records.is_empty() {
                let shown: Vec<String> = records
                    .iter()
                    .map(|(name, digest)| {
                        if digest.is_some() {
                            name.to_string()
                        } else {
                            format!("no {name}")
                        }
                    })
                    .collect();
                let _ = write!(out, ", {what} {}", shown.join(", "));
            }
        }
        for (artifact, digests) in &actor.spent {
            let _ = write!(out, ", spent {} {artifact}", digests.len());
        }
        if let Some(substate) = &actor.substate {
            let _ = write!(out, ", substate {substate}");
        }
        out.push('\n');
    }
    let own: Vec<String> = state
        .extra
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let _ = writeln!(out, "rev {} {}", state.rev, own.join(" "));
}
