//! Mirrors under a policy, with real git and a server of our own on loopback.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lore_git::{Cancel, CloneUrl, Fetching, Git, GitError, HostRule, Mirror, RemotePolicy, Resolve};

use crate::repo::Repo;

/// What a server answers.
#[derive(Clone)]
enum Serves {
    Folder(PathBuf),
    Redirect(String),
    Status(u16),
    Nothing,
}

/// A server of files that notes what it is asked for.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(serves: Serves) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let notes = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (serves, notes) = (serves.clone(), Arc::clone(&notes));
                thread::spawn(move || drop(answer(stream, &serves, &notes)));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn answer(stream: TcpStream, serves: &Serves, notes: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        let path = first.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/").to_owned();
        notes.lock().unwrap().push(path.clone());
        let (head, body) = match serves {
            Serves::Folder(root) => match fs::read(root.join(path.trim_start_matches('/'))) {
                Ok(body) => ("200 OK".to_owned(), body),
                Err(_) => ("404 Not Found".to_owned(), Vec::new()),
            },
            Serves::Redirect(to) => (format!("302 Found\r\nLocation: {to}{path}"), Vec::new()),
            Serves::Status(status) => (format!("{status} No"), Vec::new()),
            Serves::Nothing => {
                thread::park_timeout(Duration::from_mins(1));
                return Ok(());
            }
        };
        write!(writer, "HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len())?;
        writer.write_all(&body)?;
    }
}

/// Says of every host what it is told to say at that time.
#[derive(Default)]
struct Told {
    answers: Mutex<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Told {
    fn say(&self, address: &str) {
        *self.answers.lock().unwrap() = vec![address.parse().unwrap()];
    }
}

impl Resolve for Told {
    fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(self.answers.lock().unwrap().clone())
    }
}

/// A repository as a static server has it, with two files that mean harm where they are checked out.
fn remote() -> Repo {
    let repo = Repo::new();
    repo.write("a.txt", "one\n").write(".gitmodules", "[submodule \"s\"]\n\tpath = s\r\n\turl = file:///etc\n");
    std::os::unix::fs::symlink("/etc/passwd", repo.path.join("link")).unwrap();
    repo.commit();
    let head = repo.head().to_string();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub\r")]);
    repo.git(&["commit", "--quiet", "-m", "A submodule with a carriage return"]);
    repo.git(&["tag", "v1"]);
    repo.git(&["update-server-info"]);
    repo
}

fn policy(told: &Arc<Told>, allowed: &[&str]) -> RemotePolicy {
    RemotePolicy {
        allow_http: true,
        allow_hosts: allowed.iter().map(|rule| HostRule::parse(rule).unwrap()).collect(),
        resolver: Arc::clone(told) as _,
        ..RemotePolicy::default()
    }
}

fn update(place: &Path, url: &str, fetching: &Fetching) -> Result<(), GitError> {
    let (git, cancel) = (Git::default(), Cancel::default());
    let url = CloneUrl::parse(url)?;
    Mirror::new(&git, place.to_owned(), &url, &cancel).fetching(fetching).update()
}

#[test]
fn the_address_is_checked_each_time_and_git_goes_there() {
    let (repo, told, home) = (remote(), Arc::new(Told::default()), tempfile::tempdir().unwrap());
    let server = Server::start(Serves::Folder(repo.path.join(".git")));
    let url = format!("http://repo.test:{}/", server.address.port());
    let place = home.path().join("clones/m.git");
    let fetching = Fetching { policy: Some(policy(&told, &["127.0.0.0/8"])), ..Fetching::default() };
    // Nobody but us knows this name, so whoever connects was told the address.
    told.say("127.0.0.1");
    update(&place, &url, &fetching).unwrap();
    assert!(server.asked() > 0 && place.join("HEAD").is_file());
    let mirror = lore_git::Repository::open(&place).unwrap();
    assert_eq!(mirror.head().unwrap().commit, Some(repo.head()));
    assert_eq!(mirror.resolve("v1").unwrap(), Some(repo.head()), "tags come too");
    assert!(mirror.work_tree().is_none() && !place.join("a.txt").exists() && !place.join("modules").exists());
    assert!(fs::read_dir(&place).unwrap().flatten().all(|entry| !entry.path().is_symlink()), "nothing is checked out");

    // The name leads inside now. That is found out before anybody connects.
    let (before, looked) = (server.asked(), told.asked.load(Ordering::Relaxed));
    told.say("10.0.0.7");
    let refused = update(&place, &url, &fetching).unwrap_err();
    assert!(matches!(&refused, GitError::Refused { why, .. } if why.contains("10.0.0.7")), "{refused}");
    assert_eq!((server.asked(), told.asked.load(Ordering::Relaxed)), (before, looked + 1));
    told.say("127.0.0.1");
    let strict = Fetching { policy: Some(policy(&told, &[])), ..Fetching::default() };
    assert!(matches!(update(&place, &url, &strict), Err(GitError::Refused { setting: "--allow-host", .. })));
    assert_eq!(server.asked(), before);
    update(&place, &url, &fetching).unwrap();
    assert!(server.asked() > before);
}

