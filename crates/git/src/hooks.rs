//! The hooks of git: their directory, whether other repositories may share it, and those of the configuration.

use super::environment::{is_true, settings};
use super::error::GitFault;
use super::git::{GitProgram, git_version};
use super::{Error, GitSettings, Layout};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The directory that git runs hooks from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The directory, which may not exist yet.
    pub directory: PathBuf,
    /// Where the directory is.
    pub location: HooksLocation,
    /// Whether the configuration of this work tree alone names the directory.
    pub is_of_work_tree: bool,
    /// Whether the configuration names the directory, and it is not there: git then runs none, and does not say so.
    pub is_missing: bool,
    /// The hooks of the configuration, in the order in which git runs them, before those of the directory.
    pub configured: Vec<ConfiguredHook>,
    /// Whether this git is new enough to run them. Only known if there are any.
    pub runs_configured: bool,
}

/// The first version of git that runs the hooks of its configuration.
const RUNS_CONFIGURED: [u32; 2] = [2, 54];

/// A hook that git runs because of `hook.NAME.event` and `hook.NAME.command`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredHook {
    /// Its name in the configuration.
    pub name: String,
    /// The name of the hook of git in whose place it runs, such as `pre-commit`.
    pub event: String,
    /// What the shell runs.
    pub command: String,
    /// Whether neither it nor its event is switched off.
    pub is_enabled: bool,
}

/// The settings about hooks.
const SETTINGS: &str = r"^(core\.hookspath|hook\..+\.(command|event|enabled))$";

/// Where a hooks directory is, after following all links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HooksLocation {
    /// In the git directory: used by this repository and its work trees only.
    Git,
    /// In a work tree: perhaps under version control, or written by another hook manager.
    WorkTree,
    /// Elsewhere: other repositories may use it, too.
    Outside,
}

impl GitSettings<'_> {
    /// The directory that git runs hooks from; the usual one if the settings of git cannot be read.
    #[must_use]
    pub fn hooks_directory(&self) -> PathBuf {
        let usual = || self.layout.common_directory().join("hooks");
        let settings = settings(&self.objects.repo);
        settings.map_or_else(
            |_| usual(),
            |settings| self.layout.hooks_directory(&settings),
        )
    }

    /// The hooks directory that git uses: `core.hooksPath`, otherwise the one that all work trees share. Returns
    /// an error if git fails.
    ///
    /// With it, the hooks of the configuration.
    pub fn hooks(&self) -> Result<Hooks, Error> {
        let git = self.objects.repo.path().to_str();
        let tree = self.layout.root.to_str();
        // The environment may name them relative to the start directory of `orch`.
        let places = git
            .zip(tree)
            .map(|(git, tree)| [format!("--git-dir={git}"), format!("--work-tree={tree}")]);
        let mut arguments: Vec<&str> = places.iter().flatten().map(String::as_str).collect();
        arguments.extend(["rev-parse", "--git-path", "hooks"]);
        let answer = self.git.git(&arguments, &[])?;
        // git runs hooks at the root of the work tree, so its answer is relative to that.
        let directory = self
            .layout
            .root
            .join(path(answer.strip_suffix(b"\n").unwrap_or(&answer)));
        let real = resolved(&directory);
        let location = if real.starts_with(resolved(self.objects.repo.commondir())) {
            HooksLocation::Git
        } else if real.starts_with(self.layout.root) || is_in_other_work_tree(self.layout, &real)? {
            HooksLocation::WorkTree
        } else {
            HooksLocation::Outside
        };
        let settings = settings_of_hooks(self.git)?;
        let named = settings
            .iter()
            .rfind(|setting| setting.key == "core.hookspath");
        let configured = configured(&settings);
        Ok(Hooks {
            is_missing: named.is_some() && !directory.is_dir(),
            directory,
            location,
            is_of_work_tree: named.is_some_and(|setting| setting.scope == "worktree"),
            runs_configured: !configured.is_empty() && is_new_enough(&git_version()?),
            configured,
        })
    }
}

fn is_in_other_work_tree(layout: Layout<'_>, path: &Path) -> Result<bool, Error> {
    let (roots, _) = layout.other_work_trees()?;
    Ok(roots.iter().any(|root| path.starts_with(root)))
}

