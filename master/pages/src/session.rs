//! Authentication of readers: programs send the token, browsers have a session, from a login form or a link of one use.
//!
//! A browser sends no `Authorization` header when a person follows a link: with the token alone no browser could read.

use super::pages::layout;
use super::requests::{Asked, Sent};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use compass_jobs::{BearerToken, HttpSettings};
use maud::html;
use serde::Deserialize;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lifetime of a session.
const LIFE: Duration = Duration::from_secs(12 * 3600);
/// Sessions at most: the oldest gives way.
const SESSIONS: usize = 64;
/// The guard of a port.
#[derive(Debug)]
pub(super) struct Guard {
    token: Option<BearerToken>,
    /// Settings that name the file with the token.
    settings: HttpSettings,
    /// Cookies of one host are shared by all its ports.
    cookie: String,
    /// Set if the cookie is sent over encrypted connections alone.
    is_encrypted: bool,
    state: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    /// Hash of the word in the one-time link.
    once: Option<blake3::Hash>,
    /// Hashes of the sessions' words, with the time at which they began, oldest first.
    open: VecDeque<(blake3::Hash, Instant)>,
}

impl Guard {
    /// Without a token every request is authenticated.
    pub(crate) fn new(
        token: Option<BearerToken>,
        settings: HttpSettings,
        address: SocketAddr,
        is_encrypted: bool,
    ) -> Self {
        let cookie = format!("compass_{}", address.port());
        Self { token, settings, cookie, is_encrypted, state: Mutex::default() }
    }

    /// The path of a link that opens one session; `None` where no session is needed.
    pub(crate) fn link(&self) -> Option<String> {
        self.token.as_ref()?;
        let word = random_word().ok()?;
        self.sessions().once = Some(blake3::hash(word.as_bytes()));
        Some(format!("login?once={word}"))
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, Sessions> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a request with these headers may read.
    fn admits(&self, headers: &HeaderMap, now: Instant) -> bool {
        let Some(token) = &self.token else { return true };
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        token.is_borne_by(text(header::AUTHORIZATION)) || text(header::COOKIE).is_some_and(|said| self.knows(said, now))
    }

    /// Returns whether a `Cookie` header has the word of a session that is still valid.
    fn knows(&self, cookies: &str, now: Instant) -> bool {
        let of_this_port = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        let words =
            of_this_port.filter(|(name, _)| *name == self.cookie).map(|(_, word)| blake3::hash(word.as_bytes()));
        let words: Vec<_> = words.collect();
        let sessions = self.sessions();
        let lasting = sessions.open.iter().filter(|(_, begun)| now.saturating_duration_since(*begun) < LIFE);
        lasting.into_iter().any(|(known, _)| words.contains(known))
    }

    /// Opens a session: the way to the page that was asked for, with the cookie.
    fn admit(&self, now: Instant, page: &str) -> Result<Response, getrandom::Error> {
        let word = random_word()?;
        let mut sessions = self.sessions();
        if sessions.open.len() == SESSIONS {
            sessions.open.pop_front();
        }
        sessions.open.push_back((blake3::hash(word.as_bytes()), now));
        let (name, seconds) = (&self.cookie, LIFE.as_secs());
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let cookie = format!("{name}={word}; HttpOnly; SameSite=Strict{secure}; Path=/; Max-Age={seconds}");
        Ok(([(header::SET_COOKIE, cookie)], Redirect::to(page)).into_response())
    }

    /// Takes the word of the link, which serves once.
    fn redeem(&self, word: &str) -> bool {
        let mut sessions = self.sessions();
        let is_right = sessions.once == Some(blake3::hash(word.as_bytes()));
        if is_right {
            sessions.once = None;
        }
        is_right
    }
}

/// 32 random bytes as text.
fn random_word() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(blake3::Hash::from_bytes(bytes).to_hex().to_string())
}

/// Passes permitted requests on. A browser without permission is redirected to the form, a program receives an error.
pub(super) async fn demand_access(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let says = |name: &str, what: &str| headers.get(name).and_then(|value| value.to_str().ok()) == Some(what);
    // A request of a page of another site in its visitor's name; a link from there to this one does no harm.
    if says("sec-fetch-site", "cross-site") && !says("sec-fetch-mode", "navigate") {
        return (StatusCode::FORBIDDEN, "another site asks for this\n").into_response();
    }
    if guard.admits(headers, Instant::now()) {
        return next.run(request).await;
    }
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if request.method() == Method::GET && accepted.contains("text/html") {
        return Redirect::to(&login_path(request.uri())).into_response();
    }
    let how = [(header::WWW_AUTHENTICATE, "Bearer")];
    let file = guard.settings.token_file();
    (StatusCode::UNAUTHORIZED, how, format!("this port wants `Authorization: Bearer <first line of {file}>`\n"))
        .into_response()
}

/// The path of the form that leads to this address.
fn login_path(asked: &Uri) -> String {
    match asked.path_and_query().map_or(HOME, |asked| asked.as_str()) {
        HOME => "/login".to_owned(),
        asked => {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", asked).finish();
            format!("/login?{query}")
        }
    }
}

/// Page at which a session begins if none was requested.
const HOME: &str = "/";

