//! The trial: only it shows whether the system permits a fence.

use super::plan::FencePlaces;
use super::report::{FenceReport, FenceStep};
use super::start::Fence;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Why there is no fence, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoFence(pub String);

/// The working directory of the trial: one in which nobody has temporary files.
const NOWHERE: &str = "/proc";

/// The trial of this process: what the system permits does not change while it runs.
static TRIAL: OnceLock<Result<(), NoFence>> = OnceLock::new();

/// Tries a fence, once for this process: starts this program inside a small one, in which it writes. Returns why there is
/// none.
pub fn fence_trial() -> Result<(), NoFence> {
    TRIAL
        .get_or_init(|| tried().unwrap_or_else(|error| Err(NoFence(error.to_string()))))
        .clone()
}

fn tried() -> io::Result<Result<(), NoFence>> {
    let fence = Fence::new(Path::new(NOWHERE), |own| {
        let places = FencePlaces {
            holes: [own.all().to_owned()].into(),
            covers: [own.temporary()].into(),
            instead: own.instead(),
            ..FencePlaces::default()
        };
        Ok(places.access())
    })?;
    let argv = fence.around(&[]);
    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    let mut command = Command::new(&argv[0]);
    command
        .args(&argv[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = command.status()?;
    let outcome = match fence.report() {
        Some(FenceReport::Up) if status.success() => Ok(()),
        Some(FenceReport::Refused { step, number, why }) => {
            Err(NoFence(reason(step, number, &why)))
        }
        _ => Err(NoFence(format!("the trial ended with {status}"))),
    };
    if let Err(NoFence(why)) = &outcome {
        tracing::info!(why, "there is no fence");
    }
    Ok(outcome)
}

/// Why the system permits no fence: what a step that failed with an error means.
fn reason(step: FenceStep, number: Option<i32>, why: &str) -> String {
    let is = |known: rustix::io::Errno| number == Some(known.raw_os_error());
    use rustix::io::Errno;
    match step {
        FenceStep::MountNamespace | FenceStep::UserNamespace if is(Errno::PERM) => {
            "the system permits no namespaces here, as in most containers (EPERM)".to_owned()
        }
        FenceStep::MountNamespace | FenceStep::UserNamespace if is(Errno::NOSPC) => {
            "the system permits no more user namespaces: see the settings user.max_user_namespaces and user.max_mnt_namespaces (ENOSPC)"
                .to_owned()
        }
        FenceStep::MountNamespace | FenceStep::UserNamespace
            if is(Errno::NOSYS) || is(Errno::INVAL) =>
        {
            "the system has no user namespaces".to_owned()
        }
        FenceStep::UserMap if is(Errno::PERM) || is(Errno::ACCESS) => {
            "the system permits user namespaces, but nothing in them: AppArmor restricts them, see the setting kernel.apparmor_restrict_unprivileged_userns"
                .to_owned()
        }
        FenceStep::Propagation | FenceStep::Place | FenceStep::Close
            if is(Errno::PERM) || is(Errno::ACCESS) =>
        {
            format!("the system permits no mounts in a namespace: {why}")
        }
        step => format!("the step `{}` failed: {why}", step.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn the_reason_names_what_forbids_it() {
        for (step, error, expected) in [
            (FenceStep::UserNamespace, Errno::PERM, "containers"),
            (FenceStep::MountNamespace, Errno::PERM, "containers"),
            (
                FenceStep::UserNamespace,
                Errno::NOSPC,
                "max_user_namespaces",
            ),
            (FenceStep::UserMap, Errno::PERM, "AppArmor"),
            (FenceStep::Propagation, Errno::ACCESS, "no mounts"),
            (FenceStep::Check, Errno::IO, "`check`"),
        ] {
            let said = reason(step, Some(error.raw_os_error()), "why");
            assert!(said.contains(expected), "{said}");
        }
    }
}
