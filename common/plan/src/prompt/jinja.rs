//! Jinja templates over the columns of a row, as lm-eval's tasks write them (`utils.apply_template`).
//!
//! minijinja with Python's words: values print as `str` prints them, strings and lists have Python's methods, an unknown
//! name is an error, the last newline stays. Other than in Jinja: `|int` of text that is not a number, and `join` and
//! `replace` over lists of mixed types.

use super::format::Row;
use super::jinja_methods;
use super::jinja_values::{json, tojson, variables};
use super::percent_source::with_percent_filters;
use super::template_limits;
use super::template_python::add_python;
use compass_pyfmt::literal;
use compass_pyfmt::{python_repr, python_str};
use minijinja::value::{ValueKind, from_args};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value};
use regex::Regex;
use std::sync::LazyLock;

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_keep_trailing_newline(true);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(method);
    environment.set_formatter(write);
    environment.add_filter("string", |value: Value| printed(&value));
    environment.add_filter("regex_replace", regex_replace);
    environment.add_filter("tojson", tojson);
    template_limits::limit(&mut environment);
    add_python(&mut environment, printed, represented);
    environment
});

/// The text of a template for a row.
///
/// # Errors
/// In words: a template that is not Jinja, a column that the row lacks, an operation that cannot be done, or one that goes
/// beyond [`template_limits`].
pub(super) fn text(source: &str, row: &Row) -> Result<String, String> {
    // Jinja reads every line break as "\n".
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = with_percent_filters(&source);
    template_limits::within_memory(&source, || {
        ENVIRONMENT.render_str(&source, variables(row)).map_err(|error| said(&error))
    })
}

/// The list that a template stands for. Of one expression, `{{ ... }}`, that is its value; what another template prints is
/// read as Python would (lm-eval's `ast.literal_eval`).
///
/// # Errors
/// As [`text`], and for a value that is not a list.
pub(super) fn list(source: &str, row: &Row) -> Result<Vec<String>, String> {
    let filtered = with_percent_filters(source);
    let Some(expression) = only_expression(&filtered) else { return printed_list(&text(source, row)?) };
    template_limits::within_memory(expression, || {
        let compiled = ENVIRONMENT.compile_expression(expression).map_err(|error| said(&error))?;
        let value = compiled.eval(variables(row)).map_err(|error| said(&error))?;
        template_limits::value_fits(&value).map_err(|error| said(&error))?;
        if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
            return Err(format!("`options` gives {value}, which is not a list"));
        }
        let items = value.try_iter().map_err(|error| said(&error))?;
        items.map(|item| printed(&item).map_err(|error| said(&error))).collect()
    })
}

/// Returns whether the template is one expression, `{{ ... }}`, whose value is a text.
///
/// # Errors
/// As [`text`].
pub(super) fn is_text(source: &str, row: &Row) -> Result<bool, String> {
    let filtered = with_percent_filters(source);
    let Some(expression) = only_expression(&filtered) else { return Ok(false) };
    template_limits::within_memory(expression, || {
        let compiled = ENVIRONMENT.compile_expression(expression).map_err(|error| said(&error))?;
        Ok(compiled.eval(variables(row)).map_err(|error| said(&error))?.kind() == ValueKind::String)
    })
}

fn only_expression(source: &str) -> Option<&str> {
    let expression = source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!["{{", "{%", "}}"].iter().any(|mark| expression.contains(mark))).then_some(expression)
}

fn printed_list(text: &str) -> Result<Vec<String>, String> {
    let wrong = |why: &str| {
        format!("`options` prints `{text}`, {why}: end the template with one list, as in `{{{{ [a, b] }}}}`")
    };
    match literal::parse(text) {
        Ok(serde_json::Value::Array(items)) => Ok(items.iter().map(python_str).collect()),
        Ok(_) => Err(wrong("which is not a list")),
        Err(why) => Err(wrong(&format!("which is {why}"))),
    }
}

/// Returns why the source is not a template; `None` when it is one.
pub fn fault(source: &str) -> Option<String> {
    let source = &*with_percent_filters(source);
    let compiled = || ENVIRONMENT.template_from_str(source).map(|_| ()).map_err(|error| said(&error));
    template_limits::within(source, compiled).err()
}

fn said(error: &Error) -> String {
    if let Some(exhausted) = template_limits::exhausted(error) {
        return exhausted;
    }
    let text = error.to_string();
    text.lines().next().unwrap_or("no reason was given").to_owned()
}

fn write(out: &mut Output<'_>, state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let text = printed(value)?;
    template_limits::printed(state, text.len())?;
    out.write_str(&text).map_err(|_| Error::new(ErrorKind::WriteFailure, "the text could not be written"))
}

