//! A task without a disk: files, state and transcript as texts, judged by the core.
//!
//! The state goes through its file format at every step, so every story is also a clone's story.

use globset::{GlobBuilder, GlobMatcher};
use orch_base::{
    ArtifactName, Code, Diagnostic, Digest, ObjectFormat, RepoPath, TaskId, TaskPlace, Timestamp,
};
use orch_core::decide::{
    ActorKind, By, ChangeCommit, CodeBase, CodeFacts, CodeHistory, CodeSince, Decision, Facts,
    FileFact, MovedFile, OtherTasks, OwnFile, Recorded, Settled, Stamp, State, Transition, Verdict,
    apply, derive, evaluate, initial_state, settle,
};
use orch_core::record::{
    EventLog, FoldCache, KnownLog, LogExtent, RecordReading, StateText, read_record, record_steps,
    write_state,
};
use orch_core::verification::FoundBy;
use orch_core::workflow::{Document, Format, System, Workflow, compile, tree_name};
use orch_read::read;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// The workflow that most stories are told on.
pub static LIFECYCLE: LazyLock<Arc<Workflow>> = LazyLock::new(|| {
    let text = include_str!("../../../fixtures/workflows/valid/lifecycle.md");
    Arc::new(compiled("lifecycle", text))
});

/// Compiles a document that must be without fault.
pub fn compiled(name: &str, text: &str) -> Workflow {
    let document = Document::new(name, format!("{name}.md"), text);
    let (workflow, problems) = compile(&document, &System::empty());
    workflow.unwrap_or_else(|| panic!("{problems:#?}"))
}

/// A workflow that ships.
pub fn shipped(name: &str) -> Workflow {
    let system = System::shipped();
    let document = Document::new(
        name,
        format!("{name}.md"),
        system.workflow(name).expect("it ships"),
    );
    let (workflow, problems) = compile(&document, &system);
    workflow.unwrap_or_else(|| panic!("{problems:#?}"))
}

/// A file of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its text.
    pub text: String,
    /// Whether its schema refuses it.
    pub refused: bool,
}

/// One task, held in memory.
#[derive(Debug, Clone)]
pub struct World {
    /// The machine that judges it.
    pub workflow: Arc<Workflow>,
    /// Its files, by path.
    pub files: BTreeMap<String, File>,
    /// The text of `state.json`, if there is one.
    pub state: Option<String>,
    /// The text of `transcript.jsonl`.
    pub transcript: String,
    /// What is committed outside tasks.
    pub code: String,
    /// The commits since the last recorded step, newest first.
    commits: Vec<Value>,
    /// Each code that was committed, and the commit that brought it, in order.
    past: Vec<(Digest, ChangeCommit)>,
    matchers: Arc<Vec<Vec<GlobMatcher>>>,
    clock: i64,
}

impl World {
    /// A new task without any file.
    pub fn new(workflow: Arc<Workflow>) -> Self {
        let matcher = |path: &String| {
            GlobBuilder::new(path)
                .literal_separator(true)
                .build()
                .expect("a valid glob")
                .compile_matcher()
        };
        let matchers = workflow
            .artifacts
            .iter()
            .map(|one| one.paths.iter().map(matcher).collect())
            .collect();
        Self {
            workflow,
            files: BTreeMap::new(),
            state: None,
            transcript: String::new(),
            code: String::new(),
            commits: Vec::new(),
            past: Vec::new(),
            matchers: Arc::new(matchers),
            clock: 1_700_000_000,
        }
    }

    /// Writes a file that its schema accepts.
    pub fn write(&mut self, path: &str, text: impl Into<String>) {
        self.files.insert(
            path.to_owned(),
            File {
                text: text.into(),
                refused: false,
            },
        );
    }

