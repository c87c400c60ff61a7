#!/usr/bin/env bash
# How long verifications take beside the same commands in the work tree, measured in turn in one run.
#
#   tests/verify/figures.sh [PROJECT...]
#
# Prints a line for each figure: what is measured, its yardstick, and whether it is met. Cold, warm and with one file changed
# may take 1.15 times as long as in place, and three times `git status` more; a setup whose key stands twice `orch suggest`;
# switching and cleaning what `git checkout` of the same difference and `git clean` take. Ends with 1 if one is missed.

# shellcheck source=tests/verify/common.sh
source "$(dirname "$0")/common.sh"
rounds=${ROUNDS:-5}

# clock NAME COMMAND...: adds the microseconds that the command takes to the times of that name.
clock() {
    local name=$1 begun
    shift
    begun=$EPOCHREALTIME
    "$@" >"$place/log" 2>&1 || fail "$name: $* ended with $?: $(tail -3 "$place/log")"
    echo $((${EPOCHREALTIME//[.,]/} - ${begun//[.,]/})) >>"$place/times-$name"
}

# median NAME: of the times of that name, in microseconds.
median() { sort -n "$place/times-$1" | sed -n "$(((rounds + 1) / 2))p"; }

# figure WHAT TAKEN YARDSTICK TARGET: prints a line; microseconds.
figure() {
    local is=met
    if [ "$2" -gt "$4" ]; then
        is=MISSED
        failures=$((failures + 1))
    fi
    printf '%-36s %9.1f ms  beside %9.1f ms, target %9.1f ms: %s\n' "$1" "$(ms "$2")" "$(ms "$3")" "$(ms "$4")" "$is"
}

ms() { echo "$(($1 / 1000)).$(($1 % 1000 / 100))"; }

# Another line in a file, committed.
edit() {
    edits=$((edits + 1))
    echo "$comment $edits" >>"$changed"
    git commit -qam "edit $edits"
}

cold_in_place() {
    rm -rf "${kept[@]}"
    "${setup[@]}"
    "${in_place[@]}"
}

# The figures of a project. Its file names what it `kept`, which goes where it has to be cold and comes back by `setup`; and
# a file that is `changed` by one `comment` more.
of_project() {
    local kind edits=0
    rm -f "$place"/times-*
    for ((round = 0; round < rounds; round++)); do
        clock cold cold_in_place
        clock cold-verified "$orch" verify --fresh
        clock warm "${in_place[@]}"
        clock warm-verified "$orch" verify
        edit
        clock changed "${in_place[@]}"
        clock changed-verified "$orch" verify
        clock status git status --porcelain
    done
    for kind in cold warm changed; do
        figure "$project, $kind" "$(median $kind-verified)" "$(median $kind)" $(($(median $kind) * 115 / 100 + 3 * $(median status)))
    done
}

# The figures of orch itself, in a project of 1,000 files with commands that do nothing.
of_orch() {
    local number
    rm -f "$place"/times-*
    for ((number = 0; number < 1000; number++)); do
        mkdir -p "d$((number % 20))"
        echo "$number" >"d$((number % 20))/f$number"
    done
    begin <<'X'
[verify.plain]
command = ["true"]

[verify.set]
command = ["true"]
setup = ["mkdir", "-p", "made"]
setup_key = ["d1/**"]
keep = ["/made"]
X
    git branch -q other
    git switch -q other
    sed -i 's/$/ changed/' d[0-4]/*
    git commit -qam other
    git switch -q work
    "$orch" verify >"$place/log" 2>&1
    for ((round = 0; round < rounds; round++)); do
        clock suggest "$orch" suggest t
        clock plain "$orch" verify plain
        clock set "$orch" verify set
        touch stray
        clock checkout sh -c 'git checkout -q other && git clean -ffdxq'
        clock switched "$orch" verify plain
        git checkout -q work
        "$orch" verify plain >"$place/log" 2>&1
    done
    echo "a verification of a command that does nothing: $(ms "$(median plain)") ms, orch suggest: $(ms "$(median suggest)") ms"
    figure 'a setup whose key stands' $(($(median set) - $(median plain))) "$(median suggest)" $((2 * $(median suggest)))
    figure 'switching 250 of 1,000 files' $(($(median switched) - $(median plain))) "$(median checkout)" "$(median checkout)"
}

for project in ${*:-orch cargo nextest jest vitest node pytest cmake go maven}; do
    mkdir -p "$place/$project"
    cd "$place/$project"
    if [ "$project" = orch ]; then
        of_orch
        continue
    fi
    setup=(true)
    # shellcheck source=/dev/null
    source "$here/projects/$project.sh"
    code=0
    make_project || code=$?
    if [ "$code" != 0 ]; then
        echo "$project: skipped: its tools are not here, or cannot be downloaded"
        continue
    fi
    heavier
    git add -A
    git commit -q --allow-empty -m 'more tests'
    of_project
done
[ "$failures" = 0 ]
