# CMake with CTest: two programs, each a test.

make_project() {
    has cmake && has ctest && has cc || return $no_tools
    printf 'cmake_minimum_required(VERSION 3.21)\nproject(p C)\nadd_executable(sum sum.c)\nadd_executable(zero zero.c)\ninclude(tests/tests.cmake)\n' >CMakeLists.txt
    mkdir tests
    printf 'enable_testing()\nadd_test(NAME adds COMMAND sum)\nadd_test(NAME is_zero COMMAND zero)\n' >tests/tests.cmake
    printf 'int main(void) { return 1 + 1 - 2; }\n' >sum.c
    printf 'int main(void) { return 0; }\n' >zero.c
    printf 'build\n' >.gitignore
    in_place=(sh -c 'cmake -S . -B build && cmake --build build && ctest --test-dir build --output-junit junit.xml')
    begin <<'X'
[verify.tests]
commands = [["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"], ["ctest", "--test-dir", "build", "--output-junit", "junit.xml"]]
report = ["build/junit.xml"]
keep = ["/build"]
protect = ["tests/**"]
X
    # The user has built what is good.
    "${in_place[@]}" >"$place/log" 2>&1
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(build) changed=sum.c comment='//'

# So many programs that building them takes seconds.
heavier() {
    local number
    for ((number = 0; number < 60; number++)); do
        cp zero.c "zero$number.c"
        printf 'add_executable(zero%d zero%d.c)\n' $number $number >>CMakeLists.txt
        printf 'add_test(NAME is_zero_%d COMMAND zero%d)\n' $number $number >>tests/tests.cmake
    done
}

cases() {
    says 'it does not compile, beside the programs and the report of the last run' 'failed: exit no-report' <<<'echo "int main(" >sum.c'
    says 'a program is missing' 'failed: exit failures' adds <<<'sed -i "s/COMMAND sum/COMMAND gone/" tests/tests.cmake'
    says 'a program is not built any more' 'failed: exit failures' adds <<'X'
sed -i '/(sum sum.c)/d' CMakeLists.txt
sed -i 's|COMMAND sum|COMMAND build/none|' tests/tests.cmake
X
    says 'a required file is missing' 'failed: exit failures' adds <<<'echo "set_tests_properties(adds PROPERTIES REQUIRED_FILES gone)" >>tests/tests.cmake'
    says 'there are no tests' 'failed: no-tests' <<<'sed -i /add_test/d tests/tests.cmake'
    says 'a test takes too long' 'failed: exit failures' adds <<'X'
echo 'set_tests_properties(adds PROPERTIES TIMEOUT 1)' >>tests/tests.cmake
printf 'extern unsigned sleep(unsigned);\nint main(void) { sleep(9); return 0; }\n' >sum.c
X
    says 'a program crashes' 'failed: exit failures' adds <<<'echo "extern void abort(void); int main(void) { abort(); }" >sum.c'
    says_with 'a test fails, and the environment hides it' 'failed: exit failures' adds MAKEFLAGS=n <<<'sed -i "s/- 2/- 3/" sum.c'
    for hidden in 'DISABLED ON' 'WILL_FAIL ON' 'SKIP_RETURN_CODE 255' 'PASS_REGULAR_EXPRESSION ^$'; do
        local lost=', lost adds'
        case $hidden in WILL_FAIL* | PASS*) lost= ;; esac
        says_of_task "a test that fails is $hidden" "passed$lost; base failed: exit failures" <<X
sed -i 's/- 2/- 3/' sum.c
echo 'set_tests_properties(adds PROPERTIES $hidden)' >>tests/tests.cmake
X
    done
}