    /// Commits other code, in the name of these tasks.
    pub fn commit(&mut self, code: &str, tasks: &[&str]) {
        code.clone_into(&mut self.code);
        let is_own = tasks.contains(&"t-1");
        let file = if is_own { "src/lib.rs" } else { "src/other.rs" };
        let id = Digest::of_blob(self.past.len().to_string().as_bytes());
        let files = vec![RepoPath::new(file).expect("a path")];
        let later = ChangeCommit {
            id,
            subject: code.to_owned(),
            files,
            is_own,
        };
        self.past.push((Digest::of_blob(code.as_bytes()), later));
        self.commits
            .insert(0, json!({"id": "", "subject": code, "tasks": tasks}));
    }

    /// What is observed of the task.
    pub fn facts(&self) -> Facts {
        let mut artifacts = BTreeMap::new();
        for (artifact, matchers) in self.workflow.artifacts.iter().zip(self.matchers.iter()) {
            let found = self.files.iter().filter_map(|(path, file)| {
                let pattern = matchers.iter().position(|matcher| matcher.is_match(path))?;
                Some(file_fact(pattern, path, file, artifact.format))
            });
            let tree = artifact.tree.iter().map(|_| FileFact {
                writers: Vec::new(),
                pattern: artifact.paths.len(),
                is_tree: true,
                path: tree_name(artifact.name.as_str()),
                digest: Some(Digest::of_blob(self.code.as_bytes())),
                data: Some(Arc::new(
                    json!({"commits": self.commits, "files": ["src/lib.rs"], "confirmed": false}),
                )),
                problems: Vec::new(),
            });
            artifacts.insert(artifact.name.clone(), found.chain(tree).collect());
        }
        Facts {
            code: self.code_facts(),
            version: orch_core::decide::RecordVersion::CURRENT,
            task: TaskId::new("t-1").expect("valid"),
            place: TaskPlace::of_directory(RepoPath::new("tasks/t-1").expect("valid")),
            artifacts,
            diagnostics: Vec::new(),
            inputs: Default::default(),
            missing: Vec::new(),
            verified: Default::default(),
            own_file: OwnFile::AsRecorded,
            others: OtherTasks::default(),
        }
    }

    /// How the present code came from each that was committed before.
    fn code_facts(&self) -> CodeFacts {
        let present = Digest::of_blob(self.code.as_bytes());
        let trees = self
            .workflow
            .artifacts
            .iter()
            .filter(|artifact| artifact.tree.is_some());
        let since = trees.flat_map(|artifact| {
            let earlier = self
                .past
                .iter()
                .enumerate()
                .filter(|(_, (judged, _))| *judged != present);
            earlier.map(|(at, (judged, _))| {
                let own = self.past[..=at].iter().filter(|(_, commit)| commit.is_own);
                let files = own.flat_map(|(_, commit)| commit.files.clone()).collect();
                let later: Vec<_> = self.past[at + 1..]
                    .iter()
                    .rev()
                    .map(|(_, commit)| commit.clone())
                    .collect();
                let moved: BTreeSet<_> = later
                    .iter()
                    .flat_map(|commit| commit.files.clone())
                    .collect();
                let moved = moved
                    .into_iter()
                    .map(|path| MovedFile {
                        path,
                        is_own: false,
                        is_undone: false,
                    })
                    .collect();
                let history = Ok(CodeHistory {
                    files,
                    later,
                    moved,
                });
                CodeSince {
                    artifact: artifact.name.clone(),
                    judged: *judged,
                    history,
                }
            })
        });
        let base = CodeBase {
            commit: None,
            code: None,
            by: FoundBy::Create,
        };
        CodeFacts {
            base: Some(base),
            since: since.collect(),
        }
    }

