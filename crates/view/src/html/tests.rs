//! What pages say, that hostile texts stay texts, and how large a file gets.

use super::{
    BoardFilter, BoardPage, Chart, InputForm, OrderForm, OrderInput, Rights, ServedBoard,
    ServedTask, TaskLinks, TaskPage, file_end, file_start, file_task, served_board, served_cards,
    served_task,
};
use crate::samples::{self, Sample};
use crate::{
    ChangedFile, Explanation, Finding, JudgedStep, RunLine, SheetSource, Status, StepView,
    TaskChange, TaskSheet,
};
use orch_base::{Hint, TaskId, Timestamp};
use orch_core::decide::{Facts, Mode};
use std::collections::BTreeMap;

/// What could break out of a text, of an attribute, of a comment or of the order of its letters.
const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>\"onload='x' javascript:alert(1) \u{202e}live\u{2066}\0\u{1b}[2J-->]]>&lt;";

fn run(task: &str, work: &str) -> RunLine {
    RunLine {
        task: task.to_owned(),
        work_tree: ".".to_owned(),
        run: "1".to_owned(),
        state: "running",
        since: "2026-11-21T04:50:00Z".to_owned(),
        pid: 1,
        mode: Mode::Auto,
        work: Some(work.to_owned()),
        turns: 3,
        max_turns: 50,
        cost: 0.25,
        unpriced_turns: 0,
        waits_until: None,
        seconds: 9,
        reason: Some(work.to_owned()),
    }
}

/// The file of these tasks, with a page for each.
fn file(samples: &[Sample], steps: &[StepView], runs: &[RunLine], findings: &[Finding]) -> String {
    let subjects: Vec<_> = samples
        .iter()
        .map(|sample| {
            let mut subject = sample.subject();
            subject.unmoved_since = Timestamp::parse("2026-11-21T04:50:00Z");
            subject
        })
        .collect();
    let mut status = Status::new(samples::repository(), &subjects, &[]);
    status.diagnostics = findings.to_vec();
    let now = Timestamp::parse("2026-11-21T06:50:00Z").expect("a time");
    let charts = [Chart::of(&samples::workflow())];
    let explanations: Vec<Explanation> = subjects
        .iter()
        .map(|subject| Explanation::of(subject, None))
        .collect();
    let names = explanations
        .iter()
        .map(|one| one.suggestion.task.id.clone());
    let links = TaskLinks::InFile(names.collect());
    let filter = BoardFilter::default();
    let page = BoardPage {
        status: &status,
        charts: &charts,
        runs,
        now,
        links: &links,
        filter: &filter,
        served: None,
    };
    let mut text = file_start(&page);
    for explanation in &explanations {
        text.push_str(&file_task(&TaskPage {
            explanation,
            steps,
            run: runs
                .iter()
                .find(|run| run.task == explanation.suggestion.task.id),
            chart: &charts[0],
            unmoved_since: None,
            now,
            served: None,
        }));
    }
    text + &file_end()
}

/// The sheet of a task in which everything is this text.
fn sheet(text: &str) -> TaskSheet {
    let sample = samples::fix_invalid();
    let subject = sample.subject();
    let facts = Facts::of_no_files(subject.decision.task.clone());
    let mut file = ChangedFile::new(text, Some(format!("@@ -1 +1 @@\n+{text}\n-{text}\n")));
    file.changed_since = true;
    file.lines_since = vec![[1, 1]];
    let mut sheet = TaskSheet::of(SheetSource {
        repository: samples::repository(),
        subject: &subject,
        state: None,
        facts: &facts,
        issues: Vec::new(),
        contents: BTreeMap::new(),
        change: Some(TaskChange {
            artifact: text.to_owned(),
            base: None,
            head: None,
            patch: Some(text.to_owned()),
            judged: Some(JudgedStep {
                artifact: text.to_owned(),
                at: text.to_owned(),
                commit: None,
            }),
            unknown: Some(text.to_owned()),
            omitted_files: 0,
            files: vec![file],
            command: vec![text.to_owned()],
        }),
    });
    for doubt in &mut sheet.doubts {
        doubt.message = text.to_owned();
        doubt.place = Some(text.to_owned());
    }
    for artifact in &mut sheet.artifacts {
        artifact.title = Some(text.to_owned());
        artifact.writers = vec![text.to_owned()];
        for file in &mut artifact.files {
            file.path = text.to_owned();
        }
    }
    assert!(!sheet.doubts.is_empty());
    sheet
}

