//! What real processes did with a lease, played in the model: each read, write and step of them has to be what the model
//! does at that moment, and nothing that it does may be missing.

use super::super::is_long;
use super::model::{Action, Fleet, World};
use crate::harness::World as Repository;
use stateright::Model;
use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

/// How long leases last here, in seconds.
const LENGTH: u64 = 3;
/// A second work tree.
const SIDE: &str = "../side";
/// What the processes log.
const LOGGED: &str = "off,orch_fleet::trail=trace,orch_engine::apply=info";

/// What a process did.
#[derive(Debug, Clone, PartialEq)]
struct Event {
    /// When, in milliseconds since the machine was started.
    at: u64,
    owner: String,
    deed: Deed,
}

#[derive(Debug, Clone, PartialEq)]
enum Deed {
    Asked(Asked),
    /// It has recorded a step in this commit.
    Stepped(String),
}

/// A question about the lease.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    what: String,
    breaks: bool,
    /// The generation that the record of the task knew.
    recorded: u64,
    answer: String,
    /// The write that it led to.
    write: Option<Write>,
    /// What was read last, if there was no write.
    read: Option<String>,
}

/// A write, by the nonces of the lease before and after it.
#[derive(Debug, Clone, PartialEq)]
struct Write {
    before: Option<String>,
    after: Option<String>,
    generation: u64,
}

/// A line of the log: when it was written, in milliseconds of the day, what it says, and its values.
struct Line<'l> {
    written: u64,
    says: &'l str,
    values: BTreeMap<&'l str, String>,
}

impl<'l> Line<'l> {
    /// A line such as `2026-01-01T10:00:00.123456Z 77 DEBUG orch_fleet::trail: put a lease task=t nonce="ab"`; `None` if it
    /// is about something else.
    fn of(line: &'l str) -> Option<Self> {
        let says = [
            "asked for a lease",
            "read a lease",
            "put a lease",
            "removed a lease",
            "applied a transition",
        ];
        let says = says.into_iter().find(|says| line.contains(says))?;
        let (_, time) = line.split_once('T')?;
        let (time, _) = time.split_once('Z')?;
        let mut parts = time.split([':', '.']).map(|part| part.parse::<u64>());
        let mut next = || parts.next()?.ok();
        let seconds = next()? * 3600 + next()? * 60 + next()?;
        let milliseconds = next()? / 1000;
        let values = line.split(' ').filter_map(|word| word.split_once('='));
        Some(Self {
            written: seconds * 1000 + milliseconds,
            says,
            values: values
                .map(|(name, value)| (name, value.trim_matches('"').to_owned()))
                .collect(),
        })
    }

    fn number(&self, name: &str) -> u64 {
        self.values[name].parse().expect("a number")
    }
}

/// By how much the clock of the day is ahead of that of the boot, at most: lines are written after what they tell.
fn ahead(logs: &[String]) -> u64 {
    let lines = logs.iter().flat_map(|log| log.lines().filter_map(Line::of));
    let timed = lines.filter(|line| line.values.contains_key("at"));
    let ahead = timed.map(|line| line.written.wrapping_sub(line.number("at")));
    ahead
        .min_by_key(|ahead| ahead.cast_signed())
        .expect("lines")
}

/// What one process did, by what it logged.
fn deeds(log: &str, ahead: u64) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut owner = String::new();
    let mut write = None;
    let mut read = (None, None);
    for line in log.lines().filter_map(Line::of) {
        let value = |name| line.values.get(name).cloned();
        match line.says {
            "read a lease" => read = (Some(line.number("at")), value("nonce")),
            "put a lease" | "removed a lease" => {
                let made = Write {
                    before: value("before"),
                    after: value("nonce"),
                    generation: value("generation").map_or(0, |_| line.number("generation")),
                };
                let twice = write.replace((line.number("at"), made));
                assert_eq!(twice, None, "two writes\n{log}");
            }
            "asked for a lease" => {
                owner.clone_from(&line.values["owner"]);
                let (read_at, read) = std::mem::take(&mut read);
                let (written_at, write) = write.take().unzip();
                let asked = Asked {
                    what: line.values["what"].clone(),
                    breaks: line.values["breaks"] == "true",
                    recorded: line.number("recorded"),
                    answer: line.values["answer"].clone(),
                    read: read.filter(|_| write.is_none()),
                    write,
                };
                events.push(Event {
                    // A copy is read without a line of its own.
                    at: written_at
                        .or(read_at)
                        .unwrap_or(line.written.wrapping_sub(ahead)),
                    owner: owner.clone(),
                    deed: Deed::Asked(asked),
                });
            }
            _ => {
                let deed = Deed::Stepped(line.values["commit"].clone());
                // Steps that are due together share a commit.
                if events.last().map(|last| &last.deed) != Some(&deed) {
                    events.push(Event {
                        at: line.written.wrapping_sub(ahead),
                        owner: owner.clone(),
                        deed,
                    });
                }
            }
        }
    }
    assert_eq!(write, None, "a write that nobody asked for\n{log}");
    events
}

