//! What the port shows: all jobs on one page, each on a page of its own. It only reads.

use super::access::BearerToken;
use super::health::Vitals;
use super::server::demand_token;
use super::{metrics, page};
use crate::control::JobRegistry;
use crate::descriptors::Descriptors;
use crate::pipeline::RunView;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::Value;
use std::sync::Arc;

type Shown = State<Arc<JobRegistry>>;

pub(super) fn router(token: Option<BearerToken>, registry: Arc<JobRegistry>) -> Router {
    let guarded = Router::new()
        .route("/", get(all))
        .route("/status.json", get(status))
        .route("/metrics", get(scrape))
        .route("/jobs/{job}", get(job_page))
        .route("/jobs/{job}/status.json", get(job_status))
        .layer(from_fn_with_state(token, demand_token));
    // Health is asked by load balancers, which bear no token, and tells nothing else.
    let health = |State(registry): Shown| async move { health(registry) };
    guarded.route("/healthz", get(health)).with_state(registry)
}

pub(super) fn health(registry: Arc<JobRegistry>) -> (StatusCode, String) {
    let (silent_for, status) = registry.pulse();
    Vitals { silent_for, status, descriptors: Descriptors::count() }.answer()
}

/// The view of the only job, where there is one.
fn only(registry: &JobRegistry) -> Option<RunView> {
    let mut views = registry.views();
    let (_, view) = views.pop()?;
    views.is_empty().then_some(view)
}

async fn all(State(registry): Shown) -> Html<String> {
    Html(page::render_jobs(&registry.status(), only(&registry).as_ref()))
}

/// The master and its jobs; of a master with one job that one's view as well, at the top.
async fn status(State(registry): Shown) -> Result<Json<Value>, StatusCode> {
    let failed = |_| StatusCode::INTERNAL_SERVER_ERROR;
    let mut all = serde_json::to_value(registry.status()).map_err(failed)?;
    let view = only(&registry).map(serde_json::to_value).transpose().map_err(failed)?;
    if let (Some(all), Some(Value::Object(view))) = (all.as_object_mut(), view) {
        all.extend(view);
    }
    Ok(Json(all))
}

async fn job_page(State(registry): Shown, Path(job): Path<String>) -> Response {
    match registry.job(&job) {
        Ok(job) => Html(page::render(&job.job_handle.view().1)).into_response(),
        Err(unknown) => (StatusCode::NOT_FOUND, unknown.0).into_response(),
    }
}

async fn job_status(State(registry): Shown, Path(job): Path<String>) -> Response {
    match registry.job(&job) {
        Ok(job) => Json(job.job_handle.view().1).into_response(),
        Err(unknown) => (StatusCode::NOT_FOUND, unknown.0).into_response(),
    }
}

async fn scrape(State(registry): Shown) -> Response {
    match metrics::render(registry.status().idle_workers, registry.views()) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
