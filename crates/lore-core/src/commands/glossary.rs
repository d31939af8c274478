//! The words of the trade in Japanese, and the English words they stand for.
//!
//! Longer words come before shorter ones by themselves: the longest that fits is taken. A final ー is left out here and
//! passed over in texts, as people write サーバ and サーバー.

use std::{collections::HashMap, sync::LazyLock};

/// Words and what they stand for. The first English word counts most.
#[rustfmt::skip]
const WORDS: &[(&str, &str)] = &[
    // Loanwords: git and hosting.
    ("コミット", "commit"), ("ブランチ", "branch"), ("マージ", "merge"), ("プッシュ", "push"), ("プル", "pull"),
    ("プルリクエスト", "pull request pr"), ("プルリク", "pull request pr"), ("リクエスト", "request"), ("リベース", "rebase"),
    ("リポジトリ", "repository repo"), ("レポジトリ", "repository repo"), ("クローン", "clone"), ("フェッチ", "fetch"),
    ("チェックアウト", "checkout"), ("ステージ", "stage"), ("ステージング", "stage"), ("アンステージ", "unstaged"),
    ("スタッシュ", "stash"), ("タグ", "tag"), ("リリース", "release"), ("フォーク", "fork"), ("コンフリクト", "conflict"),
    ("ワークツリ", "worktree"), ("ワーク", "work"), ("ヘッド", "head"), ("リモート", "remote"), ("ローカル", "local"),
    ("チェリーピック", "cherrypick"), ("リバート", "revert"), ("リセット", "reset"), ("スカッシュ", "squash"),
    ("イシュー", "issue"), ("マイルストーン", "milestone"), ("ラベル", "label"), ("レビュ", "review"), ("レビュア", "reviewer"),
    // Loanwords: doing things.
    ("グループ", "group"), ("グルーピング", "group"), ("セマンティック", "semantic"), ("チェック", "check"), ("テスト", "test"),
    ("ビルド", "build"), ("デプロイ", "deploy"), ("インストール", "install"), ("アップデート", "update"), ("アップグレード", "upgrade"),
    ("ダウンロード", "download"), ("アップロード", "upload"), ("インポート", "import"), ("エクスポート", "export"),
    ("リファクタリング", "refactor"), ("リファクタ", "refactor"), ("デバッグ", "debug"),
    ("フォーマット", "format"), ("リント", "lint"), ("コンパイル", "compile"), ("コピ", "copy"), ("マイグレーション", "migration migrate"),
    ("セットアップ", "setup"), ("スケジュール", "schedule"), ("スキャン", "scan"), ("フィルタ", "filter"), ("ソート", "sort"),
    ("キャッシュ", "cache"), ("リトライ", "retry"), ("ロールバック", "rollback"), ("バックアップ", "backup"), ("モニタリング", "monitor"),
    ("ログイン", "login"), ("ログアウト", "logout"), ("リスト", "list"), ("リストアップ", "list"), ("ピックアップ", "select"),
    ("セレクト", "select"), ("クリエイト", "create"), ("リネーム", "rename"), ("パース", "parse"), ("レンダリング", "render"),
    ("クリーンアップ", "cleanup clean"), ("クローズ", "close"), ("オープン", "open"), ("アーカイブ", "archive"), ("リロード", "reload"),
    ("トリアージ", "triage"), ("プラン", "plan"), ("プランニング", "plan"), ("エコー", "echo"), ("ベンチマーク", "benchmark"),
    // Loanwords: things.
    ("コマンド", "command"), ("プロンプト", "prompt"), ("ファイル", "file"), ("フォルダ", "folder directory"),
    ("ディレクトリ", "directory folder"), ("パス", "path"), ("コード", "code"), ("ソース", "source"), ("プログラム", "program"),
    ("スクリプト", "script"), ("モジュール", "module"), ("パッケージ", "package"), ("ライブラリ", "library"), ("クラス", "class"),
    ("メソッド", "method"), ("インターフェース", "interface"), ("インタフェース", "interface"), ("オブジェクト", "object"),
    ("コンポーネント", "component"), ("プロジェクト", "project"), ("タスク", "task"), ("チケット", "ticket"), ("バグ", "bug"),
    ("エラ", "error"), ("ログ", "log"), ("メッセージ", "message"), ("コメント", "comment"), ("ドキュメント", "document docs"),
    ("マニュアル", "manual"), ("ガイド", "guide"), ("チュートリアル", "tutorial"), ("テンプレート", "template"), ("スキーマ", "schema"),
    ("データ", "data"), ("データベース", "database"), ("テーブル", "table"), ("カラム", "column"), ("クエリ", "query"),
    ("インデックス", "index"), ("サーバ", "server"), ("クライアント", "client"), ("ユーザ", "user"), ("エージェント", "agent"),
    ("システム", "system"), ("サービス", "service"), ("ツール", "tool"), ("プラグイン", "plugin"), ("スキル", "skill"),
    ("オプション", "option"), ("パラメータ", "parameter"), ("パラメタ", "parameter"), ("バージョン", "version"), ("ドメイン", "domain"),
    ("アクション", "action"), ("ターゲット", "target"), ("レジストリ", "registry"), ("メタデータ", "metadata"), ("メタ", "meta"),
    ("フロントマタ", "frontmatter"), ("フロントマッタ", "frontmatter"), ("スペック", "spec"), ("デザイン", "design"),
    ("アーキテクチャ", "architecture"), ("セキュリティ", "security"), ("パフォーマンス", "performance"), ("メトリクス", "metrics"),
    ("カバレッジ", "coverage"), ("ステータス", "status"), ("セッション", "session"), ("トークン", "token"), ("パイプライン", "pipeline"),
    ("ワークフロ", "workflow"), ("フロー", "flow"), ("イテレーション", "iteration"), ("ループ", "loop"), ("モード", "mode"),
    ("ページ", "page"), ("ボタン", "button"), ("フォーム", "form"), ("コンテナ", "container"), ("イメージ", "image"),
    ("サブ", "sub"), ("ユニット", "unit"), ("ベース", "base"), ("デフォルト", "default"), ("サンプル", "sample example"),
    ("プレビュ", "preview"), ("レポート", "report"), ("サマリ", "summary"), ("チェンジログ", "changelog"), ("ノート", "note"),
    ("アイデア", "idea"), ("ストーリ", "story"), ("ユースケース", "usecase"), ("シナリオ", "scenario"), ("モデル", "model"),
    ("フック", "hook"), ("イベント", "event"), ("キュー", "queue"), ("ジョブ", "job"), ("スレッド", "thread"), ("プロセス", "process"),
    // Verbs and their nouns.
    ("変更", "change"), ("差分", "diff change"), ("作成", "create"), ("新規作成", "create new"), ("生成", "generate create"),
    ("追加", "add"), ("削除", "delete remove"), ("除去", "remove"), ("更新", "update"), ("修正", "fix"), ("修復", "repair fix"),
    ("改善", "improve"), ("改修", "modify"), ("編集", "edit"), ("検索", "search find"), ("探索", "explore find"), ("発見", "find"),
    ("探", "find search"), ("見つけ", "find"), ("調査", "investigate research"), ("調べ", "investigate"), ("分析", "analyze analysis"),
    ("解析", "analyze parse"), ("確認", "check verify confirm"), ("検証", "verify validate"), ("検査", "inspect check"),
    ("判断", "decide"), ("判定", "decide judge"), ("決定", "decide"), ("決め", "decide"), ("選択", "select"), ("選定", "select"),
    ("選", "select choose"), ("一覧", "list"), ("列挙", "list enumerate"), ("実行", "run execute"), ("実施", "execute run"),
    ("実装", "implement"), ("開発", "develop dev"), ("設計", "design"), ("計画", "plan"), ("構築", "build"), ("変換", "convert"),
    ("移行", "migrate"), ("移動", "move"), ("複製", "copy clone"), ("分割", "split"), ("分け", "split"), ("分類", "classify group"),
    ("整理", "organize"), ("統合", "integrate merge"), ("結合", "join merge"), ("集約", "aggregate group"), ("まとめ", "group summarize"),
    ("取り込", "merge import"), ("取得", "get fetch"), ("読み込", "load read"), ("読み取", "read"), ("書き込", "write"),
    ("書き換", "rewrite"), ("保存", "save"), ("出力", "output"), ("入力", "input"), ("表示", "show display"), ("説明", "describe explain"),
    ("記述", "describe write"), ("記録", "record"), ("登録", "register"), ("公開", "publish release"), ("配布", "distribute"),
    ("送信", "send"), ("受信", "receive"), ("通知", "notify"), ("報告", "report"), ("要約", "summarize summary"), ("翻訳", "translate"),
    ("比較", "compare"), ("並べ替え", "sort"), ("絞り込", "filter"), ("抽出", "extract"), ("置換", "replace"), ("適用", "apply"),
    ("設定", "config configure setting"), ("構成", "configuration structure"), ("導入", "introduce install"), ("起動", "start"),
    ("開始", "start"), ("停止", "stop"), ("終了", "end finish"), ("完了", "complete done"), ("再開", "resume"), ("再実行", "retry rerun"),
    ("再試行", "retry"), ("監視", "monitor watch"), ("管理", "manage"), ("最適化", "optimize"), ("自動化", "automate"), ("初期化", "initialize"),
    ("準備", "prepare"), ("提案", "suggest propose"), ("指摘", "point review"), ("承認", "approve"), ("却下", "reject"), ("依頼", "request"),
    ("連携", "integrate"), ("同期", "sync"), ("接続", "connect"), ("認証", "authentication auth"), ("許可", "allow permission"),
    ("命名", "name"), ("改名", "rename"), ("名付け", "name"), ("直", "fix"), ("作", "create"), ("消", "delete"), ("戻", "revert back"),
    ("進め", "proceed"), ("始め", "start"), ("終え", "finish"), ("閉じ", "close"), ("開", "open"), ("見直", "review"), ("読", "read"),
    ("書", "write"), ("送", "send"), ("使", "use"), ("学習", "learn"), ("評価", "evaluate"), ("測定", "measure"), ("計測", "measure"),
    ("つく", "create"), ("なお", "fix"), ("さが", "find search"), ("わけ", "split"), ("しらべ", "investigate"), ("えら", "select"),
    // Things and qualities.
    ("仕様", "specification spec"), ("要件", "requirement"), ("要求", "requirement request"), ("課題", "issue task"), ("問題", "issue problem"),
    ("不具合", "bug"), ("障害", "incident failure"), ("例外", "exception"), ("警告", "warning"), ("文書", "document docs"), ("資料", "document"),
    ("手順", "procedure step"), ("指示", "instruction"), ("命令", "command instruction"), ("履歴", "history"), ("依存", "dependency depend"),
    ("依存関係", "dependency"), ("関数", "function"), ("変数", "variable"), ("定数", "constant"), ("引数", "argument"), ("型", "type"),
    ("単位", "unit"), ("単体", "unit"), ("単体テスト", "unit test"), ("結合テスト", "integration test"), ("品質", "quality"), ("性能", "performance"),
    ("機能", "feature function"), ("画面", "screen page"), ("環境", "environment"), ("内容", "content"), ("対象", "target"), ("種類", "type kind"),
    ("意味", "semantic meaning"), ("意味的", "semantic"), ("派生", "derived descendant"), ("子孫", "descendant"), ("親", "parent base"),
    ("基底", "base"), ("元", "base source"), ("最古", "oldest"), ("最新", "latest newest"), ("古", "old"), ("新規", "new"), ("新し", "new"),
    ("関連", "related"), ("複数", "multiple"), ("未ステージ", "unstaged"), ("未コミット", "uncommitted unstaged"), ("作業", "work working task"),
    ("作業ブランチ", "working branch"), ("次", "next"), ("前", "previous"), ("全", "all"), ("特定", "specific"), ("詳細", "detail"),
    ("概要", "overview summary"), ("規約", "convention rule"), ("規則", "rule"), ("準拠", "compliant conform"), ("例", "example"),
    ("付", "with"), ("行", "line"), ("列", "column"), ("名前", "name"), ("値", "value"), ("鍵", "key"), ("権限", "permission"),
    ("本番", "production"), ("議論", "discussion"), ("会議", "meeting"), ("週", "week"), ("月", "month"), ("日", "day"), ("順番", "order"),
    ("順序", "order"), ("構造", "structure"), ("設計書", "design document"), ("議事録", "minutes"), ("雛形", "template"), ("的", ""), ("化", ""),
];

