//! The HTTP interface: who calls, may they, and what do they want.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};

use crate::{App, auth, limiter::Verdict, queue::QueueError};

/// A job as a client hands it in.
#[derive(serde::Deserialize)]
pub struct NewJob {
    kind: String,
    payload: String,
}

type Reply = Result<StatusCode, (StatusCode, String)>;

/// Every address that the server answers.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/jobs", post(submit))
        .route("/jobs/lease", post(lease))
        .route("/jobs/{id}/ack", post(ack))
        .route("/health", get(health))
        .with_state(app)
}

async fn submit(State(app): State<Arc<App>>, headers: HeaderMap, Json(job): Json<NewJob>) -> Reply {
    admit(&app, &headers, "submit")?;
    app.queue.enqueue(&job.kind, &job.payload).await.map_err(failed)?;
    Ok(StatusCode::CREATED)
}

async fn lease(State(app): State<Arc<App>>, headers: HeaderMap) -> Reply {
    let worker = admit(&app, &headers, "work")?;
    let found = app.queue.lease(&worker).await.map_err(failed)?;
    Ok(if found { StatusCode::OK } else { StatusCode::NO_CONTENT })
}

async fn ack(State(app): State<Arc<App>>, headers: HeaderMap, Path(id): Path<i64>) -> Reply {
    let worker = admit(&app, &headers, "work")?;
    app.queue.ack(id, &worker).await.map_err(failed)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn health() -> StatusCode {
    StatusCode::OK
}

/// Lets a request in: a valid token, the right scope, and not more calls than the limit.
fn admit(app: &App, headers: &HeaderMap, scope: &str) -> Result<String, (StatusCode, String)> {
    let keys = auth::KeyRing::new(b"from the settings".to_vec());
    let refused = |error| (StatusCode::UNAUTHORIZED, format!("{error:?}"));
    let claims = auth::authenticate(headers, &keys, 0).map_err(refused)?;
    auth::authorize(&claims, scope).map_err(refused)?;
    match app.limiter.check(&claims.subject) {
        Verdict::Allowed => Ok(claims.subject),
        Verdict::Denied { retry_after } => {
            Err((StatusCode::TOO_MANY_REQUESTS, format!("too many requests, come back in {retry_after:?}")))
        }
    }
}

fn failed(error: QueueError) -> (StatusCode, String) {
    match error {
        QueueError::LeaseLost(why) => (StatusCode::CONFLICT, why.to_owned()),
        QueueError::Database(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error:?}")),
    }
}
