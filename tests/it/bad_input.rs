//! What lies where it should not, and names that nobody would choose.

use crate::harness::World;
use orch::base::RepoPath;
use orch::scan::{Content, Raw, Source, WorkDir};

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).expect("valid")
}

fn pipe(world: &World, name: &str) {
    let made = world.command("mkfifo").arg(world.path(name)).status().expect("mkfifo runs");
    assert!(made.success(), "{name}");
}

#[test]
fn only_a_regular_file_is_read() {
    let world = World::without_git();
    world.write("file", "bytes");
    world.write("secret", "not to be seen");
    pipe(&world, "pipe");
    std::os::unix::fs::symlink(world.path("secret"), world.path("link")).expect("a link");
    std::os::unix::fs::symlink("/dev/zero", world.path("zeros")).expect("a link");
    std::os::unix::fs::symlink("nowhere", world.path("dangling")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).expect("a socket");
    std::fs::create_dir(world.path("directory")).expect("a directory");
    let root = world.root();
    let source = WorkDir::new(&root, &Raw);
    let read = |name| source.read(&path(name), 100).expect("a source");
    assert_eq!(read("file"), Content::Bytes(b"bytes".to_vec()));
    assert_eq!(read("absent"), Content::Missing);
    for name in ["pipe", "link", "zeros", "dangling", "socket", "directory"] {
        assert_eq!(read(name), Content::Unreadable("it is not a regular file".to_owned()), "{name}");
        assert_eq!(orch::store::durable::read_regular(&world.path(name)), None, "{name}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_holds_nobody_up() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    for name in ["suggestion.json", "state.json", "transcript.jsonl", "planning/plan.json"] {
        let name = format!("tasks/t1/{name}");
        let place = world.path(&name);
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("a directory");
        let _ = std::fs::remove_file(&place);
        pipe(&world, &name);
        // What each of them says differs; that it ends is what counts.
        for command in [&["suggest"][..], &["check"], &["watch", "--once"]] {
            let ended = world.orch(command);
            assert!([0, 1].contains(&ended.code), "{name} {command:?}: {ended:?}");
        }
        std::fs::remove_file(&place).expect("the pipe or what took its place");
        world.git(&["checkout", "-q", "--", "tasks"]);
    }
}
