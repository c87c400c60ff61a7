//! What the programs print, and what is read from it.

use super::*;
use orch_base::{CivilTime, Period, Timestamp};
use serde_json::json;

fn read(output: &str) -> AgentOutput {
    AgentOutput::read(output, "")
}

/// What was read, without what no result or error depends on.
fn told(read: &AgentOutput) -> (Option<Value>, Vec<f64>, Option<&str>) {
    let failure = read.failure.as_ref().map(|failure| failure.why.as_str());
    let costs = read.costs.iter().map(|reported| reported.cost).collect();
    (read.result.clone(), costs, failure)
}

#[test]
fn the_json_of_claude_is_read() {
    let answer = "Done.\n\n```json\n{\"stateUpdates\": {\"a\": 1}}\n```\n";
    let envelope = json!({"type": "result", "subtype": "success", "is_error": false, "duration_ms": 9,
        "num_turns": 3, "result": answer, "session_id": "s", "total_cost_usd": 0.25, "usage": {"input_tokens": 1}});
    let wanted = json!({"stateUpdates": {"a": 1}});
    let stream = format!(
        "{}\n{}\n{envelope}\n",
        json!({"type": "system", "subtype": "init", "cwd": "/w", "tools": ["Bash"]}),
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "{\"summary\": \"no\"}"}]}}),
    );
    let list = json!([{"type": "system", "subtype": "init"}, envelope]).to_string();
    let pretty = serde_json::to_string_pretty(&envelope).expect("JSON");
    for output in [
        envelope.to_string(),
        pretty,
        stream,
        list,
        format!("a warning\n{envelope}"),
    ] {
        let read = read(&output);
        assert_eq!(
            told(&read),
            (Some(wanted.clone()), vec![0.25], None),
            "{output}"
        );
        assert_eq!(read.answer.as_deref(), Some(answer));
    }
    let plain = json!({"type": "result", "is_error": false, "result": "I fixed it.", "total_cost_usd": 0.5});
    assert_eq!(told(&read(&plain.to_string())), (None, vec![0.5], None));
    let structured = json!({"type": "result", "is_error": false, "result": "", "total_cost_usd": 0.5,
        "structured_output": {"summary": "fixed"}});
    let wanted = json!({"summary": "fixed"});
    assert_eq!(
        told(&read(&structured.to_string())),
        (Some(wanted), vec![0.5], None)
    );
}

/// Of one conversation the last cost counts, and of several each; a program that names none adds them up.
#[test]
fn costs_are_those_of_conversations() {
    let end = |session: Value, cost: f64| {
        json!({"type": "result", "is_error": false, "result": "", "session_id": session, "total_cost_usd": cost})
            .to_string()
    };
    let costs = |lines: &[String]| {
        let read = read(&lines.join("\n"));
        let costs = read.costs.iter();
        costs
            .map(|one| (one.conversation.clone().unwrap_or_default(), one.cost))
            .collect::<Vec<_>>()
    };
    let a = || json!("a");
    let of = |name: &str, cost: f64| (name.to_owned(), cost);
    assert_eq!(costs(&[end(a(), 0.5), end(a(), 0.75)]), [of("a", 0.75)]);
    assert_eq!(
        costs(&[end(a(), 0.5), end(json!("b"), 2.0), end(a(), 0.75)]),
        [of("a", 0.75), of("b", 2.0)]
    );
    assert_eq!(
        costs(&[end(Value::Null, 1.0), end(Value::Null, 2.0)]),
        [of("", 1.0), of("", 2.0)]
    );
    assert_eq!(costs(&[end(a(), -1.0)]), [of("a", 0.0)]);
}

