//! Embedding services, played by a listener on this machine: what is asked of them, and what they may do wrong.
#![cfg(feature = "http")]
#![expect(clippy::unwrap_used, reason = "the listener is a part of the tests")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use lore_embed::{ApiKey, EmbedError, Embedder, Mode, Patience, ProviderConfig};
use serde_json::{Value, json};

/// No test waits for a pause.
const PATIENCE: Patience = Patience {
    attempts: 4,
    pause: Duration::from_millis(1),
    longest: Duration::from_millis(20),
    total: Duration::from_secs(20),
};

/// The embedder, after it has answered once.
fn connect(config: &ProviderConfig) -> Result<Arc<dyn Embedder>, EmbedError> {
    let embedder = lore_embed::connect(config)?;
    embedder.embed(&["hello"], Mode::Query)?;
    Ok(embedder)
}

const KEY: &str = "sk-very-secret-123";

/// A request as it came.
#[derive(Debug, Clone)]
struct Request {
    /// Request line and headers, in lower case.
    head: String,
    body: Value,
}

/// What the listener does with a request.
enum Answer {
    Say(u16, String),
    /// Headers first, then these.
    Raw(String),
    /// Nothing, and the connection stays open.
    Hang,
    /// The connection is closed without a word.
    Close,
    /// More bytes than a client should take.
    Flood,
    /// A byte now and then.
    Drip,
}

struct Service {
    endpoint: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Service {
    /// Answers each request by its number and content, one connection after the other.
    fn start(answer: impl Fn(usize, &Request) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                let number = seen.lock().unwrap().len();
                seen.lock().unwrap().push(request.clone());
                match answer(number, &request) {
                    Answer::Say(status, body) => say(&mut stream, status, &body),
                    // A client that gave up is no failure of the listener; the test asks the client.
                    Answer::Raw(text) => drop(stream.write_all(text.as_bytes())),
                    Answer::Hang => open.push(stream),
                    Answer::Close => {}
                    Answer::Flood => flood(&mut stream),
                    Answer::Drip => drip(&mut stream),
                }
            }
        });
        Self { endpoint, requests }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn config(&self, provider: &str) -> ProviderConfig {
        ProviderConfig {
            provider: Some(provider.to_owned()),
            model: Some("small".to_owned()),
            endpoint: Some(self.endpoint.clone()),
            api_key: Some(ApiKey::new(KEY)),
            timeout: Some(Duration::from_secs(5)),
            patience: PATIENCE,
            ..ProviderConfig::default()
        }
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { head, body: serde_json::from_slice(&body).ok()? })
}

fn say(stream: &mut TcpStream, status: u16, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    drop(stream.write_all((head + body).as_bytes()));
}

fn flood(stream: &mut TcpStream) {
    drop(stream.write_all(b"HTTP/1.1 200 x\r\nconnection: close\r\n\r\n{\"embeddings\":[["));
    let zeros = b"0.0,".repeat(16 << 10);
    while stream.write_all(&zeros).is_ok() {}
}

/// Until the client is gone.
fn drip(stream: &mut TcpStream) {
    drop(stream.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 100000\r\n\r\n"));
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    while stream.write_all(b" ").is_ok() && !matches!(stream.read(&mut [0]), Ok(0)) {}
}

/// A vector that is not yet one long.
fn vector(dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dimensions];
    (vector[0], vector[1]) = (3.0, 4.0);
    vector
}

/// As many vectors as the request has texts, in the form of the protocol.
fn good(request: &Request, dimensions: usize) -> Answer {
    let texts = request.body.get("texts").or(request.body.get("input")).and_then(Value::as_array).unwrap();
    let vectors = vec![vector(dimensions); texts.len()];
    let data: Vec<Value> =
        vectors.iter().enumerate().map(|(index, vector)| json!({"index": index, "embedding": vector})).collect();
    Answer::Say(200, json!({"embeddings": vectors, "data": data}).to_string())
}

/// A name without what tells where the service is: the listener is never in the usual place.
fn unplaced(model: &str) -> &str {
    let (name, place) = model.split_once('#').unwrap();
    assert!(place.len() == 8 && place.bytes().all(|byte| byte.is_ascii_hexdigit()), "{model}");
    name
}

