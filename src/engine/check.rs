//! What is wrong with tasks: in the work directory, in what is staged, in a commit.

use super::archive::Archive;
use super::audit::{Side, befores, changed_paths, tasks_of};
use super::join::prove_any;
use super::setting::{InSource, Setting};
use super::snapshot::Snapshot;
use super::{Engine, Error, Judged, TaskRef};
use crate::base::{Diagnostic, Digest, Place, RepoPath, Severity};
use crate::decide::{Proof, Standing, Verdict};
use crate::scan::{Content, Verdicts};
use crate::store::{Range, Store, Visited, resolving};
use std::collections::BTreeMap;

/// What a check found.
#[derive(Default)]
pub struct Checked {
    /// How many tasks were looked at.
    pub tasks: usize,
    /// What is wrong, each once.
    pub findings: Vec<Diagnostic>,
    /// The texts that findings point into, as they were judged.
    pub texts: BTreeMap<String, String>,
}

impl Checked {
    fn add(&mut self, found: impl IntoIterator<Item = Diagnostic>, snapshot: &Snapshot<'_>) {
        for finding in found {
            if finding.severity == Severity::Note || self.findings.contains(&finding) {
                continue;
            }
            if let Some(place) = finding.place.as_ref().filter(|place| place.line.is_some())
                && let Ok(path) = RepoPath::new(&place.path)
                && let Ok(Content::Bytes(bytes)) = snapshot.source.read(&path, u64::MAX - 1)
                && let Ok(text) = String::from_utf8(bytes)
            {
                self.texts.insert(place.path.clone(), text);
            }
            self.findings.push(finding);
        }
    }
}

impl Engine {
    /// Checks tasks as the engine's source holds them.
    pub fn check(&self, tasks: &[TaskRef]) -> Result<Checked, Error> {
        let mut checked = Checked { tasks: tasks.len(), ..Checked::default() };
        for task in tasks {
            let found = match self.judge(task) {
                Ok(judged) => {
                    let mut found = findings_of(&judged);
                    if self.reads_work_dir() {
                        found.extend(self.ignored_evidence(&judged)?);
                    }
                    found
                }
                Err(error) => vec![unjudged(task, &error)],
            };
            self.snapshot(|snapshot| checked.add(found, snapshot));
        }
        Ok(checked)
    }

    /// Checks what is staged against HEAD: the artifacts of every task that the next commit would
    /// change, and the record of it. Reads the index and HEAD only; writes nothing.
    pub fn check_staged(&self) -> Result<Checked, Error> {
        let store = self.repository_or_refuse()?;
        let head = store.head()?.commit;
        let archive = Archive::new(store, head);
        let index = store.index_source()?;
        let setting = Setting::read(&InSource(&index));
        let before = Side::new(&archive, store.head_source()?)?;
        let after = Snapshot { setting: &setting, source: &index, verdicts: &self.verdicts };
        let mut checked = Checked::default();
        checked.add(setting.findings.iter().cloned(), &after);
        let mut bases: Vec<&RepoPath> =
            setting.config.roots.bases().chain(before.setting.config.roots.bases()).collect();
        bases.sort();
        bases.dedup();
        let mut paths = Vec::new();
        for base in bases {
            paths.extend(store.staged_changes(&before.source, &index, base)?);
            let unmerged = index.unmerged().iter().filter(|path| path.below(base).is_some());
            checked.add(unmerged.map(unmerged_finding), &after);
        }
        // Whoever concludes a merge commits what both of its sides hold.
        let mut befores = vec![before];
        let parents: Vec<Digest> = head.into_iter().chain(store.merge_heads()).collect();
        for merged in store.merge_heads() {
            befores.push(Side::new(&archive, store.tree_source(merged))?);
        }
        let snapshot = befores[0].snapshot(&self.verdicts);
        for task in tasks_of(&paths, &snapshot, &after) {
            checked.tasks += 1;
            let found = self.findings_in(&task, &befores, &parents, &after, &archive, &self.verdicts)?;
            checked.add(found, &after);
        }
        Ok(checked)
    }

    /// Checks one commit against its parents, as [`Engine::check_staged`] does before it is made.
    pub fn check_revision(&self, revision: &str) -> Result<Checked, Error> {
        let store = self.repository_or_refuse()?;
        let commit = store.visit(store.resolve(revision)?)?;
        let older = commit.parents.first().copied();
        self.check_commits(store, &[commit], older)
    }

    /// Checks every commit of a range, each against its parents.
    pub fn check_range(&self, range: &str) -> Result<Checked, Error> {
        let store = self.repository_or_refuse()?;
        let range = store.range(range)?;
        self.check_commits(store, &store.commits(&range)?, range.from)
    }