#[test]
fn the_events_of_codex_are_read() {
    let line = |value: Value| format!("{value}\n");
    let started = line(json!({"type": "thread.started", "thread_id": "t"}))
        + &line(json!({"type": "turn.started"}));
    let said = |text: &str| {
        line(
            json!({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": text}}),
        )
    };
    let used =
        line(json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}}));
    let lost = line(json!({"type": "error", "message": "stream disconnected"}));
    let failed = line(json!({"type": "turn.failed", "error": {"message": "usage limit reached"}}));
    let ran = line(
        json!({"type": "item.completed", "item": {"type": "command_execution",
        "aggregated_output": "{\"summary\": \"not mine\"}"}}),
    );
    let answer = said("{\"summary\": \"fixed\"}");
    let fixed = || Some(json!({"summary": "fixed"}));
    for (output, result, failure) in [
        (
            format!("{started}{}{ran}{answer}{used}", said("I begin")),
            fixed(),
            None,
        ),
        (format!("{started}{lost}{answer}{used}"), fixed(), None),
        (
            format!("{started}{answer}{lost}"),
            fixed(),
            Some("stream disconnected"),
        ),
        (
            format!("{started}{failed}"),
            None,
            Some("usage limit reached"),
        ),
        // Another turn may do better.
        (
            format!("{started}{failed}{started}{answer}{used}"),
            fixed(),
            None,
        ),
        // Whatever else printed an error before the program began.
        (format!("{lost}{answer}{used}"), fixed(), None),
        (format!("{lost}{answer}"), fixed(), None),
        // A program that began and said nothing has no result, whatever a command printed that it ran.
        (
            format!("{started}ACTION_RESULT:\n- status: success\n"),
            None,
            None,
        ),
        (format!("{started}{}{used}", said("done")), None, None),
    ] {
        assert_eq!(
            told(&read(&output)),
            (result, Vec::new(), failure),
            "{output}"
        );
    }
}

#[test]
fn a_script_around_the_program_prints_the_result_itself() {
    let envelope = json!({"type": "result", "is_error": false, "result": "{\"summary\": \"a\"}", "total_cost_usd": 1.0});
    let output = format!("{envelope}\n{envelope}\n{{\"summary\": \"b\"}}\n");
    assert_eq!(
        told(&read(&output)),
        (Some(json!({"summary": "b"})), vec![1.0, 1.0], None)
    );
    let plain = "{\"type\": \"result\", \"stateUpdates\": {}}";
    let own = json!({"type": "result", "stateUpdates": {}});
    assert_eq!(told(&read(plain)), (Some(own), Vec::new(), None));
}

#[test]
fn a_block_with_the_result_is_read() {
    let wanted =
        json!({"status": "success", "message": "two: done", "stateUpdates": {"a": {"b": [1]}}});
    for output in [
        "ACTION_RESULT:\n- action: DEVELOP\n- status: success\n- message: two: done\n- state_updates: {\"a\": {\"b\": [1]}}\n\nNEXT_ACTION_NEEDED: MENU\n",
        "Fine.\n```\nACTION_RESULT:\n  status: success\n  message: \"two: done\"\n  state_updates: {\n    \"a\": {\n      \"b\": [1]\n    }\n  }\n```\n",
    ] {
        assert_eq!(read(output).result, Some(wanted.clone()), "{output}");
    }
    let fenced = "```ACTION_RESULT\n{\"summary\": \"a\"}\n```\n";
    assert_eq!(read(fenced).result, Some(json!({"summary": "a"})));
    let torn = read("ACTION_RESULT:\n- status: success\n- state_updates: {\"a\": \n").result;
    assert!(orch_core::decide::ActionResult::read(&torn.expect("a result")).is_err());
}

