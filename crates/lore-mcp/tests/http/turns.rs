//! Calls that are worked on: how many at a time, in which order, and what they keep while they wait.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use lore_mcp::SessionLimits;
use lore_model::{Caller, LogId, Role};
use lore_tools::Held;
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use crate::support::{Answered, Ask, Place, ada, bob, call, user};

const CALL: Duration = Duration::from_mins(10);

fn place(working: usize, longest: Duration) -> Arc<Place> {
    let limits = SessionLimits { working, call: longest, ..SessionLimits::default() };
    Arc::new(Place::busy(limits))
}

/// Calls a tool and goes on when the call is where it waits or is worked on.
async fn begin(place: &Arc<Place>, who: Caller, tool: &'static str) -> JoinHandle<Answered> {
    let (asked, before) = (Arc::clone(place), place.sessions.load());
    let calling = tokio::spawn(async move { asked.post(&who, None, &call(tool, &json!({}))).await });
    while place.sessions.load() == before && !calling.is_finished() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    calling
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_a_worker_and_no_user_holds_more_than_a_quarter_of_them() {
    let (place, begun) = (place(8, CALL), Instant::now());
    let mut first = Vec::new();
    for who in [ada(), ada(), ada(), bob(), bob(), user(5, Role::NormalUser), user(5, Role::NormalUser)] {
        first.push(begin(&place, who, "hang").await);
    }
    assert_eq!(place.sessions.load(), (6, 1), "the third call of one user waits although two workers are free");
    assert_eq!(place.sessions.starving_for(), Duration::ZERO);
    for who in [user(6, Role::NormalUser), user(6, Role::NormalUser)] {
        first.push(begin(&place, who, "hang").await);
    }
    tokio::time::sleep(CALL / 2).await;
    let carol = user(4, Role::NormalUser);
    let last = begin(&place, carol, "echo").await;
    assert_eq!((place.sessions.load(), place.seen.begun.load(Ordering::SeqCst)), ((8, 2), 8));
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(place.sessions.starving_for().as_secs(), 9, "all workers are held");
    for given_up in first {
        assert!(given_up.await.unwrap().said().ends_with("took too long and was given up"));
    }
    assert!(begun.elapsed() < CALL + Duration::from_secs(1), "waiting counts");
    assert_eq!(last.await.unwrap().said(), "{}", "it has its turn when the others were given up");
    assert_eq!(place.sessions.load(), (0, 0));
}

#[test]
fn calls_that_need_several_threads_do_not_wait_for_each_other_for_ever() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).max_blocking_threads(4).enable_all().build().unwrap();
    let all = async {
        let place = place(2, CALL);
        let calls = (0..24).map(|number| {
            let (place, who) = (Arc::clone(&place), user(10 + number % 6, Role::NormalUser));
            tokio::spawn(async move { place.post(&who, None, &call("nested", &json!({}))).await.said() })
        });
        for answered in futures::future::join_all(calls).await {
            assert_eq!(answered.unwrap(), "\"nested\"");
        }
    };
    let ended = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), all).await });
    runtime.shutdown_background();
    ended.expect("all threads wait for each other");
}

#[tokio::test]
async fn a_call_has_its_place_until_the_work_has_ended() {
    let place = place(1, Duration::from_millis(100));
    let given_up = begin(&place, ada(), "stubborn").await.await.unwrap();
    assert!(given_up.said().ends_with("took too long and was given up"));
    assert_eq!(place.sessions.load(), (1, 0), "its thread is still busy");
    place.seen.released.store(true, Ordering::SeqCst);
    while place.sessions.load() != (0, 0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_takes_room_until_the_work_on_it_begins() {
    let place = place(1, CALL);
    let hanging = begin(&place, ada(), "hang").await;
    tokio::time::sleep(CALL / 4).await;
    let room = Arc::new(());
    let ask = Ask::post(&call("hang", &json!({}))).by(&bob()).holding(Held::new(Arc::clone(&room)));
    let asked = Arc::clone(&place);
    let waiting = tokio::spawn(async move { ask.send(&asked.mcp).await });
    tokio::time::sleep(CALL / 2).await;
    assert_eq!((place.sessions.load(), Arc::strong_count(&room)), ((1, 1), 2));
    drop(hanging.await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((place.sessions.load(), Arc::strong_count(&room)), ((1, 0), 1));
    drop(waiting.await);
    // What is no call, too.
    let list = Ask::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).by(&bob());
    list.holding(Held::new(Arc::clone(&room))).send(&place.mcp).await;
    assert_eq!(Arc::strong_count(&room), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_by_itself_is_told_as_its_contract_has_it() {
    let place = place(4, CALL);
    for (tool, error) in [
        ("panic_object", "panic_object failed: a fault of Lore's own"),
        ("hang_object", "hang_object took too long and was given up"),
    ] {
        let answered = place.post(&ada(), None, &call(tool, &json!({}))).await;
        let told: Value = serde_json::from_str(&answered.said()).unwrap();
        assert_eq!((&told["success"], &told["error"]), (&json!(false), &json!(error)));
        assert_eq!(answered.answer()["result"]["isError"], true);
    }
    let mut request =
        http::Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
    request = request.header("accept", "application/json").extension(ada()).extension(LogId("id-7".to_owned()));
    let body = http_body_util::Full::new(bytes::Bytes::from(call("panic", &json!({})).to_string()));
    let answered = Answered::of(place.mcp.handle(request.body(body).unwrap()).await).await;
    let hint = &answered.answer()["result"]["content"][1]["text"];
    assert_eq!(hint, "hint: other calls still work; an admin finds it in the server's log under id-7");
}
