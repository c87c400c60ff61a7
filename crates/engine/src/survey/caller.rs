//! The caller and the clock, both injected, so that tests can set them.

use orch_base::{AgentMark, TaskId, TimeZone, Timestamp};
use orch_core::decide::{ActorKind, By, Stamp};
use orch_git::Environment;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of the current time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A fixed instant, for reproducible runs.
    Fixed(Timestamp),
}

impl Clock {
    /// The current time, in whole seconds.
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self {
            Self::Fixed(at) => at,
            Self::System => {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the only place that reads the clock for records"
                )]
                let since = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |elapsed| elapsed.as_secs());
                Timestamp::from_seconds(i64::try_from(since).unwrap_or(i64::MAX))
            }
        }
    }
}

/// The current time for comparison with file times; never for records.
#[expect(
    clippy::disallowed_methods,
    reason = "file times come from the same clock"
)]
pub(super) fn present() -> SystemTime {
    SystemTime::now()
}

/// The time zone with this name, or that of the machine; `None` if the machine does not know it.
#[must_use]
pub fn time_zone(name: Option<&str>) -> Option<TimeZone> {
    let zone = match name {
        Some(name) => jiff::tz::TimeZone::get(name),
        None => jiff::tz::TimeZone::try_system(),
    };
    zone.ok().map(TimeZone::from)
}

/// The caller of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// A person or an agent, judging by the environment.
    pub kind: ActorKind,
    /// The variable by which an agent program marks its commands, if one is set; see [`AgentMark`].
    pub mark: Option<&'static str>,
    /// The name in `ORCH_ACTOR`, if it is set and no mark shows that another bears it. Otherwise an agent bears the name
    /// of its program, and a person that of git.
    pub name: Option<String>,
    /// `ORCH_TASK`: the task that the caller works on.
    pub task: Option<TaskId>,
    /// Whether the caller types at an interactive terminal.
    pub at_terminal: bool,
    /// The process that calls, if it runs on this machine.
    pub process: Option<u32>,
    /// `PATH`, in which executors are searched.
    pub path: Option<String>,
    /// The editor of the person: `VISUAL`, otherwise `EDITOR`.
    pub editor: Option<String>,
    /// Whether this is a hook of a commit whose message no editor will change.
    pub edits_no_message: bool,
    /// The directory for the state of programs: `XDG_STATE_HOME`, otherwise `~/.local/state`.
    pub state_home: Option<PathBuf>,
    /// `ORCH_TRUST_ONCE`: runs start what `orch.toml` names without the trust of a person.
    pub trusts_once: bool,
    /// The source of the times in records.
    pub clock: Clock,
    /// The environment variables of git.
    pub environment: Environment,
    /// All environment variables, for what the settings name.
    pub variables: Variables,
}

/// Looks up environment variables.
#[derive(Clone)]
pub struct Variables(Arc<VariableReader>);

type VariableReader = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Variables {
    /// Those that a function knows.
    pub fn of(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(variable))
    }

    /// The value of a variable; `None` if it is not set or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }
}

/// No variable is set.
impl Default for Variables {
    fn default() -> Self {
        Self::of(|_| None)
    }
}

impl fmt::Debug for Variables {
    /// Values are secrets.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Variables")
    }
}

