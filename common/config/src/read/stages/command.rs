//! `type = "command"`: a line of shell in which `{task_cmd}` stands for the worker's command, as in OpenCompass's `get_command`.

use crate::read::fields::{Fields, text};
use crate::report::check::Check;
use crate::syntax::tree::Value;
use compass_settings::{CommandConfig, CommandPiece};

const EXAMPLE: &str = "\"srun {task_cmd}\"";
const PLACEHOLDERS: [(&str, CommandPiece); 4] = [
    ("task_cmd", CommandPiece::TaskCommand),
    ("task_word", CommandPiece::TaskWord),
    ("num_gpus", CommandPiece::Gpus),
    ("name", CommandPiece::Name),
];

/// Reads the template.
pub(crate) fn read(check: &mut Check, fields: &mut Fields<'_>) -> CommandConfig {
    let pipe = match fields.get("pipe") {
        None => true,
        Some(node) => match node.value {
            Value::Boolean(truth) => truth,
            _ => {
                check.wrong_type("pipe", node, "a boolean", "false");
                true
            }
        },
    };
    let Some(node) = fields.require(check, "template", EXAMPLE) else {
        return CommandConfig { pieces: Vec::new(), pipe };
    };
    let Some(template) = text(check, "template", node) else { return CommandConfig { pieces: Vec::new(), pipe } };
    let pieces = match pieces(template) {
        Ok(pieces) => pieces,
        Err((message, help)) => {
            check.error(node.span, message, Some(help));
            Vec::new()
        }
    };
    CommandConfig { pieces, pipe }
}

/// The template in pieces, by the rules of Python's `format`; the error is a message with its remedy.
fn pieces(template: &str) -> Result<Vec<CommandPiece>, (String, String)> {
    let literal = "a brace of the shell's own is written twice: `${{VAR}}`; or write `$VAR`";
    let mut found: Vec<CommandPiece> = Vec::new();
    let mut plain = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
        if after.starts_with(brace) {
            plain.push_str(brace);
            rest = &after[1..];
            continue;
        }
        let name = after.split_once('}').filter(|_| brace == "{");
        let Some((name, after)) = name else {
            return Err(("`template` has a brace without its other half".into(), literal.into()));
        };
        let Some((_, piece)) = PLACEHOLDERS.iter().find(|(known, _)| *known == name) else {
            let message = format!("`template` has an unknown placeholder `{{{name}}}`");
            return Err((
                message,
                format!("there are {{task_cmd}}, {{task_word}}, {{num_gpus}} and {{name}}; {literal}"),
            ));
        };
        found.push(CommandPiece::Shell(std::mem::take(&mut plain)));
        found.push(piece.clone());
        rest = after;
    }
    plain.push_str(rest);
    found.push(CommandPiece::Shell(plain));
    found.retain(|piece| *piece != CommandPiece::Shell(String::new()));
    if !found.iter().any(|piece| matches!(piece, CommandPiece::TaskCommand | CommandPiece::TaskWord)) {
        return Err((
            "`template` starts no worker: it has no `{task_cmd}`".into(),
            format!("write `template = {EXAMPLE}`"),
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_pythons() {
        let shell = |text: &str| CommandPiece::Shell(text.into());
        assert_eq!(pieces("srun {task_cmd}"), Ok(vec![shell("srun "), CommandPiece::TaskCommand]));
        let all = pieces("A=${{HOME}} run -g{num_gpus} -n {name} sh -c {task_word};").unwrap();
        let expected = [
            shell("A=${HOME} run -g"),
            CommandPiece::Gpus,
            shell(" -n "),
            CommandPiece::Name,
            shell(" sh -c "),
            CommandPiece::TaskWord,
            shell(";"),
        ];
        assert_eq!(all, expected);
        for (wrong, part) in [
            ("srun worker", "starts no worker"),
            ("srun {cmd}", "unknown placeholder `{cmd}`"),
            ("a ${HOME} {task_cmd}", "unknown placeholder `{HOME}`"),
            ("{task_cmd} }", "without its other half"),
            ("{task_cmd", "without its other half"),
        ] {
            assert!(pieces(wrong).unwrap_err().0.contains(part), "{wrong}");
        }
    }
}
