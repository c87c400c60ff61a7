//! Starts a program inside a control group, where it is from its first instruction on; see clone(2).
//!
//! The standard library can only start it outside and move it, when it may have started others already. Each move also
//! waits some milliseconds, until the kernel knows that nobody starts a process meanwhile.
//!
//! As after vfork(2), the child uses the memory of this process until it has become the program, while the thread that
//! started it waits: a copy of the page tables, and of each page that is written afterwards, takes longer than all the rest.

use super::program::{LimitedProgram, places};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr::{null, null_mut};

/// From `linux/sched.h`: the child handles no signal as this process does, and it starts in the group of `cgroup`. The types
/// of these constants in `libc` are too narrow for their values.
const CLEAR_HANDLERS: u64 = 0x1_0000_0000;
const INTO_GROUP: u64 = 0x2_0000_0000;
/// The child shares the memory, and the thread that starts it waits until it has left it.
const SHARED: u64 = (libc::CLONE_VM | libc::CLONE_VFORK) as u64;

/// The bytes of the stack of a child, which calls a few functions of the C library.
const STACK: usize = 64 << 10;

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
    stack: u64,
    stack_size: u64,
    also_unused: [u64; 3],
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

/// What the child needs, and the number of the error for which it has not become the program.
struct ChildStart<'i> {
    image: &'i Image,
    /// The arguments and the environment as execve(2) wants them: lists that end with a null.
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    streams: [RawFd; 3],
    error: i32,
}

impl Image {
    fn of(program: &LimitedProgram) -> io::Result<Self> {
        let mut variables = BTreeMap::<OsString, OsString>::new();
        // Of two variables with one name, the first counts; see getenv(3).
        for (name, value) in std::env::vars_os() {
            variables.entry(name).or_insert(value);
        }
        variables.extend(
            program
                .environment
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        let name = program.argv.first().ok_or(io::ErrorKind::NotFound)?;
        let files = places(
            name,
            variables.get(OsStr::new("PATH")).map(OsString::as_os_str),
        );
        let entries = variables
            .into_iter()
            .map(|(name, value)| [name, value].join(OsStr::new("=")));
        let files = files
            .into_iter()
            .map(|file| CString::new(file.into_os_string().into_vec()));
        let arguments = program
            .argv
            .iter()
            .map(|argument| CString::new(argument.as_str()));
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
            arguments: arguments.collect::<Result<_, _>>()?,
            environment: entries
                .map(|entry| CString::new(entry.into_vec()))
                .collect::<Result<_, _>>()?,
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
    let pointers = |texts: &[CString]| -> Vec<_> {
        texts
            .iter()
            .map(|text| text.as_ptr())
            .chain([null()])
            .collect()
    };
    let mut start = ChildStart {
        image: &image,
        arguments: pointers(&image.arguments),
        environment: pointers(&image.environment),
        streams: streams.map(|stream| stream.as_raw_fd()),
        error: 0,
    };
    let Some(child) = clone_into(group, &mut start) else {
        return Ok(None);
    };
    if start.error == 0 {
        return Ok(Some(child));
    }
    let _ = retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
    Err(io::Error::from_raw_os_error(start.error))
}

/// A child in the group that has become the program, or has set the error and exited. `None` if the system starts none.
#[expect(
    unsafe_code,
    reason = "the standard library starts no process in a control group"
)]
fn clone_into(group: BorrowedFd<'_>, start: &mut ChildStart<'_>) -> Option<Pid> {
    // Both architectures want the end of a stack at a multiple of 16.
    let mut stack = vec![0_u128; STACK / size_of::<u128>()];
    let request = CloneArguments {
        flags: CLEAR_HANDLERS | INTO_GROUP | SHARED,
        exit_signal: libc::SIGCHLD as u64,
        stack: stack.as_mut_ptr().expose_provenance() as u64,
        stack_size: STACK as u64,
        cgroup: u64::try_from(group.as_raw_fd()).ok()?,
        ..CloneArguments::default()
    };
    // SAFETY: the child has a stack of its own, and this thread waits until the child has become the program or has
    // exited, so that nothing of this thread is used by both at once and everything that `start` points to lives. The child
    // runs with what the C library keeps for this thread, of which it changes `errno`: `become_program` takes no lock, which
    // would stay taken, and allocates nothing. The child shares no handlers of signals, and runs none.
    let child = unsafe { clone3(&raw const request, become_program, start) };
    Pid::from_raw(i32::try_from(child).ok().filter(|child| *child > 0)?)
}

/// Calls clone3(2). In the child, `entry` is called on the new stack; in this process, the number of the child is returned,
/// or a negative number of an error.
///
/// # Safety
///
/// The request has CLONE_VM and CLONE_VFORK, and a stack for the child that is large enough for `entry`.
#[expect(
    unsafe_code,
    reason = "a system call that returns on two stacks cannot be a function of the C library"
)]
unsafe fn clone3(
    request: *const CloneArguments,
    entry: unsafe extern "C" fn(*mut ChildStart<'_>) -> !,
    start: *mut ChildStart<'_>,
) -> isize {
    let child: isize;
    // SAFETY: in this process the instructions change no more than the system call does. The child leaves them only into
    // `entry`, which does not return; nothing that this function has on its stack is changed.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, {start}",
            "call {entry}",
            "ud2",
            "2:",
            start = in(reg) start,
            entry = in(reg) entry,
            inlateout("rax") libc::SYS_clone3 as isize => child,
            in("rdi") request,
            in("rsi") size_of::<CloneArguments>(),
            out("rcx") _,
            out("r11") _,
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, {start}",
            "blr {entry}",
            "brk 1",
            "2:",
            start = in(reg) start,
            entry = in(reg) entry,
            inlateout("x0") request => child,
            in("x1") size_of::<CloneArguments>(),
            in("x8") libc::SYS_clone3,
        );
    }
    child
}

/// What the child does: it becomes the program, or sets the number of an error and exits.
///
/// # Safety
///
/// Nothing else uses what `start` points to meanwhile. Its lists end with a null, and all else in them points to texts that
/// do.
#[expect(
    unsafe_code,
    reason = "the calls of the C library between clone(2) and execve(2)"
)]
unsafe extern "C" fn become_program(start: *mut ChildStart<'_>) -> ! {
    let last_error = || {
        io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or_default()
    };
    // SAFETY: as the caller promises; the calls are among those that signal-safety(7) lists.
    unsafe {
        let start = &mut *start;
        let mut none: libc::sigset_t = std::mem::zeroed();
        let is_ready = libc::setpgid(0, 0) == 0
            && (0..)
                .zip(start.streams)
                .all(|(number, stream)| libc::dup2(stream, number) == number)
            && libc::chdir(start.image.directory.as_ptr()) == 0
            && libc::signal(libc::SIGPIPE, libc::SIG_DFL) != libc::SIG_ERR
            && libc::sigemptyset(&raw mut none) == 0
            && libc::sigprocmask(libc::SIG_SETMASK, &raw const none, null_mut()) == 0;
        let mut error = if is_ready { libc::ENOENT } else { last_error() };
        let mut is_denied = false;
        for file in start.image.files.iter().take_while(|_| is_ready) {
            libc::execve(
                file.as_ptr(),
                start.arguments.as_ptr(),
                start.environment.as_ptr(),
            );
            error = last_error();
            is_denied |= error == libc::EACCES;
            if !TRY_ANOTHER.contains(&error) {
                is_denied = false;
                break;
            }
        }
        start.error = if is_denied { libc::EACCES } else { error };
        libc::_exit(127)
    }
}