/// The values of an attribute in a page.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let opens = format!(" {attribute}=\"");
    page.split(opens.as_str())
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

#[test]
fn hostile_texts_stay_texts() {
    let mut sample = samples::fix_invalid();
    let id = "a\"><img src=x onerror='1'>\u{202e} b";
    sample.decision.task = TaskId::new(id).expect("an id that is allowed");
    let decision = &mut sample.decision;
    decision.reason = HOSTILE.to_owned();
    decision.substate = Some(HOSTILE.into());
    decision.remarks = vec![HOSTILE.to_owned()];
    decision.expects[0].because = HOSTILE.to_owned();
    decision.expects[0].path = HOSTILE.to_owned();
    decision.expects[0].problems[0].message = HOSTILE.to_owned();
    decision.expects[0].problems[0].hint = Some(Hint::from(HOSTILE).command(&[HOSTILE]));
    decision.options[0].argv = vec![HOSTILE.to_owned()];
    decision.options[0].effect = HOSTILE.to_owned();
    decision.tried = samples::write_missing().decision.tried;
    decision.tried[0].outcome = HOSTILE.to_owned();
    decision.tried[0].parts[1].text = HOSTILE.to_owned();
    decision.tried[0].parts[1].saw = vec![(HOSTILE.to_owned(), Some(HOSTILE.into()))];
    decision.artifacts = samples::write_missing().decision.artifacts;
    decision.artifacts[1].stale_because = Some(HOSTILE.to_owned());
    sample.workflow.title = HOSTILE.to_owned();
    let mut steps = samples::log();
    for step in &mut steps {
        step.reason = HOSTILE.to_owned();
        step.to = HOSTILE.to_owned();
        step.rule = Some(HOSTILE.to_owned());
        step.executor = Some(HOSTILE.to_owned());
        step.commit = Some(HOSTILE.to_owned());
        step.actor.as_mut().expect("an actor").name = HOSTILE.to_owned();
        step.evidence
            .iter_mut()
            .for_each(|file| file.path = HOSTILE.to_owned());
    }
    let finding = Finding {
        path: Some(HOSTILE.to_owned()),
        line: Some(3),
        column: None,
        pointer: None,
        severity: orch_base::Severity::Error,
        code: "empty",
        message: HOSTILE.to_owned(),
        advice: Some(Hint::from(HOSTILE).command(&[HOSTILE])).into(),
    };
    let page = file(&[sample], &steps, &[run(id, HOSTILE)], &[finding]);
    for markup in [
        "<script", "<img", "\"onload", "</script", "-->", "]]>", "&lt;&lt;",
    ] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(
        page.matches("&lt;script&gt;alert(1)&lt;/script&gt;")
            .count()
            > 20,
        "the texts are shown"
    );
    let is_hidden = |c: char| {
        c != '\n'
            && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    };
    assert_eq!(
        page.chars().filter(|c| is_hidden(*c)).collect::<String>(),
        ""
    );
    let links = values(&page, "href");
    assert!(
        links
            .iter()
            .all(|link| link.starts_with('#') || *link == "data:,"),
        "{links:?}"
    );
    let tags = page.split('<').filter_map(|rest| rest.split('>').next());
    for tag in tags {
        assert!(tag.matches(" class=").count() < 2, "{tag}");
    }
    for inline in ["style", "onload", "onerror", "onclick", "src"] {
        assert_eq!(values(&page, inline), [""; 0], "{inline}");
    }
}

#[test]
fn a_file_is_one_page_that_refers_to_nothing_outside() {
    let page = file(
        &[samples::write_missing(), samples::done()],
        &samples::log(),
        &[],
        &[],
    );
    assert!(
        page.starts_with("<!DOCTYPE html><html lang=\"en\"><head>"),
        "{}",
        &page[..100]
    );
    assert!(page.ends_with("</details>\n</main></body></html>\n"));
    for (outside, why) in [
        ("http", "an address"),
        ("url(", "a resource of the style"),
        ("@import", "a style"),
    ] {
        assert!(!page.contains(outside), "{why}");
    }
    for element in [
        "main", "body", "html", "style", "details", "section", "ul", "ol", "li", "svg", "g", "bdi",
        "span", "p",
    ] {
        let opened = page.matches(&format!("<{element}>")).count()
            + page.matches(&format!("<{element} ")).count();
        assert_eq!(
            opened,
            page.matches(&format!("</{element}>")).count(),
            "{element}"
        );
    }
}

