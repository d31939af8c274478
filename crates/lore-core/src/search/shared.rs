//! Work that several ask for at the same time is done once: the others wait for it.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use lore_model::{Cancel, Cancelled, Signal};

/// What is being made at the moment, by what it is called.
pub(super) struct Shared<K, V> {
    in_flight: Mutex<HashMap<K, Arc<Flight<V>>>>,
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self { in_flight: Mutex::default() }
    }
}

/// One value that is being made, or is to be.
struct Flight<V> {
    stage: Mutex<Stage<V>>,
    /// Notifies when a value is made, or the one who made it gave up.
    ended: Signal,
}

enum Stage<V> {
    /// Nobody makes it: the next to look does.
    Idle,
    Making,
    Made(V),
}

/// What a caller does next.
enum Turn<V> {
    Make,
    Take(V),
}

impl<V> Default for Flight<V> {
    fn default() -> Self {
        Self { stage: Mutex::new(Stage::Idle), ended: Signal::default() }
    }
}

/// Ends the making of a value, also where making it panicked.
struct Making<'a, V> {
    flight: &'a Flight<V>,
    made: Option<V>,
}

impl<V> Drop for Making<'_, V> {
    fn drop(&mut self) {
        *self.flight.stage.lock().unwrap_or_else(PoisonError::into_inner) =
            self.made.take().map_or(Stage::Idle, Stage::Made);
        self.flight.ended.notify();
    }
}

impl<V: Clone> Flight<V> {
    /// `None` while another caller makes the value.
    fn take(&self) -> Option<Turn<V>> {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        match &*stage {
            Stage::Making => None,
            Stage::Made(value) => Some(Turn::Take(value.clone())),
            Stage::Idle => {
                *stage = Stage::Making;
                Some(Turn::Make)
            }
        }
    }

    fn get<E: From<Cancelled>>(&self, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        match self.ended.wait_for(None, &Cancel::current(), || self.take()) {
            None => Err(Cancelled.into()),
            Some(Turn::Take(value)) => Ok(value),
            Some(Turn::Make) => {
                let mut making = Making { flight: self, made: None };
                let value = make()?;
                making.made = Some(value.clone());
                Ok(value)
            }
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Shared<K, V> {
    /// What `make` gives, or what it gives to somebody who began before. Where that one fails, the next begins again. Nothing
    /// is kept once it is made: who comes later looks elsewhere first.
    pub(super) fn get<E: From<Cancelled>>(&self, key: &K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let flight =
            Arc::clone(self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).entry(key.clone()).or_default());
        let made = flight.get(make);
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        // Two: this one and the map's. Others who wait still take theirs, and the last of them goes this way too.
        let is_last = made.is_ok() || Arc::strong_count(&flight) <= 2;
        if is_last && in_flight.get(key).is_some_and(|known| Arc::ptr_eq(known, &flight)) {
            in_flight.remove(key);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
    };

    use lore_store::StoreError;

    use super::*;

    #[test]
    fn what_many_ask_for_at_once_is_made_once_and_not_kept() {
        let (shared, made) = (Shared::<u8, usize>::default(), AtomicUsize::new(0));
        let (begun, release) = (Barrier::new(2), Barrier::new(2));
        let ask = || {
            shared.get(&1, || {
                begun.wait();
                release.wait();
                Ok::<_, StoreError>(made.fetch_add(1, Ordering::Relaxed))
            })
        };
        thread::scope(|scope| {
            let asked: Vec<_> = (0..20).map(|_| scope.spawn(ask)).collect();
            begun.wait();
            while shared.in_flight.lock().unwrap().get(&1).is_none_or(|flight| Arc::strong_count(flight) < 21) {
                thread::yield_now();
            }
            release.wait();
            for one in asked {
                assert_eq!(one.join().unwrap().unwrap(), 0);
            }
        });
        assert!(shared.in_flight.lock().unwrap().is_empty());
        let again = shared.get(&1, || Ok::<_, StoreError>(made.fetch_add(1, Ordering::Relaxed)));
        assert_eq!(again.unwrap(), 1, "later it is made again");
    }

    #[test]
    fn a_failure_or_a_panic_is_its_cause_s_own_and_the_next_begins_again() {
        let shared = Shared::<u8, usize>::default();
        assert!(shared.get(&1, || Err(StoreError::Locked)).is_err());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            shared.get(&1, || -> Result<usize, StoreError> { panic!("on purpose") })
        }));
        assert!(panicked.is_err());
        assert_eq!(shared.get(&1, || Ok::<_, StoreError>(7)).unwrap(), 7);
        assert!(shared.in_flight.lock().unwrap().is_empty());
    }

    #[test]
    fn a_cancelled_waiter_does_not_wait_for_the_one_who_makes_it() {
        let shared = Shared::<u8, usize>::default();
        let (begun, release) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            let maker = scope.spawn(|| {
                shared.get(&1, || {
                    begun.wait();
                    release.wait();
                    Ok::<_, StoreError>(7)
                })
            });
            begun.wait();
            let cancel = Cancel::default();
            cancel.cancel();
            let _entered = cancel.enter();
            assert!(matches!(shared.get(&1, || Ok(8)), Err(StoreError::Interrupted)));
            release.wait();
            assert_eq!(maker.join().unwrap().unwrap(), 7);
        });
    }
}