/// The texts of a request.
fn texts_of(request: &Request) -> Vec<&str> {
    request.body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn refused(config: &ProviderConfig) -> EmbedError {
    let error = connect(config).err().unwrap();
    let shown = format!("{error} {error:?} {error:#?} {} {config:?}", error.hint());
    assert!(!shown.contains("secret"), "{shown}");
    error
}

#[test]
fn each_protocol_is_spoken() {
    for (provider, path, first) in [
        ("cortex-embed", "/embed", json!({"texts": ["hello"], "mode": "query"})),
        ("openai", "/v1/embeddings", json!({"model": "small", "input": ["hello"], "encoding_format": "float"})),
        ("ollama", "/api/embed", json!({"model": "small", "input": ["hello"]})),
    ] {
        let service = Service::start(|_, request| good(request, 384));
        let embedder = connect(&service.config(provider)).unwrap();
        assert_eq!(unplaced(embedder.model()), format!("{provider}:small"));
        assert_eq!(embedder.dimensions(), 384);
        assert!(embedder.as_local().is_none());
        let vectors = embedder.embed(&["one", " \n", "three"], Mode::Passage).unwrap();
        assert_eq!(vectors.len(), 3);
        assert_eq!((vectors[0][..3].to_vec(), vectors[0].len()), (vec![0.6, 0.8, 0.0], 384));
        assert_eq!(vectors[1], [0.0; 384], "a blank text is not sent");
        let requests = service.requests();
        assert_eq!(requests[0].body, first);
        assert!(requests[0].head.starts_with(&format!("post {path} http/1.1\r\n")), "{}", requests[0].head);
        assert!(requests[0].head.contains(&format!("authorization: bearer {KEY}\r\n")));
        let texts = requests[1].body.get("texts").or(requests[1].body.get("input")).unwrap();
        assert_eq!(*texts, json!(["one", "three"]));
    }
}

#[test]
fn shortened_vectors_are_asked_for_where_configured() {
    let service = Service::start(|_, request| good(request, 384));
    let config = ProviderConfig { dimensions: Some(384), ..service.config("openai") };
    connect(&config).unwrap();
    assert_eq!(service.requests()[0].body["dimensions"], 384);
}

#[test]
fn many_texts_go_in_several_requests_and_come_back_in_order() {
    let service = Service::start(|_, request| {
        let texts = request.body["texts"].as_array().unwrap();
        let vectors = texts.iter().map(|text| {
            let mut vector = vec![0.0; 384];
            vector[text.as_str().unwrap().len()] = 2.0;
            vector
        });
        Answer::Say(200, json!({"embeddings": vectors.collect::<Vec<_>>()}).to_string())
    });
    let embedder = connect(&service.config("cortex-embed")).unwrap();
    let texts: Vec<String> = (1..150).map(|length| "x".repeat(length)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&texts, Mode::Passage).unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        assert_eq!(vector.iter().position(|value| *value > 0.9), Some(text.len()));
    }
    let sizes: Vec<usize> =
        service.requests()[1..].iter().map(|request| request.body["texts"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [64, 64, 21]);
}

#[test]
fn the_length_of_vectors_is_learned_and_stays() {
    let service = Service::start(|number, request| good(request, if number < 2 { 1536 } else { 768 }));
    let embedder = lore_embed::connect(&service.config("openai")).unwrap();
    assert_eq!(embedder.dimensions(), 0, "nothing was asked yet");
    assert!(service.requests().is_empty());
    assert_eq!(embedder.embed_query("hello", Duration::from_secs(2)).unwrap().len(), 1536);
    assert_eq!((embedder.dimensions(), unplaced(embedder.model())), (1536, "openai:small"));
    let vectors = embedder.embed(&["one", ""], Mode::Passage).unwrap();
    assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [1536, 1536]);
    let error = embedder.embed(&["two"], Mode::Passage).unwrap_err();
    let model = embedder.model().to_owned();
    assert_eq!(error, EmbedError::WrongDimensions { model, expected: 1536, got: 768 });
    assert!(error.hint().contains("lore model remove"), "{}", error.hint());
}

#[test]
fn vectors_of_another_length_than_configured_are_refused() {
    let service = Service::start(|_, request| good(request, 1536));
    let config = ProviderConfig { dimensions: Some(768), ..service.config("ollama") };
    let error = refused(&config);
    let model = lore_embed::connect(&config).unwrap().model().to_owned();
    assert_eq!(unplaced(&model), "ollama:small@768");
    assert_eq!(error, EmbedError::WrongDimensions { model, expected: 768, got: 1536 });
    for length in [7, 4097] {
        let config = ProviderConfig { dimensions: Some(length), ..service.config("ollama") };
        assert_eq!(refused(&config), EmbedError::UnsupportedDimensions { length });
    }
    let service = Service::start(|_, request| good(request, 5000));
    assert_eq!(refused(&service.config("openai")), EmbedError::UnsupportedDimensions { length: 5000 });
}