/// A replay of what several processes did.
struct Replay {
    fleet: Fleet,
    owners: Vec<String>,
    world: World,
    begun: u64,
    /// The nonce of the lease in the store.
    nonce: Option<String>,
    commits: Vec<String>,
}

impl Replay {
    /// Plays these events in this order. Returns an error if the model does something else, or if these are not the commits
    /// that the branch has.
    fn play(fleet: Fleet, events: &[Event], commits: &[String]) -> Result<World, String> {
        let mut owners: Vec<String> = events.iter().map(|event| event.owner.clone()).collect();
        owners.sort();
        owners.dedup();
        let fleet = Fleet {
            owners: owners.len(),
            ..fleet
        };
        let mut replay = Self {
            world: fleet.init_states().remove(0),
            fleet,
            owners,
            begun: events.first().map_or(0, |event| event.at),
            nonce: None,
            commits: Vec::new(),
        };
        for event in events {
            replay
                .event(event)
                .map_err(|why| format!("{why}: {event:?} in {:?}", replay.world))?;
        }
        if replay.nonce.is_some() {
            return Err("the lease was released at the end".to_owned());
        }
        if replay.commits != commits {
            return Err(format!(
                "the branch has {commits:?}, not {:?}",
                replay.commits
            ));
        }
        Ok(replay.world)
    }

    fn event(&mut self, event: &Event) -> Result<(), String> {
        let at = event
            .at
            .checked_sub(self.begun)
            .ok_or("it comes too late")?;
        let passed = at.checked_sub(self.world.now).ok_or("it comes too late")?;
        self.act(Action::Tick(passed));
        let owner = self.owners.iter().position(|owner| *owner == event.owner);
        let owner = owner.ok_or("nobody")?;
        match &event.deed {
            Deed::Asked(asked) => self.asked(owner, asked),
            Deed::Stepped(commit) => self.stepped(owner, commit),
        }
    }

    fn act(&mut self, action: Action) {
        if let Some(next) = self.fleet.next_state(&self.world, action) {
            self.world = next;
        }
    }

    fn asked(&mut self, owner: usize, asked: &Asked) -> Result<(), String> {
        let recorded = self.world.recorded();
        // A branch that was not brought here yet may lack steps, and whoever is refused need not know them.
        let knows = match asked.answer.as_str() {
            "own" => asked.recorded == recorded,
            _ => asked.recorded <= recorded,
        };
        if !knows {
            return Err("the record has another generation".to_owned());
        }
        let action = match (asked.what.as_str(), asked.breaks) {
            ("take", true) => Action::Break(owner),
            ("take", false) => Action::Take {
                owner,
                between: None,
                is_answered: true,
            },
            ("keep", _) => Action::Keep(owner),
            _ => Action::Release(owner),
        };
        let before = self.world.clone();
        self.act(action);
        let cell = self.world.cell.as_ref();
        let is_written = self.world.cell != before.cell;
        match &asked.write {
            None if is_written => return Err("the model writes".to_owned()),
            None if asked.read != self.nonce && !self.fleet.has_copy => {
                return Err("it has read another lease".to_owned());
            }
            None => {}
            Some(_) if !is_written => return Err("the model writes nothing".to_owned()),
            Some(write) if write.before != self.nonce => {
                return Err("it replaces another write".to_owned());
            }
            Some(write) => {
                let written = cell.map_or((false, 0), |cell| (true, cell.generation));
                if written != (write.after.is_some(), write.generation) {
                    return Err("the model writes another lease".to_owned());
                }
                if cell.is_some_and(|cell| cell.owner != owner) {
                    return Err("the model writes the lease of another".to_owned());
                }
                self.nonce.clone_from(&write.after);
            }
        }
        let is_holder = self.world.owners[owner].belief.is_some();
        let is_other = cell.is_some_and(|cell| cell.owner != owner);
        let is_answer = match asked.answer.as_str() {
            "own" => is_holder,
            "other" => !is_holder && is_other,
            "released" => before.cell.is_some() && cell.is_none(),
            "free" => !is_holder && !is_written,
            _ => false,
        };
        is_answer
            .then_some(())
            .ok_or("the model answers otherwise".to_owned())
    }

