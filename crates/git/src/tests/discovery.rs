//! Tests of finding a repository whose `.git` is damaged.

use super::Repo;
use crate::{Environment, Store};
use orch_base::Class;
use std::fs;

#[test]
fn a_damaged_git_directory_is_no_missing_one() {
    for part in ["HEAD", "refs", "objects"] {
        let repo = Repo::new();
        repo.write("below/x", "");
        fs::rename(repo.path(".git").join(part), repo.path("away")).expect("moved away");
        let error = Store::discover(&repo.path("below"), &Environment::default())
            .err()
            .expect("damaged");
        assert_eq!(error.class(), Class::Fault, "{part}");
        assert!(
            error
                .to_string()
                .contains(&format!(".git/{part}: No such file")),
            "{error}"
        );
        fs::rename(repo.path("away"), repo.path(".git").join(part)).expect("moved back");
        Store::discover(&repo.path("below"), &Environment::default())
            .expect("opened")
            .expect("found");
    }
}

#[test]
fn a_damaged_repository_in_another_is_not_passed_by() {
    let outer = Repo::new();
    outer.write("inner/.git/refs/x", "");
    let error = Store::discover(&outer.path("inner"), &Environment::default())
        .err()
        .expect("damaged");
    assert!(error.to_string().contains("inner/.git/HEAD"), "{error}");
    // Neither a file that names nothing nor a link that leads nowhere is a missing repository.
    fs::remove_dir_all(outer.path("inner/.git")).expect("removed");
    outer.write("inner/.git", "gitdir: /nowhere/at/all\n");
    let error = Store::discover(&outer.path("inner"), &Environment::default())
        .err()
        .expect("damaged");
    assert_eq!(error.class(), Class::Fault, "{error}");
    fs::remove_file(outer.path("inner/.git")).expect("removed");
    std::os::unix::fs::symlink("nowhere", outer.path("inner/.git")).expect("a link");
    let error = Store::discover(&outer.path("inner"), &Environment::default())
        .err()
        .expect("damaged");
    assert!(
        error.to_string().contains("inner/.git: No such file"),
        "{error}"
    );
}

#[test]
fn a_search_ends_at_the_ceiling() {
    let repo = Repo::new();
    repo.write("a/b/x", "");
    fs::remove_file(repo.path(".git/HEAD")).expect("removed");
    let ceiling = repo.home.path().to_string_lossy().into_owned();
    let list = format!("relative:{ceiling}");
    let environment =
        Environment::read(|name| (name == "GIT_CEILING_DIRECTORIES").then(|| list.clone()));
    let start = repo.path("a/b").canonicalize().expect("a path");
    assert!(
        Store::discover(&start, &environment)
            .expect("nothing is wrong")
            .is_none()
    );
    // Except for the directory where the search begins.
    let start = repo.home.path().canonicalize().expect("a path");
    assert!(Store::discover(&start, &environment).is_err());
}

#[test]
fn a_branch_that_cannot_be_read_is_no_missing_one() {
    let repo = Repo::new();
    assert_eq!(
        repo.store().refs().head().expect("an unborn branch").commit,
        None
    );
    repo.write(".git/refs/heads/main", "garbage\n");
    repo.store().refs().head().expect_err("damaged");
}
