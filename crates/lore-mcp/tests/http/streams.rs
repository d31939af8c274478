//! Long calls: how they tell where they are, how they are cancelled, and how a broken stream goes on.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Answered, Ask, Place, ada, call, read_until, request, server, stateless};

fn with_token(mut message: Value) -> Value {
    message["params"]["_meta"]["progressToken"] = json!("t");
    message
}

fn steps(answered: &Answered) -> Vec<f64> {
    let messages = answered.messages();
    let told = messages.iter().filter(|message| message["method"] == "notifications/progress");
    let told = told.inspect(|message| assert_eq!(message["params"]["progressToken"], "t"));
    told.map(|message| message["params"]["progress"].as_f64().expect("a number")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_tells_how_it_goes_on_and_never_goes_back() {
    let place = Place::new();
    let message = with_token(call("steps", &json!({})));
    let session = place.shake_hands(&ada()).await;
    let in_session = place.post(&ada(), Some(&session), &message).await;
    let alone = place.post(&ada(), None, &message).await;
    let modern = stateless(message).by(&ada()).send(&place.mcp).await;
    for answered in [in_session, alone, modern] {
        assert!(answered.is_stream());
        assert_eq!(steps(&answered), [1.0, 2.0, 3.0]);
        assert_eq!(answered.said(), "true");
    }
}

#[tokio::test(start_paused = true)]
async fn it_does_so_on_lines_too() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (mut client, ours) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(ours);
    let serving = lore_mcp::serve(server(&Arc::default(), Vec::new()), read, write, std::future::pending());
    let asking = async {
        let line = format!("{}\n", with_token(call("steps", &json!({}))));
        client.write_all(line.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        answers
    };
    let (served, answers) = tokio::join!(serving, asking);
    served.unwrap();
    let lines: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<&Value> = lines.iter().map(|line| &line["params"]["progress"]).collect();
    assert_eq!(told, [&json!(1.0), &json!(2.0), &json!(3.0), &Value::Null]);
    assert_eq!(lines[3]["result"]["content"][0]["text"], "true");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_who_did_not_ask_or_takes_one_answer_only() {
    let place = Place::new();
    let plain = place.post(&ada(), None, &call("steps", &json!({}))).await;
    assert_eq!((plain.is_stream(), plain.said()), (false, "false".to_owned()));
    let json_only = Ask::post(&with_token(call("steps", &json!({})))).by(&ada()).header("accept", "application/json");
    let json_only = json_only.send(&place.mcp).await;
    assert_eq!((json_only.is_stream(), json_only.said()), (false, "false".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_tells_a_lot_does_not_wait_for_its_client() {
    let place = Place::new();
    let answered = place.post(&ada(), None, &with_token(call("chatter", &json!({})))).await;
    assert_eq!((steps(&answered), answered.said()), (vec![99_999.0], "\"done\"".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_of_a_session_is_dropped() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let hang = Ask::post(&call("hang", &json!({}))).by(&ada()).header("mcp-session-id", &session);
    let hanging = hang.begin(&place.mcp).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((place.seen.begun.load(Ordering::SeqCst), place.seen.dropped.load(Ordering::SeqCst)), (1, 0));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(place.post(&ada(), Some(&session), &cancel).await.status, 202);
    let ended = Answered::of(hanging).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(place.seen.dropped.load(Ordering::SeqCst), 1);
    assert_eq!(ended.messages(), [Value::Null; 0]);
    assert_eq!(ended.called.unwrap().outcome(), Some("cancelled"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_cancels_a_call_outside_sessions() {
    let place = Place::new();
    let hang = call("hang", &json!({}));
    let asks = [
        Ask::post(&hang).by(&ada()),
        Ask::post(&hang).by(&ada()).header("accept", "application/json"),
        Ask::post(&hang).by(&ada()).header("accept", "text/event-stream"),
        stateless(hang).by(&ada()),
    ];
    for (index, ask) in asks.into_iter().enumerate() {
        let wait = async { Answered::of(ask.begin(&place.mcp).await).await };
        assert!(tokio::time::timeout(Duration::from_secs(1), wait).await.is_err());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let seen = (place.seen.begun.load(Ordering::SeqCst), place.seen.dropped.load(Ordering::SeqCst));
        assert_eq!(seen, (index + 1, index + 1));
    }
}

/// Begins a slow call in a session, breaks its stream, and gives the id of the last event.
async fn broken(place: &Place, session: &str) -> String {
    broken_after(place, session, Duration::ZERO).await
}

async fn broken_after(place: &Place, session: &str, wait: Duration) -> String {
    let slow = Ask::post(&call("slow", &json!({}))).by(&ada()).header("mcp-session-id", session);
    let mut answering = slow.begin(&place.mcp).await;
    let begun = read_until(answering.body_mut(), "id:").await;
    let id = begun.lines().find_map(|line| line.strip_prefix("id:")).expect("an id").trim().to_owned();
    tokio::time::sleep(wait).await;
    drop(answering);
    id
}

fn resume(session: &str, last: &str) -> Ask {
    let ask = Ask::method("GET").by(&ada()).header("accept", "text/event-stream");
    ask.header("mcp-session-id", session).header("last-event-id", last)
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_goes_on_where_it_was() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let last = broken(&place, &session).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let resumed = resume(&session, &last).send(&place.mcp).await;
    assert_eq!((resumed.said(), &resumed.answer()["id"]), ("\"slow\"".to_owned(), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn what_a_client_has_is_not_sent_again() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let steps_call = with_token(call("steps", &json!({})));
    let mut answering = Ask::post(&steps_call).by(&ada()).header("mcp-session-id", &session).begin(&place.mcp).await;
    let heard = read_until(answering.body_mut(), "\"progress\":1").await;
    let last = heard.lines().filter_map(|line| line.strip_prefix("id:")).next_back().expect("an id").trim().to_owned();
    drop(answering);
    let resumed = resume(&session, &last).send(&place.mcp).await;
    assert!(!resumed.text.lines().any(|line| line.strip_prefix("id:").is_some_and(|id| id.trim() == last)));
    assert_eq!((steps(&resumed), resumed.said()), (vec![2.0, 3.0], "true".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_came_while_its_client_was_away_is_kept_for_a_while() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let last = broken_after(&place, &session, Duration::from_secs(9)).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let resumed = resume(&session, &last).send(&place.mcp).await;
    assert_eq!((resumed.said(), &resumed.answer()["id"]), ("\"slow\"".to_owned(), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_cancelled_when_its_client_does_not_come_back() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let hang = async |id: u64| {
        let mut message = call("hang", &json!({}));
        message["id"] = json!(id);
        let ask = Ask::post(&message).by(&ada()).header("mcp-session-id", &session);
        let mut answering = ask.begin(&place.mcp).await;
        let begun = read_until(answering.body_mut(), "id:").await;
        (answering, begun.lines().find_map(|line| line.strip_prefix("id:")).expect("an id").trim().to_owned())
    };
    let dropped = || place.seen.dropped.load(Ordering::SeqCst);
    let (answering, last) = hang(1).await;
    drop(answering);
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Whoever resumes in time keeps the call, as often as the connection breaks.
    let resumed = resume(&session, &last).begin(&place.mcp).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!((dropped(), place.sessions.load()), (0, (1, 0)));
    drop(resumed);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((dropped(), place.sessions.load()), (1, (0, 0)), "it holds no worker any more");
    let late = resume(&session, &last).send(&place.mcp).await;
    let why = "the call was cancelled because the connection was closed: call the tool again";
    assert_eq!(late.answer()["error"]["message"], why);
    // The others of the session go on.
    let (answering, _) = hang(2).await;
    let (other, _) = hang(3).await;
    drop(other);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((dropped(), place.sessions.load()), (2, (1, 0)));
    drop(answering);
}

#[tokio::test(start_paused = true)]
async fn a_stream_can_be_resumed_in_its_own_session_only() {
    let place = Place::new();
    let (session, second) = (place.shake_hands(&ada()).await, place.shake_hands(&ada()).await);
    let last = broken(&place, &session).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(resume(&second, &last).send(&place.mcp).await.messages(), [Value::Null; 0]);
    assert_eq!(resume(&session, "nonsense").send(&place.mcp).await.messages(), [Value::Null; 0]);
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_session_are_answered_while_another_takes_long() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let mut slow = call("slow", &json!({}));
    slow["id"] = json!(2);
    let slow = async { place.post(&ada(), Some(&session), &slow).await };
    let quick = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let answered = place.post(&ada(), Some(&session), &request("ping", &json!({}))).await;
        (answered.answer(), tokio::time::Instant::now())
    };
    let (slow, (quick, then)) = tokio::join!(slow, quick);
    assert_eq!((slow.said(), &quick["id"]), ("\"slow\"".to_owned(), &json!(1)));
    assert!(then.elapsed() > Duration::from_secs(5));
}