/// The page that a session begins with: only one of this port, because anybody may write the link to the form. What begins with two
/// slashes, or with characters that browsers take for one or leave out, is an address on another host.
fn page_of_port(next: Option<&str>) -> &str {
    let is_of_port = |next: &&str| {
        let is_path = next.starts_with('/') && !next.starts_with("//");
        is_path && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    next.filter(is_of_port).unwrap_or(HOME)
}

/// Query of a link to the form.
#[derive(Debug, Deserialize)]
pub(super) struct Link {
    once: Option<String>,
    /// The page that was requested.
    next: Option<String>,
}

/// Fields of the form.
#[derive(Debug, Deserialize)]
pub(super) struct Login {
    #[serde(default)]
    token: String,
    next: Option<String>,
}

/// The form, or with `?once=` the link of one use.
pub(super) async fn login(State(guard): State<Arc<Guard>>, Asked(link): Asked<Link>) -> Response {
    let next = page_of_port(link.next.as_deref());
    match &link.once {
        None => form(guard.settings, "", next).into_response(),
        Some(word) if guard.redeem(word) => answer(guard.admit(Instant::now(), next)),
        Some(_) => {
            let fault = "This link was used, or an earlier master printed it.";
            (StatusCode::FORBIDDEN, form(guard.settings, fault, next)).into_response()
        }
    }
}

/// The form as it was sent.
pub(super) async fn log_in(
    State(guard): State<Arc<Guard>>,
    Sent(Login { token: word, next }): Sent<Login>,
) -> Response {
    let next = page_of_port(next.as_deref());
    match &guard.token {
        Some(token) if !token.is_borne_by(Some(&format!("Bearer {}", word.trim()))) => {
            (StatusCode::FORBIDDEN, form(guard.settings, "This is not the token.", next)).into_response()
        }
        _ => answer(guard.admit(Instant::now(), next)),
    }
}

fn answer(admitted: Result<Response, getrandom::Error>) -> Response {
    admitted.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn form(settings: HttpSettings, fault: &str, next: &str) -> maud::Markup {
    let body = html! {
        h1 { "Compass" }
        @if !fault.is_empty() { p.fault role="alert" { (fault) } }
        form method="post" action="/login" {
            label for="token" { "Token: the first line of " code { (settings.token_file()) } }
            input id="token" name="token" type="password" autocomplete="current-password" autofocus required;
            @if next != HOME { input type="hidden" name="next" value=(next); }
            button { "Open" }
        }
    };
    layout("Compass", None, &body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn guard_with_token() -> Guard {
        let address = "127.0.0.1:8080".parse().unwrap();
        Guard::new(Some(BearerToken::new("word")), HttpSettings::Configuration, address, false)
    }

    fn open_guard() -> Guard {
        Guard::new(None, HttpSettings::Configuration, "127.0.0.1:1".parse().unwrap(), false)
    }

    fn with(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    fn cookie_of(response: &Response) -> String {
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }

    #[test]
    fn a_session_lasts_twelve_hours_and_its_port_alone() {
        let (guard, now) = (guard_with_token(), Instant::now());
        let cookie = cookie_of(&guard.admit(now, HOME).unwrap());
        let said = with(header::COOKIE, &format!("other=1; {cookie}"));
        assert!(guard.admits(&said, now) && !guard.admits(&HeaderMap::new(), now));
        assert!(!guard.admits(&said, now + LIFE));
        let elsewhere = with(header::COOKIE, &cookie.replace("compass_8080", "compass_9090"));
        assert!(!guard.admits(&elsewhere, now));
        for _ in 0..SESSIONS {
            guard.admit(now, HOME).unwrap();
        }
        assert!(!guard.admits(&said, now), "the oldest gives way");
        assert!(guard.admits(&with(header::AUTHORIZATION, "Bearer word"), now));
        assert!(open_guard().admits(&HeaderMap::new(), now));
    }

    #[test]
    fn a_link_serves_once() {
        let guard = guard_with_token();
        let link = guard.link().unwrap();
        let word = link.strip_prefix("login?once=").unwrap();
        assert!(!guard.redeem("another") && guard.redeem(word) && !guard.redeem(word));
        assert_eq!(open_guard().link(), None);
    }

    #[test]
    fn the_form_names_what_named_the_file() {
        for (settings, name) in
            [(HttpSettings::Configuration, "master.http_token_file"), (HttpSettings::ViewFlags, "--token-file")]
        {
            let form = form(settings, "", HOME).into_string();
            assert!(form.contains(&format!("<code>{name}</code>")) && !form.contains("hidden"), "{form}");
        }
    }

    #[test]
    fn a_session_begins_with_the_page_that_was_asked_for() {
        let asked: Uri = "/runs/a%20b/samples?filter=wrong&q=1".parse().unwrap();
        let path = login_path(&asked);
        assert_eq!(path, "/login?next=%2Fruns%2Fa%2520b%2Fsamples%3Ffilter%3Dwrong%26q%3D1");
        assert_eq!(login_path(&Uri::from_static("/")), "/login");
        let of_form = form(HttpSettings::Configuration, "", "/compare?a=A&b=\"").into_string();
        assert!(of_form.contains("name=\"next\" value=\"/compare?a=A&amp;b=&quot;\""), "{of_form}");
        let opened = guard_with_token().admit(Instant::now(), "/compare?a=A&b=B").unwrap();
        assert_eq!(opened.headers()[header::LOCATION], "/compare?a=A&b=B");
    }

    #[test]
    fn a_session_begins_on_this_port_whatever_a_link_says() {
        for page in ["/", "/runs", "/runs/r/samples?q=//x&after=0.49", "/jobs/1#end"] {
            assert_eq!(page_of_port(Some(page)), page);
        }
        let elsewhere = [
            "",
            "runs",
            "//evil.example/",
            "/\\evil.example/",
            "\\\\evil.example",
            "https://evil.example/",
            "javascript:alert(1)",
            "/\t/evil.example/",
            "/\n/evil.example/",
            " /runs",
            "/runs\r\nset-cookie: a=b",
        ];
        for next in elsewhere {
            assert_eq!(page_of_port(Some(next)), HOME, "{next:?}");
        }
        assert_eq!(page_of_port(None), HOME);
    }
}
