//! Trust: which programs of a repository may be started.
//!
//! `orch.toml` names programs and addresses, and a clone or a merge may bring another `orch.toml`. So nothing that it names is
//! started before a person has trusted it, as it is: each command with the files of the repository that it names, the
//! instructions of agents that differ from those that ship with `orch`, what the fence of executors leaves open, and, where
//! there is an executor, the settings by which agent programs start more. Trust is kept outside the repository, as
//! digests, one file per repository.

use super::RunOptions;
use super::program_settings::{FoundSettings, program_settings, what_is_named};
use crate::apply::Writer;
use crate::survey::{
    NetworkStore, TRUST_PLACE, Workspace, place_of, trust_file, trusted, untrusted,
};
use orch_base::{Code, Digest, Error, ObjectFormat, VerificationName, command, is_program_setting};
use orch_core::config::{Config, FenceWish, NotifyAction, Webhook};
use orch_core::verification::VerifyTable;
use orch_core::workflow::System;
use orch_files::{Directory, io_error};
use orch_git::durable;
use std::fs;
use std::path::{Path, PathBuf};

/// What a command is started for. Trust in it for one purpose is none for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandPurpose {
    /// To work on a task.
    Executor,
    /// To tell somebody of an event.
    Notification,
    /// To verify code.
    Verification,
    /// To prepare a work tree.
    Setup,
}

/// The word that the digest of a webhook begins with.
const WEBHOOK: &str = "webhook";

/// What the name of what is open in a fence begins with. Names of files are relative paths, which seldom do.
const FENCE: &str = "fence: ";

impl CommandPurpose {
    /// The word that the digest of a command begins with. Digests with these words are kept on disks.
    fn word(self) -> &'static str {
        match self {
            Self::Executor => "command",
            Self::Notification => "notification",
            Self::Verification => "verification",
            Self::Setup => "setup",
        }
    }
}

/// Something that `orch` may start or feed to a program, in the form in which it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trustee {
    /// The key in `orch.toml`, what is open in the fence, or the path of instructions or of settings of agent programs.
    pub name: String,
    /// The command with its arguments; `None` for files and webhooks.
    pub command: Option<Vec<String>>,
    /// The webhook; `None` for everything else.
    pub webhook: Option<Webhook>,
    /// The store of leases; `None` for everything else.
    pub store: Option<String>,
    /// Whether it is trusted as it is.
    pub is_trusted: bool,
    digest: Digest,
}

impl Trustee {
    /// A text that agent programs read, with the digest of what it says.
    fn of_text(name: String, digest: Digest) -> Self {
        Self {
            name,
            command: None,
            webhook: None,
            store: None,
            is_trusted: false,
            digest,
        }
    }
}

/// Everything that needs trust in a repository, in a fixed order, with whether it has it. Returns an error if a file
/// that a command names, or the trust, cannot be read.
pub fn trustees(writer: &Writer<'_>) -> Result<Vec<Trustee>, Error> {
    let mut found = subjects(writer)?;
    let known = trusted(&writer.workspace.reader, writer.caller)?;
    found
        .iter_mut()
        .for_each(|one| one.is_trusted = known.contains(&one.digest));
    Ok(found)
}

/// Trusts everything that `orch` may start now. Returns what needed it, and an error if the caller is no person at a
/// terminal or the trust cannot be kept.
pub fn trust(writer: &Writer<'_>) -> Result<Vec<Trustee>, Error> {
    writer.authority().require_person(&["orch", "trust"])?;
    let mut new = trustees(writer)?;
    new.retain(|one| !one.is_trusted);
    keep(writer, new.iter().map(|one| one.digest))?;
    new.iter_mut().for_each(|one| one.is_trusted = true);
    Ok(new)
}

/// Takes back all trust in the repository. Returns whether there was any, and an error if it cannot be removed.
pub fn revoke_trust(writer: &Writer<'_>) -> Result<bool, Error> {
    let Some(path) = trust_file(&writer.workspace.reader, writer.caller) else {
        return Ok(false);
    };
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error(&path, error)),
    }
}

