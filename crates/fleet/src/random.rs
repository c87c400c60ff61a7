//! Words that nobody can guess.

use orch_base::hexadecimal;
use std::io;

/// A word of this many random bytes. Returns an error if the machine has none.
pub fn random(bytes: usize) -> io::Result<String> {
    let mut bytes = vec![0; bytes];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hexadecimal(&bytes))
}