#[test]
fn a_redirect_is_not_followed() {
    let (repo, told, home) = (remote(), Arc::new(Told::default()), tempfile::tempdir().unwrap());
    let inside = Server::start(Serves::Folder(repo.path.join(".git")));
    let outside = Server::start(Serves::Redirect(format!("http://127.0.0.1:{}", inside.address.port())));
    told.say("127.0.0.1");
    let fetching = Fetching { policy: Some(policy(&told, &["repo.test"])), ..Fetching::default() };
    let place = home.path().join("clones/m.git");
    let failed = update(&place, &format!("http://repo.test:{}/", outside.address.port()), &fetching).unwrap_err();
    assert!(matches!(failed, GitError::Failed { .. }) && !failed.is_transient(), "{failed}");
    assert!(outside.asked() > 0);
    assert_eq!(inside.asked(), 0);
    assert!(!place.exists());
}

#[test]
fn what_another_server_says_is_worth_a_try_or_not() {
    let (told, home) = (Arc::new(Told::default()), tempfile::tempdir().unwrap());
    told.say("127.0.0.1");
    let fetching = Fetching { policy: Some(policy(&told, &["repo.test"])), ..Fetching::default() };
    for (status, transient) in [(404, false), (401, false), (403, false), (500, true), (503, true)] {
        let server = Server::start(Serves::Status(status));
        let url = format!("http://repo.test:{}/", server.address.port());
        let failed = update(&home.path().join("m.git"), &url, &fetching).unwrap_err();
        assert_eq!(failed.is_transient(), transient, "{status}: {failed}");
    }
    // Nobody listens.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let failed = update(&home.path().join("m.git"), &format!("http://repo.test:{port}/"), &fetching).unwrap_err();
    assert!(failed.is_transient(), "{failed}");
}

#[test]
fn time_and_bytes_are_limited() {
    let (repo, told, home) = (remote(), Arc::new(Told::default()), tempfile::tempdir().unwrap());
    told.say("127.0.0.1");
    let fetching = Fetching { policy: Some(policy(&told, &["repo.test"])), ..Fetching::default() };
    let silent = Server::start(Serves::Nothing);
    let (started, place) = (Instant::now(), home.path().join("m.git"));
    let slow = Fetching { time: Some(Duration::from_millis(300)), ..fetching.clone() };
    let failed = update(&place, &format!("http://repo.test:{}/", silent.address.port()), &slow).unwrap_err();
    assert!(matches!(failed, GitError::TooSlow { .. }), "{failed}");
    assert!(started.elapsed() < Duration::from_secs(20), "and what git started has ended too");
    let server = Server::start(Serves::Folder(repo.path.join(".git")));
    let small = Fetching { bytes: Some(100), ..fetching };
    let failed = update(&place, &format!("http://repo.test:{}/", server.address.port()), &small).unwrap_err();
    assert!(matches!(failed, GitError::TooLarge { .. }), "{failed}");
    let left: Vec<_> = fs::read_dir(home.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["m.git.lock"], "nothing of it stays, although git itself had ended well");
}

/// The files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Whether a clone shares something with its source: files with several names, or the folder of objects.
fn shares(clone: &Path) -> bool {
    let linked = |file: &PathBuf| std::os::unix::fs::MetadataExt::nlink(&fs::metadata(file).unwrap()) > 1;
    files_below(&clone.join("objects")).iter().any(linked) || clone.join("objects/info/alternates").exists()
}

