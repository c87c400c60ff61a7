//! The files of a task that is only tried: made from what a test gives, and observed as those of a real task.

use orch_base::{ArtifactName, Digest, RepoPath, TaskId, TaskPlace};
use orch_core::decide::{CodeBase, CodeFacts, Facts, FileFact, State, concrete_path};
use orch_core::trial::{least_value, overlay, text_variants};
use orch_core::verification::FoundBy;
use orch_core::workflow::{
    Artifact, Format, GivenCode, GivenContent, GivenFile, SchemaText, TestSetup, Workflow,
    tree_name,
};
use orch_files::{Content, FileSet};
use orch_read::{Matcher, ReadLimits, RepositoryFile, Schemas, ValidationCache, observe, written};
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The id of a task that is only tried.
const TASK: &str = "trial";
/// What takes the place of a wildcard or a blank in a path.
const NAME: &str = "x";

/// The most files of one artifact that are made.
const MOST_FILES: usize = 5;

/// The bytes of the files of a task, by their names: paths below the task, and those of the repository after a slash.
pub type TrialBytes = BTreeMap<String, Vec<u8>>;

/// Makes and observes the files of tasks of one workflow.
pub struct TrialFiles<'a> {
    /// The workflow.
    pub workflow: &'a Workflow,
    schemas: &'a Schemas,
    matcher: Matcher,
    validations: ValidationCache,
    task: TaskId,
    place: TaskPlace,
    /// The values of files that count.
    values: RefCell<BTreeMap<ArtifactName, Value>>,
    /// Whether the schemas accept data, as text.
    accepted: RefCell<BTreeMap<(ArtifactName, String), bool>>,
    looks: Cell<usize>,
}

impl<'a> TrialFiles<'a> {
    /// The files of tasks of a workflow.
    #[must_use]
    pub fn of(workflow: &'a Workflow, schemas: &'a Schemas) -> Self {
        let task = TaskId::new(TASK).unwrap_or_else(|_| unreachable!("a constant"));
        let directory = RepoPath::new("tasks/trial").unwrap_or_else(|_| RepoPath::root());
        Self {
            workflow,
            schemas,
            matcher: Matcher::new(workflow),
            validations: ValidationCache::default(),
            task,
            place: TaskPlace::of_directory(directory),
            values: RefCell::default(),
            accepted: RefCell::default(),
            looks: Cell::default(),
        }
    }

    /// The place of the task.
    #[must_use]
    pub fn place(&self) -> &TaskPlace {
        &self.place
    }

    /// How many times a task was observed.
    #[must_use]
    pub fn looks(&self) -> usize {
        self.looks.get()
    }

    /// The files that are given, and those that were there before.
    #[must_use]
    pub fn bytes(&self, setup: &TestSetup) -> (TrialBytes, TrialBytes) {
        let now = self.made(&setup.files, setup.code.as_ref());
        let mut earlier: Vec<GivenFile> = setup.before.clone();
        let is_named = |file: &GivenFile| {
            let mut before = setup.before.iter();
            before.any(|one| self.name_of(one) == self.name_of(file))
        };
        earlier.extend(setup.files.iter().filter(|file| !is_named(file)).cloned());
        let before = self.made(&earlier, setup.code.as_ref());
        (now, before)
    }

    /// What is observed of a task with these files and this code.
    #[must_use]
    pub fn facts(&self, files: &TrialBytes, code: Option<&GivenCode>) -> Facts {
        self.looks.set(self.looks.get() + 1);
        let format = self.workflow.digest.format();
        let mut source = FileSet::empty(format);
        let mut of_repository = Vec::new();
        for (name, bytes) in files {
            match name.strip_prefix('/') {
                Some(path) => of_repository.extend(self.repository_file(path, bytes)),
                None => {
                    if let Ok(path) = self.place.directory().join(name) {
                        source.put(path, bytes.clone());
                    }
                }
            }
        }
        let observed = observe(
            &source,
            self.workflow,
            &self.matcher,
            self.schemas,
            &self.validations,
            &self.task,
            &self.place,
            &of_repository,
            &ReadLimits::default(),
        );
        let mut facts = match observed {
            Ok(observed) => observed.facts,
            Err(_) => Facts::of_no_files(self.task.clone()),
        };
        if let Some(code) = code {
            self.add_code(&mut facts, code);
        }
        facts
    }

