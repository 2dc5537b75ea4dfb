//! Queries and forms of requests. An unreadable one is refused with the form to send instead, whatever the library reports.

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// The query of a request.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = (StatusCode, String);

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(query)| Self(query)).map_err(|_| (StatusCode::BAD_REQUEST, why_unread(parts.uri.query())))
    }
}

/// Returns why a query cannot be read: its fields are texts, so that only one that comes twice is wrong.
fn why_unread(query: Option<&str>) -> String {
    let mut seen = BTreeSet::new();
    let mut names = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).map(|(name, _)| name);
    match names.find(|name| !seen.insert(name.clone())) {
        Some(name) => format!("`{name}` is in the query twice: send it once\n"),
        None => "the query cannot be read: send each of its fields once, as name=value\n".to_owned(),
    }
}

/// The form that a request sends.
pub(super) struct Sent<T>(pub(super) T);

impl<T, S> FromRequest<S> for Sent<T>
where
    Form<T>: FromRequest<S, Rejection = FormRejection>,
    S: Send + Sync,
{
    type Rejection = (StatusCode, &'static str);

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let unread = "the form cannot be read: send each of its fields once, as application/x-www-form-urlencoded\n";
        let read = Form::<T>::from_request(request, state).await;
        read.map(|Form(form)| Self(form)).map_err(|_| (StatusCode::BAD_REQUEST, unread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_comes_twice_is_named() {
        assert_eq!(why_unread(Some("a=1&b=2&%61=3")), "`a` is in the query twice: send it once\n");
        assert!(why_unread(None).starts_with("the query cannot be read"));
    }
}
