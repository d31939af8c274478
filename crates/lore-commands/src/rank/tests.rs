//! Which command is found first, for questions as people ask them.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use lore_testkit::DOCUMENT;

use super::{super::CommandName, *};

/// Commands of a team that does not exist.
const TEAM: [(&str, &str, &str, &str); 16] = [
    ("code", "lint", "files", "Run the linter over the changed files"),
    ("code", "fix", "bug", "Find the cause of a bug and fix it"),
    ("code", "review", "diff", "Review a diff before it is pushed"),
    ("code", "split", "module", "Split a large module into smaller ones"),
    ("code", "explain", "path", "Explain what the code below a path does"),
    ("git", "pull", "main", "Pull the main branch and resolve conflicts"),
    ("git", "reset", "branch", "Reset a branch to what the remote has"),
    ("git", "log", "week", "Summarise the log of the last week"),
    ("docs", "translate", "page", "Translate a documentation page into Japanese"),
    ("docs", "find", "stale", "Find documentation that no longer matches the code"),
    ("plan", "day", "work", "Plan the day from the open issues"),
    ("issue", "select", "next", "Select the next issue to work on"),
    ("release", "write", "notes", "Write release notes from the merged pull requests"),
    ("test", "add", "missing", "テストが足りない関数に単体テストを追加する"),
    ("db", "migrate", "schema", "データベースのスキーマを安全に移行する"),
    ("meta", "name", "command", "新しいコマンドの名前を決める"),
];

fn command((c1, c2, c3): (&str, &str, &str), description: &str, usage: Option<String>) -> Command {
    Command {
        name: CommandName::new(c1, c2, c3),
        description: description.to_owned(),
        usage,
        options: None,
        uv: Vec::new(),
    }
}

fn document(japanese: bool) -> Vec<Command> {
    let made = |(c1, c2, c3, ja, en): (&str, &str, &str, &str, &str)| {
        command((c1, c2, c3), if japanese { ja } else { en }, Some(format!("{c1} {c2} {c3}")))
    };
    DOCUMENT.into_iter().map(made).collect()
}

fn team() -> Vec<Command> {
    TEAM.into_iter().map(|(c1, c2, c3, description)| command((c1, c2, c3), description, None)).collect()
}

/// The first action that is found for each question, the one that was meant where it is another, and how many are right.
fn table(commands: &[Command], questions: &[(&str, &str)], expected: &Expect) {
    let index = Index::new(commands.iter());
    let (mut shown, mut right) = (String::new(), 0);
    for (query, meant) in questions {
        let found = index.search(query);
        assert!(found.iter().all(|(_, score)| *score > 0.0 && *score <= 1.0), "{found:?}");
        assert!(found.is_sorted_by(|a, b| a.1 >= b.1) && found.len() <= FOUND_MAX, "{found:?}");
        let of = |at: usize| found.get(at).map(|(at, score)| (commands[*at].name.c2.as_str(), *score));
        let (first, score) = of(0).unwrap_or(("(nothing)", 0.0));
        let second = of(1).map(|(name, score)| format!(", {score:.2} {name}")).unwrap_or_default();
        right += usize::from(first == *meant);
        let instead = if first == *meant { String::new() } else { format!(" INSTEAD OF {meant}") };
        writeln!(shown, "{score:.2} {first:<13} {query}{second}{instead}").unwrap();
    }
    writeln!(shown, "{right} of {} are right", questions.len()).unwrap();
    expected.assert_eq(&shown);
}

