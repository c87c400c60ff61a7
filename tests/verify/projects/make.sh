# make: there is no report, so that the exit code is all that tells.

make_project() {
    has make || return $no_tools
    printf '.PHONY: test\ntest:\n\tsh check.sh\n' >Makefile
    printf 'test ! -e broken\n' >check.sh
    in_place=(make test)
    begin <<'X'
[verify.tests]
command = ["make", "test"]
protect = ["check.sh"]
X
}

cases() {
    says 'the script is broken' 'failed: exit' 'exit code 2' <<<'echo if >check.sh'
    says 'the target is gone' 'failed: exit' <<<'echo "all:" >Makefile'
    says 'the process is killed' 'failed: signal' 'signal 9' <<<'echo "kill -9 \$PPID" >check.sh'
    says_with 'a test fails, and the environment hides it' 'failed: exit' '' MAKEFLAGS=n MAKEFLAGS=i MAKEFLAGS=t <<<'echo exit 1 >check.sh'
    says_of_task 'the script does not look any more' 'passed; base failed: exit' 'only the exit code tells' <<<'touch broken; echo "exit 0 # for now" >check.sh'
}
