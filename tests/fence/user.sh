#!/bin/sh
# Plays programs inside the fence as one user.
#
#   user.sh PLACE HOME PROGRAM...

set -eu
place=$1
home=$2
shift 2
cd "$home"
git config --global user.name Ann
git config --global user.email ann@example.org
git config --global init.defaultBranch main
mkdir -p .cache .npm
orch init > init.log 2>&1 || true
failed=0

for program in "$@"; do
    case $program in
        git | linked) needs=git ;;
        pytest) needs=python3 ;;
        editor) needs=$(command -v vim || command -v nano || command -v ed || echo "an editor") ;;
        cargo) needs=rustc ;;
        *) needs=$program ;;
    esac
    if ! command -v "$needs" > which.log || { [ "$program" = pytest ] && ! python3 -c 'import pytest' 2> which.log; }; then
        echo "  skipped: there is no $program"
        continue
    fi
    git init -q "$program"
    cd "$program"
    {
        orch init -q
        cp "$place/w.md" system/workflows/w.md
        printf '[[root]]\npath = "tasks/*"\nworkflow = "w"\n' > orch.toml
        git add -A
        git commit -q -m "Set up"
        printf '#!/bin/sh\necho hooked >> hooked\n' > .git/hooks/post-commit
        chmod 755 .git/hooks/post-commit
        if [ "$program" = linked ]; then
            git worktree add -q ../linked-tree -b linked
            cd ../linked-tree
        fi
        orch new t
    } > ../setup.log 2>&1
    orch run t --auto --max-turns 1 -- "$place/in-fence.sh" "$program" > ../run.log 2>&1 || true
    if grep -q "code: no-fence\|there is none: " ../run.log; then
        sed -n 's/^error: \(.*there is none.*\)/  skipped: \1/p' ../run.log
        exit 0
    fi
    if grep -q "^  inside: all is well$" ../run.log && ! grep -q "^  WRITTEN" ../run.log; then
        echo "  $program: ok"
    else
        echo "  $program: FAILED"
        sed 's/^/    /' ../run.log
        failed=1
    fi
    cd "$home"
done
exit "$failed"
