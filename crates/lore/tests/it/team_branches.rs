//! Two users have two branches of one golden repository: each is answered from their own, whatever the other has.

use std::path::Path;

use lore_testkit::{Repo, TeamServer};
use serde_json::{Value, json};

/// Where things happened: the words of the commits tell on which branch.
struct Shop {
    server: TeamServer,
    repo: Repo,
    /// The last commits of `main` and of `next`.
    main: String,
    next: String,
}

/// `main` and `next` part after the first commit. `ada` and `ben` may activate, `cy` may only ask.
fn shop() -> Shop {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    for (user, role) in [("root", "admin"), ("ada", "power_user"), ("ben", "power_user"), ("cy", "normal_user")] {
        server.add_user(user, role);
    }
    let repo = server.repo("shop");
    repo.write("src/cart.rs", "pub fn cart() {}\n")
        .write("src/price.rs", "pub fn price() {}\n")
        .commit("Open the shop");
    let main = repo.write("src/cart.rs", "pub fn cart_of_herons() {}\n").commit("Sell herons");
    repo.git(&["checkout", "--quiet", "-b", "next", "HEAD~1"]);
    repo.write("src/tax.rs", "pub fn tax() {}\n").write("src/cart.rs", "pub fn cart_taxed() {}\n").commit("Tax carts");
    repo.write("src/tax.rs", "\n").write("src/cart.rs", "pub fn cart_of_wombats() {}\n");
    let next = repo.commit("Revert the tax on wombats");
    repo.git(&["checkout", "--quiet", "main"]);
    server.add_golden("root", &repo, "shop", &json!({}));
    Shop { server, repo, main, next }
}

impl Shop {
    #[track_caller]
    fn activate(&self, user: &str, alias: &str, branch: Option<&str>) {
        let mut asked = json!({"golden_repo_alias": "shop", "user_alias": alias});
        if let Some(branch) = branch {
            asked["branch_name"] = branch.into();
        }
        self.server.done(user, &self.server.ask(user, "activate_repository", &asked));
    }

    /// The subjects of an answer about history.
    #[track_caller]
    fn subjects(&self, user: &str, tool: &str, asked: &Value) -> Vec<String> {
        let rows = self.server.ask(user, tool, asked);
        let subject = |row: &Value| row["subject"].as_str().expect("a subject").to_owned();
        let mut subjects: Vec<String> = rows.as_array().expect("a list").iter().map(subject).collect();
        subjects.sort_unstable();
        subjects.dedup();
        subjects
    }

    /// The subjects of the commits that `search_code` finds.
    #[track_caller]
    fn commits(&self, user: &str, chunk_type: &str, mode: &str, text: &str) -> Vec<String> {
        let asked =
            json!({"query_text": text, "search_mode": mode, "chunk_type": chunk_type, "min_score": 0, "limit": 50});
        let answer = self.server.ask(user, "search_code", &asked);
        let rows = answer["results"]["results"].as_array().expect("a list");
        let message = |row: &Value| row["temporal_context"]["commits"][0]["commit_message"].as_str().map(str::to_owned);
        let mut subjects: Vec<String> = rows.iter().map(|row| message(row).expect("a commit")).collect();
        subjects.sort_unstable();
        subjects.dedup();
        subjects
    }

