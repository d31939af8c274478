//! What the server that Lore replaces gets wrong, on a team server: where several people ask over HTTP, and jobs do the work.

use std::path::Path;

use lore_testkit::TeamServer;
use serde_json::{Value, json};

fn server() -> TeamServer {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    server.add_user("root", "admin");
    server.add_user("nor", "normal_user");
    server
}

/// The paths that a question finds.
#[track_caller]
fn found(server: &TeamServer, asked: &Value) -> Vec<String> {
    let told = server.ask("nor", "search_code", asked);
    let results = told["results"]["results"].as_array().unwrap_or_else(|| panic!("{told}"));
    results.iter().map(|hit| hit["file_path"].as_str().expect("a path").to_owned()).collect()
}

mod upstream_gets_this_wrong {
    use super::*;

    #[test]
    fn case_regex_fuzzy_and_the_search_mode_are_not_dropped() {
        let server = server();
        let repo = server.repo("modes");
        repo.write("src/mode.rs", "pub enum SearchMode { Fts }\n").write("src/other.rs", "pub struct Other;\n");
        repo.commit("Modes");
        server.add_golden("root", &repo, "modes", &json!({}));
        let none: [&str; 0] = [];
        let fts = |text: &str| json!({"query_text": text, "search_mode": "fts", "repository_alias": "modes"});
        let with = |mut asked: Value, name: &str| {
            asked[name] = json!(true);
            asked
        };
        assert_eq!(found(&server, &with(fts("searchmode"), "case_sensitive")), none);
        assert_eq!(found(&server, &with(fts("SearchMode"), "case_sensitive")), ["src/mode.rs"]);
        assert_eq!(found(&server, &with(fts("SearchM.*"), "regex")), ["src/mode.rs"]);
        assert_eq!(found(&server, &fts("SaerchMode")), none);
        let mut fuzzy = with(fts("SerchMode"), "fuzzy");
        fuzzy["edit_distance"] = json!(1);
        assert_eq!(found(&server, &fuzzy), ["src/mode.rs"]);
    }

    #[test]
    fn time_range_all_is_not_dropped_and_the_evolution_appears() {
        let server = server();
        let repo = server.repo("past");
        repo.write("src/old.rs", "pub fn forgotten_heron() {}\n").write("a.txt", "a\n").commit("Old");
        repo.remove("src/old.rs").commit("Gone");
        server.add_golden("root", &repo, "past", &json!({"enable_temporal": true}));
        let mut asked = json!({"query_text": "forgotten_heron", "search_mode": "fts", "repository_alias": "past"});
        assert_eq!(found(&server, &asked), Vec::<String>::new());
        for name in ["time_range_all", "include_removed", "show_evolution"] {
            asked[name] = json!(true);
        }
        assert_eq!(found(&server, &asked), ["src/old.rs"]);
        let told = server.ask("nor", "search_code", &asked);
        let context = &told["results"]["results"][0]["temporal_context"];
        assert_eq!(context["is_removed"], true, "{told}");
        let steps: Vec<&str> =
            context["evolution"].as_array().expect("a list").iter().filter_map(|step| step["diff"].as_str()).collect();
        assert!(steps.len() == 2 && steps.iter().all(|diff| diff.contains("forgotten_heron")), "{context}");
    }

    #[test]
    fn a_path_does_not_escape_its_repository() {
        let server = server();
        let (repo, other) = (server.repo("inside"), server.repo("outside"));
        repo.write("a.txt", "a\n").commit("A");
        other.write("secret.txt", "the canary\n").commit("Secret");
        server.add_golden("root", &repo, "inside", &json!({}));
        for path in ["../outside/secret.txt", "a.txt/../../outside/secret.txt", "../outside.git/HEAD", "/etc/passwd"] {
            for (tool, name) in
                [("get_file_content", "file_path"), ("list_files", "path"), ("browse_directory", "path")]
            {
                let told = server.refused("nor", tool, &json!({"repository_alias": "inside", name: path}));
                assert!(!told.contains("canary") && !told.contains("root:"), "{tool} {path}: {told}");
            }
        }
    }

    #[test]
    fn a_file_that_is_not_utf8_does_not_end_the_job() {
        let server = server();
        let repo = server.repo("bytes");
        repo.write("latin1.py", b"# Gr\xfc\xdfe\ndef heron_bytes():\n    pass\n")
            .write("b.py", "def heron_text(): pass\n");
        repo.commit("Bytes");
        server.add_golden("root", &repo, "bytes", &json!({}));
        for (text, path) in [("heron_bytes", "latin1.py"), ("heron_text", "b.py")] {
            let asked = json!({"query_text": text, "search_mode": "fts", "repository_alias": "bytes"});
            assert_eq!(found(&server, &asked), [path]);
        }
    }

    #[test]
    fn a_job_is_not_completed_when_every_file_had_failed() {
        let server = server();
        let lose = |repo: &lore_testkit::Repo, names: &[&str]| {
            for name in names {
                let blob = repo.git(&["rev-parse", &format!("HEAD:{name}")]);
                let (folder, rest) = blob.trim().split_at(2);
                std::fs::remove_file(repo.path().join(".git/objects").join(folder).join(rest)).expect("a loose object");
            }
        };
        // One that cannot be cloned.
        let broken = server.repo("broken");
        broken.write("a.rs", "pub fn a() {}\n").write("b.rs", "pub fn b() {}\n").commit("Begin");
        lose(&broken, &["a.rs", "b.rs"]);
        let asked = server.ask("root", "add_golden_repo", &json!({"url": broken.path(), "alias": "broken"}));
        let told = server.job_of("root", &asked);
        assert_eq!((&told["job"]["status"], &told["job"]["result"]), (&json!("failed"), &Value::Null), "{told}");
        assert!(told["job"]["error"].as_str().is_some_and(|text| !text.is_empty()), "{told}");
        assert_eq!(server.ask("root", "discover_repositories", &json!({}))["total"], 0);

        // One whose clone is damaged later: the job fails, and what was read before still answers.
        let shop = server.repo("shop");
        shop.write("a.rs", "pub fn heron_kept() {}\n").commit("Begin");
        server.add_golden("root", &shop, "shop", &json!({}));
        shop.write("a.rs", "pub fn heron_new() {}\n").commit("More");
        let objects = server.data().join("clones/shop.git/objects");
        std::fs::remove_dir_all(&objects).expect("the clone is where it was");
        std::fs::create_dir_all(objects.join("info")).expect("a folder can be made");
        std::fs::create_dir_all(objects.join("pack")).expect("a folder can be made");
        let asked = server.ask("root", "refresh_golden_repo", &json!({"alias": "shop"}));
        let told = server.job_of("root", &asked);
        let asked = json!({"query_text": "heron_kept", "search_mode": "fts", "repository_alias": "shop"});
        if told["job"]["status"] == "completed" {
            // It was cloned anew, and says what is there now.
            assert_eq!(found(&server, &asked), Vec::<String>::new());
        } else {
            assert_eq!(told["job"]["status"], "failed", "{told}");
            assert_eq!(found(&server, &asked), ["a.rs"]);
        }
    }
}
