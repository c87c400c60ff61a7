//! The change of the code that a task makes, for whoever decides about it: what its commits, or its patch, make of what was
//! there when the task began.

use super::reader::At;
use super::verification_base::begin_of;
use super::{Error, Reader, Sight};
use orch_base::{ArtifactName, Digest, RepoPath, Timestamp};
use orch_core::decide::UnknownCode;
use orch_core::workflow::{Artifact, ArtifactRole, Format, TreeScope};
use orch_git::{CodePart, CodeQuestion, Store, patch};
use orch_view::{ChangedFile, JudgedStep, TaskChange, line_ranges, marked_lines};
use std::collections::{BTreeMap, HashMap};

/// How many files of a task are compared.
const MOST_FILES: usize = 300;
/// How many files the command that shows all names one by one.
const MOST_NAMED: usize = 12;

/// What is said of a file that has changed although its content has not, or cannot be read by its name.
const UNSEEN: &str =
    "no line of text: its mode, its type, a submodule, or a name that is not UTF-8";

/// A step of a task, with its commit.
pub(crate) struct RestedStep {
    /// When it was recorded.
    pub at: Timestamp,
    /// The files that it rests on: their names in the task, and their blob ids.
    pub evidence: Vec<(String, String)>,
    /// Its commit; `None` if that is unknown.
    pub commit: Option<Digest>,
}

/// The commits between which the code of a task is compared.
struct ChangeBounds {
    base: Option<Digest>,
    /// The files that are the task's; `None` if that is unknown, and so all are shown.
    own: Option<Vec<RepoPath>>,
    unknown: Option<String>,
}

/// What tells the change of the code that a task makes.
pub(crate) struct TaskChanges<'w> {
    pub reader: &'w Reader,
    pub sight: &'w Sight,
    /// The steps of the task that moved it, oldest first.
    pub steps: &'w [RestedStep],
}

/// A step whose evidence is a verdict about some code, and the steps up to it.
#[derive(Clone, Copy)]
struct JudgedUpTo<'w> {
    artifact: &'w ArtifactName,
    steps: &'w [RestedStep],
    last: &'w RestedStep,
}

