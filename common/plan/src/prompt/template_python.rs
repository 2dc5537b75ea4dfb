//! Functions that templates have in Python and minijinja lacks: `'%s' % value`, `cycler` and `joiner`.

use super::percent_source::FILTER;
use super::template_limits::{printf_fits, text_fits};
use minijinja::value::{Object, ObjectRepr, Rest, Value, ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, State, filters};
use minijinja_contrib::globals::joiner;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Python's `str` or `repr` of a value.
pub type Printed = fn(&Value) -> Result<String, Error>;

/// Adds them to an environment whose values print as `str` and `repr` say; sources go through
/// [`with_percent_filters`](super::with_percent_filters).
pub fn add_python(environment: &mut Environment<'_>, str: Printed, repr: Printed) {
    environment.add_function("cycler", Cycler::start);
    environment.add_function("joiner", joiner);
    environment.add_filter(FILTER, move |state: &State<'_, '_>, text: &str, value: Value, is_tuple: Option<bool>| {
        Percent { state, str, repr }.format(text, &value, is_tuple.unwrap_or(false))
    });
}

/// Jinja's `Cycler`: items in turn, without end.
#[derive(Debug)]
struct Cycler {
    items: Vec<Value>,
    next: AtomicUsize,
}

impl Cycler {
    fn start(items: Rest<Value>) -> Result<Value, Error> {
        if items.is_empty() {
            return Err(invalid("cycler needs at least one item"));
        }
        Ok(Value::from_object(Self { items: items.0, next: AtomicUsize::new(0) }))
    }

    fn current(&self) -> Option<&Value> {
        self.items.get(self.next.load(Ordering::Relaxed) % self.items.len())
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.current().filter(|_| key.as_str() == Some("current")).cloned()
    }

    fn call_method(self: &Arc<Self>, _: &State<'_, '_>, method: &str, arguments: &[Value]) -> Result<Value, Error> {
        let () = from_args(arguments)?;
        match method {
            "next" => {
                let item = self.current().cloned();
                self.next.fetch_add(1, Ordering::Relaxed);
                Ok(item.unwrap_or_default())
            }
            "reset" => {
                self.next.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(Error::new(ErrorKind::UnknownMethod, format!("a cycler has no method `{method}`"))),
        }
    }
}

/// Python's printf-style formatting of texts; minijinja formats the numbers.
struct Percent<'s, 't, 'e> {
    state: &'s State<'t, 'e>,
    str: Printed,
    repr: Printed,
}

