//! Pages of the port: all jobs on one page, each on a page of its own. It only reads.

use super::health::Vitals;
use super::pages::{self, Narrowed, assets};
use super::requests::Asked;
use super::runs::{self, RunPages};
use super::session::{Guard, demand_access, log_in, login};
use super::{events, headers, metrics};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use compass_common::descriptors::Descriptors;
use compass_jobs::JobRegistry;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

type Shown = State<Arc<JobRegistry>>;

pub(super) fn router(guard: Arc<Guard>, registry: Arc<JobRegistry>) -> Router {
    let of_jobs = registry.clone();
    let work_dirs = move || of_jobs.work_dirs();
    let guarded = Router::new()
        .route("/", get(all))
        .route("/events", get(all_events))
        .route("/status.json", get(status))
        .route("/metrics", get(scrape))
        .route("/jobs/{job}", get(job_page))
        .route("/jobs/{job}/events", get(job_events))
        .route("/jobs/{job}/status.json", get(job_status))
        .with_state(registry.clone())
        .merge(runs::router(Arc::new(RunPages::new(work_dirs))));
    // Load balancers, which have no token, ask for health; the answer contains nothing else.
    let health = |State(registry): Shown| async move { health(registry) };
    authenticated(guard, guarded).route("/healthz", get(health).with_state(registry)).layer(from_fn(headers::secure))
}

/// The pages of the runs in a folder, without a master.
pub(super) fn runs_router(guard: Arc<Guard>, work_dir: PathBuf) -> Router {
    let pages = runs::router(Arc::new(RunPages::new(move || vec![work_dir.clone()])));
    let pages = pages.route("/", get(|| async { Redirect::to("/runs") }));
    authenticated(guard, pages).layer(from_fn(headers::secure))
}

/// Pages behind authentication, with the login page and the files that it loads.
fn authenticated(guard: Arc<Guard>, pages: Router) -> Router {
    let missing = || async { (StatusCode::NOT_FOUND, "there is no such page\n") };
    let guarded = pages.fallback(missing).layer(from_fn_with_state(guard.clone(), demand_access));
    let open = assets().into_iter().fold(Router::new(), |open, (path, file)| open.route(path, file));
    guarded.merge(open.route("/login", get(login).post(log_in)).with_state(guard))
}

pub(super) fn health(registry: Arc<JobRegistry>) -> (StatusCode, String) {
    let (silent_for, status) = registry.pulse();
    Vitals { silent_for, status, descriptors: Descriptors::count() }.answer()
}

async fn all(State(registry): Shown, Asked(narrowed): Asked<Narrowed>) -> Response {
    pages::jobs(&registry.status(), registry.only_job().as_ref(), &narrowed).into_response()
}

async fn all_events(State(registry): Shown, Asked(narrowed): Asked<Narrowed>) -> Response {
    events::of(move || Some(pages::jobs_parts(&registry.status(), registry.only_job().as_ref(), &narrowed)))
        .into_response()
}

/// The master and its jobs; of a master with one job that one's view as well, at the top.
async fn status(State(registry): Shown) -> Result<Json<Value>, StatusCode> {
    let failed = |_| StatusCode::INTERNAL_SERVER_ERROR;
    let mut all = serde_json::to_value(registry.status()).map_err(failed)?;
    let view = registry.only_job().map(|view| view.json()).transpose().map_err(failed)?;
    if let (Some(all), Some(Value::Object(view))) = (all.as_object_mut(), view) {
        all.extend(view);
    }
    Ok(Json(all))
}

async fn job_page(State(registry): Shown, Path(job): Path<String>, Asked(narrowed): Asked<Narrowed>) -> Response {
    match registry.job(&job) {
        Ok(job) => pages::job(&registry.job_view(&job), &narrowed).into_response(),
        Err(unknown) => (StatusCode::NOT_FOUND, unknown.0).into_response(),
    }
}

async fn job_events(State(registry): Shown, Path(job): Path<String>, Asked(narrowed): Asked<Narrowed>) -> Response {
    match registry.job(&job) {
        Ok(job) => events::of(move || Some(pages::job_parts(&registry.job_view(&job), &narrowed))).into_response(),
        Err(unknown) => (StatusCode::NOT_FOUND, unknown.0).into_response(),
    }
}

async fn job_status(State(registry): Shown, Path(job): Path<String>) -> Response {
    match registry.job(&job) {
        Ok(job) => registry
            .job_view(&job)
            .json()
            .map_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response(), |all| Json(all).into_response()),
        Err(unknown) => (StatusCode::NOT_FOUND, unknown.0).into_response(),
    }
}

async fn scrape(State(registry): Shown) -> Response {
    match metrics::render(registry.status().idle_workers, registry.views()) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