    fn stepped(&mut self, owner: usize, commit: &str) -> Result<(), String> {
        if !self.fleet.believes(&self.world, owner) {
            return Err("it does not hold the task".to_owned());
        }
        let before = self.world.record.len();
        self.act(Action::BeginPush(owner));
        self.act(Action::EndPush(owner));
        if self.world.record.len() != before + 1 {
            return Err("the model refuses the step".to_owned());
        }
        self.commits.push(commit.to_owned());
        Ok(())
    }
}

/// Two work trees or clones in which one task is worked on.
struct Trees {
    repository: Repository,
    /// The second tree.
    other: &'static str,
    logs: Vec<String>,
}

impl Trees {
    fn command(&self, tree: &str, words: &[&str]) -> Command {
        let mut command = self
            .repository
            .orch_command(&[&["-C", tree], words].concat());
        command.env("ORCH_LOG", LOGGED);
        command
    }

    fn ended(&mut self, output: Output) -> i32 {
        let ended = self.repository.end(output);
        self.logs.push(ended.stderr);
        ended.code
    }

    /// Runs `orch` in a tree.
    #[track_caller]
    fn orch(&mut self, tree: &str, words: &[&str], code: i32) {
        let output = self.command(tree, words).output().expect("orch runs");
        assert_eq!(self.ended(output), code, "{words:?} {:?}", self.logs.last());
    }

    /// Takes the task in both trees at once. Returns the tree that has it, and the other.
    fn race(&mut self) -> (&'static str, &'static str) {
        let length = format!("{LENGTH}s");
        let trees = [".", self.other];
        let takers = trees.map(|tree| {
            let words = ["take", "t", "--for", &length, "--as", name(tree)];
            let mut command = self.command(tree, &words);
            let pipe = std::process::Stdio::piped;
            command
                .stdout(pipe())
                .stderr(pipe())
                .spawn()
                .expect("orch starts")
        });
        let codes = takers.map(|taker| {
            let output = taker.wait_with_output().expect("it ends");
            self.ended(output)
        });
        match codes {
            [0, 5] => (trees[0], trees[1]),
            [5, 0] => (trees[1], trees[0]),
            _ => panic!("{codes:?} {:?}", self.logs),
        }
    }

    /// Records a step in a tree.
    #[track_caller]
    fn step(&mut self, tree: &str, code: i32) {
        let now = self.repository.orch_json(&["-C", tree, "suggest", "t"]);
        let phase = &now["suggestions"][0]["task"]["current_phase"];
        let to = if phase == "planning" {
            "codegen"
        } else {
            "planning"
        };
        self.orch(
            tree,
            &["next", "t", "--override", "a step", "--to", to],
            code,
        );
    }

    /// Brings the record of one tree to the other.
    fn bring(&self, from: &str, to: &str) {
        let tip = self.repository.git(&["-C", from, "rev-parse", "HEAD"]);
        let place = self.repository.path(from).canonicalize().expect("a tree");
        let place = place.to_str().expect("text");
        self.repository
            .git(&["-C", to, "fetch", "-q", place, "HEAD"]);
        self.repository
            .git(&["-C", to, "merge", "-q", "--ff-only", tip.trim()]);
    }

    /// What happened, in its order, and the commits of the task since it was created.
    fn told(&self, tree: &str) -> (Vec<Event>, Vec<String>) {
        let ahead = ahead(&self.logs);
        let logs = self.logs.iter();
        let mut events: Vec<Event> = logs.flat_map(|log| deeds(log, ahead)).collect();
        events.sort_by_key(|event| event.at);
        let format = [
            "-C",
            tree,
            "log",
            "--reverse",
            "--format=%H",
            "--",
            "tasks/t",
        ];
        let commits = self.repository.git(&format);
        (events, commits.lines().skip(1).map(str::to_owned).collect())
    }
}

fn name(tree: &str) -> &'static str {
    if tree == "." { "ann" } else { "eve" }
}

/// Two trees of a repository with one task.
fn work_trees() -> Trees {
    let repository = crate::harness::started("planning");
    repository.git(&["worktree", "add", "-q", "-b", "side", SIDE]);
    Trees {
        repository,
        other: SIDE,
        logs: Vec::new(),
    }
}