impl Percent<'_, '_, '_> {
    fn format(&self, text: &str, value: &Value, is_tuple: bool) -> Result<String, Error> {
        let is_container = matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map);
        // A tuple that a name stands for is a list here: its length tells it from one, unless that is 1.
        let is_tuple = is_tuple || value.kind() == ValueKind::Seq && conversions(text) > 1;
        let mut values: VecDeque<Value> = match is_tuple {
            true => value.try_iter()?.collect(),
            false => [value.clone()].into(),
        };
        let (mut out, mut rest, mut is_named) = (String::new(), text, false);
        while let Some((plain, after)) = rest.split_once('%') {
            out.push_str(plain);
            let (key, after) = match after.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
                Some((key, after)) => (Some(key), after),
                None => (None, after),
            };
            let (spec, after) = after.split_at(after.find(|c| !"#0- +123456789.*".contains(c)).unwrap_or(after.len()));
            let after = after.trim_start_matches(['h', 'l', 'L']);
            let kind = after.chars().next().ok_or_else(|| invalid("incomplete format"))?;
            rest = &after[kind.len_utf8()..];
            if kind == '%' {
                out.push('%');
                continue;
            }
            let mut next = || values.pop_front().ok_or_else(|| invalid("not enough arguments for format string"));
            let mut widths = spec.to_owned();
            while widths.contains('*') {
                let width = next()?.as_i64().ok_or_else(|| invalid("* wants int"))?;
                widths = widths.replacen('*', &width.to_string(), 1);
            }
            is_named |= key.is_some();
            let value = match key {
                Some(_) if value.kind() != ValueKind::Map => return Err(invalid("format requires a mapping")),
                Some(key) => Some(value.get_item(&Value::from(key))?).filter(|found| !found.is_undefined()),
                None => Some(next()?),
            };
            let value = value.ok_or_else(|| invalid(&format!("KeyError: {key:?}")))?;
            out.push_str(&self.converted(kind, &widths, &value)?);
            text_fits(out.len())?;
        }
        out.push_str(rest);
        if !values.is_empty() && !is_named && (is_tuple || !is_container) {
            return Err(invalid("not all arguments converted during string formatting"));
        }
        Ok(out)
    }

    fn converted(&self, kind: char, spec: &str, value: &Value) -> Result<String, Error> {
        printf_fits(&format!("%{spec}{kind}"), &[])?;
        let (kind, value) = match kind {
            's' => return Ok(padded(&(self.str)(value)?, spec)),
            'r' => return Ok(padded(&(self.repr)(value)?, spec)),
            'd' | 'i' | 'u' => ('d', whole(value)?),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'x' | 'X' | 'o' if value.kind() == ValueKind::Bool => {
                (kind, Value::from(i64::from(value.is_true())))
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'x' | 'X' | 'o' if !value.is_number() => {
                return Err(invalid(&format!("%{kind} takes a number, not a {}", value.kind())));
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'x' | 'X' | 'o' | 'c' => (kind, value.clone()),
            _ => return Err(invalid(&format!("unsupported format character '{kind}'"))),
        };
        let format = format!("%{spec}{kind}");
        let text = filters::format(self.state, &Value::from(format), Rest(vec![value]))?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }
}

/// A text as `spec` has it, which counts code points where minijinja counts bytes.
fn padded(text: &str, spec: &str) -> String {
    let (width, most) = spec.split_once('.').map_or((spec, None), |(width, most)| (width, Some(most)));
    let text: String = text.chars().take(most.map_or(usize::MAX, |most| most.parse().unwrap_or(0))).collect();
    let width: usize = width.trim_start_matches(['#', '0', '-', ' ', '+']).parse().unwrap_or(0);
    let padding = " ".repeat(width.saturating_sub(text.chars().count()));
    if spec.contains('-') { text + &padding } else { padding + &text }
}

/// `%d` cuts what follows the point.
fn whole(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Bool => Ok(Value::from(i64::from(value.is_true()))),
        ValueKind::Number if value.is_integer() => Ok(value.clone()),
        ValueKind::Number => {
            let number = f64::try_from(value.clone())?;
            let is_held = number.abs() < 2f64.powi(127);
            is_held.then(|| Value::from(number as i128)).ok_or_else(|| invalid("%d of a number without end"))
        }
        kind => Err(invalid(&format!("%d takes a number, not a {kind}"))),
    }
}