#[test]
fn a_model_must_be_named_where_there_are_many() {
    let service = Service::start(|_, request| good(request, 384));
    for provider in ["openai", "ollama"] {
        let config = ProviderConfig { model: None, ..service.config(provider) };
        assert_eq!(refused(&config), EmbedError::NoModel { provider: provider.to_owned() });
    }
    let config = ProviderConfig { model: None, ..service.config("cortex-embed") };
    assert_eq!(unplaced(connect(&config).unwrap().model()), "cortex-embed:default");
}

#[test]
fn a_passing_failure_is_tried_again() {
    for first in [500, 503, 429, 408, 0] {
        let service = Service::start(move |number, request| match (number, first) {
            (0..=2, 0) => Answer::Close,
            (0..=2, status) => Answer::Say(status, "busy".to_owned()),
            _ => good(request, 384),
        });
        connect(&service.config("cortex-embed")).unwrap();
        assert_eq!(service.requests().len(), 4, "{first}");
    }
}

#[test]
fn a_service_is_left_alone_as_long_as_it_asks_for() {
    let busy = |seconds: &str| {
        let head = format!("HTTP/1.1 429 x\r\nretry-after: {seconds}\r\n");
        Answer::Raw(head + "content-length: 0\r\nconnection: close\r\n\r\n")
    };
    // Never longer than our own limit, and a date counts as no number.
    for asked in ["0", "100000", "Wed, 21 Oct 2026 07:28:00 GMT"] {
        let service = Service::start(move |number, request| if number < 2 { busy(asked) } else { good(request, 384) });
        connect(&service.config("openai")).unwrap();
        assert_eq!(service.requests().len(), 3, "{asked}");
    }
    // Where the pause would last longer than there is time, the failure is told at once.
    let service = Service::start(move |_, _| busy("100"));
    let patience = Patience { longest: Duration::from_secs(50), ..PATIENCE };
    let error = refused(&ProviderConfig { patience, ..service.config("openai") });
    assert!(matches!(error, EmbedError::Status { status: 429, .. }), "{error}");
    assert_eq!(service.requests().len(), 1);
}

#[test]
fn a_question_is_asked_once_and_not_longer_than_allowed() {
    let service = Service::start(|number, _| if number == 0 { Answer::Say(503, String::new()) } else { Answer::Hang });
    let embedder = lore_embed::connect(&service.config("openai")).unwrap();
    let limit = Duration::from_millis(100);
    let error = embedder.embed_query("x", limit).unwrap_err();
    assert!(matches!(error, EmbedError::Status { status: 503, .. }), "{error}");
    let error = embedder.embed_query("x", limit).unwrap_err();
    assert!(matches!(error, EmbedError::Timeout { after, .. } if after == limit), "{error}");
    assert_eq!(service.requests().len(), 2);
}

#[test]
fn batches_shrink_until_the_service_takes_them() {
    for status in [400, 413, 422] {
        let service = Service::start(move |_, request| {
            let texts = request.body["input"].as_array().unwrap();
            let bytes: usize = texts.iter().map(|text| text.as_str().unwrap().len()).sum();
            if texts.len() > 10 || bytes > 3000 {
                Answer::Say(status, "too much".to_owned())
            } else {
                good(request, 16)
            }
        });
        let embedder = lore_embed::connect(&service.config("openai")).unwrap();
        let mut texts = vec!["some text"; 70];
        let long = "x".repeat(9000);
        texts[5] = &long;
        let vectors = embedder.embed(&texts, Mode::Passage).unwrap();
        assert!(vectors.len() == 70 && vectors.iter().all(|vector| vector[..2] == [0.6, 0.8]));
        // What was learned is remembered.
        let before = service.requests().len();
        embedder.embed(&["a"; 16], Mode::Passage).unwrap();
        let later = &service.requests()[before..];
        assert!(later.iter().all(|request| request.body["input"].as_array().unwrap().len() <= 8), "{later:?}");
    }
    // What is refused whatever its length is told.
    let service = Service::start(|_, _| Answer::Say(400, "no such model".to_owned()));
    let error = refused(&service.config("openai"));
    assert!(error.to_string().contains("no such model"), "{error}");
    assert_eq!(service.requests().len(), 1);
}

