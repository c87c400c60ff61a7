//! Generates the workflow of a sequential skill: a chain of phases, each with a file that must be ready before
//! the next phase begins.

use super::config::required;
use super::fault::SkillFault;
use super::skill::{SPEC_REVIEW, Skill, SkillPhase};
use super::words::{escaped, plain, toml};
use super::{GeneratedFiles, checked, prompt_name, prose, state_schema};
use orch_base::Diagnostic;

/// The files of the workflow: the document, a prompt for each phase, the review of the specification and a
/// README. Returns the findings of the workflow check as faults.
pub(super) fn chain(name: &str, skill: &Skill) -> Result<GeneratedFiles, Vec<SkillFault>> {
    let mut files = vec![
        (
            format!("schemas/{name}-spec-review.schema.json"),
            state_schema::review(name, skill),
        ),
        (
            format!("agents/{name}-spec-review.md"),
            prose::review(name, skill),
        ),
        (format!("workflows/{name}/README.md"), readme(name, skill)),
    ];
    for (nth, phase) in skill.phases.iter().enumerate() {
        let prompt = prompt_name(name, &phase.name);
        files.push((
            format!("agents/{prompt}.md"),
            instructions(name, &skill.phases[..nth], phase),
        ));
    }
    let text = document(name, skill);
    let (drawn, problems) = checked(name, text.clone(), &files);
    match drawn.filter(|_| problems.is_empty()) {
        Some(text) => {
            files.push((format!("workflows/{name}.md"), text));
            files.sort();
            Ok(files)
        }
        None => Err(problems
            .into_iter()
            .map(|problem| traced(skill, &text, problem))
            .collect()),
    }
}

/// Maps a finding about the document, which does not exist yet, to the part of the configuration that the line came
/// from.
fn traced(skill: &Skill, document: &str, problem: Diagnostic) -> SkillFault {
    let line = problem
        .place
        .as_ref()
        .and_then(|place| place.line)
        .unwrap_or_default();
    let before = document
        .lines()
        .take(usize::try_from(line).unwrap_or_default());
    let header = before
        .filter(|line| line.starts_with('['))
        .last()
        .unwrap_or_default();
    let phase = skill.phases.iter().find(|phase| {
        header == format!("[artifact.{}]", output(phase))
            || header == format!("[phase.{}]", phase.name)
    });
    let pointer = match phase {
        Some(phase) if header.starts_with("[artifact.") => format!("{}/output", phase.pointer),
        Some(phase) => phase.pointer.clone(),
        None => "/sequential_config/phases".to_owned(),
    };
    SkillFault {
        pointer,
        span: None,
        diagnostic: Diagnostic {
            place: None,
            ..problem
        },
    }
}

/// The name of the artifact that a phase produces.
fn output(phase: &SkillPhase) -> String {
    format!("{}_output", phase.name)
}

fn document(name: &str, skill: &Skill) -> String {
    let title = escaped(&skill.title);
    let mut text = format!(
        "# {title}\n\n{}\n\n`orch workflow new` generated this document. Edit it as you like; `orch workflow check \
         {name}` finds mistakes.\nSee [its README]({name}/README.md) for how to use it.\n\n<!-- orch:diagram -->\n\
         <!-- /orch:diagram -->\n\n",
        escaped(&skill.description)
    );
    text.push_str(&format!(
        "```toml orch\n[workflow]\ntitle = {}\ninitial = \"{SPEC_REVIEW}\"\n```\n\n",
        toml(&skill.title)
    ));
    text.push_str(
        "## Phases\n\nEach phase writes one file, and the next phase begins when that file is ready. If a file changes\n\
         later, the task goes back to the phase that reads it first.\n\n| phase | purpose | output |\n| --- | --- | --- |\n",
    );
    for phase in &skill.phases {
        let purpose = if phase.description.is_empty() {
            &phase.title
        } else {
            &phase.description
        };
        text.push_str(&format!(
            "| `{}` | {} | {} |\n",
            phase.name,
            escaped(purpose),
            escaped(&phase.output)
        ));
    }
    text.push_str("\n```toml orch\n");
    text.push_str(&format!(
        "[artifact.{SPEC_REVIEW}]\ntitle = \"the review of the specification\"\npath = \"spec-review.json\"\n\
         schema = \"{name}-spec-review\"\n\n[artifact.{SPEC_REVIEW}.facts]\ncomplete = \"data.status == 'complete'\"\n\n\
         [phase.{SPEC_REVIEW}]\ntitle = \"Phase 0: review the specification\"\nagent = \"{name}-spec-review\"\n\
         produces = [\"{SPEC_REVIEW}\"]\n{}\n",
        required(skill)
    ));
    let mut before = vec![SPEC_REVIEW.to_owned()];
    for phase in &skill.phases {
        let made = output(phase);
        text.push_str(&format!(
            "[artifact.{made}]\ntitle = {}\npath = {}\n\n[phase.{}]\ntitle = {}\nagent = {}\nneeds = [{}]\n\
             produces = [\"{made}\"]\n\n",
            toml(&format!("the output of {}", phase.title)),
            toml(&phase.output),
            phase.name,
            toml(&phase.title),
            toml(&prompt_name(name, &phase.name)),
            before.iter().map(|need| toml(need)).collect::<Vec<_>>().join(", "),
        ));
        before.push(made);
    }
    text.push_str(
        "[phase.completed]\ntitle = \"Completed\"\nterminal = true\n```\n\n## Gates\n\n```toml orch\n",
    );
    text.push_str(&rules(&skill.phases));
    text.push_str("```\n");
    text
}