    /// Checks the commits that a push brings. `lines` are those of a pre-receive hook (old, new, ref)
    /// or of a pre-push hook (local ref, new, remote ref, old); see githooks(5).
    pub fn check_pushed(&self, lines: &str) -> Result<Checked, Error> {
        let store = self.repository_or_refuse()?;
        let mut checked = Checked::default();
        for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ends = match words.as_slice() {
                [old, new, _] => Digest::parse(old).zip(Digest::parse(new)),
                [_, new, _, old] => Digest::parse(old).zip(Digest::parse(new)),
                _ => None,
            };
            let Some((old, new)) = ends else {
                let message = format!("line {} on stdin is not `OLD NEW REF`: {line}", number + 1);
                return Err(Diagnostic::error("refs", message).hint("see githooks(5), pre-receive").into());
            };
            if new.is_null() {
                continue;
            }
            let known = !old.is_null() && store.has(old);
            let commits = if known {
                store.commits(&Range { from: Some(old), to: new })?
            } else {
                store.commits_new_with(new)?
            };
            let older = commits.first().and_then(|first| first.parents.first().copied());
            let found = self.check_commits(store, &commits, Some(old).filter(|_| known).or(older))?;
            checked.tasks += found.tasks;
            checked.texts.extend(found.texts);
            checked.findings.extend(found.findings);
        }
        Ok(checked)
    }

    fn check_commits(
        &self,
        store: &Store,
        commits: &[Visited],
        older: Option<Digest>,
    ) -> Result<Checked, Error> {
        let archive = Archive::new(store, older);
        let verdicts = Verdicts::default();
        let mut checked = Checked::default();
        for commit in commits {
            self.check_commit(store, &archive, commit, &verdicts, &mut checked)?;
        }
        Ok(checked)
    }

    fn check_commit(
        &self,
        store: &Store,
        archive: &Archive<'_>,
        commit: &Visited,
        verdicts: &Verdicts,
        checked: &mut Checked,
    ) -> Result<(), Error> {
        let after = Side::new(archive, store.tree_source(commit.id))?;
        if commit.is_boundary {
            return Ok(());
        }
        let befores = befores(store, archive, commit)?;
        let snapshot = after.snapshot(verdicts);
        let mut common: Option<Vec<TaskRef>> = None;
        for before in &befores {
            let paths = changed_paths(store, before, &after)?;
            let tasks = tasks_of(&paths, &before.snapshot(verdicts), &snapshot);
            common = Some(match common {
                None => tasks,
                Some(earlier) => earlier.into_iter().filter(|task| tasks.contains(task)).collect(),
            });
        }
        for task in common.unwrap_or_default() {
            checked.tasks += 1;
            let mut found =
                self.findings_in(&task, &befores, &commit.parents, &snapshot, archive, verdicts)?;
            for finding in &mut found {
                finding.message = format!("commit {}: {}", commit.id.short(), finding.message);
            }
            checked.add(found, &snapshot);
            archive.note(commit.id, &task, &after.source)?;
        }
        Ok(())
    }

    /// What is wrong with a task on the one side, and with what became of its record since the other.
    fn findings_in(
        &self,
        task: &TaskRef,
        befores: &[Side<'_>],
        parents: &[Digest],
        after: &Snapshot<'_>,
        archive: &Archive<'_>,
        verdicts: &Verdicts,
    ) -> Result<Vec<Diagnostic>, Error> {
        let mut found = Vec::new();
        if after.task_at(&task.directory).is_some() {
            match after.observe(task).and_then(|seen| self.conclude(task, seen, false)) {
                Ok(judged) => found.extend(findings_of(&judged)),
                Err(error) => found.push(unjudged(task, &error)),
            }
        }
        let befores: Vec<Snapshot<'_>> = befores.iter().map(|before| before.snapshot(verdicts)).collect();
        let Some(proof) = prove_any(task, &befores, parents, after, archive)? else { return Ok(found) };
        if proof.standing == Standing::Forged {
            found.push(forged_finding(task, &proof));
        }
        Ok(found)
    }
}

fn forged_finding(task: &TaskRef, proof: &Proof) -> Diagnostic {
    let why = proof.why.as_deref().unwrap_or_default();
    let message = format!("the record of `{}` is not what the rules yield: {why}", task.id);
    let place = Place { path: format!("{}/state.json", task.directory), ..Place::default() };
    let hint = "let orch move the task (orch next), or put the record back: git restore --staged --worktree";
    Diagnostic::error("forged", message).at(place).hint(format!("{hint} {}", task.directory))
}

fn unmerged_finding(path: &RepoPath) -> Diagnostic {
    Diagnostic::error("unmerged", "it is unmerged").at(Place::file(path)).hint(resolving(path.as_str()))
}

fn unjudged(task: &TaskRef, error: &Error) -> Diagnostic {
    let mut problem = Diagnostic::error("unjudged", format!("task `{}`: {error}", task.id));
    problem.hint = error.hint();
    problem
}

/// What is wrong with one task: its diagnostics, and a verdict that is itself a finding. A task
/// that merely waits is none.
fn findings_of(judged: &Judged) -> Vec<Diagnostic> {
    let mut found = judged.decision.diagnostics.clone();
    let decision = &judged.decision;
    let code = match &decision.verdict {
        Verdict::Inconsistent { .. } => Some("inconsistent"),
        Verdict::Error { code } if !found.iter().any(|finding| finding.code == *code) => Some(*code),
        Verdict::Livelock { .. } => Some("livelock"),
        _ => None,
    };
    if let Some(code) = code {
        let mut finding = Diagnostic::error(code, format!("task `{}`: {}", decision.task, decision.reason));
        let place = match decision.rule.as_ref().zip(judged.workflow()) {
            Some((rule, workflow)) if code == "guard-error" => {
                workflow.rules.iter().find(|candidate| candidate.id == *rule).map(|rule| rule.place.clone())
            }
            _ => None,
        };
        finding.place =
            place.or_else(|| Some(Place { path: judged.task.directory.to_string(), ..Place::default() }));
        finding.hint = decision.options.first().map(|choice| choice.argv.join(" "));
        found.push(finding);
    }
    found
}
