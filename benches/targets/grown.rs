//! A repository of many tasks: several workflows, varied phases, valid and broken artifacts, and for each task a
//! record of its own. A copy of one record would not do, because nothing that is read would be new.

use super::lives::{Moment, Scene, lifecycle, play, told_of};
use std::fs;
use std::path::Path;

/// After so many tasks the mixture of phases and mistakes repeats, so that multiples of it are comparable.
pub const PERIOD: usize = 40;

/// The scenes of tasks of other workflows.
fn change() -> Vec<Scene> {
    let file = |path: &'static str, text: &str| Scene::File(path, format!("{text}\n"));
    vec![
        Scene::Order(&["new", "c", "--workflow", "openspec"]),
        file(
            "proposal.md",
            "# Change\n\n## Why\n\nIt fails.\n\n## What Changes\n\n- Mend it.",
        ),
        file(
            "specs/login/spec.md",
            "## ADDED Requirements\n\n### Requirement: Login\n\nThe system SHALL let people in.\n\n\
             #### Scenario: right password\n\n- **WHEN** it is right\n- **THEN** they are in",
        ),
        file("tasks.md", "## 1. Work\n\n- [ ] 1.1 Mend it"),
        file("tasks.md", "## 1. Work\n\n- [x] 1.1 Mend it"),
    ]
}

fn development() -> Vec<Scene> {
    vec![Scene::Order(&["new", "l", "--workflow", "ccw-loop"])]
}

/// The lives that the tasks of a grown repository share, each moment once.
pub struct Lives(Vec<Vec<Moment>>);

impl Lives {
    /// Plays the lives in a repository that is ready for tasks, and removes them from the work tree.
    pub fn played(root: &Path, orch: &dyn Fn(&[&str])) -> Self {
        let lives = [("t", lifecycle()), ("c", change()), ("l", development())];
        let moments = lives
            .iter()
            .map(|(id, scenes)| play(root, id, scenes, orch))
            .collect();
        for (id, _) in lives {
            fs::remove_dir_all(root.join("tasks").join(id)).expect("removed");
        }
        Self(moments)
    }

    /// The files of the task with this number.
    fn task(&self, number: usize) -> Moment {
        let nth = number % PERIOD;
        // Three in five are lifecycles, of which two are finished.
        let life = match nth % 5 {
            3 => &self.0[1],
            4 => &self.0[2],
            _ => &self.0[0],
        };
        let finished = life.len().saturating_sub(2);
        let at = if nth % 5 < 2 {
            finished
        } else {
            (nth * 7) % life.len()
        };
        let mut task = told_of(&id(number), &life[at]);
        task.insert(
            "notes/day.md".to_owned(),
            format!("# Notes on {number}\n\nNothing to tell.\n"),
        );
        task.insert("notes/log.txt".to_owned(), format!("begun {number}\n"));
        let artifacts = [
            "planning/plan.json",
            "proposal.md",
            "review/code/verdict.json",
        ];
        let artifact = artifacts
            .into_iter()
            .find(|path| task.contains_key(*path))
            .map(str::to_owned);
        match (nth % 8, artifact) {
            (5, Some(path)) => drop(task.insert(path, format!("{{\"title\": \"cut {number}"))),
            (6, _) => drop(task.insert("planning/plan.json".to_owned(), plan(number))),
            // Nobody has adopted it.
            (7, _) => ["state.json", "transcript.jsonl"]
                .iter()
                .for_each(|name| drop(task.remove(*name))),
            _ => {}
        }
        task
    }

    /// Writes so many tasks into the work tree, beginning with the task of a number.
    pub fn grow(&self, root: &Path, from: usize, many: usize) {
        for number in from..from + many {
            for (path, text) in self.task(number) {
                let path = root.join("tasks").join(id(number)).join(path);
                fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
                fs::write(path, text).expect("written");
            }
        }
    }
}

/// The id of the task with this number.
pub fn id(number: usize) -> String {
    format!("t-{number:06}")
}

fn plan(number: usize) -> String {
    format!(
        "{{\"title\": \"Plan {number}\", \"status\": \"final\", \"why\": \"It fails.\", \"what\": \"Mend it.\"}}\n"
    )
}
