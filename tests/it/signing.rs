//! Who commits, and signed commits, as git itself says it.

use crate::harness::{Ended, World, eventually, executable, missing};
use orch_base::Digest;
use orch_git::{Environment, Signature, Store};
use std::fs;
use std::process::Command;

/// Runs `orch` with this environment in place of the names and dates that the harness gives.
fn orch_as(world: &World, variables: Variables<'_>, arguments: &[&str]) -> Ended {
    let mut command = world.orch_command(arguments);
    for name in ["AUTHOR", "COMMITTER"] {
        for field in ["NAME", "EMAIL", "DATE"] {
            command.env_remove(format!("GIT_{name}_{field}"));
        }
    }
    command.envs(variables.iter().copied());
    world.end(command.output().expect("orch runs"))
}

type Variables<'a> = &'a [(&'a str, &'a str)];

fn run(mut command: Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// A repository that signs by a new ssh key, which `ann@example.com` is known by; `None` where the tests
/// are to do without.
pub fn ssh() -> Option<World> {
    let world = World::ready();
    signs_by_ssh(&world).then_some(world)
}

/// Makes a repository sign by a new ssh key; false where the tests are to do without.
pub fn signs_by_ssh(world: &World) -> bool {
    let key = world.path("../key");
    let mut keygen = world.command("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "ann", "-f"])
        .arg(&key);
    if !keygen.status().is_ok_and(|status| status.success()) {
        missing("ssh-keygen");
        return false;
    }
    let public = fs::read_to_string(key.with_extension("pub")).expect("a key");
    fs::write(
        world.path("../allowed"),
        format!("ann@example.com {public}"),
    )
    .expect("written");
    world.git(&["config", "gpg.format", "ssh"]);
    world.git(&["config", "user.signingKey", &key.to_string_lossy()]);
    world.git(&[
        "config",
        "gpg.ssh.allowedSignersFile",
        &world.path("../allowed").to_string_lossy(),
    ]);
    world.git(&["config", "commit.gpgSign", "true"]);
    true
}

/// How git judges the signatures of the newest commits, newest first.
fn judged(world: &World, count: usize) -> String {
    world
        .git(&["log", &format!("-{count}"), "--format=%G?%GS"])
        .replace('\n', " ")
        .trim_end()
        .to_owned()
}

fn head(world: &World) -> Digest {
    Digest::parse(world.git(&["rev-parse", "HEAD"]).trim()).expect("a commit")
}

fn store(world: &World) -> Store {
    Store::discover(&world.root(), &Environment::default())
        .expect("opened")
        .expect("a repository")
}

#[test]
fn every_commit_of_a_batch_is_signed_by_ssh() {
    let Some(world) = ssh() else { return };
    for task in ["t", "u"] {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    world.plan_review_of("u", true, 1);
    world.patch("u", 1);
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(world.phase("t"), "plan_review");
    assert_eq!(world.phase("u"), "review");
    let good = "Gann@example.com";
    assert_eq!(judged(&world, 5), format!("{good} {good} {good} {good} N"));
    assert_eq!(world.dirty(), "");
    assert_eq!(world.git(&["fsck", "--strict"]), "");
    let message = world.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with("orch(u): planning -> review\n\n"),
        "{message}"
    );
    assert!(message.contains("\nOrch-Rule: "), "{message}");
}

#[test]
fn keys_are_named_in_every_way_that_git_knows() {
    let Some(world) = ssh() else { return };
    let agent = world.path("../agent.sh");
    let key = world.path("../key");
    let public = fs::read_to_string(key.with_extension("pub")).expect("a key");
    let literal = format!("key::{}", public.trim());
    // A literal key is signed with by an agent; this program stands for one that knows the file.
    let program = format!(
        "#!/bin/sh\nfor word; do case $word in -U) continue;; esac; set -- \"$@\" \"$word\"; shift; done\n\
         case \" $* \" in *\" sign \"*) for last; do :; done; exec ssh-keygen -q -Y sign -n git -f '{}' \"$last\";; esac\n\
         exec ssh-keygen \"$@\"\n",
        key.display()
    );
    fs::write(&agent, program).expect("written");
    executable(&agent);
    world.git(&["config", "gpg.ssh.program", &agent.to_string_lossy()]);
    world.orch(&["new", "file"]).succeeds();
    world.git(&["config", "user.signingKey", &literal]);
    world.orch(&["new", "literal"]).succeeds();
    world.git(&["config", "--unset", "user.signingKey"]);
    world.git(&[
        "config",
        "gpg.ssh.defaultKeyCommand",
        &format!("echo {literal}"),
    ]);
    world.orch(&["new", "command"]).succeeds();
    assert_eq!(judged(&world, 3), ["Gann@example.com"; 3].join(" "));
}

/// A person who is asked for a passphrase takes as long as it takes.
#[test]
fn others_commit_while_a_signature_is_waited_for() {
    let Some(world) = ssh() else { return };
    for task in ["slow", "quick"] {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    let program = world.path("../sign.sh");
    fs::write(
        &program,
        "#!/bin/sh\nfor last; do :; done\nif grep -q 'orch(slow)' \"$last\"; then\n\
         touch ../asked; while [ ! -e ../answered ]; do sleep 0.02; done\nfi\n\
         exec ssh-keygen \"$@\"\n",
    )
    .expect("written");
    executable(&program);
    world.git(&["config", "gpg.ssh.program", &program.to_string_lossy()]);
    let slow = world.orch_spawn(&["next", "slow"]);
    eventually("the signature is asked for", || {
        world.path("../asked").exists()
    });
    world
        .orch(&["next", "quick"])
        .succeeds()
        .says("planning -> plan_review");
    fs::write(world.path("../answered"), "").expect("written");
    let ended = world.end(slow.wait_with_output().expect("it ends"));
    ended.succeeds().says("planning -> plan_review");
    let good = "Gann@example.com";
    assert_eq!(judged(&world, 2), format!("{good} {good}"));
    assert_eq!(world.phase("slow"), "plan_review");
    assert_eq!(world.phase("quick"), "plan_review");
    assert_eq!(world.dirty(), "");
    world.orch(&["audit"]).succeeds();
}

/// A repository with a plan, whose signing program does this first, and counts how often it was asked.
fn signs_after(deed: &str) -> Option<World> {
    let world = ssh()?;
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    let program = world.path("../sign.sh");
    let text = format!("#!/bin/sh\necho asked >> ../asked\n{deed}\nexec ssh-keygen \"$@\"\n");
    fs::write(&program, text).expect("written");
    executable(&program);
    world.git(&["config", "gpg.ssh.program", &program.to_string_lossy()]);
    Some(world)
}

/// How often the signing program was asked.
fn asked(world: &World) -> usize {
    let asked = fs::read_to_string(world.path("../asked"));
    asked.expect("it was").lines().count()
}

/// No lock keeps `git gc --prune=now` away while a signature is waited for.
#[test]
fn objects_that_were_collected_while_a_signature_was_waited_for_are_made_again() {
    let prune = "[ -e ../pruned ] || { touch ../pruned; git prune --expire=now; }";
    let Some(world) = signs_after(prune) else {
        return;
    };
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("planning -> plan_review");
    assert_eq!(asked(&world), 2);
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
    assert_eq!(world.dirty(), "");
}

/// A person who has touched a key is not asked again because a git command was at work.
#[test]
fn a_signature_outlasts_a_git_command() {
    let stage = ": > .git/index.lock; (sleep 0.3; rm .git/index.lock) > ../staged 2>&1 &";
    let Some(world) = signs_after(stage) else {
        return;
    };
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("planning -> plan_review");
    assert_eq!(asked(&world), 1);
    assert_eq!(world.dirty(), "");
}

#[test]
fn what_cannot_be_signed_is_told_whoever_commits_meanwhile() {
    let Some(world) = ssh() else { return };
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    let program = world.path("../sign.sh");
    fs::write(
        &program,
        "#!/bin/sh\nflock .git/orch/lock sh -c 'touch ../held; sleep 3' > /dev/null 2>&1 &\n\
         while [ ! -e ../held ]; do sleep 0.02; done\necho no key >&2\nexit 1\n",
    )
    .expect("written");
    executable(&program);
    world.git(&["config", "gpg.ssh.program", &program.to_string_lossy()]);
    world
        .orch(&["next", "t", "--wait", "0s"])
        .ends(5)
        .reports("cannot sign the commit");
}

#[test]
fn what_cannot_be_signed_is_not_committed() {
    let Some(world) = ssh() else { return };
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    let before = (
        world.git(&["rev-parse", "HEAD"]),
        world.dirty(),
        world.read("tasks/t/state.json"),
    );
    world.git(&["config", "user.signingKey", "/no/such/key"]);
    let refused = world
        .orch(&["next", "t"])
        .ends(5)
        .reports("cannot sign the commit: ");
    assert!(
        refused.stderr.contains("/no/such/key")
            && refused.stderr.contains("hint: check user.signingKey")
    );
    assert_eq!(
        world.orch_json(&["next", "t"])["error"]["code"],
        "signing-failed"
    );
    world.orch(&["watch", "--once"]).ends(5);
    for wrong in [
        ["gpg.format", "wax"],
        ["gpg.ssh.program", "/no/such/program"],
    ] {
        world.git(&["config", wrong[0], wrong[1]]);
        world
            .orch(&["next", "t"])
            .ends(5)
            .reports("cannot sign the commit: ");
        world.git(&["config", "gpg.format", "ssh"]);
    }
    let after = (
        world.git(&["rev-parse", "HEAD"]),
        world.dirty(),
        world.read("tasks/t/state.json"),
    );
    assert_eq!(after, before);
    assert!(
        !world.path(".git/index.lock").exists() && !world.path(".git/orch/journal.json").exists()
    );
    world.git(&["config", "--unset", "gpg.ssh.program"]);
    world.git(&[
        "config",
        "user.signingKey",
        &world.path("../key").to_string_lossy(),
    ]);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(judged(&world, 1), "Gann@example.com");
}

#[test]
fn a_first_commit_is_signed_and_settings_of_the_environment_count() {
    let Some(world) = ssh() else { return };
    world.git(&["switch", "-q", "--orphan", "new"]);
    world.git(&["config", "commit.gpgSign", "false"]);
    let given = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "commit.gpgsign"),
        ("GIT_CONFIG_VALUE_0", "true"),
    ];
    let mut command = world.orch_command(&["new", "t"]);
    command.envs(given);
    world.end(command.output().expect("orch runs")).succeeds();
    assert_eq!(judged(&world, 2), "Gann@example.com", "the only commit");
    world.orch(&["new", "u"]).succeeds();
    assert_eq!(judged(&world, 1), "N");
}

#[test]
fn signatures_are_told_as_git_tells_them() {
    let Some(world) = ssh() else { return };
    let unsigned = head(&world);
    world.orch(&["new", "t"]).succeeds();
    let good = head(&world);
    // The same signature over another message.
    let forged = world
        .git(&["cat-file", "commit", "HEAD"])
        .replace("the task was created", "the task was bought");
    world.write("../forged", forged);
    let forged = world.git(&["hash-object", "-t", "commit", "-w", "../forged"]);
    let forged = Digest::parse(forged.trim()).expect("a commit");
    let known = store(&world)
        .identity()
        .signatures(&[forged, unsigned, good, forged])
        .expect("told");
    let signer = "ann@example.com".to_owned();
    assert_eq!(
        known,
        [
            Signature::Bad,
            Signature::None,
            Signature::Good { signer },
            Signature::Bad
        ]
    );
    world.write("../allowed", "");
    assert_eq!(
        store(&world).identity().signatures(&[good]).expect("told"),
        [Signature::Unknown]
    );
    world.git(&["config", "--unset", "gpg.ssh.allowedSignersFile"]);
    assert_eq!(
        store(&world).identity().signatures(&[good]).expect("told"),
        [Signature::Unknown]
    );
}

/// Where people must sign, nobody acknowledges a forgery without signing, whatever he sets at the same time.
#[test]
fn an_acknowledgement_is_signed_where_orders_are() {
    let Some(world) = ssh() else { return };
    world.write("orch.toml", "[people]\norders = \"signed\"\n");
    world.commit("settings");
    world.orch(&["new", "t"]).succeeds();
    let state = world
        .read("tasks/t/state.json")
        .replace("\"phase\": \"planning\"", "\"phase\": \"done\"");
    world.write("tasks/t/state.json", state);
    world.commit("forged");
    let forged = world.git(&["rev-parse", "HEAD"]);
    world.git(&["revert", "--no-edit", "HEAD"]);
    let entry = format!(
        "\n[[acknowledged]]\nforged = \"{}\"\ntask = \"t\"\nreason = \"I know.\"\n",
        forged.trim()
    );
    for orders in ["signed", "anyone"] {
        world.write(
            "orch.toml",
            format!("[people]\norders = \"{orders}\"\n{entry}"),
        );
        world.git(&["add", "-A"]);
        world.git(&[
            "-c",
            "commit.gpgSign=false",
            "commit",
            "-q",
            "-m",
            "acknowledged",
        ]);
        world.orch(&["audit"]).ends(1);
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
    world.write(
        "orch.toml",
        format!("[people]\norders = \"signed\"\n{entry}"),
    );
    world.commit("acknowledged");
    world.orch(&["audit"]).succeeds().says("I know.");
}

#[test]
fn an_openpgp_key_signs_too() {
    let world = World::ready();
    let home = world.path("../gnupg");
    fs::create_dir(&home).expect("made");
    let gpg = |arguments: &[&str]| {
        let mut command = world.command("gpg");
        command
            .env("GNUPGHOME", &home)
            .args(["--batch", "-q"])
            .args(arguments);
        command
    };
    let made = gpg(&[
        "--passphrase",
        "",
        "--quick-gen-key",
        "Ann <ann@example.com>",
        "ed25519",
        "sign",
    ])
    .output();
    if !made.is_ok_and(|made| made.status.success()) {
        return missing("gpg");
    }
    world.git(&["config", "commit.gpgSign", "true"]);
    let in_home = |program: &str| {
        let mut command = world.command(program);
        command.env("GNUPGHOME", &home);
        command
    };
    let mut new = in_home(env!("CARGO_BIN_EXE_orch"));
    new.args(["new", "t"]);
    world.end(new.output().expect("orch runs")).succeeds();
    let mut log = in_home("git");
    log.args(["log", "-1", "--format=%G?%GS"]);
    assert_eq!(
        world.end(log.output().expect("git runs")).stdout,
        "GAnn <ann@example.com>\n"
    );
    // A program in gpg's place is asked in the same way, and its refusal is told.
    world.git(&["config", "gpg.program", "false"]);
    world.plan("t", 1);
    world
        .orch(&["next", "t"])
        .ends(5)
        .reports("gpg failed to sign the data");
    run({
        let mut kill = world.command("gpgconf");
        kill.env("GNUPGHOME", &home).args(["--kill", "all"]);
        kill
    });
}

#[test]
fn author_and_committer_are_whom_git_would_name() {
    let world = World::ready();
    let people = "--format=%an <%ae>, %cn <%ce>";
    world.git(&["config", "user.name", "Uma"]);
    world.git(&["config", "user.email", "uma@example.com"]);
    world.write("../by-dir", "[user]\n\tname = Dir\n");
    world.write("../by-branch", "[user]\n\tname = Branch\n");
    world.write("../by-remote", "[user]\n\tname = Remote\n");
    let set = |key: &'static str, value: &str| {
        world.git(&["config", key, value]);
        key
    };
    let inside = format!("includeIf.gitdir:{}/.path", world.root().display());
    let steps: [(&str, &str, Variables<'_>); 9] = [
        ("user.name", "Uma", &[]),
        (
            "user.name",
            "Uma",
            &[
                ("GIT_AUTHOR_NAME", "Al"),
                ("GIT_COMMITTER_EMAIL", "c@example.com"),
            ],
        ),
        (
            "user.name",
            "Uma",
            &[
                ("GIT_AUTHOR_DATE", "1700000000 +0200"),
                ("GIT_COMMITTER_DATE", "1700000001 -0100"),
            ],
        ),
        (inside.leak(), "../../by-dir", &[]),
        ("includeIf.onbranch:main.path", "../../by-branch", &[]),
        (
            "includeIf.hasconfig:remote.*.url:https://host/**.path",
            "../../by-remote",
            &[],
        ),
        ("remote.origin.url", "https://host/a/b", &[]),
        ("author.name", "Writer", &[]),
        (
            "committer.email",
            "committer@example.com",
            &[("GIT_AUTHOR_EMAIL", "w@example.com")],
        ),
    ];
    let mut named = std::collections::BTreeSet::new();
    for (nth, (key, value, variables)) in steps.into_iter().enumerate() {
        set(key, value);
        orch_as(&world, variables, &["new", &format!("t{nth}")]).succeeds();
        let ours = world.git(&["log", "-1", people]);
        let mut command = world.command("git");
        for name in ["AUTHOR", "COMMITTER"] {
            for field in ["NAME", "EMAIL", "DATE"] {
                command.env_remove(format!("GIT_{name}_{field}"));
            }
        }
        command.envs(variables.iter().copied()).args([
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "Mine",
        ]);
        run(command);
        assert_eq!(
            ours,
            world.git(&["log", "-1", people]),
            "{key} {variables:?}"
        );
        named.insert(ours);
        if nth == 2 {
            let dates = world.git(&["log", "-1", "--skip=1", "--format=%ad, %cd", "--date=raw"]);
            assert_eq!(dates, "1700000000 +0200, 1700000001 -0100\n");
        }
    }
    assert_eq!(
        named.len(),
        7,
        "each setting names somebody else: {named:#?}"
    );
}

#[test]
fn without_an_identity_nothing_is_committed_and_a_sign_off_is_the_committers() {
    let world = World::ready();
    let nobody = orch_as(&world, &[("EMAIL", "e@example.com")], &["new", "t"]);
    nobody
        .ends(5)
        .reports("git does not know who you are")
        .reports("git config user.name");
    world.write("orch.toml", "[git]\nsign_off = true\n");
    let names = [
        ("GIT_AUTHOR_NAME", "Al"),
        ("GIT_AUTHOR_EMAIL", "al@example.com"),
        ("GIT_COMMITTER_NAME", "Cy"),
        ("GIT_COMMITTER_EMAIL", "cy@example.com"),
    ];
    orch_as(&world, &names, &["new", "t"]).succeeds();
    let message = world.git(&[
        "log",
        "-1",
        "--format=%an %cn %(trailers:key=Signed-off-by)",
    ]);
    assert_eq!(message.trim(), "Al Cy Signed-off-by: Cy <cy@example.com>");
}

/// git drops some characters from a name. What is left must be one that a commit can hold.
#[test]
fn a_name_that_no_commit_can_hold_is_refused_with_a_hint() {
    let world = World::ready();
    world.git(&["config", "user.email", "ann@example.com"]);
    let before = world.git(&["rev-parse", "HEAD"]);
    for name in [
        "Ann\nauthor x",
        "Ann <root",
        "Ann>",
        "<>",
        "\u{1}",
        ",;",
        "\"\"",
        " ",
    ] {
        world.git(&["config", "user.name", name]);
        let refused = orch_as(&world, &[], &["new", "t"]).ends(5);
        assert!(
            refused.stderr.contains("no commit can name you")
                || refused
                    .stderr
                    .contains("no character that a commit can contain"),
            "{name:?}: {refused:?}"
        );
        refused.reports("hint: git config user.name NAME");
        let given = [("GIT_AUTHOR_NAME", "Ann"), ("GIT_COMMITTER_NAME", name)];
        orch_as(&world, &given, &["new", "t"])
            .ends(5)
            .reports("hint: git config user.name NAME");
    }
    world.git(&["config", "user.name", "Ann"]);
    world.git(&["config", "user.email", "ann@example.com\n<root>"]);
    orch_as(&world, &[], &["new", "t"])
        .ends(5)
        .reports("no commit can name you");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(
        world.git(&["fsck", "--strict"]),
        "",
        "nothing malformed is left"
    );
    assert!(!world.path("tasks/t").exists());
}
