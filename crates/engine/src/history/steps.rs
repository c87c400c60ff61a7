//! Derives the new events of a log again: the rules must yield each of them from the state before it and the
//! files of the commit.

use super::edited::EditedFiles;
use super::new_steps::{NewStep, NewSteps};
use super::record::TaskRecord;
use super::verification::take_gone_for_present;
use crate::survey::code::{CodeClaim, claims, code_out_of_reach, guesses};
use crate::survey::snapshot::{Snapshot, first};
use crate::survey::verified_code::VerifiedLook;
use crate::survey::{CodeAt, Error, Loaded, Settings};
use orch_base::{ArtifactName, Digest, PhaseId};
use orch_core::decide::{
    Approval, Detail, Disproof, HistoryEntry, Inputs, Kind, Proof, ProvenStep, Replayed, Stamp,
    Standing, State, choose, is_original, refute, replay,
};
use orch_core::workflow::{Artifact, Guard, Workflow, is_tree_name};
use orch_files::{FileSet, Source};
use orch_read::Observed;
use std::sync::Arc;

/// The maximum number of branches among which a person may have chosen.
const MOST_BRANCHES: usize = 6;

impl NewSteps<'_> {
    /// The verdict about all new steps. Returns an error if git or the workflow cannot be read.
    pub(super) fn prove(&self) -> Result<Proof, Error> {
        let steps = (0..self.steps.len()).map(|index| {
            let event = &self.steps[index].event;
            let id = Some(event.id);
            let workflow = Some(event.workflow.clone());
            let proven = self.held_to_others(&self.steps[index], self.one(index)?)?;
            let mut step = ProvenStep {
                event: id,
                workflow,
                ..proven
            };
            if step.standing < Standing::Unverifiable && self.is_before_move(&self.steps[index]) {
                let former = self.steps[index].state.task.as_deref().unwrap_or_default();
                let why =
                    format!("it was recorded as `{former}`, and no commit here moved that task");
                (step.standing, step.why) = (Standing::Unverifiable, Some(why));
            }
            Ok(step)
        });
        Ok(Proof::of(steps.collect::<Result<Vec<_>, Error>>()?))
    }

    fn one(&self, index: usize) -> Result<ProvenStep, Error> {
        let step = &self.steps[index];
        let entry = step.entry();
        let named = &step.event.workflow;
        let verdict_of = |standing, why: String| verdict(entry, standing, Some(why));
        let earlier = step.before.as_ref().filter(|before| !before.foreign);
        let loaded = self.workflow_of(&step.event);
        if let Some(other) = earlier.and_then(|before| before.workflow.as_ref())
            && other.name != named.name
            && entry.kind != Kind::Migrate
            // The document had another name before.
            && !loaded.as_ref().and_then(|loaded| loaded.workflow()).is_some_and(|workflow| workflow.is_named(other.name.as_str()))
        {
            let why = format!(
                "the task has workflow `{}`, but the step names `{}`",
                other.name, named.name
            );
            return Ok(verdict_of(Standing::Forged, why));
        }
        let Some(loaded) = loaded else {
            let digest = named.digest.short();
            let why = format!(
                "workflow {}@{digest} is not the one in the parent commit",
                named.name
            );
            return Ok(ProvenStep {
                is_judged: false,
                ..verdict_of(Standing::Unverifiable, why)
            });
        };
        let Some(workflow) = loaded.workflow() else {
            return Err(loaded.faulty());
        };
        if entry.kind == Kind::Merge {
            return Ok(match self.chosen(step, workflow)? {
                true => self.ordered(verdict(entry, Standing::Overridden, None), true),
                false => verdict_of(
                    Standing::Forged,
                    "no two branches that it follows make this state".to_owned(),
                ),
            });
        }
        if let Some(why) = &step.disputed {
            return Ok(verdict_of(
                Standing::Forged,
                format!("it follows branches that only a person can join: {why}"),
            ));
        }
        let is_detailed = Detail::is_of(entry.kind) && entry.kind != Kind::Approve;
        if is_detailed || matches!(entry.kind, Kind::Rename | Kind::Undo) {
            return self.recorded(step, workflow);
        }
        self.derived(index, &loaded, workflow)
    }

    /// What the settings asked of decisions before the commit; those of the first commit, if there is none before it.
    fn inputs(&self) -> Inputs {
        let setting = self.decisive();
        setting.config.inputs(setting.system.format())
    }

    /// The settings by which the steps of the commit were decided.
    pub(super) fn decisive(&self) -> &Settings {
        if self.parents.is_empty() {
            self.after.setting
        } else {
            self.before.setting
        }
    }

    /// The verdict about a step that the rules yield: whether its actor may have ordered it, as the settings
    /// before the commit say.
    pub(super) fn ordered(&self, step: ProvenStep, by_human: bool) -> ProvenStep {
        let people = &self.before.setting.config.people;
        let kind = step.entry.kind;
        let actor = &step.entry.actor;
        if let Some(who) = people.refuses_record(kind, by_human, actor.kind) {
            let why = format!(
                "`{}` needs a person, and the record names {who}: {}",
                kind.as_str(),
                actor.name
            );
            return ProvenStep {
                standing: Standing::Forged,
                why: Some(why),
                ..step
            };
        }
        let approval = people.asks(kind, by_human).then_some(Approval::Claimed);
        ProvenStep {
            approval,
            needs_signature: people.asks_for_signature(kind, by_human),
            ..step
        }
    }

    /// Whether the state of a step results from a person's choice among the branches that the step follows.
    fn chosen(&self, step: &NewStep, workflow: &Workflow) -> Result<bool, Error> {
        let entry = step.entry();
        let after = &step.event.after;
        let pool = self.archive.logs();
        if after.len() > MOST_BRANCHES {
            return Ok(false);
        }
        let stamp = Stamp::of(entry);
        let is_made = |chosen: &[Digest], other: &[Digest]| {
            let side = |heads: &[Digest]| pool.fold(Some(workflow), heads).ok()?;
            let sides = side(chosen).zip(side(other));
            let made = sides.and_then(|(one, other)| {
                choose(workflow, &one, &other, &entry.reason, &stamp).ok()
            });
            // The log determines the history of both sides.
            made.filter(|made| made.history.last().map(AsRef::as_ref) == Some(entry))
                .is_some_and(|mut made| {
                    made.be_recorded_as(&step.state, workflow);
                    let history = step.state.history.clone();
                    State {
                        history,
                        entered: step.state.entered.clone(),
                        ..made
                    } == *step.state
                })
        };
        let is_by_heads = (1..(1_usize << after.len()).saturating_sub(1)).any(|chosen| {
            let side = |is_chosen: bool| -> Vec<Digest> {
                let heads = after.iter().enumerate();
                heads
                    .filter(|(at, _)| (chosen >> at & 1 == 1) == is_chosen)
                    .map(|(_, id)| *id)
                    .collect()
            };
            is_made(&side(true), &side(false))
        });
        if is_by_heads {
            return Ok(true);
        }
        // In a rebase, a side may be the whole log of the parent, and the other may follow one of its heads.
        for before in self.befores {
            let log = TaskRecord::in_source(self.task, before.source)?.read(pool, None);
            let known = pool.ids(&log);
            let rest: Vec<Digest> = after
                .iter()
                .filter(|id| !known.contains(*id))
                .copied()
                .collect();
            let is_side = log.heads.len() > 1 && !rest.is_empty() && rest.len() < after.len();
            if is_side && (is_made(&log.heads, &rest) || is_made(&rest, &log.heads)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Derives a step from the files of the commit, or else from reconstructed files.
    fn derived(
        &self,
        index: usize,
        loaded: &Loaded,
        workflow: &Workflow,
    ) -> Result<ProvenStep, Error> {
        let step = &self.steps[index];
        let line = self.line(index);
        let claims = claims(workflow, step.entry(), &step.state);
        let guesses = guesses(workflow, step.before.as_deref(), &step.state);
        let mut attempts = Attempts {
            replaying: self,
            loaded,
            step,
            line: &line,
            claims: &claims,
            guesses: &guesses,
            refused: None,
            excuse: None,
            impossible: None,
            edited: None,
        };
        let note = |files| self.held_after.borrow_mut().insert(step.event.id, files);
        if let Some(proven) = attempts.on(self.after.source)? {
            note(None);
            return Ok(proven);
        }
        let several = self.steps.len() > 1;
        let is_alone = !step.is_aside && !several;
        let possible = match is_alone && !self.is_rebased(step, workflow)? {
            true => Vec::new(),
            false => self.possible_files(loaded, step)?,
        };
        for files in &possible {
            let Some(proven) = attempts.on(files)? else {
                continue;
            };
            note(Some(files.clone()));
            let why = match self.not_kept(index) {
                _ if step.is_aside => None,
                _ if !several => Some(
                    "it was recorded against different files and then rebased onto these"
                        .to_owned(),
                ),
                missing => {
                    missing.map(|name| format!("{name} is not in this commit as the step saw it"))
                }
            };
            if why.is_some() && index + 1 == self.steps.len() {
                attempts.on_edited(std::slice::from_ref(files))?;
            }
            return Ok(match why {
                Some(why) => ProvenStep {
                    standing: Standing::Unverifiable,
                    why: Some(why),
                    ..proven
                },
                None => proven,
            });
        }
        let edited = attempts.on_edited(&possible)?;
        // Later steps may still derive from the files that this one recorded.
        note(possible.into_iter().next());
        Ok(match edited {
            Some(edited) if edited.standing == Standing::Forged => edited,
            Some(edited) => {
                let refused = attempts.refused.unwrap_or_default();
                let edited_later = || format!("{refused}, as after an edit that came later");
                let why = attempts.excuse.unwrap_or_else(edited_later);
                ProvenStep {
                    standing: Standing::Unverifiable,
                    why: Some(why),
                    ..edited
                }
            }
            None => attempts.failed(),
        })
    }

    /// Whether other commits changed every file that differs from the evidence of a step, after it had been
    /// that evidence: a rebase puts a step on top of later work. The next step of an open task is judged on
    /// those files. A finished task has no next step, so this is `false` for it.
    fn is_rebased(&self, step: &NewStep, workflow: &Workflow) -> Result<bool, Error> {
        let phase = step
            .state
            .phase
            .as_deref()
            .and_then(|phase| workflow.phase_named(phase));
        if phase.is_none_or(|phase| phase.terminal) {
            return Ok(false);
        }
        for (name, digest) in step
            .entry()
            .evidence
            .iter()
            .filter(|(name, _)| !is_tree_name(name))
        {
            let (Ok(path), Some(digest)) = (self.task.file(name), Digest::parse(digest)) else {
                return Ok(false);
            };
            let here = self.after.source.read(&path, u64::MAX - 1)?;
            if here.is_blob(digest) {
                continue;
            }
            let by_others = here == self.before.source.read(&path, u64::MAX - 1)?;
            if !by_others || !self.archive.held_at(self.parents, &path, digest)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Evidence of a step that no later step names and that the commit lacks or contains with other bytes.
    fn not_kept(&self, index: usize) -> Option<String> {
        let later = &self.steps[index + 1..];
        let is_renewed = |name: &String| {
            later
                .iter()
                .flat_map(|step| &step.entry().evidence)
                .any(|(other, _)| other == name)
        };
        let kept = |name: &str, digest: &str| {
            let content = || {
                self.after
                    .source
                    .read(&self.task.file(name).ok()?, u64::MAX - 1)
                    .ok()
            };
            let is_here = || {
                content()
                    .zip(Digest::parse(digest))
                    .is_some_and(|(here, digest)| here.is_blob(digest))
            };
            is_tree_name(name) || is_original(name) || is_here()
        };
        let mut evidence = self.steps[index].entry().evidence.iter();
        evidence
            .find(|(name, digest)| !is_renewed(name) && !kept(name, digest))
            .map(|(name, _)| name.clone())
    }

    /// Why the evidence here differs from the record, if it does.
    fn other_evidence(&self, entry: &HistoryEntry, observed: &Observed) -> Option<String> {
        let evidence = entry.evidence.iter().filter(|(name, _)| !is_original(name));
        evidence.into_iter().find_map(|(name, recorded)| {
            let path = self.task.file(name).ok()?;
            let trees = observed.facts.artifacts.values().flatten().filter(|file| file.is_tree);
            let present = match trees.into_iter().find(|tree| tree.path == *name) {
                Some(tree) => tree.digest,
                None => observed.files.iter().find(|file| file.path == path).map(|file| file.digest),
            };
            let present = present.map(|digest| digest.to_string());
            (present.as_deref() != Some(recorded.as_str())).then(|| match present {
                Some(present) => {
                    format!("the record rests on {name}@{recorded:.10}, but the file here is {present:.10}")
                }
                None => format!("the record rests on {name}@{recorded:.10}, which is not here"),
            })
        })
    }

    /// Why a step may be honest although it does not derive. `line` contains the new steps that lead to it,
    /// and the step as the last.
    fn excuse(
        &self,
        line: &[&NewStep],
        workflow: &Workflow,
        observed: &Observed,
    ) -> Option<String> {
        if let Some(path) = observed.unread.first() {
            return Some(format!("{path} cannot be read here"));
        }
        if let Some(why) = code_out_of_reach(&observed.facts) {
            return Some(why);
        }
        let own = line.last()?;
        let is_alone = self.steps.len() == 1 && !own.is_aside;
        // A commit contains only the files at its end. A step in the middle or on another branch rests on the
        // files that its own record and those of earlier steps name.
        if !is_alone && let Some(missing) = self.not_in_git(line, workflow) {
            return Some(missing);
        }
        // Any rule of the phase may have been tried before the one that fired.
        let entered = workflow
            .phase(&own.entry().to)
            .and_then(|phase| phase.substate.as_ref());
        let from = own
            .entry()
            .from
            .iter()
            .flat_map(|from| expressions_in(workflow, from));
        let guards: Vec<&Guard> = from.chain(entered).collect();
        let reads =
            |guard: &Guard, name: &str| workflow.reads(guard).iter().any(|chain| chain[0] == name);
        let asked = |artifact: &Artifact| {
            guards
                .iter()
                .any(|guard| reads(guard, artifact.name.as_str()))
        };
        let elsewhere = workflow
            .artifacts
            .iter()
            .find(|artifact| !artifact.commit && asked(artifact));
        if let Some(artifact) = elsewhere {
            return Some(format!("`{}` is not committed", artifact.name));
        }
        let filtered = observed
            .files
            .iter()
            .find(|file| self.archive.is_filtered(&file.path));
        filtered.map(|file| format!("a filter changes the bytes of {}", file.path))
    }

    /// The first blob or code that the last of these steps needs and this clone lacks.
    fn not_in_git(&self, line: &[&NewStep], workflow: &Workflow) -> Option<String> {
        let is_here = |digest| matches!(self.archive.blob(digest), Ok(Some(_)));
        let own = line.last()?;
        // Another branch may have recorded more than these steps do.
        let evidence = line.iter().flat_map(|step| step.entry().named_files());
        for (name, digest) in evidence {
            let digest = Digest::parse(&digest)?;
            if is_tree_name(&name) {
                return Some(format!(
                    "{name} at that time, {}, is not in git",
                    digest.short()
                ));
            }
            if !is_here(digest) {
                return Some(format!(
                    "the blob of {name}, {}, is not in git",
                    digest.short()
                ));
            }
        }
        let claims = claims(workflow, own.entry(), &own.state);
        // Code is not a blob; it is compared with the trees of commits.
        let is_claimed =
            |name: &ArtifactName, digest: Digest| claims.iter().any(|claim| claim.is(name, digest));
        let mut noted = own
            .noted
            .digests()
            .filter(|(name, digest)| !is_claimed(name, *digest));
        // A step needs no file to use up a digest that the state before it names.
        let is_known = |name: &ArtifactName, digest: Digest| own.spends_what_was_left(name, digest);
        let (name, digest) =
            noted.find(|(name, digest)| !is_here(*digest) && !is_known(name, *digest))?;
        Some(format!(
            "`{name}` at that time, {}, is not in git",
            digest.short()
        ))
    }
}

/// What counts as the code that verifications judge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodeVerified {
    /// That of the commit with whose code the step is derived.
    Present,
    /// That of the last result, if this history does not have it any more.
    Gone,
}

/// The code with which a step is derived.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepCode {
    /// That of the parent commit.
    Parent,
    /// That of the commit with the step.
    Own,
    None,
}

/// The attempts to derive one step, and their results.
struct Attempts<'t> {
    replaying: &'t NewSteps<'t>,
    loaded: &'t Loaded,
    step: &'t NewStep,
    /// The new steps that lead to the step, and the step as the last.
    line: &'t [&'t NewStep],
    claims: &'t [CodeClaim],
    guesses: &'t [CodeClaim],
    refused: Option<String>,
    excuse: Option<String>,
    impossible: Option<Disproof>,
    /// How the files are taken, if they may have been edited after the step.
    edited: Option<EditedFiles>,
}