fn settings_of_hooks(git: GitProgram<'_>) -> Result<Vec<HookSetting>, Error> {
    let arguments = ["config", "--null", "--show-scope", "--get-regexp", SETTINGS];
    match git.git(&arguments, &[]) {
        Ok(answer) => Ok(hook_settings(&String::from_utf8_lossy(&answer))),
        // There are none.
        Err(GitFault::Refused { message, .. }) if message.is_empty() => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn is_new_enough(version: &str) -> bool {
    let parts = version.split('.').map_while(|part| part.parse().ok());
    parts.take(2).collect::<Vec<u32>>()[..] >= RUNS_CONFIGURED[..]
}

/// A setting as git tells it.
struct HookSetting {
    scope: String,
    key: String,
    value: String,
}

/// Parses the settings, each `SCOPE<NUL>KEY<LF>VALUE<NUL>`.
fn hook_settings(answer: &str) -> Vec<HookSetting> {
    let mut fields = answer.split('\0');
    let mut settings = Vec::new();
    while let Some(scope) = fields.next() {
        let Some(setting) = fields.next() else { break };
        // A key without `=` has no value.
        let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        settings.push(HookSetting {
            scope: scope.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }
    settings
}

/// The hooks of the configuration, as git understands it: the last command counts, an empty event takes back the earlier
/// ones, an event that is named again moves to the end, and `hook.EVENT.enabled` switches all hooks of an event.
fn configured(settings: &[HookSetting]) -> Vec<ConfiguredHook> {
    let mut hooks: Vec<ConfiguredHook> = Vec::new();
    let parts = settings.iter().filter_map(|setting| {
        let (name, key) = setting.key.strip_prefix("hook.")?.rsplit_once('.')?;
        Some((name, key, &setting.value))
    });
    for (name, key, event) in parts.clone() {
        if key == "event" {
            hooks.retain(|hook| hook.name != name || !(event.is_empty() || hook.event == *event));
        }
        if key == "event" && !event.is_empty() {
            hooks.push(ConfiguredHook {
                name: name.to_owned(),
                event: event.clone(),
                command: String::new(),
                is_enabled: true,
            });
        }
    }
    let last = |of: &str, wanted: &str| {
        let mut found = parts.clone();
        let values = found
            .by_ref()
            .filter(|(name, key, _)| *name == of && *key == wanted);
        values.last().map(|(_, _, value)| value)
    };
    for hook in &mut hooks {
        hook.command = last(&hook.name, "command").cloned().unwrap_or_default();
        let switches = [last(&hook.name, "enabled"), last(&hook.event, "enabled")];
        hook.is_enabled = switches.into_iter().flatten().all(|value| is_true(value));
    }
    hooks
}

/// Follows every link in the existing part of a path.
fn resolved(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = existing else {
        return path.to_owned();
    };
    path.strip_prefix(above)
        .map_or_else(|_| path.to_owned(), |rest| real.join(rest))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_runs_hooks_of_the_configuration_since_2_54() {
        for version in ["2.54.0", "2.54.0.windows.1", "2.55.GIT", "3.0.0-rc1", "3"] {
            assert!(is_new_enough(version), "{version}");
        }
        for version in ["2.53.9", "2.9.54", "1.99.0", ""] {
            assert!(!is_new_enough(version), "{version}");
        }
    }

    #[test]
    fn hooks_of_the_configuration_are_understood_as_git_does() {
        let answer = [
            "global\0hook.lint.command\nlint --all\0",
            "global\0hook.lint.event\npre-commit\0",
            "global\0hook.lint.event\npre-push\0",
            "system\0hook.spell.event\ncommit-msg\0",
            "system\0hook.spell.command\nspell\0",
            "system\0hook.spell.enabled\nfalse\0",
            "local\0hook.orch.event\npre-push\0",
            "local\0hook.orch.event\n\0",
            "local\0hook.orch.event\npre-commit\0",
            "local\0hook.orch.command\nold\0",
            "local\0hook.orch.command\norch check\n  --staged\0",
            "local\0hook.pre-push.enabled\noff\0",
            "local\0hook.lint.event\npre-commit\0",
            "worktree\0core.hookspath\n.hooks\0",
        ];
        let settings = hook_settings(&answer.concat());
        let last = settings.last().expect("a setting");
        assert_eq!((&*last.scope, &*last.value), ("worktree", ".hooks"));
        let seen: Vec<String> = configured(&settings)
            .iter()
            .map(|hook| {
                let ConfiguredHook {
                    name,
                    event,
                    command,
                    is_enabled,
                } = hook;
                format!("{event} {name} {command:?} {is_enabled}")
            })
            .collect();
        assert_eq!(
            seen,
            [
                "pre-push lint \"lint --all\" false",
                "commit-msg spell \"spell\" false",
                "pre-commit orch \"orch check\\n  --staged\" true",
                "pre-commit lint \"lint --all\" true",
            ]
        );
    }
}