    /// Everything that a user is told of `shop` and that must not depend on what others have.
    fn told(&self, user: &str) -> Value {
        let ask = |tool: &str, asked: Value| self.server.ask(user, tool, &asked);
        let tried = |tool: &str, asked: Value| {
            let answer = self.server.call(user, tool, &asked);
            (answer["result"]["isError"] == true).to_string() + &answer["result"]["content"][0]["text"].to_string()
        };
        let by_name = ["HEAD", "HEAD~1", "main", "next", "next~1"];
        let by_name = by_name.map(|name| tried("commitmux_get_commit", json!({"repo": "shop", "sha": name})));
        let status = ask("get_repository_status", json!({"user_alias": "shop"}));
        let statistics = ask("get_repository_statistics", json!({"repository_alias": "shop"}));
        let mut repos = ask("commitmux_list_repos", json!({}));
        for row in repos.as_array_mut().expect("a list") {
            row["last_synced_at"] = Value::Null;
        }
        json!({
            "repos": repos,
            "search": ask("commitmux_search", json!({"query": "herons OR wombats OR tax OR shop"})),
            "named": ask("commitmux_search", json!({"query": "herons OR wombats OR tax OR shop", "repos": ["shop"]})),
            "touches": ask("commitmux_touches", json!({"path_glob": "src/"})),
            "main": tried("commitmux_get_commit", json!({"repo": "shop", "sha": self.main})),
            "next": tried("commitmux_get_commit", json!({"repo": "shop", "sha": self.next})),
            "by name": by_name,
            "main patch": tried("commitmux_get_patch", json!({"repo": "shop", "sha": self.main})),
            "next patch": tried("commitmux_get_patch", json!({"repo": "shop", "sha": self.next})),
            "said": self.commits(user, "commit_message", "semantic", "what was sold"),
            "said exactly": self.commits(user, "commit_message", "fts", "s"),
            "changed": self.commits(user, "commit_diff", "fts", "pub"),
            "files": ask("list_files", json!({"repository_alias": "shop", "path": "src"})),
            "all files": ask("browse_directory", json!({"repository_alias": "shop"})),
            "read": ask("get_file_content", json!({"repository_alias": "shop", "file_path": "src/cart.rs"})),
            "together": ask("co_changed", json!({"files": ["src/cart.rs"], "repo": "shop"})),
            "reverted": ask("was_tried", json!({"text": "tax on carts", "repo": "shop"})),
            "lines": ask("explain_lines", json!({"file": "src/cart.rs", "repo": "shop"})),
            "commits": [&status["status"]["commit_count"], &statistics["statistics"]["activity"]["commit_count"]],
        })
    }
}

#[test]
fn what_others_activate_changes_no_answer() {
    let shop = shop();
    shop.activate("ada", "shop", None);
    let before = ["ada", "cy"].map(|user| shop.told(user));
    let text = before[0].to_string();
    assert!(text.contains("herons") && !text.contains("wombats") && !text.contains("Tax"), "{text}");
    shop.activate("ben", "shop", Some("next"));
    for (user, before) in ["ada", "cy"].into_iter().zip(&before) {
        let after = shop.told(user);
        for (what, answer) in before.as_object().expect("an object") {
            assert_eq!(&after[what], answer, "{user}: {what}");
        }
    }
    // And what goes on upstream there is as little theirs.
    shop.repo.git(&["checkout", "--quiet", "next"]);
    shop.repo.write("src/cart.rs", "pub fn cart_of_newts() {}\n").commit("Sell newts in the shop, wombats no more");
    shop.repo.git(&["checkout", "--quiet", "main"]);
    shop.server.done("root", &shop.server.ask("root", "refresh_golden_repo", &json!({"alias": "shop"})));
    assert!(shop.told("ben").to_string().contains("newts"));
    for (what, answer) in before[0].as_object().expect("an object") {
        assert_eq!(&shop.told("ada")[what], answer, "{what}");
    }
}

#[test]
fn names_of_other_branches_lead_to_none_of_their_commits() {
    let shop = shop();
    shop.activate("ada", "shop", None);
    shop.activate("ben", "bens", Some("next"));
    for (user, repo, name, expected) in [
        ("ada", "shop", "HEAD", Some(&shop.main)),
        ("ben", "bens", "HEAD", Some(&shop.next)),
        ("ben", "bens", "next", Some(&shop.next)),
        ("ben", "shop", "HEAD", Some(&shop.main)),
        ("ben", "bens", "main", None),
        ("ada", "shop", "next", None),
    ] {
        for tool in ["commitmux_get_commit", "commitmux_get_patch"] {
            let answer = shop.server.call(user, tool, &json!({"repo": repo, "sha": name}));
            let (failed, text) = (answer["result"]["isError"] == true, answer.to_string());
            assert_eq!(failed, expected.is_none(), "{user} {tool} {repo} {name}: {text}");
            for sha in [&shop.main, &shop.next] {
                assert_eq!(text.contains(&sha[..7]), expected == Some(sha), "{user} {tool} {repo} {name}: {text}");
            }
        }
    }
}

