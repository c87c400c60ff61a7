//! Commands, quoted for a shell.

/// The command line that runs `argv` in a POSIX shell.
#[must_use]
pub fn command(argv: &[impl AsRef<str>]) -> String {
    argv.iter().map(|argument| shell_word(argument.as_ref())).collect::<Vec<_>>().join(" ")
}

/// One argument, quoted if a POSIX shell would otherwise interpret a character of it.
#[must_use]
pub fn shell_word(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+,%".contains(c);
    if !argument.is_empty() && argument.chars().all(|c| is_plain(c) || (c.is_alphanumeric() && !c.is_ascii()))
    {
        return argument.to_owned();
    }
    if argument.chars().any(char::is_control) {
        let escaped: String = argument
            .chars()
            .map(|c| match c {
                '\'' | '\\' => format!("\\{c}"),
                '\n' => "\\n".to_owned(),
                '\t' => "\\t".to_owned(),
                c if c.is_control() => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
                c => c.to_string(),
            })
            .collect();
        return format!("$'{escaped}'");
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_survive_a_shell() {
        assert_eq!(command(&["orch", "next", "t-42"]), "orch next t-42");
        assert_eq!(command(&["x", "it's", "", "a b", "日本"]), r"x 'it'\''s' '' 'a b' 日本");
        assert_eq!(command(&["$(rm)", "a\nb"]), r"'$(rm)' $'a\nb'");
    }
}
