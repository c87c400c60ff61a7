//! What recovering a record with an older program drops: the events of the version that it does not know.

use super::records::{LOG, relinked, tell_lines};
use super::{last, uncommit};
use crate::harness::{World, started};

/// A task whose first steps a program of the first version recorded, and whose later ones this one did; and the log of the
/// first steps, which is what the other program leaves of it.
fn of_two_versions() -> (World, String) {
    let world = started("plan_review");
    let first = of_first_version(&world.read(LOG));
    tell_lines(&world, &first);
    world.git(&["reset", "-q", "--soft", "HEAD~2"]);
    world.commit("Steps of the first version");
    last(&world, "folded");
    world.walk_to_from("t", "plan_review", "review");
    (world, first)
}

/// These events as the first version recorded them.
fn of_first_version(lines: &str) -> String {
    relinked(lines, |_, event| {
        for member in ["v", "files"] {
            event
                .as_object_mut()
                .expect("an object")
                .shift_remove(member);
        }
        let changes = event["changes"].as_array_mut().expect("a list");
        changes.retain(|change| {
            !change["path"]
                .as_str()
                .expect("a path")
                .ends_with("/judged")
        });
    })
}

fn head(world: &World) -> String {
    world.git(&["rev-parse", "HEAD"])[..10].to_owned()
}

#[test]
fn events_that_an_older_orch_drops_are_named_with_the_commit_that_has_them() {
    let (world, first) = of_two_versions();
    let whole = head(&world);
    let has_them = format!("and 1 more, which {whole} has; an older `orch recover` drops");
    world
        .orch(&["doctor"])
        .succeeds()
        .says("1 task; 1 log of version 1 and 4");
    tell_lines(&world, &first);
    world
        .orch(&["check"])
        .ends(1)
        .says("lost events that are in HEAD: advance to codegen");
    world.git(&["add", "-A"]);
    world
        .orch(&["check", "--staged"])
        .ends(1)
        .says(&has_them)
        .says("error[transcript-cut]");
    world.commit("recovered");
    let change = last(&world, "unverifiable");
    assert!(
        change["why"].as_str().expect("why").contains(&has_them),
        "{change:#}"
    );
    world.orch(&["audit", "--strict"]).ends(1);
    for check in [
        &["check"][..],
        &["check", "--commit", "HEAD"],
        &["check", "--range", "HEAD~1..HEAD"],
    ] {
        world
            .orch(check)
            .ends(1)
            .says(&has_them)
            .says("error[transcript-cut]");
    }
    world
        .orch(&["doctor"])
        .ends(1)
        .says("1 task; 1 log of version 1\n")
        .says(&has_them);
    // Commits of others change nothing about it.
    world.write("src/a.rs", "1\n");
    world.commit("code");
    world.orch(&["check"]).ends(1).says(&has_them);
    let cut = world.git(&["rev-parse", "HEAD~1"]);
    world.git(&["revert", "--no-edit", "HEAD~1"]);
    last(&world, "folded");
    world.orch(&["check"]).succeeds();
    // It stays in the history, so whoever has put the events back acknowledges it.
    let range = format!("{whole}..HEAD");
    world
        .orch(&["check", "--range", &range])
        .ends(1)
        .says(&has_them);
    let known = format!(
        "\n[[acknowledged]]\nforged = \"{}\"\ntask = \"t\"\nreason = \"an old orch\"\n",
        cut.trim()
    );
    world.write("orch.toml", world.read("orch.toml") + &known);
    world.commit("acknowledged");
    world.orch(&["check", "--range", &range]).succeeds();
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    last(&world, "proven");
}

#[test]
fn they_are_named_where_the_older_orch_went_on() {
    let (world, first) = of_two_versions();
    let whole = head(&world);
    let three: String = world.read(LOG).split_inclusive('\n').take(3).collect();
    let later = relinked(&of_first_version(&three), |at, event| {
        if at == 2 {
            event["at"] = "2030-01-01T00:00:00Z".into();
        }
    });
    assert!(later.starts_with(&first));
    tell_lines(&world, &later);
    world.commit("recovered, and one step further");
    let change = last(&world, "unverifiable");
    let why = change["why"].as_str().expect("why");
    assert!(
        why.starts_with("after going back to") && why.contains(&format!("which {whole} has")),
        "{change:#}"
    );
    for check in [&["check"][..], &["check", "--range", "HEAD~1..HEAD"]] {
        world
            .orch(check)
            .ends(1)
            .says(&format!("which {whole} has"));
    }
    uncommit(&world);
    world
        .orch(&["check", "--staged"])
        .ends(1)
        .says(&format!("which {whole} has"));
}

#[test]
fn a_revert_of_the_first_step_of_a_later_version_is_no_loss() {
    let (world, _) = of_two_versions();
    world.git(&["revert", "--no-edit", "HEAD"]);
    world.git(&["revert", "--no-commit", "HEAD~2"]);
    world.orch(&["check", "--staged"]).succeeds();
    world.commit("reverted");
    assert_eq!(world.phase("t"), "plan_review");
    let change = last(&world, "restored");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("without advance to codegen"),
        "{change:#}"
    );
    world.orch(&["check"]).succeeds();
    world.orch(&["check", "--range", "HEAD~1..HEAD"]).succeeds();
}

/// The first version did not say what a verdict judged: it was what its step recorded.
#[test]
fn an_approval_of_what_an_older_orch_recorded_is_held_to_the_code() {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    world.commit("some code");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.tests("t", 0, 1);
    world.orch(&["next", "t"]).succeeds();
    tell_lines(&world, &of_first_version(&world.read(LOG)));
    world.commit("as the first version recorded it");
    world.write("src/b.rs", "2\n");
    world.commit("code of others");
    world.orch(&["approve", "t", "--dry-run"]).succeeds();
    world.write("src/a.rs", "2\n");
    world.commit("a small change");
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("`code_review` and `junit` judged an earlier `patch`");
}
