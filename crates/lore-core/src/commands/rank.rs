//! Which commands a question means: cosine of TF-IDF vectors, 0 to 1.

use std::collections::HashMap;

use super::{Command, tokens::tokens};

/// How many commands are found at most.
pub(super) const FOUND_MAX: usize = 10;

/// The vectors of an agent's commands.
#[derive(Debug)]
pub(super) struct Index {
    /// How many commands there are.
    total: usize,
    /// In how many commands a token occurs.
    spread: HashMap<String, usize>,
    /// Which command (the first of its name), its tokens and the length of its vector.
    documents: Vec<(usize, HashMap<String, f32>, f32)>,
}

impl Index {
    pub(super) fn new<'a>(commands: impl Iterator<Item = &'a Command>) -> Self {
        let mut seen = std::collections::HashSet::new();
        let mut spread: HashMap<String, usize> = HashMap::new();
        let mut read = Vec::new();
        for (at, command) in commands.enumerate().filter(|(_, command)| seen.insert(&command.name)) {
            let usage = command.usage.as_deref().unwrap_or_default();
            let words = tokens(&format!("{} {} {usage}", command.name, command.description));
            for word in words.keys() {
                *spread.entry(word.clone()).or_default() += 1;
            }
            read.push((at, words));
        }
        let mut index = Self { total: read.len(), spread, documents: Vec::new() };
        let vectors = read.into_iter().map(|(at, words)| (at, index.weighted(&words)));
        let documents = vectors.map(|(at, vector)| {
            let length = length(&vector);
            (at, vector, length)
        });
        index.documents = documents.collect();
        index
    }

    /// The commands that have something of the question, best first, in the order of the registry where they are equal.
    pub(super) fn search(&self, query: &str) -> Vec<(usize, f64)> {
        let question = self.weighted(&tokens(query));
        let norm = length(&question);
        let scored = self.documents.iter().filter_map(|(at, vector, length)| {
            // The same order of additions gives the same sum: the shorter one is sorted.
            let mut shared: Vec<_> =
                question.iter().filter_map(|(word, weight)| Some((word, weight * vector.get(word)?))).collect();
            shared.sort_unstable_by(|a, b| a.0.cmp(b.0));
            let dot: f32 = shared.iter().map(|(_, product)| product).sum();
            let score = f64::from(dot / (norm * length)).clamp(0.0, 1.0);
            let score = (score * 10_000.0).round() / 10_000.0;
            (score > 0.0).then_some((*at, score))
        });
        let mut found: Vec<_> = scored.collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(FOUND_MAX);
        found
    }

    /// Rare words count more. A word that no command has tells little: the question was asked in other words.
    fn weighted(&self, words: &HashMap<String, f32>) -> HashMap<String, f32> {
        #[expect(clippy::cast_precision_loss, reason = "nobody has sixteen million commands")]
        let rarity = |word: &String| match self.spread.get(word) {
            Some(some) => ((1.0 + self.total as f32) / (1.0 + *some as f32)).ln() + 0.5,
            None => 0.5,
        };
        words.iter().map(|(word, count)| (word.clone(), count.sqrt() * rarity(word))).collect()
    }
}

