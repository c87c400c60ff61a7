//! The table of all codes, sorted by text: what each means, how it arises and what to do.
//!
//! Codes are public: scripts compare them, so the meaning of a text never changes. `docs/codes.md` and `orch
//! help CODE` print this table.

use super::{Class, CodeEntry};

codes! {
    ActionGivenUp = "action-given-up", Finding,
        "An action failed until it was given up.",
        "It failed as often in a row as the workflow allows, or its executor said that no other try can succeed. The \
         message says how it failed the last time.",
        "Remove the cause. `errors` in `state.json` keeps it, with the exit code, the time limit and the last lines; \
         the output of the executor is in `.orch/logs` of the task.";
    AgentFile = "agent-file", Finding,
        "A file that an agent's program reads was left alone.",
        "orch cannot change its part of the file safely: the file is not valid, it holds another value in the same \
         place, or someone changed the part since orch wrote it.",
        "Do by hand what the hint says, or undo the change, and run `orch init --agent` again.";
    AliasTaken = "alias-taken", No,
        "The git alias already has another meaning.",
        "`orch init --log-alias` found the name in the git configuration, and overwrites nothing.",
        "Define the alias under another name, as the hint says.";
    AmbiguousTask = "ambiguous-task", Usage,
        "A name means several tasks, and the command takes one.",
        "The name is a pattern, or the beginning of several ids.",
        "Name one of the tasks that the hint lists.";
    AmendedEvidence = "amended-evidence", Finding,
        "An amended commit would hold other files than its step saw.",
        "HEAD records a step of the task, and a file of an artifact of that task is staged otherwise than HEAD has it. With \
         `git commit --amend` it would be in the commit of a step that did not see it.",
        "Commit the file by itself, without `--amend`. Code, the author, the signature and the words of the message may \
         be amended.";
    AnswerLate = "answer-late", Busy,
        "A request to `orch serve` was begun and is not answered in time.",
        "The command has waited for a lock of another process, or has much to read. An order goes on without its \
         client, and may still take effect.",
        "After an order, look at the task, its log or the events before you send it again. Ask for less after a \
         question.";
    ArtifactBelow = "artifact-below", Finding,
        "A test report lies in a directory below the one whose reports are read.",
        "The test runner writes to a directory of its own, or makes one for each module.",
        "Let the runner write to the directory itself, or give the artifact a path with `**`.";
    ArtifactElsewhere = "artifact-elsewhere", Finding,
        "A file does not count, because another file of the same artifact has precedence.",
        "An artifact may name several paths; the first one that has a file is read.",
        "Remove one of the two files.";
    ArtifactMisplaced = "artifact-misplaced", Finding,
        "A file that the task lacks is in a directory above the task.",
        "The paths of a workflow are relative to the directory of the task, not to the root of the repository.",
        "Move the file to the path that the finding names.";
    ArtifactUnknown = "artifact-unknown", Usage,
        "The record of a task names an artifact that its workflow does not have.",
        "The artifact was renamed or removed in the document after the task had recorded it. What was used up of it would \
         count again, and an edit of it would not be noticed, so nothing moves.",
        "If it was renamed, add the old name to `aliases` of the artifact; if it was removed, add it to `forgets` in \
         `[workflow]`.";
    BadHookInput = "bad-hook-input", Usage,
        "The input of a hook of an agent's program cannot be read.",
        "It is not the JSON document that the program documents for the event, or it is not UTF-8.",
        "Nothing was blocked. Update orch or the program; the schemas are in `system/schemas/input`.";
    BadPath = "bad-path", Usage,
        "A path is outside the repository or malformed.",
        "It is absolute, contains `..` or a backslash, or is not UTF-8.",
        "Give a path relative to the root of the repository, with `/` between its parts.";
    BadRefs = "bad-refs", Usage,
        "A line on stdin is not of the form `OLD NEW REF`.",
        "`orch check --stdin-refs` reads the input that git gives to pre-push and pre-receive hooks.",
        "Call it from such a hook, or write one line per ref, as described in githooks(5).";
    BadTaskId = "bad-task-id", Usage,
        "A name cannot be the id of a task.",
        "The command line or a directory below a root of tasks uses a name that an id may not have, such as `state.json` or one with spaces.",
        "Choose a name of letters, digits, `-`, `_` and `.`, as the hint suggests, or rename the directory.";
    BareRepository = "bare-repository", Usage,
        "The repository has no work tree.",
        "orch was started inside a bare repository, where there are no files to evaluate.",
        "Run it in a work tree: `git worktree add DIR`. To look at a commit, clone the repository.";
    BodyNotJson = "body-not-json", Usage,
        "The body of a request to `orch serve` is not declared as JSON.",
        "The request has a body, and its `Content-Type` is not `application/json`.",
        "Send `Content-Type: application/json`, or no body if no argument is needed.";
    BothFinished = "both-finished", No,
        "Two branches finished the same task on different evidence.",
        "Each branch moved the task to a terminal phase before they were merged.",
        "Choose the side to keep: `orch resolve TASK --ours --reason WHY`, or `--theirs`.";
    BranchMoved = "branch-moved", Moved,
        "The branch moved while orch was working, so nothing was written.",
        "Another process committed, switched or reset the branch at the same moment.",
        "Run the command again; the task is then evaluated on the new commit.";
    BranchProtected = "branch-protected", Held,
        "Nothing is committed on this branch.",
        "`[git] protected` in orch.toml matches the name of the branch that is checked out.",
        "Switch to another branch: `git switch -c NAME`. To allow commits here, change `[git] protected`.";
    BranchTaken = "branch-taken", Held,
        "The current branch has no commit yet, and git cannot create it.",
        "Its name is a directory of another branch, as `a` is of `a/b`, or the other way round.",
        "Switch to a branch with another name: `git switch -c BRANCH`.";
    BriefExists = "brief-exists", No,
        "The task already has another brief.",
        "`orch new --brief` never overwrites a file.",
        "Edit the file that is there, and leave `--brief` out.";
    Busy = "busy", Busy,
        "Another process holds a lock that orch needs.",
        "Another orch, a git command or an editor is writing to the same repository or runs the same task.",
        "Try again. If no such process is left, the message names the lock file to remove.";
    ByHuman = "by-human", Person,
        "A step needs a person, and the command did not come from one.",
        "The step goes against the rules, or its rule has `by = \"human\"`, and the caller is an agent, a program without a terminal, or the plain `orch next`.",
        "A person types the command of the hint at a terminal. `[people]` in orch.toml says how a person is recognised.";
    ByteOrderMark = "byte-order-mark", Finding,
        "A file begins with a byte order mark.",
        "An editor saved it as UTF-8 with a signature.",
        "Save it as UTF-8 without the mark.";
    CannotListen = "cannot-listen", Usage,
        "`orch serve` cannot listen on the address.",
        "Another program listens there, the address is none of this machine, or the port needs a privilege.",
        "Choose another address: `orch serve --listen 127.0.0.1:0` takes any free port.";
    CannotStart = "cannot-start", Usage,
        "The command of an executor cannot be started.",
        "The program does not exist, may not be executed, or the settings of the executor contradict each other.",
        "Correct `command` in `[executor.*]` of orch.toml, or give a command: `orch run TASK -- COMMAND`.";
    CommitOpen = "commit-open", Busy,
        "A `git commit`, `revert` or `cherry-pick` is open in an editor, runs its hooks, or is at work.",
        "Moving the branch now would make that commit fail.",
        "Finish or abort that commit, then try again.";
    ConfigSyntax = "config-syntax", Usage,
        "orch.toml is not TOML.",
        "The file has a syntax error or defines a key twice.",
        "Correct the line that the message names.";
    ConfigUnknownKey = "config-unknown-key", Usage,
        "orch.toml has a key that looks like a misspelling.",
        "The key is not known, but one with a similar name is.",
        "Correct the name, or remove the key.";
    ConfigUnreadable = "config-unreadable", Usage,
        "A configuration file cannot be read.",
        "It is missing, is not a regular file, may not be read, or is not UTF-8. Or `orch.toml` in HEAD, which says who may \
         order what and what is required, has an error that the file in the work tree does not have.",
        "Correct its path, its permissions or its text. Commit a correction of `orch.toml`.";
    ConfigValue = "config-value", Usage,
        "A value in orch.toml is of the wrong type or out of range.",
        "The key expects another type, a number within limits, or the name of something that exists.",
        "Correct the value; the message says what is expected.";
    ConflictMarkers = "conflict-markers", NotNow,
        "A file contains the conflict markers of a merge.",
        "A merge, rebase or stash left `<<<<<<<` lines, and they have not been resolved.",
        "For the state of a task run `orch resolve`; else edit the file and remove the markers.";
    ControlUnreadable = "control-unreadable", Finding,
        "A control request of a run cannot be read, or is for another run.",
        "Something other than `orch pause` or `orch stop` has written `control.json`, or a file that an earlier run left could \
         not be removed. The request has no effect.",
        "Send the request again: `orch pause TASK`, or `orch stop TASK`.";
    CreatedTwice = "created-twice", No,
        "The log of a task holds the events of two tasks, which were created under one id.",
        "Two branches each created a task with this id, and git united their logs. Tasks that were created \
         under the same title, or took over the same state of another tool, are one task and are joined.",
        "Give one of them another id: `orch resolve TASK --rename-theirs NEW`, or `--rename-ours NEW`. If they are one \
         task, keep a side: `orch resolve TASK --ours --reason WHY`, or `--theirs`.";
    CsvSyntax = "csv-syntax", Finding,
        "A file is not a valid CSV table.",
        "A record has another number of fields than the first, or two columns have one name.",
        "Correct the record at the line that is named.";
    DecidedMeanwhile = "decided-meanwhile", Finding,
        "A person moved the task while an executor worked on it.",
        "Somebody approved, rejected or gave another order during a turn of a run.",
        "Nothing has to be done: the run goes on from where the task stands. What the executor wrote may be out of date.";
    DecisionKept = "decision-kept", NotNow,
        "The file that keeps a replaced decision exists already.",
        "An earlier `orch approve` or `orch reject` replaced a decision that git did not have, and kept it there.",
        "Read the file, then move or remove it.";
    DecisionReplaced = "decision-replaced", Finding,
        "A decision replaced a file that git did not have.",
        "`orch approve` or `orch reject` wrote the file of the decision where another version was.",
        "Look at the version that was kept, `FILE.replaced`, and remove it.";
    DemoFailed = "demo-failed", Fault,
        "The demonstration could not be set up or played.",
        "The directory cannot be written, or a step of the demonstration was refused.",
        "Name a new directory: `orch demo DIR`. If it fails again, report it.";
    DetachedHead = "detached-head", Held,
        "Nothing is committed while HEAD is detached.",
        "A commit, a tag or a remote branch is checked out, so the commit would belong to no branch.",
        "Run `git switch BRANCH`, or set `[git] detached_head = true` in orch.toml.";
    DirectoryTaken = "directory-taken", Held,
        "A file or submodule in HEAD has the name of a directory of the task.",
        "A commit cannot hold both a file and a directory of the same name.",
        "Commit the change that put the directory there, then try again.";
    DuplicateTask = "duplicate-task", Finding,
        "Two directories are tasks with the same id.",
        "The roots in orch.toml match both directories.",
        "Rename one directory, or narrow the roots.";
    EditorFailed = "editor-failed", No,
        "The editor failed, so no task was created.",
        "The program in `VISUAL` or `EDITOR` cannot be started, or it ended with an error.",
        "Set `EDITOR` to a program that waits until the text is saved, or use `--brief FILE`.";
    Empty = "empty", Finding,
        "A file of an artifact is empty.",
        "It has no bytes, or only white space.",
        "Write it, or remove it.";
    EmptyBrief = "empty-brief", Usage,
        "The brief is empty, so no task was created.",
        "The file, the input or the text in the editor has no content, or the editor left the text as it was.",
        "Write what is wanted, or leave the option out.";
    EvidenceGone = "evidence-gone", Finding,
        "The output of an earlier phase is gone or no longer valid.",
        "Someone deleted or damaged a file after the task had left its phase with it.",
        "Restore the file: `git restore -s COMMIT -- FILE`, or write it anew. A person can waive it with an override.";
    EvidenceIgnored = "evidence-ignored", NotNow,
        "git ignores a file that a transition rests on.",
        "A rule in .gitignore or in the exclude file matches it, so the commit could not carry the proof.",
        "Un-ignore the file, or set `commit = false` at the artifact.";
    EvidenceOutdated = "evidence-outdated", NotNow,
        "A verdict or report on which an earlier phase was left judged something else than what is there now.",
        "What it judged was changed later: the plan, or the code, by a commit that touches the files of the task.",
        "Let it be judged anew: `orch rollback TASK --to PHASE --reason WHY`. A person can accept it as it is: `orch approve TASK --override WHY`.";
    EvidenceSparse = "evidence-sparse", NotNow,
        "A file that a transition rests on is not checked out.",
        "A sparse checkout or `--skip-worktree` leaves it out of the work directory.",
        "Check it out: `git sparse-checkout add DIR`, or `git update-index --no-skip-worktree FILE`.";
    EvidenceUnreadable = "evidence-unreadable", NotNow,
        "A file that a transition rests on exists and cannot be read.",
        "Its permissions forbid it, it is too large, or it is not a regular file.",
        "Run `orch check TASK`, which says what is wrong with it.";
    FilesExist = "files-exist", No,
        "Files that would be written already exist.",
        "`orch workflow new` does not overwrite files.",
        "Choose another name, or overwrite them with `--force`.";
    FilesIncomplete = "files-incomplete", Finding,
        "A step is due, and more files of the same run may come.",
        "A test runner writes several reports, one after the other; `complete` of the artifact says when they are complete.",
        "Wait. If a file marks the end, let the runner write it.";
    ForeignRequest = "foreign-request", No,
        "`orch serve` refused a request from elsewhere.",
        "The request names a host that is not the server, or a page of another site sent it.",
        "Use the URL that `orch serve` printed. Behind a proxy, start it with `--host NAME`.";
    ForeignState = "foreign-state", No,
        "One side of a merge was written by another tool.",
        "The state does not have the form that orch writes, so the rules of merging do not apply.",
        "Choose a side: `orch resolve TASK --ours --reason WHY`, or `--theirs`.";
    Forged = "forged", Finding,
        "A recorded transition is not what the rules yield.",
        "`state.json` or `transcript.jsonl` was changed by hand or by another program.",
        "Look at the commit with `git show`, and undo it with `git revert`.";
    FrontMatter = "front-matter", Finding,
        "The front matter of a Markdown file cannot be read.",
        "The lines between the first `---` and the next are not a YAML mapping.",
        "Correct the line that is named. If the document begins with a horizontal rule, put an empty line before it.";
    Gate = "gate", Finding,
        "A path may not change in the current phase of the task.",
        "Other phases of the workflow name the path under `touches`, and the task is in none of them.",
        "Work on what the phase asks for: `orch suggest TASK`, or name another task in the commit: `Orch-Task: ID`.";
    GenerationFailed = "generation-failed", No,
        "An executor was asked for tasks, and no task was added.",
        "It failed, took longer than its time limit, printed no JSON object, or its answer does not match the schema or \
         has more tasks than were asked for.",
        "Nothing was recorded, so try again. The output of the executor is in `.orch/logs/generate.log` of the task, and \
         `orch schema ccw-loop-tasks` prints what it has to answer.";
    Git = "git", Fault,
        "git refuses an operation.",
        "libgit2 or the `git` command failed; the message quotes it.",
        "Act on the message of git: often the disk is full, a file is not readable, or the repository is damaged (`git fsck`).";
    GitEnvironment = "git-environment", Usage,
        "The environment names a repository that cannot be used.",
        "`GIT_DIR`, `GIT_WORK_TREE` or a related variable is set and does not fit the start directory.",
        "Unset `GIT_DIR`, or set `GIT_WORK_TREE` to its work tree.";
    GuardError = "guard-error", No,
        "The guard of a rule could not be evaluated.",
        "It compares values of incompatible types, or reads a value that is absent.",
        "Run `orch explain TASK` for the part and its values; then correct the guard or the artifact.";
    GuardFunction = "guard-function", Usage,
        "A guard calls a function that does not exist, or in a way in which it cannot be called.",
        "The name is misspelled, or arguments are missing or too many.",
        "Call it as the hint says; `docs/workflows.md` lists the functions.";
    GuardLimit = "guard-limit", Usage,
        "A guard is longer or deeper than allowed.",
        "Guards are limited so that evaluating a task always ends quickly.",
        "Name parts of it under `[define]`, or as facts of an artifact.";
    GuardNotBoolean = "guard-not-boolean", Usage,
        "A guard never yields true or false.",
        "The expression ends in a number, a text or a list.",
        "Compare the value with something, for example `count(x) > 0`.";
    GuardPattern = "guard-pattern", Usage,
        "The pattern of `matches` in a guard is invalid.",
        "It is no regular expression, is too large, or is computed instead of written as a literal text.",
        "Correct the pattern. Look-around and back-references do not exist, so that a match always ends quickly.";
    GuardSyntax = "guard-syntax", Usage,
        "A guard is not a CEL expression.",
        "An operator, a bracket or a quote is missing or misplaced.",
        "Correct it at the column that the message names, for example `plan.ready && plan.data.ok`.";
    GuardType = "guard-type", Finding,
        "A guard uses a value in a way that does not fit its type.",
        "It compares, computes with or calls a function on a value of another type, or reads what the format of an \
         artifact never has, for example members of a file whose extension is unknown, which is read as text.",
        "Compare values of one type; convert with `int()`, `double()` or `string()`; or set `format` of the artifact.";
    GuardUnasked = "guard-unasked", Finding,
        "A guard reads the data of an artifact that may be absent.",
        "It uses `.data` without checking `.ready` or `.valid` first, which can end in `guard-error`.",
        "Put `NAME.ready &&` in front.";
    GuardUnknownName = "guard-unknown-name", Usage,
        "A guard uses a name or fact that does not exist.",
        "The name is misspelled, or its artifact or definition was removed.",
        "Use one of the names that the hint lists.";
    HookEdited = "hook-edited", No,
        "The git hook that orch installed was edited.",
        "Installing it again would lose the changes.",
        "Move your own lines to the `.before-orch` file, remove the hook, and install it again.";
    HookOutdated = "hook-outdated", Finding,
        "An installed hook is out of date.",
        "Another version of orch installed it, `[hook]` in orch.toml has changed since, or the file is not executable.",
        "`orch hook install`, or `orch doctor --fix`.";
    HookReplaced = "hook-replaced", No,
        "Another hook has replaced the one that orch installed.",
        "A tool overwrote the hook, while the earlier hook that orch set aside still exists.",
        "Keep one of the two files, and install again.";
    HooksAbsent = "hooks-absent", Finding,
        "No hook of orch is installed in this clone.",
        "git does not copy hooks with a clone, and nobody ran `orch hook install` here.",
        "`orch hook install`, if commits are to be checked before they are made.";
    HooksManaged = "hooks-managed", NotNow,
        "The directory of the hooks belongs to husky.",
        "husky writes `.husky/_` anew with every install, and each of its hooks finds by its own name what it has to run: under another name it runs nothing.",
        "Put the line that the hint names into the hook of husky's own directory, such as `.husky/pre-commit`.";
    HooksShared = "hooks-shared", NotNow,
        "The directory of the hooks is used by other repositories, too.",
        "`core.hooksPath` names a directory outside this repository.",
        "Give this repository hooks of its own: `git config --local core.hooksPath .githooks`; or call `orch check --staged` from the shared hook.";
    IdReused = "id-reused", NotNow,
        "A new task has the id of an old one, whose record is still there.",
        "A tool that keeps each task as a file moved the file of the old task away, and gave its id to a new one. The record \
         is that of the old task, so the new one cannot go on with it.",
        "Archive the old record, then adopt the new task: `orch archive TASK --force WHY`, `orch new TASK`.";
    ImportInvalid = "import-invalid", Usage,
        "The state of an older tool cannot be imported.",
        "A value in it has not the form that the older tool gave it, so the map in `[state.import]` of the workflow yields no valid state.",
        "Correct the value at the place of the message, then run `orch new TASK` again. The file is not touched until then.";
    Inconsistent = "inconsistent", Finding,
        "An artifact that a phase builds on is missing or invalid.",
        "The file was removed or changed after the phase was entered.",
        "Restore the file, or go back: `orch rollback TASK --reason WHY`.";
    IndexBehind = "index-behind", Finding,
        "The index has an earlier record than HEAD and the work tree, or none, so the commit would take back a step.",
        "A `git` command read the index before a step and wrote it back afterwards, or the record was unstaged with \
         `git reset COMMIT -- PATH`.",
        "Run the command in the hint. To take back the step on purpose: `git revert COMMIT`; to remove the task from git: \
         `git rm -r`.";
    Interrupted = "interrupted", Interrupted,
        "The command was interrupted.",
        "It received a signal such as Ctrl-C before it was finished.",
        "Run it again.";
    Io = "io", Fault,
        "A file or directory cannot be read or written.",
        "The disk is full, permissions forbid it, or the file system is read-only.",
        "Remove the cause that the message names. Nothing that was recorded is lost.";
    IsADirectory = "is-a-directory", Finding,
        "A path that should be a file is a directory.",
        "An artifact names this path as a file.",
        "Remove the directory and write the file.";
    JsonBigInteger = "json-big-integer", Finding,
        "A JSON number is too large to be read exactly.",
        "Programs keep integers beyond 2^53 only approximately.",
        "Write it as a string.";
    JsonDepth = "json-depth", Finding,
        "A JSON file nests deeper than 128 levels.",
        "The depth is limited so that reading always succeeds or fails cleanly.",
        "Make the structure flatter.";
    JsonDuplicateKey = "json-duplicate-key", Finding,
        "An object in a JSON file has the same key twice.",
        "Readers disagree about which of the two counts.",
        "Keep one of them.";
    JsonSyntax = "json-syntax", Finding,
        "A file is not JSON.",
        "A comma, quote or bracket is missing, or there is text after the end.",
        "Correct it at the line and column that the finding names.";
    JunitCounts = "junit-counts", Finding,
        "The totals of a JUnit report differ from its test cases.",
        "The attributes `tests`, `failures` or `errors` do not match the listed cases. Some runners do so on every \
         run: they count the tries of a test, subtests, or what is yet to be written.",
        "Nothing, if the finding is a note: the listed cases count. A warning says that a suite declares failures that it \
         does not list; they count, so find out what failed.";
    JunitSyntax = "junit-syntax", Finding,
        "A JUnit report is not well-formed XML.",
        "It is truncated, a tag is not closed, a text is not escaped, or other output was redirected into the file.",
        "Write the report again, to a file of its own.";
    LeftProcesses = "left-processes", Finding,
        "A process of an executor outlived its turn and was ended.",
        "The executor left background processes, or an earlier run was cut off.",
        "Let the executor wait for its children.";
    Livelock = "livelock", Finding,
        "The rules form a circle that uses up no evidence.",
        "Each rule of the circle fires on the same unchanged files.",
        "Change a rule so that it waits for something new: `orch explain TASK` names the phases.";
    LogChanged = "log-changed", NotNow,
        "A line of the log is not the one that its id was computed from.",
        "The line was edited, or damaged on the disk.",
        "Restore the log: `git restore -- PATH`, or `orch recover TASK`.";
    LogIncomplete = "log-incomplete", NotNow,
        "An event of the log follows an event that is missing from the log.",
        "Lines were removed from the log, or only some were copied.",
        "Restore the log: `git restore -- PATH`, or `orch recover TASK`.";
    LogInconsistent = "log-inconsistent", NotNow,
        "An event of the log contradicts the events before it.",
        "Its number, its version or its changes do not match the events before it; orch never writes such an event.",
        "Restore the log: `git restore -- PATH`, or `orch recover TASK`.";
    LogInvalid = "log-invalid", NotNow,
        "A line of the log is not an event.",
        "The line was written by hand, or a crash truncated it.",
        "Restore the log: `git restore -- PATH`, or `orch recover TASK`.";
    LogNewer = "log-newer", NotNow,
        "A newer orch wrote an event of the log.",
        "The event has a version, a kind or a member that this orch does not know, so it cannot tell what follows from it.",
        "Update orch: `cargo install --path .` in a newer checkout, or as you installed it.";
    Loosened = "loosened", Finding,
        "A range makes the rules, the settings or a schema looser.",
        "It removes a rule or what a phase needs, lets agents do what people did, adds a program that orch may start, excludes \
         tasks, or accepts more in a schema. Nothing need have used it yet.",
        "Review the lines that the finding names. With `--strict`, the check ends with 1 until they are reverted or the target \
         has them.";
    MarkdownLimit = "markdown-limit", Finding,
        "A Markdown file has too many headings, check boxes, fields or placeholders.",
        "The number of each of them is limited to 10,000.",
        "Split the file; what comes after the limit is not listed. Check boxes are still counted.";
    MergeDriver = "merge-driver", Finding,
        "This clone does not have the merge driver that the repository asks for.",
        "`.gitattributes` says that orch merges the states of tasks, and the program is registered in each clone, not in the \
         repository. Without it, or if the program is gone, git merges states as text.",
        "`orch init --merge-driver`, or `orch doctor --fix`.";
    MessageUnreadable = "message-unreadable", Usage,
        "The file with the commit message cannot be read.",
        "`orch check --staged --message FILE` names a file that does not exist or may not be read.",
        "Name the file that git gives to the commit-msg hook.";
    MethodNotAllowed = "method-not-allowed", Usage,
        "A path of `orch serve` has no such method.",
        "The request has another method than those in the header `Allow` of the answer.",
        "See the paths and methods in `/api/v1/openapi.json`.";
    NestedRepository = "nested-repository", Usage,
        "A directory of a task belongs to another repository.",
        "It is a submodule, or a repository was created or cloned inside it.",
        "Work there with `orch -C DIR`, or move it out of the task.";
    NoBrief = "no-brief", Usage,
        "The workflow has no brief.",
        "`--brief` and `--edit` write the artifact `brief`, and the workflow declares none with a plain path.",
        "Leave the option out, or declare `[artifact.brief]` with `path = \"brief.md\"`.";
    NoDirectory = "no-directory", Usage,
        "The start directory does not exist.",
        "The argument of `-C`, or the current directory, is gone.",
        "Name a directory that exists with `-C`.";
    NoEarlierPhase = "no-earlier-phase", No,
        "There is no earlier phase to go back to.",
        "The task is in its first phase, or no phase before this one has a record whose needs hold.",
        "Name an earlier phase with `--to`, or write the missing files. To begin the phase again: `orch next TASK --override REASON --to PHASE`.";
    NoExample = "no-example", No,
        "A schema or an artifact has no example.",
        "`orch schema NAME --example` prints the first entry of `examples`, and `orch new` creates a task that is a file from the `example` of its artifact; there is none.",
        "Add one to `examples` of the schema, or write the file and adopt it with `orch new`.";
    NoExecutor = "no-executor", Usage,
        "No executor is configured for this work.",
        "orch.toml has neither `[executor.NAME]` nor `[executor.default]` for it.",
        "Add one with its `command`, or give a command: `orch run TASK -- COMMAND`.";
    NoGit = "no-git", Fault,
        "There is no `git` program.",
        "The operation needs the `git` command, and it is not on the PATH.",
        "Install git. Without it `suggest`, `explain`, `status` and `check` work; `[git] commit = \"off\"` lets moves be written without a commit.";
    NoIdentity = "no-identity", Held,
        "git does not know who commits.",
        "Neither the settings nor the environment give a name and a mail address.",
        "`git config user.name NAME && git config user.email MAIL`";
    NoReason = "no-reason", No,
        "A reason is missing.",
        "An order against the rules is recorded with its reason, and the one given has no visible character, or is the word `WHY` of a hint.",
        "Say why in your own words: `--reason 'the plan was wrong'`.";
    NoRepository = "no-repository", Usage,
        "There is no git repository here.",
        "Neither the start directory nor one above it is a git repository. Tasks can be evaluated and moved, but nothing is committed.",
        "Run `git init`, or start orch elsewhere with `-C DIR`.";
    NoRoot = "no-root", Usage,
        "No root matches this task id.",
        "Each root in orch.toml is a pattern, and the id matches none of them.",
        "Add a `[[root]]`, or choose another id.";
    NoTerminal = "no-terminal", Usage,
        "The command needs a terminal.",
        "It has to ask for what was not given as an option, and its input is not a terminal; or it was to show a live status, and its output is none.",
        "Give the answers as options, or start it in a terminal.";
    NoTestRan = "no-test-ran", Finding,
        "A JUnit report lists no test that ran, so it proves nothing.",
        "All tests are skipped, disabled or yet to be written, or a filter matched none.",
        "Run the tests that are meant, and write the report again.";
    NoTitle = "no-title", Usage,
        "The name of the task's file contains its title, and there is none.",
        "The root in orch.toml has `{title}` in its `path`, and `orch new` was called without `--title`.",
        "`orch new ID --title TITLE`.";
    NoToken = "no-token", Person,
        "A request to `orch serve` has no valid token.",
        "The request has no header `Authorization: Bearer TOKEN` and no cookie, or the tokens have changed.",
        "Open the URL that `orch serve` prints, or send a token from `orch/serve.json` in the git directory.";
    NotAFile = "not-a-file", Finding,
        "A path that should be a file is something else.",
        "It is a pipe, a device, a socket or a directory.",
        "Remove it and write a regular file.";
    NotAPatch = "not-a-patch", Finding,
        "A file is not a patch.",
        "A patch has the form that `git diff` writes.",
        "Write it with `git diff > FILE`.";
    NotCounted = "not-counted", Finding,
        "A file of an artifact does not count, and nothing rests on it.",
        "A send-back has used it up, it was there before what it judges was recorded, or what it says it judged has \
         changed. The message says which.",
        "Write it anew, or name in `of` what it judged. A person may confirm it as it is: `orch confirm TASK ARTIFACT`.";
    NotEarlier = "not-earlier", No,
        "The phase is not earlier than the current one.",
        "`orch rollback` only goes back.",
        "To go forward against the rules: `orch next TASK --override WHY --to PHASE`.";
    NotEmpty = "not-empty", Usage,
        "The directory is not empty.",
        "`orch demo` writes only into a new directory.",
        "Name a directory that does not exist yet.";
    NotEnabled = "not-enabled", No,
        "The rules do not lead to the requested phase.",
        "No rule towards it fires now; the message names what is missing.",
        "Run `orch explain TASK`. To go there against the rules: `orch next TASK --override WHY --to PHASE`.";
    NotInClone = "not-in-clone", NotNow,
        "The requested data is not in this clone.",
        "A shallow or partial clone does not contain it, or it is too large to read.",
        "Fetch it: `git fetch --unshallow`, or `git fetch --refetch`.";
    NotIndependent = "not-independent", Finding,
        "A verdict is not known to be by somebody else than those who wrote what it judges.",
        "The phase says `not_by`, and `[require] independent = true` in `orch.toml` makes that a need: the same person, \
         or an agent in the same turn of a run, wrote both, or nobody saw who wrote the verdict.",
        "Let another person or another turn give the verdict, as the hint says. A verdict that nobody saw being written \
         gets a known writer by `orch approve`, in a run, or by a commit of its own.";
    NotJunit = "not-junit", Finding,
        "A file is not a JUnit report.",
        "Its root is neither `testsuites` nor `testsuite`. The finding names the format, if it is a known one.",
        "Let the test runner write a JUnit XML report, and keep other reports elsewhere.";
    NotLoopback = "not-loopback", Usage,
        "`orch serve` was to listen on an address that other machines can reach.",
        "`--listen` names an address that is not a loopback address.",
        "Listen on `127.0.0.1`, or add `--public` if other machines are meant to reach the server.";
    NotPresent = "not-present", No,
        "The artifact has no file.",
        "`orch confirm` confirms a file that exists.",
        "Write it first.";
    NotSpent = "not-spent", No,
        "The artifact does not need a confirmation.",
        "It is fresh, or it is stale for a reason that a confirmation does not remove.",
        "Run `orch explain TASK`. If the file should say something else, rewrite it.";
    NotTerminal = "not-terminal", No,
        "The task is not finished, so it cannot be reopened.",
        "`orch reopen` leaves a terminal phase.",
        "To go back from here: `orch rollback TASK --reason REASON`. To begin the first phase again: `orch next TASK --override REASON --to PHASE`.";
    NotUtf8 = "not-utf8", Finding,
        "A file is not UTF-8.",
        "It was saved in another encoding.",
        "Save it as UTF-8.";
    NothingAsked = "nothing-asked", NotNow,
        "There is no question to answer.",
        "The task waits for something else, or the answer was already given.",
        "Run `orch suggest TASK` to see what it waits for.";
    NothingToApply = "nothing-to-apply", NotNow,
        "There was nothing to record.",
        "The task changed between the decision and the write.",
        "Run `orch suggest TASK`, and decide again.";
    NothingToDraft = "nothing-to-draft", NotNow,
        "There is nothing to write a draft of.",
        "No file is missing, the file is there already, a program makes it, or the workflow has no example of it.",
        "Edit the file that is there, replace one that does not count (`--force`), or name another artifact: `orch draft TASK ARTIFACT`.";
    NothingToJudge = "nothing-to-judge", Usage,
        "There is nothing to judge, although something says that there should be.",
        "A root in orch.toml matches no task while git has records that no root shows, a root is a symbolic link, a range \
         has no commit, nothing of orch is set up, or orch was started outside of the repository.",
        "Correct `path` of the root, name directories that are no tasks in `exclude` of a root, give another range, run \
         `orch init`, or start orch in the repository with `-C DIR`.";
    NothingToUndo = "nothing-to-undo", NotNow,
        "There is no order that can be taken back.",
        "Nobody has ordered anything, or work was recorded or branches were joined since the last order.",
        "Look at `orch log TASK`. `orch rollback` goes back and keeps the work; `git revert` undoes a commit.";
    NotifyFailed = "notify-failed", Finding,
        "Someone could not be given word of an event.",
        "A program of `[[notify]]` in orch.toml could not be started, failed or took too long, or too many were waiting.",
        "Correct `command` or `time_limit` of the entry that the message names. The task is not affected.";
    NulByte = "nul-byte", Finding,
        "A file contains a NUL byte.",
        "It is binary, or a crash truncated it.",
        "Write it as text.";
    OperationOpen = "operation-open", Held,
        "git is in the middle of an operation.",
        "A merge, rebase, cherry-pick, revert or bisect is unfinished, and a commit of orch would become part of it.",
        "Finish or abort it; the hint names the command.";
    OtherObjectFormat = "other-object-format", Finding,
        "The record of a task names files by the ids of another object format than this repository.",
        "The task's directory comes from a repository with SHA-1 ids, and this one has SHA-256 ids, or the other way round; or the task is older than this repository.",
        "`orch new TASK` adopts a task whose record no commit has. Else start a new task with its other files: `orch new ID`, then move everything there but state.json and transcript.jsonl.";
    OtherWorkflow = "other-workflow", No,
        "Two branches use different workflows for the same task.",
        "One of them changed the workflow that the state names.",
        "Choose a side: `orch resolve TASK --ours --reason WHY`, or `--theirs`.";
    OthersChanged = "others-changed", Finding,
        "Commits of others have changed the code since it was judged, and nothing that the task touches.",
        "Other tasks work on the same tree.",
        "Nothing has to be done. To judge anew all the same: `orch rollback TASK --to PHASE --reason WHY`.";
    OwnFileFiltered = "own-file-filtered", Finding,
        "A filter changes the files that orch writes.",
        ".gitattributes applies `filter` or `ident` to `state.json` or `transcript.jsonl`, so git shows them as modified.",
        "Except them at the end of .gitattributes: `FILE -filter -ident`.";
    OwnFilesChanged = "own-files-changed", Finding,
        "Files that orch keeps changed while an executor worked.",
        "The executor edited or removed `state.json`, the record of its run, or logs. The record of the task is its log, \
         and the run goes on by what it knows, so that nothing is gained by it.",
        "Nothing has to be done. Look at what the executor did: `git diff`, and its log.";
    PatchCut = "patch-cut", Finding,
        "A patch was cut off, or a hunk of it was edited by hand.",
        "A hunk holds more or fewer lines than its header `@@ -a,b +c,d @@` announces.",
        "Write the whole diff again with `git diff > FILE`.";
    PathNotUtf8 = "path-not-utf8", Finding,
        "A path is not UTF-8.",
        "The name of a file or directory uses another encoding. The file is ignored.",
        "Rename it.";
    PhaseAlias = "phase-alias", Finding,
        "The recorded phase has another name now.",
        "The workflow lists the recorded name among the `aliases` of a phase.",
        "No action is needed; the next transition records the new name.";
    RecordElsewhere = "record-elsewhere", NotNow,
        "A directory holds the record of another task.",
        "The directory of a task was moved or copied by hand. A task gets another id only by `orch rename`, so adopting the record would forge it.",
        "Run the commands of the hint: a task that was moved goes back and is renamed; a copy begins anew without `state.json` and `transcript.jsonl`.";
    RecordLost = "record-lost", NotNow,
        "The log of the task is gone.",
        "`transcript.jsonl` was deleted or emptied, while `state.json` or HEAD says that there was one; or a commit removed it and left the other files of the task.",
        "Restore it: `git restore -- PATH`, or `orch recover TASK`.";
    RefsUnreadable = "refs-unreadable", Usage,
        "The list of refs cannot be read.",
        "`orch check --stdin-refs` could not read its standard input as text.",
        "Call it from a pre-push or pre-receive hook.";
    Refused = "refused", No,
        "The answer or the result was refused.",
        "It does not match what the task asks now, or the schema of its state rejects it.",
        "Run `orch suggest TASK`, and give what it lists.";
    RemovedAndMoved = "removed-and-moved", NotNow,
        "One branch removed a task, and the other moved it.",
        "git leaves a file in conflict that only one side has.",
        "Decide: `git add FILE` keeps it, `git rm FILE` removes it.";
    RepositoryInsideTask = "repository-inside-task", NotNow,
        "A task contains another repository.",
        "A repository was created or cloned in the directory of the task, so a commit could not contain its files.",
        "Move it out of the task, or remove its `.git`.";
    RequestTooLarge = "request-too-large", Usage,
        "The body of a request to `orch serve` is too large.",
        "It is larger than 1 MiB.",
        "Send less.";
    RequestTooSlow = "request-too-slow", Usage,
        "The body of a request to `orch serve` did not arrive in time.",
        "The client stopped sending, or the connection is very slow.",
        "Send the request again.";
    RequiredMissing = "required-missing", Finding,
        "A file that the phase requires is not in the repository.",
        "`requires` of the phase names a file, such as a specification, that was never written, was removed or was renamed.",
        "Write the file, or correct `requires` in the workflow.";
    ResultUnsaved = "result-unsaved", Finding,
        "The result of an executor could not be kept safely on the disk.",
        "Writing it or syncing it failed. It still counts for the run that is going on.",
        "Check the disk. If the machine stops now, the work may be done again.";
    Resumed = "resumed", Finding,
        "A run uses a result that was finished before the run began.",
        "An earlier run was cut off after its executor had finished.",
        "No action is needed.";
    RulesChanged = "rules-changed", Finding,
        "A range changes rules, settings, a schema or what an agent's program runs, and maybe makes them looser.",
        "From the two texts alone it cannot be told whether a guard, an order of rules, a path or a hook of a program permits \
         more than before.",
        "Review the lines that the finding names. With `--strict`, the check ends with 1 until they are reverted or the target \
         has them.";
    RunFailed = "run-failed", Finding,
        "The last run of the task failed, and no step was recorded since.",
        "The agent of the phase failed too often in a row. The message says how it failed the last time.",
        "Remove the cause, then `orch run TASK`. The output of the executor is in `.orch/logs` of the task.";
    RunInterrupted = "run-interrupted", Finding,
        "The process that ran the task is gone.",
        "It was killed, or the machine stopped. The run resumes after the last recorded step.",
        "`orch run TASK`";
    RunLog = "run-log", Finding,
        "The log of an executor could not be kept.",
        "The disk is full, or the directory cannot be written.",
        "Check the disk. The run itself is not affected.";
    RunUnreadable = "run-unreadable", Usage,
        "The record of a run cannot be read.",
        "`run.json` was edited, truncated, or written by a newer version.",
        "Remove the file that the message names; the next run starts from scratch.";
    RunUnrecorded = "run-unrecorded", Finding,
        "The start of an executor could not be recorded.",
        "`run.json` in `.orch` of the task cannot be written.",
        "Check the disk and the permissions of the directory.";
    RunWaits = "run-waits", Finding,
        "The last run of the task waits for a person.",
        "An executor reported `needs_input`, or gave an order that needs a person. The message says which.",
        "Put the answer where the executor reads it, or give the order yourself; then `orch run TASK`.";
    SchemaCycle = "schema-cycle", Finding,
        "A part of a schema refers only to itself.",
        "Following `$ref` leads back to the same place, so no value could ever be validated.",
        "Say what the value must be, or remove the reference.";
    SchemaExample = "schema-example", Finding,
        "A schema rejects its own example.",
        "The schema or the example was changed without the other.",
        "Correct one of the two.";
    SchemaInvalid = "schema-invalid", Finding,
        "A schema cannot be used.",
        "It is not JSON, or not a JSON Schema that can be compiled.",
        "Correct it at the place that the finding names.";
    SchemaKeyword = "schema-keyword", Finding,
        "A key of a schema is not a JSON Schema keyword.",
        "It is probably misspelled, and would be ignored.",
        "Use the keyword that the hint names.";
    SchemaMismatch = "schema-mismatch", Finding,
        "A value does not match the schema of its artifact.",
        "The value at this place has another type or form than the schema requires, or a required key is missing.",
        "Correct the value. `orch schema NAME` prints the schema, `--example` an example.";
    SchemaRemoteRef = "schema-remote-ref", Finding,
        "A schema refers to another document.",
        "A `$ref` names a URL or file; only references within the document are followed.",
        "Copy the part under `$defs`, and refer to it there.";
    ServerReadOnly = "server-read-only", NotNow,
        "`orch serve` was started to answer questions only.",
        "The request is an order, and the server was started with `--read-only`.",
        "Start `orch serve` without `--read-only`, or give the order on the command line.";
    SettingsChanged = "settings-changed", Finding,
        "Settings changed while an executor worked.",
        "The executor, or someone else meanwhile, edited `orch.toml`, a workflow, a schema or an instruction, or settings or \
         hooks of git. The run goes on by the settings of orch that it began with; those of git count at once.",
        "Look at the change: `git diff HEAD -- orch.toml system`, `git config --show-origin --list` and `ls -l .git/hooks`. \
         The next command uses what the files say then.";
    SigningFailed = "signing-failed", Held,
        "The commit cannot be signed.",
        "`commit.gpgSign` is on, and the signing program failed or asks for a passphrase. An unsigned commit is never made instead.",
        "Correct `user.signingKey` and `gpg.format`, or unlock the key. To sign nothing here: `git config commit.gpgSign false`.";
    SkillDropped = "skill-dropped", Finding,
        "A part of a skill configuration has no effect in the generated workflow.",
        "orch settles it elsewhere, for example in orch.toml, or not at all.",
        "Settle it where the finding says, or ignore the warning.";
    SkillEffect = "skill-effect", Finding,
        "An effect of an action names no field of the state.",
        "The name is misspelled, which is an error; or the effect is prose, which allows the action no change.",
        "Use the name that the hint gives, or name the fields that the action changes. Without `effects` it may change all.";
    SkillExpression = "skill-expression", Finding,
        "A condition of a skill configuration is rejected.",
        "It cannot be translated, compares different types, or names an unknown field.",
        "Correct the condition at the place that the message names.";
    SkillKey = "skill-key", Finding,
        "A key of a skill configuration is unknown or missing.",
        "It is misspelled, or belongs elsewhere.",
        "Use the key that the hint names.";
    SkillName = "skill-name", Finding,
        "A name in a skill configuration cannot be used.",
        "Another field or action has it, or no condition could name it.",
        "Choose another name.";
    SkillRepeats = "skill-repeats", Finding,
        "An action may repeat although it does not say what it changes.",
        "It names no `effects`, and its preconditions read the state. If it changes nothing that they read, the run \
         stalls.",
        "Name its `effects`. It runs once unless they contain a field of its preconditions.";
    SkillSpec = "skill-spec", Finding,
        "A specification that a skill configuration names does not exist.",
        "`specs` lists a file that is not in the repository.",
        "Write the file, or take it out of `specs`.";
    SkillType = "skill-type", Finding,
        "The type of a field is unknown.",
        "The translation does not know the type, so the field accepts any value.",
        "Use a known type, for example `string`, `number` or `boolean`.";
    SkillValue = "skill-value", Finding,
        "A value in a skill configuration is missing or of the wrong kind.",
        "A required list, object or text is absent or has another type.",
        "Correct the value at the place that the finding names.";
    StagedInTask = "staged-in-task", NotNow,
        "Something of the task is staged, so its directory cannot move.",
        "`orch rename` and `orch archive` move what HEAD has, and leave what is staged alone.",
        "Commit what is staged, or unstage it, as the hint says.";
    StagedOther = "staged-other", Finding,
        "Another version of a committed file is staged.",
        "You had staged other content than the transition recorded; it stays staged.",
        "Commit them, or unstage them with `git restore --staged FILE`.";
    StateDefaults = "state-defaults", Finding,
        "The schema of the state rejects the initial values of a new task.",
        "A default is missing or has the wrong type.",
        "Correct the defaults or the schema under `[state]` of the workflow.";
    StateEdited = "state-edited", Finding,
        "`state.json` was edited by hand; the log decides.",
        "Its seal is broken, or it differs from the log.",
        "No action is needed; the next transition rewrites it. To change a state, use the commands of orch.";
    StateFolded = "state-folded", Finding,
        "The state was folded from the log, because `state.json` is out of date.",
        "A merge or a rebase changed it, it has conflict markers, or it was deleted.",
        "No action is needed; the next transition rewrites it. During a merge: `orch resolve`.";
    StateImported = "state-imported", Finding,
        "`state.json` is that of an older tool, and `orch new` imports it.",
        "The workflow of the task declares `[state.import]`, and the file has the members that this table names.",
        "Import it: `orch new TASK`. What the message lists has no place in the workflow; it stays in the original, which git keeps.";
    StateInvalid = "state-invalid", NotNow,
        "`state.json` does not have the form that orch writes.",
        "A value is missing or of the wrong type, often because the file was edited by hand.",
        "Restore it from git: `git restore FILE`, or rebuild it: `orch recover TASK`.";
    StateLayout = "state-layout", Finding,
        "Only the layout of `state.json` differs from what orch writes.",
        "A formatter or an editor changed white space, the order of members or escapes. The values are those of the log.",
        "No action is needed; the next transition rewrites it. To keep a formatter away: `orch init`.";
    StateSchema = "state-schema", NotNow,
        "The next state would violate the schema of the workflow.",
        "A rule sets a value that the schema under `[state]` rejects.",
        "Correct the rule or the schema: `orch workflow check NAME`.";
    StateSeal = "state-seal", NotNow,
        "`state.json` was changed after it was written.",
        "Its seal does not match its content, because the file was edited by hand.",
        "Restore it: `git restore FILE`, or rebuild it: `orch recover TASK`.";
    StateUnusable = "state-unusable", No,
        "The state of the task cannot be used.",
        "`state.json` is damaged or missing; `orch check TASK` says how.",
        "Rebuild it: `orch recover TASK`.";
    StateVersion = "state-version", NotNow,
        "`state.json` has a version that this orch does not know.",
        "A newer orch wrote it.",
        "Install that version of orch.";
    SuggestionUnwritten = "suggestion-unwritten", Finding,
        "`suggestion.json` could not be brought up to date.",
        "The directory cannot be written, or the disk is full.",
        "Check the disk. `orch suggest TASK` prints the same.";
    Symlink = "symlink", Finding,
        "A path that should be a file or directory is a symbolic link.",
        "git stores the link, not what it leads to, so it cannot be evidence.",
        "Put the file or directory itself there.";
    SystemUnreadable = "system-unreadable", Finding,
        "A workflow, a schema or agent instructions cannot be read.",
        "The file under the `system` directory is not a regular file, may not be read, or is not UTF-8.",
        "Correct its permissions or its encoding.";
    TakenBack = "taken-back", Finding,
        "An order was taken back.",
        "`orch undo` recorded a step after which the task stands as before the order. The log keeps both.",
        "Nothing. To give the order again, repeat it.";
    TaskBehindLink = "task-behind-link", NotNow,
        "The directory of the task has become a symbolic link.",
        "What is written there could end up anywhere, so nothing is written.",
        "Replace the link by the directory.";
    TaskChanged = "task-changed", No,
        "A task has changed since the client looked at it.",
        "The order says by `--expect`, or by the header `If-Match`, what it rests on, and the task is at another revision, or has another `ETag`, now.",
        "Look at the task again, and decide anew.";
    TaskExists = "task-exists", Usage,
        "A task with this id already exists.",
        "Its directory exists and contains a state.",
        "Choose another id, or work on it: `orch suggest ID`.";
    TaskGone = "task-gone", Finding,
        "The file that is a task was moved to where no task is.",
        "A tool moved it to a directory such as `archive`, `drafts` or `completed`; the record of the task is still there.",
        "Archive the record too: `orch archive TASK`, with `--force WHY` if the task is not finished; or move the file back.";
    TaskInsideTask = "task-inside-task", Usage,
        "The new task would be inside another task, or would contain one.",
        "A task never contains a task.",
        "Choose another id or root.";
    Terminal = "terminal", No,
        "The task or the phase is terminal.",
        "A terminal phase is left only by reopening the task.",
        "`orch reopen TASK --reason WHY`, or name another phase with `--to`.";
    TomlSyntax = "toml-syntax", Finding,
        "A file is not valid TOML, or holds a number that JSON cannot hold.",
        "The document has a syntax error, a duplicate key, or a number that is infinite or too large.",
        "Correct the document at the place that is named.";
    TooLarge = "too-large", Finding,
        "A file is larger than the limit, or reading it would take more memory than the limit.",
        "`limit_bytes` in orch.toml limits the size of artifacts. The values of one artifact may take 32 bytes of memory for each of these bytes, and at least 256 MiB.",
        "Make the file smaller, or raise the limit.";
    TranscriptCut = "transcript-cut", NotNow,
        "The transcript lacks lines that HEAD contains, or that an earlier commit has.",
        "`transcript.jsonl` only grows; it was edited or truncated, or an older `orch recover` dropped the events that it does not know.",
        "Restore it: `git restore FILE`, or revert the commit that dropped them.";
    TranscriptUnreadable = "transcript-unreadable", NotNow,
        "The transcript exists but cannot be read.",
        "Its permissions forbid it, it is not a regular file, or it has more than 256 MiB.",
        "Run `orch check TASK`, which says what is wrong with it.";
    Unfilled = "unfilled", Finding,
        "A file says the same as the example of its schema.",
        "The example of a prompt was saved as it was. It shows the form and says nothing about the task.",
        "Write what is meant into the file.";
    Unfinished = "unfinished", Finding,
        "A commit was made, but the files or the index could not be brought up to date.",
        "Writing failed after the branch had moved; nothing is lost.",
        "The next orch command finishes it.";
    Unjudged = "unjudged", Finding,
        "A task could not be evaluated.",
        "Its files or the repository could not be read; the message says why.",
        "Remove the cause, then run the command again.";
    UnknownArtifact = "unknown-artifact", Usage,
        "There is no artifact with this name.",
        "The workflow of the task does not declare it.",
        "Use one of the names that the hint lists.";
    UnknownPhase = "unknown-phase", Usage,
        "There is no phase with this name.",
        "The workflow does not declare it, neither as a phase nor among the `aliases` of one.",
        "Use one of the names that the hint lists. If a state names it, add it to `aliases`.";
    UnknownRevision = "unknown-revision", Usage,
        "There is no commit with this name.",
        "The branch, tag or id is misspelled, or a shallow clone does not hold it.",
        "See `git log`, or fetch it: `git fetch --unshallow`.";
    UnknownRoute = "unknown-route", Usage,
        "`orch serve` has no such path.",
        "The path of the request is misspelled, or names nothing that the server has.",
        "See the paths in `/api/v1/openapi.json`.";
    UnknownSchema = "unknown-schema", Usage,
        "There is no schema with this name.",
        "It is neither in `system/schemas` nor among the shipped ones.",
        "Use one of the names that the hint lists.";
    UnknownTask = "unknown-task", Usage,
        "There is no task with this id.",
        "The id is misspelled, the task is outside the roots in orch.toml, or it is on another branch.",
        "List the tasks with `orch status`, or create one: `orch new ID`.";
    Unmerged = "unmerged", Held,
        "A file is in conflict.",
        "A merge left it unresolved in the index.",
        "Resolve it, then `git add FILE`; for the state of a task: `orch resolve`.";
    UnmetNeeds = "unmet-needs", No,
        "The phase needs artifacts that are missing or invalid.",
        "Its `needs` do not hold, so it cannot be entered.",
        "Write what the message names first, or name a phase whose needs hold.";
    Unreachable = "unreachable", No,
        "No rules lead from the current phase to this one.",
        "Orders may only go where the workflow connects the phases.",
        "Name one of the phases that the hint lists with `--to`.";
    Unreadable = "unreadable", Finding,
        "A file of a task's record cannot be read.",
        "It is not a regular file, or it is too large.",
        "Restore it from git, or run `orch recover TASK`.";
    Unsigned = "unsigned", Finding,
        "Orders must be signed here, and this clone does not sign.",
        "`[people]` in orch.toml asks for signatures, and `commit.gpgSign` is off, or git does not trust the key.",
        "`git config commit.gpgSign true` with a key that git trusts, as in docs/audit.md.";
    Unstable = "unstable", NotNow,
        "The state of a task changes faster than it can be read.",
        "Another process keeps writing it.",
        "Wait for that process, and try again.";
    UnsupportedRepository = "unsupported-repository", Usage,
        "The repository uses a format that orch does not support.",
        "It uses an extension or a ref format that is newer than orch; or a reftable, and git is older than 2.45.",
        "Install a newer orch or git, or use a repository without that extension.";
    Untracked = "untracked", No,
        "No state of the task is on this branch.",
        "The task has files, but `orch new` was never run for it here, or its state is only in the work directory.",
        "`orch new TASK` records it.";
    Untrusted = "untrusted", Person,
        "A program of `orch.toml` would be started that nobody has trusted.",
        "A command in `orch.toml`, a file that it names, or the instructions of an agent are new or have changed.",
        "Look at it with `orch trust --show`, then `orch trust`. For one run: `--trust-once`, or `ORCH_TRUST_ONCE=1`.";
    UntrustedOwner = "untrusted-owner", Usage,
        "The repository belongs to another user.",
        "git refuses to work in it, because its settings could run programs.",
        "If you trust it: `git config --global --add safe.directory DIR`.";
    Unverifiable = "unverifiable", Finding,
        "A recorded transition cannot be proven from what is here.",
        "The files or commits it rests on are not in this clone.",
        "Fetch the history: `git fetch --unshallow`, then run `orch audit` again.";
    Unwritten = "unwritten", Finding,
        "A file is a draft: texts in it are still to be written.",
        "`orch draft` wrote it, or somebody copied the draft, and texts, numbers or verdicts still begin with TODO.",
        "Write each of them, and remove what the file does not need. `orch check --json` lists the places.";
    Usage = "usage", Usage,
        "The command line or the request is wrong.",
        "An option or argument is unknown, missing, or conflicts with another.",
        "See `orch help COMMAND`, or for a request to `orch serve` the OpenAPI document, `/api/v1/openapi.json`.";
    Utf16 = "utf16", Finding,
        "A file is UTF-16.",
        "It was saved in another encoding.",
        "Save it as UTF-8.";
    WatchFailed = "watch-failed", Fault,
        "The files cannot be watched, or only with restrictions.",
        "The system limits the number of watches or open files, or the directory is gone.",
        "Raise the limit that the message names. `orch watch --once` works without watching.";
    WatchLimit = "watch-limit", Finding,
        "The system allows fewer watched directories than the tasks have.",
        "inotify needs a watch for each directory, and all programs of a user share the limit.",
        "`sudo sysctl fs.inotify.max_user_watches=1048576`. Otherwise `orch watch` polls.";
    WorkflowChanged = "workflow-changed", Finding,
        "The workflow has changed since the last transition.",
        "Its document was edited; the present one decides.",
        "No action is needed. `orch explain TASK` shows what it decides now.";
    WorkflowChangedLate = "workflow-changed-late", Finding,
        "A rule on `.changed` comes after a rule that moves on.",
        "The first rule that fires decides, so the change would be noticed too late.",
        "Put rules on `.changed` before rules on verdicts.";
    WorkflowCoveredRule = "workflow-covered-rule", Finding,
        "A rule never fires.",
        "An earlier rule always fires when this one would.",
        "Put the narrower rule first, or remove it.";
    WorkflowDeadEnd = "workflow-dead-end", Finding,
        "A phase cannot be left.",
        "No rule leads out of it, and it is not terminal.",
        "Add a rule, or set `terminal = true`.";
    WorkflowDiagram = "workflow-diagram", Finding,
        "The diagram of a workflow does not show its rules.",
        "The rules were changed after the diagram was drawn.",
        "Run `orch workflow fmt NAME` to redraw it.";
    WorkflowDuplicate = "workflow-duplicate", Usage,
        "A name is used twice in a workflow.",
        "Two phases, artifacts, rules, actions or definitions share it, or an alias repeats a phase name.",
        "Choose another name.";
    WorkflowEmpty = "workflow-empty", Usage,
        "A workflow declares no phases.",
        "Its document has no `toml orch` block with phases.",
        "Write `toml orch` after the opening backticks, and declare a `[phase.NAME]`.";
    WorkflowFaulty = "workflow-faulty", Usage,
        "The workflow has errors, so no task can be evaluated with it.",
        "Its document or a schema that it names is wrong.",
        "`orch workflow check NAME` lists the errors.";
    WorkflowMissing = "workflow-missing", Usage,
        "There is no workflow with this name.",
        "orch.toml or a state names a workflow that neither ships with orch nor is in `system/workflows`.",
        "Correct the name; `orch workflow list` shows those that exist.";
    WorkflowMissingAgent = "workflow-missing-agent", Usage,
        "There are no agent instructions with this name.",
        "No file of this name is in `system/agents`.",
        "Write it, or use one of the names that the hint lists.";
    WorkflowMissingKey = "workflow-missing-key", Usage,
        "A required key is missing in a workflow.",
        "Every rule has `id`, `from`, one outcome and `because`; every artifact has `path` or `tree`.",
        "Add the key.";
    WorkflowMissingSchema = "workflow-missing-schema", Usage,
        "There is no schema with this name.",
        "No file of this name is in `system/schemas`.",
        "Write it, or use one of the names that the hint lists.";
    WorkflowName = "workflow-name", Usage,
        "A name in a workflow has characters that it may not have.",
        "Names become parts of expressions, paths and commit messages.",
        "Choose a name of letters, digits and underscores.";
    WorkflowNoAbort = "workflow-no-abort", Finding,
        "A workflow runs actions, but no rule reads their failures.",
        "When an action is given up, the task would wait forever.",
        "Add a rule on `run.errors`.";
    WorkflowOutcome = "workflow-outcome", Usage,
        "A rule does not have exactly one outcome.",
        "It has none or several of `to`, `run`, `wait` and `choose`, or a key that its outcome does not allow.",
        "Keep one of them and write a second rule for the other.";
    WorkflowSyntax = "workflow-syntax", Usage,
        "The `toml orch` blocks of a workflow are not TOML.",
        "All blocks form one TOML text; often a table is declared twice.",
        "Correct the line that the finding names.";
    WorkflowUnknownAction = "workflow-unknown-action", Usage,
        "A rule names an action that does not exist.",
        "The name is misspelled, or the action was removed.",
        "Use one of the names that the hint lists.";
    WorkflowUnknownArtifact = "workflow-unknown-artifact", Usage,
        "A phase or rule names an artifact that does not exist.",
        "The name is misspelled, or the artifact was removed.",
        "Use one of the names that the hint lists.";
    WorkflowUnknownAsk = "workflow-unknown-ask", Usage,
        "A rule names a question that does not exist.",
        "The name is misspelled, or the question was removed.",
        "Use one of the names that the hint lists.";
    WorkflowUnknownKey = "workflow-unknown-key", Usage,
        "A workflow has a key that does not exist.",
        "The key is misspelled, or is in the wrong table.",
        "Use the key that the hint names, or remove it.";
    WorkflowUnknownPhase = "workflow-unknown-phase", Usage,
        "A rule names a phase that does not exist.",
        "The name is misspelled, or the phase was removed.",
        "Use one of the names that the hint lists.";
    WorkflowUnproduced = "workflow-unproduced", Finding,
        "No phase produces an artifact.",
        "The artifact is never used up, so it stays fresh forever.",
        "Name it under `produces` or `may_produce` of a phase.";
    WorkflowUnreachablePhase = "workflow-unreachable-phase", Finding,
        "No rule leads to a phase.",
        "The rules towards it were removed or are misspelled.",
        "Add a rule that leads to it, or remove it.";
    WorkflowUnusedAction = "workflow-unused-action", Finding,
        "No rule runs an action or offers it.",
        "The rules that named it were removed.",
        "Name it in `run` or `choose` of a rule, or remove it.";
    WorkflowUnusedAsk = "workflow-unused-ask", Finding,
        "No rule asks a question.",
        "The rules that named it were removed.",
        "Name it in `ask` of a rule with `wait`, or remove it.";
    WorkflowValue = "workflow-value", Usage,
        "A value in a workflow is of the wrong type or has no meaning there.",
        "The key expects another type, or one of a few words.",
        "Correct the value; the message says what is expected.";
    YamlSyntax = "yaml-syntax", Finding,
        "A file is not one valid YAML 1.2 document that JSON can represent.",
        "The document has a syntax error, a duplicate key, a key that is no scalar, or an infinite number; it nests deeper than 128 levels; or another document follows.",
        "Correct the document at the place that is named.";
}
