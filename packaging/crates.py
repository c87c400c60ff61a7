"""Completes and checks what a release says about the crates in its binary: their licences and the SBOM.

    cargo tree ... | crates.py LICENCES SBOM ROOT

Standard input names the crates that are linked, as `cargo tree --prefix none` prints them. LICENCES, from cargo-about, gets the
licences of the C libraries that crates bring along. SBOM, from cargo-cyclonedx, loses the directory ROOT of this machine; it
must be valid against the schema that CycloneDX has published. Both must name every crate.
"""

import json
import pathlib
import re
import subprocess
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

# The C sources in a crate, and the file with their licence.
C_LIBRARIES = {
    "libgit2-sys": ("libgit2", "libgit2/COPYING"),
    "libmimalloc-sys": ("mimalloc", "c_src/mimalloc/v3/LICENSE"),
    "libz-sys": ("zlib", "src/zlib/LICENSE"),
}
RULER = "=" * 80


def linked_crates(tree: str) -> set[tuple[str, str]]:
    """Name and version of each crate in the output of `cargo tree --prefix none`."""
    return set(re.findall(r"^(\S+) v(\S+)", tree, re.MULTILINE))


def c_licences() -> str:
    """The licences of the C libraries, and that of Rust's standard library, which no manifest names."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    sections = []
    for package in metadata["packages"]:
        if package["name"] in C_LIBRARIES:
            library, file = C_LIBRARIES[package["name"]]
            text = (pathlib.Path(package["manifest_path"]).parent / file).read_text()
            sections.append(f"\n{RULER}\n{library}, C sources in {package['name']}\n{'-' * 80}\n\n{text}")
    if len(sections) != len(C_LIBRARIES):
        sys.exit("crates.py: a crate with C sources is gone: correct C_LIBRARIES")
    rust = "The standard library of Rust, by The Rust Project Contributors (MIT OR Apache-2.0, as above)"
    return "".join([*sections, f"\n{RULER}\n{rust}\n"])


def missing(crates: set[tuple[str, str]], named: set[tuple[str, str]], where: str) -> None:
    """Ends with the crates that are linked and not named."""
    if crates - named:
        absent = ", ".join(f"{name} {version}" for name, version in sorted(crates - named))
        sys.exit(f"crates.py: {where} does not name {absent}")


def main() -> None:
    licences, sbom, root = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    crates = linked_crates(sys.stdin.read())
    if len(crates) < 2:
        sys.exit("crates.py: cargo names no crates")

    text = licences.read_text()
    missing(crates, set(re.findall(r"^  (\S+) (\d\S*)", text, re.MULTILINE)), licences.name)
    licences.write_text(text + c_licences())

    text = sbom.read_text().replace(f"file://{root}", "file://.")
    invalid = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if invalid:
        sys.exit(f"crates.py: {sbom.name} is not valid: {invalid}")
    bill = json.loads(text)
    components = [bill["metadata"]["component"], *bill["components"]]
    missing(crates, {(component["name"], component["version"]) for component in components}, sbom.name)
    sbom.write_text(text)


main()