    fn repository_file(&self, path: &str, bytes: &[u8]) -> Option<RepositoryFile> {
        let mut artifacts = self.workflow.artifacts.iter();
        let (artifact, pattern) = artifacts.find_map(|artifact| {
            let pattern = artifact.repository.as_ref()?.pattern_of(path)?;
            Some((artifact, pattern))
        })?;
        Some(RepositoryFile {
            artifact: artifact.name.clone(),
            pattern,
            path: RepoPath::new(path).ok()?,
            content: Content::Bytes(bytes.to_vec()),
        })
    }

    /// Puts committed code among the facts of each artifact that has a tree.
    fn add_code(&self, facts: &mut Facts, code: &GivenCode) {
        let tasks = if code.is_own {
            json!([TASK])
        } else {
            json!([])
        };
        for artifact in &self.workflow.artifacts {
            if artifact.tree.is_none() {
                continue;
            }
            let commits = json!([{"id": "", "subject": "a commit", "tasks": tasks}]);
            let data = json!({"commits": commits, "files": code.files, "confirmed": false});
            let tree = FileFact {
                pattern: artifact.paths.len(),
                is_tree: true,
                path: tree_name(artifact.name.as_str()),
                digest: Some(code.digest()),
                data: Some(Arc::new(data)),
                problems: Vec::new(),
                writers: Vec::new(),
            };
            facts
                .artifacts
                .entry(artifact.name.clone())
                .or_default()
                .push(tree);
        }
        let base = CodeBase {
            commit: None,
            code: None,
            by: FoundBy::Create,
        };
        facts.code = CodeFacts {
            base: Some(base),
            since: Vec::new(),
        };
    }

    /// The files with their bytes, in the order in which they may name one another.
    fn made(&self, files: &[GivenFile], code: Option<&GivenCode>) -> TrialBytes {
        let mut made = TrialBytes::new();
        let mut digests: BTreeMap<&ArtifactName, Vec<(String, Digest)>> = BTreeMap::new();
        if let Some(code) = code {
            for artifact in self
                .workflow
                .artifacts
                .iter()
                .filter(|one| one.tree.is_some())
            {
                let tree = (tree_name(artifact.name.as_str()), code.digest());
                digests.entry(&artifact.name).or_default().push(tree);
            }
        }
        for artifact in &self.workflow.artifacts {
            for file in files {
                let name = self.name_of(file);
                let is_own = file.of.value == artifact.name.as_str()
                    || (artifact.pattern_of(&name).is_some() && !made.contains_key(&name));
                if !is_own {
                    continue;
                }
                let Some(text) = self.text(artifact, file) else {
                    continue;
                };
                let text = self.with_digests(text, &digests);
                let digest = self.workflow.digest.format().blob(text.as_bytes());
                let of_artifact = digests.entry(&artifact.name).or_default();
                of_artifact.retain(|(known, _)| *known != tree_name(artifact.name.as_str()));
                of_artifact.push((name.clone(), digest));
                made.insert(name, text.into_bytes());
            }
        }
        made
    }

    /// A text with the present digests in place of `@NAME`.
    fn with_digests(
        &self,
        text: String,
        digests: &BTreeMap<&ArtifactName, Vec<(String, Digest)>>,
    ) -> String {
        let mut text = text;
        for (name, files) in digests {
            let mark = format!("\"@{name}\"");
            if text.contains(&mark) {
                let files: Vec<(&str, Digest)> = files
                    .iter()
                    .map(|(path, digest)| (path.as_str(), *digest))
                    .collect();
                text = text.replace(&mark, &format!("\"{}\"", Digest::of_files(&files)));
            }
        }
        // What is absent was judged as absent.
        for artifact in &self.workflow.artifacts {
            text = text.replace(&format!("\"@{}\"", artifact.name), "null");
        }
        text
    }

    /// The name of a file: its path, or where a file of the artifact is written.
    #[must_use]
    pub fn name_of(&self, file: &GivenFile) -> String {
        let name = file.of.value.as_str();
        match self
            .workflow
            .artifacts
            .iter()
            .find(|one| one.name.as_str() == name)
        {
            Some(artifact) => new_name(artifact),
            None => name.to_owned(),
        }
    }