/// The last answer, what was denied and the conversation, of each program.
#[test]
fn the_last_answer_and_what_was_denied_are_read() {
    let lines = |lines: &[Value]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let id = "ses_1";
    let denied = "denied";
    for (output, errors, answer, denials) in [
        (
            lines(&[json!({"type": "result", "subtype": "success", "is_error": false, "session_id": id,
                "result": "I may not write.", "permission_denials": [
                    {"tool_name": "Write", "tool_use_id": "u", "tool_input": {"file_path": "a.md", "content": "x"}},
                    {"tool_name": "Bash", "tool_use_id": "v", "tool_input": {"command": "git push\necho"}},
                    {"tool_name": "Bash", "tool_use_id": "w", "tool_input": {"command": "git push"}}]})]),
            "",
            Some("I may not write."),
            &["Write (a.md)", "Bash (git push)"][..],
        ),
        // A stream that was cut.
        (
            lines(&[
                json!({"type": "system", "subtype": "init", "session_id": id, "cwd": "/home/ann/x"}),
                json!({"type": "assistant", "session_id": id, "message": {"content": [{"type": "text", "text": "I begin."},
                    {"type": "tool_use", "name": "Bash", "input": {}}]}}),
                json!({"type": "assistant", "session_id": id, "message": {"content": [{"type": "tool_use"}]}}),
            ]),
            "",
            Some("I begin."),
            &[],
        ),
        (
            lines(&[
                json!({"type": "thread.started", "thread_id": id}),
                json!({"type": "item.completed", "item": {"type": "command_execution", "command": "rm x", "status": "declined"}}),
                json!({"type": "item.completed", "item": {"type": "agent_message", "text": "No."}}),
            ]),
            "",
            Some("No."),
            &["command_execution (rm x)"],
        ),
        (
            json!({"session_id": id, "response": "Done.", "stats": {"tools": {"byName": {
                "write_file": {"decisions": {"accept": 0, "reject": 2}}, "glob": {"decisions": {"reject": 0}}}}}})
            .to_string(),
            "",
            Some("Done."),
            &["write_file"],
        ),
        (
            lines(&[
                json!({"type": "init", "timestamp": "t", "session_id": id, "model": "m"}),
                json!({"type": "message", "role": "user", "content": "do"}),
                json!({"type": "message", "role": "assistant", "content": "I ", "delta": true}),
                json!({"type": "message", "role": "assistant", "content": "did.", "delta": true}),
                json!({"type": "result", "status": "success", "stats": {}}),
            ]),
            "",
            Some("I did."),
            &[],
        ),
        (
            lines(&[
                json!({"type": "step_start", "sessionID": id, "part": {"type": "step-start"}}),
                json!({"type": "tool_use", "sessionID": id, "part": {"tool": "bash", "state": {"status": "error",
                    "input": {"command": "ls /"},
                    "error": "The user rejected permission to use this specific tool call."}}}),
                json!({"type": "text", "sessionID": id, "part": {"type": "text", "text": "I stop."}}),
            ]),
            "! permission requested: external_directory (/tmp/*); auto-rejecting\n",
            Some("I stop."),
            &["bash (ls /)", "external_directory (/tmp/*)"],
        ),
        (
            lines(&[
                json!({"type": "tool.execution_start", "data": {"toolCallId": "c", "toolName": "bash"}}),
                json!({"type": "tool.execution_complete", "data": {"toolCallId": "c", "success": false,
                    "error": {"message": "Permission denied and could not request permission from user", "code": denied}}}),
                json!({"type": "assistant.message", "data": {"content": "I could not.", "toolRequests": []}}),
                json!({"type": "result", "sessionId": id, "exitCode": 0, "usage": {"premiumRequests": 1}}),
            ]),
            "",
            Some("I could not."),
            &["bash"],
        ),
    ] {
        let read = AgentOutput::read(&output, errors);
        assert_eq!(read.answer.as_deref(), answer, "{output}");
        assert_eq!(read.denials, denials, "{output}");
        assert_eq!(read.conversations, [id], "{output}");
        assert_eq!(read.failure, None, "{output}");
    }
    let steps = lines(&[
        json!({"type": "step_finish", "sessionID": id, "part": {"cost": 0.25, "tokens": {}}}),
        json!({"type": "step_finish", "sessionID": id, "part": {"cost": 0.5, "tokens": {}}}),
    ]);
    assert_eq!(told(&read(&steps)), (None, vec![0.25, 0.5], None));
}

