//! Compiles a document into a [`Workflow`] and reports all problems together.

use super::group::grouped;
use super::memo::CheckMemo;
use super::place::{advised, bad_path};
use super::raw::{self, RawArtifact, RawPhase, Text};
use super::{
    Action, Artifact, Ask, AskedApprovals, Document, Format, Guard, Independence, Owner, Phase,
    RepositoryFiles, SchemaText, StateShape, System, TreeScope, Workflow, machine,
};
use crate::Spanned;
use orch_base::{
    ArtifactName, Code, Diagnostic, InvalidName, Patterns, PhaseId, Place, RepoPath, WorkflowName,
    nearest, with_line_feeds,
};
use std::ops::Range;

/// The number of attempts at a phase, unless the workflow sets it.
const DEFAULT_ATTEMPTS: u32 = 5;
/// The patterns that `tree` accepts.
const TREE_HINT: &str = "write `src/**` for a directory, `Cargo.toml` for a file, or `**` alone";
/// The members of every artifact in a guard.
pub(super) const ARTIFACT_MEMBERS: [&str; 12] = [
    "present",
    "valid",
    "fresh",
    "ready",
    "changed",
    "digest",
    "count",
    "all",
    "data",
    "path",
    "problems",
    "not_counted",
];
/// The root names in a named fact of an artifact.
const FACT_ROOTS: [&str; 4] = ["data", "all", "count", "path"];
/// The root names in a guard, apart from artifacts and named expressions.
pub(super) const GUARD_ROOTS: [&str; 6] = ["state", "phase", "attempt", "task", "run", "action"];

/// Compiles a document. Returns the workflow, unless a problem is an error, and all problems.
///
/// `system` contains the schemas and agent instructions that the document names. The guards of a document that ships
/// with the program are known to be valid, because a test checks them; they are parsed when they are used.
///
/// ````
/// use orch_core::workflow::{Document, System, compile};
///
/// let text = r#"
/// ```toml orch
/// [workflow]
/// initial = "write"
///
/// [phase.write]
///
/// [[rule]]
/// id = "finished"
/// from = "write"
/// when = "state.finshed"
/// to = "don"
/// because = "it is finished"
/// ```
/// "#;
/// let (workflow, problems) = compile(&Document::new("notes", "notes.md", text), &System::empty());
/// assert!(workflow.is_none());
/// let found = problems.iter().find(|problem| problem.message.contains("`don`"));
/// let place = found.and_then(|problem| problem.place.as_ref());
/// assert_eq!(place.and_then(|place| place.line), Some(12));
/// ````
#[must_use]
pub fn compile(document: &Document, system: &System) -> (Option<Workflow>, Vec<Diagnostic>) {
    compile_with(document, system, &mut CheckMemo::default())
}

/// The same, with what is known of earlier versions of the document.
pub fn compile_with(
    document: &Document,
    system: &System,
    memo: &mut CheckMemo,
) -> (Option<Workflow>, Vec<Diagnostic>) {
    compile_guards(document, system, System::ships(document), memo)
}

fn compile_guards(
    document: &Document,
    system: &System,
    is_checked: bool,
    memo: &mut CheckMemo,
) -> (Option<Workflow>, Vec<Diagnostic>) {
    let (raw, mut problems) = raw::read(document);
    problems.extend(document.unread_blocks());
    let actions = raw
        .actions
        .iter()
        .map(|action| action.name.value.clone())
        .collect();
    let approved = raw.phases.iter().filter(|phase| phase.approvals.is_some());
    let approved = approved.map(|phase| phase.name.value.clone()).collect();
    let deadlines = raw.deadlines.iter();
    let deadlines = deadlines.map(|deadline| deadline.name.value.clone());
    let deadlines = deadlines.collect();
    let mut compiler = Compiler {
        document,
        system,
        problems,
        actions,
        approved,
        deadlines,
        is_checked,
        memo,
    };
    let workflow = compiler.workflow(raw);
    let problems = Diagnostic::in_order(compiler.problems);
    let accepted = if problems.iter().any(Diagnostic::is_error) {
        None
    } else {
        workflow
    };
    (accepted, problems)
}

