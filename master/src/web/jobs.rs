//! The port of a master that stays: all jobs on one page, each on a page of its own.

use super::access::BearerToken;
use super::health::Vitals;
use super::server::demand_token;
use super::{metrics, page, port};
use crate::control::Office;
use crate::descriptors::Descriptors;
use crate::store::Standing;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Shows what `office` says until `stop` turns true.
pub(super) async fn serve(
    listener: TcpListener,
    token: Option<BearerToken>,
    office: Arc<Office>,
    stop: watch::Receiver<bool>,
) {
    port::serve(listener, router(token, office), port::Limits::default(), stop).await;
}

type Shown = State<Arc<Office>>;

fn router(token: Option<BearerToken>, office: Arc<Office>) -> Router {
    let guarded = Router::new()
        .route("/", get(|State(office): Shown| async move { Html(page::render_jobs(&office.status())) }))
        .route("/status.json", get(|State(office): Shown| async move { Json(office.status()) }))
        .route("/metrics", get(scrape))
        .route("/jobs/{job}", get(job_page))
        .route("/jobs/{job}/status.json", get(job_status))
        .layer(from_fn_with_state(token, demand_token));
    // Health is asked by load balancers, which bear no token, and tells nothing else.
    guarded.route("/healthz", get(health)).with_state(office)
}

async fn health(State(office): Shown) -> (StatusCode, String) {
    let standing = office.governor().map_or(Standing::Sure, |governor| governor.standing());
    Vitals { silent_for: None, standing, descriptors: Descriptors::count() }.answer()
}

async fn job_page(State(office): Shown, Path(job): Path<String>) -> Response {
    match office.job(&job) {
        Ok(job) => Html(page::render(&job.desk.view().1)).into_response(),
        Err(unknown) => (StatusCode::NOT_FOUND, unknown.0).into_response(),
    }
}

async fn job_status(State(office): Shown, Path(job): Path<String>) -> Response {
    match office.job(&job) {
        Ok(job) => Json(job.desk.view().1).into_response(),
        Err(unknown) => (StatusCode::NOT_FOUND, unknown.0).into_response(),
    }
}

async fn scrape(State(office): Shown) -> Response {
    match metrics::render_jobs(office.status()) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