#[test]
fn a_card_says_who_must_act_and_on_what() {
    let mut sample = samples::write_missing();
    sample.decision.task = TaskId::new("team/a b#c").expect("an id");
    let page = file(&[sample], &[], &[run("team/a b#c", "lint")], &[]);
    let card = page
        .split("<li class=\"card\"")
        .nth(1)
        .and_then(|rest| rest.split("</li>").next())
        .expect("a card");
    for part in [
        "data-task=\"team/a b#c\" data-owner=\"agent\"",
        "<a class=\"card-link\" href=\"#task:team/a%2520b%23c\"><bdi class=\"id\">team/a b#c</bdi></a>",
        "<time datetime=\"2026-11-21T04:50:00Z\" data-age>2 h ago</time>",
        "Log in with a passkey",
        "<span class=\"owner owner-agent\">agent</span> <span class=\"strong\"><bdi>write code/diff.patch</bdi></span>",
        "attempt 2",
        "<bdi>generate</bdi>",
        "running</span> turn 3 of 50, cost 0.25, <span class=\"mono\">lint</span>",
    ] {
        assert!(card.contains(part), "{part}\n{card}");
    }
    assert!(
        page.contains("id=\"task:team/a%20b#c\""),
        "the link leads somewhere"
    );
    let columns = values(&page, "data-phase");
    assert_eq!(
        columns,
        ["planning", "plan_review", "codegen", "done"],
        "every phase, in the order of the document"
    );
}

#[test]
fn a_task_page_says_why() {
    let page = file(&[samples::write_missing()], &samples::log(), &[], &[]);
    let task = page.split("<article").nth(1).expect("a page");
    for (part, what) in [
        ("the outputs of codegen are not there yet", "the reason"),
        (
            "nothing new since attempt 1 was sent back",
            "why the artifact is expected",
        ),
        ("orch prompt t-42", "what to type"),
        (
            "<span class=\"truth truth-false\">false</span> <code>plan.changed || state.force == plan.data.size</code>",
            "the false part of the rule",
        ),
        (
            "<code>state.force</code> is missing",
            "a value that is missing",
        ),
        (
            "<span class=\"dim\">in plan_is_big: </span>",
            "a named expression",
        ),
        ("it judged another plan", "why an artifact is stale"),
        ("not there: patch", "the missing artifacts"),
        ("the task is in codegen", "the diagram"),
        (
            "<ol class=\"walked-list\"><li>planning</li><li>plan_review</li></ol>",
            "the way that it went",
        ),
        ("<strong>planning → plan_review</strong>", "the timeline"),
        (
            "<bdi>planning/plan.json</bdi><span class=\"dim\">@d68ba18a52</span>",
            "its evidence",
        ),
        ("c0ffee0123", "its commit"),
        ("by <bdi>Ada</bdi> (human)", "its actor"),
    ] {
        assert!(task.contains(part), "{what}: {part}\n{task}");
    }
    let page = file(&[samples::fix_invalid()], &[], &[], &[]);
    let place = "<bdi class=\"mono\">tasks/t-42/review/plan/verdict.json:3:9</bdi>: <bdi>&quot;flase&quot; is not a boolean</bdi>";
    assert!(page.contains(place), "a finding has its line");
}

#[test]
fn a_file_grows_with_its_tasks_and_a_thousand_are_a_few_megabytes() {
    let many = |count: usize| -> usize {
        let tasks: Vec<Sample> = (0..count)
            .map(|number| {
                let mut sample = samples::write_missing();
                sample.decision.task = TaskId::new(format!("t-{number:04}")).expect("an id");
                sample
            })
            .collect();
        file(&tasks, &samples::log(), &[], &[]).len()
    };
    let some = many(50);
    let more = many(200);
    assert!(more < some * 4, "{some} bytes for 50 tasks, {more} for 200");
    assert!(more * 5 < 8_000_000, "{more} bytes for 200 tasks");
}

#[test]
fn no_two_tasks_have_pages_of_one_name() {
    let names = ["a b", "a_b", "a%20b", "a%2520b", "a%b"].map(super::anchor);
    let different: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    assert!(names.iter().all(|name| !name.contains(' ')), "{names:?}");
}

