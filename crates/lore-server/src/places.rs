//! How many connections there are: in all, and from one address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Limits, Network, proxies};

/// The places for connections.
pub(crate) struct Places {
    all: Arc<Semaphore>,
    per_address: usize,
    /// Behind these stand many clients.
    trusted: Vec<Network>,
    taken: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place that an address has taken; it is free again when this is dropped.
pub(crate) struct Place {
    _one: OwnedSemaphorePermit,
    counted: Option<Counted>,
}

struct Counted {
    address: String,
    taken: Arc<Mutex<HashMap<String, usize>>>,
}

impl Places {
    pub(crate) fn new(limits: &Limits, trusted: &[Network]) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limits.connections)),
            per_address: limits.per_address,
            trusted: trusted.to_owned(),
            taken: Arc::default(),
        }
    }

    /// Waits until there is a place for somebody.
    pub(crate) async fn any(&self) -> Place {
        match Arc::clone(&self.all).acquire_owned().await {
            Ok(one) => Place { _one: one, counted: None },
            // It is never closed.
            Err(_) => std::future::pending().await,
        }
    }

    /// Gives a place to an address; `None` where it has as many as it may.
    pub(crate) fn take(&self, mut place: Place, address: IpAddr) -> Option<Place> {
        let address = address.to_canonical();
        if proxies::is_trusted(&self.trusted, address) {
            return Some(place);
        }
        let address = proxies::counted(address);
        {
            let mut taken = lock(&self.taken);
            let count = taken.entry(address.clone()).or_default();
            if *count >= self.per_address {
                return None;
            }
            *count += 1;
        }
        place.counted = Some(Counted { address, taken: Arc::clone(&self.taken) });
        Some(place)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_has_so_many_places_and_a_trusted_proxy_as_many_as_there_are() {
        let limits = Limits { connections: 10, per_address: 2, ..Limits::default() };
        let places = Places::new(&limits, &["10.0.0.0/8".parse().unwrap()]);
        let take = async |address: &str| places.take(places.any().await, address.parse().unwrap());
        let first = take("1.2.3.4").await;
        let _second = take("::ffff:1.2.3.4").await.unwrap();
        assert!(first.is_some() && take("1.2.3.4").await.is_none());
        drop(first);
        let _third = take("1.2.3.4").await.unwrap();
        let _network = [take("2001:db8::1").await.unwrap(), take("2001:db8::2").await.unwrap()];
        assert!(take("2001:db8::3").await.is_none(), "whoever has an IPv6 address has its whole network");
        let mut proxied = Vec::new();
        for _ in 0..6 {
            proxied.push(take("10.0.0.1").await.unwrap());
        }
        assert_eq!(places.all.available_permits(), 0, "what was refused takes no place");
    }
}