/// The names that a rule may refer to.
pub(super) struct KnownNames<'a> {
    pub phases: &'a [Phase],
    pub artifacts: &'a [Artifact],
    pub defines: &'a [(String, Guard)],
    pub phase_key: &'a str,
}

pub(super) struct Compiler<'a> {
    pub document: &'a Document,
    pub(super) system: &'a System,
    problems: Vec<Diagnostic>,
    /// The names of its actions, which guards may use before the actions are compiled.
    pub actions: Vec<String>,
    /// The names of its phases that ask for several approvals.
    pub approved: Vec<String>,
    /// The names of its deadlines.
    pub deadlines: Vec<String>,
    /// Whether its guards are known to be valid.
    pub is_checked: bool,
    /// What is known of the guards of earlier versions.
    pub memo: &'a mut CheckMemo,
}

impl Compiler<'_> {
    pub(super) fn place(&self, span: &Range<usize>) -> Place {
        self.document.place(span.start, span.len())
    }

    pub(super) fn problem(&mut self, span: &Range<usize>, diagnostic: Diagnostic) {
        let place = self.place(span);
        self.problems.push(advised(diagnostic.at(place)));
    }

    pub(super) fn name<T>(
        &mut self,
        text: &Text,
        parse: impl Fn(&str) -> Result<T, InvalidName>,
    ) -> Option<T> {
        match parse(&text.value) {
            Ok(name) => Some(name),
            Err(error) => {
                self.problem(
                    &text.span,
                    Diagnostic::error(Code::WorkflowName, error.to_string()),
                );
                None
            }
        }
    }

    pub(super) fn unknown<'n>(
        &mut self,
        text: &Text,
        code: Code,
        what: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) {
        let hint = match nearest(&text.value, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "the known names are: {}",
                known.collect::<Vec<_>>().join(", ")
            ),
        };
        let message = format!("there is no {what} `{}`", text.value);
        self.problem(&text.span, Diagnostic::error(code, message).hint(hint));
    }

    fn schema(&mut self, text: &Text) -> Option<SchemaText> {
        match self.system.schema(&text.value) {
            Some(schema) => {
                let digest = self.system.format().blob(schema.as_bytes());
                Some(SchemaText::new(text.value.clone(), schema, digest))
            }
            None => {
                let known: Vec<String> = self
                    .system
                    .names("schemas", ".schema.json")
                    .map(str::to_owned)
                    .collect();
                self.unknown(
                    text,
                    Code::WorkflowMissingSchema,
                    "schema",
                    known.iter().map(String::as_str),
                );
                None
            }
        }
    }

    pub(super) fn agent(&mut self, text: &Text) {
        if self.system.agent(&text.value).is_none() {
            let known: Vec<String> = self
                .system
                .names("agents", ".md")
                .map(str::to_owned)
                .collect();
            self.unknown(
                text,
                Code::WorkflowMissingAgent,
                "agent",
                known.iter().map(String::as_str),
            );
        }
    }

    fn workflow(&mut self, mut raw: raw::RawWorkflow) -> Option<Workflow> {
        let top = Spanned {
            value: self.document.name.clone(),
            span: 0..0,
        };
        let name = self.name(&top, |text| WorkflowName::new(text));
        if raw.phases.is_empty() {
            let hint = "declare phases in fenced blocks with the info string `toml orch`";
            let diagnostic =
                Diagnostic::error(Code::WorkflowEmpty, "the document declares no phase").hint(hint);
            self.problem(&(0..0), diagnostic);
            return None;
        }
        let artifacts_named = raw
            .artifacts
            .iter()
            .map(|artifact| (&artifact.name, artifact.aliases.as_slice()));
        self.aliases("an artifact", artifacts_named);
        self.forgets(&raw.forgets, &raw.artifacts);
        self.own_aliases(&raw.aliases);
        let judges: Vec<Vec<Text>> = raw
            .artifacts
            .iter_mut()
            .map(|artifact| std::mem::take(&mut artifact.judges))
            .collect();
        let namings: Vec<Text> = raw
            .artifacts
            .iter()
            .filter_map(|artifact| artifact.named_by.clone())
            .collect();
        let read: Vec<Option<Artifact>> = raw
            .artifacts
            .into_iter()
            .map(|artifact| self.artifact(artifact))
            .collect();
        let artifacts = self.judged(read, &judges);
        let defines = self.defines(&raw.defines, &artifacts);
        let phases: Vec<Phase> = raw
            .phases
            .iter()
            .filter_map(|phase| self.phase(phase, &artifacts, &defines))
            .collect();
        let phases_named = raw
            .phases
            .iter()
            .map(|phase| (&phase.name, phase.aliases.as_slice()));
        self.aliases("a phase", phases_named);
        let phase_key = self.phase_key(raw.phase_key.as_ref());
        let known = KnownNames {
            phases: &phases,
            artifacts: &artifacts,
            defines: &defines,
            phase_key: &phase_key,
        };
        let actions: Vec<Action> = raw
            .actions
            .iter()
            .filter_map(|action| self.rules().action(action, &known))
            .collect();
        let asks: Vec<Ask> = raw
            .asks
            .iter()
            .filter_map(|ask| self.rules().question(ask, &known))
            .collect();
        let deadlines = self.rules().deadlines(&raw.deadlines, &raw.phases);
        let moves = self.rules().moves(&raw.moves, &raw.phases);
        let limits = self.rules().limits(&raw.limits);
        self.rules().pointers(&raw.show);
        let keep = self.rules().windows(&raw.keep, &known);
        let rebuild = self.rules().values(&raw.rebuild, &known);
        let import = raw
            .import
            .as_ref()
            .and_then(|import| self.rules().import(import, &phase_key));
        let initial = match &raw.initial {
            Some(initial) => self.phase_id(initial, &phases),
            None => phases.first().map(|phase| phase.id.clone()),
        };
        let rules = raw.rules.iter();
        let rules = rules.filter_map(|rule| self.rules().rule(rule, &known, &actions, &asks));
        let rules = grouped(rules);
        self.rule_ids(&raw.rules);
        self.defaults(&raw.defaults, &phase_key);
        let schema = raw.state_schema.as_ref().and_then(|text| self.schema(text));
        let document_digest = self
            .system
            .format()
            .blob(with_line_feeds(&self.document.text).as_bytes());
        let said = self.system.format().blob(raw.said.as_bytes());
        let workflow = Workflow {
            digest: machine::digest(said, &artifacts, schema.as_ref()),
            digest_of_bytes: machine::digest(document_digest, &artifacts, schema.as_ref()),
            document_digest,
            aliases: raw.aliases.into_iter().map(|alias| alias.value).collect(),
            forgets: raw.forgets.into_iter().map(|name| name.value).collect(),
            names: raw
                .names
                .as_ref()
                .map(|text| self.named_guard(text, &artifacts, &defines)),
            title: raw
                .title
                .map_or_else(|| self.document.name.clone(), |title| title.value),
            name: name?,
            path: self.document.path.clone(),
            initial: initial?,
            phase_key,
            attempts: raw
                .attempts
                .map_or(DEFAULT_ATTEMPTS, |count| clamp(count.value)),
            artifacts,
            phases,
            rules,
            defines,
            actions,
            asks,
            deadlines,
            moves,
            limits,
            show: raw.show.into_iter().map(|pointer| pointer.value).collect(),
            state: StateShape {
                schema,
                keep,
                rebuild,
                import,
                defaults: raw
                    .defaults
                    .into_iter()
                    .map(|(name, value)| (name.value, value))
                    .collect(),
            },
        };
        self.check_namings(&workflow, &namings);
        Some(workflow)
    }

    fn artifact(&mut self, raw: RawArtifact) -> Option<Artifact> {
        if raw.paths.is_empty() && raw.tree.is_none() && raw.root_paths.is_none() {
            let message = format!(
                "artifact `{}` has none of `path`, `tree` and `root_path`",
                raw.name.value
            );
            self.problem(
                &raw.name.span,
                Diagnostic::error(Code::WorkflowMissingKey, message),
            );
        }
        let tree = raw.tree.as_ref().and_then(|texts| self.tree(texts, &raw));
        let repository = raw
            .root_paths
            .as_ref()
            .and_then(|texts| self.repository_files(texts, &raw));
        for path in &raw.paths {
            if let Some(reason) = bad_path(&path.value) {
                self.problem(
                    &path.span,
                    Diagnostic::error(Code::WorkflowValue, format!("`path` {reason}")),
                );
            }
        }
        let format = match &raw.format {
            Some(text) => Format::named(&text.value).unwrap_or_else(|| {
                let known = Format::ALL.iter().map(|format| format.as_str());
                self.unknown(text, Code::WorkflowValue, "format", known);
                Format::Text
            }),
            None => raw
                .paths
                .iter()
                .chain(raw.root_paths.iter().flatten())
                .next()
                .map_or(Format::Text, |path| Format::of_path(&path.value)),
        };
        let name = self.name(&raw.name, |text| ArtifactName::new(text))?;
        if GUARD_ROOTS.contains(&name.as_str()) {
            let message = format!("`{name}` is already a name in guards");
            self.problem(
                &raw.name.span,
                Diagnostic::error(Code::WorkflowDuplicate, message),
            );
        }
        let mut facts = Vec::new();
        for (fact, text) in &raw.facts {
            if ARTIFACT_MEMBERS.contains(&fact.value.as_str()) {
                let message = format!(
                    "every artifact already has `{}`; choose another name",
                    fact.value
                );
                self.problem(
                    &fact.span,
                    Diagnostic::error(Code::WorkflowDuplicate, message),
                );
                continue;
            }
            let guard = self.guard(text, |compiler, guard| {
                compiler.roots(text, guard, &FACT_ROOTS)
            });
            facts.push((fact.value.clone(), guard));
        }
        let named_by = raw
            .named_by
            .as_ref()
            .and_then(|text| self.naming(text, &raw));
        let schema = raw.schema.as_ref().and_then(|text| self.schema(text));
        let paths: Vec<String> = raw.paths.into_iter().map(|path| path.value).collect();
        if let Some(text) = &raw.new_path
            && !Patterns::new(&paths).is_ok_and(|patterns| patterns.matches(&text.value))
        {
            let message = format!("`new_path` is not a path of artifact `{name}`");
            let hint =
                "name a path that `path` matches, for example with `<name>` in place of a `*`";
            self.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowValue, message).hint(hint),
            );
        }
        let complete = self.completion(raw.complete.as_ref(), format, &paths);
        Some(Artifact {
            name,
            aliases: raw.aliases.into_iter().map(|alias| alias.value).collect(),
            paths,
            new_path: raw.new_path.map(|path| path.value),
            tree,
            repository,
            named_by,
            format,
            schema,
            facts,
            commit: raw.commit,
            judges: Vec::new(),
            same_as: raw
                .same_as
                .as_ref()
                .and_then(|text| self.verification(text)),
            filled: raw.filled,
            title: raw.title.map(|title| title.value),
            example: raw.example.map(|example| example.value),
            complete,
        })
    }

    fn judged(&mut self, read: Vec<Option<Artifact>>, judges: &[Vec<Text>]) -> Vec<Artifact> {
        let known: Vec<Artifact> = read.iter().flatten().cloned().collect();
        let mut artifacts = Vec::new();
        for (artifact, judges) in read.into_iter().zip(judges) {
            let names = self.artifact_names(judges, &known);
            self.twice(judges.iter());
            let Some(artifact) = artifact else { continue };
            if let Some(own) = judges
                .iter()
                .find(|text| text.value == artifact.name.as_str())
            {
                let message = format!("artifact `{}` cannot judge itself", artifact.name);
                self.problem(&own.span, Diagnostic::error(Code::WorkflowValue, message));
            }
            let filled = artifact.filled || !names.is_empty();
            artifacts.push(Artifact {
                judges: names,
                filled,
                ..artifact
            });
        }
        artifacts
    }

    /// The files of the repository that an artifact consists of. Reports keys that make no sense for files which are no
    /// work of the task.
    fn repository_files(&mut self, texts: &[Text], raw: &RawArtifact) -> Option<RepositoryFiles> {
        let for_work = [
            ("path", raw.paths.first()),
            ("tree", raw.tree.iter().flatten().next()),
            ("new_path", raw.new_path.as_ref()),
            ("named_by", raw.named_by.as_ref()),
            ("judges", raw.judges.first()),
            ("example", raw.example.as_ref()),
            ("complete", raw.complete.as_ref()),
        ];
        for (key, text) in for_work {
            let Some(text) = text else { continue };
            let message = format!(
                "`{key}` is for work of the task, but `root_path` of artifact `{}` names files of the repository",
                raw.name.value
            );
            self.problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
        }
        if raw.filled || !raw.commit || texts.is_empty() {
            let message = format!(
                "`root_path` of artifact `{}` names files, and goes with neither `filled` nor `commit`",
                raw.name.value
            );
            self.problem(
                &raw.name.span,
                Diagnostic::error(Code::WorkflowValue, message),
            );
            return None;
        }
        self.twice(texts.iter());
        match RepositoryFiles::new(texts.iter().map(|text| text.value.clone()).collect()) {
            Ok(files) => Some(files),
            Err((index, why)) => {
                let hint = "write a path from the root of the repository, such as `docs/settings.yaml` or `docs/*/settings.yaml`";
                let message = format!("`root_path` {why}");
                let finding = Diagnostic::error(Code::WorkflowValue, message).hint(hint);
                self.problem(&texts.get(index)?.span, finding);
                None
            }
        }
    }

    /// The expression that says which files of an artifact count.
    fn naming(&mut self, text: &Text, raw: &RawArtifact) -> Option<Guard> {
        if raw.paths.len() < 2 {
            let message = format!(
                "`named_by` chooses among several paths, and artifact `{}` has one",
                raw.name.value
            );
            let hint = "list in `path` the file that counts by default, and then what may be named instead, such as `**/*.md`";
            self.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowValue, message).hint(hint),
            );
            return None;
        }
        // What it reads is checked once the named expressions are known.
        Some(self.guard(text, |_, _| {}))
    }

    /// Reports what expressions of `named_by` may not read: they see files of artifacts that have none themselves.
    fn check_namings(&mut self, workflow: &Workflow, namings: &[Text]) {
        if self.is_checked {
            return;
        }
        let plain = workflow
            .artifacts
            .iter()
            .filter(|artifact| artifact.named_by.is_none());
        let plain: Vec<&str> = plain.map(|artifact| artifact.name.as_str()).collect();
        let guards = workflow
            .artifacts
            .iter()
            .filter_map(|artifact| artifact.named_by.as_ref());
        for (guard, text) in guards.zip(namings) {
            for chain in workflow.reads(guard) {
                if !plain.contains(&chain[0].as_str()) {
                    let root = Text {
                        value: chain[0].clone(),
                        span: text.span.clone(),
                    };
                    let known = plain.iter().copied();
                    self.unknown(
                        &root,
                        Code::GuardUnknownName,
                        "artifact without `named_by`",
                        known,
                    );
                }
            }
        }
    }

    /// The part of a commit's tree that an artifact consists of. Reports patterns that would require walking
    /// the tree.
    fn tree(&mut self, texts: &[Text], raw: &RawArtifact) -> Option<TreeScope> {
        let for_files = [("format", &raw.format), ("schema", &raw.schema)];
        for (key, text) in for_files.into_iter().filter(|_| raw.paths.is_empty()) {
            let Some(text) = text else { continue };
            let message = format!("`{key}` applies to files, but this artifact has no `path`");
            self.problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
        }
        if texts.is_empty() {
            let message = format!("`tree` of artifact `{}` is empty", raw.name.value);
            self.problem(
                &raw.name.span,
                Diagnostic::error(Code::WorkflowValue, message).hint(TREE_HINT),
            );
            return None;
        }
        self.twice(texts.iter());
        match TreeScope::new(texts.iter().map(|text| text.value.clone()).collect()) {
            Ok(scope) => Some(scope),
            Err((index, why)) => {
                let diagnostic =
                    Diagnostic::error(Code::WorkflowValue, format!("`tree` {why}")).hint(TREE_HINT);
                self.problem(&texts.get(index)?.span, diagnostic);
                None
            }
        }
    }

    fn phase(
        &mut self,
        raw: &RawPhase,
        artifacts: &[Artifact],
        defines: &[(String, Guard)],
    ) -> Option<Phase> {
        if let Some(agent) = &raw.agent {
            self.agent(agent);
        }
        let owner = match raw
            .owner
            .as_ref()
            .map(|owner| (owner, owner.value.as_str()))
        {
            None | Some((_, "agent")) => Owner::Agent,
            Some((_, "human")) => Owner::Human,
            Some((_, "process")) => Owner::Process,
            Some((_, "none")) => Owner::None,
            Some((text, _)) => {
                self.unknown(
                    text,
                    Code::WorkflowValue,
                    "owner",
                    ["agent", "human", "process", "none"].into_iter(),
                );
                Owner::Agent
            }
        };
        let needs = self.artifact_names(&raw.needs, artifacts);
        for text in &raw.needs {
            let need = &text.value;
            if artifacts
                .iter()
                .any(|artifact| artifact.name.as_str() == need && !artifact.commit)
            {
                let message =
                    format!("`{need}` is not committed (`commit = false`), so it cannot be a need");
                self.problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
            }
        }
        let substate = raw.substate.as_ref();
        let substate = substate.map(|text| self.named_guard(text, artifacts, defines));
        let remarks = raw.remarks.as_ref();
        let remarks = remarks.map(|text| self.named_guard(text, artifacts, defines));
        self.twice(raw.needs.iter().chain(&raw.reads));
        let reads = self.artifact_names(&raw.reads, artifacts);
        self.twice(raw.produces.iter().chain(&raw.may_produce));
        let produces = self.artifact_names(&raw.produces, artifacts);
        let optional = self.artifact_names(&raw.may_produce, artifacts);
        self.no_repository_files(raw, artifacts);
        let touches = self.touches(&raw.touches);
        let requires = self.required_files(&raw.requires);
        let not_by = self.not_by(raw, artifacts);
        self.twice(raw.verifies.iter());
        let mut verifies = Vec::new();
        for text in &raw.verifies {
            verifies.extend(self.verification(text));
        }
        self.twice(raw.undoes.iter());
        let undoes = self.artifact_names(&raw.undoes, artifacts);
        let independent = self.independent(raw);
        Some(Phase {
            touches,
            requires,
            not_by,
            verifies,
            undoes,
            independent,
            id: self.name(&raw.name, |text| PhaseId::new(text))?,
            title: raw.title.as_ref().map(|title| title.value.clone()),
            agent: raw.agent.as_ref().map(|agent| agent.value.clone()),
            needs,
            reads,
            produces: produces
                .into_iter()
                .chain(optional.iter().cloned())
                .collect(),
            optional,
            aliases: raw
                .aliases
                .iter()
                .map(|alias| alias.value.clone())
                .collect(),
            terminal: raw.terminal,
            success: raw.success,
            substate,
            remarks,
            owner,
            attempts: raw.attempts.as_ref().map(|count| clamp(count.value)),
            approvals: raw.approvals.as_ref().map(|asked| AskedApprovals {
                count: asked.count.as_ref().map_or(1, |count| {
                    usize::try_from(count.value).unwrap_or(usize::MAX)
                }),
                teams: asked.teams.iter().map(|team| team.value.clone()).collect(),
            }),
        })
    }

    /// Reports artifacts of which a phase says that they are work of the task, and which are files of the repository.
    fn no_repository_files(&mut self, raw: &RawPhase, artifacts: &[Artifact]) {
        let lists = [
            &raw.needs,
            &raw.produces,
            &raw.may_produce,
            &raw.not_by,
            &raw.undoes,
        ];
        for text in lists.into_iter().flatten() {
            let is_repository = |artifact: &Artifact| {
                artifact.repository.is_some() && artifact.name.as_str() == text.value
            };
            if artifacts.iter().any(is_repository) {
                let message = format!(
                    "`{}` is a file of the repository (`root_path`), not work of the task",
                    text.value
                );
                let hint = "name it in `reads`, or ask for it in a rule";
                self.problem(
                    &text.span,
                    Diagnostic::error(Code::WorkflowValue, message).hint(hint),
                );
            }
        }
    }

    /// The artifacts whose writers may not give the verdict of a phase. Reports a phase that gives none.
    fn not_by(&mut self, raw: &RawPhase, artifacts: &[Artifact]) -> Vec<ArtifactName> {
        self.twice(raw.not_by.iter());
        let produced: Vec<&str> = raw
            .produces
            .iter()
            .chain(&raw.may_produce)
            .map(|text| text.value.as_str())
            .collect();
        for text in &raw.not_by {
            if produced.contains(&text.value.as_str()) {
                let message = format!(
                    "`{}` is an output of the phase itself, so nobody else could write it",
                    text.value
                );
                self.problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
            }
        }
        if let Some(first) = raw
            .not_by
            .first()
            .filter(|_| produced.is_empty() && raw.approvals.is_none())
        {
            let message = "`not_by` says who may not give the verdict of a phase, and this phase produces nothing";
            self.problem(&first.span, Diagnostic::error(Code::WorkflowValue, message));
        }
        self.artifact_names(&raw.not_by, artifacts)
    }

    /// Who counts as somebody else.
    fn independent(&mut self, raw: &RawPhase) -> Independence {
        let Some(text) = &raw.independent else {
            return Independence::default();
        };
        if raw.not_by.is_empty() {
            let message =
                "`independent` says who counts as somebody else for `not_by`, which is missing";
            self.problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
        }
        Independence::named(&text.value).unwrap_or_else(|| {
            let known = Independence::ALL.map(Independence::as_str);
            self.unknown(text, Code::WorkflowValue, "independence", known.into_iter());
            Independence::default()
        })
    }

    /// The paths of required files. Reports those that are not paths of the repository.
    fn required_files(&mut self, texts: &[Text]) -> Vec<RepoPath> {
        let mut good = Vec::new();
        for text in texts {
            match RepoPath::new(&text.value) {
                Ok(path) => good.push(path),
                Err(error) => {
                    let message = format!("`requires` names no file of the repository: {error}");
                    self.problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
                }
            }
        }
        good
    }

    /// The globs of paths outside the task. Reports invalid globs.
    fn touches(&mut self, texts: &[Text]) -> Patterns {
        let mut good = Vec::new();
        for text in texts {
            match Patterns::new([text.value.as_str()]) {
                Ok(_) => good.push(text.value.as_str()),
                Err(error) => {
                    let message = format!("`touches` contains an invalid glob: {error}");
                    self.problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
                }
            }
        }
        Patterns::new(good).unwrap_or_default()
    }

    fn artifact_names(&mut self, texts: &[Text], artifacts: &[Artifact]) -> Vec<ArtifactName> {
        let mut names = Vec::new();
        for text in texts {
            match artifacts
                .iter()
                .find(|artifact| artifact.name.as_str() == text.value)
            {
                Some(artifact) => names.push(artifact.name.clone()),
                None => {
                    let known = artifacts.iter().map(|artifact| artifact.name.as_str());
                    self.unknown(text, Code::WorkflowUnknownArtifact, "artifact", known);
                }
            }
        }
        names
    }

    pub(super) fn phase_id(&mut self, text: &Text, phases: &[Phase]) -> Option<PhaseId> {
        let found = phases
            .iter()
            .find(|phase| phase.id.as_str() == text.value)
            .map(|phase| phase.id.clone());
        if found.is_none() {
            let known = phases.iter().map(|phase| phase.id.as_str());
            self.unknown(text, Code::WorkflowUnknownPhase, "phase", known);
        }
        found
    }

    fn defines(&mut self, raw: &[(Text, Text)], artifacts: &[Artifact]) -> Vec<(String, Guard)> {
        let mut defines: Vec<(String, Guard)> = Vec::new();
        for (name, text) in raw {
            let taken = GUARD_ROOTS.contains(&name.value.as_str())
                || artifacts
                    .iter()
                    .any(|artifact| artifact.name.as_str() == name.value);
            if taken {
                let message = format!("`{}` is already a name in guards", name.value);
                self.problem(
                    &name.span,
                    Diagnostic::error(Code::WorkflowDuplicate, message),
                );
                continue;
            }
            // A named expression sees only the earlier ones, so that no cycle can arise.
            let guard = self.named_guard(text, artifacts, &defines);
            defines.push((name.value.clone(), guard));
        }
        defines
    }

    fn phase_key(&mut self, text: Option<&Text>) -> String {
        let Some(text) = text else {
            return "phase".to_owned();
        };
        if text.value.is_empty() || (text.value != "phase" && is_reserved(&text.value, "phase")) {
            let message = format!(
                "`{}` cannot hold the phase: orch uses this key for something else",
                text.value
            );
            self.problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
        }
        text.value.clone()
    }

    fn defaults(&mut self, defaults: &[(Text, serde_json::Value)], phase_key: &str) {
        for (name, _) in defaults
            .iter()
            .filter(|(name, _)| is_reserved(&name.value, phase_key))
        {
            let message = format!(
                "`{}` is reserved for orch and cannot have a default",
                name.value
            );
            self.problem(&name.span, Diagnostic::error(Code::WorkflowValue, message));
        }
    }
}

