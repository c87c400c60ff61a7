#!/bin/sh
# An executor: does its work with one program, then tries what it may not do.
#
#   in-fence.sh PROGRAM

set -eu
prompt=$(cat)
[ -n "$prompt" ]

case $1 in
    git | linked)
        echo x > a
        git add a
        git commit -q -m "One" -m "Orch-Task: t"
        echo y > a
        git commit -q -a -m "Two" -m "Orch-Task: t"
        git commit -q --amend -m "Two again" -m "Orch-Task: t"
        git stash list
        git tag made
        git branch beside
        [ "$(wc -l < hooked)" = 3 ] || { echo "the hook ran otherwise: $(cat hooked)"; exit 1; }
        ;;
    cargo)
        mkdir -p src
        printf '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
        echo 'fn main() {} #[test] fn it() { std::fs::write(std::env::temp_dir().join("x"), "x").unwrap(); }' > src/main.rs
        cargo build --offline --quiet
        cargo test --offline --quiet
        ;;
    npm)
        printf '%s\n' '{"name": "tiny", "version": "1.0.0", "scripts": {"test": "node test.js"}, "dependencies": {"other": "file:other"}}' > package.json
        printf '%s\n' 'const { mkdtempSync } = require("node:fs"), { tmpdir } = require("node:os"); mkdtempSync(tmpdir() + "/x");' > test.js
        mkdir -p other
        echo '{"name": "other", "version": "1.0.0"}' > other/package.json
        npm install --offline --no-audit --no-fund --loglevel=error
        npm test
        ;;
    pytest)
        printf 'import multiprocessing, os\ndef test_it(tmp_path):\n    (tmp_path / "x").write_text("x")\n    assert multiprocessing.Lock()\n    assert os.openpty()\n' > test_it.py
        python3 -m pytest -q
        ;;
    editor)
        echo old > text
        if command -v vim; then
            vim -e -s -u NONE -c '%s/old/new/' -c 'wq' text
        elif command -v ed; then
            printf '%%s/old/new/\nwq\n' | ed -s text
        else
            echo "only an editor that needs a terminal"
            echo new > text
        fi
        [ "$(cat text)" = new ]
        ;;
esac

try() {
    if (eval "$1") > "$TMPDIR/out" 2>&1; then
        echo "WRITTEN: $1"
    fi
}
try 'echo x >> orch.toml'
try 'echo x > new && mv new orch.toml'
try 'rm orch.toml'
try 'echo x > system/x'
try 'mv system elsewhere'
try 'echo x >> tasks/t/state.json'
try 'rm tasks/t/transcript.jsonl'
try 'echo x > tasks/t/x'
try 'mkdir tasks/u'
try 'mkdir tasks/t/accept'
try 'mv tasks others'
try 'git config a.b c'
try 'echo x > "$(git rev-parse --git-path hooks)/post-commit"'
try 'mv .git elsewhere'
try 'echo x > "$HOME/x"'
try 'echo x > ../x'
try 'git switch -q -c another'
try 'git rebase -q --no-ff HEAD~1'
try 'git reset -q --soft HEAD~4'
try 'git update-ref -d HEAD'
try 'mount -o remount,rw,bind "$PWD/orch.toml"'
try 'umount "$PWD/orch.toml"'
try 'unshare -Urm sh -c "umount $PWD/orch.toml || mount -o remount,rw,bind $PWD/orch.toml"'
try 'nsenter -t $PPID -m true'
try 'ls /proc/$PPID/root/'
try 'chroot /proc/1/root true'
try 'sudo -n true'
echo "inside: all is well"
