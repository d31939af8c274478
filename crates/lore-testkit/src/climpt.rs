//! The commands that climpt's document lists.

/// The commands of the document: domain, action, target, and the description in both languages.
pub const DOCUMENT: [(&str, &str, &str, &str, &str); 7] = [
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
