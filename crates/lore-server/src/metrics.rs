//! Numbers about the server, in the text form that Prometheus reads.
//!
//! Labels come from the table of paths and the list of tools, never from a request or a user, so there is a limit to how
//! many series there are.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use lore_model::JobStatus;
use lore_tools::Toolset;

use crate::routes::Route;

/// Upper bounds of the classes of durations, in seconds.
const BOUNDS: [f64; 11] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Durations of the requests of one path.
#[derive(Default)]
struct Durations {
    classes: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

/// What is counted.
pub(crate) struct Metrics {
    started: i64,
    /// Method and path of each row of the table; one more for everything else.
    routes: Vec<(String, &'static str)>,
    durations: Vec<Durations>,
    statuses: Mutex<BTreeMap<(usize, u16), u64>>,
    tools: HashSet<&'static str>,
    calls: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    /// Connections that are open.
    pub(crate) connections: AtomicUsize,
}

/// What has to be asked for when the numbers are read.
pub(crate) struct Gauges {
    pub(crate) jobs: Vec<(JobStatus, u64)>,
    pub(crate) sessions: usize,
    pub(crate) kept: usize,
    /// Calls of tools that are worked on, and that wait for their turn.
    pub(crate) load: (usize, usize),
    /// How long a call has been waiting while every worker was busy.
    pub(crate) starving: Duration,
}

impl Metrics {
    /// Nothing counted yet.
    pub(crate) fn new(routes: &[Route], started: i64) -> Self {
        let mut routes: Vec<_> = routes.iter().map(|route| (route.method.to_string(), route.path)).collect();
        routes.push(("other".to_owned(), "(none)"));
        Self {
            started,
            durations: routes.iter().map(|_| Durations::default()).collect(),
            routes,
            statuses: Mutex::default(),
            tools: lore_tools::server_tools(&Toolset::ALL).iter().map(|tool| tool.name).collect(),
            calls: Mutex::default(),
            connections: AtomicUsize::new(0),
        }
    }

    /// Counts a request that is over.
    pub(crate) fn note_request(&self, route: Option<usize>, status: u16, took: Duration) {
        let place = route.unwrap_or(self.routes.len() - 1);
        *lock(&self.statuses).entry((place, status)).or_default() += 1;
        let Some(durations) = self.durations.get(place) else { return };
        let seconds = took.as_secs_f64();
        if let Some(class) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            durations.classes[class].fetch_add(1, Ordering::Relaxed);
        }
        durations.count.fetch_add(1, Ordering::Relaxed);
        durations.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The name of a tool, where it is one: what a client calls a tool is no label, and stands in no log.
    pub(crate) fn known_tool(&self, tool: &str) -> &'static str {
        self.tools.get(tool).copied().unwrap_or("(unknown)")
    }

    /// Counts a call of a tool.
    pub(crate) fn note_call(&self, tool: &'static str, outcome: &'static str) {
        *lock(&self.calls).entry((tool, outcome)).or_default() += 1;
    }

    /// Everything as text.
    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, about: &str| {
            put(text, format_args!("# HELP {name} {about}\n# TYPE {name} {kind}\n"));
        };
        head(&mut text, "lore_http_requests_total", "counter", "Requests by path and status.");
        for ((place, status), count) in &*lock(&self.statuses) {
            let (method, path) = &self.routes[*place];
            let labels = format_args!(r#"method="{method}",route="{path}",status="{status}""#);
            put(&mut text, format_args!("lore_http_requests_total{{{labels}}} {count}\n"));
        }
        head(&mut text, "lore_http_request_duration_seconds", "histogram", "How long requests took, answer included.");
        for ((method, path), durations) in self.routes.iter().zip(&self.durations) {
            let count = durations.count.load(Ordering::Relaxed);
            if count == 0 {
                continue;
            }
            let labels = format!(r#"method="{method}",route="{path}""#);
            let name = "lore_http_request_duration_seconds";
            let mut below = 0;
            for (bound, class) in BOUNDS.iter().zip(&durations.classes) {
                below += class.load(Ordering::Relaxed);
                put(&mut text, format_args!("{name}_bucket{{{labels},le=\"{bound}\"}} {below}\n"));
            }
            put(&mut text, format_args!("{name}_bucket{{{labels},le=\"+Inf\"}} {count}\n"));
            let micros = Duration::from_micros(durations.micros.load(Ordering::Relaxed));
            put(&mut text, format_args!("{name}_sum{{{labels}}} {}\n", micros.as_secs_f64()));
            put(&mut text, format_args!("{name}_count{{{labels}}} {count}\n"));
        }
        head(&mut text, "lore_mcp_tool_calls_total", "counter", "Calls of tools by how they ended.");
        for ((tool, outcome), count) in &*lock(&self.calls) {
            let labels = format_args!(r#"tool="{tool}",outcome="{outcome}""#);
            put(&mut text, format_args!("lore_mcp_tool_calls_total{{{labels}}} {count}\n"));
        }
        head(&mut text, "lore_jobs", "gauge", "Jobs by status.");
        for status in JobStatus::ALL {
            let count = gauges.jobs.iter().find(|(known, _)| *known == status).map_or(0, |(_, count)| *count);
            put(&mut text, format_args!("lore_jobs{{status=\"{}\"}} {count}\n", status.as_str()));
        }
        let connections = self.connections.load(Ordering::Relaxed);
        for (name, about, value) in [
            ("lore_mcp_sessions", "Open MCP sessions.", Some(gauges.sessions as u64)),
            ("lore_mcp_kept_bytes", "Answers kept for broken connections.", Some(gauges.kept as u64)),
            ("lore_mcp_calls_working", "Calls of tools that are worked on.", Some(gauges.load.0 as u64)),
            ("lore_mcp_calls_waiting", "Calls of tools that wait for their turn.", Some(gauges.load.1 as u64)),
            (
                "lore_mcp_starving_seconds",
                "How long a call of a tool has been waiting while every worker was busy.",
                Some(gauges.starving.as_secs()),
            ),
            ("lore_connections", "Open connections.", Some(connections as u64)),
            ("process_resident_memory_bytes", "Memory of the process.", resident_memory()),
            ("process_start_time_seconds", "When the server was started.", u64::try_from(self.started).ok()),
        ] {
            if let Some(value) = value {
                head(&mut text, name, "gauge", about);
                put(&mut text, format_args!("{name} {value}\n"));
            }
        }
        text
    }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("writing to a string cannot fail");
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the process has in memory, where the system tells.
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
