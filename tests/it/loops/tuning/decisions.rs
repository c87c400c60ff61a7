//! The decisions T-10 to T-20, and the limits of what an action may say.

use super::{AREAS, MACHINE, begun, count, found, issue, plain, reply, run};
use crate::loops::simulator::Reply;
use orch_base::ActionName;
use orch_core::decide::{Ending, Mode};
use orch_core::workflow::{Signal, System};
use serde_json::{Value, json};

fn urgent(job: &super::Job<'_>) -> Option<Value> {
    (job.action.as_str() == "diagnose_context").then(|| found("context", &["high"; 4]))
}

#[test]
fn t10_the_last_iteration_is_worked_through_and_then_named() {
    let mut task = begun(&json!({"max_iterations": 2}));
    let ended = run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "verify" => Some(super::verified(job, |fix| {
            if fix == 1 { "pass" } else { "inconclusive" }
        })),
        _ => urgent(job),
    });
    assert_eq!(
        (ended.ending, task.phase().as_str()),
        (Ending::Failed, "exhausted")
    );
    assert_eq!(
        (task.at("/iteration_count"), count(&task, "verify")),
        (json!(2), 2)
    );
    assert_eq!(
        task.trace.last().map(String::as_str),
        Some("complete"),
        "there is a summary all the same"
    );
}

#[test]
fn t11_an_answer_completes_the_analysis_and_it_is_not_made_again() {
    let mut task = begun(&json!({}));
    let asking = |job: &super::Job<'_>| {
        (job.action.as_str() == "analyze_requirements").then(|| super::asking(job))
    };
    assert_eq!(run(&mut task, Mode::Auto, asking).ending, Ending::Waiting);
    let refused = task
        .answer(&json!({"requirement_analysis.status": "completed"}))
        .expect_err("not asked");
    assert!(
        refused.contains("the question does not ask for"),
        "{refused}"
    );
    task.answer(&json!({"requirement_analysis.answers": ["the second"], "focus_areas": ["docs"]}))
        .expect("asked");
    assert_eq!(task.at("/requirement_analysis/status"), "completed");
    task.answer(&json!({"requirement_analysis.answers": ["the first"]}))
        .expect_err("answered already");
    assert_eq!(run(&mut task, Mode::Auto, asking).ending, Ending::Completed);
    assert_eq!(task.trace[1..3], ["analyze_requirements", "diagnose_docs"]);
    assert_eq!(count(&task, "analyze_requirements"), 1);
}

#[test]
fn t12_what_is_done_in_an_iteration_and_ever_are_two_things() {
    let mut task = begun(&json!({"max_iterations": 3}));
    run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "verify" => Some(super::verified(
            job,
            |fix| if fix == 1 { "pass" } else { "fail" },
        )),
        _ => urgent(job),
    });
    let tally = |name: &str| {
        let action = MACHINE
            .workflow
            .actions
            .iter()
            .find(|action| action.name.as_str() == name);
        task.state.tally(&action.expect("known").name).done
    };
    assert_eq!(
        (
            tally("generate_report"),
            tally("analyze_requirements"),
            tally("complete")
        ),
        (3, 1, 1)
    );
}

#[test]
fn t13_a_second_diagnosis_replaces_what_the_first_one_found() {
    let mut task = begun(&json!({"max_iterations": 2, "focus_areas": ["context", "architecture"]}));
    run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "gemini_analysis" => Some(
            json!({"stateUpdates": {"gemini_analysis": {"status": "completed",
            "issues": [issue("GEM-1", "high"), issue("GEM-2", "high")]}}}),
        ),
        "verify" => Some(super::verified(job, |fix| {
            let is_mended = fix == 1 || (fix == 5 && job.state["iteration_count"] == 1);
            if is_mended { "pass" } else { "fail" }
        })),
        _ => urgent(job),
    });
    let issues = task.at("/issues");
    let ids: Vec<&str> = issues
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(
        ids,
        ["CTX-2", "CTX-3", "CTX-4", "GEM-2"],
        "each once; what was mended is gone"
    );
}

