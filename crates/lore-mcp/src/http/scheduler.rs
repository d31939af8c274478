//! Shares the workers of a server between its users.
//!
//! A worker is a permit to run one call. No user holds more than a share of them, and a free one goes to the user who holds the
//! fewest, so a user who holds none is served before one who holds some, whatever is queued. Among equals, the call that waits
//! longest is first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

use super::sessions::Owner;

/// Runs a bounded number of calls at a time.
///
/// There are far fewer workers than threads: a call that waits on its thread for work on another thread would wait for ever if
/// calls held all threads.
pub(super) struct Scheduler {
    workers: usize,
    per_user: usize,
    state: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    held: HashMap<Owner, usize>,
    /// In the order of arrival.
    waiting: Vec<Waiting>,
    next_number: u64,
}

struct Waiting {
    number: u64,
    owner: Owner,
    since: Instant,
    grant: oneshot::Sender<Worker>,
}

/// The right to run one call, until it is dropped.
pub(super) struct Worker {
    owner: Owner,
    scheduler: Arc<Scheduler>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut queue = self.scheduler.lock();
        if let Some(held) = queue.held.get_mut(&self.owner) {
            *held -= 1;
            if *held == 0 {
                queue.held.remove(&self.owner);
            }
        }
        let unwanted = self.scheduler.dispatch(&mut queue);
        drop(queue);
        // Each of them dispatches once more when it is dropped, and takes the lock for that.
        drop(unwanted);
    }
}

/// Removes a call from the queue when nobody waits for it any more.
struct Leave<'a> {
    scheduler: &'a Scheduler,
    number: u64,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.scheduler.lock().waiting.retain(|waiting| waiting.number != self.number);
    }
}

impl Scheduler {
    /// One user holds at most `per_user` of the workers.
    pub(super) fn new(workers: usize, per_user: usize) -> Arc<Self> {
        let workers = workers.max(1);
        Arc::new(Self { workers, per_user: per_user.clamp(1, workers), state: Mutex::default() })
    }

    /// Waits for a worker. Calls without an owner are not limited among themselves: there is no telling whose they are.
    pub(super) async fn acquire(self: &Arc<Self>, owner: Owner) -> Worker {
        let (grant, granted) = oneshot::channel();
        let (number, unwanted) = {
            let mut queue = self.lock();
            let number = queue.next_number;
            queue.next_number += 1;
            queue.waiting.push(Waiting { number, owner, since: Instant::now(), grant });
            (number, self.dispatch(&mut queue))
        };
        drop(unwanted);
        let _leave = Leave { scheduler: self, number };
        match granted.await {
            Ok(worker) => worker,
            // The queue drops a call only after granting it a worker.
            Err(_) => std::future::pending().await,
        }
    }

    /// How many workers are held, and how many calls wait for one.
    pub(super) fn load(&self) -> (usize, usize) {
        let queue = self.lock();
        (queue.held.values().sum(), queue.waiting.len())
    }

    /// How long a call has been waiting for nothing but a free worker: zero unless every worker is held.
    pub(super) fn starving_for(&self) -> Duration {
        let queue = self.lock();
        if queue.held.values().sum::<usize>() < self.workers {
            return Duration::ZERO;
        }
        let first = queue.waiting.iter().find(|waiting| queue.held_by(waiting.owner) < self.limit(waiting.owner));
        first.map_or(Duration::ZERO, |waiting| waiting.since.elapsed())
    }

    fn limit(&self, owner: Owner) -> usize {
        if owner.is_some() { self.per_user } else { self.workers }
    }

    /// Gives free workers to the calls that are next. Returns those that nobody took: the caller drops them without the lock.
    fn dispatch(self: &Arc<Self>, queue: &mut Queue) -> Vec<Worker> {
        let mut unwanted = Vec::new();
        let mut free = self.workers - queue.held.values().sum::<usize>();
        while free > 0 {
            let candidates = queue.waiting.iter().enumerate().filter_map(|(at, waiting)| {
                let held = queue.held_by(waiting.owner);
                (held < self.limit(waiting.owner)).then_some((held, at))
            });
            let Some((_, at)) = candidates.min() else { break };
            let Waiting { owner, grant, .. } = queue.waiting.remove(at);
            *queue.held.entry(owner).or_default() += 1;
            free -= 1;
            unwanted.extend(grant.send(Worker { owner, scheduler: Arc::clone(self) }).err());
        }
        unwanted
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn held_by(&self, owner: Owner) -> usize {
        self.held.get(&owner).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use lore_model::UserId;

    use super::*;

    const ADA: Owner = Some(UserId(1));
    const BOB: Owner = Some(UserId(2));
    const EVE: Owner = Some(UserId(3));

    fn now(scheduler: &Arc<Scheduler>, owner: Owner) -> Worker {
        scheduler.acquire(owner).now_or_never().expect("a worker is free")
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_holds_no_worker_is_served_first() {
        let scheduler = Scheduler::new(4, 2);
        let mut held = vec![now(&scheduler, ADA), now(&scheduler, ADA), now(&scheduler, BOB), now(&scheduler, BOB)];
        let (mut ada, mut bob, mut eve) =
            (Box::pin(scheduler.acquire(ADA)), Box::pin(scheduler.acquire(BOB)), Box::pin(scheduler.acquire(EVE)));
        assert!((&mut ada).now_or_never().is_none());
        assert!((&mut bob).now_or_never().is_none());
        assert!((&mut eve).now_or_never().is_none());
        assert_eq!(scheduler.load(), (4, 3));
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(scheduler.starving_for(), Duration::from_secs(7), "only Eve could use a worker");
        held.remove(0);
        assert!((&mut ada).now_or_never().is_none() && (&mut bob).now_or_never().is_none());
        let eve = eve.now_or_never().expect("it came last and is served first");
        assert_eq!(scheduler.starving_for(), Duration::from_secs(7), "now Ada could use one more");
        drop(eve);
        let ada = ada.now_or_never().expect("Ada holds one, Bob has all that a user may hold");
        assert!((&mut bob).now_or_never().is_none());
        assert_eq!(scheduler.starving_for(), Duration::ZERO, "Bob waits for Bob");
        drop((ada, held));
        drop(bob.now_or_never().expect("all are free"));
        assert_eq!(scheduler.load(), (0, 0));
    }

    #[tokio::test]
    async fn a_call_that_stops_waiting_leaves_its_worker_to_others() {
        let scheduler = Scheduler::new(1, 1);
        let held = now(&scheduler, ADA);
        let (mut gone, mut granted, mut last) =
            (Box::pin(scheduler.acquire(BOB)), Box::pin(scheduler.acquire(BOB)), Box::pin(scheduler.acquire(EVE)));
        assert!((&mut gone).now_or_never().is_none() && (&mut granted).now_or_never().is_none());
        assert!((&mut last).now_or_never().is_none());
        drop(gone);
        assert_eq!(scheduler.load(), (1, 2));
        drop(held);
        // It was granted a worker, and is dropped before it has seen that.
        drop(granted);
        drop(last.now_or_never().expect("the worker went on to the next"));
        assert_eq!(scheduler.load(), (0, 0));
    }

    #[tokio::test]
    async fn calls_without_an_owner_are_not_limited_among_themselves() {
        let scheduler = Scheduler::new(3, 1);
        let held = [now(&scheduler, None), now(&scheduler, None), now(&scheduler, None)];
        assert_eq!(scheduler.load(), (3, 0));
        drop(held);
    }
}