impl Attempts<'_> {
    /// Derives the step from the files of the commit, or else from others, as they may have been before somebody
    /// edited them.
    fn on_edited(&mut self, others: &[FileSet]) -> Result<Option<ProvenStep>, Error> {
        let at = self.replaying;
        let step = self.step;
        let before = at.files_before_edits(step)?;
        let refused = self.refused.clone();
        let excuse = self.excuse.clone();
        let impossible = self.impossible.clone();
        let mut found = None;
        for way in EditedFiles::ways() {
            self.edited = Some(way);
            let files = [at.after.source, &before]
                .into_iter()
                .chain(others.iter().map(|one| one as &dyn Source));
            found = first(files, |files| self.on(files))?;
            if found.is_some() {
                at.edited.borrow_mut().insert(step.event.id);
                break;
            }
        }
        // Why the step does not derive is a question about the files as they are.
        (self.refused, self.excuse, self.impossible, self.edited) =
            (refused, excuse, impossible, None);
        Ok(found)
    }

    /// Derives the step from some files, with the code of the parent commit, or else that of its own commit,
    /// which a squash makes, or else without code.
    fn on(&mut self, files: &dyn Source) -> Result<Option<ProvenStep>, Error> {
        let proven = self.with_code_of(files, StepCode::Parent)?;
        let is_certain = |proven: &ProvenStep| proven.standing < Standing::Unverifiable;
        if proven.as_ref().is_some_and(is_certain) {
            return Ok(proven);
        }
        let own = match self.brings_code()? {
            true => self.with_code_of(files, StepCode::Own)?.filter(is_certain),
            false => None,
        };
        match own.or(proven) {
            None if self.replaying.is_new_task && self.claims.is_empty() => {
                self.without_code(files)
            }
            proven => Ok(proven),
        }
    }

    /// Derives a step that names no code as it was recorded before there was a repository. Only the log of a
    /// task that is new in its commit can contain such steps.
    fn without_code(&mut self, files: &dyn Source) -> Result<Option<ProvenStep>, Error> {
        let proven = self.by(files, &[], (StepCode::None, CodeVerified::Present))?;
        let why = "it was recorded where git had no code, for example before `git init`";
        let unverifiable = |proven: ProvenStep| match proven.standing {
            Standing::Forged => proven,
            _ => ProvenStep {
                standing: Standing::Unverifiable,
                why: Some(why.to_owned()),
                ..proven
            },
        };
        Ok(proven.map(unverifiable))
    }

    /// Whether the step concerns code, and its commit changes code.
    fn brings_code(&self) -> Result<bool, Error> {
        let concerns_code = !self.claims.is_empty() || !self.guesses.is_empty();
        let workflow = self.loaded.workflow().filter(|_| concerns_code);
        workflow.map_or(Ok(false), |workflow| self.replaying.changes_code(workflow))
    }

    /// Derives the step with the code of a commit, or else the code that the step recorded, or else code that
    /// it may have seen.
    fn with_code_of(
        &mut self,
        files: &dyn Source,
        code: StepCode,
    ) -> Result<Option<ProvenStep>, Error> {
        if let Some(proven) = self.by(files, &[], (code, CodeVerified::Present))? {
            return Ok(Some(proven));
        }
        let possible = std::iter::once(self.claims).chain(self.guesses.chunks(1));
        let claimed = possible.filter(|claims| !claims.is_empty());
        let found = first(claimed.clone(), |claims| {
            self.by(files, claims, (code, CodeVerified::Present))
        })?;
        if found.is_some() {
            return Ok(found);
        }
        // A rebase or a squash leaves none of the code that was verified.
        first(claimed.chain(std::iter::once(&[][..])), |claims| {
            self.by(files, claims, (code, CodeVerified::Gone))
        })
    }

    fn by(
        &mut self,
        source: &dyn Source,
        claims: &[CodeClaim],
        (of, of_verified): (StepCode, CodeVerified),
    ) -> Result<Option<ProvenStep>, Error> {
        let at = self.replaying;
        let step = self.step;
        let is_own = of == StepCode::Own;
        let code = match of {
            StepCode::Parent => at.after.code,
            StepCode::Own => at.own_code,
            StepCode::None => CodeAt::Nowhere,
        };
        let snapshot = Snapshot {
            source,
            code,
            ..at.after
        };
        let before = step.recorded();
        let task = at.task_then(step);
        let (workflow, mut observed, untrue) =
            snapshot.observe_step(is_own, &task, self.loaded, (&before, step.entry()), claims)?;
        observed.facts.inputs = at.inputs();
        let verified = VerifiedLook {
            snapshot,
            config: &at.decisive().config,
        };
        verified.add_to(&task, workflow, &before, &mut observed)?;
        let gone = match of_verified {
            CodeVerified::Present => None,
            CodeVerified::Gone => {
                match take_gone_for_present(at.decisive(), at.after.code, &before, &mut observed)? {
                    None => return Ok(None),
                    gone => gone,
                }
            }
        };
        if let Some(edited) = self.edited {
            edited.take(step, &mut observed.facts);
        }
        if untrue.is_empty() && !claims.is_empty() {
            return Ok(None);
        }
        let entry = step.entry();
        match replay(workflow, &before, &observed.facts, entry, Some(&step.state)) {
            Ok(replayed) => {
                let proven =
                    self.proven(step, (&snapshot, is_own), workflow, &replayed, &untrue)?;
                Ok(Some(match gone {
                    Some(why) if proven.standing < Standing::Unverifiable => ProvenStep {
                        standing: Standing::Unverifiable,
                        why: Some(why),
                        ..proven
                    },
                    _ => proven,
                }))
            }
            Err(disproof) => {
                let other = at.other_evidence(entry, &observed);
                self.refused
                    .get_or_insert_with(|| other.unwrap_or(disproof.message));
                if self.impossible.is_none() {
                    self.impossible =
                        refute(workflow, &before, &observed.facts, entry, &step.state);
                }
                if self.excuse.is_none() {
                    self.excuse = at.excuse(self.line, workflow, &observed);
                }
                Ok(None)
            }
        }
    }

    /// The verdict about a step that the rules yield.
    fn proven(
        &self,
        step: &NewStep,
        (snapshot, is_own): (&Snapshot<'_>, bool),
        workflow: &Workflow,
        replayed: &Replayed,
        untrue: &[CodeClaim],
    ) -> Result<ProvenStep, Error> {
        let at = self.replaying;
        let entry = step.entry();
        // `orch` would have refused to record it.
        if let Some(why) = at.before.setting.refused_data(workflow, &step.state) {
            return Ok(verdict(entry, Standing::Forged, Some(why)));
        }
        let moved = |artifact: &ArtifactName, digest| {
            at.moved_code(step, workflow, snapshot, artifact, digest)
                .unwrap_or_else(|error| {
                    // What git cannot read proves nothing.
                    Some(format!(", and its history cannot be read: {error}"))
                })
        };
        // What git cannot read proves nothing.
        let is_apart = |artifact: &ArtifactName, digest| {
            at.entered_apart(step, workflow, artifact, digest)
                .unwrap_or_default()
        };
        let is_moved = untrue.iter().any(|claim| !claim.is_base());
        let code =
            match snapshot.code_unknown(workflow, (at.parents, is_own), untrue, moved, is_apart)? {
                None if is_own => {
                    let own = snapshot.code_here(workflow)?;
                    let own = own
                        .iter()
                        .filter(|(name, _)| !untrue.iter().any(|claim| claim.is_of(name)));
                    own.into_iter()
                        .find_map(|(name, digest)| moved(name, *digest))
                }
                None => {
                    let claims = self.claims.iter().filter(|claim| !untrue.contains(claim));
                    snapshot.miscounted(at.task, workflow, &step.recorded(), claims)?
                }
                unknown => unknown,
            };
        if code.is_some() {
            return Ok(verdict(entry, Standing::Unverifiable, code));
        }
        let why = match (replayed.doubt, replayed.lost.as_slice()) {
            (Some(why), _) => Some(why.to_owned()),
            (_, []) if is_moved => {
                Some("the code here is other code with the same change".to_owned())
            }
            (_, []) => None,
            (_, lost) => Some(format!(
                "evidence of earlier phases is gone: {}",
                lost.join(", ")
            )),
        };
        Ok(at.ordered(verdict(entry, replayed.standing, why), replayed.by_human))
    }

    /// The verdict about a step that no attempt derived.
    fn failed(self) -> ProvenStep {
        let (standing, why) = match (self.excuse, self.impossible) {
            (None, _) => (Standing::Forged, self.refused),
            (Some(_), Some(disproof)) => (Standing::Forged, Some(disproof.message)),
            (Some(why), None) => (Standing::Unverifiable, Some(why)),
        };
        verdict(self.step.entry(), standing, why)
    }
}