#[test]
fn t14_there_is_one_copy_of_the_skill_and_every_text_names_it() {
    let init = MACHINE
        .workflow
        .actions
        .iter()
        .find(|action| action.name.as_str() == "init")
        .expect("known");
    assert_eq!(init.outputs, ["backups/original/SKILL.md"]);
    let system = System::shipped();
    for action in &MACHINE.workflow.actions {
        let text = system
            .agent(action.prompt.as_deref().expect("a prompt"))
            .expect("shipped");
        for named in text.split("backups/").skip(1) {
            let is_known = ["original", "<iteration>-<fix>/", "1-FIX-1"]
                .iter()
                .any(|name| named.starts_with(name));
            assert!(is_known, "{}: backups/{named}", action.name);
        }
        let restores = ["init", "complete", "abort"].contains(&action.name.as_str());
        assert_eq!(
            text.contains("backups/original"),
            restores,
            "{}",
            action.name
        );
    }
}

#[test]
fn t15_an_applied_fix_keeps_the_issues_that_it_is_for() {
    let mut task = begun(&json!({}));
    run(&mut task, Mode::Auto, urgent);
    assert_eq!(
        task.at("/applied_fixes/0"),
        json!({"fix_id": "FIX-1", "iteration": 1, "issue_ids": ["CTX-1"],
        "success": true, "verification_result": "pass"})
    );
}

#[test]
fn t16_what_a_person_names_stays_in_the_focus() {
    for (named, derived, expected) in [
        (
            json!(["docs"]),
            json!(["memory", "docs"]),
            json!(["docs", "memory"]),
        ),
        (json!([]), json!(["memory"]), json!(["memory"])),
        (json!(["docs"]), json!([]), json!(["docs"])),
        (
            json!(["token_consumption"]),
            json!(["context"]),
            json!(["token_consumption", "context"]),
        ),
    ] {
        let mut task = begun(&json!({"focus_areas": named}));
        run(&mut task, Mode::Auto, |job| {
            (job.action.as_str() == "analyze_requirements").then(|| {
                let analysis = json!({"status": "completed", "focus_areas": derived});
                json!({"stateUpdates": {"requirement_analysis": analysis}})
            })
        });
        assert_eq!(task.at("/focus_areas"), expected, "{named} {derived}");
        for (area, _) in AREAS {
            let is_due = expected.as_array().expect("a list").contains(&json!(area));
            assert_eq!(
                count(&task, &format!("diagnose_{area}")),
                usize::from(is_due),
                "{expected} {area}"
            );
        }
    }
}

#[test]
fn t17_three_failures_skip_an_action_and_three_skips_end_the_task() {
    for (broken, last, errors) in [
        (&["diagnose_memory"][..], "complete", 1),
        (&["diagnose_memory", "generate_report"], "complete", 2),
        (
            &["diagnose_memory", "diagnose_agent", "generate_report"],
            "abort",
            3,
        ),
    ] {
        let mut task = begun(&json!({}));
        task.run(Mode::Auto, &mut |job| {
            if broken.contains(&job.action.as_str()) {
                Reply::Died
            } else {
                reply(job, &plain(job))
            }
        });
        // What was skipped is missing, so none of these is completed; only the last one was cut short.
        assert_eq!(
            (task.phase().as_str(), task.state.run.errors),
            ("failed", errors),
            "{broken:?}"
        );
        assert_eq!(
            task.trace.last().map(String::as_str),
            Some(last),
            "{broken:?}"
        );
        for action in broken {
            assert_eq!(count(&task, action), 3, "{action}");
        }
    }
    // A success forgets the failures before it.
    let mut task = begun(&json!({}));
    task.run(Mode::Auto, &mut |job| {
        if job.before < 2 && job.action.as_str() == "init" {
            Reply::Died
        } else {
            reply(job, &plain(job))
        }
    });
    assert_eq!(
        (task.phase().as_str(), task.state.run.errors),
        ("completed", 0)
    );
}