static TABLE: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| WORDS.iter().copied().collect());

/// The longest word in characters.
static LONGEST: LazyLock<usize> =
    LazyLock::new(|| WORDS.iter().map(|(word, _)| word.chars().count()).max().unwrap_or(0));

/// The longest word with which a text begins: how many characters it has there, and what it stands for.
pub(super) fn longest(text: &[char]) -> Option<(usize, &'static str)> {
    let most = text.len().min(*LONGEST);
    let word: String = text[..most].iter().collect();
    let ends: Vec<usize> = word.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let (length, english) =
        (1..=most).rev().find_map(|length| TABLE.get(&word[..ends[length - 1]]).map(|english| (length, *english)))?;
    let long_vowel = usize::from(text.get(length) == Some(&'ー'));
    Some((length + long_vowel, english))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_there_once_and_can_be_met() {
        for (at, (word, english)) in WORDS.iter().enumerate() {
            assert!(WORDS[..at].iter().all(|(other, _)| other != word), "{word} is there twice");
            assert!(!word.ends_with('ー') || word.chars().count() <= 4, "{word}");
            assert!(english.split(' ').all(|word| word.bytes().all(|b| b.is_ascii_lowercase())), "{english}");
            let text: Vec<char> = word.chars().collect();
            assert_eq!(longest(&text), Some((text.len(), *english)), "{word}");
        }
    }
}
