//! What verifications of a task would judge now, and the files with their results.

use super::snapshot::Snapshot;
use super::{CodeAt, Error, TaskRef};
use orch_base::{Digest, Patterns, RepoPath, VerificationName};
use orch_core::config::{Config, Roots};
use orch_core::decide::{Recorded, ResultFile, VerifiedFact};
use orch_core::verification::{RULES, VerifyTable, read_statement, result_path};
use orch_core::workflow::{TreePart, Workflow};
use orch_files::Content;
use orch_git::CodePart;
use orch_read::Observed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A look at the verifications of a task.
pub(crate) struct VerifiedLook<'s> {
    pub snapshot: Snapshot<'s>,
    /// The settings that define them.
    pub config: &'s Config,
}

impl VerifiedLook<'_> {
    /// Adds to the facts what is known of each verification that the settings define and the workflow asks for, of which
    /// the record has a result, or of which there is a file. Of a commit, results count by the rules by which they were made.
    /// Returns an error if the source or git cannot be read.
    pub(crate) fn add_to(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        recorded: &Recorded,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        let state = match recorded {
            Recorded::Known(state) => Some(&**state),
            _ => None,
        };
        let results = state.map(|state| &state.run.verified);
        let known = results.into_iter().flat_map(BTreeMap::keys);
        let config = self.config;
        let asked = config
            .verify
            .keys()
            .filter(|name| workflow.depends_on_verification(name));
        let mut names: BTreeSet<VerificationName> = known.chain(asked).cloned().collect();
        names.extend(observed.facts.verified.keys().cloned());
        if names.is_empty() {
            return Ok(());
        }
        let is_past = matches!(self.snapshot.code, CodeAt::Commit(..));
        let mut codes: BTreeMap<&[String], Digest> = BTreeMap::new();
        for name in names {
            let table = config.verify.get(name.table());
            let code = match table {
                None => None,
                Some(table) => match codes.get(table.paths.texts()) {
                    Some(code) => Some(*code),
                    None => {
                        let code = verified_code(self.snapshot.code, config, table)?;
                        codes.extend(code.map(|code| (table.paths.texts(), code)));
                        code
                    }
                },
            };
            let result = results.and_then(|results| results.get(&name));
            let rules = result
                .filter(|_| is_past)
                .map_or(RULES, |result| result.rules);
            let file = self.result_file(task, &name)?;
            let fact = VerifiedFact { code, rules, file };
            observed.facts.verified.insert(name, fact);
        }
        Ok(())
    }

    /// The file with the result of a verification.
    fn result_file(&self, task: &TaskRef, name: &VerificationName) -> Result<ResultFile, Error> {
        let path = task.file(&result_path(name))?;
        let content = self
            .snapshot
            .source
            .read(&path, self.snapshot.setting.config.limit_bytes)?;
        let unusable = |digest, why: String| Ok(ResultFile::Unusable { digest, why });
        let bytes = match content {
            Content::Bytes(bytes) => bytes,
            Content::Missing => return Ok(ResultFile::Missing),
            Content::TooLarge(size) => {
                return unusable(None, format!("it is too large: {size} bytes"));
            }
            Content::Unreadable(why) => return unusable(None, why),
            Content::Absent => return unusable(None, "this clone lacks it".to_owned()),
        };
        let digest = self.snapshot.source.digest(&path, &bytes)?;
        let read = std::str::from_utf8(&bytes)
            .map_err(|error| error.to_string())
            .and_then(|text| read_statement(text).map_err(|invalid| invalid.to_string()));
        match read {
            Ok(result) => Ok(ResultFile::Result {
                digest,
                result: Arc::new(result),
            }),
            Err(why) => unusable(Some(digest), why),
        }
    }
}

/// The digest of the committed code that a verification is about, by these settings; `None` where there is no repository.
/// Returns an error if git cannot be read.
pub(crate) fn verified_code(
    code: CodeAt<'_>,
    config: &Config,
    table: &VerifyTable,
) -> Result<Option<Digest>, Error> {
    let (CodeAt::Present(store, commit) | CodeAt::Commit(store, commit)) = code else {
        return Ok(None);
    };
    let code = verified_part(config, table);
    Ok(Some(store.code().code_digest(commit, &code)?))
}

/// The part of the tree of any commit that a verification is about.
pub(crate) fn verified_part<'s>(config: &'s Config, table: &'s VerifyTable) -> CodePart<'s> {
    let roots = &config.roots;
    let paths = &table.paths;
    let part =
        Box::new(move |path: &RepoPath, is_directory| part_of(paths, roots, path, is_directory));
    CodePart {
        name: format!("verified\n{}", name_of_paths(roots, paths.texts())),
        part,
    }
}