#[test]
fn t17_what_was_skipped_is_not_called_done() {
    let urgent = |severity: &'static str, at: &str, broken: &'static str| {
        let at = at.to_owned();
        move |job: &super::Job<'_>| match job.action.as_str() {
            name if name == broken => json!({"status": "failed"}),
            name if name == at => found("context", &[severity; 4]),
            _ => plain(job),
        }
    };
    // Of which severity four issues are, which action never works, and what the tuning comes to.
    for (severity, broken, phase, rule) in [
        ("low", "diagnose_memory", "failed", "ended-undiagnosed"),
        ("high", "generate_report", "failed", "ended-undone"),
        ("high", "propose_fixes", "failed", "ended-undone"),
        ("high", "apply_fix", "failed", "ended-undone"),
        ("high", "verify", "failed", "ended-undone"),
        ("low", "gemini_analysis", "completed", "completed-passed"),
        (
            "low",
            "analyze_requirements",
            "completed",
            "completed-passed",
        ),
        ("low", "complete", "completed", "completed-passed"),
    ] {
        let answers = json!({"gemini_analysis_requested": broken == "gemini_analysis"});
        let mut task = begun(&answers);
        let work = urgent(severity, "diagnose_context", broken);
        let ended = task.run(Mode::Auto, &mut |job| reply(job, &work(job)));
        assert_eq!(
            (task.phase().as_str(), task.state.run.errors),
            (phase, 1),
            "{broken}: {}",
            ended.reason
        );
        let moved = task
            .told
            .iter()
            .rfind(|entry| entry.from.as_ref() != Some(&entry.to))
            .expect("it moved");
        assert_eq!(moved.rule.as_deref(), Some(rule), "{broken}");
    }
    // So is an area whose diagnosis failed; and where every area was skipped, nothing was diagnosed.
    for (status, rule) in [
        ("skipped", "ended-all-skipped"),
        ("failed", "ended-undiagnosed"),
    ] {
        let mut task = begun(&json!({"focus_areas": ["memory"]}));
        run(&mut task, Mode::Auto, |job| {
            let diagnosis = json!({"status": status, "severity": "none", "issues": []});
            (job.action.as_str() == "diagnose_memory")
                .then(|| json!({"stateUpdates": {"diagnosis.memory": diagnosis}}))
        });
        assert_eq!(
            (task.phase().as_str(), task.at("/quality_gate")),
            ("failed", json!("pass")),
            "{status}"
        );
        assert_eq!(last_rule(&task), rule, "{status}");
    }
}

/// The schema of the state allows a diagnosis to be skipped.
#[test]
fn a_skipped_diagnosis_does_not_fail_the_tuning() {
    let mut task = begun(&json!({}));
    run(&mut task, Mode::Auto, |job| {
        let diagnosis = json!({"status": "skipped", "severity": "none", "issues": []});
        (job.action.as_str() == "diagnose_docs")
            .then(|| json!({"stateUpdates": {"diagnosis.docs": diagnosis}}))
    });
    assert_eq!(task.phase(), "completed");
    assert_eq!(last_rule(&task), "completed-passed-partly");
    // Its executor wrote no report file, and was not tried again for that.
    assert_eq!(count(&task, "diagnose_docs"), 1);
}

#[test]
fn an_empty_report_is_refused_for_what_it_is() {
    let mut task = begun(&json!({"focus_areas": ["memory"]}));
    task.run(Mode::Auto, &mut |job| match job.action.as_str() {
        "diagnose_memory" => {
            let report = (
                "diagnosis/memory-diagnosis.json".to_owned(),
                Some(String::new()),
            );
            Reply::Printed(found("memory", &["low"]).to_string(), vec![report])
        }
        _ => reply(job, &plain(job)),
    });
    let refused = task.state.errors[0]["message"].as_str().unwrap_or_default();
    assert!(
        refused.contains("diagnosis/memory-diagnosis.json: the file is empty"),
        "{refused}"
    );
}

/// The rule of the last move to another phase.
fn last_rule(task: &super::Simulation<'_>) -> String {
    let moved = task
        .told
        .iter()
        .rfind(|entry| entry.from.as_ref() != Some(&entry.to))
        .expect("it moved");
    moved.rule.clone().unwrap_or_default()
}

