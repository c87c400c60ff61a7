# The workflow for Spec Kit

## a copied template is not a specification
//- shipped spec-kit
//- spec.md
# Feature Specification: [FEATURE NAME]

**Created**: [DATE]

### User Story 1 - [Brief Title] (Priority: P1)

[Describe this user journey in plain language]
//- settle
specify#1 waits for agent: the specification is not filled in
  remark: spec.md:1: [FEATURE NAME]
  remark: spec.md:3: [DATE]
  remark: spec.md:5: [Brief Title]
  remark: spec.md:7: [Describe this user journey in plain language]
  expects spec.md unmet
  option orch prompt t-1
  option orch next t-1 --override WHY

## a specification with open questions waits in clarify, and goes on without
//- shipped spec-kit
//- spec.md
# Feature Specification: Export of reports

**Status**: Draft

### Requirements

- **FR-001**: Reports MUST be exported as [NEEDS CLARIFICATION: which formats?]
- **FR-002**: Exports MUST be kept for TODO: a time
//- settle
specify -> clarify (spec-written) on spec
clarify#1 waits for agent: the specification has open questions
  remark: spec.md:7: [NEEDS CLARIFICATION: which formats?]
  remark: spec.md:8: TODO: a time
  expects spec.md unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
//- spec.md
# Feature Specification: Export of reports

**Status**: Draft

<!-- [NEEDS CLARIFICATION: this one is a comment] -->

### Clarifications

#### Session 2026-11-02

- Q: Which formats? → A: CSV

### Requirements

- **FR-001**: Reports MUST be exported as CSV; no `[NEEDS CLARIFICATION: x]` is left
- **FR-002**: Exports MUST be kept for 30 days
//- settle
clarify -> plan (spec-clear) on spec
plan#1 waits for agent: plan.md is missing
  expects plan.md missing, of spec
  option orch prompt t-1
  option orch next t-1 --override WHY

## a feature that is written already settles where its boxes say
//- shipped spec-kit
//- spec.md
# Feature Specification: Export of reports

- **FR-001**: Reports MUST be exported as CSV
//- plan.md
# Implementation Plan: Export of reports

**Branch**: `004-export` | **Date**: 2026-11-02 | **Spec**: [spec.md](spec.md)

**Storage**: NEEDS CLARIFICATION
//- settle
specify -> plan (spec-clear) on spec
plan#1 waits for agent: the plan is not filled in
  remark: plan.md:5: NEEDS CLARIFICATION
  expects plan.md unmet, of spec
  option orch prompt t-1
  option orch next t-1 --override WHY
//- plan.md
# Implementation Plan: Export of reports

**Storage**: files, see [research](research.md)
//- settle
plan -> tasks (plan-made) on spec, plan
tasks#1 waits for agent: tasks.md is missing
  expects tasks.md missing, of plan, spec
  option orch prompt t-1
  option orch next t-1 --override WHY
//- tasks.md
# Tasks: Export of reports

### Phase 1: User Story 1 - [Title] (Priority: P1)

**Goal**: [Brief description of what this story delivers]

- [ ] T001 Create [Entity1] model in src/models/[entity1].py
//- settle
tasks#1 waits for agent: the task list is not filled in
  remark: tasks.md:5: [Brief description of what this story delivers]
  expects tasks.md unmet, of plan, spec
  option orch prompt t-1
  option orch next t-1 --override WHY
//- tasks.md
# Tasks: Export of reports

Tasks marked [P] can be done side by side.
//- settle
tasks#1 waits for agent: the task list has no check boxes
  expects tasks.md unmet, of plan, spec
  option orch prompt t-1
  option orch next t-1 --override WHY
//- tasks.md
# Tasks: Export of reports

- **[P]**: can be done side by side

### Phase 1: User Story 1 (Priority: P1)

- [x] T001 [P] [US1] Write the test in tests/export.rs
- [ ] T002 [US1] Export in src/export.rs (depends on T001)
//- checklists/ux.md
# UX checklist

