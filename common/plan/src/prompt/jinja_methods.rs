//! Methods of Python's `str` that minijinja's collection lacks, with the results and the errors of CPython.

use compass_pyfmt::python_repr;
use minijinja::value::{Kwargs, Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind};

type Found = Result<Value, Error>;

/// Returns what the method gives; `None` for a method that is not here.
pub(super) fn of_text(text: &str, name: &str, arguments: &[Value]) -> Option<Found> {
    Some(match name {
        "index" => place(text, arguments, |text, wanted| text.find(wanted)),
        "rindex" => place(text, arguments, |text, wanted| text.rfind(wanted)),
        "removeprefix" => one(arguments).map(|prefix| text.strip_prefix(prefix.as_str()).unwrap_or(text).into()),
        "removesuffix" => one(arguments).map(|suffix| text.strip_suffix(suffix.as_str()).unwrap_or(text).into()),
        "partition" => one(arguments).map(|at| match text.split_once(at.as_str()) {
            Some((before, after)) => parts(&[before, &at, after]),
            None => parts(&[text, "", ""]),
        }),
        "rpartition" => one(arguments).map(|at| match text.rsplit_once(at.as_str()) {
            Some((before, after)) => parts(&[before, &at, after]),
            None => parts(&["", "", text]),
        }),
        "rsplit" => rsplit(text, arguments),
        "swapcase" => Ok(text.chars().flat_map(swapped).collect::<String>().into()),
        "casefold" => Ok(text.to_lowercase().replace('ß', "ss").into()),
        "zfill" => width(arguments).map(|(width, _)| {
            let sign = usize::from(text.starts_with(['+', '-']));
            let zeros = "0".repeat(width.saturating_sub(text.chars().count()));
            format!("{}{zeros}{}", &text[..sign], &text[sign..]).into()
        }),
        "ljust" => width(arguments).map(|(width, fill)| (text.to_owned() + &padding(text, width, fill)).into()),
        "rjust" => width(arguments).map(|(width, fill)| (padding(text, width, fill) + text).into()),
        _ => return None,
    })
}

/// The error for a method that nothing has.
pub(super) fn unknown(value: &Value, name: &str) -> Error {
    let what = match value.kind() {
        ValueKind::String => "a text",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "a table",
        ValueKind::Number => "a number",
        _ => "this value",
    };
    let message =
        format!("{what} has no method `{name}`: make the column ready with `columns` of the data set instead");
    Error::new(ErrorKind::UnknownMethod, message)
}

/// Returns the place of a text's first (or last) occurrence, counted in code points, within the bounds that follow it.
fn place(text: &str, arguments: &[Value], find: fn(&str, &str) -> Option<usize>) -> Found {
    let (wanted, start, end): (String, Option<i64>, Option<i64>) = from_args(arguments)?;
    let count = text.chars().count();
    let bound = |at: i64| usize::try_from(if at < 0 { at + count as i64 } else { at }).unwrap_or(0).min(count);
    let (start, end) = (start.map_or(0, bound), end.map_or(count, bound));
    let within: String = text.chars().skip(start).take(end.saturating_sub(start)).collect();
    let at = find(&within, &wanted).filter(|_| start <= end).map(|at| start + within[..at].chars().count());
    at.map(Value::from).ok_or_else(|| {
        let (wanted, text) = (python_repr(&wanted.into()), python_repr(&text.into()));
        Error::new(ErrorKind::InvalidOperation, format!("{wanted} is not in {text}"))
    })
}

fn rsplit(text: &str, arguments: &[Value]) -> Found {
    let (separator, most, named): (Option<String>, Option<i64>, Kwargs) = from_args(arguments)?;
    let most = match named.get::<Option<i64>>("maxsplit")? {
        Some(most) => most,
        None => most.unwrap_or(-1),
    };
    named.assert_all_used()?;
    let most = usize::try_from(most).unwrap_or(usize::MAX - 1);
    let mut found: Vec<&str> = match &separator {
        Some(separator) if separator.is_empty() => {
            return Err(Error::new(ErrorKind::InvalidOperation, "rsplit by an empty text"));
        }
        Some(separator) => text.rsplitn(most + 1, separator.as_str()).collect(),
        None => {
            let mut rest = text.trim_end();
            let mut parts = Vec::new();
            while !rest.is_empty() {
                let at = rest.rfind(char::is_whitespace).filter(|_| parts.len() < most);
                let Some(at) = at else {
                    parts.push(rest.trim_start());
                    break;
                };
                let space = rest[at..].chars().next().map_or(0, char::len_utf8);
                parts.push(&rest[at + space..]);
                rest = rest[..at].trim_end();
            }
            parts
        }
    };
    found.reverse();
    Ok(parts(&found))
}

fn parts(texts: &[&str]) -> Value {
    texts.iter().map(|text| Value::from(*text)).collect()
}

fn one(arguments: &[Value]) -> Result<String, Error> {
    from_args(arguments).map(|(text,): (String,)| text)
}

fn width(arguments: &[Value]) -> Result<(usize, char), Error> {
    let (width, fill): (i64, Option<char>) = from_args(arguments)?;
    Ok((usize::try_from(width).unwrap_or(0).min(1 << 16), fill.unwrap_or(' ')))
}

fn padding(text: &str, width: usize, fill: char) -> String {
    std::iter::repeat_n(fill, width.saturating_sub(text.chars().count())).collect()
}

fn swapped(c: char) -> Vec<char> {
    if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect() }
}

#[cfg(test)]
mod tests {
    use super::super::format::Row;
    use super::super::jinja::text;
    use serde_json::json;

    fn row() -> Row {
        json!({"letter": "C", "q": "a é b  c", "n": "-7"}).as_object().unwrap().clone()
    }

    /// The expected texts are what CPython 3.11 prints.
    #[test]
    fn methods_of_text() {
        for (source, expected) in [
            ("{{'ABCD'.index(letter)}} {{q.index('b')}} {{q.index('c', 3)}}", "2 4 7"),
            ("{{'abcabc'.rindex('b')}} {{'abcabc'.index('c', -3)}}", "4 5"),
            ("{{'Q: why'.removeprefix('Q: ')}} {{'a.txt'.removesuffix('.txt')}}", "why a"),
            ("{{'a=b=c'.partition('=')[2]}} {{'a=b=c'.rpartition('=')[0]}} {{'a'.rpartition('=')[2]}}", "b=c a=b a"),
            ("{{q.rsplit(' ', 1)}} {{q.rsplit()}}", "['a é b ', 'c'] ['a', 'é', 'b', 'c']"),
            ("{{q.rsplit(none, 1)}} {{'a,b,c'.rsplit(',', maxsplit=1)}}", "['a é b', 'c'] ['a,b', 'c']"),
            ("{{'aB'.swapcase()}} {{'Straße'.casefold()}} {{n.zfill(4)}}", "Ab strasse -007"),
            ("{{'x'.ljust(3, '.')}}|{{'x'.rjust(3)}}|", "x..|  x|"),
        ] {
            assert_eq!(text(source, &row()).as_deref(), Ok(expected), "{source}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert!(text("{{'ABCD'.index('E')}}", &row()).unwrap_err().contains("'E' is not in 'ABCD'"));
        let said = text("{{q.translate(1)}}", &row()).unwrap_err();
        assert!(said.contains("a text has no method `translate`"), "{said}");
    }
}
