//! Limits of Jinja templates, for those of data sets and for chat templates alike: steps, widths, lengths and nesting.
//!
//! A template comes with a downloaded model or from a configuration, and nothing stops it from looping or asking for a
//! gigabyte of blanks. Each limit is a count, never a time, so that a prompt does not depend on the machine that renders
//! it. A text that a template doubles step by step with `~` or `+` is seen by the memory that it takes, and by nothing
//! else: see [`within_memory`].

use compass_diagnostic::Diagnostic;
use minijinja::value::{Kwargs, Rest, StringInput, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, filters};
use std::sync::mpsc;
use std::time::Duration;

/// Steps of one rendering. A chat template takes 20 to 200 for each message: this is enough for thousands of turns, and for
/// a template that looks through all messages at each of some hundreds.
const FUEL: u64 = 10_000_000;
/// Largest width, precision, indentation or number of parts that a template may ask for.
const MOST_WIDTH: i64 = 100_000;
/// Most elements that a filter makes a list of.
const MOST_ELEMENTS: usize = 1_000_000;
/// Longest text in bytes that one filter or method makes, and that a template prints from values.
const MOST_TEXT: usize = 64 << 20;
/// Longest source of a template in bytes; parsing and compiling recurse into it.
const MOST_SOURCE: usize = 512 << 10;
/// Deepest nesting of lists and tables in a value that is printed.
const MOST_NESTING: usize = 200;
/// Stack for parsing and rendering. Address space: only what is used becomes memory.
const STACK: usize = 256 << 20;

/// Memory in bytes by which a process may grow while one template is rendered for one row; many times what the other limits
/// let a template hold.
const MOST_MEMORY: u64 = 1 << 30;
/// Time between two looks at that memory. A rendering that is over before costs nothing.
const LOOK: Duration = Duration::from_millis(10);

/// Bytes printed so far, a temporary of the rendering.
const PRINTED: &str = "compass_printed_bytes";

/// Sets the fuel, and puts bounded filters in the place of those whose result an argument makes as large as it likes.
pub fn limit(environment: &mut Environment<'_>) {
    environment.set_fuel(Some(FUEL));
    environment.add_filter("format", |state: &State<'_, '_>, text: &Value, arguments: Rest<Value>| {
        printf_fits(text.as_str().unwrap_or_default(), &arguments)?;
        filters::format(state, text, arguments)
    });
    environment.add_filter(
        "indent",
        |text: StringInput<'_>, width: Option<usize>, first: Option<bool>, blank: Option<bool>, named: Kwargs| {
            let asked = width.or(named.peek::<Option<usize>>("width").ok().flatten()).unwrap_or(4);
            let lines = text.as_str().matches('\n').count() + 1;
            text_fits(text.as_str().len().saturating_add(lines.saturating_mul(asked)))?;
            filters::indent(text, width, first, blank, named)
        },
    );
    environment.add_filter("replace", replace);
    environment.add_filter("join", |items: &Value, joiner: Option<StringInput<'_>>| {
        join(items, joiner.as_ref().map(StringInput::as_str).unwrap_or_default())
    });
    environment.add_filter("batch", |state: &State<'_, '_>, items: Value, count: usize, fill: Option<Value>| {
        width_fits(i64::try_from(count).unwrap_or(i64::MAX))?;
        list_fits(&items)?;
        filters::batch(state, items, count, fill)
    });
    environment.add_filter("slice", |state: &State<'_, '_>, items: Value, count: usize, fill: Option<Value>| {
        width_fits(i64::try_from(count).unwrap_or(i64::MAX))?;
        list_fits(&items)?;
        filters::slice(state, items, count, fill)
    });
    environment.add_filter("list", |state: &State<'_, '_>, items: Value| {
        list_fits(&items)?;
        filters::list(state, items)
    });
    environment.add_filter("sort", |state: &State<'_, '_>, items: Value, named: Kwargs| {
        list_fits(&items)?;
        filters::sort(state, items, named)
    });
    environment.add_filter("unique", |state: &State<'_, '_>, items: Value, named: Kwargs| {
        list_fits(&items)?;
        filters::unique(state, items, named)
    });
}

