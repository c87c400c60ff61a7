//! Agent programs that have announced themselves: who calls a hook of an agent is one, whatever its environment says.

use super::lineage::Lineage;
use super::process_tree;
use super::record::boot;
use orch_base::Error;
use orch_files::{Directory, io_error};
use orch_git::durable;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The announced programs of a repository: a directory with a file for each, named by the id of its process.
pub struct AnnouncedAgents {
    directory: PathBuf,
}

/// What tells a process from a later one with the same id.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AnnouncedProcess {
    /// The start time, in clock ticks after boot.
    started: u64,
    /// The id of the boot.
    boot: Option<String>,
    /// The name of the program, if the hook knew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<String>,
}

/// An announced program that lives.
pub struct AnnouncedAgent {
    /// Its process, in words.
    pub process: String,
    /// Its name, if the hook knew it.
    pub program: Option<String>,
}

impl AnnouncedAgents {
    /// Those that a directory holds, which is made for the first one.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Announces the program that has called a hook, from the lineage of the hook, with its name if it is known. Returns
    /// an error if that cannot be kept.
    pub fn announce(&self, hook: &Lineage, program: Option<&str>) -> Result<(), Error> {
        let Some((pid, started)) = caller_of(hook) else {
            return Ok(());
        };
        if self.kept(pid, started).is_some() {
            return Ok(());
        }
        self.forget_ended();
        let base = durable::parent(&self.directory);
        Directory::make(base, &self.directory)
            .map_err(|source| io_error(&self.directory, source))?;
        let text = serde_json::to_string(&AnnouncedProcess {
            started,
            boot: boot(),
            program: program.map(str::to_owned),
        })
        .unwrap_or_default();
        durable::write_derived(base, &self.file(pid), text.as_bytes())
    }

    /// The announced program that a process descends from.
    #[must_use]
    pub fn above(&self, lineage: &Lineage) -> Option<AnnouncedAgent> {
        if !self.directory.is_dir() {
            return None;
        }
        lineage.ancestors().find_map(|(pid, started)| {
            let kept = self.kept(pid, started)?;
            Some(AnnouncedAgent {
                process: format!("process {pid} ({})", process_tree::name(pid)),
                program: kept.program,
            })
        })
    }

    fn file(&self, pid: i32) -> PathBuf {
        self.directory.join(pid.to_string())
    }

    /// What is kept about a process that lives; `None` if it has announced nothing.
    fn kept(&self, pid: i32, started: u64) -> Option<AnnouncedProcess> {
        let text = durable::text_of(&self.file(pid)).unwrap_or_default();
        let kept: AnnouncedProcess = serde_json::from_str(&text).ok()?;
        (kept.started == started && kept.boot == boot()).then_some(kept)
    }

    /// Removes the files of processes that have ended.
    fn forget_ended(&self) {
        for entry in fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.parse::<i32>().ok());
            let lives = |pid| {
                process_tree::started(pid).is_some_and(|started| self.kept(pid, started).is_some())
            };
            if pid.is_some_and(|pid| !lives(pid)) {
                durable::remove(durable::parent(&self.directory), &entry.path());
            }
        }
    }
}

/// The program that has called a process as a hook: its parent, or what is above the shell that was started for the
/// hook. `None` if that has ended already.
fn caller_of(hook: &Lineage) -> Option<(i32, u64)> {
    let caller = hook
        .ancestors()
        .find(|(pid, _)| !is_shell_of_a_hook(&process_tree::arguments(*pid)));
    caller.filter(|(pid, _)| *pid > 1)
}

/// The shells that agent programs start for the command of a hook.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// How the command of such a hook contains the arguments of `orch`.
const HOOK: &str = "hook agent ";

/// Whether a process is a shell that was started only for the command of a hook of an agent, so that the program which
/// has called the hook is above it.
fn is_shell_of_a_hook(arguments: &[String]) -> bool {
    let Some((program, rest)) = arguments.split_first() else {
        return false;
    };
    let name = Path::new(program)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    if !SHELLS.contains(&name.trim_start_matches('-')) {
        return false;
    }
    let is_command = |option: &String| option.starts_with('-') && option.ends_with('c');
    let Some(at) = rest.iter().position(is_command) else {
        return false;
    };
    let Some((_, after)) = rest.get(at + 1).and_then(|text| text.split_once(HOOK)) else {
        return false;
    };
    // What follows the hook is another command of the shell, which is then the program itself.
    let after = after
        .split(" #")
        .next()
        .unwrap_or_default()
        .trim_end()
        .replace(">&", ">");
    !after.contains([';', '&', '|', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_of_a_hook_is_told_from_a_program_that_is_a_shell() {
        let is_for_a_hook = |line: &[&str]| {
            let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
            is_shell_of_a_hook(&words)
        };
        for text in [
            "orch hook agent session-start",
            "orch hook agent session-start --env-file \"$CLAUDE_ENV_FILE\" # orch:init a;b",
            "command -v orch && orch hook agent stop 2>&1",
            "cat event.json | orch hook agent stop",
        ] {
            assert!(is_for_a_hook(&["/bin/sh", "-c", text]), "{text}");
            assert!(is_for_a_hook(&["bash", "-lc", text]), "{text}");
            assert!(!is_for_a_hook(&["/usr/bin/node", "-c", text]), "{text}");
        }
        for text in [
            "orch hook agent session-start; orch approve t",
            "orch hook agent session-start && orch approve t",
            "orch hook agent session-start < e\norch approve t",
            "orch approve t",
        ] {
            assert!(!is_for_a_hook(&["sh", "-c", text]), "{text}");
        }
        assert!(
            !is_for_a_hook(&["sh", "agent.sh"])
                && !is_for_a_hook(&["-bash"])
                && !is_for_a_hook(&[])
        );
    }
}
