//! `retry_with_backoff` against operations that fail in every way.

use std::{cell::Cell, time::Duration};

use ferry_server::retry::{Backoff, MAX_ATTEMPTS, Transient, retry_with_backoff};

#[derive(Debug, PartialEq)]
enum Failed {
    Again,
    ForGood,
}

impl Transient for Failed {
    fn is_transient(&self) -> bool {
        *self == Failed::Again
    }
}

fn backoff() -> Backoff {
    Backoff::new(Duration::from_millis(1), Duration::from_millis(4), 7)
}

#[tokio::test]
async fn retry_with_backoff_gives_the_first_success() {
    let calls = Cell::new(0);
    let result = retry_with_backoff(backoff(), || async {
        calls.set(calls.get() + 1);
        if calls.get() < 3 { Err(Failed::Again) } else { Ok(calls.get()) }
    })
    .await;
    assert_eq!(result, Ok(3));
}

#[tokio::test]
async fn retry_with_backoff_stops_at_a_failure_for_good() {
    let calls = Cell::new(0);
    let result: Result<(), _> = retry_with_backoff(backoff(), || async {
        calls.set(calls.get() + 1);
        Err(Failed::ForGood)
    })
    .await;
    assert_eq!((result, calls.get()), (Err(Failed::ForGood), 1));
}

#[tokio::test]
async fn retry_with_backoff_gives_up_after_max_attempts() {
    let calls = Cell::new(0);
    let result: Result<(), _> = retry_with_backoff(backoff(), || async {
        calls.set(calls.get() + 1);
        Err(Failed::Again)
    })
    .await;
    assert_eq!((result, calls.get()), (Err(Failed::Again), MAX_ATTEMPTS + 1));
}

#[test]
fn the_backoff_doubles_and_its_jitter_stays_within_half() {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60), 7);
    for exponent in 0..5 {
        let delay = backoff.next_delay().unwrap().as_secs_f64();
        let full = f64::from(1 << exponent);
        assert!(delay >= full / 2.0 && delay <= full, "{delay} of {full}");
    }
}