#[test]
fn one_text_that_is_not_taken_does_not_stop_others() {
    let not_finite = json!({"data": [{"embedding": [1e300]}]}).to_string();
    for (status, body) in [(400, "no"), (413, "no"), (422, "no"), (500, "no"), (200, &not_finite), (200, "<html>")] {
        let said = body.to_owned();
        let service = Service::start(move |_, request| {
            let is_bad = texts_of(request).contains(&"bad");
            if is_bad { Answer::Say(status, said.clone()) } else { good(request, 16) }
        });
        let embedder = lore_embed::connect(&service.config("openai")).unwrap();
        for bad in [&[0, 1, 2, 3, 4][..], &[31], &[69]] {
            let mut texts = ["good"; 70];
            for at in bad {
                texts[*at] = "bad";
            }
            let vectors = embedder.embed(&texts, Mode::Passage).unwrap();
            for (text, vector) in texts.iter().zip(&vectors) {
                assert_eq!((vector.len(), vector[0] > 0.5), (16, *text == "good"), "{status} {body}");
            }
        }
        // It is not a sign that less is taken at once.
        let before = service.requests().len();
        embedder.embed(&["good"; 64], Mode::Passage).unwrap();
        assert!(service.requests().len() - before <= 2, "{status} {body}");
        // Where nothing is taken, that is told.
        assert!(embedder.embed(&["bad"; 9], Mode::Passage).is_err());
        assert!(embedder.embed(&["bad"], Mode::Query).is_err());
    }
}

#[test]
fn a_service_that_does_not_work_is_not_asked_for_each_text() {
    for (status, most) in [(500, 5), (200, 2), (400, 8)] {
        let service = Service::start(move |_, _| Answer::Say(status, "no".to_owned()));
        let embedder = lore_embed::connect(&service.config("openai")).unwrap();
        assert!(embedder.embed(&["text"; 64], Mode::Passage).is_err());
        assert!(service.requests().len() <= most, "{status}: {}", service.requests().len());
    }
    // Nor are vectors made up where it stops to work in between.
    let service =
        Service::start(|number, request| if number == 0 { good(request, 16) } else { Answer::Say(500, String::new()) });
    let embedder = lore_embed::connect(&service.config("openai")).unwrap();
    assert!(embedder.embed(&["text"; 65], Mode::Passage).is_err());
}

#[test]
fn passages_that_take_too_long_are_sent_in_smaller_parts() {
    let service = Service::start(|_, request| match texts_of(request).len() {
        0..=2 => good(request, 16),
        _ => Answer::Hang,
    });
    let config = ProviderConfig { timeout: Some(Duration::from_millis(300)), ..service.config("openai") };
    let embedder = lore_embed::connect(&config).unwrap();
    let vectors = embedder.embed(&["text"; 8], Mode::Passage).unwrap();
    assert!(vectors.len() == 8 && vectors.iter().all(|vector| vector[..2] == [0.6, 0.8]));
    let service = Service::start(|_, _| Answer::Hang);
    let config = ProviderConfig { timeout: Some(Duration::from_millis(100)), ..service.config("openai") };
    let error = lore_embed::connect(&config).unwrap().embed(&["text"; 4], Mode::Passage).unwrap_err();
    assert!(matches!(error, EmbedError::Timeout { .. }), "{error}");
    assert_eq!(service.requests().len(), 3);
}

#[test]
fn a_lasting_failure_is_told() {
    for (status, attempts) in [(500, 4), (400, 1), (401, 1), (404, 1)] {
        let service = Service::start(move |_, _| Answer::Say(status, format!("no\n\u{1b}[31m{KEY} is wrong")));
        let error = refused(&service.config("cortex-embed"));
        let endpoint = format!("{}/embed", service.endpoint);
        assert_eq!(error, EmbedError::Status { endpoint, status, answer: "no [31m(key) is wrong".to_owned() });
        assert_eq!(service.requests().len(), attempts, "{status}");
    }
}

