# pytest in a virtual environment, with the package as an editable installation has it.

make_project() {
    has python3 && python3 -c 'import venv, ensurepip' 2>/dev/null || return $no_tools
    mkdir -p src/p tests
    printf '.venv\njunit.xml\n__pycache__\n.pytest_cache\n' >.gitignore
    printf 'pytest==9.0.1\n' >requirements.txt
    printf 'def add(a, b):\n    return a + b\n' >src/p/__init__.py
    printf 'from p import add\n\n\ndef test_adds():\n    assert add(1, 1) == 2\n\n\ndef test_adds_zero():\n    assert add(1, 0) == 1\n' >tests/test_p.py
    python3 -m venv "$place/pip"
    timeout 300 "$place/pip/bin/pip" install -q --target "$place/packages" -r requirements.txt >"$place/log" 2>&1 || return $no_download
    cat >setup.sh <<X
set -e
python3 -m venv --without-pip .venv
cp -r "$place/packages/." .venv/lib/python3*/site-packages
pwd | sed 's|$|/src|' >"\$(echo .venv/lib/python3*/site-packages)/p.pth"
X
    sh setup.sh
    in_place=(.venv/bin/python -m pytest --junitxml=junit.xml)
    begin <<'X'
[verify.tests]
setup = ["sh", "setup.sh"]
setup_key = ["requirements.txt", "setup.sh"]
command = [".venv/bin/python", "-m", "pytest", "--junitxml=junit.xml"]
report = ["junit.xml"]
keep = ["/.venv"]
protect = ["tests/**", "**/conftest.py", "pytest.ini"]
X
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(.venv) changed=src/p/__init__.py comment='#' setup=(sh setup.sh)

# Tests that take two seconds.
heavier() {
    printf 'import pytest, time\n\n@pytest.mark.parametrize("n", range(100))\ndef test_waits(n):\n    time.sleep(0.02)\n' >tests/test_many.py
}

cases() {
    says 'a file cannot be imported' 'failed: exit failures' tests.test_more <<<'echo "import nothing" >tests/test_more.py'
    says 'a teardown fails after a test that passed' 'failed: exit failures' test_more <<'X'
printf 'import pytest\n\n@pytest.fixture\ndef thing():\n    yield 1\n    raise OSError\n\ndef test_more(thing):\n    pass\n' >tests/test_more.py
X
    says 'a hook fails after the report' 'failed: exit' <<'X'
printf 'def pytest_unconfigure(config):\n    raise OSError\n' >tests/conftest.py
X
    says 'the process ends badly after a report of passes' 'failed: exit' <<'X'
printf 'import atexit, os\natexit.register(os._exit, 3)\n' >tests/conftest.py
X
    says 'a hook turns the exit code to 0' 'failed: failures' <<'X'
sed -i 's/a + b/a - b/' src/p/__init__.py
printf 'import pytest\n\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n' >tests/conftest.py
X
    says 'a test ends the process well' 'failed: no-report' <<<'printf "import os\nos._exit(0)\n" >tests/test_first.py'
    says 'it is interrupted' 'failed: exit*' <<<'printf "def test_more():\n    raise KeyboardInterrupt\n" >tests/test_z.py'
    says 'all tests are deselected' 'failed: exit no-tests' <<<'printf "[pytest]\naddopts = -k nothing\n" >pytest.ini'
    says 'tests are only collected' 'failed: no-tests' <<<'printf "[pytest]\naddopts = --collect-only\n" >pytest.ini'
    says_with 'a test fails, and the environment hides it' 'failed: exit failures' test_adds \
        PYTEST_ADDOPTS=--collect-only "PYTHONPATH=$place/pytest-good/src" <<'X'
mkdir -p "$place/pytest-good"
git archive main | tar -x -C "$place/pytest-good"
sed -i 's/a + b/a - b/' src/p/__init__.py
X
    says_of_task 'a new conftest.py hides a test that fails' 'passed, lost tests.test_p.test_adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a + b + (a == b)/' src/p/__init__.py
printf 'def pytest_collection_modifyitems(items):\n    items[:] = [item for item in items if item.name != "test_adds"]\n' >tests/conftest.py
X
    says_of_task 'a new conftest.py writes the report itself' 'passed; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' src/p/__init__.py
cat >tests/conftest.py <<'Y'
import atexit, os
def forge():
    with open("junit.xml", "w") as report:
        report.write('<testsuite name="s" tests="2"><testcase classname="tests.test_p" name="test_adds"/>'
                     '<testcase classname="tests.test_p" name="test_adds_zero"/></testsuite>')
    os._exit(0)
atexit.register(forge)
Y
X
    says_of_task 'tests are skipped, or expected to fail' \
        'failed: no-tests, lost tests.test_p.test_adds tests.test_p.test_adds_zero; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' src/p/__init__.py
printf 'import pytest\n\n@pytest.mark.xfail\ndef test_adds():\n    assert 0\n\n@pytest.mark.skip\ndef test_adds_zero():\n    assert 0\n' >tests/test_p.py
X
    # What a test leaves in a kept directory is no evidence, even if it decides.
    says 'a test leaves in the virtual environment what ends the next run' 'passed' <<'X'
cat >tests/test_plants.py <<'Y'
import pytest, pathlib
def test_plants():
    place = pathlib.Path(pytest.__file__).parent.parent / "planted.pth"
    place.write_text('import os, sys; "pytest" in sys.orig_argv and os._exit(0)')
Y
X
    says 'and the next run ends well, without a test' 'failed: no-report' <<<''
    judge 'without caches it is as it was' 'passed' '' "$orch" verify --fresh
}
