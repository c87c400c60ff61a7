# What run.sh and figures.sh share: a place of its own for projects, and how they are made, changed and verified.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
orch=${ORCH:-$here/../../target/debug/orch}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export XDG_CACHE_HOME=$place/cache XDG_STATE_HOME=$place/state ORCH_TRUST_ONCE=1
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
failures=0
played=0

# How a project says that it cannot be played.
no_tools=9
no_download=8

has() { command -v "$1" >/dev/null 2>&1; }

fail() {
    echo "FAILED $project: $1"
    failures=$((failures + 1))
}

# begin: the first commit, with the table from standard input; and the branch `work`, with a task.
begin() {
    git init -q -b main .
    "$orch" init >"$place/log" 2>&1
    cat >>orch.toml
    git add -A
    git commit -qm "$project"
    git switch -qc work
    "$orch" new t >>"$place/log" 2>&1
}

# summary: what `orch verify --json` has said, as OUTCOME[: REASON...][, lost TEST...], and for the run with the tests of the
# base the same behind `; base `.
summary() {
    local base outcome because lost said=
    while IFS='|' read -r base outcome because lost; do
        said+=${said:+; }${base:+base }$outcome${because:+: ${because//,/ }}${lost:+, lost ${lost//,/ }}
    done < <(sed -E 's/\{"name":"tests(@base)?","outcome"/\n&/g' "$place/said" | tr -d '\r' | sed -nE \
        's/^\{"name":"tests(@base)?","outcome":"([^"]*)","because":\[([^]]*)\].*"lost":\[([^]]*)\],"flaky".*/\1|\2|\3|\4/p')
    echo "${said//\"/}"
}

# judge WHAT EXPECTED TEXT COMMAND...: what the command says of the verification, and that it says the text. EXPECTED is a
# pattern for the summary.
judge() {
    local what=$1 expected=$2 text=$3 code=0 exit=0 got
    shift 3
    "$@" --json >"$place/said" 2>"$place/told" || code=$?
    got=$(summary)
    case $got in
    *could-not-run*) exit=5 ;;
    *failed*) exit=1 ;;
    esac
    played=$((played + 1))
    # shellcheck disable=SC2053
    if [[ $got != $expected ]] || [ "$code" != "$exit" ] || ! grep -qF -- "$text" "$place/said"; then
        fail "$what: $got (exit $code), expected: $expected, and the text: $text"
        sed 's/^/    /' "$place/said" "$place/told"
        local log
        log=$(sed -nE 's/.*"log":"([^"]*)".*/\1/p' "$place/said")
        if [ -f "$log" ]; then tail -25 "$log" | sed 's/^/    | /'; fi
    fi
}

# change BRANCH WHAT: a commit on the branch, with what the shell script on standard input does.
change() {
    git checkout -qf -B case "$1"
    git clean -fdq
    (source /dev/stdin)
    git add -A
    git commit -q --allow-empty -m "$2"
}

# says WHAT EXPECTED [TEXT] <<SCRIPT: HEAD is verified after the change.
says() {
    change main "$1"
    judge "$1" "$2" "${3:-}" "$orch" verify
}

# says_of_task WHAT EXPECTED [TEXT] <<SCRIPT: the same for a task, whose tests are compared with those of the base.
says_of_task() {
    change work "$1"
    judge "$1" "$2" "${3:-}" "$orch" verify t tests
}

# says_with WHAT EXPECTED TEXT VARIABLE=VALUE... <<SCRIPT: the same as `says`, with these variables; prints which of them, each
# alone, hides the failure from the command `in_place`.
says_with() {
    local what=$1 expected=$2 text=$3 variable hiding=
    shift 3
    change main "$what"
    for variable in "$@"; do
        if env "$variable" "${in_place[@]}" >"$place/own" 2>&1; then hiding+=" ${variable%%=*}"; fi
    done
    echo "$project: in place, a failure is hidden by:${hiding:- nothing}"
    judge "$what" "$expected" "$text" env "$@" "$orch" verify
}

# A project of npm with these packages.
npm_project() {
    has npm && has node || return $no_tools
    printf '{"name":"p","version":"1.0.0","private":true}\n' >package.json
    printf 'node_modules\njunit.xml\n' >.gitignore
    timeout 300 npm install --save-dev --no-audit --no-fund --loglevel=error "$@" >"$place/log" 2>&1 || return $no_download
}

# A program of node that ends well, whatever happens.
ends_well() {
    printf "process.on('exit', () => { process.exitCode = 0; });\nprocess.exit = () => {};\n" >"$place/ends-well.cjs"
    echo "NODE_OPTIONS=--require=$place/ends-well.cjs"
}