#[test]
fn redirects_are_not_followed() {
    let elsewhere = Service::start(|_, request| good(request, 384));
    let target = elsewhere.endpoint.clone();
    let service = Service::start(move |_, _| {
        let head = format!("HTTP/1.1 307 x\r\nlocation: {target}/embed\r\n");
        Answer::Raw(head + "content-length: 0\r\nconnection: close\r\n\r\n")
    });
    let error = refused(&service.config("cortex-embed"));
    assert!(matches!(error, EmbedError::Status { status: 307, .. }), "{error}");
    assert_eq!(elsewhere.requests().len(), 0);
}

#[test]
fn a_silent_service_does_not_hold_us() {
    let half = "HTTP/1.1 200 x\r\ncontent-length: 1000\r\n\r\n{\"embed";
    for half in ["", half] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/embed", listener.local_addr().unwrap());
        thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            drop(read(&stream));
            stream.write_all(half.as_bytes()).unwrap();
            // Until the client is gone.
            drop(stream.read(&mut [0]));
        });
        let config = ProviderConfig {
            provider: Some("cortex-embed".to_owned()),
            endpoint: Some(endpoint.clone()),
            timeout: Some(Duration::from_millis(200)),
            patience: PATIENCE,
            ..ProviderConfig::default()
        };
        let after = Duration::from_millis(200);
        let error = refused(&config);
        assert_eq!(error.to_string(), format!("the embedding service at {endpoint} did not answer within 0.2 s"));
        assert_eq!(error, EmbedError::Timeout { endpoint, after });
    }
    // Nor does one that says a byte now and then.
    let drips = Service::start(|_, _| Answer::Drip);
    let config = ProviderConfig { timeout: Some(Duration::from_millis(200)), ..drips.config("openai") };
    assert!(matches!(refused(&config), EmbedError::Timeout { .. }));
    let service = Service::start(|_, _| Answer::Hang);
    let config = ProviderConfig { timeout: Some(Duration::from_millis(200)), ..service.config("openai") };
    assert!(matches!(refused(&config), EmbedError::Timeout { .. }));
    assert_eq!(service.requests().len(), 1, "time that ran out is not spent twice");
}

#[test]
fn answers_that_make_no_sense_are_refused() {
    for body in [
        "<html>",
        "",
        "{}",
        r#"{"embeddings":[["x"]]}"#,
        r#"{"embeddings":[]}"#,
        r#"{"embeddings":[[NaN]]}"#,
        &format!("\"{KEY}\""),
    ] {
        let said = body.to_owned();
        let service = Service::start(move |_, _| Answer::Say(200, said.clone()));
        let error = refused(&service.config("cortex-embed"));
        assert!(matches!(error, EmbedError::Malformed { .. }), "{body}: {error}");
    }
    let service = Service::start(|_, _| Answer::Raw("SSH-2.0-OpenSSH\r\n\r\n".to_owned()));
    let error = refused(&service.config("cortex-embed"));
    assert!(matches!(error, EmbedError::Malformed { .. }), "{error}");
}

#[test]
fn an_answer_without_end_is_refused() {
    let service = Service::start(|_, _| Answer::Flood);
    let error = refused(&service.config("cortex-embed"));
    assert!(error.to_string().contains("longer than 16 MiB"), "{error}");
}

#[test]
fn an_absent_service_is_told_with_what_to_do() {
    // A port that was free a moment ago.
    let endpoint = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    for provider in ["cortex-embed", "openai", "ollama"] {
        let config = ProviderConfig {
            provider: Some(provider.to_owned()),
            model: Some("small".to_owned()),
            endpoint: Some(endpoint.clone()),
            patience: PATIENCE,
            ..ProviderConfig::default()
        };
        let error = refused(&config);
        assert!(matches!(error, EmbedError::Unreachable { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("the embedding service at {endpoint}/")), "{error}");
        assert!(error.hint().contains("start the service"));
    }
}

#[test]
fn a_key_that_cannot_be_sent_is_told_without_showing_it() {
    let service = Service::start(|_, request| good(request, 384));
    let config = ProviderConfig { api_key: Some(ApiKey::new("secret\nkey")), ..service.config("openai") };
    assert_eq!(refused(&config), EmbedError::BadKey);
}

#[test]
fn a_service_that_talks_in_the_clear_is_no_https() {
    let service = Service::start(|_, request| good(request, 384));
    let endpoint = service.endpoint.replace("http://", "https://");
    let config = ProviderConfig { endpoint: Some(endpoint), ..service.config("cortex-embed") };
    let error = refused(&config);
    assert!(matches!(error, EmbedError::Unreachable { .. } | EmbedError::Timeout { .. }), "{error}");
}
