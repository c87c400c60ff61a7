//! Puts up a fence around this process, which has no other thread, and becomes the program.

use super::mounts::{Mount, mounts};
use super::plan::{Access, FencePlan, nearest};
use super::report::{FenceReport, FenceStep};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, open, statx};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::process::{chdir, getegid, geteuid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, remove_capability_from_bounding_set,
    set_capabilities,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The exit code if there is no fence, or no program; the report says why.
const FAILED: u8 = 126;

/// What a process may do that leaves a mount namespace, changes its mounts, or reads and writes past the file system.
const DROPPED: [CapabilitySet; 7] = [
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::MKNOD,
];

/// Why a step failed.
type FailedStep = (FenceStep, io::Error);

/// Puts up the fence of the plan that the first of these arguments names, and becomes the program of the others. Without one
/// it only tries the fence. Returns the exit code if there is nothing to become.
#[must_use]
pub fn put_up_fence(arguments: &[OsString]) -> u8 {
    let Some((plan, program)) = arguments.split_first() else {
        return FAILED;
    };
    // It is opened before the fence is there, because nothing inside may write it.
    let Ok(mut report) = File::options().read(true).append(true).open(plan) else {
        return FAILED;
    };
    let mut text = String::new();
    let read = report.read_to_string(&mut text);
    let first = text.lines().next().unwrap_or_default();
    let plan = read.map(|_| serde_json::from_str::<FencePlan>(first));
    let Ok(Ok(plan)) = plan else {
        return FAILED;
    };
    let said = match fence(&plan) {
        Ok(()) => FenceReport::Up,
        Err((step, error)) => {
            say(&report, &FenceReport::refused(step, &error));
            return FAILED;
        }
    };
    let Some((name, arguments)) = program.split_first() else {
        let tried = tried(&plan).map_or_else(
            |error| FenceReport::refused(FenceStep::Try, &error),
            |()| said,
        );
        say(&report, &tried);
        return 0;
    };
    say(&report, &said);
    #[expect(
        clippy::disallowed_methods,
        reason = "this room starts programs of the settings, without a shell"
    )]
    let error = Command::new(name).args(arguments).exec();
    let name = name.to_string_lossy();
    say(
        &report,
        &FenceReport::NotStarted(format!("cannot start `{name}`: {error}")),
    );
    FAILED
}

fn say(mut report: &File, said: &FenceReport) {
    let mut line = serde_json::to_vec(said).unwrap_or_default();
    line.push(b'\n');
    // Nothing could be told of a failure.
    let _ = report.write_all(&line);
}

/// Puts up the fence. Returns the step that failed.
fn fence(plan: &FencePlan) -> Result<(), FailedStep> {
    enter_namespaces()?;
    let at = |step| move |error: Errno| (step, io::Error::from(error));
    let all = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", all).map_err(at(FenceStep::Propagation))?;
    place(plan).map_err(|error| (FenceStep::Place, error))?;
    close(plan).map_err(|error| (FenceStep::Close, error))?;
    // The directory that this process is in is that below the new mounts.
    chdir(&plan.directory).map_err(at(FenceStep::Directory))?;
    check(plan).map_err(|error| (FenceStep::Check, error))?;
    drop_capabilities().map_err(at(FenceStep::Capabilities))
}

/// Enters a mount namespace: as root as it is, otherwise or where root may not do so in a user namespace with the same user.
fn enter_namespaces() -> Result<(), FailedStep> {
    let user = geteuid();
    if user.is_root() {
        match unshare(UnshareFlags::NEWNS) {
            Err(Errno::PERM) => {}
            Err(error) => return Err((FenceStep::MountNamespace, error.into())),
            Ok(()) => return Ok(()),
        }
    }
    let group = getegid();
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
        .map_err(|error| (FenceStep::UserNamespace, error.into()))?;
    let same = |id: u32| format!("{id} {id} 1");
    let mapped = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", same(user.as_raw())))
        .and_then(|()| fs::write("/proc/self/gid_map", same(group.as_raw())));
    mapped.map_err(|error| (FenceStep::UserMap, error))
}

#[expect(
    deprecated,
    reason = "only unsharing the table of files is unsafe, which nobody asks for here"
)]
fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    rustix::thread::unshare(flags)
}