/// `str(value)` of Python.
fn printed(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::String => Ok(value.as_str().unwrap_or_default().to_owned()),
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        _ => {
            template_limits::value_fits(value)?;
            Ok(python_str(&json(value)?))
        }
    }
}

/// `repr(value)` of Python.
fn represented(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::String => Ok(python_repr(&json(value)?)),
        _ => printed(value),
    }
}

/// Python's methods; `index` of lists is ours, minijinja's collection lacks it.
fn method(state: &State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    if name == "index" && value.kind() == ValueKind::Seq {
        let (wanted,): (Value,) = from_args(arguments)?;
        let at = value.try_iter()?.position(|item| item == wanted);
        let missing = || {
            let wanted = json(&wanted).map(|wanted| python_repr(&wanted)).unwrap_or_default();
            Error::new(ErrorKind::InvalidOperation, format!("{wanted} is not in the list"))
        };
        return at.map(Value::from).ok_or_else(missing);
    }
    if let Some(text) = value.as_str() {
        template_limits::method_fits(text, name, arguments)?;
    }
    if let Some(text) = value.as_str()
        && let Some(result) = jinja_methods::of_text(text, name, arguments)
    {
        return result;
    }
    let result = minijinja_contrib::pycompat::unknown_method_callback(state, value, name, arguments);
    result.map_err(|error| match error.kind() {
        ErrorKind::UnknownMethod => jinja_methods::unknown(value, name),
        _ => error,
    })
}