#[test]
fn a_card_is_marked_exactly_if_the_task_has_to_be_repaired() {
    for (sample, is_marked) in [
        (samples::error(), true),
        (samples::inconsistent(), true),
        (samples::livelock(), true),
        (samples::handover(), false),
        (samples::write_missing(), false),
    ] {
        let reason = sample.decision.reason.clone();
        let page = file(&[sample], &[], &[], &[]);
        assert_eq!(
            page.contains("<li class=\"card trouble\""),
            is_marked,
            "{reason}"
        );
    }
}

/// What a person may do at a server that takes orders.
fn all_rights() -> Rights {
    Rights {
        may_write: true,
        refusal: None,
    }
}

/// The served board of these tasks, their cards alone, and the page of the first, with one order.
fn served(samples: &[Sample], filter: &BoardFilter, steps: &[StepView]) -> [String; 3] {
    served_to(&all_rights(), samples, filter, steps)
}

/// The same, for somebody with these rights.
fn served_to(
    rights: &Rights,
    samples: &[Sample],
    filter: &BoardFilter,
    steps: &[StepView],
) -> [String; 3] {
    let subjects: Vec<_> = samples.iter().map(Sample::subject).collect();
    let status = Status::new(samples::repository(), &subjects, &[]);
    let charts = [Chart::of(&samples::workflow())];
    let now = Timestamp::from_seconds(0);
    let explanation = Explanation::of(&subjects[0], None);
    let order = OrderForm {
        is_offered: true,
        name: "answer".to_owned(),
        effect: HOSTILE.to_owned(),
        argv: explanation.suggestion.options[0].argv.clone(),
        path: "/api/v1/tasks/t/answer".to_owned(),
        known: serde_json::Map::from_iter([("to".to_owned(), HOSTILE.into())]),
        inputs: [
            InputForm::Reason,
            InputForm::OneOf(vec![HOSTILE.into(), 3.into()]),
            InputForm::List,
        ]
        .map(|form| OrderInput {
            name: HOSTILE.to_owned(),
            label: HOSTILE.to_owned(),
            is_required: true,
            form,
        })
        .to_vec(),
    };
    let page = BoardPage {
        status: &status,
        charts: &charts,
        runs: &[],
        now,
        links: &TaskLinks::Served,
        filter,
        served: Some(ServedBoard {
            rights,
            new_task: Some(&order),
        }),
    };
    let repository = samples::repository();
    let sheet = sheet(HOSTILE);
    let waiting = ["before", "t-42", "a b"].map(str::to_owned);
    let setting = ServedTask {
        repository: &repository,
        sheet: &sheet,
        orders: std::slice::from_ref(&order),
        tag: "\"tag\"",
        output: Some("/api/v1/output"),
        rights,
        filter,
        waiting: &waiting,
    };
    let run = run("t-42", HOSTILE);
    let task = TaskPage {
        explanation: &explanation,
        steps,
        run: Some(&run),
        chart: &charts[0],
        unmoved_since: None,
        now,
        served: Some(setting),
    };
    [served_board(&page), served_cards(&page), served_task(&task)]
}

#[test]
fn what_stands_in_backticks_is_code_and_escaped() {
    for (text, shown) in [
        ("", ""),
        ("move on", "move on"),
        (
            "move to `codegen` against the rules",
            "move to <code>codegen</code> against the rules",
        ),
        ("`a`", "<code>a</code>"),
        (
            "`a` and `b<c>`",
            "<code>a</code> and <code>b&lt;c&gt;</code>",
        ),
        ("a ` b", "a ` b"),
        ("`a` ` <b>", "<code>a</code> ` &lt;b&gt;"),
    ] {
        assert_eq!(super::marked(text).into_string(), shown, "{text}");
    }
    let mut sample = samples::write_missing();
    sample.decision.reason = "wait for `plan<b>`".to_owned();
    sample.decision.options[0].effect = "move to `codegen`".to_owned();
    let page = file(&[sample], &[], &[], &[]);
    assert!(
        page.contains("wait for <code>plan&lt;b&gt;</code>"),
        "{page}"
    );
    assert!(page.contains("move to <code>codegen</code>"), "{page}");
}

