//! Runs the conformance suite of MCP, in its stable release and in the one that knows the latest protocol.
//!
//! Most scenarios call tools that no product has, so they are run against an example of `lore-mcp` that has them, behind
//! the same HTTP layer as the product. Then all of them are run against `lore server` itself, and the Inspector lists its
//! tools. What is expected to fail, and why, is in `conformance-expected-failures.yaml` and, for the product,
//! `conformance-product-expected-failures.yaml`.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Read as _, Seek as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::team;
use serde_json::Value;

use crate::program::{cargo, program, root, say};

/// The stable release.
const STABLE: &str = "conformance-stable";
/// The release that knows the era without sessions.
const ALPHA: &str = "conformance-alpha";

/// What the example is expected to fail.
const EXAMPLE: &str = "conformance-expected-failures.yaml";
/// What the product is expected to fail.
const PRODUCT: &str = "conformance-product-expected-failures.yaml";

/// Every scenario there is, by release and version of the protocol.
const RUNS: [(&str, &[&str]); 5] = [
    (STABLE, &["--suite", "all"]),
    (ALPHA, &["--suite", "all", "--spec-version", "2025-06-18"]),
    (ALPHA, &["--suite", "all", "--spec-version", "2025-11-25"]),
    (ALPHA, &["--suite", "all", "--spec-version", "2026-07-28"]),
    (ALPHA, &["--requirements", "2026-07-28"]),
];

/// A server that scenarios are run against.
pub(crate) struct Target<'a> {
    /// Where it listens, without a path: `http://127.0.0.1:8080`.
    pub(crate) base: &'a str,
    /// The path of its MCP endpoint.
    pub(crate) path: &'a str,
    /// Headers that each request must have, such as a token.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    /// The file with the scenarios that are expected to fail.
    pub(crate) expected: &'a str,
}

/// Scenarios that the product passes in part: the version of the protocol, the scenario, and the checks that need a tool, a
/// resource or a prompt that it does not have. All others must pass.
const PARTS: [(&str, &str, &[&str]); 4] = [
    ("2026-07-28", "sep-2164-resource-not-found", &[]),
    ("2025-11-25", "server-sse-polling", &[]),
    (
        "2026-07-28",
        "server-stateless",
        &[
            // `test_missing_capability`, `test_streaming_elicitation`, `test_logging_tool`.
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-missing-capability-http-400",
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-server-no-log-without-loglevel",
        ],
    ),
    (
        "2026-07-28",
        "caching",
        &[
            "sep-2549-prompts-list-caching-hints",
            "sep-2549-resources-list-caching-hints",
            "sep-2549-resources-templates-list-caching-hints",
        ],
    ),
];

/// What is run, and against which binary.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Runs the scenarios against this `lore` alone: neither it nor the example is built.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// Runs what was asked for. `clients` is where `clients::install` has put the suite.
pub(crate) fn run_asked(clients: &Path, args: &Args) -> Result<()> {
    args.lore.as_deref().map_or_else(|| run(clients), |binary| run_product(clients, binary))
}

/// Runs all scenarios against the example and against the product. `clients` is where `clients::install` has put the suite.
pub(crate) fn run(clients: &Path) -> Result<()> {
    run_example(clients)?;
    run_product(clients, &build("lore")?)
}

fn run_example(clients: &Path) -> Result<()> {
    let fixture = build("conformance")?;
    let fixture = Server::start(&mut program(fixture))?;
    let base = fixture.base();
    for (release, arguments) in RUNS {
        run_suite(clients, &Target { base: &base, path: "/mcp", headers: &[], expected: EXAMPLE }, release, arguments)?;
    }
    // The way in which a server is reached that wants a token.
    let target = Target { base: &base, path: "/mcp", headers: &[("x-test", "1")], expected: EXAMPLE };
    run_suite(clients, &target, ALPHA, &["--scenario", "server-session-lifecycle"])
}

/// Runs all scenarios against `lore server` with a user's token, and has the Inspector list its tools.
fn run_product(clients: &Path, binary: &Path) -> Result<()> {
    let server = team::Server::new(binary, &[]);
    let running = server.start()?;
    let base = format!("http://{}", running.address());
    let token = format!("Bearer {}", running.admin_token()?);
    let headers = [("authorization", token.as_str())];
    let target = Target { base: &base, path: "/mcp", headers: &headers, expected: PRODUCT };
    say("lore server:");
    for (release, arguments) in RUNS {
        run_suite(clients, &target, release, arguments)?;
    }
    for (version, scenario, absent) in PARTS {
        run_part(clients, &target, (version, scenario), absent)?;
    }
    for era in ["legacy", "modern"] {
        inspect(clients, &target, era)?;
    }
    Ok(())
}

