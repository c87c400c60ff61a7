//! What makes a release and installs it. `make dist-test` installs the real files; here the installer gets small invented ones,
//! and what the scripts, settings and pages name is compared.

use crate::harness::{Ended, World, project};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use walkdir::WalkDir;

/// Makes the files of a release in `release`, and programs in `bin` that describe the machine: a new one, for Linux.
const RELEASE: &str = r#"
mkdir -p release bin
cp "$INSTALLER" release/install.sh
tree=orch-9.9.9-x86_64-linux-gnu
mkdir -p $tree/bin $tree/share/man/man1
printf '#!/bin/sh\necho orch 9.9.9\n' >$tree/bin/orch
chmod 755 $tree/bin/orch
echo page >$tree/share/man/man1/orch.1
tar -czf release/$tree.tar.gz $tree
rm -r $tree
printf '#!/bin/sh\ncase $1 in -s) echo Linux ;; *) echo x86_64 ;; esac\n' >bin/uname
printf '#!/bin/sh\necho glibc 2.41\n' >bin/getconf
chmod 755 bin/*
"#;

/// A command for lines of shell: writes the sums of the archives that are there.
const SUMS: &str =
    "sums() { (cd release && { sha256sum *.gz || shasum -a 256 *.gz; } >SHA256SUMS); }";

impl World {
    fn released() -> Self {
        let world = Self::without_git();
        let installer = project().join("packaging/install.sh");
        world.arrange(&RELEASE.replace("$INSTALLER", &installer.to_string_lossy()));
        world.arrange("sums");
        world
    }

    /// Runs lines of shell beside `release`.
    #[track_caller]
    fn arrange(&self, lines: &str) {
        let lines = format!("{SUMS}\n{lines}");
        let output = self.command("sh").args(["-ec", &lines]).output();
        self.end(output.expect("sh runs")).succeeds();
    }

    /// Starts the installer.
    fn install(&self, arguments: &[&str]) -> Ended {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let output = self
            .command("sh")
            .arg("release/install.sh")
            .args(arguments)
            .env(
                "PATH",
                format!("{}:{}", self.path("bin").display(), path.display()),
            )
            .env("TMPDIR", self.root())
            .output();
        self.end(output.expect("sh runs"))
    }

    /// The files below a directory of the user's home.
    fn at_home(&self, below: &str) -> BTreeSet<String> {
        let top = self.base().join("home").join(below);
        let entries = WalkDir::new(&top).into_iter().flatten();
        entries
            .filter(|entry| entry.file_type().is_file())
            .filter_map(|entry| {
                let path = entry.path().strip_prefix(&top).ok()?;
                Some(path.to_string_lossy().into_owned())
            })
            .collect()
    }
}

#[test]
fn the_installer_refuses_what_is_wrong_and_writes_nothing() {
    let refused: [(&str, &[&str], &str); 10] = [
        (
            "printf '#!/bin/sh\necho Darwin\n' >bin/uname",
            &[],
            "is for Linux on x86-64, and this is Darwin-Darwin",
        ),
        (
            "echo 'echo glibc 2.12' >>bin/getconf; sed -i.old 2d bin/getconf",
            &[],
            "needs glibc 2.17 or newer, and this is 2.12",
        ),
        (
            "echo 'exit 1' >bin/getconf",
            &[],
            "needs glibc 2.17 or newer, which is not here",
        ),
        (
            "head -c 100 release/*.gz >cut; mv cut release/*.gz",
            &[],
            "its sum is not that in SHA256SUMS",
        ),
        (
            "head -c 100 release/*.gz >cut; mv cut release/*.gz; sums",
            &[],
            "cannot unpack orch-9.9.9-x86_64-linux-gnu.tar.gz",
        ),
        (
            "sed 's/^......../00000000/' release/SHA256SUMS >wrong; mv wrong release/SHA256SUMS",
            &[],
            "its sum is not that in SHA256SUMS",
        ),
        ("rm release/SHA256SUMS", &[], "there is no SHA256SUMS in"),
        (
            "cp release/*.gz release/orch-8.0.0-x86_64-linux-gnu.tar.gz",
            &[],
            "there are several archives in",
        ),
        (
            "touch file",
            &["--prefix", "file/below"],
            "--prefix DIR chooses another",
        ),
        ("true", &["--unknown"], "unknown argument: --unknown"),
    ];
    let world = World::released();
    world.arrange("mkdir kept; cp -R release bin kept");
    for (change, arguments, text) in refused {
        world.arrange(&format!("rm -r release bin; cp -R kept/* .\n{change}"));
        world.install(arguments).ends(1).reports(text);
        assert_eq!(world.at_home(""), BTreeSet::new(), "{change}");
    }
    world.arrange("ls -d tmp.* 2>/dev/null && exit 1; true");
}

#[test]
fn the_installer_replaces_its_own_files_alone_and_takes_them_away() {
    let world = World::released();
    let program = ["bin/orch", "share/man/man1/orch.1", "share/orch/installed"];
    let installed = BTreeSet::from(program.map(str::to_owned));
    world
        .install(&[])
        .succeeds()
        .says("installed orch 9.9.9 in");
    assert_eq!(world.at_home(".local"), installed);

    world.arrange("echo share/man/man1/orch-gone.1 >>\"$HOME/.local/share/orch/installed\"");
    world.arrange("touch \"$HOME/.local/share/man/man1/orch-gone.1\" \"$HOME/.local/bin/other\"");
    world.install(&[]).succeeds();
    let mut others = installed.clone();
    others.insert("bin/other".to_owned());
    assert_eq!(world.at_home(".local"), others);

    world
        .install(&["--uninstall"])
        .succeeds()
        .says("removed orch from");
    assert_eq!(
        world.at_home(".local"),
        BTreeSet::from(["bin/other".to_owned()])
    );
    world
        .install(&["--uninstall"])
        .ends(1)
        .reports("has installed nothing below");

    world.arrange("cp \"$HOME/.local/bin/other\" \"$HOME/.local/bin/orch\"");
    world
        .install(&[])
        .ends(1)
        .reports("is there, and not from this script");
    let left = ["bin/orch", "bin/other"].map(str::to_owned);
    assert_eq!(world.at_home(".local"), BTreeSet::from(left));
}

fn text(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The version or tag that follows a text for the first time.
#[track_caller]
fn after(path: &str, before: &str) -> String {
    let text = text(path);
    let (_, rest) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before:?} in {path}"));
    let is_over = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.';
    rest.split(is_over).next().unwrap_or_default().to_owned()
}

/// The files of the project that a script names.
fn files_in(script: &str) -> impl Iterator<Item = &str> {
    let is_over = |c: char| !c.is_ascii_alphanumeric() && !"_./-".contains(c);
    script.split(is_over).filter(|word| {
        let begins = ["packaging/", "LICENSE-"]
            .iter()
            .any(|start| word.len() > start.len() && word.starts_with(start));
        begins || ["README.md", "CHANGELOG.md"].contains(word)
    })
}

#[test]
fn the_scripts_of_a_release_are_shell_and_name_files_that_exist() {
    let world = World::without_git();
    for (shell, script) in [
        ("sh", "install.sh"),
        ("bash", "dist.sh"),
        ("bash", "dist-test.sh"),
    ] {
        let path = project().join("packaging").join(script);
        let output = world.command(shell).arg("-n").arg(path).output();
        world.end(output.expect("a shell")).succeeds();
    }
    let (script, makefile) = (text("packaging/dist.sh"), text("Makefile"));
    let names: BTreeSet<&str> = files_in(&script).chain(files_in(&makefile)).collect();
    assert!(names.contains("packaging/install.sh"), "{names:?}");
    for name in names {
        assert!(project().join(name).is_file(), "{name} is missing");
    }
}

#[test]
fn the_versions_and_licences_of_a_release_agree() {
    let glibc = after("packaging/install.sh", "\nglibc=");
    let tag = after(
        "packaging/wheel/pyproject.toml",
        "compatibility = \"manylinux_",
    );
    assert_eq!(tag.replace('_', "."), glibc);
    assert_eq!(after("docs/install.md", "with glibc "), glibc);

    let rust = after("Cargo.toml", "rust-version = \"");
    for page in ["README.md", "docs/install.md"] {
        assert_eq!(after(page, "with Rust "), rust, "{page}");
    }
    let built = after("packaging/tools.txt", "maturin==");
    let required = after("packaging/wheel/pyproject.toml", "maturin>=");
    assert!(built.starts_with(&format!("{required}.")), "{built}");

    let list = |path: &str, keys: [&str; 2]| -> BTreeSet<String> {
        let settings: toml::Value = toml::from_str(&text(path)).expect("TOML");
        let list = settings.get(keys[0]).expect("a key");
        let list = list
            .get(keys[1])
            .unwrap_or(list)
            .as_array()
            .expect("a list");
        list.iter()
            .filter_map(|one| one.as_str())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        list("packaging/about.toml", ["accepted", ""]),
        list("deny.toml", ["licenses", "allow"])
    );
}

/// What begins a command that installs by name from a registry.
const INSTALLS: [&str; 14] = [
    "apt install ",
    "apt-get install ",
    "brew install ",
    "cargo add ",
    "cargo binstall ",
    "cargo install ",
    "npm i ",
    "npm install ",
    "npx ",
    "pip install ",
    "pipx install ",
    "uv add ",
    "uv tool install ",
    "uvx ",
];

/// The commands in a text that install something of ours by name.
fn by_name(text: &str) -> Vec<&str> {
    let begun = INSTALLS
        .iter()
        .flat_map(|start| text.match_indices(start).map(|(at, _)| &text[at..]));
    let commands = begun.map(|rest| rest.split(['`', '|', '\n']).next().unwrap_or_default());
    let is_ours = |word: &str| {
        let name = word.split(['=', '@', '[', ',', ';']).next();
        name.is_some_and(|name| ["orch", "orch-agent", "orch_agent"].contains(&name))
    };
    commands
        .filter(|command| !command.contains("--path") && command.split_whitespace().any(is_ours))
        .collect()
}

fn pages(directory: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(fs::read_to_string(&path).expect("a page"));
        }
    }
}

#[test]
fn no_page_installs_from_a_registry_a_name_that_is_not_ours() {
    for (page, wrong) in [
        ("Run `cargo install orch-agent`.", 1),
        ("pip install --user orch-agent==0.1.0\n", 1),
        ("npx orch", 1),
        ("brew install orch", 1),
        (
            "`pip install ./orch_agent-0.1.0.whl` and `cargo install --path . orch`",
            0,
        ),
        ("npm install -g @openai/codex", 0),
    ] {
        assert_eq!(by_name(page).len(), wrong, "{page}");
    }
    let mut texts = vec![
        text("README.md"),
        text("CHANGELOG.md"),
        text("SECURITY.md"),
        text("action.yml"),
    ];
    pages(&project().join("docs"), &mut texts);
    pages(&project().join("system"), &mut texts);
    for name in ["github.yml", "gitlab.yml"] {
        texts.push(text(&format!("ci/{name}")));
    }
    for page in texts {
        assert_eq!(by_name(&page), Vec::<&str>::new());
    }
}