/// Returns an error unless the command, and the instructions of the repository, may be used in a run: the person gave
/// the command, or trusts both. A run that continues brings the command that `run.json` names, which is the person's
/// only if it is trusted.
pub(super) fn refuse_untrusted(
    writer: &Writer<'_>,
    argv: &[String],
    options: &RunOptions,
) -> Result<(), Error> {
    if options.trust || writer.caller.trusts_once {
        return Ok(());
    }
    let known = trusted(&writer.workspace.reader, writer.caller)?;
    let digest = command_digest(
        writer.workspace.reader.root(),
        CommandPurpose::Executor,
        argv,
    )?;
    let is_known = known.contains(&digest);
    let is_own = !options.command.is_empty() && is_known;
    let new = subjects(writer)?.into_iter().find(|one| {
        let is_text = one.command.is_none() && one.webhook.is_none() && one.store.is_none();
        let counts = is_text || one.digest == digest;
        counts && !known.contains(&one.digest)
    });
    if is_own || (is_known && new.is_none()) {
        return Ok(());
    }
    Err(untrusted(&match new {
        Some(Trustee {
            name,
            command: None,
            ..
        }) if is_program_setting(&name) => {
            format!("{name}, by which an agent program starts commands,")
        }
        Some(Trustee {
            name,
            command: None,
            ..
        }) if name.starts_with(FENCE) => format!("`{name}` of orch.toml"),
        Some(Trustee {
            name,
            command: None,
            ..
        }) => format!("the instructions in {name}"),
        Some(Trustee { name, .. }) => configured(argv, &name),
        None => format!("`{}`", command(argv)),
    }))
}

/// Returns an error unless a person has trusted all commands of a verification as they are, or trusts everything now.
pub(super) fn refuse_untrusted_verification(
    writer: &Writer<'_>,
    name: &VerificationName,
    table: &VerifyTable,
    trusts_all: bool,
) -> Result<(), Error> {
    if trusts_all || writer.caller.trusts_once {
        return Ok(());
    }
    let known = trusted(&writer.workspace.reader, writer.caller)?;
    for one in verified(writer.workspace.reader.root(), name, table)? {
        if !known.contains(&one.digest) {
            let argv = one.command.unwrap_or_default();
            return Err(untrusted(&configured(&argv, &one.name)));
        }
    }
    Ok(())
}

/// Returns an error unless a person has trusted all commands that prepare a work tree as they are, or trusts everything now.
pub(super) fn refuse_untrusted_setup(writer: &Writer<'_>, trusts_all: bool) -> Result<(), Error> {
    if trusts_all || writer.caller.trusts_once {
        return Ok(());
    }
    let known = trusted(&writer.workspace.reader, writer.caller)?;
    for one in setups(writer)? {
        if !known.contains(&one.digest) {
            let argv = one.command.unwrap_or_default();
            return Err(untrusted(&configured(&argv, &one.name)));
        }
    }
    Ok(())
}

/// Trusts in a clone of the repository what is trusted in the repository, and no more. Returns an error if the trust cannot be
/// read or kept.
pub(super) fn trust_clone(writer: &Writer<'_>, clone: &Path) -> Result<(), Error> {
    let known = trusted(&writer.workspace.reader, writer.caller)?;
    if known.is_empty() {
        return Ok(());
    }
    let there = Workspace::open_to_look(clone, writer.workspace.environment.elsewhere())?;
    keep(&Writer::new(&there, writer.caller), known.into_iter())
}

/// The commands that prepare a work tree.
fn setups(writer: &Writer<'_>) -> Result<Vec<Trustee>, Error> {
    let root = writer.workspace.reader.root();
    let mut found = Vec::new();
    for command in &writer.workspace.reader.settings.config.worktrees.setup {
        found.push(Trustee {
            name: "worktrees".to_owned(),
            command: Some(command.clone()),
            webhook: None,
            store: None,
            is_trusted: false,
            digest: command_digest(root, CommandPurpose::Setup, command)?,
        });
    }
    Ok(found)
}

