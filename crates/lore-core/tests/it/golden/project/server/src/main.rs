//! The server: reads its settings, opens the pool, serves requests, and takes jobs back from workers that died.

mod auth;
mod config;
mod limiter;
mod pool;
mod queue;
mod retry;
mod routes;

use std::{sync::Arc, time::Duration};

use config::Config;
use limiter::RateLimiter;
use pool::Pool;
use queue::Queue;

/// What every handler can reach.
pub struct App {
    pub config: Config,
    pub queue: Queue,
    pub limiter: RateLimiter,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().skip_while(|arg| arg != "--config").nth(1);
    let config = config::load(path.as_deref().unwrap_or("ferry.toml"))?;
    let pool = Pool::open(&config.database).await?;
    let app = Arc::new(App {
        queue: Queue::new(pool, config.jobs.clone()),
        limiter: RateLimiter::new(config.limits.rate, config.limits.burst),
        config,
    });
    tokio::spawn(reap_forever(Arc::clone(&app)));
    let listener = tokio::net::TcpListener::bind((app.config.listen.address.as_str(), app.config.listen.port)).await?;
    tracing::info!(port = app.config.listen.port, "listening");
    axum::serve(listener, routes::router(app)).with_graceful_shutdown(shutdown_signal()).await?;
    Ok(())
}

/// Looks for lost leases once a second.
async fn reap_forever(app: Arc<App>) {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    loop {
        tick.tick().await;
        if let Err(error) = app.queue.reap_expired().await {
            tracing::warn!(%error, "cannot take jobs back");
        }
    }
}

/// Resolves when somebody asks the process to end.
async fn shutdown_signal() {
    let _ = tokio::signal::ctrl_c().await;
    tracing::info!("shutting down");
}