- [ ] CHK001 Is the name of the file specified? [Completeness, Spec §FR-001]
//- settle
tasks -> implement (tasks-listed) on spec, plan, tasks
implement#1 waits for agent: the work is not finished
  remark: checklists/ux.md: 1 open
  option orch prompt t-1
  option orch next t-1 --override WHY
//- tasks.md
# Tasks: Export of reports

- [x] T001 [P] [US1] Write the test in tests/export.rs
- [x] T002 [US1] Export in src/export.rs (depends on T001)
//- settle
implement -> done (work-finished) on tasks
done#1 done: the task is in `done`, which is terminal; changed since: checklists
  option orch reopen t-1 --reason WHY

## a specification that changes makes the plan stale
//- shipped spec-kit
//- spec.md
# Feature Specification: Export of reports

- **FR-001**: Reports MUST be exported as CSV
//- plan.md
# Implementation Plan: Export of reports

Files are written in one pass.
//- tasks.md
# Tasks: Export of reports

- [x] T001 Write the test
- [ ] T002 Export
//- settle
specify -> plan (spec-clear) on spec
plan -> tasks (plan-made) on spec, plan
tasks -> implement (tasks-listed) on spec, plan, tasks
implement#1 waits for agent: the work is not finished
  option orch prompt t-1
  option orch next t-1 --override WHY
//- spec.md
# Feature Specification: Export of reports

- **FR-001**: Reports MUST be exported as CSV and PDF
//- settle
implement -> plan (spec-changed) on spec
plan#2 waits for agent: plan.md is stale: unchanged since attempt 1 was sent back
  expects plan.md stale, of spec
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- plan.md
# Implementation Plan: Export of reports

Files are written in one pass, PDF by a library.
//- settle
plan -> tasks (plan-made) on spec, plan
tasks#2 waits for agent: tasks.md is stale: unchanged since attempt 1 was sent back
  expects tasks.md stale, of plan, spec
  option orch prompt t-1
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- tasks.md
# Tasks: Export of reports

- [x] T001 Write the test
- [ ] T002 Export
- [ ] T003 Export as PDF
//- settle
tasks -> implement (tasks-listed) on spec, plan, tasks
implement#2 waits for agent: the work is not finished
  option orch prompt t-1
  option orch next t-1 --override WHY
//- spec.md
# Feature Specification: Export of reports

- **FR-001**: Reports MUST be exported as CSV and [NEEDS CLARIFICATION: as what else?]
//- settle
implement -> clarify (spec-questioned) on spec
clarify#1 waits for agent: the specification has open questions
  remark: spec.md:3: [NEEDS CLARIFICATION: as what else?]
  expects spec.md unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
//- spec.md
# Feature Specification: Export of reports

- **FR-001**: Reports MUST be exported as CSV and ODS
//- settle
clarify -> plan (spec-clear) on spec
plan#3 waits for agent: plan.md is stale: unchanged since attempt 2 was sent back
  expects plan.md stale, of spec
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- order: confirm plan it holds
plan -> plan (confirm) on plan
plan#3 due -> tasks: the plan is filled in and has no open point
  option orch next t-1

## a plan that changes makes the tasks stale, unless their boxes moved
//- shipped spec-kit
//- spec.md
# Feature Specification: Export of reports

- **FR-001**: Reports MUST be exported as CSV
//- plan.md
# Implementation Plan: Export of reports

One pass.
//- tasks.md
- [ ] T001 Export
//- settle
specify -> plan (spec-clear) on spec
plan -> tasks (plan-made) on spec, plan
tasks -> implement (tasks-listed) on spec, plan, tasks
implement#1 waits for agent: the work is not finished
  option orch prompt t-1
  option orch next t-1 --override WHY
//- plan.md
# Implementation Plan: Export of reports

Two passes.
//- settle
implement -> tasks (plan-changed) on spec, plan
tasks#2 waits for agent: tasks.md is stale: unchanged since attempt 1 was sent back
  expects tasks.md stale, of plan, spec
  option orch prompt t-1
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- tasks.md
- [x] T001 Export
//- settle
tasks -> implement (tasks-listed) on spec, plan, tasks
implement -> done (work-finished) on tasks
done#1 done: the task is in `done`, which is terminal
  option orch reopen t-1 --reason WHY