#[test]
fn a_clone_from_this_machine_shares_nothing_with_its_source() {
    let (repo, home) = (remote(), tempfile::tempdir().unwrap());
    let path = repo.path.to_str().unwrap();
    // What git does of its own accord with a folder, and what it is told to do: so the question has two answers.
    for (name, option) in [("linked", "--local"), ("shared", "--shared")] {
        repo.git(&["clone", "--quiet", "--bare", option, path, home.path().join(name).to_str().unwrap()]);
        assert!(shares(&home.path().join(name)), "{name}");
    }
    let local = RemotePolicy { allow_local: vec![repo.path.clone()], ..RemotePolicy::default() };
    for (number, policy) in [None, Some(local)].into_iter().enumerate() {
        let place = home.path().join(format!("clones/{number}.git"));
        update(&place, &format!("file://{path}"), &Fetching { policy, ..Fetching::default() }).unwrap();
        assert!(place.join("HEAD").is_file() && !shares(&place));
    }
    // Not even after its source has gone is anything missing.
    let head = repo.head();
    fs::rename(&repo.path, home.path().join("gone")).unwrap();
    assert_eq!(
        lore_git::Repository::open(&home.path().join("clones/1.git")).unwrap().resolve("v1").unwrap(),
        Some(head)
    );
}

#[test]
fn objects_that_a_server_says_are_elsewhere_are_not_fetched_from_there() {
    let (repo, told, home) = (remote(), Arc::new(Told::default()), tempfile::tempdir().unwrap());
    let (whole, cut) = (home.path().join("whole"), repo.path.join(".git"));
    repo.git(&["clone", "--quiet", "--bare", "--no-hardlinks", repo.path.to_str().unwrap(), whole.to_str().unwrap()]);
    let inside = Server::start(Serves::Folder(whole));
    // The object of `a.txt` is with a neighbour, it says.
    let blob = String::from_utf8(repo.git(&["rev-parse", "HEAD:a.txt"])).unwrap();
    fs::remove_file(cut.join("objects").join(&blob[..2]).join(blob[2..].trim())).unwrap();
    let elsewhere = format!("http://127.0.0.1:{}/objects\n", inside.address.port());
    for name in ["http-alternates", "alternates"] {
        fs::write(cut.join("objects/info").join(name), &elsewhere).unwrap();
    }
    let outside = Server::start(Serves::Folder(cut));
    told.say("127.0.0.1");
    let fetching = Fetching { policy: Some(policy(&told, &["127.0.0.0/8"])), ..Fetching::default() };
    let place = home.path().join("clones/m.git");
    let failed = update(&place, &format!("http://repo.test:{}/", outside.address.port()), &fetching).unwrap_err();
    assert!(matches!(failed, GitError::Failed { .. }), "{failed}");
    assert!(outside.asked() > 0);
    assert_eq!(inside.asked(), 0);
    assert!(!place.exists());
}

/// A tree with an entry that git itself would never write: checked out, it would be a repository's own configuration.
#[test]
fn objects_that_git_would_not_make_are_not_taken() {
    let (repo, home) = (remote(), tempfile::tempdir().unwrap());
    let blob = repo.git(&["rev-parse", "HEAD:a.txt"]);
    let blob = String::from_utf8(blob).unwrap();
    let id: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&blob.trim()[2 * at..2 * at + 2], 16).unwrap()).collect();
    let tree = [b"100644 .git\0".as_slice(), &id].concat();
    let raw = home.path().join("tree");
    fs::write(&raw, tree).unwrap();
    let tree = repo.git(&["hash-object", "-t", "tree", "-w", "--literally", raw.to_str().unwrap()]);
    let commit = repo.git(&["commit-tree", "-m", "Bad", String::from_utf8(tree).unwrap().trim()]);
    repo.git(&["update-ref", "refs/heads/bad", String::from_utf8(commit).unwrap().trim()]);
    let place = home.path().join("clones/bad.git");
    let url = format!("file://{}", repo.path.to_str().unwrap());
    let refused = update(&place, &url, &Fetching::default());
    assert!(matches!(refused, Err(GitError::Failed { .. })), "{refused:?}");
    assert!(!place.exists());
}
