//! Puts a hundred jobs into the queue, with a connection pool and retry with backoff around each call.
//!
//! ```text
//! cargo run --example enqueue -- postgres://localhost/ferry
//! ```

use std::time::Duration;

use ferry_server::{
    config::{Database, Jobs},
    pool::Pool,
    queue::Queue,
    retry::{Backoff, retry_with_backoff},
};

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).expect("say which database");
    // The connection pool: at most four connections.
    let database = Database { url, max_connections: 4, acquire_timeout: Duration::from_secs(1) };
    let pool = Pool::open(&database).await.expect("the connection pool opens");
    let jobs = Jobs { lease: Duration::from_secs(30), max_attempts: 8 };
    let queue = Queue::new(pool.clone(), jobs);

    for number in 0..100 {
        // Retry with backoff: the pool may be exhausted for a moment.
        let backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5), number);
        let payload = format!("{{\"number\": {number}}}");
        retry_with_backoff(backoff, || queue.enqueue("print", &payload)).await.expect("the job is enqueued");
    }

    // What was put in can be taken out.
    while queue.lease("example").await.expect("the queue answers") {
        println!("leased a job from the queue");
    }
}
