//! What a traced command did to the files below a directory, call by call, as changes of a [`Disk`].

use super::disk::{Change, Disk, Node};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The calls that are traced: each that changes files or makes changes durable, and what tells where it works.
pub const CALLS: [&str; 27] = [
    "open",
    "openat",
    "creat",
    "lseek",
    "write",
    "pwrite64",
    "writev",
    "ftruncate",
    "truncate",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "chmod",
    "fchmod",
    "fchmodat",
    "fsync",
    "fdatasync",
    "copy_file_range",
    "sendfile",
    "chdir",
];

/// An open file: where its next write goes, and whether that is its end.
struct Open {
    at: usize,
    appends: bool,
}

/// The arguments of a traced call, and what it returned.
struct Call<'t> {
    process: &'t str,
    name: &'t str,
    arguments: Vec<&'t str>,
    returned: &'t str,
}

/// Reads a trace, and carries out on the disk what it says.
pub struct Recorder<'d> {
    disk: &'d mut Disk,
    root: PathBuf,
    /// The files outside the root whose writes are kept as marks.
    marks: Vec<PathBuf>,
    open: HashMap<PathBuf, Open>,
    /// The files that have no name any more, by their last one.
    unnamed: HashMap<PathBuf, usize>,
    /// Where each process works.
    at: HashMap<String, PathBuf>,
}

/// The bytes of all strings in an argument; strace was told to print each byte as `\x..`.
fn bytes(argument: &str) -> Vec<u8> {
    let quoted = argument.split('"').skip(1).step_by(2).collect::<String>();
    hex(&quoted)
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits
        .map(|digits| u8::from_str_radix(&digits[..2], 16).expect("two digits"))
        .collect()
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8(bytes).expect("a path"))
}

/// The path that strace adds to the number of an open file.
fn opened(argument: &str) -> Option<PathBuf> {
    let (_, path) = argument.split_once('<')?;
    Some(path_of(hex(path.split('>').next()?)))
}

fn number(argument: &str) -> usize {
    argument
        .parse()
        .unwrap_or_else(|_| panic!("a number: {argument}"))
}

fn mode(argument: &str) -> u32 {
    u32::from_str_radix(argument.trim_start_matches("0o"), 8).expect("a mode") & 0o7777
}

