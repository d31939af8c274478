//! The queue itself: jobs wait, are leased to workers, and end done or dead.

use crate::{
    config::Jobs,
    pool::{Connection, Pool, PoolError},
};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JobStatus {
    Waiting,
    Leased,
    Done,
    Dead,
}

/// A job as a worker gets it.
#[derive(Debug, Clone)]
pub struct Job {
    pub id: i64,
    pub kind: String,
    pub payload: String,
    pub attempts: u32,
    pub status: JobStatus,
}

/// What can go wrong with the queue.
#[derive(Debug)]
pub enum QueueError {
    Database(PoolError),
    /// The worker was too slow, and the job belongs to somebody else by now.
    LeaseLost(&'static str),
}

/// All jobs, kept in the database.
pub struct Queue {
    pool: Pool,
    settings: Jobs,
}

impl Queue {
    pub fn new(pool: Pool, settings: Jobs) -> Self {
        Self { pool, settings }
    }

    /// Puts a job at the end of the queue.
    pub async fn enqueue(&self, kind: &str, payload: &str) -> Result<(), QueueError> {
        let mut connection = self.connection().await?;
        connection.execute("INSERT INTO jobs (kind, payload) VALUES ($1, $2)", &[&kind, &payload]).await;
        self.pool.release(connection).await;
        Ok(())
    }

    /// Gives the oldest waiting job to a worker, for as long as a lease lasts.
    pub async fn lease(&self, worker: &str) -> Result<bool, QueueError> {
        let mut connection = self.connection().await?;
        let seconds = self.settings.lease.as_secs_f64();
        let changed = connection
            .execute(
                "UPDATE jobs SET status = 'leased', worker = $1, leased_until = now() + $2 * interval '1 second' \
                 WHERE id = (SELECT id FROM jobs WHERE status = 'waiting' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1)",
                &[&worker, &seconds],
            )
            .await;
        self.pool.release(connection).await;
        Ok(changed == Some(1))
    }

    /// Marks a job as done, provided that the worker still holds it.
    pub async fn ack(&self, job: i64, worker: &str) -> Result<(), QueueError> {
        let mut connection = self.connection().await?;
        let statement = "UPDATE jobs SET status = 'done' WHERE id = $1 AND worker = $2 AND leased_until > now()";
        let changed = connection.execute(statement, &[&job, &worker]).await;
        self.pool.release(connection).await;
        if changed == Some(1) { Ok(()) } else { Err(QueueError::LeaseLost("lease expired before ack")) }
    }

    /// Moves a job that failed too often to the dead letters.
    pub async fn bury(&self, job: &Job, reason: &str) -> Result<(), QueueError> {
        let mut connection = self.connection().await?;
        connection
            .execute("INSERT INTO dead_letters (job, reason) VALUES ($1, $2)", &[&job.id, &reason])
            .await;
        connection.execute("UPDATE jobs SET status = 'dead' WHERE id = $1", &[&job.id]).await;
        self.pool.release(connection).await;
        Ok(())
    }

    /// Takes jobs back from workers that died: whoever let a lease run out has lost it.
    pub async fn reap_expired(&self) -> Result<u64, QueueError> {
        let mut connection = self.connection().await?;
        let statement = "UPDATE jobs SET status = 'waiting', worker = NULL, attempts = attempts + 1 \
                         WHERE status = 'leased' AND leased_until <= now()";
        let changed = connection.execute(statement, &[]).await;
        self.pool.release(connection).await;
        Ok(changed.unwrap_or(0))
    }

    async fn connection(&self) -> Result<Connection, QueueError> {
        self.pool.acquire().await.map_err(QueueError::Database)
    }
}