impl TaskChanges<'_> {
    /// The change of the code that a task makes; `None` if its workflow has no code, or there is none yet. The
    /// last step whose evidence is a verdict about the code tells what has changed since. Returns an error if git cannot be
    /// read.
    pub(crate) fn change(&self) -> Result<Option<TaskChange>, Error> {
        for artifact in &self.sight.workflow().artifacts {
            if artifact.role() != ArtifactRole::Code {
                continue;
            }
            let judged = self.last_judged(artifact);
            let change = match (patch_of(self.sight, artifact), &artifact.tree) {
                (Some((path, bytes)), _) => {
                    Some(self.change_by_patch(artifact, (path, bytes), judged)?)
                }
                (None, Some(scope)) => self.change_by_commits(artifact, scope, judged)?,
                (None, None) => None,
            };
            if let Some(change) = change {
                return Ok(Some(change.within_limits()));
            }
        }
        Ok(None)
    }

    /// The change that commits make.
    fn change_by_commits(
        &self,
        artifact: &Artifact,
        scope: &TreeScope,
        judged: Option<JudgedUpTo<'_>>,
    ) -> Result<Option<TaskChange>, Error> {
        let (Some(store), Some(head)) = (&self.reader.store, self.code_head()) else {
            return Ok(None);
        };
        // What others did after the task had ended is no part of it.
        let ended = self.steps.last().and_then(|step| step.commit);
        let head = ended
            .filter(|_| self.sight.decision.is_done())
            .unwrap_or(head);
        self.reader.snapshot_at(Some(head), |snapshot| {
            let code = snapshot.code_part(scope);
            let Some(compared) = self.compared(head, &code)? else {
                return Ok(None);
            };
            let between = BetweenCommits {
                store,
                code: &code,
                base: compared.base,
                head,
            };
            let mut files = between.files()?;
            if let Some(own) = &compared.own {
                files.retain(|path| own.contains(path));
            }
            if files.is_empty() {
                return Ok(None);
            }
            let omitted_files = files.len().saturating_sub(MOST_FILES);
            files.truncate(MOST_FILES);
            let since = judged.and_then(|judged| judged.last.commit);
            let mut changed = between.changed(&files)?;
            if let Some(since) = since {
                between.mark_since(since, &mut changed)?;
            }
            Ok(Some(TaskChange {
                artifact: artifact.name.to_string(),
                base: compared.base.map(|base| base.to_string()),
                head: Some(head.to_string()),
                patch: None,
                judged: judged.map(JudgedUpTo::view),
                unknown: compared.unknown,
                command: between.command(&files, omitted_files),
                files: changed,
                omitted_files,
            }))
        })
    }

    /// The commit whose code is judged: that of the source, or HEAD.
    fn code_head(&self) -> Option<Digest> {
        match self.reader.at {
            At::Commit(commit) => Some(commit),
            At::WorkDir => self.sight.head_commit(),
        }
    }

    /// The commits between which the code is compared; `None` if the task has no commit of its own.
    fn compared(&self, head: Digest, code: &CodePart<'_>) -> Result<Option<ChangeBounds>, Error> {
        let (Some(store), Some(state)) = (&self.reader.store, self.sight.state()) else {
            return Ok(None);
        };
        let commits = self.reader.snapshot_at(Some(head), |snapshot| {
            snapshot.commits_of(&self.sight.task, state)
        });
        let mut question = CodeQuestion {
            head,
            entered: None,
            judged: store.code().code_digest(Some(head), code)?,
            base: None,
            task: &commits,
        };
        let found = self.reader.snapshot_at(Some(head), |snapshot| {
            snapshot.base_here(&question, store, code)
        })?;
        let found = match found {
            Ok(found) => found,
            Err(why) => return Ok(Some(unknown(&why))),
        };
        question.base = found.commit;
        let base = begin_of(store, self.sight, &found, head)?;
        match store.code().code_changes(&question, code)? {
            Ok(history) if history.files.is_empty() => Ok(None),
            Ok(history) => Ok(Some(ChangeBounds {
                base,
                own: Some(history.files),
                unknown: None,
            })),
            Err(why) => Ok(Some(ChangeBounds {
                base,
                ..unknown(&why)
            })),
        }
        .map(|found| found.filter(|found| found.base.is_some() || found.own.is_some()))
    }

    /// The change that a patch makes.
    fn change_by_patch(
        &self,
        artifact: &Artifact,
        (path, bytes): (RepoPath, &[u8]),
        judged: Option<JudgedUpTo<'_>>,
    ) -> Result<TaskChange, Error> {
        let text = String::from_utf8_lossy(bytes);
        let before = match (&self.reader.store, judged) {
            (Some(store), Some(judged)) => judged_patch(store, artifact, judged)?,
            _ => None,
        };
        let before = before.map(|before| {
            let old = String::from_utf8_lossy(&before).into_owned();
            parts_of_patch(&old)
        });
        let before: Option<HashMap<String, String>> =
            before.map(|parts| parts.into_iter().collect());
        let mut files = Vec::new();
        for (name, part) in parts_of_patch(&text) {
            let old = before.as_ref().map(|before| before.get(&name));
            let lines = old.map(|old| new_lines(&part, old.map_or("", String::as_str)));
            let is_same = old.is_none_or(|old| old.is_some_and(|old| is_same_change(old, &part)));
            let mut file = ChangedFile::new(&name, Some(part));
            file.changed_since = !is_same;
            file.lines_since = match is_same {
                true => Vec::new(),
                false => lines.unwrap_or_default(),
            };
            files.push(file);
        }
        Ok(TaskChange {
            artifact: artifact.name.to_string(),
            base: None,
            head: None,
            command: vec!["cat".to_owned(), path.to_string()],
            patch: Some(path.to_string()),
            judged: judged.filter(|_| before.is_some()).map(JudgedUpTo::view),
            unknown: None,
            files,
            omitted_files: 0,
        })
    }

    /// The last step that rests on a verdict about some code, or else on a report about it.
    fn last_judged(&self, code: &Artifact) -> Option<JudgedUpTo<'_>> {
        let judges = |artifact: &&Artifact| artifact.judges.contains(&code.name);
        let artifacts = &self.sight.workflow().artifacts;
        let all: Vec<&Artifact> = artifacts.iter().filter(judges).collect();
        let verdicts: Vec<&Artifact> = all.iter().copied().filter(|one| one.is_verdict()).collect();
        let asked = if verdicts.is_empty() { all } else { verdicts };
        for (number, step) in self.steps.iter().enumerate().rev() {
            let mut asked = asked.iter();
            let found = asked.find(|artifact| self.rests_on(step, &artifact.name));
            if let Some(artifact) = found {
                return Some(JudgedUpTo {
                    artifact: &artifact.name,
                    steps: &self.steps[..=number],
                    last: step,
                });
            }
        }
        None
    }

    fn rests_on(&self, step: &RestedStep, artifact: &ArtifactName) -> bool {
        let artifacts = &self.sight.workflow().artifacts;
        let matcher = &self.sight.compiled.matcher;
        step.evidence.iter().any(|(name, _)| {
            matcher.artifacts_of(name).any(|(index, _)| {
                artifacts
                    .get(index)
                    .is_some_and(|one| one.name == *artifact)
            })
        })
    }
}