    /// What `state.json` and `transcript.jsonl` together say.
    pub fn recorded(&self) -> Recorded {
        match self.reading() {
            RecordReading::New => Recorded::New,
            RecordReading::Current(state)
            | RecordReading::Folded { state, .. }
            | RecordReading::Foreign(state) => Recorded::Known(state),
            RecordReading::LogGone => Recorded::Lost,
            RecordReading::StateUnreadable => Recorded::Broken(vec![Diagnostic::error(
                Code::JsonSyntax,
                "state.json is no JSON",
            )]),
            broken => Recorded::Broken(vec![Diagnostic::error(
                Code::LogInvalid,
                format!("{broken:?}"),
            )]),
        }
    }

    /// The same, as the files say it.
    pub fn reading(&self) -> RecordReading {
        let value = self
            .state
            .as_ref()
            .and_then(|text| serde_json::from_str::<Value>(text).ok());
        let file = self.state.as_ref().map(|text| StateText {
            text,
            value: value.as_ref(),
        });
        let log = Some(self.transcript.as_bytes());
        read_record(&self.workflow, file, log, &mut KnownLog::default())
    }

    /// The log, which must be whole.
    pub fn log(&self) -> EventLog {
        let (log, faults) = EventLog::parse(self.transcript.as_bytes());
        assert_eq!(faults, Vec::new(), "{}", self.transcript);
        log
    }

    /// The state as recorded; the initial one where nothing usable is.
    pub fn known(&self) -> State {
        match self.recorded() {
            Recorded::Known(state) => *state,
            _ => initial_state(&self.workflow),
        }
    }

    /// The decision on the task as it is.
    pub fn decide(&self) -> Decision {
        evaluate(&self.workflow, &self.recorded(), &self.facts())
    }

    /// Who applies a transition here, and when.
    pub fn stamp(&mut self) -> Stamp {
        self.clock += 60;
        let by = By {
            kind: ActorKind::Human,
            name: "Ann".to_owned(),
        };
        Stamp::new(Timestamp::from_seconds(self.clock), by)
    }

    /// Applies one transition and records it.
    pub fn apply(&mut self, transition: &Transition) {
        let stamp = self.stamp();
        let next = apply(
            &self.workflow,
            &self.known(),
            &self.facts(),
            transition,
            &stamp,
        );
        self.record(&[next]);
    }

    /// Settles the task as `orch` does by itself, recording each step.
    pub fn settle(&mut self) -> Settled {
        let (stamp, facts) = (self.stamp(), self.facts());
        let settled = settle(&self.workflow, &self.recorded(), &facts, &stamp, &|due| {
            !due.by_human
        });
        let states: Vec<State> = settled
            .steps
            .iter()
            .map(|step| step.state.clone())
            .collect();
        self.record(&states);
        settled
    }

    /// Applies the transition that is due, a person agreeing.
    pub fn approve(&mut self) {
        if let Verdict::Transition(transition) = self.decide().verdict {
            self.apply(&transition);
        }
    }

    /// Writes the state again as the log folds it; whether that gave one.
    pub fn recover(&mut self) -> bool {
        let log = self.log();
        let folded = log.fold(&self.workflow, &log.heads(), &mut FoldCache::default());
        let Ok(Some(state)) = folded else {
            return false;
        };
        self.put(&state);
        true
    }

    /// The present digest of an artifact, as the task's state makes its files count.
    pub fn digest(&self, artifact: &str) -> Option<Digest> {
        let state = self.known();
        let phase = state
            .phase
            .as_deref()
            .and_then(|name| self.workflow.phase_named(name));
        let phase = phase.map_or(&self.workflow.initial, |phase| &phase.id);
        let derived = derive(&self.workflow, &state, phase, &self.facts());
        derived
            .into_iter()
            .find(|one| one.name.as_str() == artifact)?
            .digest
    }

    /// Writes what is expected, and settles, until the task is in `phase`.
    pub fn reach(&mut self, phase: &str) {
        for _ in 0..20 {
            let decision = self.settle().decision;
            if decision
                .phase
                .as_ref()
                .is_some_and(|now| now.as_str() == phase)
            {
                return;
            }
            for expected in decision.expects {
                self.write(
                    &expected.path,
                    passing(expected.artifact.as_str(), 0, &expected.of),
                );
            }
        }
        panic!("no way to {phase}");
    }

