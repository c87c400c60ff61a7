//! Commits written to a repository all at once, as a stream for `git fast-import`.

use super::past::Past;
use crate::harness::World;
use orch_base::Digest;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;

/// Writes every commit of some pasts; their ids, in the same order.
pub fn import<'p>(world: &World, pasts: impl Iterator<Item = &'p Past>) -> Vec<Vec<Digest>> {
    let mut stream = Vec::new();
    let mut marks = 0_usize;
    let mut blobs: HashMap<&'p str, usize> = HashMap::new();
    let mut commits: Vec<Vec<usize>> = Vec::new();
    for past in pasts {
        let mut known: Vec<usize> = Vec::new();
        for commit in &past.commits {
            for text in commit.tree.values() {
                blobs.entry(text).or_insert_with(|| {
                    marks += 1;
                    let head = format!("blob\nmark :{marks}\ndata {}\n", text.len());
                    stream.extend([head.as_bytes(), text.as_bytes(), b"\n"].concat());
                    marks
                });
            }
            marks += 1;
            let (what, seconds) = (&commit.what, commit.seconds);
            let mut lines = match commit.parents.first() {
                None => "reset refs/heads/main\n".to_owned(),
                Some(_) => String::new(),
            };
            lines += &format!(
                "commit refs/heads/main\nmark :{marks}\ncommitter Ann <ann@example.com> {seconds} +0000\n"
            );
            lines += &format!("data {}\n{what}\n", what.len());
            for (number, parent) in commit.parents.iter().enumerate() {
                let word = if number == 0 { "from" } else { "merge" };
                lines += &format!("{word} :{}\n", known[*parent]);
            }
            lines += "deleteall\n";
            for (path, text) in &commit.tree {
                lines += &format!("M 100644 :{} {path}\n", blobs[&**text]);
            }
            stream.extend(lines.into_bytes());
            stream.push(b'\n');
            known.push(marks);
        }
        commits.push(known);
    }
    let ids = run(world, &stream);
    commits
        .into_iter()
        .map(|known| known.iter().map(|mark| ids[mark]).collect())
        .collect()
}

/// Feeds a stream to git; which object each mark is.
fn run(world: &World, stream: &[u8]) -> HashMap<usize, Digest> {
    let (place, marks) = (world.path("../stream"), world.path("../marks"));
    File::create(&place)
        .and_then(|mut file| file.write_all(stream))
        .expect("written");
    let mut command = world.command("git");
    let export = format!("--export-marks={}", marks.display());
    command.args(["fast-import", "--quiet", "--force", &export]);
    command.stdin(File::open(&place).expect("a stream"));
    let ended = world.end(command.output().expect("git runs"));
    assert_eq!(ended.code, 0, "{ended:?}");
    let listed = std::fs::read_to_string(&marks).expect("marks");
    let marks = listed.lines().filter_map(|line| {
        let (mark, id) = line.strip_prefix(':')?.split_once(' ')?;
        Some((mark.parse().ok()?, Digest::parse(id)?))
    });
    marks.collect()
}
