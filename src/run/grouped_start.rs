//! Starts a program inside a control group, where it is from its first instruction on; see clone(2).
//!
//! The standard library can only start it outside and move it, when it may have started others already. Each move also
//! waits some milliseconds, until the kernel knows that nobody starts a process meanwhile.

use super::program::{LimitedProgram, places};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr::null;

/// From `linux/sched.h`: the child handles no signal as this process does, and it starts in the group of `cgroup`. The types
/// of these constants in `libc` are too narrow for their values.
const CLEAR_HANDLERS: u64 = 0x1_0000_0000;
const INTO_GROUP: u64 = 0x2_0000_0000;

/// The errors after which the next place of a program is tried, as execvp(3) does.
const TRY_ANOTHER: [i32; 7] = [
    libc::EACCES,
    libc::ENOENT,
    libc::ENOTDIR,
    libc::ENAMETOOLONG,
    libc::ESTALE,
    libc::ENODEV,
    libc::ETIMEDOUT,
];

/// The argument of clone3(2), `struct clone_args`, up to the group.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    unused: [u64; 3],
    exit_signal: u64,
    also_unused: [u64; 5],
    cgroup: u64,
}

/// A program as the system wants it: what an `exec` needs, made before there is a child, which must not allocate.
struct Image {
    /// The files to try, in this order.
    files: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
}

impl Image {
    fn of(program: &LimitedProgram) -> io::Result<Self> {
        let mut variables = BTreeMap::<OsString, OsString>::new();
        // Of two variables with one name, the first counts; see getenv(3).
        for (name, value) in std::env::vars_os() {
            variables.entry(name).or_insert(value);
        }
        variables.extend(program.environment.iter().map(|(name, value)| (name.into(), value.into())));
        let name = program.argv.first().ok_or(io::ErrorKind::NotFound)?;
        let files = places(name, variables.get(OsStr::new("PATH")).map(OsString::as_os_str));
        let entries = variables.into_iter().map(|(name, value)| [name, value].join(OsStr::new("=")));
        let files = files.into_iter().map(|file| CString::new(file.into_os_string().into_vec()));
        let arguments = program.argv.iter().map(|argument| CString::new(argument.as_str()));
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
            arguments: arguments.collect::<Result<_, _>>()?,
            environment: entries.map(|entry| CString::new(entry.into_vec())).collect::<Result<_, _>>()?,
            directory: CString::new(program.directory.as_os_str().as_bytes())?,
        })
    }
}

/// Starts a program as the leader of a process group of its own and in the control group whose directory is open, with
/// these as its standard streams. `None` where the system starts no process in a control group. Returns an error if the
/// program cannot be started.
pub(super) fn start_in(
    group: BorrowedFd<'_>,
    program: &LimitedProgram,
    streams: [BorrowedFd<'_>; 3],
) -> io::Result<Option<Pid>> {
    let image = Image::of(program)?;
    // It closes with a successful start.
    let Ok((mut told, tells)) = io::pipe() else { return Ok(None) };
    let Some(child) = clone_into(group, &image, streams, tells.as_fd()) else { return Ok(None) };
    drop(tells);
    let mut error = [0; size_of::<i32>()];
    match told.read_exact(&mut error) {
        Ok(()) => {
            let _ = retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
            Err(io::Error::from_raw_os_error(i32::from_ne_bytes(error)))
        }
        Err(_) => Ok(Some(child)),
    }
}

/// A child in the group that becomes the program, or writes the number of an error to `tells` and exits.
#[expect(unsafe_code, reason = "the standard library starts no process in a control group")]
fn clone_into(
    group: BorrowedFd<'_>,
    image: &Image,
    streams: [BorrowedFd<'_>; 3],
    tells: BorrowedFd<'_>,
) -> Option<Pid> {
    let pointers =
        |texts: &[CString]| -> Vec<_> { texts.iter().map(|text| text.as_ptr()).chain([null()]).collect() };
    let (arguments, environment) = (pointers(&image.arguments), pointers(&image.environment));
    let request = CloneArguments {
        flags: CLEAR_HANDLERS | INTO_GROUP,
        exit_signal: libc::SIGCHLD as u64,
        cgroup: u64::try_from(group.as_raw_fd()).ok()?,
        ..CloneArguments::default()
    };
    // SAFETY: without CLONE_VM the child has its own copy of the memory and goes on with its own copy of this stack, as
    // after fork(2). Of the threads only this one is in it, so a lock may be held for ever: until it has become the
    // program or exits, it makes only calls that signal-safety(7) lists, on pointers to what lives in this function and
    // in `image`, and allocates nothing. The lists of pointers end with a null.
    let child = unsafe {
        let child = libc::syscall(libc::SYS_clone3, &raw const request, size_of::<CloneArguments>());
        if child == 0 {
            let mut none: libc::sigset_t = std::mem::zeroed();
            let is_ready = libc::setpgid(0, 0) == 0
                && (0..)
                    .zip(streams)
                    .all(|(number, stream)| libc::dup2(stream.as_raw_fd(), number) == number)
                && libc::chdir(image.directory.as_ptr()) == 0
                && libc::signal(libc::SIGPIPE, libc::SIG_DFL) != libc::SIG_ERR
                && libc::sigemptyset(&raw mut none) == 0
                && libc::sigprocmask(libc::SIG_SETMASK, &raw const none, null::<libc::sigset_t>().cast_mut())
                    == 0;
            let last_error = || io::Error::last_os_error().raw_os_error().unwrap_or_default();
            let mut error = last_error();
            let mut is_denied = false;
            for file in image.files.iter().take_while(|_| is_ready) {
                libc::execve(file.as_ptr(), arguments.as_ptr(), environment.as_ptr());
                error = last_error();
                is_denied |= error == libc::EACCES;
                if !TRY_ANOTHER.contains(&error) {
                    is_denied = false;
                    break;
                }
            }
            error = if is_denied { libc::EACCES } else { error };
            libc::write(tells.as_raw_fd(), (&raw const error).cast(), size_of::<i32>());
            libc::_exit(127);
        }
        child
    };
    Pid::from_raw(i32::try_from(child).ok().filter(|child| *child > 0)?)
}