/// Questions about the commands of the document.
const ABOUT_DOCUMENT: &[(&str, &str)] = &[
    ("変更をグループ化してコミット", "group-commit"),
    ("commit my changes in groups", "group-commit"),
    ("コミット", "group-commit"),
    ("ｺﾐｯﾄ", "group-commit"),
    ("意味のまとまりごとにコミットしたい", "group-commit"),
    ("I have a lot of uncommitted files", "group-commit"),
    ("未コミットの変更がたくさんある", "group-commit"),
    ("working tree changes", "group-commit"),
    ("差分を分けてコミットして", "group-commit"),
    ("GroupCommit", "group-commit"),
    ("groupcommit", "group-commit"),
    ("ブランチを作るか判断する", "decide-branch"),
    ("should I create a branch", "decide-branch"),
    ("新しいブランチを切るべき？", "decide-branch"),
    ("do I need a new branch for this task", "decide-branch"),
    ("親ブランチにマージ", "merge-up"),
    ("merging into the parent branch", "merge-up"),
    ("作業が終わったので親に取り込む", "merge-up"),
    ("merge back to base", "merge-up"),
    ("最も古いブランチ", "find-oldest"),
    ("一番古いブランチを探す", "find-oldest"),
    ("一番古い派生ブランチを取り込む", "find-oldest"),
    ("which branch is the oldest", "find-oldest"),
    ("search for old branches", "find-oldest"),
    ("PRの一覧から選ぶ", "list-select"),
    ("show open pull requests", "list-select"),
    ("プルリクエストの一覧", "list-select"),
    ("pick the next PR", "list-select"),
    ("次にやるブランチを選んで", "list-select"),
    ("front matter", "build"),
    ("add yaml front matter to a prompt", "build"),
    ("フロントマターを生成", "build"),
    ("frontmatterをつくる", "build"),
    ("新しい指示ファイルを作成", "create"),
    ("コマンドを追加したい", "create"),
    ("add a new prompt", "create"),
    ("write a new instruction", "create"),
    ("プロンプトを新規作成", "create"),
];

