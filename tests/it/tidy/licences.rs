//! Every crate in `Cargo.lock` has a licence that `deny.toml` allows, and is there once, or twice with a reason.
//!
//! `cargo deny check` asks the same and more; this needs no other program.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// A crate of the workspace or of a registry.
struct Package {
    name: String,
    version: String,
    licence: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What is compiled for this machine with every feature, tests included.
#[expect(clippy::disallowed_methods, reason = "cargo knows what is compiled")]
fn packages() -> Vec<Package> {
    let arguments = ["metadata", "--format-version", "1", "--locked"];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args([
            "--all-features",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut packages = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        packages.push(Package {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: text(&package["license"]),
        });
    }
    packages
}

/// Whether one of the licences that an SPDX expression offers is among the allowed ones.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // Some crates still write the slash of old manifests.
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    expression.split(" AND ").all(|all| {
        all.split(" OR ")
            .any(|licence| allowed.contains(licence.trim()))
    })
}

#[test]
fn every_crate_is_under_an_allowed_licence_and_there_once() {
    let rules: toml::Value = toml::from_str(
        &std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deny.toml"))
            .expect("deny.toml"),
    )
    .expect("TOML");
    let allowed: BTreeSet<String> = rules["licenses"]["allow"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|licence| licence.as_str().unwrap_or_default().to_owned())
        .collect();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages() {
        assert!(
            is_allowed(&package.licence, &allowed),
            "`{}` is under `{}`, which deny.toml does not allow",
            package.name,
            package.licence
        );
        versions
            .entry(package.name)
            .or_default()
            .push(package.version);
    }
    let skipped: Vec<&str> = rules["bans"]["skip"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|skip| skip["crate"].as_str())
        .collect();
    for (name, versions) in versions {
        let is_skipped = |version: &&String| {
            skipped.iter().any(|skip| {
                let (skipped, of) = skip.split_once('@').unwrap_or((skip, ""));
                skipped == name && version.starts_with(of)
            })
        };
        let kept: Vec<&String> = versions.iter().filter(|one| !is_skipped(one)).collect();
        assert!(
            kept.len() <= 1,
            "`{name}` is there in several versions without a reason in deny.toml: {kept:?}"
        );
    }
}

#[test]
fn an_expression_is_allowed_by_one_of_its_choices() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "ISC".to_owned()]);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("Unlicense/MIT", true),
        ("(MIT OR Apache-2.0) AND ISC", true),
        ("MIT AND GPL-3.0", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}