/// The length of a vector, added up in one order so that it is always the same.
fn length(vector: &HashMap<String, f32>) -> f32 {
    let mut squares: Vec<f32> = vector.values().map(|weight| weight * weight).collect();
    squares.sort_unstable_by(f32::total_cmp);
    squares.iter().sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::{super::CommandName, *};

    /// The commands of the document: domain, action, target, and the description in both languages.
    const DOCUMENT: [(&str, &str, &str, &str, &str); 7] = [
        (
            "climpt-git",
            "decide-branch",
            "working-branch",
            "タスク内容に基づいてブランチ作成判断",
            "Analyze task content and decide whether to create a new branch",
        ),
        (
            "climpt-git",
            "find-oldest",
            "descendant-branch",
            "最古の関連ブランチを検索・マージ",
            "Find descendant and sibling branches from the current branch and merge the oldest related branch",
        ),
        (
            "climpt-git",
            "group-commit",
            "unstaged-changes",
            "変更をセマンティック単位でコミット",
            "Group file changes by semantic proximity and execute multiple commits sequentially",
        ),
        (
            "climpt-git",
            "list-select",
            "pr-branch",
            "PR付きブランチ一覧から次のターゲット選択",
            "List local and remote branches with PRs, then auto-select the next target to work on",
        ),
        (
            "climpt-git",
            "merge-up",
            "base-branch",
            "派生ブランチを親ブランチにマージ",
            "Merge a derived working branch back into its parent working branch",
        ),
        (
            "climpt-meta",
            "build",
            "frontmatter",
            "C3L v0.5 準拠 frontmatter 生成",
            "Generate C3L v0.5 compliant frontmatter for Climpt instruction files",
        ),
        (
            "climpt-meta",
            "create",
            "instruction",
            "新規 instruction ファイル作成",
            "Create a new Climpt instruction file from stdin input, following C3L specification with all required configurations",
        ),
    ];

    fn commands(japanese: bool) -> Vec<Command> {
        let command = |(c1, c2, c3, ja, en): (&str, &str, &str, &str, &str)| Command {
            name: CommandName::new(c1, c2, c3),
            description: if japanese { ja } else { en }.to_owned(),
            usage: None,
            options: None,
            uv: Vec::new(),
        };
        DOCUMENT.into_iter().map(command).collect()
    }

    /// The actions that are found, best first, with either language's descriptions.
    fn check(query: &str, first: &str) {
        for japanese in [true, false] {
            let commands = commands(japanese);
            let found = Index::new(commands.iter()).search(query);
            let best = found.first().map(|(at, _)| commands[*at].name.c2.as_str());
            assert_eq!(best.unwrap_or("(nothing)"), first, "{query} (Japanese descriptions: {japanese}): {found:?}");
            assert!(found.iter().all(|(_, score)| *score > 0.0 && *score <= 1.0), "{found:?}");
            assert!(found.is_sorted_by(|a, b| a.1 >= b.1), "{found:?}");
        }
    }

    #[test]
    fn questions_in_either_language_find_commands_in_either_language() {
        check("変更をグループ化してコミット", "group-commit");
        check("commit my changes in groups", "group-commit");
        check("コミット", "group-commit");
        check("ｺﾐｯﾄ", "group-commit");
        check("意味のまとまりごとにコミットしたい", "group-commit");
        check("ブランチを作るか判断する", "decide-branch");
        check("should I create a branch", "decide-branch");
        check("親ブランチにマージ", "merge-up");
        check("merging into the parent branch", "merge-up");
        check("一番古いブランチを探す", "find-oldest");
        check("PRの一覧から選ぶ", "list-select");
        check("フロントマターを生成", "build");
        check("新しい指示ファイルを作成", "create");
        check("group-commit", "group-commit");
        check("GroupCommit", "group-commit");
        check("天気予報", "(nothing)");
        check("", "(nothing)");
        check("the", "(nothing)");
    }

    #[test]
    fn the_example_of_the_document_is_a_clear_match() {
        for japanese in [true, false] {
            let commands = commands(japanese);
            let found = Index::new(commands.iter()).search("変更をグループ化してコミット");
            assert!(found[0].1 > 0.5 && found.get(1).is_none_or(|second| second.1 < found[0].1 / 2.0), "{found:?}");
        }
    }

    #[test]
    fn at_most_ten_are_found_and_equals_keep_their_order() {
        let command = |at: usize| Command {
            name: CommandName::new("git", "commit", format!("target{at}")),
            description: "Commit".to_owned(),
            usage: None,
            options: None,
            uv: Vec::new(),
        };
        let many: Vec<Command> = (0..40).chain(0..40).map(command).collect();
        let found = Index::new(many.iter()).search("commit");
        assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    }
}
