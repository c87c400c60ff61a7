//! The spelling in JSON of closed lists of words, the same as in their types.
//!
//! The types belong to the rooms below; only their serialization and their schemas are here. A missing word
//! does not compile.

use crate::base::Severity;
use crate::decide::{ActorKind, Direction, Do, DutyKind, Ending, ExpectState, Kind, Mode, Standing};
use crate::workflow::{Format, Owner};

/// Serializes each word as a JSON string and, in tests, describes it as an `enum` of a schema.
macro_rules! spelt {
    ($name:ident { $($word:ident),+ $(,)? }) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(match self { $(Self::$word => Self::$word.as_str()),+ })
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$(Self::$word.as_str()),+] })
            }
        }
    };
}

spelt!(Severity { Note, Warning, Error });
spelt!(Format { Json, Jsonl, Markdown, Junit, Text, Patch, Yaml, Toml, Csv });
spelt!(Owner { Agent, Human, Orch, Process, None });
spelt!(ActorKind { Orch, Human, Agent });
spelt!(ExpectState { Missing, Invalid, Stale, Unmet });
spelt!(DutyKind { Transition, Run, Wait, Choose, Done, Inconsistent, Error, Livelock, Stalled });
spelt!(Do { Write, Fix, Renew, Apply, Run, Decide, Answer, Repair, Nothing });
spelt!(Direction { Advance, Stay, Regress, None });
spelt!(Ending { Completed, Failed, Waiting, Stalled, Exhausted, Paused, Stopped, Error });
spelt!(Mode { Interactive, Auto });
spelt!(Standing { Proven, Restored, Merged, Folded, Claimed, Overridden, Unverifiable, Forged });
spelt!(Kind {
    Create,
    Advance,
    Regress,
    Override,
    Rollback,
    Reopen,
    Confirm,
    Run,
    Skip,
    Answer,
    Order,
    Start,
    End,
    Merge,
});
