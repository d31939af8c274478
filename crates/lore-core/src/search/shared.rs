//! Work that several ask for at the same time is done once: the others wait for it.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OnceCell;

/// What is being made at the moment, by what it is called.
pub(super) struct Shared<K, V> {
    under_way: Mutex<HashMap<K, Arc<OnceCell<V>>>>,
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self { under_way: Mutex::default() }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Shared<K, V> {
    /// What `make` gives, or what it gives to somebody who began before. Where that one fails or goes away, the next begins
    /// anew. Nothing is kept once it is made: who comes later looks elsewhere first.
    pub(super) async fn get<E>(&self, key: K, make: impl Future<Output = Result<V, E>>) -> Result<V, E> {
        let cell =
            Arc::clone(self.under_way.lock().unwrap_or_else(PoisonError::into_inner).entry(key.clone()).or_default());
        let made = cell.get_or_try_init(|| make).await.cloned();
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        // Two: this one and the map's. Others who wait still take theirs, and the last of them goes this way too.
        let is_last = made.is_ok() || Arc::strong_count(&cell) <= 2;
        if is_last && under_way.get(&key).is_some_and(|known| Arc::ptr_eq(known, &cell)) {
            under_way.remove(&key);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_many_ask_for_at_once_is_made_once_and_not_kept() {
        let (shared, made) = (Arc::new(Shared::<u8, usize>::default()), Arc::new(AtomicUsize::new(0)));
        let (release, held) = tokio::sync::watch::channel(false);
        let ask = || {
            let (shared, made, mut held) = (Arc::clone(&shared), Arc::clone(&made), held.clone());
            tokio::spawn(async move {
                let make = async {
                    held.wait_for(|open| *open).await.expect("it is opened");
                    Ok::<_, ()>(made.fetch_add(1, Ordering::Relaxed))
                };
                shared.get(1, make).await
            })
        };
        let first: Vec<_> = (0..20).map(|_| ask()).collect();
        while shared.under_way.lock().unwrap().get(&1).is_none_or(|cell| Arc::strong_count(cell) < 21) {
            tokio::task::yield_now().await;
        }
        release.send(true).expect("somebody listens");
        for one in first {
            assert_eq!(one.await.unwrap(), Ok(0));
        }
        assert!(shared.under_way.lock().unwrap().is_empty());
        assert_eq!(ask().await.unwrap(), Ok(1), "later it is made anew");
    }

    #[tokio::test]
    async fn a_failure_is_told_to_who_caused_it_and_the_next_begins_anew() {
        let shared = Shared::<u8, usize>::default();
        assert_eq!(shared.get(1, async { Err("no") }).await, Err("no"));
        assert!(shared.under_way.lock().unwrap().is_empty());
        assert_eq!(shared.get(1, async { Ok::<_, &str>(7) }).await, Ok(7));
    }
}