/// Checks that a method of a text keeps to the limits; asked before it is called.
///
/// # Errors
/// What it asks for.
pub fn method_fits(text: &str, name: &str, arguments: &[Value]) -> Result<(), Error> {
    let given = |at: usize| arguments.get(at).and_then(Value::as_str).unwrap_or_default();
    match name {
        "format" => format_widths(text),
        "replace" => replaced_fits(text, given(0), given(1)),
        "join" => arguments.first().map_or(Ok(()), |items| join(items, text).map(|_| ())),
        // minijinja's own would count without end.
        "count" if arguments.first().is_some_and(|what| what.as_str() == Some("")) => {
            Err(too_much("`count` of an empty text".into()))
        }
        "ljust" | "rjust" | "center" | "zfill" => arguments.first().and_then(Value::as_i64).map_or(Ok(()), width_fits),
        _ => Ok(()),
    }
}

/// Counts what a rendering prints from values; called by the formatter of an environment.
///
/// # Errors
/// When it is more than [`MOST_TEXT`] in all.
pub fn printed(state: &State<'_, '_>, bytes: usize) -> Result<(), Error> {
    let before = state.get_temp(PRINTED).and_then(|count| count.as_usize()).unwrap_or(0);
    let all = before.saturating_add(bytes);
    state.set_temp(PRINTED, Value::from(all));
    text_fits(all)
}

/// Checks that a value is small enough to be printed: the depth of its nesting, and the number of its elements in all.
///
/// # Errors
/// When it is not.
pub fn value_fits(value: &Value) -> Result<(), Error> {
    fn fits(value: &Value, levels: usize, elements: &mut usize) -> Result<(), Error> {
        let Some(below) = levels.checked_sub(1) else {
            return Err(too_much(format!("a value that nests deeper than {MOST_NESTING} lists or tables")));
        };
        *elements += 1;
        if *elements > MOST_ELEMENTS {
            return Err(too_much(format!("a value of more than {MOST_ELEMENTS} elements")));
        }
        match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => value.try_iter()?.try_for_each(|item| fits(&item, below, elements)),
            ValueKind::Map => value.try_iter()?.try_for_each(|key| fits(&value.get_item(&key)?, below, elements)),
            _ => Ok(()),
        }
    }
    if value.is_number() || value.as_str().is_some() {
        return Ok(());
    }
    fits(value, MOST_NESTING, &mut 0)
}

/// Parses or renders on a thread with a deep stack: a nesting that would overflow an ordinary one is only slow there.
///
/// # Errors
/// In words: `work`'s own; a source that is too long; what made the template library give up.
pub fn within<T: Send>(source: &str, work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    on_a_deep_stack(source, work, || {})
}

/// As [`within`]; ends the process with exit code 2 and an error in words if its memory grows by more than 1 GiB meanwhile.
/// A thread cannot be stopped, and a template that doubles a text takes all memory of the machine within seconds. For the
/// master, which renders before anything has been started; an engine may grow for reasons of its own.
///
/// # Errors
/// As [`within`].
pub fn within_memory<T: Send>(source: &str, work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    let mut before = None;
    on_a_deep_stack(source, work, || {
        let Some(now) = resident_memory() else { return };
        if now.saturating_sub(*before.get_or_insert(now)) > MOST_MEMORY {
            give_up(source);
        }
    })
}

/// Calls `look` now and then while the work lasts.
fn on_a_deep_stack<T: Send>(
    source: &str,
    work: impl FnOnce() -> Result<T, String> + Send,
    mut look: impl FnMut(),
) -> Result<T, String> {
    if source.len() > MOST_SOURCE {
        return Err(format!("the template has {} bytes, and at most {MOST_SOURCE} are read", source.len()));
    }
    // Nothing is ever sent: that the sender is gone says that the work is over.
    let (working, is_over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("template".into()).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, move || {
            let _working = working;
            work()
        });
        let thread = thread.map_err(|error| format!("cannot start a thread to render the template: {error}"))?;
        while is_over.recv_timeout(LOOK) == Err(mpsc::RecvTimeoutError::Timeout) {
            look();
        }
        thread.join().unwrap_or_else(|_| Err("the template asks for what the template library cannot do".into()))
    })
}