/// Runs scenarios against a server; fails where one fails that is not expected to.
fn run_suite(clients: &Path, target: &Target<'_>, release: &str, arguments: &[&str]) -> Result<()> {
    let output = start_suite(clients, target, release, arguments)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let what = format!("{release} {}", arguments.join(" "));
    if !output.status.success() {
        say(&printed);
        say(&String::from_utf8_lossy(&output.stderr));
    }
    ensure!(output.status.success(), "the conformance suite did not pass: {what}");
    // A scenario that is run by itself prints its checks instead.
    let passes = |line: &&str| line.starts_with('✓') || line.contains("SUCCESS");
    let passed = printed.lines().filter(passes).count();
    // A suite that finds nothing to try, or prints in another way, passes as well.
    ensure!(passed > 0, "the conformance suite tried nothing: {what}: {printed}");
    let total = printed.lines().rev().find(|line| line.starts_with("Total:") || line.starts_with("Passed:"));
    say(&format!("{what}: {passed} pass; {}", total.unwrap_or("no total")));
    Ok(())
}

/// Runs one scenario; exactly the checks fail that are named.
fn run_part(clients: &Path, target: &Target<'_>, (version, scenario): (&str, &str), absent: &[&str]) -> Result<()> {
    let arguments = ["--spec-version", version, "--scenario", scenario, "--verbose"];
    let output = start_suite(clients, target, ALPHA, &arguments)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let list = printed.find("[\n").map(|start| &printed[start..]).unwrap_or_default();
    let checks = serde_json::Deserializer::from_str(list).into_iter::<Vec<Value>>().next();
    let checks = checks.with_context(|| format!("{scenario} printed no checks: {printed}"))??;
    let with = |status: &str| -> BTreeSet<&str> {
        checks.iter().filter(|check| check["status"] == status).filter_map(|check| check["id"].as_str()).collect()
    };
    let (failed, absent) = (with("FAILURE"), absent.iter().copied().collect());
    ensure!(failed == absent, "{scenario}: these checks fail: {failed:?}, and these are expected to: {absent:?}");
    say(&format!(
        "{scenario}: {} checks pass, {} need what a server does not have",
        with("SUCCESS").len(),
        absent.len()
    ));
    Ok(())
}

fn start_suite(clients: &Path, target: &Target<'_>, release: &str, arguments: &[&str]) -> Result<Output> {
    let node = node(clients)?;
    let pins = root().join("crates/lore/tests/clients");
    let proxy = if target.headers.is_empty() {
        None
    } else {
        let mut command = program(&node);
        command.arg(pins.join("with_headers.mjs")).arg(target.base);
        command.args(target.headers.iter().flat_map(|(name, value)| [name, value]));
        Some(Server::start(&mut command)?)
    };
    let base = proxy.as_ref().map_or_else(|| target.base.to_owned(), Server::base);
    let mut suite = program(&node);
    suite.arg(clients.join("node/node_modules").join(release).join("dist/index.js"));
    suite.args(["server", "--url", &format!("{base}{}", target.path)]).args(arguments);
    if !arguments.contains(&"--scenario") {
        suite.arg("--expected-failures").arg(pins.join(target.expected));
    }
    // Node ends without waiting for a pipe to take what it has printed; a file takes everything at once.
    let mut printed = tempfile::tempfile()?;
    // It writes its results where it is started.
    let mut output = suite
        .current_dir(clients)
        .stdout(printed.try_clone()?)
        .output()
        .context("the conformance suite does not start")?;
    printed.rewind()?;
    printed.read_to_end(&mut output.stdout)?;
    Ok(output)
}

/// Has the Inspector list the tools and say what other hosts could not read in their schemas.
fn inspect(clients: &Path, target: &Target<'_>, era: &str) -> Result<()> {
    let launcher = "node/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let mut command = program(node(clients)?);
    command.arg(clients.join(launcher)).args(["--cli", "--quiet", "--format", "json", "--protocol-era", era]);
    command.arg(format!("{}{}", target.base, target.path)).args(["--transport", "http"]);
    for (name, value) in target.headers {
        command.arg("--header").arg(format!("{name}: {value}"));
    }
    let output =
        command.args(["--method", "tools/list", "--strict"]).output().context("the Inspector does not start")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the Inspector ({era}) ended with {}: {said}", output.status);
    let list: Value = serde_json::from_slice(&output.stdout).context("the Inspector printed no JSON")?;
    let tools = list["result"]["tools"].as_array().map_or(0, Vec::len);
    ensure!(tools > 0, "the Inspector ({era}) found no tools");
    say(&format!("Inspector, {era}: {tools} tools {said}"));
    Ok(())
}

fn node(clients: &Path) -> Result<String> {
    fs::read_to_string(clients.join("node-path")).context("the MCP clients are not installed")
}

/// Builds the programs and asks cargo where one of them is. They are built as the tests of the whole workspace are: a
/// selection of its own would build the dependencies anew.
fn build(name: &str) -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--workspace", "--bin", "lore", "--example", "conformance"]);
    let built = command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit()).output()?;
    ensure!(built.status.success(), "`{name}` for the conformance suite does not build");
    String::from_utf8(built.stdout)?
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .with_context(|| format!("cargo did not say where `{name}` is"))
}

/// A program that prints its port and ends with its standard input.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line.trim().parse().with_context(|| format!("the server printed `{line}` instead of its port"))?;
        Ok(Self { child, port })
    }

    fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if let Err(error) = self.child.wait() {
            say(&format!("a server did not end: {error}"));
        }
    }
}