/// They are those of one process.
impl PartialEq for Variables {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Variables {}

impl Caller {
    /// Reads the caller from environment variables through a function.
    ///
    /// `ORCH_ACTOR` may be `agent:NAME`, `human:NAME` or a name. What may mean an agent makes the caller one, whatever
    /// its spelling: only `human:` and a plain name are a person. A mark of an agent program makes the caller an agent. The environment shows neither a terminal nor the
    /// process, so the caller of this function adds them.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let mark = AgentMark::of_environment(&variable).map(|(name, _)| name);
        let named = variable("ORCH_ACTOR").filter(|name| !name.trim().is_empty());
        let (claimed, name) = named.as_deref().map(claimed_actor).unzip();
        // An agent that claims to be a person is still an agent.
        let kind = if mark.is_some() {
            ActorKind::Agent
        } else {
            claimed.unwrap_or(ActorKind::Human)
        };
        // The name of a person is not that of an agent whose environment has it.
        let is_persons = mark.is_some() && claimed == Some(ActorKind::Human);
        let name = name.filter(|name| !name.is_empty() && !is_persons);
        let clock = match variable("ORCH_NOW").and_then(|seconds| seconds.trim().parse().ok()) {
            Some(seconds) => Clock::Fixed(Timestamp::from_seconds(seconds)),
            None => Clock::System,
        };
        let task = variable("ORCH_TASK").and_then(|id| TaskId::new(id.trim()).ok());
        let path = variable("PATH");
        let set = |name| variable(name).filter(|value| !value.trim().is_empty());
        let editor = set("VISUAL").or_else(|| set("EDITOR"));
        // git says so to its hooks; see githooks(5), prepare-commit-msg.
        let edits_no_message = variable("GIT_EDITOR").as_deref() == Some(":");
        let given = set("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        let state_home = given.or_else(|| Some(Path::new(&set("HOME")?).join(".local/state")));
        let trusts_once = set("ORCH_TRUST_ONCE").is_some_and(|value| value != "0");
        let at_terminal = false;
        let process = None;
        let environment = Environment::read(variable);
        Self {
            kind,
            mark,
            name,
            task,
            at_terminal,
            process,
            path,
            editor,
            edits_no_message,
            state_home,
            trusts_once,
            clock,
            environment,
            variables: Variables::default(),
        }
    }

    /// The name of the agent that the environment names: by `ORCH_ACTOR`, or by the mark of its program.
    #[must_use]
    pub fn marked_agent(&self) -> Option<String> {
        let named = self
            .name
            .as_deref()
            .filter(|_| self.kind == ActorKind::Agent);
        let name = named.or_else(|| self.program())?;
        Some(
            name.chars()
                .map(|char| if char.is_control() { ' ' } else { char })
                .collect(),
        )
    }

    /// The agent program that the environment marks.
    #[must_use]
    pub fn program(&self) -> Option<&'static str> {
        let mut all = AgentMark::ALL.iter();
        let mark = all.find(|mark| self.mark.is_some_and(|name| mark.variables.contains(&name)));
        mark.map(|mark| mark.program)
    }

    /// The stamp of a record made now for the caller. `identity` is the name from git, which is that of a person.
    #[must_use]
    pub fn stamp(&self, identity: Option<&str>) -> Stamp {
        let given = match self.kind {
            ActorKind::Agent => self
                .marked_agent()
                .unwrap_or_else(|| AgentMark::UNKNOWN.to_owned()),
            ActorKind::Human | ActorKind::Orch => {
                let name = self.name.as_deref().or(identity);
                name.unwrap_or("unknown").to_owned()
            }
        };
        Stamp::new(
            self.clock.now(),
            By {
                kind: self.kind,
                name: given,
            },
        )
    }

    /// The stamp of a record that `orch` makes on its own, under the rules.
    #[must_use]
    pub fn own_stamp(&self) -> Stamp {
        let name = concat!("orch ", env!("CARGO_PKG_VERSION")).to_owned();
        Stamp::new(
            self.clock.now(),
            By {
                kind: ActorKind::Orch,
                name,
            },
        )
    }
}

