//! Who was seen to write a file or to make a commit, until a step notes it; and what commits say about that.
//!
//! Each observation is a file of its own in the git directory, by task, path and blob id, so that processes do not
//! disturb each other and a kill leaves no half of one. A step that notes the writer forgets it. Deleting them loses only
//! who wrote what no step has used yet.

use super::{Error, History, Layout, digest, durable, trailers};
use git2::Commit as GitCommit;
use orch_base::{AgentMark, Digest, RepoPath, trailer};
use orch_core::decide::{ActorKind, FileWriter};
use orch_files::{Directory, FileStamp};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The directory of the observations.
const SEEN: &str = "writers";
/// If a task has more observations, the oldest half is forgotten.
const MOST_SEEN: usize = 512;
/// The most commits that are looked at between two.
const MOST_COMMITS: usize = 200;

/// What was seen of one task.
pub struct SeenWriters {
    directory: PathBuf,
    names: BTreeSet<String>,
}

impl SeenWriters {
    /// Who was seen to write these bytes at a path of the task, or to make this commit.
    #[must_use]
    pub fn of(&self, path: &str, content: Digest) -> Option<FileWriter> {
        let name = name_of(path, content);
        let text = self
            .names
            .contains(&name)
            .then(|| durable::text_of(&self.directory.join(name)).ok())??;
        serde_json::from_str(&text).ok()
    }

    /// The stamps of all observations, in one text.
    #[must_use]
    pub fn stamps(&self) -> String {
        let stamp =
            |name: &String| FileStamp::at(&self.directory.join(name)).map(|stamp| stamp.bytes());
        self.names
            .iter()
            .map(|name| format!("{name} {:?}\n", stamp(name)))
            .collect()
    }
}

/// The name of an observation.
fn name_of(path: &str, content: Digest) -> String {
    content
        .format()
        .blob(format!("{path}\0{content}").as_bytes())
        .to_string()
}

impl Layout<'_> {
    /// The directory of the observations of a task.
    fn seen_directory(&self, task: &RepoPath) -> PathBuf {
        let name = self
            .objects
            .format
            .blob(task.as_str().as_bytes())
            .to_string();
        self.common_directory().join("orch").join(SEEN).join(name)
    }

    /// What was seen of the task in this directory; `None` if nothing was.
    #[must_use]
    pub fn seen_writers(&self, task: &RepoPath) -> Option<SeenWriters> {
        let directory = self.seen_directory(task);
        let entries = fs::read_dir(&directory).ok()?;
        let names: BTreeSet<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        (!names.is_empty()).then_some(SeenWriters { directory, names })
    }

    /// Keeps who was seen to write these bytes at a path of a task, or to make this commit. What was seen before stays,
    /// unless it is an agent of which no turn is known, or an order wrote them again. Returns an error if it cannot be kept.
    pub fn see_writer(
        &self,
        task: &RepoPath,
        (path, content): (&str, Digest),
        writer: &FileWriter,
    ) -> Result<(), Error> {
        let before = self.seen_writers(task);
        if let Some(known) = before.as_ref().and_then(|seen| seen.of(path, content))
            && !(known.kind == ActorKind::Agent && known.turn.is_none() && writer.turn.is_some())
            && !writer.ordered
        {
            return Ok(());
        }
        let directory = self.seen_directory(task);
        let base = self.common_directory();
        Directory::make(base, &directory)
            .map_err(|source| orch_files::io_error(&directory, source))?;
        let text = serde_json::to_string(writer).unwrap_or_default();
        durable::write_derived(
            base,
            &directory.join(name_of(path, content)),
            text.as_bytes(),
        )?;
        if before.is_some_and(|seen| seen.names.len() >= MOST_SEEN) {
            self.forget_oldest(&directory);
        }
        Ok(())
    }

    fn forget_oldest(&self, directory: &std::path::Path) {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut dated: Vec<_> = entries
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        dated.sort();
        dated.truncate(dated.len().saturating_sub(MOST_SEEN / 2));
        dated
            .iter()
            .for_each(|(_, path)| durable::remove(self.common_directory(), path));
    }

    /// Forgets what was seen of these bytes of a task, because a step has noted it.
    pub fn forget_writers<'p>(
        &self,
        task: &RepoPath,
        used: impl IntoIterator<Item = (&'p str, Digest)>,
    ) {
        let Some(seen) = self.seen_writers(task) else {
            return;
        };
        let base = self.common_directory();
        for (path, content) in used {
            let name = name_of(path, content);
            if seen.names.contains(&name) {
                durable::remove(base, &seen.directory.join(name));
            }
        }
        durable::remove_empty(base, &seen.directory);
    }
}

impl History<'_> {
    /// Who made a commit, as it says itself: the agents that mark it, or else its author; nobody if it is one of `orch`.
    /// Returns an error if git cannot read it.
    pub fn writers_of_commit(&self, commit: Digest) -> Result<Vec<FileWriter>, Error> {
        Ok(made_by(
            &self.objects.find_commit(self.objects.oid(commit)?)?,
        ))
    }

    /// The commits that are contained in `to` and not in `from`, newest first, as far as people or agents made them.
    /// Returns an error if git cannot read them.
    pub fn commits_since(&self, from: Option<Digest>, to: Digest) -> Result<Vec<Digest>, Error> {
        let hidden: Vec<Digest> = from.into_iter().collect();
        let mut found = Vec::new();
        for id in self.walk_from(&[to], &hidden)?.take(MOST_COMMITS) {
            let commit = self.objects.find_commit(id?)?;
            if !made_by(&commit).is_empty() {
                found.push(digest(commit.id()));
            }
        }
        Ok(found)
    }
}

/// Who made a commit, as it says itself.
pub(super) fn made_by(commit: &GitCommit<'_>) -> Vec<FileWriter> {
    let trailers = trailers(&String::from_utf8_lossy(commit.message_bytes()));
    if trailers
        .iter()
        .any(|(token, _)| token.eq_ignore_ascii_case(trailer::TO))
    {
        return Vec::new();
    }
    let mut agents: Vec<FileWriter> = Vec::new();
    let mut add = |name: &str| {
        let agent = FileWriter::new(ActorKind::Agent, name.trim());
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    };
    for (token, value) in &trailers {
        if token.eq_ignore_ascii_case(trailer::WRITER) && !value.trim().is_empty() {
            add(value);
        } else if let Some(mark) = AgentMark::of_trailer(token, value) {
            add(mark.program);
        }
    }
    let author = commit.author();
    let name = String::from_utf8_lossy(author.name_bytes()).into_owned();
    let mail = String::from_utf8_lossy(author.email_bytes()).into_owned();
    if let Some(mark) = AgentMark::of_address(&mail) {
        add(mark.program);
    }
    if agents.is_empty() {
        vec![FileWriter::new(
            ActorKind::Human,
            format!("{name} <{mail}>"),
        )]
    } else {
        agents
    }
}