pub(super) fn verdict(
    entry: &Arc<HistoryEntry>,
    standing: Standing,
    why: Option<String>,
) -> ProvenStep {
    ProvenStep {
        entry: Arc::clone(entry),
        event: None,
        workflow: None,
        standing,
        approval: None,
        needs_signature: false,
        is_judged: true,
        why,
        vouched: Vec::new(),
    }
}

/// All expressions that may be evaluated for a task in a phase.
fn expressions_in<'w>(workflow: &'w Workflow, phase: &'w PhaseId) -> Vec<&'w Guard> {
    let mut found: Vec<&Guard> = workflow
        .phase(phase)
        .and_then(|phase| phase.substate.as_ref())
        .into_iter()
        .collect();
    for rule in workflow.rules_from(phase) {
        found.push(&rule.when);
        found.extend(rule.set.iter().map(|(_, guard)| guard));
        let actions = rule
            .outcome
            .actions()
            .iter()
            .filter_map(|action| workflow.action(action));
        found.extend(actions.flat_map(|action| [&action.when, &action.ensures]));
        let ask = rule.ask.as_deref().and_then(|ask| workflow.ask(ask));
        let asks = ask
            .into_iter()
            .flat_map(|ask| ask.options.iter().chain(&ask.set));
        found.extend(asks.map(|(_, guard)| guard));
    }
    found
}
