//! `setup`: runs when what it depends on has changed, or what it made is gone.

use super::commands::{CommandRoom, TimeLeft};
use super::places::{CheckoutSlot, system};
use super::{CouldNotRun, VerifyPart, VerifySubject, VerifyWatch};
use crate::run::{Ended, SessionLog};
use orch_base::{ObjectFormat, command};
use orch_core::verification::{NotRun, VerifyTable};
use orch_git::SeparateEntry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the last setup of a checkout rests on and made.
#[derive(Debug, Serialize, Deserialize)]
struct SetupRecord {
    key: String,
    made: Vec<String>,
}

const RECORD: &str = "setup.json";

/// The programs whose version decides what a setup makes, beside those that the table names.
const TOOLS: [&str; 10] = [
    "node", "python3", "rustc", "go", "java", "ruby", "php", "dotnet", "cc", "cmake",
];

/// Everything that a setup is about.
pub(super) struct Setup<'s> {
    pub table: &'s VerifyTable,
    pub slot: &'s CheckoutSlot,
    pub entries: &'s [SeparateEntry],
    pub room: &'s CommandRoom<'s>,
    pub subject: VerifySubject,
}

impl Setup<'_> {
    /// Runs it if that is needed. `others` lists what is in the checkout beside the tree. Returns why it failed.
    pub(super) fn run(
        &self,
        others: &dyn Fn() -> Result<BTreeSet<String>, CouldNotRun>,
        log: &mut SessionLog,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<(), CouldNotRun> {
        if self.table.setup.is_empty() {
            return Ok(());
        }
        let key = self.key();
        let path = self.slot.file(RECORD);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let last = serde_json::from_str::<SetupRecord>(&text).ok();
        let before = others()?;
        let stands = last.is_some_and(|last| {
            let is_there = |made: &String| before.contains(made);
            last.key == key && last.made.iter().all(is_there)
        });
        if stands {
            return Ok(());
        }
        // Until it has ended, it has not run.
        let _ = fs::remove_file(&path);
        (watch.hear)(super::VerifyEvent::Begins(VerifyPart::Setup(self.subject)));
        let argv = &self.table.setup;
        let time = TimeLeft::new(self.table.timeout);
        let end = self.room.run(argv, None, &time, log, watch)?;
        let shown = command(argv);
        let failure = match end.ended {
            Ended::Well => None,
            Ended::Code(code) => Some(format!("`{shown}` ended with exit code {code}")),
            Ended::Signal(signal) => Some(format!("`{shown}` was ended by signal {signal}")),
            _ => Some(format!("`{shown}` did not end by itself")),
        };
        if let Some(message) = failure {
            let mut why = CouldNotRun::new(NotRun::Setup, message);
            why.log = Some(log.path().to_owned());
            why.hint = Some("its log says why".into());
            return Err(why);
        }
        // What a kept directory held before may come from the last setup, and is needed all the same.
        let record = SetupRecord {
            key,
            made: others()?.into_iter().collect(),
        };
        let text = serde_json::to_string(&record).unwrap_or_default();
        fs::write(&path, text).map_err(|error| system(&path, &error))
    }

    /// What decides whether it has to run again.
    fn key(&self) -> String {
        let mut text = format!("{:?}\n", self.table.setup);
        let keys = &self.table.setup_key;
        for entry in self
            .entries
            .iter()
            .filter(|entry| keys.matches(&entry.path))
        {
            let _ = writeln!(text, "{} {}", entry.id, entry.path);
        }
        // The files that are copied are not in the tree.
        for path in self.table.files.iter().filter(|path| keys.matches(path)) {
            let bytes = fs::read(self.slot.root.join(path)).unwrap_or_default();
            let _ = writeln!(text, "{} {path}", ObjectFormat::Sha256.blob(&bytes));
        }
        let path = self.room.environment.get("PATH").map_or("", String::as_str);
        let named = self.table.setup.first().into_iter();
        for tool in named.map(String::as_str).chain(TOOLS) {
            let _ = writeln!(text, "{tool} {}", version(tool, path));
        }
        ObjectFormat::Sha256.blob(text.as_bytes()).to_string()
    }
}

/// What tells one version of a program on the PATH from another, without running it.
fn version(program: &str, path: &str) -> String {
    let mut places = path
        .split(':')
        .map(|directory| Path::new(directory).join(program));
    let Some(place) = places.find(|place| place.is_file()) else {
        return String::new();
    };
    let place = place.canonicalize().unwrap_or(place);
    let found = place.metadata();
    let size = found.as_ref().map_or(0, MetadataExt::size);
    let changed = found.as_ref().map_or(0, MetadataExt::mtime);
    format!("{} {size} {changed}", place.display())
}
