//! `accuracy` of `search_code` and `lore search`.

use serde_json::json;

use crate::place::Place;

#[test]
fn an_accuracy_is_one_of_three() {
    let place = Place::new();
    let repo = place.repo("shop");
    repo.write("src/auth.py", "def authenticate(user):\n    \"\"\"Checks the password.\"\"\"\n    return user.ok\n")
        .commit("Begin");
    place.add(repo.path(), &[]);
    let project = repo.path().to_str().expect("temporary paths are UTF-8");
    let mut server = place.serve(&["--no-refresh", "--toolsets", "code", "--project", project]);
    for accuracy in ["fast", "balanced", "high", "High", ""] {
        let answer = server
            .call("search_code", &json!({"query_text": "check the password", "accuracy": accuracy, "min_score": 0.0}));
        assert!(!answer.is_error, "{accuracy}: {}", answer.text);
        assert_eq!(answer.value["results"]["results"][0]["file_path"], "src/auth.py", "{accuracy}: {}", answer.text);
    }
    let answer = server.call("search_code", &json!({"query_text": "check", "accuracy": "perfect"}));
    assert!(answer.is_error && answer.text.contains("there is no accuracy `perfect`"), "{}", answer.text);
    assert!([&answer.text, &answer.more].iter().any(|said| said.contains("fast, balanced or high")), "{}", answer.text);
    let mut command = place.lore.command(&["search", "check the password", "--accuracy", "high", "--json"]);
    let printed = command.current_dir(repo.path()).output().expect("it starts");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let mut command = place.lore.command(&["search", "x", "--accuracy", "perfect"]);
    let printed = command.current_dir(repo.path()).output().expect("it starts");
    let said = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(!printed.status.success() && said.contains("fast") && said.contains("high"), "{said}");
}