/// Puts each path of the plan in its place, as a mount of its own.
fn place(plan: &FencePlan) -> io::Result<()> {
    // What is needed may lie below a directory that something else takes the place of.
    let mut sources = Vec::new();
    for (path, access) in &plan.access {
        let source = match access {
            Access::ReadOnly | Access::Writable => path,
            Access::Own(source) | Access::Shown(source) => source,
            Access::Memory => {
                sources.push((path, access, None));
                continue;
            }
        };
        match open(
            source,
            OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            Mode::empty(),
        ) {
            Ok(opened) => sources.push((path, access, Some(opened))),
            // What is gone meanwhile is looked for after the turn.
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(error) => return Err(named(path, error)),
        }
    }
    let there: BTreeSet<PathBuf> = present()?.into_iter().map(|mount| mount.path).collect();
    for (path, access, source) in &sources {
        let above = path.parent().and_then(|above| nearest(&plan.access, above));
        let is_hidden = above.is_some_and(|(_, access)| access.hides());
        match source {
            None => mount(
                "orch",
                *path,
                "tmpfs",
                MountFlags::NOSUID | MountFlags::NODEV,
                Some(c"mode=1777"),
            )
            .map_err(|error| named(path, error))?,
            Some(source) => {
                if is_hidden {
                    make_place(path, source)?;
                } else if !access.hides() && there.contains(*path) {
                    // It is a mount already.
                    continue;
                }
                let source = format!("/proc/self/fd/{}", source.as_raw_fd());
                mount_bind_recursive(source, *path).map_err(|error| named(path, error))?;
            }
        }
    }
    Ok(())
}

/// Makes an empty directory or file where something is to be mounted, in a file system of this fence.
fn make_place(path: &Path, source: &OwnedFd) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(source)?.st_mode);
    if kind.is_dir() {
        return fs::create_dir_all(path);
    }
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    File::create(path).map(drop)
}

/// Makes every mount read-only that no path of the plan opens.
fn close(plan: &FencePlan) -> io::Result<()> {
    let mut last: BTreeMap<PathBuf, Mount> = BTreeMap::new();
    for mount in present()? {
        last.insert(mount.path.clone(), mount);
    }
    for mount in last.values().filter(|mount| !mount.is_read_only()) {
        if plan.permits(&mount.path) {
            continue;
        }
        let flags = mount.flags | MountFlags::BIND | MountFlags::RDONLY;
        match mount_remount(&mount.path, flags, c"") {
            // It is below another mount, or out of reach for this user: the check tells them apart.
            Ok(()) | Err(Errno::NOENT | Errno::ACCESS | Errno::INVAL | Errno::NOTDIR) => {}
            Err(error) => return Err(named(&mount.path, error)),
        }
    }
    Ok(())
}

/// Makes sure that each mount that can be reached is as the plan says.
fn check(plan: &FencePlan) -> io::Result<()> {
    let present = present()?;
    let ids: BTreeMap<u64, &Mount> = present.iter().map(|mount| (mount.id, mount)).collect();
    let paths: BTreeSet<&Path> = present.iter().map(|mount| mount.path.as_path()).collect();
    for path in paths {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let Ok(found) = statx(CWD, path, flags, StatxFlags::MNT_ID) else {
            continue;
        };
        let Some(mount) = ids.get(&found.stx_mnt_id) else {
            continue;
        };
        if !mount.is_read_only() && !plan.permits(&mount.path) {
            return Err(io::Error::other(format!(
                "{} can be written",
                mount.path.display()
            )));
        }
    }
    Ok(())
}

/// Takes capabilities away, also from what root starts later.
fn drop_capabilities() -> Result<(), Errno> {
    for capability in DROPPED {
        match remove_capability_from_bounding_set(capability) {
            // A system that does not know it has none to take away; an older process may lack it already.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    let mut sets = capabilities(None)?;
    for capability in DROPPED {
        sets.effective.remove(capability);
        sets.permitted.remove(capability);
        sets.inheritable.remove(capability);
    }
    set_capabilities(None, sets)
}

/// Writes what a small plan permits and what it does not. Returns an error if either is not as it should be.
fn tried(plan: &FencePlan) -> io::Result<()> {
    for (path, access) in &plan.access {
        if access.hides() {
            continue;
        }
        let written = File::create(path.join("trial")).map(drop);
        match (access.is_writable(), written) {
            (true, Err(error)) => return Err(error),
            (false, Ok(())) => return Err(io::Error::other("a cover can be written")),
            _ => {}
        }
    }
    Ok(())
}

/// The mounts of this process.
fn present() -> io::Result<Vec<Mount>> {
    fs::read("/proc/self/mountinfo").map(|text| mounts(&text))
}

fn named(path: &Path, error: Errno) -> io::Error {
    let source = io::Error::from(error);
    io::Error::new(source.kind(), format!("{}: {source}", path.display()))
}