#[test]
fn each_is_answered_from_their_own_branch() {
    let shop = shop();
    shop.activate("ada", "shop", None);
    shop.activate("ben", "bens", Some("next"));
    let words = json!({"query": "herons OR wombats OR tax OR shop"});
    assert_eq!(shop.subjects("ada", "commitmux_search", &words), ["Open the shop", "Sell herons"]);
    let bens = ["Open the shop", "Revert the tax on wombats", "Tax carts"];
    assert_eq!(shop.subjects("ben", "commitmux_search", &words), bens);
    let touched = json!({"path_glob": "src/cart.rs"});
    assert_eq!(shop.subjects("ada", "commitmux_touches", &touched), ["Open the shop", "Sell herons"]);
    assert_eq!(shop.subjects("ben", "commitmux_touches", &touched), bens);
    // The golden repository itself is its main branch, for whoever has another as well.
    let golden = json!({"path_glob": "src/cart.rs", "repos": ["shop"]});
    assert_eq!(shop.subjects("ben", "commitmux_touches", &golden), ["Open the shop", "Sell herons"]);

    // What an answer names can be asked about.
    let server = &shop.server;
    for tool in ["commitmux_search", "commitmux_touches"] {
        let hit = &server.ask("ben", tool, if tool == "commitmux_search" { &words } else { &touched })[0];
        assert_eq!(hit["repo"], "bens", "{tool}");
        server.ask("ben", "commitmux_get_commit", &json!({"repo": hit["repo"], "sha": hit["sha"]}));
    }
    for tool in ["commitmux_get_commit", "commitmux_get_patch"] {
        for (user, repo, sha, there) in [
            ("ada", "shop", &shop.main, true),
            ("ada", "shop", &shop.next, false),
            ("ben", "bens", &shop.main, false),
            ("ben", "bens", &shop.next, true),
            ("ben", "shop", &shop.next, false),
            ("ben", "shop", &shop.main, true),
        ] {
            let asked = json!({"repo": repo, "sha": &sha[..12]});
            let answer = server.call(user, tool, &asked);
            assert_eq!(answer["result"]["isError"] != true, there, "{user} {tool} {asked}: {answer}");
        }
    }

    for (chunk_type, mode, text, ada, ben) in [
        ("commit_message", "fts", "wombats", &[][..], &["Revert the tax on wombats"][..]),
        ("commit_message", "fts", "herons", &["Sell herons"], &[]),
        ("commit_message", "semantic", "herons", &["Sell herons"], &[]),
        ("commit_diff", "fts", "cart_taxed", &[], &["Revert the tax on wombats", "Tax carts"]),
        ("commit_diff", "fts", "cart_of_herons", &["Sell herons"], &[]),
    ] {
        let found = |user: &str| -> Vec<String> {
            let all = shop.commits(user, chunk_type, mode, text);
            // By meaning, everything is a little like everything.
            all.into_iter().filter(|subject| mode == "fts" || subject.contains(text)).collect()
        };
        assert_eq!(found("ada"), ada, "ada {chunk_type} {mode} {text}");
        assert_eq!(found("ben"), ben, "ben {chunk_type} {mode} {text}");
    }

    for (user, alias, changed, files) in [("ada", "shop", "22:14:20Z", 2), ("ben", "bens", "22:16:20Z", 3)] {
        let listed = server.ask(user, "list_files", &json!({"repository_alias": alias, "path": "src"}));
        let (rows, read) = (listed["files"].as_array().expect("a list"), json!({"file_path": "src/cart.rs"}));
        assert_eq!((rows.len(), &rows[0]["path"]), (files, &json!("src/cart.rs")), "{listed}");
        assert_eq!(rows[0]["modified_at"], format!("2023-11-14T{changed}"), "{user}");
        let read = server.ask(user, "get_file_content", &read);
        assert_eq!(read["metadata"]["modified_at"], rows[0]["modified_at"], "{user}");
    }
    let together = |user: &str| -> Vec<(Value, Value)> {
        let answer = server.ask(user, "co_changed", &json!({"files": ["src/cart.rs"]}));
        assert!(
            answer["results"].as_array().is_some_and(|rows| rows.iter().all(|row| row["gone"].is_null())),
            "{answer}"
        );
        answer["results"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| (row["path"].clone(), row["support"].clone()))
            .collect()
    };
    assert_eq!(together("ada"), [(json!("src/price.rs"), json!(1))]);
    assert_eq!(together("ben"), [(json!("src/tax.rs"), json!(2)), (json!("src/price.rs"), json!(1))]);
    let tried = |user: &str| server.ask(user, "was_tried", &json!({"text": "tax"}))["reverted"].clone();
    assert_eq!((tried("ada"), &tried("ben")[0]["commit"]), (json!([]), &json!(shop.next)));
    let lines = |user: &str| server.ask(user, "explain_lines", &json!({"file": "src/cart.rs", "lines": "1"}));
    assert_eq!(lines("ada")["commits"][0]["subject"], "Sell herons");
    assert_eq!(lines("ben")["commits"][0]["subject"], "Revert the tax on wombats");
    for (user, count) in [("ada", 2), ("ben", 3)] {
        let status = server.ask(user, "get_repository_status", &json!({}));
        assert_eq!(status["status"]["commit_count"], count, "{user}");
        let statistics = server.ask(user, "get_repository_statistics", &json!({}));
        assert_eq!(statistics["statistics"]["activity"]["commit_count"], count, "{user}");
        let all = server.ask(user, "get_all_repositories_status", &json!({}));
        assert_eq!(all["repositories"][0]["commit_count"], count, "{user}");
    }
}