/// A name that identifies the part of the tree that these globs mean, outside of tasks.
pub(super) fn name_of_paths(roots: &Roots, texts: &[String]) -> String {
    let roots = roots.iter();
    let roots: Vec<String> = roots
        .map(|root| format!("{}\n{}", root.path, root.exclude.texts().join("\n")))
        .collect();
    format!("{}\n\n{}", texts.join("\n"), roots.join("\n\n"))
}

/// How much of a path a verification is about: what its globs match outside of tasks. A glob that names all of a directory
/// is not walked.
fn part_of(paths: &Patterns, roots: &Roots, path: &RepoPath, is_directory: bool) -> TreePart {
    match (
        part_of_paths(paths, path, is_directory),
        roots.part(path, is_directory),
    ) {
        (TreePart::None, _) | (_, TreePart::Whole) => TreePart::None,
        (TreePart::Whole, TreePart::None) => TreePart::Whole,
        _ => TreePart::Within,
    }
}

fn part_of_paths(paths: &Patterns, path: &RepoPath, is_directory: bool) -> TreePart {
    if paths.is_empty() || paths.matches(path.as_str()) && !is_directory {
        return TreePart::Whole;
    }
    if !is_directory {
        return TreePart::None;
    }
    let mut found = TreePart::None;
    for text in paths.texts() {
        let text = text.trim_start_matches('/');
        let is_whole = match text.strip_suffix("**") {
            Some("") => true,
            Some(directory) => is_within(path, directory.trim_end_matches('/')),
            None => text.trim_end_matches('/') == path.as_str(),
        };
        if is_whole {
            return TreePart::Whole;
        }
        let literal = literal_directory(text);
        let is_near = if text.contains(WILD) {
            literal.is_empty()
                || is_within(path, literal)
                || RepoPath::new(literal).is_ok_and(|directory| directory.below(path).is_some())
        } else {
            RepoPath::new(text).is_ok_and(|named| named.below(path).is_some())
        };
        if is_near {
            found = TreePart::Within;
        }
    }
    found
}

/// The signs that make a glob match more than one path.
const WILD: [char; 5] = ['*', '?', '[', '{', '\\'];

/// Whether a path is this directory or below it. A wildcard in its name matches nothing here.
fn is_within(path: &RepoPath, directory: &str) -> bool {
    let rest = path.as_str().strip_prefix(directory);
    rest.is_some_and(|rest| !directory.is_empty() && (rest.is_empty() || rest.starts_with('/')))
}

/// The directories before the first part of a glob that has a wildcard, or before the name of the file.
fn literal_directory(glob: &str) -> &str {
    let wild = glob.find(WILD).unwrap_or(glob.len());
    glob[..wild]
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_a_glob_names_whole_is_not_walked() {
        for (globs, path, is_directory, expected) in [
            (&[][..], "src", true, TreePart::Whole),
            (&["**"], "src", true, TreePart::Whole),
            (&["src/**", "Cargo.toml"], "src", true, TreePart::Whole),
            (&["src/**", "Cargo.toml"], "src/a", true, TreePart::Whole),
            (
                &["src/**", "Cargo.toml"],
                "src/a.rs",
                false,
                TreePart::Whole,
            ),
            (
                &["src/**", "Cargo.toml"],
                "Cargo.toml",
                false,
                TreePart::Whole,
            ),
            (
                &["src/**", "Cargo.toml"],
                "Cargo.lock",
                false,
                TreePart::None,
            ),
            (&["src/**", "Cargo.toml"], "src2", true, TreePart::None),
            (&["a/b/**"], "a", true, TreePart::Within),
            (&["a/b/**"], "a/c", true, TreePart::None),
            (&["a/b"], "a/b", true, TreePart::Whole),
            (&["a/b"], "a/b", false, TreePart::Whole),
            (&["a/b"], "a", true, TreePart::Within),
            (&["src/**/*.rs"], "src", true, TreePart::Within),
            (&["src/**/*.rs"], "src/a/b", true, TreePart::Within),
            (&["src/**/*.rs"], "src/a/b.rs", false, TreePart::Whole),
            (&["src/**/*.rs"], "src/a/b.md", false, TreePart::None),
            (&["src/**/*.rs"], "doc", true, TreePart::None),
            (&["*.toml"], "doc", true, TreePart::Within),
            (&["*.toml"], "a.toml", false, TreePart::Whole),
            (&["s*/**"], "src", true, TreePart::Within),
            (&["s*/**"], "src/a.rs", false, TreePart::Whole),
        ] {
            let paths = Patterns::new(globs.iter().copied()).expect("globs");
            let path = RepoPath::new(path).expect("a path");
            let found = part_of_paths(&paths, &path, is_directory);
            assert_eq!(found, expected, "{globs:?} {path}");
        }
    }
}
