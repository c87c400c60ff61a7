//! What is read from packs is what git has put there, however they were made, and whatever happens to them.

use super::against_git::Chance;
use super::{FORMATS, Repo};
use crate::Store;
use crate::base::ObjectFormat;
use crate::deflate::Deflate;
use crate::pack::{INDEX_BEGIN, PACK_BEGIN};
use crate::pack_entry::{BLOB, DELTA, DELTA_OF_ID, head};
use crate::pack_reader::{PackReader, SharedPacks};
use crate::{delta, varint};
use git2::{ObjectType, Oid};
use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

/// How many versions of its files a repository has.
const VERSIONS: usize = 24;

/// A repository with versions of a text, of a directory, and of a commit.
fn versions(format: ObjectFormat) -> Repo {
    let repo = Repo::of(format);
    for version in 0..VERSIONS {
        let lines: String = (0..400)
            .map(|line| format!("{line} {}\n", (line * version) % 29))
            .collect();
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
    let listed = repo.git(&[
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ]);
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
    let mut reader = PackReader::new(SharedPacks::default(), repo.format);
    let looked = Cell::new(false);
    let directories = || {
        looked.set(true);
        Some(vec![repo.path(".git/objects")])
    };
    while !looked.get() {
        assert!(
            reader
                .read(&vec![0; repo.format.length()], directories)
                .is_none()
        );
    }
    reader
}

/// The files of the packs with this extension.
fn files(repo: &Repo, extension: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(repo.path(".git/objects/pack")).expect("a directory");
    let files = files.map(|file| file.expect("a file").path());
    files
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

/// How many objects the packs of a repository have, each of which is read as libgit2 reads it.
fn read_all(repo: &Repo) -> usize {
    let mut reader = reader(repo);
    let mut found = 0;
    for (id, kind, content) in objects(repo) {
        let read = reader.read(id.as_bytes(), || panic!("nothing is missed so often"));
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
        repo.git(&[
            "-c",
            "repack.useDeltaBaseOffset=false",
            "repack",
            "-adfq",
            "--depth=50",
        ]);
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
        assert_eq!(
            (files(&repo, "idx").len(), read_all(&repo)),
            (2, all + 4),
            "two packs"
        );
    }
}

#[test]
fn packs_that_git_makes_later_are_found() {
    let repo = versions(ObjectFormat::Sha1);
    let store = repo.store();
    let all = objects(&repo);
    let read = |store: &Store| {
        let found = all.iter().filter(|(id, kind, content)| {
            let read = store.packed(*id, *kind);
            assert!(read.as_ref().is_none_or(|read| read == content), "{id}");
            read.is_some()
        });
        found.count()
    };
    assert_eq!(read(&store), 0, "no pack is there");
    repo.git(&["repack", "-adfq"]);
    let found = read(&store);
    assert!(
        0 < found && found < all.len() - 64,
        "{found}: after twice as many it looks again"
    );
    assert_eq!(read(&store), all.len() - 1);
    fs::rename(repo.path(".git/objects/pack"), repo.path(".git/aside")).expect("renamed");
    assert_eq!(read(&store), all.len() - 1, "removed packs stay in memory");
    let beside = store.location().open().expect("opened");
    assert_eq!(
        read(&beside),
        all.len() - 1,
        "it begins with what the first one has found"
    );
}

#[test]
fn a_pack_is_not_read_with_the_index_of_another() {
    let repo = versions(ObjectFormat::Sha1);
    repo.git(&["repack", "-adfq"]);
    let all = objects(&repo);
    let found = |reader: &mut PackReader| {
        all.iter()
            .filter(|(id, ..)| reader.read(id.as_bytes(), || None).is_some())
            .count()
    };
    assert_eq!(found(&mut reader(&repo)), all.len() - 1);
    let pack = files(&repo, "pack").remove(0);
    let aside = repo.path("aside.pack");
    fs::rename(&pack, &aside).expect("moved");
    assert_eq!(found(&mut reader(&repo)), 0, "there is no pack");
    let mut bytes = fs::read(&aside).expect("a pack");
    *bytes.last_mut().expect("a checksum") ^= 1;
    fs::write(&pack, &bytes).expect("written");
    assert_eq!(found(&mut reader(&repo)), 0, "the index names another pack");
    fs::remove_file(&pack).expect("removed");
    std::os::unix::fs::symlink(&aside, &pack).expect("linked");
    assert_eq!(
        found(&mut reader(&repo)),
        all.len() - 1,
        "a link leads to it"
    );
}

#[test]
fn memory_is_given_back_in_between() {
    let repo = versions(ObjectFormat::Sha1);
    repo.git(&["repack", "-adfq", "--depth=50"]);
    let (mut reader, all) = (reader(&repo), objects(&repo));
    // Each object counts for 64 kB at least.
    for (id, kind, content) in all.iter().cycle().take(40 * all.len()) {
        let read = reader.read(id.as_bytes(), || panic!("nothing is missed so often"));
        assert!(
            read.is_none_or(|read| read == (*kind, content.clone())),
            "{id}"
        );
    }
}

/// An object of a forged pack: its id, and its bytes.
type Forged = ([u8; 20], Vec<u8>);

/// Replaces the packs of a repository by one with these objects.
fn forge(repo: &Repo, objects: &[Forged]) {
    let mut sorted: Vec<_> = objects.to_vec();
    sorted.sort();
    let many = u32::try_from(sorted.len()).expect("few").to_be_bytes();
    let (mut pack, mut index, mut offsets) = (
        [PACK_BEGIN, &many].concat(),
        INDEX_BEGIN.to_vec(),
        Vec::new(),
    );
    for first in 0..=u8::MAX {
        let until = sorted.iter().filter(|(id, _)| id[0] <= first).count();
        index.extend(u32::try_from(until).expect("few").to_be_bytes());
    }
    for (id, bytes) in &sorted {
        index.extend(id);
        offsets.extend(u32::try_from(pack.len()).expect("small").to_be_bytes());
        pack.extend(bytes);
    }
    index.extend(vec![0; 4 * sorted.len()]);
    index.extend(offsets);
    let checksum = repo.format.parts([pack.as_slice()]);
    pack.extend(checksum.as_bytes());
    index.extend(checksum.as_bytes());
    index.extend([0; 20]);
    let packs = repo.path(".git/objects/pack");
    fs::remove_dir_all(&packs).expect("removed");
    fs::create_dir(&packs).expect("made");
    fs::write(packs.join("pack-1.pack"), pack).expect("written");
    fs::write(packs.join("pack-1.idx"), index).expect("written");
}

#[test]
fn a_hostile_pack_takes_neither_long_nor_much_memory() {
    let repo = Repo::new();
    let stream = |content: &[u8]| {
        let mut bytes = Vec::new();
        Deflate::new()
            .append(content, &mut bytes)
            .expect("compressed");
        bytes
    };
    let whole = |size: usize, content: &[u8]| [head(BLOB, size), stream(content)].concat();
    let id = |number: usize| {
        let mut id = [7; 20];
        id[..8].copy_from_slice(&number.to_be_bytes());
        id
    };
    let on_id = |base: usize, delta: &[u8]| {
        [
            &head(DELTA_OF_ID, delta.len()),
            &id(base)[..],
            &stream(delta),
        ]
        .concat()
    };
    let on_offset = |distance: usize, delta: &[u8]| {
        [
            head(DELTA, delta.len()),
            varint::encode(distance),
            stream(delta),
        ]
        .concat()
    };
    let large = 12 << 20;
    // It copies the whole base: of its offset and its size, the third byte of the size is not zero.
    let copied = [
        &delta::encode_size(large)[..],
        &delta::encode_size(large),
        &[0xc0, 0xc0],
    ]
    .concat();
    let cases: [(&str, Vec<Forged>, Option<usize>); 9] = [
        ("a blob", vec![(id(0), whole(3, b"abc"))], Some(3)),
        (
            "a size that is too small",
            vec![(id(0), whole(2, b"abc"))],
            None,
        ),
        (
            "a size that is too large",
            vec![(id(0), whole(4, b"abc"))],
            None,
        ),
        (
            "a size that no memory has",
            vec![(id(0), whole(1 << 60, b"abc"))],
            None,
        ),
        (
            "one that rests on its own id",
            vec![(id(0), on_id(0, &[3, 3, 0x90, 3]))],
            None,
        ),
        (
            "one that rests on its own offset",
            vec![(id(0), on_offset(0, &[3, 3, 0x90, 3]))],
            None,
        ),
        (
            "two that rest on each other",
            vec![
                (id(0), on_id(1, &[3, 3, 0x90, 3])),
                (id(1), on_id(0, &[3, 3, 0x90, 3])),
            ],
            None,
        ),
        (
            "one that rests on what is not there",
            vec![(id(0), on_id(1, &[3, 3, 0x90, 3]))],
            None,
        ),
        (
            "a kind that is none",
            vec![(id(0), [head(5, 3), stream(b"abc")].concat())],
            None,
        ),
    ];
    for (what, objects, expected) in cases {
        forge(&repo, &objects);
        let read = reader(&repo).read(&id(0), || None);
        assert_eq!(read.map(|(_, content)| content.len()), expected, "{what}");
    }
    // Each makes 12 MB of a few bytes, up to more than a reader is willing to make for one object.
    let mut chain = vec![(id(0), whole(large, &vec![0; large]))];
    chain.extend((1..40).map(|number| (id(number), on_id(number - 1, &copied))));
    forge(&repo, &chain);
    let read = |number: usize| {
        reader(&repo)
            .read(&id(number), || None)
            .map(|(_, content)| content.len())
    };
    assert_eq!((read(20), read(39)), (Some(large), None));
    // Longer than git makes it.
    let mut chain = vec![(id(0), whole(3, b"abc"))];
    chain.extend((1..300).map(|number| (id(number), on_id(number - 1, &[3, 3, 0x90, 3]))));
    forge(&repo, &chain);
    assert_eq!((read(250), read(299)), (Some(3), None));
}

#[test]
fn a_damaged_pack_yields_what_the_id_names_or_nothing() {
    let mut chance = Chance(0x9ac4);
    let mut lost = [0; 2];
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
            // It does not look for packs before it has missed some.
            all.iter()
                .take(64)
                .for_each(|(id, kind, _)| drop(store.packed(*id, *kind)));
            for (id, kind, content) in all.iter().filter(|(_, kind, _)| *kind != ObjectType::Tag) {
                let read = store.packed(*id, *kind);
                lost[case % 2] += usize::from(read.is_none());
                assert!(
                    read.is_none_or(|read| read == *content),
                    "case {case}: {id}"
                );
                if *kind == ObjectType::Blob
                    && let Ok(Some(read)) = store.blob(crate::digest(*id))
                {
                    assert!(read == *content, "case {case}: {id}");
                }
            }
            replace(&whole);
        }
    }
    assert!(
        lost.iter().all(|lost| *lost > 80),
        "{lost:?} objects of packs and of indexes could not be read"
    );
}