/// What each program prints that cannot work, on its standard output and its standard error, and what is made of it.
#[test]
fn errors_are_told_apart() {
    use AgentStop::*;
    let claude = |text: &str, status: Value| {
        json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": status,
            "terminal_reason": "api_error", "result": text, "session_id": "s", "total_cost_usd": 0, "permission_denials": []})
        .to_string()
    };
    let codex = |text: &str| {
        [
            json!({"type": "thread.started", "thread_id": "t"}),
            json!({"type": "turn.started"}),
            json!({"type": "error", "message": text}),
            json!({"type": "turn.failed", "error": {"message": text}}),
        ]
        .map(|line| line.to_string())
        .join("\n")
    };
    let reconnecting = |text: &str| {
        format!(
            "{}\n{}\n",
            json!({"type": "thread.started", "thread_id": "t"}),
            json!({"type": "error", "message": text})
        )
    };
    let gemini = |kind: &str, text: &str, code: Value| {
        let error =
            json!({"session_id": "s", "error": {"type": kind, "message": text, "code": code}});
        format!("Loaded cached credentials.\n{error:#}")
    };
    let opencode = |name: &str, data: Value| {
        json!({"type": "error", "timestamp": 1, "sessionID": "ses_1", "error": {"name": name, "data": data}}).to_string()
    };
    let copilot = |kind: &str, text: &str, status: Value| {
        [
            json!({"type": "session.error", "data": {"errorType": kind, "message": text, "statusCode": status}}),
            json!({"type": "result", "sessionId": "s", "exitCode": 1, "usage": {"premiumRequests": 0}}),
        ]
        .map(|line| line.to_string())
        .join("\n")
    };
    let max_turns =
        json!({"type": "result", "subtype": "error_max_turns", "is_error": false, "num_turns": 9})
            .to_string();
    let qwen = json!([{"type": "system", "subtype": "init", "session_id": "s"},
        {"type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": "s",
         "error": {"message": "[API Error: 401 Incorrect API key provided]"}, "permission_denials": []}])
    .to_string();
    let billing = [
        json!({"type": "assistant", "session_id": "s", "error": "billing_error", "message": {"content": []}}),
        json!({"type": "result", "subtype": "success", "is_error": true, "result": "No.", "session_id": "s"}),
    ]
    .map(|line| line.to_string())
    .join("\n");
    let rejected = [
        json!({"type": "rate_limit_event", "session_id": "s", "rate_limit_info": {"status": "rejected", "resetsAt": 1_796_000_000}}),
        json!({"type": "result", "subtype": "success", "is_error": true, "result": "No.", "session_id": "s"}),
    ]
    .map(|line| line.to_string())
    .join("\n");
    let overloaded = "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_1\"}";
    let table: Vec<(String, String, Option<AgentStop>, bool)> = vec![
        (
            claude(
                "You've hit your limit · resets 5pm (Europe/Vilnius)",
                json!(429),
            ),
            String::new(),
            Some(Limit),
            true,
        ),
        (
            claude(
                "You've hit your session limit · resets 1:10am (UTC)",
                Value::Null,
            ),
            String::new(),
            Some(Limit),
            true,
        ),
        (
            claude("Claude AI usage limit reached|1796000000", Value::Null),
            String::new(),
            Some(Limit),
            true,
        ),
        (
            claude("Something new", json!(429)),
            String::new(),
            Some(Limit),
            false,
        ),
        (rejected, String::new(), None, true),
        (
            claude(overloaded, json!(529)),
            String::new(),
            Some(Overloaded),
            false,
        ),
        (
            claude(overloaded, Value::Null),
            String::new(),
            Some(Overloaded),
            false,
        ),
        (
            claude("API Error: 503 no healthy upstream", Value::Null),
            String::new(),
            Some(Overloaded),
            false,
        ),
        (
            claude(
                "API Error: Unable to connect to API (ConnectionRefused)",
                Value::Null,
            ),
            String::new(),
            Some(NoNetwork),
            false,
        ),
        (
            claude("Something about sockets", Value::Null),
            String::new(),
            Some(NoNetwork),
            false,
        ),
        (
            claude("Invalid API key · Please run /login", json!(401)),
            String::new(),
            Some(NotSignedIn),
            false,
        ),
        (
            claude("Not logged in · Please run /login", Value::Null),
            String::new(),
            Some(NotSignedIn),
            false,
        ),
        (
            claude(
                "API Error: 403 {\"error\":{\"type\":\"permission_error\",\"message\":\"No.\"}}",
                Value::Null,
            ),
            String::new(),
            Some(NotAllowed),
            false,
        ),
        (
            claude(
                "There's an issue with the selected model (claude-9).",
                json!(404),
            ),
            String::new(),
            Some(NotFound),
            false,
        ),
        (
            claude("Credit balance is too low", json!(400)),
            String::new(),
            Some(NoCredit),
            false,
        ),
        (
            claude("Prompt is too long", json!(400)),
            String::new(),
            Some(ContextTooLong),
            false,
        ),
        (
            claude("Something else is wrong", json!(400)),
            String::new(),
            None,
            false,
        ),
        (billing, String::new(), Some(NoCredit), false),
        (max_turns, String::new(), None, false),
        (qwen, String::new(), Some(NotSignedIn), false),
        (
            codex(
                "You've hit your usage limit. To get more access now, send a request to your admin or try again at 12:16 PM.",
            ),
            String::new(),
            Some(Limit),
            true,
        ),
        (
            codex("Your workspace is out of credits. Try again in 2 days 17 hours 14 minutes."),
            String::new(),
            Some(Limit),
            true,
        ),
        (
            codex("Quota exceeded. Check your plan and billing details."),
            String::new(),
            Some(NoCredit),
            false,
        ),
        (
            codex("exceeded retry limit, last status: 429 Too Many Requests, request id: c4fc"),
            String::new(),
            Some(Limit),
            false,
        ),
        (
            codex("unexpected status 401 Unauthorized: Missing bearer"),
            String::new(),
            Some(NotSignedIn),
            false,
        ),
        (
            codex("unexpected status 503 Service Unavailable: try later"),
            String::new(),
            Some(Overloaded),
            false,
        ),
        (
            reconnecting(
                "Reconnecting... 3/5 (stream disconnected before completion: error sending request)",
            ),
            String::new(),
            Some(NoNetwork),
            false,
        ),
        (
            codex("Codex ran out of room in the model's context window."),
            String::new(),
            Some(ContextTooLong),
            false,
        ),
        (codex("something went wrong"), String::new(), None, false),
        (
            String::new(),
            gemini(
                "Error",
                "[API Error: {\"error\":{\"code\":429,\"message\":\"You exceeded your current quota, please check your plan and billing details. Please retry in 36.5s.\",\"status\":\"RESOURCE_EXHAUSTED\"}}]",
                json!(429),
            ),
            Some(Limit),
            true,
        ),
        (
            String::new(),
            gemini(
                "FatalAuthenticationError",
                "Please set an Auth method in your settings",
                json!(41),
            ),
            Some(NotSignedIn),
            false,
        ),
        (
            String::new(),
            gemini(
                "Error",
                "exception TypeError: fetch failed sending request",
                json!(1),
            ),
            Some(NoNetwork),
            false,
        ),
        (
            String::new(),
            gemini(
                "FatalTurnLimitedError",
                "Reached max session turns for this session.",
                json!(53),
            ),
            None,
            false,
        ),
        (
            format!(
                "{}\n{}",
                json!({"type": "init", "session_id": "s"}),
                json!({"type": "result", "status": "error", "error": {"type": "Error", "message": "Your quota will reset after 11h30m15s."}})
            ),
            String::new(),
            Some(Limit),
            true,
        ),
        (
            opencode(
                "APIError",
                json!({"message": "Too Many Requests", "statusCode": 429, "isRetryable": true}),
            ),
            String::new(),
            Some(Limit),
            false,
        ),
        (
            opencode(
                "ProviderAuthError",
                json!({"providerID": "x", "message": "no key"}),
            ),
            String::new(),
            Some(NotSignedIn),
            false,
        ),
        (
            opencode("ContextOverflowError", json!({"message": "it is full"})),
            String::new(),
            Some(ContextTooLong),
            false,
        ),
        (
            opencode(
                "UnknownError",
                json!({"message": "Unexpected server error. Check server logs for details."}),
            ),
            String::new(),
            None,
            false,
        ),
        (
            copilot(
                "rate_limit",
                "Sorry, you've hit a rate limit. Please try again in 3 hours.",
                json!(429),
            ),
            String::new(),
            Some(Limit),
            true,
        ),
        (
            copilot("quota", "You have no quota (402)", json!(402)),
            String::new(),
            Some(NoCredit),
            false,
        ),
        (
            copilot(
                "authentication",
                "No authentication information found.",
                Value::Null,
            ),
            String::new(),
            Some(NotSignedIn),
            false,
        ),
        (
            copilot("query", "it failed", Value::Null),
            String::new(),
            None,
            false,
        ),
    ];
    for (output, errors, stop, has_reset) in table {
        let read = AgentOutput::read(&output, &errors);
        let failure = read
            .failure
            .unwrap_or_else(|| panic!("no failure: {output}{errors}"));
        let expected = if has_reset {
            stop.or(Some(Limit))
        } else {
            stop
        };
        assert_eq!(failure.stop, expected, "{output}{errors}");
        assert_eq!(failure.reset.is_some(), has_reset, "{failure:?}");
        assert!(!failure.why.contains(['{', '}']), "{failure:?}");
        assert!(read.is_wrapped);
    }
}

