#!/usr/bin/env bash
# Real projects, each verified by its real runner. Most of their runs fail in ways that their reports hide, or pass because
# somebody has hidden tests: none of them may come out as passed.
#
#   tests/verify/run.sh [PROJECT...]
#
# Without names: all of tests/verify/projects. A project whose tools are not here, or cannot be downloaded, is skipped, and
# that is said. With ORCH_TESTS_NEED_ALL, a named project whose tools are not here is a failure.

# shellcheck source=tests/verify/common.sh
source "$(dirname "$0")/common.sh"

named=$*
all=$(cd "$here/projects" && printf '%s\n' *.sh | sed 's/\.sh$//')
for project in ${named:-$all}; do
    mkdir -p "$place/$project"
    cd "$place/$project"
    # shellcheck source=/dev/null
    source "$here/projects/$project.sh"
    code=0
    before=$played
    begun=$(date +%s)
    make_project || code=$?
    case $code in
    0)
        says 'nothing is wrong' 'passed' <<<''
        cases
        says 'nothing is wrong in the end' 'passed' <<<''
        echo "$project: $((played - before)) runs, $(($(date +%s) - begun)) s"
        ;;
    "$no_tools")
        echo "$project: skipped: its tools are not here"
        if [ -n "$named" ] && [ -n "${ORCH_TESTS_NEED_ALL:-}" ]; then fail 'it was asked for, and its tools are not here'; fi
        ;;
    "$no_download")
        echo "$project: skipped: its tools cannot be downloaded"
        grep -m 3 -i error "$place/log" | sed 's/^/    /' || true
        ;;
    *) fail "the script ended with $code" ;;
    esac
done
[ "$failures" = 0 ]