/// `re.sub(pattern, repl, string)`, `\1` in `repl` for a group; look-around is not served.
fn regex_replace(text: &str, pattern: &str, with: &str, count: Option<usize>) -> Result<String, Error> {
    let pattern = Regex::new(pattern).map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))?;
    let mut replacement = String::with_capacity(with.len());
    let mut chars = with.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('$', _) => replacement.push_str("$$"),
            ('\\', Some(digit)) if digit.is_ascii_digit() => {
                replacement.push_str(&format!("${{{digit}}}"));
                chars.next();
            }
            ('\\', Some('n')) => {
                replacement.push('\n');
                chars.next();
            }
            ('\\', Some('\\')) => {
                replacement.push('\\');
                chars.next();
            }
            (c, _) => replacement.push(c),
        }
    }
    // Matches do not overlap: each group repeats the text once at most, over all of them.
    let repeated = text.len().saturating_mul(1 + replacement.matches("${").count());
    let added = pattern.find_iter(text).count().saturating_mul(replacement.len());
    template_limits::text_fits(repeated.saturating_add(added))?;
    Ok(pattern.replacen(text, count.unwrap_or(0), replacement.as_str()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row() -> Row {
        let row = json!({"q": " why? ", "choices": ["it's", "b"], "label": 1, "letters": {"A": "x"}, "yes": true});
        row.as_object().unwrap().clone()
    }

    /// The expected texts are what Jinja2 3.1 prints with lm-eval's settings.
    #[test]
    fn values_print_as_python_prints_them() {
        for (source, expected) in [
            ("Q: {{q.strip()}}\nA:\n", "Q: why?\nA:\n"),
            ("{{choices}} {{label}} {{letters}} {{yes}}", "[\"it's\", 'b'] 1 {'A': 'x'} True"),
            ("{{choices[label]}} {{choices.index('b')}} {{choices|length}}", "b 1 2"),
            ("{% for c in choices %}{{loop.index}}. {{c}}\n{% endfor %}", "1. it's\n2. b\n"),
            ("{% if label == 1 %}one{% else %}none{% endif %} {{ 'x' if yes else 'y' }}", "one x"),
            ("{{q|trim|upper}} {{choices|join(', ')}} {{label|string}}", "WHY? it's, b 1"),
            ("{% set first = choices[0] %}{{first.replace(\"'\", '').capitalize()}}", "Its"),
            ("{{q|regex_replace('w(h)', '\\\\1-')}}", " h-y? "),
            ("{{'ABCD'[label]}} {{q.split('h')[0]}}|{{choices[1:]}}", "B  w|['b']"),
            ("{{'%s: %s' % (label, choices)}} {{'%r' % choices[0]}}", "1: [\"it's\", 'b'] \"it's\""),
            ("{% set c = cycler('a', 'b') %}{% for x in [1, 2, 3] %}{{c.next()}}{% endfor %}{{c.current}}", "abab"),
        ] {
            assert_eq!(text(source, &row()).as_deref(), Ok(expected), "{source}");
        }
    }

    #[test]
    fn lists_stay_lists() {
        assert_eq!(list("{{choices}}", &row()), Ok(vec!["it's".into(), "b".into()]));
        assert_eq!(list("{{ [q.strip(), label, 'z'] }}", &row()), Ok(vec!["why?".into(), "1".into(), "z".into()]));
        assert!(list("{{q}}", &row()).unwrap_err().contains("not a list"));
        assert!(list("{{q}} {{q}}", &row()).unwrap_err().contains("end the template with one list"));
        let set = "{% set first = choices[0] %}{{ [first, 'z'] }}";
        assert_eq!(list(set, &row()), Ok(vec!["it's".into(), "z".into()]));
        let each = "[{% for c in choices %}'{{loop.index0}}', {% endfor %}]";
        assert_eq!(list(each, &row()), Ok(vec!["0".into(), "1".into()]));
        assert_eq!(list("{{ choices if yes else [] }}", &row()), Ok(vec!["it's".into(), "b".into()]));
    }

    #[test]
    fn a_template_keeps_to_its_limits() {
        let loops =
            "{% for a in range(99999) %}{% for b in range(99999) %}{% if a < 0 %}x{% endif %}{% endfor %}{% endfor %}";
        let nested = |levels: usize| {
            format!(
                "{{% set n = namespace(x=1) %}}{{% for i in range({levels}) %}}{{% set n.x = [n.x] %}}{{% endfor %}}{{{{ n.x }}}}"
            )
        };
        let (parentheses, sum) = ("(".repeat(100_000), "+1".repeat(100_000));
        for (source, expected) in [
            (loops, "it takes more than 10000000 steps"),
            ("{{ '%999999999d' % 1 }}", "a width of 999999999"),
            ("{{ '%*d' % (999999999, 1) }}", "a width of 999999999"),
            ("{{ '%999999999d'|format(1) }}", "a width of 999999999, and at most 100000 is allowed"),
            ("{{ '%%%(a).999999999f'|format(a=1) }}", "a width of 999999999"),
            ("{{ '%*d'|format(999999999, 1) }}", "a width of 999999999"),
            ("{{ '{:>999999999}'.format(q) }}", "a width of 999999999"),
            ("{{ q.ljust(999999999) }}", "a width of 999999999"),
            ("{{ 'x' * 10**10 }}", "too large"),
            ("{{ [1] * 10**10 }}", "a value of more than 1000000 elements"),
            ("{{ ([1] * 10**10)|list }}", "a list of 10000000000 elements"),
            ("{{ ([1] * 10**18 * 10**18)|list }}", "cannot do"),
            ("{{ ([q] * 10**10)|join(',') }}", "a text of 671"),
            ("{{ ''.join([q] * 10**10) }}", "a text of 671"),
            ("{% for a in range(99999) %}{{ 'x' * 10**6 }}{% endfor %}", "a text of 68000000 bytes"),
            ("{{ q|indent(10**10) }}", "a text of"),
            ("{{ choices|batch(10**12) }}", "a width of 1000000000000"),
            ("{{ choices|slice(10**12) }}", "a width of 1000000000000"),
            ("{{ ('x' * 10**7)|replace('x', 'y' * 10**7) }}", "a text of"),
            ("{{ q.count('') }}", "`count` of an empty text"),
            (&nested(100_000), "nests deeper than 200 lists or tables"),
            (&format!("{{{{ {parentheses} }}}}"), "recursion"),
            (&format!("{{{{ 1{sum} }}}}"), ""),
            (&"x".repeat(600_000), "the template has 600000 bytes"),
        ] {
            let found = text(source, &row());
            match expected {
                "" => assert_eq!(found.as_deref(), Ok("100001")),
                _ => assert!(found.as_ref().is_err_and(|said| said.contains(expected)), "{source:.80}: {found:?}"),
            }
        }
        assert_eq!(text(&nested(150), &row()).map(|text| text.len()), Ok(301));
        let said = list("{{ [1] * 10**10 }}", &row()).unwrap_err();
        assert!(said.contains("more than 1000000 elements"), "{said}");
        // Five hundred shots, each of which looks through all of them.
        let shots: Vec<_> = (0..500).map(|at| json!({"role": "user", "at": at})).collect();
        let row = json!({"shots": shots}).as_object().unwrap().clone();
        let source =
            "{% for a in shots %}{% for b in shots %}{{ b.at if b.at == a.at else '' }}{% endfor %},{% endfor %}";
        assert!(text(source, &row).unwrap().ends_with("498,499,"));
    }

    #[test]
    fn faults_are_said() {
        assert!(text("{{nothing}}", &row()).unwrap_err().contains("undefined"));
        assert!(text("{{choices.index('z')}}", &row()).unwrap_err().contains("'z' is not in the list"));
        assert!(fault("{{q").is_some());
        assert_eq!(fault("{{q}}"), None);
    }
}