/// Plain text is that of any program: only words that no other program uses count.
#[test]
fn plain_errors_are_told_apart() {
    use AgentStop::*;
    for (output, errors, stop) in [
        ("", "error: unknown option '--frob'\n", Some(UnknownOption)),
        (
            "",
            "error: unexpected argument '--frob' found\n\n  tip: x\n\nUsage: codex exec\n",
            Some(UnknownOption),
        ),
        (
            "",
            "Usage: gemini [options]\n\nOptions:\n  -p\n\nUnknown argument: frob\n",
            Some(UnknownOption),
        ),
        (
            "",
            "error: option '--model <model>' argument missing\n",
            Some(UnknownOption),
        ),
        ("3 tests failed\n", "error: unknown option '--frob'\n", None),
        (
            "You've hit your limit · resets 5pm (Europe/Vilnius)\n",
            "",
            Some(Limit),
        ),
        (
            "working\nClaude AI usage limit reached|1796000000\n",
            "",
            Some(Limit),
        ),
        (
            "",
            "ERROR: You've hit your usage limit. Try again at 3:05 PM.\n",
            Some(Limit),
        ),
        ("API Error: 529 Overloaded\n", "", Some(Overloaded)),
        ("Credit balance is too low\n", "", Some(NoCredit)),
        (
            "",
            "ERROR: unexpected status 401 Unauthorized\n",
            Some(NotSignedIn),
        ),
        ("Not logged in · Please run /login\n", "", Some(NotSignedIn)),
        (
            "API error 503 in tests/api.rs\n",
            "unexpected status 503\n",
            None,
        ),
        ("test rate limit ... FAILED\n", "429 tests failed\n", None),
        ("You've hit your limit\n1\n2\n3\n", "", None),
        ("", "", None),
    ] {
        let failure = AgentOutput::plain_failure(output, errors);
        assert_eq!(
            failure.and_then(|failure| failure.stop),
            stop,
            "{output}{errors}"
        );
    }
}