#[test]
fn served_pages_have_no_inline_code_and_refer_only_to_the_server() {
    let mut sample = samples::fix_invalid();
    sample.decision.task = TaskId::new("a\"><img src=x>/b c").expect("an id");
    sample.decision.reason = HOSTILE.to_owned();
    for page in served(
        &[sample],
        &BoardFilter {
            text: HOSTILE.to_owned(),
            owner: String::new(),
        },
        &samples::log(),
    ) {
        for markup in ["<img", "\"onload", "-->", "javascript:alert(1)\""] {
            assert!(!page.contains(markup), "{markup}\n{page}");
        }
        assert_eq!(
            page.matches("<script").count(),
            page.matches("<script src=\"/assets/board.js\" defer></script>")
                .count()
        );
        assert!(!page.contains("<style"), "a style that the policy forbids");
        for inline in ["style", "onload", "onerror", "onclick", "onsubmit"] {
            assert_eq!(values(&page, inline), [""; 0], "{inline}");
        }
        let links = [values(&page, "href"), values(&page, "action")].concat();
        assert!(
            links
                .iter()
                .all(|link| link.starts_with('/') || *link == "data:,"),
            "{links:?}"
        );
    }
}

#[test]
fn a_served_card_has_its_place_and_is_hidden_unless_it_matches() {
    let samples = [samples::write_missing(), samples::handover()];
    let hidden = |text: &str, owner: &str| -> Vec<bool> {
        let filter = BoardFilter {
            text: text.to_owned(),
            owner: owner.to_owned(),
        };
        let [_, cards, _] = served(&samples, &filter, &[]);
        let cards = cards.split("<li ").skip(1);
        cards
            .map(|card| {
                card.split('>')
                    .next()
                    .is_some_and(|tag| tag.ends_with(" hidden"))
            })
            .collect()
    };
    // The person's task is the more urgent one.
    assert_eq!(hidden("", ""), [false, false]);
    assert_eq!(hidden("", "human"), [false, true]);
    assert_eq!(hidden("DIFF.patch", ""), [true, false]);
    assert_eq!(hidden(" plan_REVIEW ", ""), [false, true]);
    assert_eq!(hidden("passkey", ""), [false, false]);
    assert_eq!(hidden("passkey", "process"), [true, true]);
    let [board, cards, task] = served(&samples, &BoardFilter::default(), &[]);
    let place = "data-owner=\"agent\" data-workflow=\"global-state-machine\" data-phase=\"codegen\" data-urgency=\"6\"";
    assert!(board.contains(place) && cards.contains(place), "{cards}");
    assert!(board.contains("href=\"/tasks/t-42\""));
    assert!(
        task.contains("data-tag=\"&quot;tag&quot;\"")
            && task.contains("data-output=\"/api/v1/output\"")
    );
    assert!(
        task.contains("<li class=\"has-button\"><code class=\"command\">orch prompt t-42"),
        "{task}"
    );
}

/// The column of a phase in a page.
fn column<'p>(page: &'p str, phase: &str) -> &'p str {
    let sections = page.split("<section class=\"").skip(1);
    let opens = format!("data-phase=\"{phase}\"");
    let found = sections.map(|rest| rest.split("</section>").next().unwrap_or_default());
    let mut found = found.filter(|section| {
        section
            .split('>')
            .next()
            .is_some_and(|tag| tag.contains(&opens))
    });
    found.next().unwrap_or_else(|| panic!("no {phase}: {page}"))
}