    /// The path of one more file of an artifact beside these; `None` if its pattern has no place for one, or none is given.
    #[must_use]
    pub fn another_path(&self, artifact: &Artifact, files: &[GivenFile]) -> Option<String> {
        let is_of_task = artifact.tree.is_none() && artifact.repository.is_none();
        let name = artifact.name.as_str();
        let first = files.iter().find(|file| file.of.value == name)?;
        let path = self.name_of(first);
        let (stem, extension) = path.rsplit_once('.').filter(|_| is_of_task)?;
        let paths = (2..=MOST_FILES).map(|nth| format!("{stem}-{nth}.{extension}"));
        let mut free = paths.filter(|path| files.iter().all(|file| file.of.value != *path));
        free.next()
            .filter(|path| artifact.pattern_of(path).is_some())
    }

    /// The same content for a file that is named by its path.
    #[must_use]
    pub fn by_path(&self, artifact: &Artifact, content: &GivenContent) -> GivenContent {
        match content {
            GivenContent::Data(over) if over.is_object() => {
                let mut whole = self.value(artifact);
                overlay(&mut whole, over);
                GivenContent::Data(whole)
            }
            content => content.clone(),
        }
    }

    /// The text of a file; `None` if there is none.
    fn text(&self, artifact: &Artifact, file: &GivenFile) -> Option<String> {
        let is_by_name = file.of.value == artifact.name.as_str();
        match &file.content {
            GivenContent::Absent => None,
            GivenContent::Filled => Some(self.filled(artifact)),
            GivenContent::Text(text) => Some(text.clone()),
            GivenContent::Data(value) => {
                let mut whole = value.clone();
                if is_by_name && value.is_object() {
                    whole = self.value(artifact);
                    overlay(&mut whole, value);
                }
                let text = written(artifact.format, &whole);
                Some(text.unwrap_or_else(|| format!("{whole:#}\n")))
            }
        }
    }

    /// A file that counts: what the schema shows as an example, or the example of the artifact, or else the least that its
    /// schema asks for.
    fn filled(&self, artifact: &Artifact) -> String {
        if artifact.schema.is_none() || artifact.format == Format::Markdown {
            let example = artifact.example_for(&self.task, None);
            if let Some(text) = text_variants(artifact.format, example.as_deref())
                .into_iter()
                .next()
            {
                return text;
            }
        }
        let value = self.value(artifact);
        written(artifact.format, &value).unwrap_or_else(|| format!("{value:#}\n"))
    }

    /// The value of a file that counts.
    #[must_use]
    pub fn value(&self, artifact: &Artifact) -> Value {
        if let Some(known) = self.values.borrow().get(&artifact.name) {
            return known.clone();
        }
        let value = self.new_value(artifact);
        let mut values = self.values.borrow_mut();
        values.insert(artifact.name.clone(), value.clone());
        value
    }

    fn new_value(&self, artifact: &Artifact) -> Value {
        let Some(schema) = &artifact.schema else {
            return json!({});
        };
        let Some(shape) = schema.value() else {
            return json!({});
        };
        let mut value = schema
            .example()
            .cloned()
            .unwrap_or_else(|| least_value(shape));
        if let Value::Object(members) = &mut value {
            self.judge_present(shape, members);
        }
        if artifact.filled || !artifact.judges.is_empty() {
            self.unlike_example(schema, &mut value);
        }
        value
    }

    /// Whether the schema of the state refuses one.
    #[must_use]
    pub fn refuses_state(&self, state: &State) -> bool {
        let Some(schema) = &self.workflow.state.schema else {
            return false;
        };
        let own = Value::Object(state.extra.clone());
        !self.schemas.refuses(schema, &own).is_empty()
    }

    /// Whether the schema accepts a file with this content: data is put over what it holds otherwise, and texts are not asked
    /// about.
    #[must_use]
    pub fn accepts(&self, artifact: &Artifact, content: &GivenContent) -> bool {
        let (Some(schema), GivenContent::Data(data)) = (&artifact.schema, content) else {
            return true;
        };
        let key = (artifact.name.clone(), data.to_string());
        if let Some(known) = self.accepted.borrow().get(&key) {
            return *known;
        }
        let mut whole = self.value(artifact);
        overlay(&mut whole, data);
        let marked = Digest::of_blob(b"judged").to_string();
        let refused = self
            .schemas
            .refuses(schema, &without_marks(&whole, &marked));
        let is_accepted = refused.is_empty();
        self.accepted.borrow_mut().insert(key, is_accepted);
        is_accepted
    }