#[test]
fn the_time_of_a_reset_is_found() {
    let clock = |date, hour, minute, zone: Option<&str>| Reset::Clock {
        time: CivilTime {
            year: None,
            date,
            hour,
            minute,
        },
        zone: zone.map(str::to_owned),
    };
    let after = |seconds: u64| Reset::In(Period::from_seconds(seconds));
    let at = |seconds| Reset::At(Timestamp::from_seconds(seconds));
    for (text, expected) in [
        (
            "resets 5pm (Europe/Vilnius)",
            Some(clock(None, 17, 0, Some("europe/vilnius"))),
        ),
        (
            "You've hit your limit · resets 2:10pm (Europe/Moscow)",
            Some(clock(None, 14, 10, Some("europe/moscow"))),
        ),
        (
            "resets Apr 23 at 4pm (America/Recife)",
            Some(clock(Some((4, 23)), 16, 0, Some("america/recife"))),
        ),
        ("resets Oct 9, 12am", Some(clock(Some((10, 9)), 0, 0, None))),
        (
            "Your limit will reset at 10am (America/Lima).",
            Some(clock(None, 10, 0, Some("america/lima"))),
        ),
        ("try again at 12:16 PM.", Some(clock(None, 12, 16, None))),
        ("or try again at 17:30.", Some(clock(None, 17, 30, None))),
        ("resets 1:10am UTC", Some(clock(None, 1, 10, Some("utc")))),
        (
            "try again in 2 days 17 hours 14 minutes",
            Some(after(234_840)),
        ),
        (
            "Your quota will reset after 11h30m15s.",
            Some(after(41_415)),
        ),
        (
            "Please retry in 36.5s.",
            Some(Reset::In(Period::from_milliseconds(36_500))),
        ),
        (
            "Please try again in 1 minute and 3 seconds",
            Some(after(63)),
        ),
        ("retry-after: 30", Some(after(30))),
        (
            "{\"resets_at\":1777936568,\"resets_in_seconds\":13872}",
            Some(after(13_872)),
        ),
        ("{\"resets_at\": 1777936568}", Some(at(1_777_936_568))),
        ("{\"resetsAt\":1777936568123}", Some(at(1_777_936_568))),
        ("usage limit reached|1754956800", Some(at(1_754_956_800))),
        (
            "it resets at 2026-11-28T17:00:00Z.",
            Some(at(1_795_885_200)),
        ),
        ("Please try again later.", None),
        ("resets in a while", None),
        ("try again at 5", None),
        ("try again at 25:00 pm", Some(clock(None, 25, 0, None))),
        ("3pm", None),
        ("", None),
    ] {
        assert_eq!(Reset::find(text), expected, "{text}");
    }
    let dated = Reset::find("try again at Nov 28th, 2026 3:05 PM.");
    let time = CivilTime {
        year: Some(2026),
        date: Some((11, 28)),
        hour: 15,
        minute: 5,
    };
    assert_eq!(dated, Some(Reset::Clock { time, zone: None }));
    let now = Timestamp::from_seconds(100);
    let period = Reset::In(Period::from_milliseconds(1_500));
    assert_eq!(
        period.instant(now, |_| None),
        Some(Timestamp::from_seconds(102))
    );
    let unknown = clock(None, 5, 0, Some("moon"));
    assert_eq!(unknown.instant(now, |_| None), None);
}

