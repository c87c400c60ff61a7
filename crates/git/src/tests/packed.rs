//! What is packed is what libgit2 and git read.

use super::{FORMATS, Repo};
use crate::listing::Listing;
use crate::pack::Pack;
use git2::ObjectType;
use orch_base::{Digest, ObjectFormat};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

/// A directory with these files: the name of each, and a byte of which its id consists.
fn tree(files: &BTreeMap<String, u8>) -> Arc<Listing> {
    Arc::new(Listing::of_files(
        files.iter().map(|(name, id)| (name.as_str(), *id)),
    ))
}

/// So many files.
fn files(many: usize) -> BTreeMap<String, u8> {
    (0..many)
        .map(|number| (format!("t-{number:05}"), 7))
        .collect()
}

/// Puts the pack into the repository. Returns what git says of its objects: of each id, on how many others it rests.
fn put(repo: &Repo, pack: Pack) -> BTreeMap<String, usize> {
    let made = pack.finish().expect("a pack");
    let place = repo.path(".git/objects/pack");
    fs::create_dir_all(&place).expect("made");
    let file = |end: &str| place.join(format!("pack-{}.{end}", made.name));
    fs::write(file("pack"), &made.pack).expect("written");
    fs::write(file("idx"), &made.index).expect("written");
    let index = file("idx");
    let listed = repo.git(&["verify-pack", "-v", &index.to_string_lossy()]);
    let mut depths = BTreeMap::new();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if Digest::parse(words[0]).is_some() {
            let depth = words
                .get(5)
                .map_or(0, |depth| depth.parse().expect("a number"));
            depths.insert(words[0].to_owned(), depth);
        }
    }
    depths
}

fn content(repo: &Repo, id: Digest, kind: ObjectType) -> Vec<u8> {
    let store = repo.store();
    let found = store
        .objects
        .object(store.objects.oid(id).expect("an id"), kind);
    let (held, content) = found.expect("read").expect("there");
    assert_eq!(held, kind);
    content
}

#[test]
fn an_object_is_as_it_was_after_it_is_packed() {
    let mut seed = 1u32;
    let noise: Vec<u8> = (0..1 << 20)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        })
        .collect();
    for format in FORMATS {
        let repo = Repo::of(format);
        let contents = [&noise[..], b"", b"a", &noise[7..], &[0; 1 << 20]];
        let mut pack = Pack::new(format);
        for content in contents {
            let id = format.blob(content);
            pack.add(ObjectType::Blob, id, content).expect("packed");
        }
        put(&repo, pack);
        for packed in contents {
            let read = content(&repo, format.blob(packed), ObjectType::Blob);
            assert!(read == packed, "{} bytes", packed.len());
        }
    }
}

#[test]
fn the_newest_of_many_versions_is_made_of_few() {
    let repo = Repo::new();
    let mut pack = Pack::new(ObjectFormat::Sha1);
    let mut added: Vec<(Digest, Arc<Listing>)> = Vec::new();
    let mut add = |files: &BTreeMap<String, u8>, before| {
        let tree = tree(files);
        let id = ObjectFormat::Sha1.tree(tree.bytes());
        pack.add_tree(id, &tree, before).expect("packed");
        added.push((id, tree));
        id
    };
    let mut files = files(600);
    let mut versions = Vec::new();
    for number in 0..265 {
        files.insert(
            format!("t-{:05}", number * 7 % 400),
            u8::try_from(20 + number % 200).expect("a byte"),
        );
        if number % 9 == 4 {
            files.insert(format!("t-{number:05}-2"), 1);
        }
        versions.push(add(&files, versions.last().copied()));
    }
    // A version comes back, and another follows it.
    let newest = versions.last().copied();
    files.extend([("b".to_owned(), 1)]);
    let other = add(&files, newest);
    files.remove("b");
    assert_eq!(Some(add(&files, Some(other))), newest);
    files.extend([("c".to_owned(), 1)]);
    let anew = add(&files, newest);
    files.values_mut().for_each(|id| *id = 8);
    let unlike = add(&files, newest);
    let depths = put(&repo, pack);
    for (number, id) in versions.iter().enumerate() {
        assert_eq!(depths[&id.to_string()] == 0, number % 128 == 0, "{number}");
    }
    assert_eq!(depths.values().max(), Some(&7));
    assert_eq!(depths[&anew.to_string()], 0, "it begins again");
    assert_eq!(depths[&unlike.to_string()], 0, "nothing is alike");
    for (id, tree) in added {
        assert!(content(&repo, id, ObjectType::Tree) == tree.bytes());
    }
}

#[test]
fn what_differs_makes_the_new_of_the_old() {
    let long = files(20_000);
    let edited = |edit: &dyn Fn(&mut BTreeMap<String, u8>)| {
        let mut new = long.clone();
        edit(&mut new);
        new
    };
    let some = |number: &str| number.ends_with('4');
    let cases = [
        (files(0), files(1)),
        (files(1), files(0)),
        (
            long.clone(),
            edited(&|new| new.extend([("t-00000".to_owned(), 8)])),
        ),
        (
            long.clone(),
            edited(&|new| new.extend([("t-".repeat(200), 8)])),
        ),
        (long.clone(), edited(&|new| drop(new.pop_last()))),
        (
            long.clone(),
            edited(&|new| {
                new.iter_mut()
                    .filter(|(name, _)| some(name))
                    .for_each(|(_, id)| *id = 9)
            }),
        ),
        (
            long.clone(),
            edited(&|new| new.retain(|name, _| !some(name))),
        ),
        (
            edited(&|new| new.retain(|name, _| !some(name))),
            long.clone(),
        ),
    ];
    for (old, new) in cases {
        let repo = Repo::new();
        let mut pack = Pack::new(ObjectFormat::Sha1);
        let [old, new] = [tree(&old), tree(&new)];
        let [before, after] = [&old, &new].map(|tree| ObjectFormat::Sha1.tree(tree.bytes()));
        pack.add_tree(before, &old, None).expect("packed");
        pack.add_tree(after, &new, Some(before)).expect("packed");
        put(&repo, pack);
        assert!(content(&repo, after, ObjectType::Tree) == new.bytes());
    }
}