    /// What the schema of the state refuses of what a test says of it.
    #[must_use]
    pub fn refused_state(&self, setup: &TestSetup) -> Vec<String> {
        let shape = &self.workflow.state;
        let Some(schema) = shape.schema.as_ref().filter(|_| !setup.state.is_empty()) else {
            return Vec::new();
        };
        let mut state = Value::Object(shape.defaults.clone());
        overlay(&mut state, &Value::Object(setup.state.clone()));
        let refused = self.schemas.refuses(schema, &state).into_iter();
        refused
            .map(|problem| format!("{}: {}", problem.pointer, problem.message))
            .collect()
    }

    /// What an example says that it judged is not what is there: it says so of what is, if it has to, or else nothing.
    fn judge_present(&self, shape: &Value, members: &mut Map<String, Value>) {
        let required = shape.get("required").and_then(Value::as_array);
        let properties = shape.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            if property.get("x-orch-fill").and_then(Value::as_str) != Some("of") {
                continue;
            }
            if !required.is_some_and(|names| names.contains(&json!(key))) {
                members.remove(key);
                continue;
            }
            let judged = members.get_mut(key).and_then(Value::as_object_mut);
            for (name, digest) in judged.into_iter().flatten() {
                *digest = json!(format!("@{name}"));
            }
        }
    }

    /// Changes a text of a value that is an example, so that somebody has filled it in.
    fn unlike_example(&self, schema: &SchemaText, value: &mut Value) {
        if !schema.is_example(value) {
            return;
        }
        let mut pointers = Vec::new();
        texts(value, "", &mut pointers);
        for pointer in pointers {
            let mut changed = value.clone();
            if let Some(Value::String(text)) = changed.pointer_mut(&pointer) {
                text.push_str(" (tried)");
            }
            if self.schemas.refuses(schema, &changed).is_empty() && !schema.is_example(&changed) {
                *value = changed;
                return;
            }
        }
        if let Value::Object(members) = value {
            let with_note = |key: &str| {
                let mut members = members.clone();
                members.insert(key.to_owned(), json!("tried"));
                Value::Object(members)
            };
            let mut notes = ["summary", "note", "notes", "comment", "title"].into_iter();
            let found = notes.find_map(|key| {
                let changed = with_note(key);
                self.schemas
                    .refuses(schema, &changed)
                    .is_empty()
                    .then_some(changed)
            });
            if let Some(changed) = found {
                *value = changed;
            }
        }
    }
}

/// Where a file of an artifact is written, with a name in place of each blank.
fn new_name(artifact: &Artifact) -> String {
    if let Some(repository) = &artifact.repository {
        let first = repository.patterns().first().cloned().unwrap_or_default();
        return format!("/{}", first.replace('*', NAME));
    }
    let mut path = artifact
        .new_path
        .clone()
        .unwrap_or_else(|| concrete_path(artifact));
    while let Some(blank) = orch_core::workflow::blank(&path) {
        let blank = blank.to_owned();
        path = path.replacen(&blank, NAME, 1);
    }
    // `**` at the end stands for files below.
    if artifact.pattern_of(&path).is_none() {
        path = format!("{path}/{NAME}");
    }
    path
}

/// A value with this text in place of each `@NAME`.
fn without_marks(value: &Value, text: &str) -> Value {
    match value {
        Value::String(mark) if mark.starts_with('@') => json!(text),
        Value::Array(items) => items.iter().map(|item| without_marks(item, text)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(key, value)| (key.clone(), without_marks(value, text)))
                .collect()
        }
        other => other.clone(),
    }
}

/// The pointers of all texts in a value.
fn texts(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(pointer.to_owned()),
        Value::Object(members) => {
            for (key, value) in members {
                texts(value, &orch_base::pointer::child(pointer, key), found);
            }
        }
        Value::Array(items) => {
            for (nth, value) in items.iter().enumerate() {
                texts(value, &format!("{pointer}/{nth}"), found);
            }
        }
        _ => {}
    }
}