impl JudgedUpTo<'_> {
    fn view(self) -> JudgedStep {
        JudgedStep {
            artifact: self.artifact.to_string(),
            at: self.last.at.to_string(),
            commit: self.last.commit.map(|commit| commit.to_string()),
        }
    }
}

/// That it is not known which commits are the task's.
fn unknown(why: &UnknownCode) -> ChangeBounds {
    let why = match why {
        UnknownCode::NotHere => "no commit here has the code of the task".to_owned(),
        UnknownCode::Shallow => {
            "the history of this clone ends before the task begins (`git fetch --unshallow`)"
                .to_owned()
        }
        UnknownCode::TooFar => "too many commits would have to be searched".to_owned(),
        UnknownCode::NoBase(branch) => {
            format!("`[git] base` names `{branch}`, which is not a branch here")
        }
    };
    ChangeBounds {
        base: None,
        own: None,
        unknown: Some(format!("it is not known which code is the task's: {why}")),
    }
}

/// The patch of a task that stands for its code: its path, and its bytes.
fn patch_of<'s>(sight: &'s Sight, artifact: &Artifact) -> Option<(RepoPath, &'s [u8])> {
    if artifact.format != Format::Patch {
        return None;
    }
    let facts = sight.observed.facts.artifacts.get(&artifact.name)?;
    let file = facts.iter().find(|file| !file.is_tree)?;
    let path = sight.task.place.path(&file.path).ok()?;
    let mut files = sight.observed.files.iter();
    let found = files.find(|file| file.path == path)?;
    Some((path, &found.bytes))
}

/// The bytes of the patch that was there at a step, if this clone has them: those that this step or the last one before
/// it rests on.
fn judged_patch(
    store: &Store,
    artifact: &Artifact,
    judged: JudgedUpTo<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let evidence = judged.steps.iter().rev().flat_map(|step| &step.evidence);
    let mut named = evidence.filter(|(name, _)| artifact.paths.contains(name));
    let Some(digest) = named.next().and_then(|(_, digest)| Digest::parse(digest)) else {
        return Ok(None);
    };
    store.objects().blob(digest)
}

/// The parts of a patch, each with the path of its file.
fn parts_of_patch(text: &str) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    // How many lines of the old and of the new file the hunk still has.
    let mut left = [0, 0];
    let mut has_hunk = true;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (number, line) in lines.iter().enumerate() {
        let next = lines.get(number + 1).copied().unwrap_or_default();
        let in_hunk = left != [0, 0];
        let is_head = !in_hunk && line.starts_with("--- ") && next.starts_with("+++ ");
        if (!in_hunk && line.starts_with("diff --git ")) || (is_head && has_hunk) {
            parts.push((String::new(), String::new()));
            has_hunk = false;
        }
        let Some((name, part)) = parts.last_mut() else {
            continue;
        };
        part.push_str(line);
        if in_hunk {
            let [old, new] = &mut left;
            *old = usize::saturating_sub(*old, usize::from(!line.starts_with(['+', '\\'])));
            *new = usize::saturating_sub(*new, usize::from(!line.starts_with(['-', '\\'])));
        } else if let Some(sizes) = hunk_sizes(line) {
            left = sizes;
            has_hunk = true;
        } else if is_head {
            let new = file_name(next, "+++ ").or_else(|| file_name(line, "--- "));
            *name = new.unwrap_or_default();
        } else if name.is_empty() && line.starts_with("diff --git ") {
            let last = line.trim_end().rsplit(' ').next().unwrap_or_default();
            *name = last.strip_prefix("b/").unwrap_or(last).to_owned();
        }
    }
    parts
}

/// How many lines of the old and of the new file a hunk has, if the line is the head of one.
fn hunk_sizes(line: &str) -> Option<[usize; 2]> {
    let rest = line.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let size = |range: &str| match range.split_once(',') {
        Some((_, size)) => size.parse().ok(),
        None => Some(1),
    };
    Some([size(old)?, size(new)?])
}

/// The path in a line of the head of a patch; `None` if there is no file.
fn file_name(line: &str, mark: &str) -> Option<String> {
    let name = line.strip_prefix(mark)?.trim_end();
    let name = name.split('\t').next().unwrap_or_default();
    if name == "/dev/null" {
        return None;
    }
    let bare = ["a/", "b/"].iter().find_map(|side| name.strip_prefix(side));
    Some(bare.unwrap_or(name).to_owned())
}

