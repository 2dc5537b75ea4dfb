//! Parts of a page: what an event replaces.

use maud::{Markup, PreEscaped, html};

/// A part of a page, by its id.
pub(crate) type Part = (&'static str, Markup);

/// A section for each part.
pub(super) fn sections(parts: &[Part]) -> Markup {
    html! { @for (id, part) in parts { section id=(id) { (part) } } }
}

/// The parts that differ from those before, as JSON for the page's script.
pub(crate) fn changed(parts: &[Part], before: &mut Vec<Part>) -> Option<String> {
    let is_old = |(id, part): &Part| before.iter().any(|(known, old)| known == id && old.0 == part.0);
    let new = parts.iter().filter(|part| !is_old(part));
    let new: serde_json::Map<String, serde_json::Value> =
        new.map(|(id, PreEscaped(text))| ((*id).to_owned(), text.as_str().into())).collect();
    *before = parts.to_vec();
    (!new.is_empty()).then(|| serde_json::Value::Object(new).to_string())
}
