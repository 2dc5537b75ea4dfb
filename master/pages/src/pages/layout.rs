//! Layout of every page, and the two files that pages load.

use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use maud::{DOCTYPE, Markup, html};

const SCRIPT: &str = include_str!("../assets/page.js");
const STYLE: &str = include_str!("../assets/page.css");

/// A whole page; `events` is where its parts come from again.
pub(crate) fn layout(title: &str, events: Option<&str>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="stylesheet" href="/report.css";
                link rel="stylesheet" href="/page.css";
                @if events.is_some() {
                    noscript { meta http-equiv="refresh" content="5"; }
                    script type="module" src="/page.js" {}
                }
            }
            body data-events=[events] {
                @if events.is_some() { p id="lost" role="alert" hidden {} }
                nav { a href="/" { "Compass" } " " a href="/runs" { "runs" } }
                (body)
            }
        }
    }
}

/// Paths of the files that pages load, and how they are served.
pub(crate) fn assets<S: Clone + Send + Sync + 'static>() -> [(&'static str, MethodRouter<S>); 3] {
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text).into_response() })
    };
    [
        ("/page.js", file("text/javascript; charset=utf-8", SCRIPT)),
        ("/report.css", file("text/css; charset=utf-8", compass_compare::report::STYLE)),
        ("/page.css", file("text/css; charset=utf-8", STYLE)),
    ]
}
