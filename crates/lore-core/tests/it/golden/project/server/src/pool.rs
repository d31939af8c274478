//! Connections to the database, opened when needed and kept for the next caller.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::{Mutex, Semaphore};

use crate::config::Database;

/// A bounded set of open connections.
#[derive(Clone)]
pub struct Pool {
    idle: Arc<Mutex<VecDeque<Connection>>>,
    permits: Arc<Semaphore>,
    settings: Database,
}

/// One connection to the database.
pub struct Connection {
    client: tokio_postgres::Client,
    broken: bool,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum PoolError {
    /// All were in use for longer than `acquire_timeout`.
    Exhausted,
    Unreachable(tokio_postgres::Error),
}

impl Pool {
    /// Opens the first connection, so that wrong settings show at once.
    pub async fn open(settings: &Database) -> Result<Self, PoolError> {
        let permits = Arc::new(Semaphore::new(settings.max_connections));
        let pool = Self { idle: Arc::default(), permits, settings: settings.clone() };
        let first = pool.connect().await?;
        pool.idle.lock().await.push_back(first);
        Ok(pool)
    }

    /// Hands out an idle connection or opens one; waits while all are in use.
    pub async fn acquire(&self) -> Result<Connection, PoolError> {
        let waited = tokio::time::timeout(self.settings.acquire_timeout, self.permits.acquire()).await;
        let Ok(Ok(permit)) = waited else { return Err(PoolError::Exhausted) };
        permit.forget();
        while let Some(connection) = self.idle.lock().await.pop_front() {
            if connection.is_usable() {
                return Ok(connection);
            }
        }
        self.connect().await.inspect_err(|_| self.permits.add_permits(1))
    }

    /// Takes a connection back; a broken one is closed instead of kept.
    pub async fn release(&self, connection: Connection) {
        if connection.is_usable() {
            self.idle.lock().await.push_back(connection);
        }
        self.permits.add_permits(1);
    }

    async fn connect(&self) -> Result<Connection, PoolError> {
        let (client, driver) =
            tokio_postgres::connect(&self.settings.url, tokio_postgres::NoTls).await.map_err(PoolError::Unreachable)?;
        tokio::spawn(driver);
        Ok(Connection { client, broken: false })
    }
}

impl Connection {
    fn is_usable(&self) -> bool {
        !self.broken && !self.client.is_closed()
    }

    /// Runs one statement and gives how many rows it changed.
    pub async fn execute(&mut self, statement: &str, values: &[&(dyn tokio_postgres::types::ToSql + Sync)]) -> Option<u64> {
        let result = self.client.execute(statement, values).await;
        self.broken |= result.is_err();
        result.ok()
    }
}