#[test]
fn an_end_without_a_passed_gate_says_that_an_area_was_skipped() {
    let skips = |job: &super::Job<'_>| {
        let diagnosis = json!({"status": "skipped", "severity": "none", "issues": []});
        let skipped = json!({"stateUpdates": {"diagnosis.docs": diagnosis}});
        (job.action.as_str() == "diagnose_docs").then_some(skipped)
    };
    // Four urgent issues without a remedy: nothing is left to do. With a fix that fails: a person stops.
    for (fixes, rule) in [
        (false, "completed-unpassed-partly"),
        (true, "completed-enough-partly"),
    ] {
        let mut task = begun(&json!({}));
        task.run(Mode::Auto, &mut |job| {
            let work = match job.action.as_str() {
                "diagnose_context" => found("context", &["high"; 4]),
                "propose_fixes" if !fixes => json!({"stateUpdates": {"proposed_fixes": []}}),
                "verify" => super::verified(job, |_| "fail"),
                _ => skips(job).unwrap_or_else(|| plain(job)),
            };
            reply(job, &work)
        });
        assert_eq!(
            (task.phase().as_str(), last_rule(&task).as_str()),
            ("completed", rule)
        );
    }
}

/// A report that is empty, or whose bytes are those of the iteration before, is no report.
#[test]
fn reports_that_are_empty_or_left_over_are_refused() {
    for (text, done) in [(Some("# Report\n"), 1), (Some(""), 0), (None, 2)] {
        let mut task = begun(&json!({"max_iterations": 2}));
        task.run(Mode::Auto, &mut |job| {
            let result = match job.action.as_str() {
                "verify" => super::verified(job, |fix| if fix == 1 { "pass" } else { "fail" }),
                _ => urgent(job).unwrap_or_else(|| plain(job)),
            };
            let given = reply(job, &result);
            let Reply::Printed(output, files) = given else {
                panic!("it printed")
            };
            let same = |(path, new): (String, Option<String>)| {
                let is_report = path == "tuning-report.md";
                let text = if is_report {
                    text.map(str::to_owned)
                } else {
                    new
                };
                (path, text)
            };
            Reply::Printed(output, files.into_iter().map(same).collect())
        });
        let reports = task
            .state
            .tally(&ActionName::new("generate_report").expect("a name"))
            .done;
        assert_eq!(reports, done, "{text:?}: {:?}", task.trace);
    }
}

#[test]
fn t18_the_state_holds_windows_and_the_story_is_whole() {
    let mut task = begun(&json!({"max_iterations": 2}));
    let broken = ["diagnose_memory", "diagnose_docs"];
    run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        name if broken.contains(&name) => Some(json!({"status": "failed", "message": "no"})),
        "verify" => Some(super::verified(
            job,
            |fix| if fix == 1 { "pass" } else { "fail" },
        )),
        _ => urgent(job),
    });
    assert_eq!((task.state.history.len(), task.state.run.errors), (3, 3));
    assert!(
        task.state.errors.len() <= 5 && task.told.len() > 20,
        "{}",
        task.told.len()
    );
    // Nothing that decides rests on a window: the counts reach back further than it does.
    let analyzed = MACHINE
        .workflow
        .actions
        .iter()
        .find(|action| action.name.as_str() == "analyze_requirements");
    assert_eq!(task.state.tally(&analyzed.expect("known").name).done, 1);
    assert!(
        task.state
            .history
            .iter()
            .all(|entry| entry.action.as_ref() != analyzed.map(|action| &action.name))
    );
}

#[test]
fn t19_output_that_is_no_result_is_a_failure() {
    for output in [
        "",
        "done!",
        "[]",
        "{\"ok\": true}",
        "{\"status\": \"failed\"}",
        "{\"stateUpdates\": \"no\"}",
    ] {
        let mut task = begun(&json!({"focus_areas": ["memory"]}));
        task.run(Mode::Auto, &mut |job| match job.action.as_str() {
            "diagnose_memory" => Reply::Printed(
                output.to_owned(),
                vec![("diagnosis/memory-diagnosis.json".to_owned(), None)],
            ),
            _ => reply(job, &plain(job)),
        });
        assert_eq!(
            (count(&task, "diagnose_memory"), task.at("/diagnosis")),
            (3, json!({})),
            "{output}"
        );
    }
}

