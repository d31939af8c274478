//! Whom to tell that an answer is out, by the request it answers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lore_tools::Receipt;
use rmcp::model::RequestId;

/// A request that was admitted. A client may use its id again; this is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// Receipts of answers that were given and are not written yet. What leaves it unwritten is dropped, and so told.
#[derive(Clone, Default)]
pub(crate) struct Receipts(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    last: u64,
    /// The requests that are not answered, each with the receipt of the answer that is about to be.
    requests: HashMap<RequestId, (Ticket, Option<Receipt>)>,
}

impl Receipts {
    /// Takes note of a request. It goes with the request to whoever answers it.
    pub(crate) fn open(&self, request: RequestId) -> Ticket {
        let mut open = self.lock();
        open.last += 1;
        let ticket = Ticket(open.last);
        open.requests.insert(request, (ticket, None));
        ticket
    }

    /// Keeps the receipt of an answer that is about to be sent. Where the request is not open any more, because somebody
    /// cancelled it, the answer will not be sent.
    pub(crate) fn put(&self, ticket: Option<&Ticket>, receipt: Receipt) {
        let mut open = self.lock();
        let entry = open.requests.values_mut().find(|(known, _)| Some(known) == ticket);
        if let Some((_, place)) = entry {
            *place = Some(receipt);
        }
    }

    /// The request is answered, or never will be: its receipt, if it has one.
    pub(crate) fn close(&self, request: &RequestId) -> Option<Receipt> {
        self.lock().requests.remove(request).and_then(|(_, receipt)| receipt)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A receipt, and whether it is still kept.
    fn receipt() -> (Receipt, Arc<AtomicBool>) {
        struct Kept(Arc<AtomicBool>);
        impl Drop for Kept {
            fn drop(&mut self) {
                self.0.store(false, Ordering::SeqCst);
            }
        }
        let kept = Arc::new(AtomicBool::new(true));
        let guard = Kept(Arc::clone(&kept));
        let receipt = Receipt::new(move || drop(guard));
        (receipt, kept)
    }

    #[test]
    fn an_answer_to_a_cancelled_request_is_never_out() {
        let receipts = Receipts::default();
        let id = RequestId::Number(1);
        let cancelled = receipts.open(id.clone());
        assert!(receipts.close(&id).is_none());
        let (late, kept) = receipt();
        receipts.put(Some(&cancelled), late);
        assert!(!kept.load(Ordering::SeqCst), "before its client says anything more");
        // The id is used again, by another request.
        receipts.open(id.clone());
        let (late, kept) = receipt();
        receipts.put(Some(&cancelled), late);
        assert!(!kept.load(Ordering::SeqCst) && receipts.close(&id).is_none());
    }

    #[test]
    fn a_request_that_is_cancelled_after_its_answer_lets_go_of_it() {
        let receipts = Receipts::default();
        let id = RequestId::Number(1);
        let ticket = receipts.open(id.clone());
        let (given, kept) = receipt();
        receipts.put(Some(&ticket), given);
        assert!(kept.load(Ordering::SeqCst));
        drop(receipts.close(&id));
        assert!(!kept.load(Ordering::SeqCst));
    }
}