fn give_up(source: &str) {
    let start: String = source.chars().take(200).collect();
    let start = start.replace('\n', "\\n");
    let message = format!(
        "a template of a data set takes more than {} MiB of memory for one row: a text in it grows without bound. \
         Nothing was started. It begins with: {start}",
        MOST_MEMORY >> 20
    );
    eprintln!("{}", Diagnostic::error(message));
    std::process::exit(2);
}

/// Memory of this process in bytes, swapped pages not counted; `None` where the system does not tell.
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix("kB")?;
    Some(kibibytes.trim().parse::<u64>().ok()? << 10)
}

/// Says what ran out, where an error means that.
pub fn exhausted(error: &Error) -> Option<String> {
    (error.kind() == ErrorKind::OutOfFuel)
        .then(|| format!("it takes more than {FUEL} steps: a loop in it does not end, or runs far too often"))
}

fn too_much(what: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("the template asks for {what}"))
}

fn width_fits(width: i64) -> Result<(), Error> {
    if width.unsigned_abs() <= MOST_WIDTH.unsigned_abs() {
        return Ok(());
    }
    Err(too_much(format!("a width of {width}, and at most {MOST_WIDTH} is allowed")))
}

pub(super) fn text_fits(bytes: usize) -> Result<(), Error> {
    if bytes <= MOST_TEXT {
        return Ok(());
    }
    Err(too_much(format!("a text of {bytes} bytes, and at most {MOST_TEXT} are allowed")))
}

fn list_fits(items: &Value) -> Result<(), Error> {
    match items.len() {
        Some(count) if count > MOST_ELEMENTS => {
            Err(too_much(format!("a list of {count} elements, and at most {MOST_ELEMENTS} are allowed")))
        }
        _ => Ok(()),
    }
}

fn replaced_fits(text: &str, from: &str, to: &str) -> Result<(), Error> {
    text_fits(text.len().saturating_add(text.matches(from).count().saturating_mul(to.len())))
}

fn replace(
    state: &State<'_, '_>,
    text: StringInput<'_>,
    from: StringInput<'_>,
    to: StringInput<'_>,
) -> Result<Value, Error> {
    replaced_fits(text.as_str(), from.as_str(), to.as_str())?;
    filters::replace(state, text, from, to)
}

/// `join` of minijinja without escaping, which no environment here does; the length is checked as it grows.
fn join(items: &Value, joiner: &str) -> Result<Value, Error> {
    let mut text = String::new();
    let not_a_list = |_| Error::new(ErrorKind::InvalidOperation, format!("cannot join value of type {}", items.kind()));
    for (at, item) in items.try_iter().map_err(not_a_list)?.enumerate() {
        if at > 0 {
            text.push_str(joiner);
        }
        match item.as_str() {
            Some(item) => text.push_str(item),
            None => {
                value_fits(&item)?;
                text.push_str(&item.to_string());
            }
        }
        text_fits(text.len())?;
    }
    Ok(Value::from(text))
}

/// The widths and precisions of a format in the style of `printf`.
pub(super) fn printf_fits(format: &str, arguments: &[Value]) -> Result<(), Error> {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        rest = after.strip_prefix('%').unwrap_or(after);
        let spec = match after.strip_prefix('(') {
            Some(key) => key.split_once(')').map_or("", |(_, spec)| spec),
            None => after,
        };
        let spec = spec.trim_start_matches(['#', '0', '-', ' ', '+']);
        let end = spec.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '*').unwrap_or(spec.len());
        numbers_fit(&spec[..end])?;
        if spec[..end].contains('*') {
            arguments.iter().filter_map(Value::as_i64).try_for_each(width_fits)?;
        }
    }
    Ok(())
}

/// The widths and precisions of a format in the style of `str.format`.
fn format_widths(format: &str) -> Result<(), Error> {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('{') {
        rest = after;
        let field = after.split(['{', '}']).next().unwrap_or_default();
        if let Some((_, spec)) = field.split_once(':') {
            numbers_fit(spec)?;
        }
    }
    Ok(())
}

fn numbers_fit(spec: &str) -> Result<(), Error> {
    let numbers = spec.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    numbers.map(|digits| digits.parse().unwrap_or(i64::MAX)).try_for_each(width_fits)
}