#[test]
fn t19_who_says_it_is_done_has_to_have_done_it() {
    let claimed = json!({"summary": "all done"});
    let checked = MACHINE.workflow.actions.iter();
    // What only writes a file has done its work with that.
    for action in checked.filter(|action| !action.ensures.is_always() && !action.writes.is_empty())
    {
        let name = action.name.as_str();
        let mut task = begun(&json!({"gemini_analysis_requested": true}));
        run(&mut task, Mode::Auto, |job| {
            if job.action.as_str() == name {
                Some(claimed.clone())
            } else {
                urgent(job)
            }
        });
        // A list of proposals that is empty is one.
        let tries = match name {
            "propose_fixes" => 1,
            "gemini_analysis" => 2,
            _ => 3,
        };
        assert_eq!(count(&task, name), tries, "{name}: {:?}", task.trace);
    }
}

#[test]
fn t20_a_focus_on_other_things_alone_leaves_nothing_to_diagnose() {
    let mut task = begun(&json!({"focus_areas": ["prompt"]}));
    run(&mut task, Mode::Auto, |_| None);
    assert_eq!(
        task.trace,
        [
            "init",
            "analyze_requirements",
            "gemini_analysis",
            "generate_report",
            "complete"
        ]
    );
}

#[test]
fn the_gate_is_computed_and_never_told() {
    // Severities, then what the formula makes of them.
    for (severities, score, gate) in [
        (&[][..], 100, "pass"),
        (&["high", "high"], 70, "pass"),
        (&["high", "high", "medium", "medium"], 60, "pass"),
        (&["high", "high", "medium", "medium", "low"], 59, "review"),
        (&["high", "high", "high"], 55, "review"),
        (&["critical"], 75, "review"),
        (&["critical", "critical"], 50, "review"),
        (&["high", "high", "high", "high"], 40, "review"),
        (&["high", "high", "high", "high", "low"], 39, "fail"),
        (
            &["critical", "critical", "critical", "critical", "critical"],
            0,
            "fail",
        ),
    ] {
        let mut task = begun(&json!({}));
        run(&mut task, Mode::Interactive, |job| {
            match job.action.as_str() {
                "diagnose_context" => Some(found("context", severities)),
                "gemini_analysis" => {
                    Some(json!({"stateUpdates": {"gemini_analysis": {"status": "skipped"}}}))
                }
                _ => None,
            }
        });
        assert_eq!(
            (task.at("/quality_score"), task.at("/quality_gate")),
            (json!(score), json!(gate)),
            "{severities:?}"
        );
        let high = severities.iter().filter(|one| **one == "high").count();
        assert_eq!(task.at("/issues_by_severity/high"), json!(high));
    }
}

#[test]
fn an_action_writes_its_own_part_only() {
    for (action, updates) in [
        (
            "diagnose_memory",
            json!({"diagnosis.context": {"status": "completed", "severity": "none", "issues": []}}),
        ),
        ("diagnose_memory", json!({"issues": []})),
        ("generate_report", json!({"quality_gate": "pass"})),
        ("generate_report", json!({"status": "completed"})),
        ("init", json!({"target_skill": {"path": "elsewhere"}})),
        ("analyze_requirements", json!({"focus_areas": ["memory"]})),
        ("complete", json!({"iteration_count": 0})),
        ("complete", json!({"max_iterations": 50})),
    ] {
        let mut task = begun(&json!({}));
        let trespass = |job: &super::Job<'_>| {
            let mut result = plain(job);
            if job.action.as_str() == action {
                let members = result["stateUpdates"].as_object_mut().expect("an object");
                members.extend(updates.as_object().expect("an object").clone());
            }
            Some(result)
        };
        run(&mut task, Mode::Auto, trespass);
        assert_eq!(count(&task, action), 3, "{action} {updates}");
        assert_ne!(task.at("/quality_gate"), json!("fail").to_string());
    }
}