fn rule(id: &str, from: &str, when: &str, outcome: &str, because: &str) -> String {
    format!(
        "[[rule]]\nid = {}\nfrom = {from}\nwhen = {}\n{outcome}\nbecause = {}\n\n",
        toml(id),
        toml(when),
        toml(because)
    )
}

/// The rules: first those on files that change later, then the gate of each phase.
fn rules(phases: &[SkillPhase]) -> String {
    let mut text = String::new();
    for (nth, phase) in phases.iter().enumerate() {
        let (Some(reader), Some(later)) = (phases.get(nth + 1), phases.get(nth + 2..)) else {
            continue;
        };
        if !later.is_empty() {
            let from: Vec<String> = later.iter().map(|later| toml(&later.name)).collect();
            let made = output(phase);
            text.push_str(&rule(
                &format!("{}-changed", phase.name),
                &format!("[{}]", from.join(", ")),
                &format!("{made}.changed && {made}.valid"),
                &format!("to = {}", toml(&reader.name)),
                &format!("the output of `{}` changed after it was used", phase.name),
            ));
        }
    }
    let reviewed = format!("{SPEC_REVIEW}.ready && {SPEC_REVIEW}.complete");
    let first = phases
        .first()
        .map_or("completed", |phase| phase.name.as_str());
    let to_first = format!("to = {}", toml(first));
    let because = "the specification is reviewed";
    text.push_str(&rule(
        "specification-reviewed",
        &toml(SPEC_REVIEW),
        &reviewed,
        &to_first,
        because,
    ));
    text.push_str(&rule(
        "specification-incomplete",
        &toml(SPEC_REVIEW),
        &format!("{SPEC_REVIEW}.ready && !{SPEC_REVIEW}.complete"),
        "wait = \"answers to the open questions in spec-review.json\"\nby = \"human\"",
        "the review has open questions: resolve them, then set `status` to `complete` in spec-review.json",
    ));
    for (nth, phase) in phases.iter().enumerate() {
        let next = phases
            .get(nth + 1)
            .map_or("completed", |next| next.name.as_str());
        text.push_str(&rule(
            &format!("{}-done", phase.name),
            &toml(&phase.name),
            &format!("{}.ready", output(phase)),
            &format!("to = {}", toml(next)),
            &format!("the output of `{}` is ready", phase.name),
        ));
    }
    text
}

fn instructions(name: &str, before: &[SkillPhase], phase: &SkillPhase) -> String {
    let what = if phase.description.is_empty() {
        &phase.title
    } else {
        &phase.description
    };
    let mut text = format!(
        "# {}\n\nPerform the phase `{}` of the workflow `{name}`.\n\n## Before you begin\n\n\
         Read the documents that `<dir>/spec-review.json` lists under `specs_loaded` and `also_read`. Your work has to\n\
         satisfy them.\n",
        plain(&phase.title),
        phase.name
    );
    if !before.is_empty() {
        text.push_str("Then read what the phases before this one wrote:\n\n");
        before
            .iter()
            .for_each(|one| text.push_str(&format!("- `<dir>/{}`\n", plain(&one.output))));
    }
    if !phase.input.is_empty() {
        text.push_str("\nThe phase works on:\n\n");
        phase
            .input
            .iter()
            .for_each(|input| text.push_str(&format!("- {}\n", plain(input))));
    }
    let is_pattern = phase.output.contains(['*', '?', '[', '{']);
    let write = if is_pattern {
        "the results to files that match"
    } else {
        "the result to"
    };
    text.push_str(&format!(
        "\n## What to do\n\n{}\n\nWrite {write} `<dir>/{}`. Never edit `state.json`.\n",
        plain(what),
        plain(&phase.output)
    ));
    text
}

fn readme(name: &str, skill: &Skill) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n",
        plain(&skill.title),
        plain(&skill.description)
    );
    for (head, items) in [
        ("Use it for requests such as:", &skill.triggers),
        ("## Output", &skill.output),
        ("## Required quality", &skill.quality),
        ("## Configuration", &skill.origin),
    ] {
        if items.is_empty() {
            continue;
        }
        text.push_str(&format!("{head}\n\n"));
        for item in items {
            text.push_str(&format!("- {}\n", plain(item)));
        }
        text.push('\n');
    }
    text.push_str(&format!(
        "## Use\n\nCommit the workflow first, because the audit checks tasks against the committed document.\n\n\
         ```console\n$ git add system && git commit -m \"Workflow {name}\"\n$ orch new my-task --workflow {name}\n\
         $ orch run my-task\n```\n\nThe phases follow one another; `orch rollback` goes back to one of them.\n"
    ));
    text
}
