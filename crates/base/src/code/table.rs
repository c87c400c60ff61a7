//! The table of all codes, sorted by text: what each means, how it arises and what to do.
//!
//! Codes are public: scripts compare them, so the meaning of a text never changes. `docs/codes.md` and `orch
//! help CODE` print this table.

use super::{Class, CodeEntry};

codes! {
    ActionGivenUp = "action-given-up", Finding,
        "orch gave up an action because it kept failing.",
        "It failed as many times in a row as the workflow allows, or its executor reported that trying again cannot \
         help. The message describes the last failure.",
        "Fix the cause. `errors` in `state.json` records it, with the exit code, the time limit and the last lines \
         of output. The full output is in `.orch/logs` of the task.";
    AgentContextTooLong = "agent-context-too-long", No,
        "An agent program was given more than its model can read.",
        "The prompt, or the conversation, has become longer than the model allows. Another try would end the same way.",
        "Shorten the files of the task or split the work, or use a model that can read more.";
    AgentFile = "agent-file", Finding,
        "orch left a file of an agent program alone.",
        "orch cannot change its part of the file safely: the file is not valid, the place already holds another \
         value, or someone has edited the part since orch wrote it.",
        "Make the change by hand as the hint says, or undo the edit and run `orch init --agent` again.";
    AgentNoCredit = "agent-no-credit", No,
        "The account of an agent program has no credit.",
        "The service refused the work until somebody pays. Another try would end the same way, so the run has ended, and \
         nothing counts as a failure.",
        "Add credit to the account, then run `orch run TASK`.";
    AgentNotAllowed = "agent-not-allowed", No,
        "The service of an agent program does not allow the work.",
        "The account, or the organization, may not use the model or the service (HTTP 403).",
        "Use an account that may, or another model, then run `orch run TASK`.";
    AgentNotFound = "agent-not-found", No,
        "The service of an agent program does not know what was asked for.",
        "There is no such model, or the address of the service is wrong (HTTP 404).",
        "Correct the name of the model, or the address, then run `orch run TASK`.";
    AgentNotSignedIn = "agent-not-signed-in", No,
        "An agent program is not signed in.",
        "There is no key or token, or the service refused it (HTTP 401).",
        "Sign in with the program itself, or give it a valid key, then run `orch run TASK`.";
    AgentOptionUnknown = "agent-option-unknown", Usage,
        "An agent program does not know an option that it was started with.",
        "The program printed nothing but an error about its command line.",
        "Correct `command` under `[executor.*]` in orch.toml.";
    AliasTaken = "alias-taken", No,
        "The git alias already has another meaning.",
        "`orch init --log-alias` found an alias with this name in the git configuration. It never overwrites one.",
        "Choose another name for the alias, as the hint says.";
    AmbiguousTask = "ambiguous-task", Usage,
        "Several tasks are meant, but the command works on one.",
        "The name is a pattern, or the beginning of several task ids; or no task is named, and several are open.",
        "Name one of the tasks that the hint lists, or that `orch status` lists.";
    AmendedEvidence = "amended-evidence", Finding,
        "An amended commit would contain files that its step never saw.",
        "HEAD records a step of the task, and a staged file of one of its artifacts differs from the one in HEAD. \
         `git commit --amend` would add the new version to the commit of a step that judged the old one.",
        "Commit the file separately, without `--amend`. You may still amend code, the author, the signature and the \
         wording of the message.";
    AnswerLate = "answer-late", Busy,
        "`orch serve` did not answer a request in time.",
        "The command was waiting for a lock of another process, or had a lot to read. An order continues without its \
         client and may still take effect.",
        "After an order, check the task, its log or the events before you send it again. After a query, ask for less.";
    ArtifactBelow = "artifact-below", Finding,
        "A test report is in a subdirectory that orch does not read.",
        "The test runner writes to a directory of its own, or to one per module.",
        "Let the runner write to the directory itself, or use `**` in the path of the artifact.";
    ArtifactElsewhere = "artifact-elsewhere", Finding,
        "A file does not count because another file of the same artifact takes precedence.",
        "An artifact may list several paths. orch reads the first one that exists.",
        "Remove one of the two files.";
    ArtifactMisplaced = "artifact-misplaced", Finding,
        "A file that the task needs is in a directory above the task.",
        "Paths in a workflow are relative to the directory of the task, not to the root of the repository.",
        "Move the file to the path that the finding names.";
    ArtifactUnknown = "artifact-unknown", Usage,
        "The record of a task names an artifact that its workflow does not define.",
        "The artifact was renamed or removed from the workflow after the task had recorded it. Nothing moves, \
         because evidence that was used up would count again, and edits would go unnoticed.",
        "If it was renamed, add the old name to the `aliases` of the artifact. If it was removed, add it to \
         `forgets` in `[workflow]`.";
    BadHookInput = "bad-hook-input", Usage,
        "orch cannot read the input of an agent hook.",
        "It is not the JSON document that the agent program documents for this event, or it is not UTF-8.",
        "Nothing was blocked. Update orch or the program; the schemas are in `system/schemas/input`.";
    BadPath = "bad-path", Usage,
        "A path is outside the repository or malformed.",
        "It is absolute, contains `..` or a backslash, or is not UTF-8.",
        "Give a path relative to the root of the repository, with `/` between its parts.";
    BadRefs = "bad-refs", Usage,
        "A line on stdin does not have the form `OLD NEW REF`.",
        "`orch check --stdin-refs` reads what git passes to pre-push and pre-receive hooks.",
        "Call it from such a hook, or write one line per ref as described in githooks(5).";
    BadTaskId = "bad-task-id", Usage,
        "A name is not a valid task id.",
        "A name on the command line, or of a directory below a root, is one that an id may not have, such as \
         `state.json` or a name with spaces.",
        "Choose a name of letters, digits, `-`, `_` and `.`, as the hint suggests, or rename the directory.";
    BareRepository = "bare-repository", Usage,
        "The repository has no work tree.",
        "orch was started inside a bare repository, where there are no files to evaluate.",
        "Run it in a work tree: `git worktree add DIR`. To look at a commit, clone the repository.";
    BodyNotJson = "body-not-json", Usage,
        "The body of a request to `orch serve` is not declared as JSON.",
        "The request has a body, but its `Content-Type` is not `application/json`.",
        "Send `Content-Type: application/json`, or no body if no argument is needed.";
    BothFinished = "both-finished", No,
        "Two branches finished the same task with different evidence.",
        "Each branch moved the task to a terminal phase before they were merged.",
        "Choose the side to keep: `orch resolve TASK --ours --reason WHY`, or `--theirs`.";
    BranchMoved = "branch-moved", Moved,
        "The branch moved while orch was working, so nothing was written.",
        "Another process committed to, switched or reset the branch at the same time.",
        "Run the command again. It evaluates the task on the new commit.";
    BranchProtected = "branch-protected", Held,
        "orch does not commit on this branch.",
        "`[git] protected` in orch.toml matches the branch that is checked out.",
        "Switch to another branch: `git switch -c NAME`. To allow commits here, change `[git] protected`.";
    BranchTaken = "branch-taken", Held,
        "The current branch has no commits yet, and git cannot create it.",
        "Its name clashes with that of another branch: `a` and `a/b` cannot both exist.",
        "Switch to a branch with another name: `git switch -c BRANCH`.";
    BriefExists = "brief-exists", No,
        "The task already has a different brief.",
        "`orch new --brief` never overwrites a file.",
        "Edit the existing file, and leave out `--brief`.";
    Busy = "busy", Busy,
        "Another process holds a lock that orch needs.",
        "Another orch, a git command or an editor is writing to the same repository or working on the same task.",
        "Try again. If no such process is running, the message names the lock file to remove.";
    ByHuman = "by-human", Person,
        "A step needs a person, but no person ordered it.",
        "The step goes against the rules, or its rule has `by = \"human\"`, and the caller is an agent, a program \
         without a terminal, or a plain `orch next`.",
        "Ask a person to type the command in the hint at a terminal. `[people]` in orch.toml says how orch \
         recognises a person.";
    ByteOrderMark = "byte-order-mark", Finding,
        "A file begins with a byte order mark.",
        "An editor saved it as UTF-8 with a byte order mark.",
        "Save it as UTF-8 without one.";
    CannotListen = "cannot-listen", Usage,
        "`orch serve` cannot listen on this address.",
        "Another program is listening there, the address does not belong to this machine, or the port requires \
         privileges.",
        "Choose another address: `orch serve --listen 127.0.0.1:0` takes any free port.";
    CannotStart = "cannot-start", Usage,
        "orch cannot start the command of an executor.",
        "The program does not exist or is not executable, or the settings of the executor contradict each other.",
        "Correct `command` under `[executor.*]` in orch.toml, or give a command: `orch run TASK -- COMMAND`.";
    CommitOpen = "commit-open", Busy,
        "A `git commit`, `revert` or `cherry-pick` is in progress: an editor is open, a hook is running, or git is \
         still working.",
        "If the branch moved now, that commit would fail.",
        "Finish or abort that commit, then try again.";
    ConfigSyntax = "config-syntax", Usage,
        "orch.toml is not valid TOML.",
        "The file has a syntax error or defines a key twice.",
        "Correct the line that the message names.";
    ConfigUnknownKey = "config-unknown-key", Usage,
        "orch.toml has a key that looks like a misspelling.",
        "orch does not know the key, but it knows one with a similar name.",
        "Correct the name, or remove the key.";
    ConfigUnreadable = "config-unreadable", Usage,
        "orch cannot read a configuration file.",
        "It is missing, is not a regular file, has the wrong permissions, or is not UTF-8. Or `orch.toml` in HEAD, \
         which decides who may order what and what is required, has an error that the file in the work tree does not \
         have.",
        "Correct its path, its permissions or its content. Commit the corrected `orch.toml`.";
    ConfigValue = "config-value", Usage,
        "A value in orch.toml has the wrong type or is out of range.",
        "The key expects another type, a number within limits, or the name of something that exists.",
        "Correct the value. The message says what is expected.";
    ConflictMarkers = "conflict-markers", NotNow,
        "A file contains merge conflict markers.",
        "A merge, rebase or stash left `<<<<<<<` lines that nobody has resolved.",
        "For the state of a task, run `orch resolve`. In other files, resolve the conflict and remove the markers.";
    ControlUnreadable = "control-unreadable", Finding,
        "orch cannot read a control request of a run, or the request is for another run.",
        "Something other than `orch pause` or `orch stop` wrote `control.json`, or orch could not remove the file of \
         an earlier run. The request has no effect.",
        "Send the request again: `orch pause TASK`, or `orch stop TASK`.";
    CostUnknown = "cost-unknown", Finding,
        "What a turn cost is not known.",
        "The executor was killed, at a time limit or on request, before it could report its cost.",
        "Look at the account of the service. The `cost` limit of the workflow counts only what is reported.";
    CoverageCounts = "coverage-counts", Finding,
        "The totals in a coverage report differ from the lines that it lists.",
        "A tool counted lines twice, merged reports, or left out some of the lines that it counted.",
        "Do nothing: the listed lines count, each once.";
    CoverageSyntax = "coverage-syntax", Finding,
        "A coverage report is damaged.",
        "It is truncated, other output was redirected into the file, or it is larger than orch reads.",
        "Write the report again, to a file of its own.";
    CreatedTwice = "created-twice", No,
        "The log of a task contains two tasks that were created under the same id.",
        "Two branches each created a task with this id, and git united their logs. orch joins tasks that have the \
         same title, or that took over the same state of another tool.",
        "Give one of them another id: `orch resolve TASK --rename-theirs NEW`, or `--rename-ours NEW`. If they are \
         the same task, keep one side: `orch resolve TASK --ours --reason WHY`, or `--theirs`.";
    CsvSyntax = "csv-syntax", Finding,
        "A file is not a valid CSV table.",
        "A record has a different number of fields than the first one, or two columns have the same name.",
        "Correct the record on the line that the finding names.";
    DecidedMeanwhile = "decided-meanwhile", Finding,
        "A person moved the task, or recorded another step, while an executor was working on it.",
        "Somebody approved or rejected it, or gave another order, during a turn of a run.",
        "Nothing: the run continues from the current phase. What the executor wrote may be out of date.";
    DecisionKept = "decision-kept", NotNow,
        "The file for a replaced decision already exists.",
        "An earlier `orch approve` or `orch reject` replaced a decision that was not in git, and kept the old \
         version in this file.",
        "Read the file, then move or remove it.";
    DecisionReplaced = "decision-replaced", Finding,
        "A decision replaced a file that was not in git.",
        "`orch approve` or `orch reject` wrote the decision over another version of the file.",
        "Look at the old version, `FILE.replaced`, and remove it.";
    DemoFailed = "demo-failed", Fault,
        "The demo could not be set up or played.",
        "orch cannot write to the directory, or a step of the demo was refused.",
        "Name a new directory: `orch demo DIR`. If that fails too, please report it.";
    DetachedHead = "detached-head", Held,
        "orch does not commit while HEAD is detached.",
        "A commit, a tag or a remote branch is checked out, so a commit would belong to no branch.",
        "Run `git switch BRANCH`, or set `[git] detached_head = true` in orch.toml.";
    DirectoryTaken = "directory-taken", Held,
        "HEAD has a file or submodule with the name of a directory of the task.",
        "A commit cannot contain a file and a directory with the same name.",
        "Commit the change that put the directory there, then try again.";
    DuplicateTask = "duplicate-task", Finding,
        "Two directories are tasks with the same id.",
        "The roots in orch.toml match both.",
        "Rename one of the directories, or narrow the roots.";
    EditorFailed = "editor-failed", No,
        "The editor failed, so no task was created.",
        "orch could not start the program in `VISUAL` or `EDITOR`, or the program ended with an error.",
        "Set `EDITOR` to a program that waits until the text is saved, or use `--brief FILE`.";
    Empty = "empty", Finding,
        "An artifact file is empty.",
        "It has no content, or only white space.",
        "Write it, or remove it.";
    EmptyBrief = "empty-brief", Usage,
        "The brief is empty, so no task was created.",
        "The file, stdin or the text in the editor is empty, or you left the text in the editor as it was.",
        "Write what you want, or leave out the option.";
    EvidenceGone = "evidence-gone", Finding,
        "The output of an earlier phase is gone or no longer valid.",
        "Someone deleted or damaged a file on which the task had left that phase.",
        "Restore the file: `git restore -s COMMIT -- FILE`, or write it again. A person can waive it with an override.";
    EvidenceIgnored = "evidence-ignored", NotNow,
        "git ignores a file that a transition depends on.",
        "A rule in .gitignore or in the exclude file matches it, so the commit could not contain the proof.",
        "Stop ignoring the file, or set `commit = false` for the artifact.";
    EvidenceOutdated = "evidence-outdated", NotNow,
        "A verdict or report on which the task left an earlier phase no longer matches what is there.",
        "Someone changed what it judged: the plan, or the code, in a commit that touches the files of the task.",
        "Have it judged again: `orch rollback TASK --to PHASE --reason WHY`. A person can accept it as it is: `orch \
         approve TASK --override WHY`.";
    EvidenceSparse = "evidence-sparse", NotNow,
        "A file that a transition depends on is not checked out.",
        "A sparse checkout or `--skip-worktree` leaves it out of the work tree.",
        "Check it out: `git sparse-checkout add DIR`, or `git update-index --no-skip-worktree FILE`.";
    EvidenceUnreadable = "evidence-unreadable", NotNow,
        "orch cannot read a file that a transition depends on.",
        "Its permissions forbid it, it is too large, or it is not a regular file.",
        "Run `orch check TASK` to see what is wrong with it.";
    FenceBroken = "fence-broken", No,
        "What held the fence of an executor was changed while it worked, so its turn was ended.",
        "Somebody outside replaced a file that the fence covered, for example with `git checkout` or `git config`; or \
         the executor came to another branch, or took commits away.",
        "Look at what the turn left with `git status` and `git log`, then run `orch run TASK`.";
    FenceLeft = "fence-left", No,
        "An executor made files beside the outputs of its phase, or commits hold what it could not write; the run ends if that is \
         not its to make.",
        "The files lie in the directory of an output, at a later path of it or at one of another phase, and did not exist, so \
         the fence could not cover them. A commit can be made without the files, with commands such as `git update-index \
         --cacheinfo`.",
        "Look at them, and remove the files, or take the commits back, if nobody else has made them.";
    FenceRefused = "fence-refused", No,
        "An executor could not write what it wanted to write, and the run came no further.",
        "Inside the fence everything is read-only but what the phase writes. The message names what was refused, as \
         far as the executor printed it.",
        "If the phase has to write it, name it in the workflow (`produces`, `touches`) or in `writes` under `[fence]` in \
         orch.toml; `fence = \"off\"` under `[executor.*]` works without a fence.";
    FilesExist = "files-exist", No,
        "Files that orch would write already exist.",
        "`orch workflow new` does not overwrite files.",
        "Choose another name, or overwrite them with `--force`.";
    FilesIncomplete = "files-incomplete", Finding,
        "A step is due, but more files from the same run may follow.",
        "A test runner writes several reports one after the other. `complete` in the artifact says when all of them \
         are there.",
        "Wait. If a file marks the end, let the runner write it.";
    ForeignRequest = "foreign-request", No,
        "`orch serve` refused a request from another site.",
        "The request names a host other than the server, or a page of another site sent it.",
        "Use the URL that `orch serve` printed. Behind a proxy, start it with `--host NAME`.";
    ForeignState = "foreign-state", No,
        "Another tool wrote one side of a merge.",
        "The state is not in the form that orch writes, so orch cannot merge it.",
        "Choose a side: `orch resolve TASK --ours --reason WHY`, or `--theirs`.";
    Forged = "forged", Finding,
        "A recorded transition is not what the rules yield.",
        "Someone changed `state.json` or `transcript.jsonl` by hand or with another program.",
        "Look at the commit with `git show`, and undo it with `git revert`.";
    FrontMatter = "front-matter", Finding,
        "orch cannot read the front matter of a Markdown file.",
        "The lines between the first two `---` are not a YAML mapping.",
        "Correct the line that the finding names. If the document is meant to begin with a horizontal rule, put an \
         empty line before it.";
    Gate = "gate", Finding,
        "A path may not change in the current phase of the task.",
        "The workflow allows other phases to change it (`touches`), and the task is in none of them.",
        "Do what the phase asks for: `orch suggest TASK`. Or name another task in the commit: `Orch-Task: ID`.";
    GenerationFailed = "generation-failed", No,
        "An executor was asked to propose tasks, but none were added.",
        "The executor failed, ran out of time or printed no JSON object; or its answer does not match the schema or \
         has more tasks than requested.",
        "Nothing was recorded, so you can try again. The output of the executor is in `.orch/logs/generate.log` of \
         the task. `orch schema ccw-loop-tasks` prints the schema of the answer.";
    Git = "git", Fault,
        "A git operation failed.",
        "libgit2 or the `git` command reported an error, which the message quotes.",
        "Read the message: often the disk is full, a file is not readable, or the repository is damaged (`git fsck`).";
    GitEnvironment = "git-environment", Usage,
        "The environment names a repository that orch cannot use.",
        "`GIT_DIR`, `GIT_WORK_TREE` or a related variable is set and does not match the current directory, or \
         `GIT_AUTHOR_DATE` or `GIT_COMMITTER_DATE` is no date for git.",
        "Unset the variable, or correct it: set `GIT_WORK_TREE` to the work tree of `GIT_DIR`.";
    GuardConstant = "guard-constant", Finding,
        "A guard compares a value with something that the value never is.",
        "The schema, the phases of the workflow or the format list what the value can be, and this is not among it: often a \
         slip, or a value that has another name now. Or the pattern of `matches` matches no text.",
        "Write one of the values that the hint lists.";
    GuardError = "guard-error", No,
        "orch could not evaluate the guard of a rule.",
        "The guard compares values of incompatible types, or reads a value that does not exist.",
        "Run `orch explain TASK` to see the failing part and its values. Then correct the guard or the artifact.";
    GuardField = "guard-field", Finding,
        "A guard reads a member that the data never has.",
        "The schema, or the format of the artifact, does not know it: the name is misspelled, or the member lies elsewhere. A \
         file with an unknown extension is read as text and has no members.",
        "Use one of the names that the hint lists, or set `format` of the artifact.";
    GuardFunction = "guard-function", Usage,
        "A guard calls a function that does not exist, or calls one in the wrong way.",
        "The name is misspelled, or the number of arguments is wrong.",
        "Call it as the hint says. `docs/workflows.md` lists the functions.";
    GuardLimit = "guard-limit", Usage,
        "A guard is too long or too deeply nested.",
        "The limits ensure that evaluating a task always ends quickly.",
        "Move parts of it to `[define]`, or to facts of an artifact.";
    GuardMayFail = "guard-may-fail", Finding,
        "A guard cannot be evaluated for some data that its schema allows.",
        "It reads a member that the schema does not require, uses what may be null, takes an item of a list that may be empty, \
         or divides by what may be 0. With such data, the task has a `guard-error`.",
        "Test it first, as the hint says, for example with `has(plan.data.score) &&`; or let the schema require it.";
    GuardNotBoolean = "guard-not-boolean", Usage,
        "A guard does not evaluate to true or false.",
        "The expression yields a number, a string or a list.",
        "Compare the value with something, for example `count(x) > 0`.";
    GuardPattern = "guard-pattern", Usage,
        "The pattern of `matches` in a guard is not valid.",
        "It is not a regular expression, it is too large, or it is computed instead of a string literal.",
        "Correct the pattern. Look-around and back-references are not supported, so that a match always ends quickly.";
    GuardSyntax = "guard-syntax", Usage,
        "A guard is not a valid CEL expression.",
        "An operator, a bracket or a quote is missing or in the wrong place.",
        "Correct it at the column that the message names. A valid guard looks like `plan.ready && plan.data.ok`.";
    GuardType = "guard-type", Finding,
        "A guard uses a value as if it had another type.",
        "It compares or computes with a value of another type, or passes one to a function. The values of a CSV file are \
         texts, for example.",
        "Compare values of the same type, or convert them with `int()`, `double()` or `string()`.";
    GuardUnasked = "guard-unasked", Finding,
        "A guard reads the data of an artifact that may not be there.",
        "It uses `.data` without checking `.ready` or `.valid` first, which can end in a `guard-error`.",
        "Put `NAME.ready &&` in front.";
    GuardUnknownName = "guard-unknown-name", Usage,
        "A guard uses a name or fact that does not exist.",
        "The name is misspelled, or the artifact or definition was removed.",
        "Use one of the names that the hint lists.";
    HookEdited = "hook-edited", No,
        "Someone edited the git hook that orch installed.",
        "Installing it again would lose these changes.",
        "Move your own lines to a hook in the directory that the hint names, remove the edited one, and install it again.";
    HookOutdated = "hook-outdated", Finding,
        "An installed hook is out of date.",
        "Another version of orch installed it, `[hook]` in orch.toml has changed since, or the file is not executable.",
        "Run `orch hook install` or `orch doctor --fix`.";
    HookReplaced = "hook-replaced", No,
        "Another hook replaced the one that orch installed.",
        "A tool overwrote the hook, and the earlier hook that orch had set aside is still there.",
        "Keep one of the two files, and install again.";
    HooksAbsent = "hooks-absent", Finding,
        "This clone has no hook of orch.",
        "git does not copy hooks when it clones, and nobody has run `orch hook install` here.",
        "Run `orch hook install` if commits should be checked before they are made.";
    HooksManaged = "hooks-managed", NotNow,
        "husky manages the hooks directory.",
        "husky rewrites `.husky/_` on every install, and each of its hooks looks up what to run by its own name. \
         Under another name, it runs nothing.",
        "Add the line in the hint to the hook in husky's own directory, such as `.husky/pre-commit`.";
    HooksMissing = "hooks-missing", Finding,
        "git is to take hooks from a directory that is not there, so no hook runs, and git does not say so.",
        "`core.hooksPath` is relative to each work tree, and the directory is made by a program such as husky. A new linked \
         work tree does not have it.",
        "Install the packages of the project in this work tree; in `[worktrees]`, let `setup` do it.";
    HooksShared = "hooks-shared", NotNow,
        "Other repositories share this hooks directory.",
        "`core.hooksPath` names a directory outside this repository, or the root of the work tree.",
        "Give this repository hooks of its own: `git config --local core.hooksPath .githooks`. Or call `orch check \
         --staged` from the shared hook.";
    IdReused = "id-reused", NotNow,
        "A new task has the id of an old one, whose record is still there.",
        "A tool that keeps each task in a file moved the old file away and gave its id to a new task. The record \
         belongs to the old task, so the new one cannot continue it.",
        "Archive the old record, then adopt the new task: `orch archive TASK --force WHY`, `orch new TASK`.";
    ImportInvalid = "import-invalid", Usage,
        "orch cannot import the state of an older tool.",
        "A value is not in the form that the older tool writes, so `[state.import]` in the workflow yields no valid \
         state.",
        "Correct the value that the message names, then run `orch new TASK` again. Until then, orch does not touch \
         the file.";
    Inconsistent = "inconsistent", Finding,
        "An artifact that the current phase builds on is missing or invalid.",
        "Someone removed or changed the file after the task had entered the phase.",
        "Restore the file, or go back: `orch rollback TASK --reason WHY`.";
    IndexBehind = "index-behind", Finding,
        "The index has an older record than HEAD and the work tree, or none, so the commit would undo a step.",
        "A `git` command read the index before a step and wrote it back afterwards, or someone unstaged the record \
         with `git reset COMMIT -- PATH`.",
        "Run the command in the hint. To undo the step on purpose: `git revert COMMIT`. To remove the task from git: \
         `git rm -r`.";
    InsideFence = "inside-fence", No,
        "The command would record something, and it was given inside the fence of an executor.",
        "Inside the fence of a run orch reads. What the executor leaves is recorded by the run, when its turn has ended.",
        "Write the files of the phase and end the turn.";
    Interrupted = "interrupted", Interrupted,
        "The command was interrupted.",
        "It received a signal, such as Ctrl-C, before it was done.",
        "Run it again.";
    Io = "io", Fault,
        "orch cannot read or write a file or directory.",
        "The disk is full, the permissions forbid it, or the file system is read-only.",
        "Fix what the message names. Nothing that was recorded is lost.";
    IsADirectory = "is-a-directory", Finding,
        "A path that should be a file is a directory.",
        "An artifact uses this path for a file.",
        "Remove the directory and write the file.";
    JsonBigInteger = "json-big-integer", Finding,
        "A JSON number is too large to be read exactly.",
        "Most programs round integers beyond 2^53.",
        "Write it as a string.";
    JsonDepth = "json-depth", Finding,
        "A JSON file is nested more than 128 levels deep.",
        "The limit ensures that reading always succeeds or fails cleanly.",
        "Make the structure flatter.";
    JsonDuplicateKey = "json-duplicate-key", Finding,
        "An object in a JSON file has the same key twice.",
        "Programs disagree about which one counts.",
        "Keep one of them.";
    JsonSyntax = "json-syntax", Finding,
        "A file is not valid JSON.",
        "A comma, quote or bracket is missing, or there is text after the end.",
        "Correct it at the line and column that the finding names.";
    JunitCounts = "junit-counts", Finding,
        "The totals in a JUnit report differ from its test cases.",
        "The attributes `tests`, `failures` or `errors` do not match the cases that are listed. Some runners always \
         do this: they count retries, subtests or tests that are still to be written.",
        "If the finding is a note, do nothing: the listed cases count. A warning means that a suite declares \
         failures that it does not list. They count, so find out what failed.";
    JunitSyntax = "junit-syntax", Finding,
        "A JUnit report is not well-formed XML.",
        "It is truncated, a tag is not closed, a text is not escaped, or other output was redirected into the file.",
        "Write the report again, to a file of its own.";
    LeaseDamaged = "lease-damaged", NotNow,
        "A lease, or the file of the owner of leases, is damaged.",
        "Something other than orch wrote it, or the disk lost a part.",
        "Read the message: it names the place. `orch take TASK --break WHY` ends a lease that cannot be read.";
    LeaseStore = "lease-store", Fault,
        "The store of leases cannot be used.",
        "It cannot be reached, refuses what orch asks for, or did not answer in time. Nothing is known of whether the last \
         change took place; orch reads again before it believes anything.",
        "Check the network, `[leases]` in orch.toml, and whether you may write there. Then try again.";
    LeasesUnshared = "leases-unshared", Usage,
        "The clones of a remote share no leases, so two of them would work on the same task.",
        "`orch work --remote` was given, and `[leases]` in orch.toml has the store `local`, which is the default.",
        "Write `store = \"git\"` under `[leases]` in orch.toml and commit it, or use the store `nats`. Then run `orch trust`.";
    LeftProcesses = "left-processes", Finding,
        "A process outlived the turn of its executor, and orch ended it.",
        "The executor left background processes running, or an earlier run was cut short.",
        "Let the executor wait for its child processes.";
    Livelock = "livelock", Finding,
        "The rules form a loop that uses up no evidence.",
        "Each rule of the loop fires on the same unchanged files.",
        "Change a rule so that it waits for something new. `orch explain TASK` names the phases.";
    LogChanged = "log-changed", NotNow,
        "A line of the log does not match its id.",
        "The line was edited, or damaged on disk.",
        "Restore the log: `git restore -- PATH`, or `orch recover TASK`.";
    LogIncomplete = "log-incomplete", NotNow,
        "An event in the log follows an event that is not there.",
        "Lines were removed from the log, or only some of them were copied.",
        "Restore the log: `git restore -- PATH`, or `orch recover TASK`.";
    LogInconsistent = "log-inconsistent", NotNow,
        "An event in the log contradicts the events before it.",
        "Its number, version or changes do not fit the events before it. orch never writes such an event.",
        "Restore the log: `git restore -- PATH`, or `orch recover TASK`.";
    LogInvalid = "log-invalid", NotNow,
        "A line of the log is not an event.",
        "Someone wrote the line by hand, or a crash truncated it.",
        "Restore the log: `git restore -- PATH`, or `orch recover TASK`.";
    LogNewer = "log-newer", NotNow,
        "A newer version of orch wrote an event in the log.",
        "The event has a version, kind or member that this orch does not know, so this orch cannot tell what follows \
         from it.",
        "Update orch: run `cargo install --path .` in a newer checkout, or update it the way you installed it.";
    Loosened = "loosened", Finding,
        "A range loosens the rules, the settings or a schema.",
        "It removes a rule or a requirement of a phase, lets agents do what only people could do, adds a program \
         that orch may start, excludes tasks, or makes a schema accept more. This is reported even if nothing has \
         used it yet.",
        "Review the lines that the finding names. With `--strict`, the check exits with 1 until they are reverted or \
         merged into the target.";
    MarkdownLimit = "markdown-limit", Finding,
        "A Markdown file has too many headings, check boxes, fields, named lines or placeholders.",
        "orch lists at most 10,000 of each.",
        "Split the file. Anything after the limit is not listed, but check boxes are still counted.";
    MergeDriver = "merge-driver", Finding,
        "This clone lacks the merge driver that the repository asks for.",
        "`.gitattributes` says that orch merges the states of tasks, but each clone has to register the program \
         itself. Without it, git merges states as text.",
        "Run `orch init --merge-driver` or `orch doctor --fix`.";
    MessageUnreadable = "message-unreadable", Usage,
        "orch cannot read the file with the commit message.",
        "`orch check --staged --message FILE` names a file that does not exist or is not readable.",
        "Name the file that git passes to the commit-msg hook.";
    MethodNotAllowed = "method-not-allowed", Usage,
        "A path of `orch serve` does not support this method.",
        "The `Allow` header of the answer lists the methods that it supports.",
        "See the paths and methods in `/api/v1/openapi.json`.";
    MigrationRefused = "migration-refused", No,
        "A task cannot move to the present version of its workflow.",
        "The map under `[migrate]` in the document would lead it forward.",
        "Let the map name a phase that does not come later than the one that was removed. `orch migrate --plan` shows all tasks.";
    NestedRepository = "nested-repository", Usage,
        "A directory of a task belongs to another repository.",
        "It is a submodule, or someone created or cloned a repository inside it.",
        "Work there with `orch -C DIR`, or move it out of the task.";
    NoBrief = "no-brief", Usage,
        "The workflow has no brief.",
        "`--brief` and `--edit` write the artifact `brief`, but the workflow does not declare one with a plain path.",
        "Leave out the option, or declare `[artifact.brief]` with `path = \"brief.md\"`.";
    NoDirectory = "no-directory", Usage,
        "The start directory does not exist.",
        "The argument of `-C` does not exist, or the current directory was removed.",
        "Name an existing directory with `-C`.";
    NoEarlierPhase = "no-earlier-phase", No,
        "There is no earlier phase to go back to.",
        "The task is in its first phase, or the needs of all earlier phases are unmet.",
        "Name an earlier phase with `--to`, or write the missing files. To start the phase again: `orch next TASK \
         --override REASON --to PHASE`.";
    NoExample = "no-example", No,
        "A schema or an artifact has no example.",
        "`orch schema NAME --example` prints the first entry of `examples`, and `orch new` writes a task file from \
         the `example` of its artifact. There is none.",
        "Add one to `examples` of the schema, or write the file and adopt it with `orch new`.";
    NoExecutor = "no-executor", Usage,
        "No executor is configured for this work.",
        "orch.toml has neither `[executor.NAME]` nor `[executor.default]` for it.",
        "Add one with its `command`, or give a command: `orch run TASK -- COMMAND`.";
    NoFence = "no-fence", Usage,
        "An executor has no fence around it.",
        "The system permits no namespaces, as in most containers; or the workflow does not say what the phase writes, or \
         writes it directly into the directory of the task. The message says which.",
        "Let the system permit it, or give the outputs a directory of their own. With `fence = \"required\"` under \
         `[executor.*]` in orch.toml the executor is not started; with `\"auto\"` it works without a fence.";
    NoGit = "no-git", Fault,
        "orch cannot find the `git` program.",
        "The operation needs the `git` command, which is not on the PATH.",
        "Install git. Without it, `suggest`, `explain`, `status` and `check` still work, and `[git] commit = \
         \"off\"` lets orch move tasks without committing.";
    NoIdentity = "no-identity", Held,
        "git does not know who you are.",
        "Neither the git configuration nor the environment gives a name and an email address.",
        "`git config user.name NAME && git config user.email MAIL`";
    NoReason = "no-reason", No,
        "A reason is missing.",
        "orch records the reason for an order against the rules. The one given has no visible character, or is the \
         placeholder `WHY` from a hint.",
        "Give a reason in your own words: `--reason 'the plan was wrong'`.";
    NoRemote = "no-remote", Usage,
        "A remote of the repository cannot be used.",
        "There is no remote of this name, or pushes to it go to several URLs, so that one could succeed and another fail.",
        "See `git remote --verbose`. Name another remote, or leave it one URL for pushes.";
    NoRepository = "no-repository", Usage,
        "There is no git repository here.",
        "Neither the start directory nor any directory above it is a git repository. orch can evaluate and move \
         tasks, but commits nothing.",
        "Run `git init`, or start orch elsewhere with `-C DIR`.";
    NoRoot = "no-root", Usage,
        "No root matches this task id.",
        "Each root in orch.toml is a pattern, and none of them matches the id.",
        "Add a `[[root]]`, or choose another id.";
    NoTerminal = "no-terminal", Usage,
        "The command needs a terminal.",
        "It has to ask for something that was not given as an option, and its input is not a terminal. Or it should \
         show a live status, and its output is not a terminal.",
        "Give the answers as options, or run it in a terminal.";
    NoTestRan = "no-test-ran", Finding,
        "A JUnit report lists no test that ran, so it proves nothing.",
        "All tests are skipped, disabled or not written yet, or a filter matched none.",
        "Run the tests that you meant to run, and write the report again.";
    NoTitle = "no-title", Usage,
        "The name of the task file contains its title, but no title was given.",
        "The `path` of the root in orch.toml contains `{title}`, and `orch new` was called without `--title`.",
        "Run `orch new ID --title TITLE`.";
    NoToken = "no-token", Person,
        "A request to `orch serve` has no valid token.",
        "The request has neither an `Authorization: Bearer TOKEN` header nor a cookie, or the tokens have changed.",
        "Open the URL that `orch serve` prints, or send a token from `orch/serve.json` in the git directory.";
    NoUpstream = "no-upstream", Usage,
        "The branch has no upstream, so there is nowhere to push.",
        "`orch verify --push` pushes what it records to the upstream of the branch.",
        "Run `git branch --set-upstream-to REMOTE/BRANCH`; in CI, `git checkout -B BRANCH origin/BRANCH` sets it.";
    NotAFile = "not-a-file", Finding,
        "A path that should be a file is something else.",
        "It is a pipe, a device, a socket or a directory.",
        "Remove it and write a regular file.";
    NotAPatch = "not-a-patch", Finding,
        "A file is not a patch.",
        "orch expects the form that `git diff` writes.",
        "Write it with `git diff > FILE`.";
    NotCounted = "not-counted", Finding,
        "An artifact file does not count, and nothing depends on it.",
        "A send-back used it up, it existed before what it judges was recorded, or what it judged has changed. The \
         message says which.",
        "Write it again, or name in `of` what it judged. A person can confirm it as it is: `orch confirm TASK \
         ARTIFACT`.";
    NotCoverage = "not-coverage", Finding,
        "A file is not a coverage report of the format that its artifact has.",
        "It has another root element, or no records of lcov. If orch recognises the format, the finding names it.",
        "Let the coverage tool write this format, or correct `format` of the artifact.";
    NotEarlier = "not-earlier", No,
        "The phase is not earlier than the current one.",
        "`orch rollback` only goes back.",
        "To go forward against the rules: `orch next TASK --override WHY --to PHASE`.";
    NotEmpty = "not-empty", Usage,
        "The directory is not empty.",
        "`orch demo` only writes to a new directory.",
        "Name a directory that does not exist yet.";
    NotEnabled = "not-enabled", No,
        "The rules do not lead to the requested phase.",
        "No rule that leads there fires now. The message names what is missing.",
        "Run `orch explain TASK`. To go there against the rules: `orch next TASK --override WHY --to PHASE`.";
    NotInClone = "not-in-clone", NotNow,
        "The requested data is not in this clone.",
        "A shallow or partial clone does not contain it, the file is a pointer of Git LFS, or it is too large to read.",
        "Fetch it: `git fetch --unshallow`, or `git fetch --refetch --no-filter`, or `git lfs pull`.";
    NotIndependent = "not-independent", Finding,
        "Nobody knows whether a verdict comes from someone other than the author of what it judges.",
        "The phase says `not_by`, and `[require] independent = true` in `orch.toml` enforces it. The same person, or \
         an agent in the same turn of a run, wrote both, or nobody saw who wrote the verdict or what it judges.",
        "Have another person or another turn give the verdict, as the hint says. If nobody saw who wrote it, `orch \
         approve`, a run, or a commit of its own gives it a known writer. If nobody saw who wrote what is judged, \
         change that and commit it yourself before the next step.";
    NotJunit = "not-junit", Finding,
        "A file is not a JUnit report.",
        "Its root element is neither `testsuites` nor `testsuite`. If orch recognises the format, the finding names \
         it.",
        "Let the test runner write a JUnit XML report, and keep other reports elsewhere.";
    NotLoopback = "not-loopback", Usage,
        "`orch serve` was asked to listen on an address that other machines can reach.",
        "`--listen` names an address that is not a loopback address.",
        "Listen on `127.0.0.1`, or add `--public` if other machines should reach the server.";
    NotLost = "not-lost", No,
        "No lost test has this name.",
        "`orch confirm --lost` names tests that passed at the base and are missing or skipped in the last result. One that \
         the plan names, or that was confirmed before, is not lost.",
        "Run `orch suggest TASK`, which lists them. `*` stands for any text in a name.";
    NotPresent = "not-present", No,
        "The artifact has no file.",
        "`orch confirm` can only confirm a file that exists.",
        "Write it first.";
    NotSarif = "not-sarif", Finding,
        "A file is not a SARIF log that can be judged.",
        "It is other JSON, it has another version than 2.1.0, or its results stand in other files.",
        "Let the linter write SARIF 2.1.0 into one file.";
    NotSpent = "not-spent", No,
        "The artifact needs no confirmation.",
        "It is fresh, or it is stale for a reason that a confirmation does not resolve.",
        "Run `orch explain TASK`. If the file should say something else, rewrite it.";
    NotTerminal = "not-terminal", No,
        "The task is not finished, so it cannot be reopened.",
        "`orch reopen` only works in a terminal phase.",
        "To go back from here: `orch rollback TASK --reason REASON`. To start the first phase again: `orch next TASK \
         --override REASON --to PHASE`.";
    NotUtf8 = "not-utf8", Finding,
        "A file is not UTF-8.",
        "It was saved in another encoding.",
        "Save it as UTF-8.";
    NothingAsked = "nothing-asked", NotNow,
        "There is no question to answer.",
        "The task is waiting for something else, or someone has already answered.",
        "Run `orch suggest TASK` to see what it waits for.";
    NothingMeasured = "nothing-measured", Finding,
        "A coverage report or a SARIF log measured nothing, so it proves nothing.",
        "The tests executed none of the measured code, or the tool did not look for results.",
        "Measure what you meant to measure, and write the report again.";
    NothingToApply = "nothing-to-apply", NotNow,
        "There was nothing to record.",
        "The task changed between the decision and the write.",
        "Run `orch suggest TASK`, and decide again.";
    NothingToDraft = "nothing-to-draft", NotNow,
        "There is nothing to draft.",
        "No file is missing, the file already exists, a program writes it, or the workflow has no example of it.",
        "Edit the existing file, replace one that does not count (`--force`), or name another artifact: `orch draft \
         TASK ARTIFACT`.";
    NothingToJudge = "nothing-to-judge", Usage,
        "There is nothing to judge, although something suggests that there should be.",
        "A root in orch.toml matches no task although git has records outside all roots, a root is a symbolic \
         link, a range has no commits, orch is not set up here, or orch was started outside the repository.",
        "Correct `path` of the root, list directories that are not tasks in its `exclude`, give another range, run \
         `orch init`, or start orch in the repository with `-C DIR`.";
    NothingToUndo = "nothing-to-undo", NotNow,
        "There is no order to undo.",
        "Nobody has given an order, or work was recorded or branches were merged since the last one.",
        "Look at `orch log TASK`. `orch rollback` goes back and keeps the work; `git revert` undoes a commit.";
    NotifyFailed = "notify-failed", Finding,
        "A notification could not be delivered.",
        "A program of `[[notify]]` in orch.toml could not be started, failed or took too long, or too many were \
         waiting.",
        "Correct `command` or `time_limit` of the entry that the message names. The task is not affected.";
    NulByte = "nul-byte", Finding,
        "A file contains a NUL byte.",
        "It is binary, or a crash truncated it.",
        "Write it as text.";
    OperationOpen = "operation-open", Held,
        "git is in the middle of an operation.",
        "A merge, rebase, cherry-pick, revert or bisect is unfinished, and a commit by orch would become part of it.",
        "Finish or abort it. The hint names the command.";
    OtherObjectFormat = "other-object-format", Finding,
        "The record of a task uses object ids of another format than this repository.",
        "The directory comes from a repository with SHA-1 ids, and this one has SHA-256 ids, or the reverse. Or the \
         task is older than this repository.",
        "`orch new TASK` adopts a task whose record is in no commit. Otherwise create a new task with `orch new ID`, \
         and move everything there except state.json and transcript.jsonl.";
    OtherWorkflow = "other-workflow", No,
        "Two branches use different workflows for the same task.",
        "One of them changed the workflow that the state names.",
        "Choose a side: `orch resolve TASK --ours --reason WHY`, or `--theirs`.";
    OthersChanged = "others-changed", Finding,
        "Other commits have changed the code since it was judged, but nothing that this task touches.",
        "Other tasks change the same tree.",
        "Nothing. To have it judged again anyway: `orch rollback TASK --to PHASE --reason WHY`.";
    OwnFileFiltered = "own-file-filtered", Finding,
        "A git filter changes the files that orch writes.",
        ".gitattributes applies `filter` or `ident` to `state.json` or `transcript.jsonl`, so git shows them as \
         modified.",
        "Exclude them at the end of .gitattributes: `FILE -filter -ident`.";
    OwnFilesChanged = "own-files-changed", Finding,
        "Files of orch changed while an executor was working.",
        "The executor edited or removed `state.json`, the record of its run, or logs. This gains nothing: the log is \
         the record of the task, and the run relies on what it already knows.",
        "Nothing. To see what the executor did, look at `git diff` and its log.";
    PatchCut = "patch-cut", Finding,
        "A patch was truncated, or one of its hunks was edited by hand.",
        "A hunk has more or fewer lines than its header `@@ -a,b +c,d @@` says.",
        "Write the whole diff again with `git diff > FILE`.";
    PathNotUtf8 = "path-not-utf8", Finding,
        "A path is not UTF-8.",
        "The name of a file or directory uses another encoding. orch ignores the file.",
        "Rename it.";
    PhaseAlias = "phase-alias", Finding,
        "The recorded phase has a new name.",
        "The workflow lists the recorded name among the `aliases` of a phase.",
        "Nothing. The next transition records the new name.";
    RecordElsewhere = "record-elsewhere", NotNow,
        "A directory contains the record of another task.",
        "Someone moved or copied the directory of a task by hand. Only `orch rename` gives a task another id; \
         adopting the record would forge it.",
        "Run the commands in the hint: move the task back and rename it, or start the copy again without \
         `state.json` and `transcript.jsonl`.";
    RecordLost = "record-lost", NotNow,
        "The log of the task is gone.",
        "`transcript.jsonl` was deleted or emptied although `state.json` or HEAD says that there was one, or a \
         commit removed it and kept the other files of the task.",
        "Restore it: `git restore -- PATH`, or `orch recover TASK`.";
    RefsMoved = "refs-moved", Finding,
        "References other than the branch of a run moved while its executor worked inside a fence.",
        "The executor moved them, for example with `git update-ref` or `git tag`, or somebody else did: a fence cannot close \
         references, and git does not say who moved one.",
        "If nobody you know has moved them, move them back: `git reflog REFERENCE` says where they were.";
    RefsUnreadable = "refs-unreadable", Usage,
        "orch cannot read the list of refs.",
        "`orch check --stdin-refs` could not read its standard input as text.",
        "Call it from a pre-push or pre-receive hook.";
    Refused = "refused", No,
        "orch refused the answer or the result.",
        "It does not fit what the task asks for now, or the schema of the state rejects it.",
        "Run `orch suggest TASK`, and give what it asks for.";
    RelationCycle = "relation-cycle", Finding,
        "Tasks wait for one another, or are part of one another, in a circle.",
        "A task waits for those that it names in `after`, and for its parts if its workflow reads `children`. The last \
         relation closed a circle, or a merge joined two that are none by themselves.",
        "Take one of the relations away. The finding names the path and a command, `orch relate`.";
    RelationUnknown = "relation-unknown", Finding,
        "A task is related to a task that does not exist.",
        "The id is misspelled, or the task was removed, or is only on another branch.",
        "Correct the id, or take the relation away. The finding names a command, `orch relate`.";
    RelationsFollow = "relations-follow", Finding,
        "Other tasks name a task by its new id.",
        "The task was renamed, and they waited for it or were part of it.",
        "Nothing. Each of them has a step that says so.";
    RemovedAndMoved = "removed-and-moved", NotNow,
        "One branch removed a task, and the other moved it.",
        "git leaves a file in conflict that only one side has.",
        "Decide: `git add FILE` keeps it, `git rm FILE` removes it.";
    RepositoryInsideTask = "repository-inside-task", NotNow,
        "A task contains another repository.",
        "Someone created or cloned a repository in the directory of the task, so a commit cannot contain its files.",
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
        "`requires` of the phase names a file, such as a specification, that was never written, or was removed or \
         renamed.",
        "Write the file, or correct `requires` in the workflow.";
    ResultUnsaved = "result-unsaved", Finding,
        "The result of an executor could not be saved safely to disk.",
        "Writing or syncing it failed. It still counts for the current run.",
        "Check the disk. If the machine stops now, the work may have to be done again.";
    Resumed = "resumed", Finding,
        "A run uses a result that was ready before the run began.",
        "An earlier run was cut short after its executor had finished.",
        "Nothing.";
    RootProposed = "root-proposed", Finding,
        "Another program keeps tasks here, and no root names them.",
        "`orch init` found `openspec/`, `.specify/`, `backlog/` or `.backlog/`, and `orch.toml` has no root for the tasks \
         in it.",
        "If they are to be tasks of orch too, add the `[[root]]` that the hint shows, or uncomment it in a new \
         `orch.toml`, and run `orch init` again. Otherwise ignore the note.";
    RulesChanged = "rules-changed", Finding,
        "A range changes rules, settings, a schema or what an agent program runs, and may loosen them.",
        "The two texts alone do not tell whether a guard, the order of rules, a path or a hook now permits more than \
         before.",
        "Review the lines that the finding names. With `--strict`, the check exits with 1 until they are reverted or \
         merged into the target.";
    RunFailed = "run-failed", Finding,
        "The last run of the task failed, and nothing has been recorded since.",
        "The agent of the phase failed too many times in a row. The message describes the last failure.",
        "Fix the cause, then run `orch run TASK`. The output of the executor is in `.orch/logs` of the task.";
    RunInterrupted = "run-interrupted", Finding,
        "The process that drove the run is gone.",
        "It was killed, or the machine stopped. The run continues after the last recorded step.",
        "Run `orch run TASK`.";
    RunLog = "run-log", Finding,
        "orch could not write the log of an executor.",
        "The disk is full, or the directory is not writable.",
        "Check the disk. The run itself is not affected.";
    RunUnreadable = "run-unreadable", Usage,
        "orch cannot read the record of a run.",
        "`run.json` was edited, truncated, or written by a newer version.",
        "Remove the file that the message names. The next run starts from scratch.";
    RunUnrecorded = "run-unrecorded", Finding,
        "orch could not record the start of an executor.",
        "It cannot write `run.json` in `.orch` of the task.",
        "Check the disk and the permissions of the directory.";
    RunWaits = "run-waits", Finding,
        "The last run of the task is waiting for a person.",
        "An executor reported `needs_input`, or gave an order that only a person may give. The message says which.",
        "Put the answer where the executor reads it, or give the order yourself. Then run `orch run TASK`.";
    SchemaCycle = "schema-cycle", Finding,
        "A part of a schema only refers to itself.",
        "Following `$ref` leads back to the same place, so no value could ever be validated.",
        "Say what the value must be, or remove the reference.";
    SchemaDraft = "schema-draft", Finding,
        "A schema is written for an earlier draft of JSON Schema.",
        "orch reads all schemas as 2020-12. The keyword that the finding names means something else there, or nothing.",
        "Write the schema for 2020-12. The hint says what has taken the place of the keyword.";
    SchemaExample = "schema-example", Finding,
        "A schema rejects its own example.",
        "Someone changed the schema or the example without the other.",
        "Correct one of the two.";
    SchemaFormat = "schema-format", Finding,
        "A schema names a format that is not checked.",
        "The name is misspelled, or orch does not know the format. Any text is accepted.",
        "Use the format that the hint names, or add a `pattern`.";
    SchemaInvalid = "schema-invalid", Finding,
        "orch cannot use a schema.",
        "It is not JSON, or not a valid JSON Schema.",
        "Correct it at the place that the finding names.";
    SchemaKeyword = "schema-keyword", Finding,
        "A key of a schema is not a JSON Schema keyword.",
        "It is probably misspelled, and would be ignored.",
        "Use the keyword that the hint names.";
    SchemaMismatch = "schema-mismatch", Finding,
        "A value does not match the schema of its artifact.",
        "The value here has another type or form than the schema requires, or a required key is missing.",
        "Correct the value. `orch schema NAME` prints the schema, and `--example` prints an example.";
    SchemaRemoteRef = "schema-remote-ref", Finding,
        "A schema refers to another document.",
        "A `$ref` names a URL or a file. orch only follows references within the document.",
        "Copy that part to `$defs`, and refer to it there.";
    ServerReadOnly = "server-read-only", NotNow,
        "`orch serve` was started in read-only mode.",
        "The request is an order, and the server was started with `--read-only`.",
        "Start `orch serve` without `--read-only`, or give the order on the command line.";
    SettingsChanged = "settings-changed", Finding,
        "Settings changed while an executor was working.",
        "The executor or someone else edited `orch.toml`, a workflow, a schema, an instruction, or settings or hooks \
         of git. The run keeps the orch settings that it began with. Changes to git settings take effect at once.",
        "Look at the change: `git diff HEAD -- orch.toml system`, `git config --show-origin --list` and `ls -l \
         .git/hooks`. The next command uses what the files say then.";
    SigningFailed = "signing-failed", Held,
        "orch cannot sign the commit.",
        "`commit.gpgSign` is on, and the signing program failed, asked for a passphrase or did not end in time. orch \
         never makes an unsigned commit instead.",
        "Correct `user.signingKey` and `gpg.format`, or unlock the key. To sign nothing here: `git config \
         commit.gpgSign false`.";
    SkillDropped = "skill-dropped", Finding,
        "A part of a skill configuration has no effect in the generated workflow.",
        "It is set elsewhere in orch, for example in orch.toml, or not supported.",
        "Set it where the finding says, or ignore the warning.";
    SkillEffect = "skill-effect", Finding,
        "An effect of an action does not name a field of the state.",
        "The name is misspelled, which is an error. Or the effect is prose, which lets the action change nothing.",
        "Use the name in the hint, or list the fields that the action changes. Without `effects`, it may change all \
         of them.";
    SkillExpression = "skill-expression", Finding,
        "orch rejected a condition of a skill configuration.",
        "It cannot be translated, compares different types, or names an unknown field.",
        "Correct the condition at the place that the message names.";
    SkillKey = "skill-key", Finding,
        "A key of a skill configuration is unknown or missing.",
        "It is misspelled, or belongs elsewhere.",
        "Use the key that the hint names.";
    SkillName = "skill-name", Finding,
        "A name in a skill configuration cannot be used.",
        "Another field or action has this name, or conditions could not refer to it.",
        "Choose another name.";
    SkillRepeats = "skill-repeats", Finding,
        "An action may run again although it does not say what it changes.",
        "It lists no `effects`, and its preconditions read the state. If it changes nothing that they read, the run \
         stalls.",
        "List its `effects`. The action runs once unless they contain a field of its preconditions.";
    SkillSpec = "skill-spec", Finding,
        "A specification that a skill configuration names does not exist.",
        "`specs` lists a file that is not in the repository.",
        "Write the file, or remove it from `specs`.";
    SkillType = "skill-type", Finding,
        "The type of a field is unknown.",
        "orch does not know the type, so the field accepts any value.",
        "Use a known type, for example `string`, `number` or `boolean`.";
    SkillValue = "skill-value", Finding,
        "A value in a skill configuration is missing or has the wrong type.",
        "A required list, object or text is missing or has another type.",
        "Correct the value at the place that the finding names.";
    StagedInTask = "staged-in-task", NotNow,
        "The directory of a task cannot move because some of its files are staged.",
        "`orch rename` and `orch archive` move what is in HEAD, and leave staged changes alone.",
        "Commit or unstage the changes, as the hint says.";
    StagedOther = "staged-other", Finding,
        "Another version of a committed file is still staged.",
        "You had staged other content than the transition recorded. It stays staged.",
        "Commit it, or unstage it with `git restore --staged FILE`.";
    StateDefaults = "state-defaults", Finding,
        "The state schema rejects the initial values of a new task.",
        "A default is missing or has the wrong type.",
        "Correct the defaults or the schema under `[state]` of the workflow.";
    StateEdited = "state-edited", Finding,
        "Someone edited `state.json` by hand; the log decides.",
        "Its seal is broken, or it differs from the log.",
        "Nothing: the next transition rewrites it. To change a state, use the commands of orch.";
    StateFolded = "state-folded", Finding,
        "orch computed the state from the log because `state.json` is out of date.",
        "A merge or a rebase changed it, it has conflict markers, or it was deleted.",
        "Nothing: the next transition rewrites it. During a merge, run `orch resolve`.";
    StateImported = "state-imported", Finding,
        "`state.json` comes from an older tool, and `orch new` imports it.",
        "The workflow declares `[state.import]`, and the file has the members that this table names.",
        "Import it: `orch new TASK`. What the message lists has no place in the workflow. It stays in the original \
         file, which git keeps.";
    StateInvalid = "state-invalid", NotNow,
        "`state.json` is not in the form that orch writes.",
        "A value is missing or has the wrong type, often because someone edited the file by hand.",
        "Restore it from git: `git restore FILE`, or rebuild it: `orch recover TASK`.";
    StateLayout = "state-layout", Finding,
        "Only the layout of `state.json` differs from what orch writes.",
        "A formatter or an editor changed white space, the order of members or escapes. The values match the log.",
        "Nothing: the next transition rewrites it. To keep formatters away, run `orch init`.";
    StateSchema = "state-schema", NotNow,
        "The next state would violate the schema of the workflow.",
        "A rule sets a value that the schema under `[state]` rejects.",
        "Correct the rule or the schema: `orch workflow check NAME`.";
    StateSeal = "state-seal", NotNow,
        "`state.json` was changed after orch wrote it.",
        "Its seal does not match its content, because someone edited the file by hand.",
        "Restore it: `git restore FILE`, or rebuild it: `orch recover TASK`.";
    StateUnusable = "state-unusable", No,
        "orch cannot use the state of the task.",
        "`state.json` is damaged or missing. `orch check TASK` says how.",
        "Rebuild it: `orch recover TASK`.";
    StateVersion = "state-version", NotNow,
        "`state.json` has a version that this orch does not know.",
        "A newer orch wrote it.",
        "Install that version of orch.";
    SuggestionUnwritten = "suggestion-unwritten", Finding,
        "orch could not update `suggestion.json`.",
        "The directory is not writable, or the disk is full.",
        "Check the disk. `orch suggest TASK` prints the same.";
    Symlink = "symlink", Finding,
        "A path that should be a file or directory is a symbolic link.",
        "git stores the link, not its target, so it cannot be evidence.",
        "Replace the link with the file or directory itself.";
    SystemUnreadable = "system-unreadable", Finding,
        "orch cannot read a workflow, a schema or agent instructions.",
        "The file in the `system` directory is not a regular file, has the wrong permissions, or is not UTF-8.",
        "Correct its permissions or its encoding.";
    TakenBack = "taken-back", Finding,
        "An order was undone.",
        "`orch undo` recorded a step that puts the task back to where it was before the order. The log keeps both.",
        "Nothing. To give the order again, repeat it.";
    TaskBehindLink = "task-behind-link", NotNow,
        "The directory of the task is now a symbolic link.",
        "Whatever orch wrote there could end up anywhere, so it writes nothing.",
        "Replace the link with the directory.";
    TaskChanged = "task-changed", No,
        "The task has changed since the client looked at it.",
        "The order names the revision (`--expect`) or the `ETag` (`If-Match`) that it is based on, and the task now \
         has another one.",
        "Look at the task again, and decide again.";
    TaskExists = "task-exists", Usage,
        "A task with this id already exists.",
        "Its directory exists and contains a state.",
        "Choose another id, or work on it: `orch suggest ID`.";
    TaskGone = "task-gone", Finding,
        "The file of a task was moved to a place where no tasks are.",
        "A tool moved it to a directory such as `archive`, `drafts` or `completed`. The record of the task is still \
         in its old place.",
        "Archive the record too: `orch archive TASK`, with `--force WHY` if the task is not finished. Or move the \
         file back.";
    TaskHeld = "task-held", NotNow,
        "Another work tree holds the task.",
        "Somebody took it there, with `orch take` or by a run, and the lease has not ended. Until then nobody else records a \
         step of the task.",
        "Take another one with `orch take`, or wait: the message says until when. If nobody works on it, a person takes it \
         over with `orch take TASK --break WHY`.";
    TaskInsideTask = "task-inside-task", Usage,
        "The new task would be inside another task, or contain one.",
        "Tasks cannot be nested.",
        "Choose another id or root.";
    TaskListUnread = "task-list-unread", Usage,
        "The file is no task list that orch can import.",
        "`orch new --from` reads the task lists of Task Master, BMAD and beads. The file is none of these, or an entry has no \
         id, no title, or the id of another.",
        "Name the file that the program writes: tasks.json, sprint-status.yaml or .beads/issues.jsonl. Correct the entry there.";
    Terminal = "terminal", No,
        "The task or the phase is terminal.",
        "The only way out of a terminal phase is to reopen the task.",
        "`orch reopen TASK --reason WHY`, or name another phase with `--to`.";
    TomlSyntax = "toml-syntax", Finding,
        "A file is not valid TOML, or contains a number that JSON cannot represent.",
        "The document has a syntax error, a duplicate key, or a number that is infinite or too large.",
        "Correct the document at the place that the finding names.";
    TooLarge = "too-large", Finding,
        "A file exceeds the size limit, or reading it would take too much memory.",
        "`limit_bytes` in orch.toml limits the size of artifacts. The values of an artifact may take 32 times as \
         much memory, and at least 256 MiB.",
        "Make the file smaller, or raise the limit.";
    TranscriptCut = "transcript-cut", NotNow,
        "The transcript lacks lines that HEAD or an earlier commit has.",
        "`transcript.jsonl` only grows. Someone edited or truncated it, or an older `orch recover` dropped events \
         that it did not know.",
        "Restore it: `git restore FILE`, or revert the commit that dropped them.";
    TranscriptUnreadable = "transcript-unreadable", NotNow,
        "orch cannot read the transcript.",
        "Its permissions forbid it, it is not a regular file, or it is larger than 256 MiB.",
        "Run `orch check TASK` to see what is wrong with it.";
    Unfilled = "unfilled", Finding,
        "A file is the unchanged example of its schema.",
        "Someone saved the example from the prompt as it was. It shows the form and says nothing about the task.",
        "Replace the example with real content.";
    Unfinished = "unfinished", Finding,
        "A commit was made, but orch could not bring the files or the index up to date.",
        "Writing failed after the branch had moved. Nothing is lost.",
        "The next orch command finishes it.";
    Unjudged = "unjudged", Finding,
        "orch could not evaluate a task.",
        "It could not read the files of the task or the repository. The message says why.",
        "Fix the cause, then run the command again.";
    UnknownArtifact = "unknown-artifact", Usage,
        "There is no artifact with this name.",
        "The workflow of the task does not declare it.",
        "Use one of the names that the hint lists.";
    UnknownPhase = "unknown-phase", Usage,
        "There is no phase with this name.",
        "The workflow declares it neither as a phase nor among the `aliases` of one.",
        "Use one of the names in the hint. If a state names it, add it to `aliases`.";
    UnknownRevision = "unknown-revision", Usage,
        "There is no commit with this name.",
        "The branch, tag or id is misspelled, or a shallow clone does not contain it.",
        "See `git log`, or fetch it: `git fetch --unshallow`.";
    UnknownRoute = "unknown-route", Usage,
        "`orch serve` has no such path.",
        "The path of the request is misspelled, or names nothing that exists.",
        "See the paths in `/api/v1/openapi.json`.";
    UnknownSchema = "unknown-schema", Usage,
        "There is no schema with this name.",
        "It is neither in `system/schemas` nor among the schemas that ship with orch.",
        "Use one of the names that the hint lists.";
    UnknownTask = "unknown-task", Usage,
        "There is no task with this id.",
        "The id is misspelled, the task is outside the roots in orch.toml, or it is on another branch.",
        "List the tasks with `orch status`, or create one: `orch new ID`.";
    Unmerged = "unmerged", Held,
        "A file has an unresolved conflict.",
        "A merge left it unmerged in the index.",
        "Resolve it, then run `git add FILE`. For the state of a task, run `orch resolve`.";
    UnmetNeeds = "unmet-needs", No,
        "The phase needs artifacts that are missing or invalid.",
        "Its `needs` are not met, so the task cannot enter it.",
        "First write what the message names, or choose a phase whose needs are met.";
    Unreachable = "unreachable", No,
        "No rules lead from the current phase to this one.",
        "An order can only go where the workflow connects the phases.",
        "Name one of the phases in the hint with `--to`.";
    Unreadable = "unreadable", Finding,
        "orch cannot read a file of a task's record.",
        "It is not a regular file, or it is too large.",
        "Restore it from git, or run `orch recover TASK`.";
    Unsigned = "unsigned", Finding,
        "Orders must be signed here, and this clone does not sign.",
        "`[people]` in orch.toml asks for signatures, but `commit.gpgSign` is off or git does not trust the key.",
        "Run `git config commit.gpgSign true` with a key that git trusts: see docs/audit.md.";
    Unstable = "unstable", NotNow,
        "The state of a task changes faster than it can be read.",
        "Another process keeps writing to it.",
        "Wait for that process, and try again.";
    UnsupportedRepository = "unsupported-repository", Usage,
        "The repository uses a format that orch does not support.",
        "It uses an extension or a ref format that is newer than orch. Or it uses reftables, and git is older than \
         2.45.",
        "Install a newer orch or git, or use a repository without that extension.";
    Untracked = "untracked", No,
        "This branch has no state of the task.",
        "The task has files, but nobody has run `orch new` for it here, or its state is only in the work tree.",
        "Run `orch new TASK` to record it.";
    Untrusted = "untrusted", Person,
        "orch would start a program that nobody has trusted.",
        "A command in `orch.toml`, a file that it names, or the instructions of an agent are new or have changed.",
        "Look at it with `orch trust --show`, then run `orch trust`. For a single run, use `--trust-once` or \
         `ORCH_TRUST_ONCE=1`.";
    UntrustedOwner = "untrusted-owner", Usage,
        "The repository belongs to another user.",
        "git refuses to work in it, because its settings could run programs.",
        "If you trust it: `git config --global --add safe.directory DIR`.";
    Unverifiable = "unverifiable", Finding,
        "orch cannot prove a recorded transition with what is here.",
        "The files or commits that it depends on are not in this clone.",
        "Fetch the history: `git fetch --unshallow`, then run `orch audit` again.";
    Unvouched = "unvouched", Finding,
        "Evidence does not reach the level that `orch audit --require` asks for.",
        "Somebody wrote a file that a verification could have made, the verification is in doubt, or nobody whom git \
         trusts has signed its commit.",
        "Confirm what is recorded: `orch audit --rerun --require LEVEL`. For what comes next, let the phase verify it, \
         and sign: `git config commit.gpgSign true`.";
    Unwritten = "unwritten", Finding,
        "A file is still a draft: some of its texts have not been written.",
        "`orch draft` wrote it, or someone copied the draft, and texts, numbers or verdicts still begin with TODO.",
        "Write each of them, and remove what the file does not need. `orch check --json` lists the places.";
    Usage = "usage", Usage,
        "The command line or the request is wrong.",
        "An option or argument is unknown or missing, or conflicts with another one.",
        "See `orch help COMMAND`. For a request to `orch serve`, see the OpenAPI document, `/api/v1/openapi.json`.";
    Utf16 = "utf16", Finding,
        "A file is UTF-16.",
        "It was saved in another encoding.",
        "Save it as UTF-8.";
    VerificationFailed = "verification-failed", Finding,
        "A verification of the project failed.",
        "A command ended with another exit code than 0, or a report names a test that failed. The message says which.",
        "Fix the code or the test. `orch verify` runs it here, and prints the path of its log.";
    VerificationNotRun = "verification-not-run", Finding,
        "A verification could not run, so there is no result.",
        "Its setup failed, a command does not exist, a limit was reached, or the checkout cannot be made. The message says \
         which.",
        "Remove the cause, then run `orch verify TASK --again`.";
    VerificationOvertaken = "verification-overtaken", NotNow,
        "The code changed while it was verified, so the result was not recorded.",
        "Somebody committed to the branch, switched it, or changed the table in orch.toml.",
        "Run `orch verify TASK` again. It verifies the code that is there now.";
    VerificationResult = "verification-result", Finding,
        "The file with the result of a verification is not what orch recorded.",
        "It is gone, somebody wrote or changed it, or no event names it. It counts for nothing.",
        "Run `orch verify TASK`, which records a result and its file, or restore the file from git.";
    VerificationUnknown = "verification-unknown", Usage,
        "orch.toml has no verification with this name.",
        "The name is misspelled, or the table is not committed: the settings in HEAD count.",
        "Name one that there is, or write the table `[verify.NAME]` and commit orch.toml.";
    WatchFailed = "watch-failed", Fault,
        "orch cannot watch the files, or only some of them.",
        "The system limits the number of watches or open files, or the directory is gone.",
        "Raise the limit that the message names. `orch watch --once` works without watching.";
    WatchLimit = "watch-limit", Finding,
        "The tasks have more directories than the system allows orch to watch.",
        "inotify needs a watch for each directory, and all programs of a user share the limit.",
        "Run `sudo sysctl fs.inotify.max_user_watches=1048576`. Until then, `orch watch` polls.";
    WorkSetAside = "work-set-aside", Finding,
        "What a work tree held was put aside, because others had gone on with the task.",
        "A worker was killed or cut off before it had pushed its last steps, and its lease ended.",
        "Nothing is lost: the reference in the message has all of it. `git log -p REF` shows it; delete it with \
         `git update-ref -d REF`.";
    WorkTreeTaken = "work-tree-taken", No,
        "orch cannot make the work tree of a task.",
        "Its branch is checked out in another work tree, or something else is in its place.",
        "Leave the branch in the other work tree (`git switch --detach`), move away what is in the place, or choose another \
         `path` under `[worktrees]` in orch.toml.";
    WorkflowChanged = "workflow-changed", Finding,
        "The workflow has changed since the last transition.",
        "Its document was edited. The current version decides.",
        "Nothing. `orch explain TASK` shows what it decides now.";
    WorkflowChangedLate = "workflow-changed-late", Finding,
        "A rule on `.changed` comes after a rule that moves the task on.",
        "The first rule that fires decides, so the change would be noticed too late.",
        "Put rules on `.changed` before rules on verdicts.";
    WorkflowCoveredRule = "workflow-covered-rule", Finding,
        "A rule never fires.",
        "An earlier rule fires whenever this one would.",
        "Put the narrower rule first, or remove it.";
    WorkflowDeadEnd = "workflow-dead-end", Finding,
        "A phase cannot be left, or leads to no good end.",
        "No rule leads out of it, and it is not terminal; or the rules lead from it only in circles or to failures.",
        "Add a rule, or set `terminal = true`.";
    WorkflowDiagram = "workflow-diagram", Finding,
        "The diagram of a workflow does not match its rules.",
        "The rules were changed after the diagram was drawn.",
        "Run `orch workflow fmt NAME` to redraw it.";
    WorkflowDuplicate = "workflow-duplicate", Usage,
        "A name is used twice in a workflow.",
        "Two phases, artifacts, rules, actions or definitions share it, or an alias repeats the name of a phase.",
        "Choose another name.";
    WorkflowEmpty = "workflow-empty", Usage,
        "A workflow declares no phases.",
        "Its document has no `toml orch` block with phases.",
        "Write `toml orch` after the opening backticks, and declare a `[phase.NAME]`.";
    WorkflowFaulty = "workflow-faulty", Usage,
        "The workflow has errors, so no task can be evaluated with it.",
        "Its document, or a schema that it names, has an error.",
        "`orch workflow check NAME` lists the errors.";
    WorkflowGap = "workflow-gap", Finding,
        "No rule says what comes after the work of a phase.",
        "All that the phase produces is there and counts, and there is a case in which no guard is true. The finding shows it.",
        "Add a rule for the case, or a rule with `wait` that says what is missing.";
    WorkflowLivelock = "workflow-livelock", Finding,
        "Rules may send a task round although nobody writes anything.",
        "A rule sends back, and it and the rules that lead here again read nothing that is used up. Only the limit of attempts \
         ends that.",
        "Let the guard read `.ready` or `.changed` of an artifact.";
    WorkflowMissing = "workflow-missing", Usage,
        "There is no workflow with this name.",
        "orch.toml or a state names a workflow that neither ships with orch nor exists in `system/workflows`.",
        "Correct the name. `orch workflow list` shows all workflows.";
    WorkflowMissingAgent = "workflow-missing-agent", Usage,
        "There are no agent instructions with this name.",
        "`system/agents` has no file with this name.",
        "Write it, or use one of the names that the hint lists.";
    WorkflowMissingKey = "workflow-missing-key", Usage,
        "A workflow lacks a required key.",
        "Every rule needs `id`, `from`, one outcome and `because`. Every artifact needs `path` or `tree`.",
        "Add the key.";
    WorkflowMissingSchema = "workflow-missing-schema", Usage,
        "There is no schema with this name.",
        "`system/schemas` has no file with this name.",
        "Write it, or use one of the names that the hint lists.";
    WorkflowName = "workflow-name", Usage,
        "A name in a workflow contains characters that are not allowed.",
        "Names become parts of expressions, paths and commit messages.",
        "Choose a name of letters, digits and underscores.";
    WorkflowNoAbort = "workflow-no-abort", Finding,
        "A workflow runs actions, but no rule reads their failures.",
        "If an action is given up, the task would wait forever.",
        "Add a rule on `run.errors`.";
    WorkflowOutcome = "workflow-outcome", Usage,
        "A rule does not have exactly one outcome.",
        "It has none or several of `to`, `run`, `wait` and `choose`, or a key that its outcome does not allow.",
        "Keep one of them, and write another rule for the other.";
    WorkflowOverlap = "workflow-overlap", Finding,
        "Two rules of one group hold together, and come to different outcomes.",
        "The first one decides, and nothing says that this is meant. The finding shows a case.",
        "Let the guards exclude each other, or put the rule that goes first into a `group` of its own.";
    WorkflowSyntax = "workflow-syntax", Usage,
        "The `toml orch` blocks of a workflow are not valid TOML.",
        "All blocks form one TOML text. Often, a table is declared twice.",
        "Correct the line that the finding names.";
    WorkflowTestFailed = "workflow-test-failed", Finding,
        "The rules do not say what a test in the workflow expects.",
        "A rule was changed, or the test expects what was never meant. The finding shows what was expected and what came.",
        "Change the rule or the test.";
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
    WorkflowUnknownRule = "workflow-unknown-rule", Usage,
        "A test in a workflow names a rule that does not exist.",
        "The name is misspelled, or the rule was removed.",
        "Use one of the names that the hint lists.";
    WorkflowUnmadeNeed = "workflow-unmade-need", Finding,
        "A phase needs what no phase before it produces.",
        "It is produced later, or only by this phase, so no rule can lead here.",
        "Name it in `produces` of an earlier phase, or in `reads` of this one.";
    WorkflowUnproduced = "workflow-unproduced", Finding,
        "No phase produces this artifact.",
        "It is never used up, so it stays fresh forever.",
        "Add it to `produces` or `may_produce` of a phase.";
    WorkflowUnreachablePhase = "workflow-unreachable-phase", Finding,
        "No rule leads to a phase.",
        "The rules that led to it were removed or are misspelled.",
        "Add a rule that leads to it, or remove it.";
    WorkflowUnreadBlock = "workflow-unread-block", Finding,
        "A fenced block is marked nearly as those that `orch` reads.",
        "Its info string is misspelled, so its rules or tests do not count.",
        "Mark it `toml orch` or `toml orch-test`.";
    WorkflowUnusedAction = "workflow-unused-action", Finding,
        "No rule runs or offers this action.",
        "The rules that named it were removed.",
        "Name it in `run` or `choose` of a rule, or remove it.";
    WorkflowUnusedAsk = "workflow-unused-ask", Finding,
        "No rule asks this question.",
        "The rules that named it were removed.",
        "Name it in `ask` of a rule with `wait`, or remove it.";
    WorkflowValue = "workflow-value", Usage,
        "A value in a workflow has the wrong type or makes no sense there.",
        "The key expects another type, or one of a few words.",
        "Correct the value. The message says what is expected.";
    WorkflowVerification = "workflow-verification", Finding,
        "A workflow speaks of a verification that nobody runs.",
        "`orch.toml` has no `[verify.NAME]` for it, or no phase verifies it. The name may be misspelled.",
        "Define the verification in `orch.toml`, name it in `verifies` of a phase, or correct the name.";
    YamlMergeKey = "yaml-merge-key", Finding,
        "A YAML file contains a merge key, `<<`.",
        "Merge keys are no part of YAML 1.2. `<<` is an ordinary key here, and merges nothing.",
        "Write the members out.";
    YamlSyntax = "yaml-syntax", Finding,
        "A file is not a single YAML 1.2 document that JSON can represent.",
        "The document has a syntax error, a duplicate key, a key that is not a scalar or an infinite number, is \
         nested deeper than 128 levels, or is followed by another document.",
        "Correct the document at the place that the finding names.";
}