fn conversions(format: &str) -> usize {
    format.replace("%%", "").matches('%').count()
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::format::Row;
    use super::super::jinja::{list, text};

    const ROW: &str = r#"{"n": 7, "f": 3.75, "neg": -2.5, "s": "it's é", "t": true, "none": null, "l": [1, "a", null],
        "d": {"k": 1.0, "b": false}, "big": 100000000000000000000, "u": "日本"}"#;

    fn row() -> Row {
        serde_json::from_str(&compass_pyfmt::whole_numbers_kept(ROW)).unwrap()
    }

    /// The expected texts are what Jinja2 3.1.6 prints on CPython 3.11.
    #[test]
    fn texts_are_formatted_as_python_formats_them() {
        for (source, expected) in [
            ("{{ '%s of %d' % (n, f) }}", "7 of 3"),
            ("{{ '%s' % l }}", "[1, 'a', None]"),
            ("{{ '%s %s' % (l, d) }}", "[1, 'a', None] {'k': 1.0, 'b': False}"),
            ("{{ '%r|%r|%r' % (s, none, f) }}", "\"it's é\"|None|3.75"),
            ("{{ '%s|%s|%s' % (t, none, f) }}", "True|None|3.75"),
            ("{{ '%.2f|%5d|%-5d|%05d|%+d|% d' % (f, n, n, n, n, n) }}", "3.75|    7|7    |00007|+7| 7"),
            ("{{ '%5s|%-5s|%.1s' % (u, u, u) }}", "   日本|日本   |日"),
            ("{{ '%5.1f%%' % f }}", "  3.8%"),
            ("{{ '%x|%X|%#x|%o' % (255, 255, 255, 8) }}", "ff|FF|0xff|10"),
            ("{{ '%e|%g|%G|%10.3e|' % (f, 0.00001, 1e20, f) }}", "3.750000e+00|1e-05|1E+20| 3.750e+00|"),
            ("{{ '%c%c' % (65, 'B') }}", "AB"),
            ("{{ '%i|%u|%ld' % (neg, 3, n) }}", "-2|3|7"),
            ("{{ '%d|%d' % (t, big) }}", "1|100000000000000000000"),
            ("{{ '%f|%.0f|%.3f' % (n, 2.5, neg) }}", "7.000000|2|-2.500"),
            ("{{ '%(k)s and %(b)s' % d }} {{ '%(k).2f' % {'k': 1} }}", "1.0 and False 1.00"),
            ("{{ '%s' % d }}", "{'k': 1.0, 'b': False}"),
            ("{{ '%*d|%-*d|' % (5, 3, 4, 2) }}", "    3|2   |"),
            ("{{ 'none' % () }}|{{ '%s' % (n,) }}", "none|7"),
            ("{{ 'no' % l }}{{ 'no' % d }}", "nono"),
            ("{{ '%s%s' % (n, n) * 2 }} {{ '%s' % n ~ 'x' }}", "7777 7x"),
            ("{{ '%s' % f|round|int }}{{ 7 % 4 }}", "43"),
            ("{{ '%s' % -n }} {{ '%s' % n ** 2 }}", "-7 49"),
            ("{% set p = (n, s) %}{{ '%d %s' % p }}", "7 it's é"),
        ] {
            assert_eq!(text(source, &row()).as_deref(), Ok(expected), "{source}");
        }
        assert_eq!(list("{{ ['%d.' % n, '%s' % (s,)] }}", &row()), Ok(vec!["7.".into(), "it's é".into()]));
    }

    #[test]
    fn what_python_refuses_is_refused() {
        for (source, expected) in [
            ("{{ '%s %s' % n }}", "not enough arguments"),
            ("{{ '%s' % (1, 2) }}", "not all arguments converted"),
            ("{{ 'no' % 1 }}", "not all arguments converted"),
            ("{{ '%d' % 'x' }}", "%d takes a number, not a string"),
            ("{{ '%(k)s' % n }}", "format requires a mapping"),
            ("{{ '%(q)s' % d }}", "KeyError"),
            ("{{ '%y' % n }}", "unsupported format character 'y'"),
            ("{{ '%' % n }}", "incomplete format"),
            ("{{ '%x' % f }}", ""),
            ("{{ '%s' % missing }}", "undefined"),
            ("{{ cycler() }}", "at least one item"),
            ("{{ cycler(1).previous() }}", "no method `previous`"),
        ] {
            let said = text(source, &row()).unwrap_err();
            assert!(said.contains(expected), "{source}: {said}");
        }
    }

    /// As [`texts_are_formatted_as_python_formats_them`].
    #[test]
    fn items_come_in_turn() {
        for (source, expected) in [
            (
                "{% set c = cycler('a', n, none) %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.reset() }}{{ c.current }}",
                "a77NoneaNonea",
            ),
            ("{% set c = cycler(*l) %}{% for x in range(4) %}{{ c.next() }}{% endfor %}", "1aNone1"),
            ("{% set j = joiner(' | ') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}", "1 | a | None"),
        ] {
            assert_eq!(text(source, &row()).as_deref(), Ok(expected), "{source}");
        }
    }
}
