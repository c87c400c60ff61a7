//! What is read from packs is what git has put there, however they were made, and whatever happens to them.

use super::against_git::Chance;
use super::{FORMATS, Repo};
use crate::base::ObjectFormat;
use crate::store::Store;
use crate::store::pack_reader::{KnownPacks, PackReader};
use git2::{ObjectType, Oid};
use std::fs;
use std::path::PathBuf;

/// How many versions of its files a repository has.
const VERSIONS: usize = 24;

/// A repository with versions of a text, of a directory, and of a commit.
fn versions(format: ObjectFormat) -> Repo {
    let repo = Repo::of(format);
    for version in 0..VERSIONS {
        let lines: String = (0..400).map(|line| format!("{line} {}\n", (line * version) % 29)).collect();
        repo.write("text", &lines);
        repo.write(&format!("d/{version}"), &format!("{version}\n"));
        repo.write("d/empty", "");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", &format!("Version {version}")]);
    }
    repo.git(&["tag", "-a", "-m", "A tag", "tagged"]);
    repo
}

/// Every object of a repository, as libgit2 reads it.
fn objects(repo: &Repo) -> Vec<(Oid, ObjectType, Vec<u8>)> {
    let listed = repo.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    let store = repo.store();
    let objects = store.repo.odb().expect("objects");
    let read = |id: &str| {
        let id = Oid::from_str_ext(id, store.repo.object_format()).expect("an id");
        let object = objects.read(id).expect("read");
        (id, object.kind(), object.data().to_vec())
    };
    listed.lines().map(read).collect()
}

/// A reader that has looked for packs.
fn reader(repo: &Repo) -> PackReader {
    let mut reader = PackReader::new(KnownPacks::default());
    let directories = || vec![repo.path(".git/objects")];
    while reader.looked() == 0 {
        assert!(reader.read(&vec![0; repo.format.length()], repo.format, directories).is_none());
    }
    reader
}

/// The files of the packs with this extension.
fn files(repo: &Repo, extension: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(repo.path(".git/objects/pack")).expect("a directory");
    let files = files.map(|file| file.expect("a file").path());
    files.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// How many objects the packs of a repository have, each of which is read as libgit2 reads it.
fn read_all(repo: &Repo) -> usize {
    let mut reader = reader(repo);
    let mut found = 0;
    for (id, kind, content) in objects(repo) {
        let read = reader.read(id.as_bytes(), repo.format, || panic!("nothing is missed so often"));
        let is_read = read.is_some();
        assert!(read.is_none_or(|read| read == (kind, content)), "{id}");
        found += usize::from(is_read);
    }
    found
}

#[test]
fn each_object_is_what_libgit2_reads() {
    for repo in FORMATS.map(versions) {
        // A commit, two directories and two files each time, and a file without content. A tag is left to libgit2.
        let all = 5 * VERSIONS + 1;
        assert_eq!(objects(&repo).len(), all + 1);
        assert_eq!(read_all(&repo), 0, "none has a pack");
        repo.git(&["repack", "-adfq", "--depth=50"]);
        assert_eq!(read_all(&repo), all);
        repo.git(&["-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50"]);
        assert_eq!(read_all(&repo), all, "bases are named by their ids");
        let pack = files(&repo, "pack").remove(0);
        fs::remove_file(pack.with_extension("idx")).expect("removed");
        let pack = pack.to_str().expect("text");
        repo.git(&["index-pack", "--index-version=2,0x40", pack]);
        assert_eq!(read_all(&repo), all, "offsets of eight bytes");
        repo.git(&["-c", "pack.indexVersion=1", "repack", "-adfq"]);
        assert_eq!(read_all(&repo), 0, "an old index is left to libgit2");
        repo.git(&["repack", "-adq"]);
        repo.write("d/new", "new\n");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", "Later"]);
        repo.git(&["repack", "-dq"]);
        assert_eq!((files(&repo, "idx").len(), read_all(&repo)), (2, all + 4), "two packs");
    }
}

#[test]
fn packs_that_git_makes_later_are_found() {
    let repo = versions(ObjectFormat::Sha1);
    let store = repo.store();
    let all = objects(&repo);
    let read = |store: &Store| {
        let found = all.iter().filter(|(id, kind, content)| {
            let read = store.packed(*id, *kind).expect("not torn");
            assert!(read.as_ref().is_none_or(|read| read == content), "{id}");
            read.is_some()
        });
        found.count()
    };
    let looked = |store: &Store| store.packs.borrow().looked();
    assert_eq!((read(&store), looked(&store)), (0, 1), "no pack is there");
    repo.git(&["repack", "-adfq"]);
    let found = read(&store);
    assert!(0 < found && found < all.len() - 64, "{found}: after twice as many it looks again");
    assert_eq!((read(&store), looked(&store)), (all.len() - 1, 2));
    repo.git(&["repack", "-adfq", "--depth=1"]);
    assert_eq!((read(&store), looked(&store)), (all.len() - 1, 2), "removed packs stay in memory");
    fs::rename(repo.path(".git/objects/pack"), repo.path(".git/aside")).expect("renamed");
    let beside = store.location().open().expect("opened");
    assert!(read(&beside) > 0, "it takes over what the first one has found");
}

#[test]
fn a_damaged_pack_yields_what_the_id_names_or_nothing() {
    let mut chance = Chance(0x9ac4);
    let mut lost = 0;
    for repo in FORMATS.map(versions) {
        repo.git(&["repack", "-adfq", "--depth=50"]);
        let all = objects(&repo);
        for case in 0..40 {
            let extension = ["pack", "idx"][case % 2];
            let path = files(&repo, extension).remove(0);
            let whole = fs::read(&path).expect("a file");
            let mut bytes = whole.clone();
            let at = chance.below(bytes.len());
            match chance.below(4) {
                0 => bytes.truncate(at),
                1 => bytes[at..].fill(0),
                2 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0xff),
                _ => bytes[at] ^= 1 << chance.below(8),
            }
            // The old file may still be mapped.
            let replace = |bytes: &[u8]| {
                fs::remove_file(&path).expect("removed");
                fs::write(&path, bytes).expect("written");
            };
            replace(&bytes);
            let store = repo.store();
            for (id, kind, content) in all.iter().chain(&all) {
                let read = store.packed(*id, *kind).expect("not torn");
                lost += usize::from(read.is_none());
                assert!(read.is_none_or(|read| read == *content), "case {case}: {id}");
                if *kind == ObjectType::Blob
                    && let Ok(Some(read)) = store.blob(crate::store::digest(*id))
                {
                    assert!(read == *content, "case {case}: {id}");
                }
            }
            replace(&whole);
        }
    }
    assert!(lost > 80 * 64, "{lost}: some cases do harm");
}