/// The commands of a verification.
fn verified(
    root: &Path,
    name: &VerificationName,
    table: &VerifyTable,
) -> Result<Vec<Trustee>, Error> {
    let setup = Some(&table.setup).filter(|setup| !setup.is_empty());
    let mut found = Vec::new();
    for command in setup.into_iter().chain(&table.commands) {
        found.push(Trustee {
            name: format!("verify.{name}"),
            command: Some(command.clone()),
            webhook: None,
            store: None,
            is_trusted: false,
            digest: command_digest(root, CommandPurpose::Verification, command)?,
        });
    }
    Ok(found)
}

/// The leave to do what an entry of `[[notify]]` says, as it was when this was made.
#[derive(Debug, Clone)]
pub struct NotificationLeave {
    root: PathBuf,
    name: String,
    action: NotifyAction,
    /// What was trusted; `None` if it may be done whatever it is.
    digest: Option<Digest>,
}

impl NotificationLeave {
    /// Leave to do what an entry of `orch.toml` says, whose key there is `name`. If `trusts_all`, it needs no trust.
    /// Returns an error unless a person has trusted it as it is now.
    pub fn of(
        writer: &Writer<'_>,
        name: &str,
        action: &NotifyAction,
        trusts_all: bool,
    ) -> Result<Self, Error> {
        let root = writer.workspace.reader.root().to_owned();
        let leave = Self {
            root,
            name: name.to_owned(),
            action: action.clone(),
            digest: None,
        };
        if trusts_all || writer.caller.trusts_once {
            return Ok(leave);
        }
        let digest = leave.digest_now()?;
        let is_trusted = trusted(&writer.workspace.reader, writer.caller)?.contains(&digest);
        if is_trusted {
            Ok(Self {
                digest: Some(digest),
                ..leave
            })
        } else {
            Err(leave.refusal())
        }
    }

    /// Returns an error if the entry, or a file that it names, has changed since this was made.
    pub fn require_unchanged(&self) -> Result<(), Error> {
        match self.digest {
            Some(digest) if self.digest_now()? != digest => Err(self.refusal()),
            _ => Ok(()),
        }
    }

    fn digest_now(&self) -> Result<Digest, Error> {
        notification_digest(&self.root, &self.action)
    }

    fn refusal(&self) -> Error {
        untrusted(&match &self.action {
            NotifyAction::Command(argv) => configured(argv, &self.name),
            NotifyAction::Webhook(webhook) => {
                format!("`{}` of [{}] in orch.toml", webhook.url, self.name)
            }
        })
    }
}

/// The digest of what an entry of `[[notify]]` does.
fn notification_digest(root: &Path, action: &NotifyAction) -> Result<Digest, Error> {
    match action {
        NotifyAction::Command(argv) => command_digest(root, CommandPurpose::Notification, argv),
        NotifyAction::Webhook(Webhook { url, secret }) => {
            let text = format!(
                "{WEBHOOK}\n{url}\n{}\n",
                secret.as_deref().unwrap_or_default()
            );
            Ok(ObjectFormat::Sha256.blob(text.as_bytes()))
        }
    }
}

fn configured(argv: &[String], name: &str) -> String {
    format!("`{}` of [{name}] in orch.toml", command(argv))
}

/// Remembers a command that a person gave on the command line, so that the run may continue with it. Failing to keep
/// it costs a question later.
pub(super) fn remember(writer: &Writer<'_>, argv: &[String]) {
    let digest = command_digest(
        writer.workspace.reader.root(),
        CommandPurpose::Executor,
        argv,
    );
    let kept = digest.and_then(|digest| keep(writer, [digest].into_iter()));
    if let Err(error) = kept {
        tracing::warn!(
            error = error.logged(),
            "cannot remember the command of the run"
        );
    }
}