/// Reads `KIND:NAME`. Letters count in either case and width, and white space and invisible characters do not.
fn claimed_actor(text: &str) -> (ActorKind, String) {
    let plain = |text: &str| -> String {
        let narrow = |char: char| match char {
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xfee0).unwrap_or(char),
            _ => char,
        };
        let letters = text
            .chars()
            .map(narrow)
            .filter(|char| char.is_alphanumeric() || char.is_ascii_punctuation());
        letters.flat_map(char::to_lowercase).collect()
    };
    let whole = text.trim().to_owned();
    match text.split_once([':', '\u{ff1a}', '\u{fe55}', '\u{a789}', '\u{2236}']) {
        Some((kind, name)) => match plain(kind).as_str() {
            "human" => (ActorKind::Human, name.trim().to_owned()),
            "agent" => (ActorKind::Agent, name.trim().to_owned()),
            _ => (ActorKind::Agent, whole),
        },
        None => {
            let name = plain(text);
            let rest = name
                .strip_prefix("agent")
                .map(|rest| !rest.starts_with(char::is_alphabetic));
            let is_agent = rest == Some(true) || text.trim().to_lowercase().starts_with("agent ");
            (
                if is_agent {
                    ActorKind::Agent
                } else {
                    ActorKind::Human
                },
                whole,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(variables: &[(&str, &str)]) -> Caller {
        Caller::from_environment(|wanted| {
            variables
                .iter()
                .find(|(name, _)| *name == wanted)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_says_who_calls() {
        assert_eq!(caller(&[]).kind, ActorKind::Human);
        assert_eq!(caller(&[("CLAUDECODE", "1")]).kind, ActorKind::Agent);
        let named = caller(&[("ORCH_ACTOR", "agent:reviewer")]);
        assert_eq!(
            (named.kind, named.name.as_deref()),
            (ActorKind::Agent, Some("reviewer"))
        );
        let person = caller(&[("CLAUDECODE", "1"), ("ORCH_ACTOR", "human:Ann")]);
        assert_eq!(
            (person.kind, person.name.as_deref()),
            (ActorKind::Agent, None)
        );
        assert_eq!(
            caller(&[("ORCH_ACTOR", "orch:x")]).name.as_deref(),
            Some("orch:x")
        );
        assert_eq!(caller(&[("ORCH_ACTOR", " ")]).name, None);
        let unnamed = caller(&[("ORCH_ACTOR", "agent: ")]);
        assert_eq!((unnamed.kind, unnamed.name), (ActorKind::Agent, None));
        assert_eq!(caller(&[("ORCH_NOW", "9")]).clock.now().seconds(), 9);
    }

    #[test]
    fn an_agent_bears_its_own_name_or_that_of_its_program_and_never_that_of_the_person() {
        for (variables, name) in [
            (&[("CLAUDECODE", "1")][..], "Claude Code"),
            (&[("GEMINI_CLI", "1")], "Gemini CLI"),
            (&[("AGENT", "1")], "an agent program"),
            (&[("ORCH_ACTOR", "agent: ")], "an agent program"),
            (&[("ORCH_ACTOR", "agent:reviewer")], "reviewer"),
            (
                &[("CODEX_CI", "1"), ("ORCH_ACTOR", "agent:reviewer")],
                "reviewer",
            ),
            (&[("CODEX_CI", "1"), ("ORCH_ACTOR", "human:Ann")], "Codex"),
            (&[("CODEX_CI", "1"), ("ORCH_ACTOR", "Bob")], "Codex"),
            (&[("ORCH_ACTOR", "human:Bob")], "Bob"),
            (&[], "Ann of git"),
        ] {
            let by = caller(variables).stamp(Some("Ann of git")).by;
            assert_eq!(by.name, name, "{variables:?}");
        }
    }

    #[test]
    fn an_agent_in_another_spelling_is_no_person() {
        for (text, kind, name) in [
            ("Agent:x", ActorKind::Agent, "x"),
            ("AGENT: x", ActorKind::Agent, "x"),
            (" agent :x", ActorKind::Agent, "x"),
            ("\u{ff21}gent\u{ff1a}x", ActorKind::Agent, "x"),
            ("ag\u{200b}ent:x", ActorKind::Agent, "x"),
            ("\u{430}gent:x", ActorKind::Agent, "\u{430}gent:x"),
            ("agents:x", ActorKind::Agent, "agents:x"),
            (":x", ActorKind::Agent, ":x"),
            ("agent", ActorKind::Agent, "agent"),
            ("agent x", ActorKind::Agent, "agent x"),
            ("Agent-7", ActorKind::Agent, "Agent-7"),
            ("orch:x", ActorKind::Agent, "orch:x"),
            ("Human: Ann", ActorKind::Human, "Ann"),
            ("Ann", ActorKind::Human, "Ann"),
            ("Agenta Noe", ActorKind::Human, "Agenta Noe"),
        ] {
            let found = caller(&[("ORCH_ACTOR", text)]);
            assert_eq!(
                (found.kind, found.name.as_deref()),
                (kind, Some(name)),
                "{text}"
            );
        }
    }
}