    /// Records the states that a row of transitions led to.
    pub fn record(&mut self, steps: &[State]) {
        let (before, log) = (self.known(), self.log());
        let first = before
            .heads
            .first()
            .map(|id| log.state_at(id, &mut FoldCache::default()));
        let base = first.map_or_else(
            || before.clone().into(),
            |state| state.expect("a whole log"),
        );
        let recorded = record_steps(&before, &base, steps);
        assert_eq!(recorded.len(), steps.len());
        let Some(last) = recorded.last() else { return };
        recorded
            .iter()
            .for_each(|step| self.transcript.push_str(&step.event.line()));
        self.put(&last.state);
        self.commits.clear();
        let log = self.log();
        let folded = log.fold(&self.workflow, &log.heads(), &mut FoldCache::default());
        assert_eq!(
            folded,
            Ok(Some(last.state.clone().into())),
            "what was recorded is not what the log folds to"
        );
        assert_eq!(
            self.reading(),
            RecordReading::Current(Box::new(last.state.clone()))
        );
    }

    fn put(&mut self, state: &State) {
        let extent = LogExtent::of(self.transcript.as_bytes(), ObjectFormat::Sha1);
        self.state = Some(write_state(
            state,
            &self.workflow.phase_key,
            "schema",
            extent,
        ));
    }
}

/// A text of an artifact of the lifecycle that lets the task move on, different for each `n`.
pub fn passing(artifact: &str, n: u64, of: &BTreeMap<ArtifactName, Digest>) -> String {
    let of: serde_json::Map<String, Value> = of
        .iter()
        .map(|(name, digest)| (name.to_string(), Value::from(digest.to_string())))
        .collect();
    let of = Value::Object(of);
    match artifact {
        "plan_review" | "code_review" => json!({"n": n, "ok": true, "of": of}).to_string(),
        "eval_report" => json!({"n": n, "overall_pass": true, "of": of}).to_string(),
        "test_report" => json!({"n": n, "passed": true, "of": of}).to_string(),
        "decision" => json!({"n": n, "verdict": "accepted", "of": of}).to_string(),
        "tasks" => format!("---\nof: {of}\n---\n- [x] task {n}\n"),
        "patch" => format!("+++ b/src/lib.rs\n+line {n}\n"),
        _ => json!({"n": n, "of": of}).to_string(),
    }
}

fn file_fact(pattern: usize, path: &str, file: &File, format: Format) -> FileFact {
    let read = match format {
        _ if file.text.is_empty() => Err("the file is empty".to_owned()),
        _ if file.refused => Err("the schema refuses it".to_owned()),
        Format::Json => serde_json::from_str(&file.text).map_err(|error| error.to_string()),
        Format::Markdown | Format::Junit | Format::Yaml | Format::Toml => {
            let path = RepoPath::new(path).expect("a valid path");
            read(format, &path, file.text.as_bytes())
                .data
                .ok_or_else(|| "it cannot be read".to_owned())
        }
        _ => {
            let touched: Vec<&str> = file
                .text
                .lines()
                .filter_map(|line| line.strip_prefix("+++ b/"))
                .collect();
            Ok(
                json!({"bytes": file.text.len(), "lines": file.text.lines().count(), "files": touched}),
            )
        }
    };
    let (data, problems) = match read {
        Ok(data) => (Some(Arc::new(data)), Vec::new()),
        Err(message) => (None, vec![Diagnostic::error(Code::Unreadable, message)]),
    };
    let digest = Some(Digest::of_blob(file.text.as_bytes()));
    FileFact {
        pattern,
        is_tree: false,
        path: path.to_owned(),
        digest,
        data,
        problems,
        writers: Vec::new(),
    }
}