#[test]
fn two_branches_of_one_repository_are_told_apart() {
    let shop = shop();
    let server = &shop.server;
    shop.activate("ben", "bens", Some("next"));
    shop.activate("ben", "stable", None);
    // The same branch by its name is no other one.
    shop.activate("ada", "one", None);
    shop.activate("ada", "two", Some("main"));
    for (tool, asked) in
        [("commitmux_search", json!({"query": "shop"})), ("commitmux_touches", json!({"path_glob": "src"}))]
    {
        let answer = server.call("ben", tool, &asked);
        let told = answer["result"]["_meta"]["lore/notes"][0].as_str().unwrap_or_default().to_owned();
        assert!(told.contains("`bens` and `stable` are branches of one repository"), "{tool}: {answer}");
        assert!(answer["result"]["content"].to_string().contains(&told), "a model reads texts: {answer}");
        let mut named = asked.clone();
        named["repos"] = json!(["stable", "bens"]);
        let answer = server.call("ben", tool, &named);
        assert!(answer.to_string().contains("`stable` was asked; ask the other by itself"), "{answer}");
        let answer = server.call("ada", tool, &asked);
        assert!(answer["result"]["_meta"]["lore/notes"].is_null(), "{answer}");
    }
    // Which of them is meant is not guessed.
    for (tool, asked) in [
        ("list_files", json!({})),
        ("get_repository_status", json!({})),
        ("co_changed", json!({"files": ["src/cart.rs"]})),
        ("explain_lines", json!({"file": "src/cart.rs"})),
    ] {
        let refused = server.refused("ben", tool, &asked);
        assert!(refused.contains("`bens`") && refused.contains("`stable`"), "{tool}: {refused}");
    }
}

/// A shop and a bank, which `ada` has as one.
fn both() -> Shop {
    let shop = shop();
    let bank = shop.server.repo("bank");
    bank.write("src/till.rs", "pub fn till() {}\n").write("README.md", "# Bank\n").commit("Open the bank");
    shop.server.add_golden("root", &bank, "bank", &json!({}));
    let asked = json!({"operation": "create", "user_alias": "city", "golden_repo_aliases": ["shop", "bank"]});
    shop.server.done("ada", &shop.server.ask("ada", "manage_composite_repository", &asked));
    shop
}