#[test]
fn columns_that_need_a_person_come_first_and_count_what_they_show() {
    let samples = [
        samples::write_missing(),
        samples::handover(),
        samples::done(),
    ];
    let [board, ..] = served(&samples, &BoardFilter::default(), &[]);
    let tags: Vec<&str> = board
        .split("<section class=\"")
        .skip(1)
        .filter_map(|rest| rest.split('>').next())
        .filter(|tag| tag.contains("data-at"))
        .collect();
    assert_eq!(
        tags,
        [
            "column needs\" data-phase=\"plan_review\" data-at=\"2\"",
            "column empty\" data-phase=\"planning\" data-at=\"1\"",
            "column\" data-phase=\"codegen\" data-at=\"3\"",
            "column end\" data-phase=\"done\" data-at=\"4\"",
        ]
    );
    assert!(board.contains("href=\"/decide\">Decide <span class=\"count\">1</span>"));
    let filter = BoardFilter {
        text: String::new(),
        owner: "agent".to_owned(),
    };
    let [board, ..] = served(&samples, &filter, &[]);
    let count = |phase| {
        values(column(&board, phase), "class")
            .contains(&"count")
            .then(|| {
                let rest = column(&board, phase).split("class=\"count\">").nth(1);
                rest.and_then(|rest| rest.split('<').next())
                    .unwrap_or_default()
            })
    };
    assert_eq!(
        ["plan_review", "codegen", "done"].map(count),
        [Some("0"), Some("1"), Some("0")]
    );
    // Each owner's button says what it would show, and links keep the filter.
    for (owner, number) in [("", 3), ("human", 1), ("agent", 1), ("none", 1)] {
        let chip = board
            .split(&format!("data-filter-owner=\"{owner}\""))
            .nth(1);
        let chip = chip.and_then(|rest| rest.split("</button>").next());
        let says = format!("<span class=\"count\">{number}</span>");
        assert!(
            chip.is_some_and(|chip| chip.ends_with(&says)),
            "{owner}: {board}"
        );
    }
    assert!(
        board.contains("href=\"/tasks/t-42?owner=agent\""),
        "{board}"
    );
    let nothing = BoardFilter {
        text: "nowhere".to_owned(),
        owner: String::new(),
    };
    let [board, ..] = served(&samples, &nothing, &[]);
    assert!(
        board.contains("<p class=\"none\" id=\"no-match\">No task matches."),
        "{board}"
    );
    let file = file(&samples, &[], &[], &[]);
    assert_eq!(values(&file, "data-phase")[0], "plan_review");
}

#[test]
fn what_is_wrong_catches_the_eye() {
    let flags = |sample: Sample| {
        let page = file(&[sample], &[], &[], &[]);
        let flags = page.split("<span class=\"flag ").skip(1);
        let words = flags.filter_map(|rest| rest.split(['>', '<']).nth(1));
        words.map(str::to_owned).collect::<Vec<_>>().join(", ")
    };
    let mut often = samples::write_missing();
    often.decision.attempt = 4;
    let mut seldom = samples::write_missing();
    seldom.decision.attempt = 3;
    let mut renewed = samples::write_missing();
    renewed.decision.expects[0].state = orch_core::decide::ExpectState::Stale;
    for (sample, expected) in [
        (samples::fix_invalid(), "invalid"),
        (renewed, "stale"),
        (often, "attempt 4"),
        (seldom, ""),
        (samples::error(), "needs repair"),
        (samples::done(), ""),
    ] {
        let reason = sample.decision.reason.clone();
        assert_eq!(flags(sample), expected, "{reason}");
    }
}

#[test]
fn a_page_says_which_decision_it_is_and_keeps_the_filter() {
    let filter = BoardFilter::of(
        [("q", " log in "), ("owner", "human"), ("new", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
    );
    assert_eq!(filter.query(), "?q=log%20in&owner=human");
    let [.., task] = served(&[samples::write_missing()], &filter, &[]);
    for part in [
        "<span id=\"place\" data-at=\"2\">decision 2 of 3</span>",
        "id=\"previous\" href=\"/tasks/before?q=log%20in&amp;owner=human\"",
        "id=\"next\" href=\"/tasks/a%20b?q=log%20in&amp;owner=human\"",
        "id=\"back\" href=\"/?q=log%20in&amp;owner=human\"",
    ] {
        assert!(task.contains(part), "{part}\n{task}");
    }
}

#[test]
fn a_server_that_takes_no_orders_says_so_and_how_to_start_it() {
    let refusal = Some((
        "Started by `a program`.".to_owned(),
        Hint::run(&["orch", "serve"]),
    ));
    let rights = Rights {
        may_write: true,
        refusal,
    };
    let samples = [samples::handover()];
    let [board, _, task] = served_to(&rights, &samples, &BoardFilter::default(), &[]);
    for page in [&board, &task] {
        let note = page.split("<p class=\"notice\" role=\"note\">").nth(1);
        let note = note.and_then(|rest| rest.split("</p>").next()).expect(page);
        assert!(
            note.contains("<code>a program</code>") && note.contains("<code>orch serve</code>"),
            "{note}"
        );
    }
    assert!(!board.contains("id=\"decide\""), "{board}");
    let [board, ..] = served(&samples, &BoardFilter::default(), &[]);
    assert!(!board.contains("class=\"notice\""), "{board}");
}
