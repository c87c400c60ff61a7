//! The pure core: `decide(workflow, state, facts) -> decision`.
//!
//! Nothing here reads a file, a clock, the environment or a repository, and evaluating a task never fails or
//! panics. A malformed artifact is a value with problems, and a guard that cannot be evaluated is a decision
//! that says so. Watch, hook, command line and audit all call these functions, so they reach the same verdict
//! on the same bytes.

mod activity;
mod apply;
mod approvals;
mod approving;
mod circumstances;
mod code_facts;
mod data;
mod deadline;
mod decision;
mod derive;
mod detail;
mod detailed;
mod drafting;
mod duty;
mod each_rule;
mod evaluate;
mod evaluation;
mod expect;
mod facts;
mod grounds;
mod import;
mod independence;
mod inputs;
mod lost;
mod merge;
mod migration;
mod nearest_rule;
mod not_enabled;
mod notice;
mod objection;
mod order;
mod others;
mod people;
mod person_orders;
mod planned;
mod proof;
mod rebuild;
mod rederive;
mod relations;
mod rename;
mod replay;
mod replay_record;
mod result;
mod rules;
mod ruling;
mod run;
mod scope;
mod send_back;
mod settle;
mod standing;
mod state;
mod state_document;
mod supports;
mod undo;
mod valued;
mod verified;
mod version;
mod wanted_code;
mod way;
mod ways_out;
mod writer;
mod written_verdict;

pub use activity::{
    accept, answer, asked, data_of, end, give_up, offers, phase_id, pick, signalled, start,
};
pub use apply::{Stamp, apply, initial_state};
pub use approving::{ApprovalPlan, ApprovedWay, FreshResult, approve};
pub use circumstances::{
    Circumstances, CompleteDecision, DoneOnBase, LastRun, Remembered, complete, evaluate_here,
};
pub use code_facts::{
    ChangeCommit, CodeBase, CodeFacts, CodeHistory, CodeSince, MovedFile, UnknownCode,
};
pub use data::{DEEPEST, PatchOp, at, merge_patch, nests_deeper, patch};
pub use deadline::{RunningDeadline, deadlines, lapses};
pub use decision::{
    BrokenNeed, Change, Choice, Decision, Derived, DerivedFile, Evidence, ExpectState, Expectation,
    GuardPart, Kind, Mode, Move, NamedVersion, PHASE, Question, QuestionField, Transition, Tried,
    Truth, Verdict, WHY, is_order, needs_person,
};
pub use derive::derive;
pub use detail::{Detail, Holder, Lapse, Migration, OtherTask, PersonRuling, Priority, Relations};
pub use detailed::{DetailStep, detailed};
pub use drafting::{DraftFile, TODO, draft};
pub use duty::{
    Direction, Do, Duty, DutyKind, RunTurn, Runner, Urgency, direction, duty, duty_of_unread,
    trouble,
};
pub use each_rule::each_rule;
pub use evaluate::{evaluate, of_another_file, other_format, unknown_in_record};
pub use evaluation::concrete_path;
pub use facts::{Facts, FileFact, OwnFile, ResultFile, STALE_STATE, VerifiedFact};
pub use grounds::{Ground, RestsOn, judged_before};
pub use import::{ImportFault, Original, adopt, import, import_of, is_original, refused_import};
pub use inputs::{Inputs, Require, RequireVerified};
pub use lost::{LostTests, confirm_lost, lost_tests};
pub use merge::{Conflict, choose, join, merging, rename_side};
pub use migration::counts_no_more;
pub use nearest_rule::nearest_rule;
pub use notice::{NoticeKind, run_notices, task_notice};
pub use objection::Objection;
pub use order::{
    confirm, create, override_to, refuse_placeholder, reopen, rollback, unknown_artifact,
};
pub use others::OtherTasks;
pub use people::{AgentOrder, OrdersBy, People, Sender, Teams};
pub use person_orders::{PersonOrder, person_orders};
pub use planned::{PlannedPaths, planned_paths};
pub use proof::{Approval, Proof, ProvenStep, Standing};
pub use rebuild::rebuild_from_files;
pub use rederive::permits_activity;
pub use relations::{GraphTask, RelationFault, RelationGraph};
pub use rename::{former_id, is_just_renamed, rename};
pub use replay::{Disproof, Replayed, difference, noted, refute, replay};
pub use replay_record::{FollowedRecord, replay_record};
pub use result::{ActionResult, RESULT_KEYS, WORK_KEYS, json_values};
pub use ruling::{Draft, Ruled, Ruling, RulingOrder, rule_on};
pub use run::{
    Blocker, Budget, ControlRequest, Ending, EvaluatedTask, ExecutorExit, ExecutorTrace,
    FailureCause, Job, Leftover, LimitWait, News, NextStep, PassingLimit, Precondition,
    RecordOutcome, Recorder, RetryPolicy, Returned, RunCommand, RunEffect, RunEvent, RunMachine,
    Tick, Usage, Work, WorkKind, fingerprint, next,
};
pub use scope::named_pattern;
pub use send_back::{QuotedIssue, SendBack, issues};
pub use settle::{Settled, Step, settle, settle_from};
pub use state::{
    Actor, ActorKind, ActorStatus, Approving, By, ERRORS_WINDOW, FILES_KEPT, FilesByPath,
    HistoryEntry, Lapsed, Performance, Recorded, RunRecord, State, Tally, Verified, WorkflowRef,
    keep_latest,
};
pub use state_document::{
    STATE_VERSION, StateDocument, document, history_value, put_items, put_member, standing_document,
};
pub use supports::{Support, supports};
pub use undo::{TakenBack, is_person_order, undo};
pub use valued::value_of;
pub use verified::{DueVerification, VerificationAttempt};
pub use version::RecordVersion;
pub use wanted_code::{WantedCode, wanted_code};
pub use way::{WayStage, WayStop};
pub use writer::{
    FileWriter, NotedFile, NotedFiles, WriterTurn, Written, is_writer_known, needs_writers,
};
pub use written_verdict::{WrittenVerdict, asked_verdict, rule_by};