/// Two clones of a remote on which the leases are.
fn clones() -> Trees {
    let repository = crate::harness::started("planning");
    let settings = repository.read("orch.toml");
    let settings = settings.replacen("#store = \"local\"", "store = \"git\"", 1);
    repository.write("orch.toml", settings);
    repository.commit("Share leases");
    repository.git(&["init", "-q", "--bare", "-b", "main", "../remote.git"]);
    repository.git(&["remote", "add", "origin", "../remote.git"]);
    repository.git(&["push", "-q", "origin", "main"]);
    repository.git(&["clone", "-q", "../remote.git", "../clone"]);
    Trees {
        repository,
        other: "../clone",
        logs: Vec::new(),
    }
}

/// Takes, renews, steps, releases, takes over and breaks.
fn story(trees: &mut Trees) -> (Vec<Event>, Vec<String>) {
    let length = format!("{LENGTH}s");
    let half = || sleep(Duration::from_millis(LENGTH * 500));
    let (first, second) = trees.race();
    trees.step(first, 0);
    trees.orch(second, &["take", "t"], 5);
    half();
    // A step renews.
    trees.step(first, 0);
    trees.orch(first, &["take", "t"], 0);
    trees.orch(first, &["release", "t"], 0);
    trees.bring(first, second);
    trees.orch(second, &["take", "t", "--for", &length], 0);
    trees.step(second, 0);
    trees.bring(second, first);
    trees.orch(first, &["take", "t"], 5);
    sleep(Duration::from_millis(LENGTH * 1000 + 500));
    trees.orch(first, &["take", "t", "--for", &length], 0);
    trees.step(second, 5);
    trees.step(first, 0);
    trees.bring(first, second);
    let why = ["take", "t", "--break", "Ann is ill", "--for", &length];
    trees.orch(second, &why, 0);
    if trees.other == SIDE {
        // Another clone would hear of it when it pushes.
        trees.step(first, 5);
    }
    trees.step(second, 0);
    trees.orch(second, &["release", "t"], 0);
    trees.told(second)
}

/// A fleet as the program makes it: a step is recorded under a lease, which is renewed apart.
fn fleet(has_clock: bool) -> Fleet {
    Fleet {
        has_copy: !has_clock,
        push_renews: false,
        breaks: true,
        length: LENGTH,
        ..Fleet::new(has_clock)
    }
}

#[test]
fn what_work_trees_do_is_what_the_model_does() {
    let (events, commits) = story(&mut work_trees());
    every_change_is_noticed(&fleet(true), &events, &commits);
}

#[test]
fn what_clones_do_is_what_the_model_does() {
    // The other story has all that is not about git's remotes.
    if !is_long() {
        return;
    }
    let (events, commits) = story(&mut clones());
    every_change_is_noticed(&fleet(false), &events, &commits);
}

/// A trace is played, and one that lacks a write or a step, has two of them in another order, or says something else of
/// one, is not.
fn every_change_is_noticed(fleet: &Fleet, events: &[Event], commits: &[String]) {
    let played = |events: &[Event]| Replay::play(fleet.clone(), events, commits);
    let world = played(events).unwrap_or_else(|why| panic!("{why}\n{events:#?}"));
    assert_eq!(world.recorded(), 4, "{world:?}");
    let writes = |event: &Event| match &event.deed {
        Deed::Asked(asked) => asked.write.is_some(),
        Deed::Stepped(_) => true,
    };
    let changes: Vec<usize> = (0..events.len())
        .filter(|at| writes(&events[*at]))
        .collect();
    assert!(changes.len() >= 12, "{events:#?}");
    for at in &changes {
        let mut less = events.to_vec();
        less.remove(*at);
        played(&less).expect_err(&format!("without {:?}", events[*at]));
        if let Deed::Asked(Asked {
            write: Some(write), ..
        }) = &events[*at].deed
            && write.after.is_some()
        {
            let mut forged = events.to_vec();
            if let Deed::Asked(asked) = &mut forged[*at].deed
                && let Some(write) = &mut asked.write
            {
                write.generation += 1;
            }
            played(&forged).expect_err(&format!("another generation of {:?}", events[*at]));
        }
    }
    // A step and a renewal of one owner may come in either order.
    let is_bound = |pair: &&[usize]| {
        let [one, other] = [&events[pair[0]], &events[pair[1]]];
        let is_step = |event: &Event| matches!(event.deed, Deed::Stepped(_));
        one.owner != other.owner || is_step(one) == is_step(other)
    };
    for pair in changes.windows(2).filter(is_bound) {
        let mut swapped = events.to_vec();
        let times = [swapped[pair[0]].at, swapped[pair[1]].at];
        swapped.swap(pair[0], pair[1]);
        [swapped[pair[0]].at, swapped[pair[1]].at] = times;
        played(&swapped).expect_err(&format!(
            "{:?} and {:?} swapped",
            events[pair[0]], events[pair[1]]
        ));
    }
}
