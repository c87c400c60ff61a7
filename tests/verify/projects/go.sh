# Go: there is no report, so that the exit code is all that tells. Two packages.

make_project() {
    has go || return $no_tools
    mkdir -p more
    printf 'module example.org/p\n\ngo 1.19\n' >go.mod
    printf 'package p\n\nfunc Sum(a, b int) int { return a + b }\n' >sum.go
    printf 'package p\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {\n\tif Sum(1, 1) != 2 {\n\t\tt.Fatal("no")\n\t}\n}\n' >sum_test.go
    printf 'package more\n\nimport "testing"\n\nfunc TestHolds(t *testing.T) {}\n' >more/more_test.go
    in_place=(go test -count=1 ./...)
    begin <<'X'
[verify.tests]
command = ["go", "test", "-count=1", "./..."]
protect = ["**/*_test.go", "**/testdata/**"]
X
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(none) changed=sum.go comment='//'

# Tests that take two seconds.
heavier() {
    printf 'package more\n\nimport (\n\t"testing"\n\t"time"\n)\n\nfunc TestWaits(t *testing.T) { time.Sleep(2 * time.Second) }\n' >more/waits_test.go
}

cases() {
    says 'one of the packages does not compile' 'failed: exit' <<<'echo "func (" >>more/more_test.go'
    says 'vet finds a mistake' 'failed: exit' <<'X'
printf '\nfunc TestShows(t *testing.T) { t.Logf("%%d", "text") }\n' >>more/more_test.go
X
    says 'a test ends the process well' 'failed: exit' <<<"printf 'package p\n\nimport (\n\"os\"\n\"testing\"\n)\n\nfunc TestEnds(t *testing.T) { os.Exit(0) }\n' >ends_test.go"
    says 'a goroutine panics after a test that passed' 'failed: exit' <<'X'
printf 'package p\n\nimport (\n"testing"\n"time"\n)\n\nfunc TestStarts(t *testing.T) { go func() { panic("late") }() }\nfunc TestWaits(t *testing.T) { time.Sleep(time.Second) }\n' >late_test.go
X
    says 'a dependency is missing' 'failed: exit' <<<'printf "package p\n\nimport _ \"example.org/none\"\n" >none.go'
    says_with 'a test fails, and the environment hides it' 'failed: exit' '' GOFLAGS=-run=none GOFLAGS=-exec=true <<<"sed -i 's/a + b/a - b/' sum.go"
    says_of_task 'a test is skipped' 'passed; base failed: exit' 'only the exit code tells' <<'X'
sed -i 's/a + b/a - b/' sum.go
sed -i '/t.Fatal/s/Fatal/Skip/' sum_test.go
X
    says_of_task 'the process ends before the tests' 'passed; base failed: exit' 'only the exit code tells' <<'X'
sed -i 's/a + b/a - b/' sum.go
printf 'package p\n\nimport (\n"os"\n"testing"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n' >main_test.go
X
}