/// The calls of a trace in the order in which they ended, each with the number of calls that had ended when it began. A
/// call that another thread interrupts is in two parts.
fn calls(trace: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut begun: HashMap<&str, (usize, String)> = HashMap::new();
    for line in trace.lines() {
        let Some((process, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        if let Some(first) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(process, (found.len(), format!("{process} {first}")));
        } else if let Some((_, rest)) = call
            .strip_prefix("<... ")
            .and_then(|rest| rest.split_once(" resumed>"))
        {
            let (since, first) = begun
                .remove(process)
                .unwrap_or_else(|| panic!("a beginning of {line}"));
            found.push((since, format!("{first}{rest}")));
        } else {
            found.push((found.len(), format!("{process} {call}")));
        }
    }
    found
}

impl<'t> Call<'t> {
    /// A call that succeeded; `None` for any other line.
    fn of(line: &'t str) -> Option<Self> {
        let (process, call) = line.split_once(' ')?;
        let (name, rest) = call.split_once('(')?;
        let (arguments, returned) = rest.rsplit_once(" = ")?;
        let arguments = arguments.trim_end().strip_suffix(')')?;
        let is_done = !returned.starts_with('-') && !returned.starts_with('?');
        let arguments = arguments.split(", ").collect();
        is_done.then_some(Self {
            process,
            name,
            arguments,
            returned: returned.split(' ').next()?,
        })
    }
}

impl<'d> Recorder<'d> {
    /// Carries out a trace on the disk, which is that of `root` before it. What was written to the files `marks` is kept
    /// in the order of everything else.
    pub fn record(disk: &'d mut Disk, root: &Path, marks: &[PathBuf], trace: &str) {
        let (open, unnamed, at) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut recorder = Self {
            disk,
            root: root.to_owned(),
            marks: marks.to_vec(),
            open,
            unnamed,
            at,
        };
        // The changes that had been made when so many calls had ended.
        let mut made = vec![0];
        for (began, line) in calls(trace) {
            if let Some(call) = Call::of(&line) {
                recorder.carry_out(&call, made[began]);
            }
            made.push(recorder.disk.changes.len());
        }
    }

    /// The absolute path that two arguments of a call name: an open directory, and a path in it.
    fn path_at(&mut self, call: &Call<'_>, place: usize) -> PathBuf {
        let base = opened(call.arguments[place]).expect("a directory");
        if call.arguments[place].starts_with("AT_FDCWD") {
            self.at.insert(call.process.to_owned(), base.clone());
        }
        base.join(path_of(bytes(call.arguments[place + 1])))
    }

    /// The absolute path that one argument names.
    fn path(&self, call: &Call<'_>, place: usize) -> PathBuf {
        let base = self.at.get(call.process).unwrap_or(&self.root);
        base.join(path_of(bytes(call.arguments[place])))
    }

    /// The node at a path, even if it has lost its name.
    fn node(&self, path: &Path) -> Option<usize> {
        let below = path.strip_prefix(&self.root).ok()?;
        self.disk
            .find(below)
            .or_else(|| self.unnamed.get(path).copied())
    }

    /// The directory that holds a path, and its name there; `None` outside the root.
    fn name(&self, path: &Path) -> Option<(usize, String)> {
        let below = path.strip_prefix(&self.root).ok()?;
        let name = below.file_name()?.to_string_lossy().into_owned();
        Some((self.disk.find(below.parent()?)?, name))
    }

    fn carry_out(&mut self, call: &Call<'_>, began: usize) {
        let last = |back: usize| call.arguments[call.arguments.len() - back];
        match call.name {
            "open" | "creat" => {
                let path = self.path(call, 0);
                self.opens(
                    path,
                    if call.name == "creat" {
                        "O_WRONLY|O_CREAT|O_TRUNC"
                    } else {
                        call.arguments[1]
                    },
                    last(1),
                );
            }
            "openat" => {
                let path = self.path_at(call, 0);
                self.opens(path, call.arguments[2], last(1));
            }
            "lseek" => {
                let path = opened(call.arguments[0]).expect("a file");
                if let Some(open) = self.open.get_mut(&path) {
                    open.at = number(call.returned);
                }
            }
            "write" | "writev" => self.writes(call, None),
            "pwrite64" => self.writes(call, Some(number(last(1)))),
            "ftruncate" => {
                let path = opened(call.arguments[0]).expect("a file");
                self.node(&path)
                    .into_iter()
                    .for_each(|node| self.disk.resize(node, number(call.arguments[1])));
            }
            "truncate" => {
                let path = self.path(call, 0);
                self.node(&path)
                    .into_iter()
                    .for_each(|node| self.disk.resize(node, number(call.arguments[1])));
            }
            "rename" => self.renames(self.path(call, 0), &self.path(call, 1)),
            "renameat" | "renameat2" => {
                let (from, to) = (self.path_at(call, 0), self.path_at(call, 2));
                self.renames(from, &to);
            }
            "link" => self.links(&self.path(call, 0), &self.path(call, 1)),
            "linkat" => {
                let (from, to) = (self.path_at(call, 0), self.path_at(call, 2));
                self.links(&from, &to);
            }
            "unlink" | "rmdir" => self.unlinks(self.path(call, 0)),
            "unlinkat" => {
                let path = self.path_at(call, 0);
                self.unlinks(path);
            }
            "mkdir" => self.makes(&self.path(call, 0), call.arguments[1]),
            "mkdirat" => {
                let path = self.path_at(call, 0);
                self.makes(&path, call.arguments[2]);
            }
            "chmod" => self.permits(&self.path(call, 0), call.arguments[1]),
            "fchmod" => self.permits(
                &opened(call.arguments[0]).expect("a file"),
                call.arguments[1],
            ),
            "fchmodat" => {
                let path = self.path_at(call, 0);
                self.permits(&path, call.arguments[2]);
            }
            "fsync" | "fdatasync" => {
                let path = opened(call.arguments[0]).expect("a file");
                let node = self.node(&path);
                self.disk.changes.extend(node.map(|node| Change::Synced {
                    node,
                    before: began,
                }));
            }
            "chdir" => {
                let path = self.path(call, 0);
                self.at.insert(call.process.to_owned(), path);
            }
            // What this cannot carry out shows: at the end, the disk is not as the one that the command left.
            _ => {}
        }
    }

    fn opens(&mut self, path: PathBuf, flags: &str, permissions: &str) {
        let Some(name) = self
            .name(&path)
            .filter(|_| flags.contains("O_WRONLY") || flags.contains("O_RDWR"))
        else {
            return;
        };
        // Not what had this name before.
        self.unnamed.remove(&path);
        match self.node(&path) {
            None => {
                let node = self.disk.add(Node::file(mode(permissions) & !0o022));
                self.disk.rename(vec![(name, Some(node))]);
            }
            Some(node) if flags.contains("O_TRUNC") => self.disk.resize(node, 0),
            Some(_) => {}
        }
        self.open.insert(
            path,
            Open {
                at: 0,
                appends: flags.contains("O_APPEND"),
            },
        );
    }

    fn writes(&mut self, call: &Call<'_>, at: Option<usize>) {
        let Some(path) = opened(call.arguments[0]) else {
            return;
        };
        let mut written = call.arguments[1..]
            .iter()
            .flat_map(|argument| bytes(argument))
            .collect::<Vec<u8>>();
        written.truncate(number(call.returned));
        if let Some(mark) = self.marks.iter().position(|mark| *mark == path) {
            self.disk.changes.push(Change::Mark(
                mark,
                String::from_utf8_lossy(&written).into_owned(),
            ));
        }
        let Some(node) = self.node(&path) else { return };
        let open = self.open.entry(path).or_insert(Open {
            at: 0,
            appends: true,
        });
        let end = self.disk.nodes[node].bytes.len();
        let from = at.unwrap_or(if open.appends { end } else { open.at });
        if at.is_none() {
            open.at = from + written.len();
        }
        self.disk.write(node, from, &written);
    }

    fn renames(&mut self, from: PathBuf, to: &Path) {
        let node = self.node(&from);
        let names = [(&from, None), (&to.to_owned(), node)];
        let names: Vec<_> = names
            .into_iter()
            .filter_map(|(path, node)| Some((self.name(path)?, node)))
            .collect();
        self.disk.rename(names);
        if let Some(open) = self.open.remove(&from) {
            self.open.insert(to.to_owned(), open);
        }
    }

    fn links(&mut self, from: &Path, to: &Path) {
        if let (Some(node), Some(name)) = (self.node(from), self.name(to)) {
            self.disk.rename(vec![(name, Some(node))]);
        }
    }

    fn unlinks(&mut self, path: PathBuf) {
        if let (Some(node), Some(name)) = (self.node(&path), self.name(&path)) {
            self.unnamed.insert(path, node);
            self.disk.rename(vec![(name, None)]);
        }
    }

    fn makes(&mut self, path: &Path, permissions: &str) {
        if let Some(name) = self.name(path) {
            let node = self.disk.add(Node::directory(mode(permissions) & !0o022));
            self.disk.rename(vec![(name, Some(node))]);
        }
    }

    fn permits(&mut self, path: &Path, permissions: &str) {
        if let Some(node) = self.node(path) {
            self.disk.nodes[node].mode = mode(permissions);
        }
    }
}
