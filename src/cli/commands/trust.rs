//! `orch trust`: what runs and notifications may start.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_base::command;
use orch_engine::drive::{self, Trustee};
use orch_view::{TrustAnswer, TrustLine};

/// Trust the programs and addresses in orch.toml, as they are now.
///
/// orch starts nothing that a clone or a pull request brought before a person has trusted it: the commands in
/// [executor.*] and [[notify]], the files of the repository that they name, instructions of agents that differ from
/// those that ship with orch, what [fence] and `fence = "off"` open, and, if there is an executor, the settings by which agent
/// programs run commands, such as .claude/settings.json and .mcp.json. It posts to no webhook, signs with no variable, and keeps leases nowhere on the network, that
/// was not trusted either. After each change of these, trust is needed again. Trust is kept in $XDG_STATE_HOME/orch/trust, outside the repository. A
/// command given after `--` on the command line needs none. Only a person at a terminal can trust.
///
/// Without an option, prints what was not trusted yet, and trusts it.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Only print what orch may start, and whether it is trusted. Exits with 1 if something is not.
    #[arg(long, conflicts_with = "revoke")]
    show: bool,
    /// Revoke all trust in this repository.
    #[arg(long)]
    revoke: bool,
}

pub fn run(args: &TrustArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let writer = context.writer(&workspace);
    if args.revoke {
        let revoked = drive::revoke_trust(&writer)?;
        ui.status(if revoked {
            "revoked all trust in this repository"
        } else {
            "nothing is trusted here"
        });
        return print(Vec::new(), revoked, context, ui);
    }
    if args.show {
        let all = drive::trustees(&writer)?;
        let is_whole = all.iter().all(|one| one.is_trusted);
        print(all, false, context, ui)?;
        return Ok(if is_whole {
            ExitCode::Fine
        } else {
            ExitCode::No
        });
    }
    let new = drive::trust(&writer)?;
    if new.is_empty() {
        ui.status("everything that orch may start is already trusted");
    }
    print(new, false, context, ui)
}

fn print(
    trustees: Vec<Trustee>,
    revoked: bool,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let line = |one: Trustee| {
        let (webhook, secret) = one
            .webhook
            .map(|webhook| (webhook.url, webhook.secret))
            .unzip();
        let name = one.name;
        let command = one.command;
        let store = one.store;
        let trusted = one.is_trusted;
        TrustLine {
            name,
            command,
            webhook,
            secret: secret.flatten(),
            store,
            trusted,
        }
    };
    let trustees: Vec<TrustLine> = trustees.into_iter().map(line).collect();
    if context.global.json {
        ui.document(&TrustAnswer { trustees, revoked })?;
        return Ok(ExitCode::Fine);
    }
    for TrustLine {
        name,
        command: argv,
        webhook,
        secret,
        store,
        trusted,
    } in trustees
    {
        let signed = secret.map_or_else(String::new, |name| format!(", signed with ${name}"));
        let what = argv
            .map(|argv| command(&argv))
            .or(webhook.map(|url| format!("post to {url}{signed}")))
            .or(store.map(|store| format!("keep {store}")));
        let what = what.map(|what| format!("  {what}")).unwrap_or_default();
        ui.answer(&format!(
            "{}  {name}{what}\n",
            if trusted {
                "trusted    "
            } else {
                "not trusted"
            }
        ))?;
    }
    Ok(ExitCode::Fine)
}
