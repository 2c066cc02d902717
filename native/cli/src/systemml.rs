//! SystemML's command line in terms of this one's: single dashes, lists after `-nvargs` and `-args`, no
//! subcommand.

use std::{iter::Peekable, vec::IntoIter};

const COMMANDS: [&str; 5] = ["run", "explain", "check", "config", "help"];

/// What was typed, for `clap`.
///
/// # Errors
/// A message, for options of SystemML's that mean nothing here.
pub fn translate(typed: Vec<String>) -> Result<Vec<String>, String> {
    let mut words = typed.into_iter().peekable();
    let mut translated: Vec<String> = words.next().into_iter().collect();
    let mut options = Vec::new();
    let mut file = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "-f" => file = Some(words.next().ok_or("-f needs a file")?),
            "-nvargs" => {
                let mut given = 0;
                while let Some(word) = words.next_if(|word| !word.starts_with('-')) {
                    options.push(format!("--nvarg={}", unquoted(&word)));
                    given += 1;
                }
                if given == 0 {
                    return Err("-nvargs needs arguments: -nvargs k=v ...".into());
                }
            }
            "-args" => {
                while let Some(word) = words.next_if(|word| !is_option(word)) {
                    options.push(format!("--arg={}", unquoted(&word)));
                }
            }
            "-stats" => {
                // How many operators to list; all are.
                words.next_if(|word| word.parse::<u32>().is_ok());
                options.push("--stats".into());
            }
            "-explain" => options.push(format!("--explain={}", explain_level(&mut words)?)),
            "-exec" => execution_mode(words.next())?,
            "-help" => options.push("--help".into()),
            "-config" => {
                return Err(
                    "configuration files of SystemML are not read; use --config key=value".into(),
                );
            }
            "-s" | "-clean" | "-gpu" | "-debug" => {
                return Err(format!("the option {word} is not there"));
            }
            _ => options.push(word),
        }
    }
    let is_command = |word: &String| COMMANDS.contains(&word.as_str());
    if let Some(file) = file {
        if options.first().is_some_and(is_command) {
            translated.push(options.remove(0));
        } else {
            translated.push("run".into());
        }
        translated.push(file);
    }
    translated.append(&mut options);
    Ok(translated)
}

/// An option rather than a value: `-5` is a value.
fn is_option(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next() == Some('-')
        && letters
            .next()
            .is_some_and(|c| c == '-' || c.is_ascii_alphabetic())
}

/// Without quotes around the whole, which SystemML takes off.
fn unquoted(word: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| word.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(word)
}

fn explain_level(words: &mut Peekable<IntoIter<String>>) -> Result<&'static str, String> {
    let level = words.next_if(|word| {
        matches!(
            word.as_str(),
            "hops" | "runtime" | "recompile_hops" | "recompile_runtime"
        )
    });
    match level.as_deref() {
        None | Some("hops") => Ok("hops"),
        Some("runtime") => Ok("plan"),
        Some(level) => Err(format!(
            "-explain {level} is not there: --stats tells how often blocks were planned in a run"
        )),
    }
}

fn execution_mode(mode: Option<String>) -> Result<(), String> {
    match mode.as_deref() {
        Some("singlenode" | "hybrid" | "hybrid_spark") => Ok(()),
        Some("spark" | "hadoop") => Err(
            "this command runs in one process; submit the jar with spark-submit to run on Spark"
                .into(),
        ),
        _ => Err("-exec takes singlenode or hybrid".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(line: &str) -> String {
        match translate(line.split_whitespace().map(str::to_owned).collect()) {
            Ok(words) => words.join(" "),
            Err(message) => format!("error: {message}"),
        }
    }

    #[test]
    fn lists_become_single_options() {
        assert_eq!(
            show("fulgurite run a.dml -nvargs X=x.csv reg='1' --stats"),
            "fulgurite run a.dml --nvarg=X=x.csv --nvarg=reg='1' --stats"
        );
        assert_eq!(
            show("fulgurite run a.dml -args 1 -5 \"b\" --threads 2"),
            "fulgurite run a.dml --arg=1 --arg=-5 --arg=b --threads 2"
        );
    }

    #[test]
    fn systemml_lines_run_their_file() {
        assert_eq!(
            show("fulgurite -f a.dml -exec singlenode -stats 10 -explain -nvargs k=v"),
            "fulgurite run a.dml --stats --explain=hops --nvarg=k=v"
        );
        assert_eq!(
            show("fulgurite -explain runtime -f a.dml"),
            "fulgurite run a.dml --explain=plan"
        );
        assert_eq!(show("fulgurite check -f a.dml"), "fulgurite check a.dml");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let shown = [
            "x -exec spark",
            "x -gpu",
            "x -config a.xml",
            "x -f",
            "x -nvargs",
            "x -explain recompile_hops",
        ]
        .map(show);
        insta::assert_snapshot!(shown.join("\n"), @r"
        error: this command runs in one process; submit the jar with spark-submit to run on Spark
        error: the option -gpu is not there
        error: configuration files of SystemML are not read; use --config key=value
        error: -f needs a file
        error: -nvargs needs arguments: -nvargs k=v ...
        error: -explain recompile_hops is not there: --stats tells how often blocks were planned in a run
        ");
    }
}
