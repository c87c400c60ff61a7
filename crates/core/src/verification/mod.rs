//! Verifications: commands of a project that `orch` itself runs on exactly the code that is judged.
//!
//! Here is what one is ([`VerifyTable`]), what a run gave ([`VerificationResult`]), the document that says so
//! ([`statement`]), what an event keeps of it ([`Verification`]), and how much that is worth ([`Vouched`]). Nothing here starts a program or reads a file.

mod event;
mod result;
mod statement;
mod table;
mod vouched;

pub use event::{
    FoundBy, PatchedCode, Verification, VerifiedBase, VerifiedCode, VerifiedOutcome,
    VerifiedResult, result_of, result_path,
};
pub use result::{
    BaseTests, CommandEnd, EarlierTry, FailedTest, NamedDigest, NotPassed, NotRun, RerunOutcome,
    TestCounts, TestNames, TestedCode, VerificationResult, VerifiedRun,
};
pub use statement::{
    ANNOTATION, InvalidStatement, PREDICATE_TYPE, STATEMENT_TYPE, read_statement, statement,
    statement_of, unlisted,
};
pub use table::VerifyTable;
pub use vouched::{Vouched, VouchedEvidence};

/// The number of the rules by which a run is judged and its result is written. It rises only when a rule changes an
/// outcome; an event names the number that it was made by.
pub const RULES: u32 = 1;

/// How many names of tests that passed a result lists. Of more it has the number and a digest.
pub const MOST_LISTED: usize = 500;
