//! The commands that lead out of a state that cannot be used.

use super::evaluation::choice;
use super::{Choice, Facts, WHY, rename_side};
use crate::workflow::{Owner, Phase};
use orch_base::Code;

/// The commands that restore a state that cannot be used.
pub(super) fn ways_out(facts: &Facts, code: Code) -> Vec<Choice> {
    if code == Code::ConflictMarkers {
        // Restoring the file from git would discard what the other branch did.
        let effect = "join both sides of the log and compute the state from them";
        return vec![choice(
            "resolve",
            ["orch", "resolve", facts.task.as_str()],
            Owner::Orch,
            effect,
        )];
    }
    if code == Code::CreatedTwice {
        let [theirs, ours] =
            ["--rename-theirs", "--rename-ours"].map(|flag| rename_side(&facts.task, flag));
        let theirs_effect = "give the task that was merged another id";
        let ours_effect = "give the task of this branch another id";
        return vec![
            choice(
                "rename-theirs",
                theirs.iter().map(String::as_str),
                Owner::Human,
                theirs_effect,
            ),
            choice(
                "rename-ours",
                ours.iter().map(String::as_str),
                Owner::Human,
                ours_effect,
            ),
        ];
    }
    let log = facts
        .place
        .directory()
        .join("transcript.jsonl")
        .map(|path| path.to_string())
        .unwrap_or_default();
    let effect = "rebuild transcript.jsonl from git history and from what is left of the file";
    vec![
        choice(
            "recover",
            ["orch", "recover", facts.task.as_str()],
            Owner::Human,
            effect,
        ),
        choice(
            "restore",
            ["git", "restore", "--", &log],
            Owner::Human,
            "restore transcript.jsonl from git",
        ),
    ]
}

/// The command that takes a task out of the way. One that is not finished needs a reason.
pub(super) fn to_archive(facts: &Facts, phase: &Phase) -> Choice {
    let force: &[&str] = if phase.terminal {
        &[]
    } else {
        &["--force", WHY]
    };
    let argv = [&["orch", "archive", facts.task.as_str()], force].concat();
    choice(
        "archive",
        argv,
        if phase.terminal {
            Owner::Orch
        } else {
            Owner::Human
        },
        "move the record to the archive",
    )
}