#[test]
fn unattended_the_risky_fixes_are_left_to_a_person() {
    let risky = |job: &super::Job<'_>| match job.action.as_str() {
        "propose_fixes" => {
            let fix = |id, risk| {
                json!({"id": id, "issue_ids": ["CTX-1"], "strategy": "custom",
                "description": "x", "risk": risk})
            };
            Some(
                json!({"stateUpdates": {"proposed_fixes": [fix("FIX-1", "high"), fix("FIX-2", "medium")]}}),
            )
        }
        _ => urgent(job),
    };
    let mut task = begun(&json!({"max_iterations": 1}));
    run(&mut task, Mode::Auto, risky);
    assert_eq!(count(&task, "apply_fix"), 1);
    assert_eq!(task.at("/applied_fixes/0/fix_id"), "FIX-2");
    let mut task = begun(&json!({}));
    run(&mut task, Mode::Interactive, risky);
    let refused = task
        .answer(&json!({"pending_fixes": ["FIX-3"]}))
        .expect_err("not proposed");
    assert!(refused.contains("FIX-3"), "{refused}");
    assert!(task.answer(&json!({"pending_fixes": ["FIX-1"]})).is_ok());
}

#[test]
fn fixes_of_one_name_are_refused_and_a_contradiction_is_no_pass() {
    let mut task = begun(&json!({}));
    run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "propose_fixes" => {
            let fix = json!({"id": "FIX-1", "issue_ids": ["CTX-1"], "strategy": "custom", "description": "x",
                "risk": "low"});
            Some(json!({"stateUpdates": {"proposed_fixes": [fix, fix]}}))
        }
        _ => urgent(job),
    });
    assert_eq!(
        (count(&task, "propose_fixes"), task.at("/proposed_fixes")),
        (3, json!([]))
    );
    let mut task = begun(&json!({}));
    run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "verify" => {
            let both = ["pass", "fail"].map(|result| json!({"fix_id": "FIX-1", "result": result}));
            Some(json!({"stateUpdates": {"verification": {"results": both}}}))
        }
        _ => urgent(job),
    });
    assert_eq!(task.at("/applied_fixes/0/verification_result"), "fail");
    assert_eq!(task.at("/issues/0/id"), "CTX-1");
}

#[test]
fn a_fix_that_could_not_be_applied_has_failed_and_is_not_verified() {
    let mut task = begun(&json!({}));
    let ended = run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "apply_fix" => Some(json!({"stateUpdates": {"applying": {
            "fix_id": job.state["pending_fixes"][0], "success": false}}})),
        _ => urgent(job),
    });
    assert_eq!(
        (
            ended.ending,
            count(&task, "verify"),
            task.at("/pending_fixes")
        ),
        (Ending::Completed, 0, json!([]))
    );
    assert_eq!(task.at("/applied_fixes/0/verification_result"), "fail");
}

#[test]
fn a_person_may_stop_it_everywhere_and_take_it_up_again() {
    let mut task = begun(&json!({}));
    run(&mut task, Mode::Interactive, urgent);
    task.order(Signal::Stop).expect("a rule");
    assert_eq!(task.phase(), "user_exit");
    let ended = run(&mut task, Mode::Interactive, urgent);
    assert_eq!((ended.ending, ended.turns), (Ending::Failed, 0));
    task.reopen(None);
    assert_eq!(task.phase(), "running");
    assert_eq!(run(&mut task, Mode::Auto, urgent).ending, Ending::Completed);
    assert_eq!(
        count(&task, "diagnose_context"),
        1,
        "what was done is not done again"
    );
}

#[test]
fn a_task_that_failed_begins_another_iteration_when_it_is_opened_again() {
    let mut task = begun(&json!({}));
    task.run(Mode::Auto, &mut |_| Reply::Died);
    assert_eq!(task.phase(), "failed");
    task.reopen(None);
    assert_eq!(
        run(&mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(task.at("/iteration_count"), 1);
    // From its end it begins again too, with everything that one iteration does, and no budget given back.
    task.reopen(None);
    assert_eq!(
        run(&mut task, Mode::Interactive, |_| None).ending,
        Ending::Waiting
    );
    let elsewhere = task
        .answer(&json!({"target_skill.path": "skills/other"}))
        .expect_err("not asked for");
    assert!(
        elsewhere.contains("the question does not ask for"),
        "{elsewhere}"
    );
    task.answer(&json!({"focus_areas": ["docs"]}))
        .expect("asked for");
    let before = task.trace.len();
    assert_eq!(
        run(&mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(task.at("/iteration_count"), 2);
    let again = [
        "init",
        "analyze_requirements",
        "diagnose_docs",
        "generate_report",
        "complete",
    ];
    assert_eq!(task.trace[before..], again);
}
