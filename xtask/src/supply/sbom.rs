//! `cargo xtask sbom`: what the program is made of, as a document of the form `CycloneDX`.
//!
//! It is written from what cargo resolves and the lock file pins, and says the same whenever it is asked the same: the time
//! is that of the commit and the serial number comes from the content.

use std::{collections::BTreeSet, fs, path::PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::{
    graph::{Graph, Key, Package, Role},
    inside::{self, Model, Runtime},
    licence::spdx,
};
use crate::program::{output, program, say};

/// Writes a list of everything in the program, as `CycloneDX`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The target that is built for.
    #[arg(long, value_name = "TRIPLE", default_value = "x86_64-unknown-linux-gnu")]
    target: String,

    /// The file to write, instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the document.
pub(crate) fn run(args: &Args) -> Result<()> {
    let text = document(&Graph::of_lore(&args.target)?, &args.target)?;
    let Some(out) = &args.out else {
        say(text.trim_end());
        return Ok(());
    };
    fs::write(out, text).with_context(|| format!("cannot write {}", out.display()))
}

/// The document of a static program for a target.
pub(crate) fn document(graph: &Graph, target: &str) -> Result<String> {
    // Outside git there is no time to tell.
    let show = ["log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%cd"];
    let time = output(program("git").env("TZ", "UTC").args(show)).ok();
    let parts = Parts { graph, model: inside::model()?, runtimes: inside::runtimes(target)?, time };
    let mut text = serde_json::to_string_pretty(&parts.document()?)?;
    text.push('\n');
    Ok(text)
}

struct Parts<'a> {
    graph: &'a Graph,
    model: Model,
    runtimes: Vec<Runtime>,
    time: Option<String>,
}

impl Parts<'_> {
    fn document(&self) -> Result<Value> {
        let root = &self.graph.root;
        let mut components = Vec::new();
        for (key, package) in self.graph.packages.iter().filter(|(key, _)| *key != root) {
            components.push(component(key, package)?);
        }
        components.extend(self.runtimes.iter().map(of_runtime));
        components.extend(of_model(&self.model));
        let mut program = component(root, &self.graph.packages[root])?;
        program["type"] = json!("application");
        if let Some(program) = program.as_object_mut() {
            program.remove("scope");
        }
        let mut metadata = Map::new();
        metadata.extend(self.time.clone().map(|time| ("timestamp".to_owned(), json!(time))));
        let tool = json!({"type": "application", "name": "cargo xtask sbom", "version": root.version});
        metadata.insert("tools".to_owned(), json!({"components": [tool]}));
        metadata.insert("component".to_owned(), program);
        let mut document = json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": "",
            "version": 1,
            "metadata": metadata,
            "components": components,
            "dependencies": self.dependencies(),
        });
        document["serialNumber"] = json!(serial(&inside::sha256(document.to_string().as_bytes())));
        Ok(document)
    }

    fn dependencies(&self) -> Vec<Value> {
        let graph = self.graph;
        let mut all: Vec<Value> = graph
            .packages
            .iter()
            .map(|(key, package)| {
                let mut on: BTreeSet<String> =
                    package.dependencies.iter().map(|key| reference(key, &graph.packages[key])).collect();
                if *key == graph.root {
                    on.extend(self.runtimes.iter().map(|runtime| format!("runtime:{}", runtime.name)));
                }
                if key.name == "lore-embed" {
                    on.insert(format!("model:{}", self.model.name));
                }
                json!({"ref": reference(key, package), "dependsOn": on})
            })
            .collect();
        all.push(json!({"ref": format!("model:{}", self.model.name), "dependsOn": ["data:training-packages"]}));
        all
    }
}

/// What others refer to it by. Our own crates are in no registry, where others may have the same names.
fn reference(key: &Key, package: &Package) -> String {
    if package.is_ours { format!("lore:{}@{}", key.name, key.version) } else { purl(key) }
}

/// A package URL; a `+` in a version is escaped there.
fn purl(key: &Key) -> String {
    format!("pkg:cargo/{}@{}", key.name, key.version.replace('+', "%2B"))
}

fn licences(expression: &str) -> Value {
    json!([{"expression": spdx(expression)}])
}