/// A program that repeats itself takes no longer to read than one that does not.
#[test]
fn of_a_long_error_the_beginning_is_read() {
    let long = format!(
        "Claude usage limit reached: {}",
        "retry in é,".repeat(200_000)
    );
    let envelope =
        json!({"type": "result", "is_error": true, "api_error_status": 429, "result": long});
    let read = read(&envelope.to_string());
    let failure = read.failure.expect("an error");
    assert_eq!(failure.stop, Some(AgentStop::Limit));
    assert_eq!(failure.reset, None);
}

/// Linters, test programs and services print JSON of the same form.
#[test]
fn what_no_agent_program_prints_is_no_failure() {
    let found = json!({"type": "error", "severity": "error", "message": "connection refused"});
    let ended = json!({"type": "result", "status": "error", "error": {"message": "no network"}});
    let said = json!({"type": "message", "role": "assistant", "content": "hello"});
    let answered = json!({"error": {"code": 404, "message": "Not Found"}});
    for output in [found, ended, said] {
        let read = AgentOutput::read(&output.to_string(), "");
        assert!(read.failure.is_none() && !read.is_wrapped, "{output}");
    }
    let read = AgentOutput::read("done", &answered.to_string());
    assert!(read.failure.is_none() && !read.is_wrapped);
}