#[test]
fn questions_about_english_descriptions() {
    table(
        &document(false),
        ABOUT_DOCUMENT,
        &expect![[r#"
        0.69 group-commit  変更をグループ化してコミット
        0.69 group-commit  commit my changes in groups
        0.42 group-commit  コミット
        0.42 group-commit  ｺﾐｯﾄ
        0.65 group-commit  意味のまとまりごとにコミットしたい
        0.46 group-commit  I have a lot of uncommitted files, 0.08 build
        0.58 group-commit  未コミットの変更がたくさんある
        0.40 group-commit  working tree changes, 0.08 merge-up
        0.46 group-commit  差分を分けてコミットして
        0.57 group-commit  GroupCommit
        0.57 group-commit  groupcommit
        0.66 decide-branch ブランチを作るか判断する, 0.18 create
        0.54 decide-branch should I create a branch, 0.22 create
        0.69 decide-branch 新しいブランチを切るべき？, 0.23 create
        0.49 decide-branch do I need a new branch for this task, 0.16 create
        0.67 merge-up      親ブランチにマージ, 0.23 find-oldest
        0.67 merge-up      merging into the parent branch, 0.23 find-oldest
        0.60 merge-up      作業が終わったので親に取り込む, 0.21 decide-branch
        0.68 merge-up      merge back to base, 0.13 find-oldest
        0.55 find-oldest   最も古いブランチ, 0.10 merge-up
        0.73 find-oldest   一番古いブランチを探す, 0.07 merge-up
        0.55 find-oldest   一番古い派生ブランチを取り込む, 0.47 merge-up
        0.55 find-oldest   which branch is the oldest, 0.10 merge-up
        0.50 find-oldest   search for old branches, 0.10 merge-up
        0.78 list-select   PRの一覧から選ぶ
        0.36 list-select   show open pull requests
        0.51 list-select   プルリクエストの一覧
        0.60 list-select   pick the next PR
        0.55 list-select   次にやるブランチを選んで, 0.08 merge-up
        0.50 build         front matter
        0.52 build         add yaml front matter to a prompt, 0.13 create
        0.61 build         フロントマターを生成, 0.05 create
        0.45 build         frontmatterをつくる, 0.20 create
        0.55 create        新しい指示ファイルを作成, 0.29 build
        0.25 create        コマンドを追加したい, 0.20 build
        0.33 create        add a new prompt, 0.24 decide-branch
        0.43 create        write a new instruction, 0.26 build
        0.38 create        プロンプトを新規作成, 0.23 decide-branch
        38 of 38 are right
    "#]],
    );
}

#[test]
fn questions_about_japanese_descriptions() {
    table(
        &document(true),
        ABOUT_DOCUMENT,
        &expect![[r#"
        0.76 group-commit  変更をグループ化してコミット
        0.76 group-commit  commit my changes in groups
        0.52 group-commit  コミット
        0.52 group-commit  ｺﾐｯﾄ
        0.71 group-commit  意味のまとまりごとにコミットしたい
        0.40 group-commit  I have a lot of uncommitted files, 0.23 create
        0.69 group-commit  未コミットの変更がたくさんある
        0.47 group-commit  working tree changes, 0.12 decide-branch
        0.57 group-commit  差分を分けてコミットして
        0.60 group-commit  GroupCommit
        0.60 group-commit  groupcommit
        0.72 decide-branch ブランチを作るか判断する, 0.26 create
        0.55 decide-branch should I create a branch, 0.32 create
        0.61 decide-branch 新しいブランチを切るべき？, 0.39 create
        0.41 decide-branch do I need a new branch for this task, 0.29 create
        0.75 merge-up      親ブランチにマージ, 0.25 find-oldest
        0.75 merge-up      merging into the parent branch, 0.25 find-oldest
        0.49 merge-up      作業が終わったので親に取り込む, 0.33 decide-branch
        0.65 merge-up      merge back to base, 0.18 find-oldest
        0.61 find-oldest   最も古いブランチ, 0.11 merge-up
        0.76 find-oldest   一番古いブランチを探す, 0.08 merge-up
        0.60 find-oldest   一番古い派生ブランチを取り込む, 0.53 merge-up
        0.61 find-oldest   which branch is the oldest, 0.11 merge-up
        0.64 find-oldest   search for old branches, 0.09 merge-up
        0.88 list-select   PRの一覧から選ぶ
        0.41 list-select   show open pull requests
        0.58 list-select   プルリクエストの一覧
        0.68 list-select   pick the next PR
        0.63 list-select   次にやるブランチを選んで, 0.09 merge-up
        0.51 build         front matter
        0.45 build         add yaml front matter to a prompt, 0.24 create
        0.63 build         フロントマターを生成, 0.08 create
        0.47 build         frontmatterをつくる, 0.29 create
        0.95 create        新しい指示ファイルを作成, 0.14 decide-branch
        0.42 create        コマンドを追加したい, 0.07 decide-branch
        0.57 create        add a new prompt, 0.07 decide-branch
        0.76 create        write a new instruction, 0.04 decide-branch
        0.59 create        プロンプトを新規作成, 0.23 decide-branch
        38 of 38 are right
    "#]],
    );
}

#[test]
fn questions_about_commands_in_both_languages() {
    let questions = [
        ("lint", "lint"),
        ("リントを実行", "lint"),
        ("check the code style", "lint"),
        ("バグを直す", "fix"),
        ("repair a defect", "fix"),
        ("不具合の原因を調べて修正", "fix"),
        ("check my changes", "review"),
        ("変更を確認", "review"),
        ("コードレビューをお願い", "review"),
        ("大きいモジュールを分割", "split"),
        ("break up a big module", "split"),
        ("このコードを説明して", "explain"),
        ("what does this folder do", "explain"),
        ("コンフリクトを解消", "pull"),
        ("mainを取り込む", "pull"),
        ("ブランチをリモートに合わせて元に戻す", "reset"),
        ("discard my branch", "reset"),
        ("先週のログをまとめて", "log"),
        ("summary of last week", "log"),
        ("日本語に翻訳", "translate"),
        ("ドキュメントを翻訳", "translate"),
        ("translate docs", "translate"),
        ("古いドキュメントを探す", "find"),
        ("outdated documentation", "find"),
        ("search stale docs", "find"),
        ("今日の計画", "day"),
        ("what should I do today", "day"),
        ("次の課題を選ぶ", "select"),
        ("pick a ticket", "select"),
        ("リリースノートを書く", "write"),
        ("draft the changelog for a release", "write"),
        ("テストを追加", "add"),
        ("add unit tests", "add"),
        ("write missing tests", "add"),
        ("DBのマイグレーション", "migrate"),
        ("migrate the database", "migrate"),
        ("コマンド名を決める", "name"),
        ("name a new command", "name"),
    ];
    table(
        &team(),
        &questions,
        &expect![[r#"
        0.54 lint          lint
        0.71 lint          リントを実行
        0.28 review        check the code style, 0.25 lint INSTEAD OF lint
        0.81 fix           バグを直す, 0.11 pull
        0.46 fix           repair a defect, 0.18 pull
        0.93 fix           不具合の原因を調べて修正, 0.09 find
        0.34 lint          check my changes, 0.30 review INSTEAD OF review
        0.34 lint          変更を確認, 0.30 review INSTEAD OF review
        0.61 review        コードレビューをお願い, 0.10 explain
        0.84 split         大きいモジュールを分割
        0.60 split         break up a big module
        0.44 explain       このコードを説明して, 0.11 find
        0.35 explain       what does this folder do
        0.62 pull          コンフリクトを解消, 0.14 fix
        0.32 pull          mainを取り込む, 0.31 write
        0.48 reset         ブランチをリモートに合わせて元に戻す, 0.27 write
        0.62 reset         discard my branch, 0.26 pull
        0.89 log           先週のログをまとめて
        0.72 log           summary of last week
        0.71 translate     日本語に翻訳
        0.70 translate     ドキュメントを翻訳, 0.17 find
        0.73 translate     translate docs, 0.27 find
        0.60 find          古いドキュメントを探す, 0.29 fix
        0.47 find          outdated documentation, 0.39 translate
        0.60 find          search stale docs, 0.25 translate
        0.64 day           今日の計画
        0.34 day           what should I do today, 0.20 name
        0.95 select        次の課題を選ぶ, 0.24 day
        0.49 select        pick a ticket, 0.12 day
        0.82 write         リリースノートを書く
        0.51 write         draft the changelog for a release, 0.14 log
        0.75 add           テストを追加, 0.08 name
        0.81 add           add unit tests, 0.07 name
        0.44 add           write missing tests, 0.33 write
        0.69 migrate       DBのマイグレーション
        0.73 migrate       migrate the database
        0.87 name          コマンド名を決める
        0.84 name          name a new command, 0.07 add
        35 of 38 are right
    "#]],
    );
}

/// Words in which others are written, and questions about something else.
#[test]
fn what_no_command_is_for_finds_nothing_or_little() {
    let questions = [
        "スプリント",
        "シンプルにする",
        "ダイアログ",
        "カタログ",
        "プリセット",
        "パスワード",
        "レコード",
        "与えられた内容",
        "考えられる原因",
        "長さが違う",
        "というわけで",
        "なお",
        "直接",
        "日本",
        "例えば",
        "行う",
        "天気予報",
        "今日の天気は？",
        "おはようございます",
        "カレーの作り方",
        "weather forecast",
        "hello",
        "the",
        "",
        "buy milk",
        "날씨",
    ];
    let nothing: Vec<(&str, &str)> = questions.into_iter().map(|query| (query, "(nothing)")).collect();
    let commands = team();
    let index = Index::new(commands.iter());
    for (query, _) in &nothing {
        let found = index.search(query);
        assert!(found.first().is_none_or(|(_, score)| *score < 0.5), "{query}: {found:?}");
    }
    table(
        &commands,
        &nothing,
        &expect![[r#"
        0.00 (nothing)     スプリント
        0.00 (nothing)     シンプルにする
        0.00 (nothing)     ダイアログ
        0.00 (nothing)     カタログ
        0.00 (nothing)     プリセット
        0.00 (nothing)     パスワード
        0.00 (nothing)     レコード
        0.00 (nothing)     与えられた内容
        0.36 fix           考えられる原因 INSTEAD OF (nothing)
        0.00 (nothing)     長さが違う
        0.00 (nothing)     というわけで
        0.00 (nothing)     なお
        0.00 (nothing)     直接
        0.00 (nothing)     日本
        0.00 (nothing)     例えば
        0.00 (nothing)     行う
        0.00 (nothing)     天気予報
        0.45 day           今日の天気は？ INSTEAD OF (nothing)
        0.00 (nothing)     おはようございます
        0.23 add           カレーの作り方, 0.18 name INSTEAD OF (nothing)
        0.00 (nothing)     weather forecast
        0.00 (nothing)     hello
        0.00 (nothing)     the
        0.00 (nothing)     
        0.00 (nothing)     buy milk
        0.00 (nothing)     날씨
        23 of 26 are right
    "#]],
    );
}

#[test]
fn the_example_of_the_document_is_a_clear_match() {
    for japanese in [true, false] {
        let commands = document(japanese);
        let found = Index::new(commands.iter()).search("変更をグループ化してコミット");
        assert_eq!(commands[found[0].0].name.c2, "group-commit");
        assert!(found[0].1 > 0.5 && found.get(1).is_none_or(|second| second.1 < found[0].1 / 2.0), "{found:?}");
    }
}

#[test]
fn a_description_finds_its_command_with_a_very_high_score() {
    for commands in [document(false), document(true), team()] {
        let index = Index::new(commands.iter());
        for (at, command) in commands.iter().enumerate() {
            let found = index.search(&command.description);
            assert!(found[0].0 == at && found[0].1 >= 0.8, "{}: {found:?}", command.name);
        }
    }
}

#[test]
fn the_exact_word_counts_more_than_another_for_it() {
    let commands = [
        command(("docs", "remove", "page"), "Remove a page", None),
        command(("docs", "delete", "page"), "Delete a page", None),
    ];
    let index = Index::new(commands.iter());
    for (query, first) in [("remove", 0), ("delete", 1)] {
        let found = index.search(query);
        assert!(found.len() == 2 && found[0].0 == first && found[0].1 > found[1].1, "{query}: {found:?}");
    }
}

#[test]
fn the_questions_of_the_guide_find_its_command() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/commands.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, registry) = guide.split_once("```json\n").unwrap();
    let registry: serde_json::Value = serde_json::from_str(registry.split_once("```").unwrap().0).unwrap();
    let entry = &registry["tools"]["commands"][0];
    let field = |name: &str| entry[name].as_str().unwrap();
    let commands = [command((field("c1"), field("c2"), field("c3")), field("description"), None)];
    let index = Index::new(commands.iter());
    let lines = guide.lines().filter_map(|line| line.strip_prefix("lore commands search "));
    let questions: Vec<&str> = lines.map(|rest| rest.split('#').next().unwrap().trim().trim_matches('"')).collect();
    assert_eq!(questions, ["check my changes", "変更を確認"]);
    for query in questions {
        let found = index.search(query);
        assert!(found.first().is_some_and(|(_, score)| *score >= 0.2), "{query}: {found:?}");
    }
}

#[test]
fn at_most_ten_are_found_and_equals_keep_their_order() {
    let numbered = |at: usize| command(("git", "commit", format!("target{at}").as_str()), "Commit", None);
    let many: Vec<Command> = (0..40).chain(0..40).map(numbered).collect();
    let found = Index::new(many.iter()).search("commit");
    assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
}