fn component(key: &Key, package: &Package) -> Result<Value> {
    let mut object = json!({
        "type": "library",
        "bom-ref": reference(key, package),
        "name": key.name,
        "version": key.version,
        "scope": if package.role == Role::Linked { "required" } else { "excluded" },
        "licenses": licences(&package.licence),
    });
    if let Some(sum) = &package.checksum {
        object["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
        object["purl"] = json!(purl(key));
    }
    let code = if package.role == Role::Linked { inside::vendored(key, package)? } else { None };
    if let Some(code) = code {
        let mut inside = json!({
            "type": "library",
            "bom-ref": format!("{}#{}", reference(key, package), code.name),
            "name": code.name,
            "licenses": licences(code.licence),
            "externalReferences": [{"type": "website", "url": code.home}],
        });
        if let Some(version) = code.version {
            inside["version"] = json!(version);
        }
        object["components"] = json!([inside]);
    }
    Ok(object)
}

fn of_runtime(runtime: &Runtime) -> Value {
    let mut object = json!({
        "type": "library",
        "bom-ref": format!("runtime:{}", runtime.name),
        "name": runtime.name,
        "scope": "required",
        "licenses": licences(runtime.licence),
        "externalReferences": [{"type": "website", "url": runtime.home}],
    });
    if let Some(version) = &runtime.version {
        object["version"] = json!(version);
    }
    object
}

/// The model, which is in the program, and its data, which are not.
fn of_model(model: &Model) -> [Value; 2] {
    let counts = model
        .licences
        .iter()
        .map(|(licence, count)| json!({"name": format!("licence {licence}"), "value": count.to_string()}));
    let packages: usize = model.licences.iter().map(|(_, count)| count).sum();
    let counts: Vec<Value> = counts.collect();
    let table = json!({
        "type": "machine-learning-model",
        "bom-ref": format!("model:{}", model.name),
        "name": model.name,
        "description": "Embedding table for source code, compiled into the program; crates/lore-embed/model has its card.",
        "scope": "required",
        "hashes": [{"alg": "SHA-256", "content": model.table}],
        "licenses": licences("Apache-2.0"),
        "pedigree": {"ancestors": [{
            "type": "machine-learning-model",
            "name": "all-MiniLM-L6-v2",
            "licenses": licences("Apache-2.0"),
            "externalReferences": [
                {"type": "website", "url": "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"},
            ],
        }]},
        "modelCard": {"modelParameters": {"task": "text embedding", "datasets": [{"ref": "data:training-packages"}]}},
    });
    let data = json!({
        "type": "data",
        "bom-ref": "data:training-packages",
        "name": "training-packages",
        "description": format!(
            "The {packages} published packages that the model was trained on, each with the licence that it declares: \
             tools/model/packages.jsonl. Their text is not in the program."
        ),
        "scope": "excluded",
        "hashes": [{"alg": "SHA-256", "content": model.list}],
        "data": [{"type": "dataset", "name": "tools/model/packages.jsonl"}],
        "properties": counts,
    });
    [table, data]
}

/// A UUID of the kind that anybody may fill (version 8), from a hash.
fn serial(hash: &str) -> String {
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("urn:uuid:{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supply::graph::tests::{key, sample};

    fn written(graph: &Graph) -> Value {
        let model = Model {
            name: "model-1".to_owned(),
            table: "ab".repeat(32),
            list: "cd".repeat(32),
            licences: vec![("MIT".to_owned(), 2), ("ISC".to_owned(), 1)],
        };
        let std = Runtime {
            name: "rust-std",
            version: Some("1.0.0".to_owned()),
            licence: "MIT OR Apache-2.0",
            home: "https://example.com",
        };
        let time = Some("2026-01-02T03:04:05Z".to_owned());
        Parts { graph, model, runtimes: vec![std], time }.document().unwrap()
    }

    /// The sample without the package whose C code nobody has looked into.
    fn clean() -> Graph {
        let mut graph = sample();
        graph.packages.get_mut(&key("z-sys", "1.2.0+z.5")).unwrap().has_c = false;
        graph
    }

    #[test]
    fn components_have_what_an_audit_needs() {
        let document = written(&clean());
        let find = |name: &str| {
            let all = document["components"].as_array().unwrap();
            all.iter().find(|component| component["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
        };
        let sys = find("z-sys");
        assert_eq!(sys["purl"], "pkg:cargo/z-sys@1.2.0%2Bz.5");
        assert_eq!(sys["hashes"][0]["content"].as_str().unwrap().len(), 64);
        assert_eq!((&sys["scope"], &find("cc")["scope"]), (&json!("required"), &json!("excluded")));
        assert_eq!(find("both")["licenses"], json!([{"expression": "MIT OR Apache-2.0"}]));
        assert_eq!(find("model-1")["type"], "machine-learning-model");
        assert_eq!(find("training-packages")["properties"][0], json!({"name": "licence MIT", "value": "2"}));
        assert_eq!(document["metadata"]["component"]["name"], "lore");
        assert_eq!(document["metadata"]["timestamp"], "2026-01-02T03:04:05Z");
    }

    #[test]
    fn every_reference_is_of_something_that_is_there() {
        let document = written(&clean());
        let mut there: BTreeSet<&str> =
            document["components"].as_array().unwrap().iter().map(|one| one["bom-ref"].as_str().unwrap()).collect();
        there.insert(document["metadata"]["component"]["bom-ref"].as_str().unwrap());
        for edge in document["dependencies"].as_array().unwrap() {
            assert!(there.contains(edge["ref"].as_str().unwrap()), "{edge}");
            for on in edge["dependsOn"].as_array().unwrap() {
                assert!(there.contains(on.as_str().unwrap()), "{edge}");
            }
        }
    }

    #[test]
    fn the_same_is_written_twice_and_another_graph_has_another_number() {
        let (first, second) = (written(&clean()), written(&clean()));
        assert_eq!(first.to_string(), second.to_string());
        let mut graph = clean();
        graph.packages.get_mut(&key("both", "1.0.0")).unwrap().licence = "ISC".to_owned();
        assert_ne!(written(&graph)["serialNumber"], first["serialNumber"]);
        let number = first["serialNumber"].as_str().unwrap();
        assert!(number.starts_with("urn:uuid:") && number.len() == "urn:uuid:".len() + 36, "{number}");
    }

    #[test]
    fn our_own_workspace_is_all_there() {
        let graph = Graph::of_lore("x86_64-unknown-linux-gnu").unwrap();
        let names: BTreeSet<&str> = graph.linked().map(|(key, _)| key.name.as_str()).collect();
        for name in
            ["lore-core", "lore-server", "libsqlite3-sys", "zstd-sys", "ring", "tree-sitter-rust", "tokio", "rustls"]
        {
            assert!(names.contains(name), "{name} is linked: {names:?}");
        }
        for name in ["proptest", "expect-test", "lore-testkit", "serde_derive", "cc", "rcgen"] {
            assert!(!names.contains(name), "{name} is not linked");
        }
        let document = written(&graph);
        let vendored = document["components"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|one| one["components"].as_array().into_iter().flatten());
        let vendored: BTreeSet<&str> = vendored.map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(vendored, BTreeSet::from(["boringssl", "mimalloc", "sqlite", "zstd"]));
    }
}