/// The lines that a patch adds or removes.
fn change_lines(part: &str) -> Vec<&str> {
    let from = part.find("\n@@ ").map_or(part.len(), |at| at + 1);
    let lines = part[from..].lines();
    lines.filter(|line| line.starts_with(['+', '-'])).collect()
}

fn is_same_change(one: &str, other: &str) -> bool {
    change_lines(one) == change_lines(other)
}

/// The runs of lines in the new file that a patch adds and an earlier one of the same file did not.
fn new_lines(part: &str, before: &str) -> Vec<[usize; 2]> {
    let mut old: BTreeMap<&str, usize> = BTreeMap::new();
    for line in change_lines(before) {
        *old.entry(line).or_default() += 1;
    }
    let added = change_lines(part)
        .into_iter()
        .filter(|line| line.starts_with('+'));
    let mut new = Vec::new();
    for (line, number) in added.zip(marked_lines(part)) {
        match old.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            _ => new.push(number),
        }
    }
    line_ranges(&new)
}

/// Some code, in two commits.
struct BetweenCommits<'a> {
    store: &'a Store,
    code: &'a CodePart<'a>,
    base: Option<Digest>,
    head: Digest,
}

impl BetweenCommits<'_> {
    /// The files that differ.
    fn files(&self) -> Result<Vec<RepoPath>, Error> {
        let files = match self.base {
            Some(base) => self
                .store
                .code()
                .code_files_changed([base, self.head], self.code)?,
            None => self.store.code().code_files(self.head, self.code)?,
        };
        Ok(files.into_iter().collect())
    }

    fn changed(&self, files: &[RepoPath]) -> Result<Vec<ChangedFile>, Error> {
        let mut changed = Vec::new();
        for path in files {
            let old = self.bytes(self.base, path)?;
            let new = self.bytes(Some(self.head), path)?;
            let text = patch(path, old.as_deref(), new.as_deref())?;
            let mut file = ChangedFile::new(path.as_str(), text);
            if old == new {
                file.note = Some(UNSEEN.to_owned());
            }
            changed.push(file);
        }
        Ok(changed)
    }

    fn bytes(&self, commit: Option<Digest>, path: &RepoPath) -> Result<Option<Vec<u8>>, Error> {
        match commit {
            Some(commit) => self.store.objects().read_at(commit, path),
            None => Ok(None),
        }
    }

    /// Marks the files, and the lines of them, that have changed since a commit.
    fn mark_since(&self, since: Digest, files: &mut [ChangedFile]) -> Result<(), Error> {
        if !self.store.objects().has(since)? {
            return Ok(());
        }
        let later = self
            .store
            .code()
            .code_files_changed([since, self.head], self.code)?;
        for file in files {
            let Some(path) = later.iter().find(|path| path.as_str() == file.path) else {
                continue;
            };
            file.changed_since = true;
            let old = self.bytes(Some(since), path)?;
            let new = self.bytes(Some(self.head), path)?;
            if let Some(text) = patch(path, old.as_deref(), new.as_deref())? {
                file.lines_since = line_ranges(&marked_lines(&text));
            }
        }
        Ok(())
    }

    /// The command of git that shows the same.
    fn command(&self, files: &[RepoPath], omitted: usize) -> Vec<String> {
        let mut command = vec!["git".to_owned()];
        match self.base {
            Some(base) => command.extend(["diff".to_owned(), base.short()]),
            None => command.extend(["show".to_owned(), "--format=".to_owned()]),
        }
        command.push(self.head.short());
        let can_be_named = |path: &RepoPath| !path.as_str().contains(char::REPLACEMENT_CHARACTER);
        if omitted == 0 && files.len() <= MOST_NAMED && files.iter().all(can_be_named) {
            command.push("--".to_owned());
            command.extend(files.iter().map(ToString::to_string));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n one\n+two\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n---- x\n";
    const NEW: &str = "diff --git a/a b/a\nindex 1..3 100644\n--- a/a\n+++ b/a\n@@ -1 +1,3 @@\n one\n+two\n+three\n";

    #[test]
    fn a_patch_is_split_by_file_and_compared_with_an_earlier_one() {
        let old = parts_of_patch(OLD);
        let names: Vec<&str> = old.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "gone"]);
        let new = parts_of_patch(NEW);
        assert_eq!(new.len(), 1);
        assert_eq!(new_lines(&new[0].1, &old[0].1), [[3, 3]]);
        assert!(!is_same_change(&new[0].1, &old[0].1));
        assert!(is_same_change(&old[0].1, &old[0].1));
        assert_eq!(new_lines(&new[0].1, ""), [[2, 3]]);
        assert!(parts_of_patch("no patch\n").is_empty());
    }
}