fn subjects(writer: &Writer<'_>) -> Result<Vec<Trustee>, Error> {
    let setting = &writer.workspace.reader.settings;
    let root = writer.workspace.reader.root();
    let mut found = Vec::new();
    for name in setting.config.executors.names() {
        let Some(executor) = setting.config.executors.named(name) else {
            continue;
        };
        let digest = command_digest(root, CommandPurpose::Executor, &executor.command)?;
        let name = format!("executor.{name}");
        let command = Some(executor.command.clone());
        found.push(Trustee {
            name,
            command,
            webhook: None,
            store: None,
            is_trusted: false,
            digest,
        });
    }
    for (name, table) in &setting.config.verify {
        found.extend(verified(root, name, table)?);
    }
    found.extend(setups(writer)?);
    for (name, _, action) in setting.config.notify_actions() {
        let digest = notification_digest(root, action)?;
        let (command, webhook) = match action {
            NotifyAction::Command(argv) => (Some(argv.clone()), None),
            NotifyAction::Webhook(webhook) => (None, Some(webhook.clone())),
        };
        found.push(Trustee {
            name,
            command,
            webhook,
            store: None,
            is_trusted: false,
            digest,
        });
    }
    if let Some(store) = NetworkStore::of(&setting.config.leases) {
        found.push(Trustee {
            name: "leases".to_owned(),
            command: None,
            webhook: None,
            store: Some(store.address),
            is_trusted: false,
            digest: store.digest,
        });
    }
    found.extend(opened_fence(&setting.config));
    // Whatever the executor is, it may be such a program, or start one.
    let settings = if setting.config.executors.names().next().is_some() {
        program_settings(root)?
    } else {
        FoundSettings::new()
    };
    for (name, what) in settings {
        let digest = ObjectFormat::Sha256.blob(format!("settings\n{name}\n{what}").as_bytes());
        found.push(Trustee::of_text(name, digest));
    }
    let shipped = System::shipped();
    let texts = setting
        .system
        .iter()
        .filter(|(path, _)| path.starts_with("agents/"));
    for (path, text) in texts.filter(|(path, text)| shipped.text(path) != Some(*text)) {
        let digest = ObjectFormat::Sha256.blob(format!("agent\n{path}\n{text}").as_bytes());
        let name = format!("{}/{path}", setting.config.system);
        found.push(Trustee::of_text(name, digest));
    }
    Ok(found)
}

/// What `orch.toml` opens in the fence of executors, if it does.
fn opened_fence(config: &Config) -> Option<Trustee> {
    let mut said = Vec::new();
    let is_off = |name: &&str| {
        let executor = config.executors.named(name);
        executor.is_some_and(|executor| executor.fence == FenceWish::Off)
    };
    for name in config.executors.names().filter(is_off) {
        said.push(format!("off for {name}"));
    }
    for path in &config.fence.writes {
        said.push(format!("writes {path}"));
    }
    if said.is_empty() {
        return None;
    }
    let name = format!("{FENCE}{}", said.join(", "));
    let digest = ObjectFormat::Sha256.blob(name.as_bytes());
    Some(Trustee::of_text(name, digest))
}

/// The digest of a command: of its purpose, its words, and of each file of the repository that one of them names.
fn command_digest(root: &Path, purpose: CommandPurpose, argv: &[String]) -> Result<Digest, Error> {
    let mut text = format!("{}\n", purpose.word());
    for word in argv {
        text += &format!("{} {word}\n", word.len());
        text += &what_is_named(root, word)?;
    }
    Ok(ObjectFormat::Sha256.blob(text.as_bytes()))
}

/// Adds digests to those that are trusted.
fn keep(writer: &Writer<'_>, new: impl Iterator<Item = Digest>) -> Result<(), Error> {
    let (Some(home), Some(path)) = (
        &writer.caller.state_home,
        trust_file(&writer.workspace.reader, writer.caller),
    ) else {
        let message = "there is no place to keep trust: neither XDG_STATE_HOME nor HOME is set";
        let hint = "set one of them, or start the run with --trust-once";
        return Err(Error::new(Code::Io, message).with_hint(hint));
    };
    let mut all = trusted(&writer.workspace.reader, writer.caller)?;
    all.extend(new);
    let lines: String = all.iter().map(|digest| format!("{digest}\n")).collect();
    let text = format!(
        "# {}\n{lines}",
        place_of(&writer.workspace.reader).display()
    );
    fs::create_dir_all(home).map_err(|source| io_error(home, source))?;
    let directory = home.join(TRUST_PLACE);
    Directory::make(home, &directory).map_err(|source| io_error(&directory, source))?;
    durable::write_atomic(home, &path, text.as_bytes()).map(drop)
}