/// Whether a top-level key of the state belongs to `orch`.
pub(super) fn is_reserved(key: &str, phase_key: &str) -> bool {
    key == phase_key || super::RESERVED_KEYS.contains(&key)
}

pub(super) fn clamp(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guards_that_ship_are_valid_and_mean_the_same_when_they_are_parsed_later() {
        let system = System::shipped();
        let names: Vec<&str> = system.names("workflows", ".md").collect();
        assert!(names.len() > 3, "{names:?}");
        for name in names {
            let document = Document::new(name, name, system.workflow(name).unwrap_or_default());
            assert!(System::ships(&document), "{name}");
            let (checked, problems) =
                compile_guards(&document, &system, false, &mut CheckMemo::default());
            assert!(problems.is_empty(), "{name}: {problems:?}");
            let (later, problems) = compile(&document, &system);
            assert!(problems.is_empty(), "{name}: {problems:?}");
            assert_eq!(format!("{later:?}"), format!("{checked:?}"));
            let reads = |workflow: Option<Workflow>| {
                let workflow = workflow.expect(name);
                let reads = |rule: &super::super::Rule| format!("{:?}", workflow.reads(&rule.when));
                workflow.rules.iter().map(reads).collect::<Vec<_>>()
            };
            assert_eq!(reads(later), reads(checked));
        }
    }

    #[test]
    fn an_edited_document_is_checked() {
        let system = System::shipped();
        let name = "global-state-machine";
        let text =
            system
                .workflow(name)
                .unwrap_or_default()
                .replacen("plan.ready", "plan.reddy", 1);
        let document = Document::new(name, name, text);
        assert!(!System::ships(&document));
        let (workflow, problems) = compile(&document, &system);
        assert!(workflow.is_none());
        assert_eq!(problems[0].code, Code::GuardUnknownName);
    }
}