#[test]
fn a_composite_has_a_status_statistics_and_branches() {
    let shop = both();
    let ask = |tool: &str, name: &str| shop.server.ask("ada", tool, &json!({name: "city"}));
    let head = |told: &Value, name: &str| {
        let golden = told["golden_repo_aliases"].as_array().expect("a list").len();
        (told[name].clone(), told["is_composite"].clone(), golden)
    };
    let expected = (json!("city"), json!(true), 2);
    let status = ask("get_repository_status", "user_alias")["status"].clone();
    assert_eq!(head(&status, "alias"), expected, "{status}");
    let members = status["members"].as_array().expect("a list");
    let names: Vec<&Value> = members.iter().map(|member| &member["alias"]).collect();
    assert_eq!(names.len(), 2, "{status}");
    assert!(names.contains(&&json!("shop")) && names.contains(&&json!("bank")), "{status}");
    assert_eq!((&status["file_count"], &status["commit_count"]), (&json!(4), &json!(3)), "{status}");
    assert!(members.iter().all(|member| member["history_state"] == "current" && member["branches_list"].is_array()));
    assert_eq!((&status["activation_status"], &status["health"]["score"]), (&json!("activated"), &json!(1.0)));

    let statistics = ask("get_repository_statistics", "repository_alias")["statistics"].clone();
    assert_eq!(head(&statistics, "repository_id"), expected, "{statistics}");
    assert_eq!(statistics["files"]["by_language"], json!({"markdown": 1, "rust": 3}), "{statistics}");
    assert_eq!((&statistics["files"]["total"], &statistics["activity"]["commit_count"]), (&json!(4), &json!(3)));
    let ids: Vec<&Value> =
        statistics["members"].as_array().expect("a list").iter().map(|one| &one["repository_id"]).collect();
    assert_eq!(ids, names);

    let branches = ask("get_branches", "repository_alias");
    assert_eq!(head(&branches, "repository_alias"), expected, "{branches}");
    let mut rows: Vec<String> = branches["branches"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| format!("{} {} {}", row["source_repo"], row["name"], row["is_current"]).replace('"', ""))
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, ["bank main true", "shop main true", "shop next false"]);
    assert_eq!(branches["total"], 3);
    // Others have no such thing.
    assert!(shop.server.refused("ben", "get_branches", &json!({"repository_alias": "city"})).contains("no repository"));
}

#[test]
fn the_files_of_a_composite_are_below_its_repositories() {
    let shop = both();
    let list = |tool: &str, path: Option<&str>| {
        let mut asked = json!({"repository_alias": "city"});
        if let Some(path) = path {
            asked["path"] = path.into();
        }
        shop.server.ask("ada", tool, &asked)
    };
    let paths = |rows: &Value| -> Vec<String> {
        let mut paths: Vec<String> = rows
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| row["path"].as_str().expect("a path").to_owned())
            .collect();
        paths.sort_unstable();
        paths
    };
    for tool in ["list_files", "browse_directory"] {
        let root = list(tool, None);
        assert_eq!(paths(&root["directories"]), ["bank", "shop"], "{tool}: {root}");
        assert_eq!((&root["repository_alias"], &root["is_composite"]), (&json!("city"), &json!(true)), "{root}");
    }
    let bank = list("list_files", Some("bank"));
    assert_eq!(
        (paths(&bank["files"]), paths(&bank["directories"])),
        (vec!["bank/README.md".into()], vec!["bank/src".into()])
    );
    let below = list("browse_directory", Some("shop/"));
    assert_eq!(paths(&below["structure"]["files"]), ["shop/src/cart.rs", "shop/src/price.rs"]);
    assert_eq!((&below["structure"]["path"], &below["repository_alias"]), (&json!("shop"), &json!("city")));
    // What is listed can be read by the same name.
    for path in ["bank/README.md", "bank/src/till.rs", "shop/src/cart.rs"] {
        let asked = json!({"repository_alias": "city", "file_path": path});
        let read = shop.server.ask("ada", "get_file_content", &asked);
        assert_eq!((&read["metadata"]["path"], &read["metadata"]["repository_alias"]), (&json!(path), &json!("city")));
    }
    for path in ["src/cart.rs", "shopx/src/cart.rs", "README.md", "../bank/README.md", "bank/../shop/src/cart.rs"] {
        let refused =
            shop.server.refused("ada", "get_file_content", &json!({"repository_alias": "city", "file_path": path}));
        assert!(
            path.contains("..") || refused.contains("bank/, shop/") || refused.contains("shop/, bank/"),
            "{refused}"
        );
    }
    let refused =
        shop.server.refused("ada", "get_file_content", &json!({"repository_alias": "city", "file_path": "bank"}));
    assert!(!refused.contains("null"), "{refused}");
}
