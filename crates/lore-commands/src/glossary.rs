//! The words of the trade in Japanese and the English words they stand for, and English words that mean the same.
//!
//! A final ー is left out here and passed over in texts, as people write サーバ and サーバー.

use std::{collections::HashMap, sync::LazyLock};

use super::tokens::stem;

/// Loanwords. The first English word counts most. They are met as a whole word of katakana, or as all parts of one, since
/// リント is no part of スプリント.
#[rustfmt::skip]
const LOANWORDS: &[(&str, &str)] = &[
    // Loanwords: git and hosting.
    ("コミット", "commit"), ("ブランチ", "branch"), ("マージ", "merge"), ("プッシュ", "push"), ("プル", "pull"),
    ("プルリクエスト", "pullrequest"), ("プルリク", "pullrequest"), ("リクエスト", "request"), ("リベース", "rebase"),
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
    ("スプリント", "sprint"), ("シンプル", "simple"), ("ダイアログ", "dialog"), ("カタログ", "catalog"), ("プリセット", "preset"),
    ("パスワード", "password"), ("レコード", "record"), ("アカウント", "account"), ("アクセス", "access"), ("アプリ", "app"),
    ("アプリケーション", "application app"), ("ウェブ", "web"), ("エディタ", "editor"), ("エンドポイント", "endpoint"), ("カスタム", "custom"),
    ("キー", "key"), ("クリーン", "clean"), ("ケース", "case"), ("コードベース", "codebase code"), ("コンテキスト", "context"), ("コンテンツ", "content"),
    ("スコア", "score"), ("スタイル", "style"), ("スタート", "start"), ("ストレージ", "storage"), ("セット", "set"), ("タイトル", "title"),
    ("タイプ", "type"), ("ダンプ", "dump"), ("チーム", "team"), ("チャット", "chat"), ("ツリー", "tree"), ("テキスト", "text"), ("デバイス", "device"),
    ("トピック", "topic"), ("トラブル", "trouble problem"), ("ネットワーク", "network"), ("バックエンド", "backend"), ("バッチ", "batch"),
    ("パターン", "pattern"), ("パッチ", "patch"), ("フィールド", "field"), ("フィーチャ", "feature"), ("フレームワーク", "framework"),
    ("フロントエンド", "frontend"), ("ブロック", "block"), ("プロフィール", "profile"), ("プロファイル", "profile"), ("ヘルプ", "help"),
    ("ポート", "port"), ("ポリシ", "policy"), ("マスタ", "master"), ("メイン", "main"), ("メインブランチ", "main branch"), ("メール", "mail"),
    ("メモ", "note memo"), ("メモリ", "memory"), ("メンテナンス", "maintenance"), ("ライセンス", "license"), ("ライン", "line"), ("リスク", "risk"),
    ("リソース", "resource"), ("リファレンス", "reference"), ("リンク", "link"), ("リンタ", "linter"), ("ルール", "rule"), ("レイヤ", "layer"),
    ("レベル", "level"), ("ロード", "load"), ("ワークスペース", "workspace"), ("ワーキングツリ", "workingtree"), ("ネーミング", "name"),
    ("アンドゥ", "undo"), ("スケルトン", "skeleton template"), ("ヘッダ", "header"), ("タイポ", "typo"), ("スペル", "spell"), ("ミス", "mistake"),
    ("インシデント", "incident"), ("ポストモーテム", "postmortem"), ("リグレッション", "regression"), ("ボトルネック", "bottleneck"),
    ("ドラフト", "draft"), ("ミーティング", "meeting"), ("デイリ", "daily"), ("ブレスト", "brainstorm"), ("ロードマップ", "roadmap"),
    ("リサーチ", "research"), ("スタブ", "stub"), ("モック", "mock"), ("フィードバック", "feedback"), ("アサイン", "assign"),
];

/// Words of two and more kanji.
#[rustfmt::skip]
const WORDS: &[(&str, &str)] = &[
    // Verbs and their nouns.
    ("変更", "change"), ("差分", "diff change"), ("作成", "create"), ("新規作成", "create new"), ("生成", "generate create"),
    ("追加", "add"), ("削除", "delete remove"), ("除去", "remove"), ("更新", "update"), ("修正", "fix"), ("修復", "repair fix"),
    ("改善", "improve"), ("改修", "modify"), ("編集", "edit"), ("検索", "search find"), ("探索", "explore find"), ("発見", "find"),
    ("調査", "investigate research"), ("分析", "analyze analysis"),
    ("解析", "analyze parse"), ("確認", "check verify confirm"), ("検証", "verify validate"), ("検査", "inspect check"),
    ("判断", "decide"), ("判定", "decide judge"), ("決定", "decide"), ("選択", "select"), ("選定", "select"),
    ("一覧", "list"), ("列挙", "list enumerate"), ("実行", "run execute"), ("実施", "execute run"),
    ("実装", "implement"), ("開発", "develop dev"), ("設計", "design"), ("計画", "plan"), ("構築", "build"), ("変換", "convert"),
    ("移行", "migrate"), ("移動", "move"), ("複製", "copy clone"), ("分割", "split"), ("分類", "classify group"),
    ("整理", "organize"), ("統合", "integrate merge"), ("結合", "join merge"), ("集約", "aggregate group"),
    ("取得", "fetch"),
    ("保存", "save"), ("出力", "output"), ("入力", "input"), ("表示", "show display"), ("説明", "describe explain"),
    ("記述", "describe write"), ("記録", "record"), ("登録", "register"), ("公開", "publish release"), ("配布", "distribute"),
    ("送信", "send"), ("受信", "receive"), ("通知", "notify"), ("報告", "report"), ("要約", "summarize summary"), ("翻訳", "translate"),
    ("比較", "compare"), ("抽出", "extract"), ("置換", "replace"), ("適用", "apply"),
    ("設定", "config configure setting"), ("構成", "configuration structure"), ("導入", "introduce install"), ("起動", "start"),
    ("開始", "start"), ("停止", "stop"), ("終了", "end finish"), ("完了", "complete done"), ("再開", "resume"), ("再実行", "retry rerun"),
    ("再試行", "retry"), ("監視", "monitor watch"), ("管理", "manage"), ("最適化", "optimize"), ("自動化", "automate"), ("初期化", "initialize"),
    ("準備", "prepare"), ("提案", "suggest propose"), ("指摘", "point review"), ("承認", "approve"), ("却下", "reject"), ("依頼", "request"),
    ("連携", "integrate"), ("同期", "sync"), ("接続", "connect"), ("認証", "authentication auth"), ("許可", "allow permission"),
    ("命名", "name"), ("改名", "rename"),
    ("学習", "learn"), ("評価", "evaluate"), ("測定", "measure"), ("計測", "measure"),
    // Things and qualities.
    ("仕様", "specification spec"), ("要件", "requirement"), ("要求", "requirement request"), ("課題", "issue task"), ("問題", "issue problem"),
    ("不具合", "bug"), ("障害", "incident failure"), ("例外", "exception"), ("警告", "warning"), ("文書", "document docs"), ("資料", "document"),
    ("手順", "procedure step"), ("指示", "instruction"), ("命令", "command instruction"), ("履歴", "history"), ("依存", "dependency depend"),
    ("依存関係", "dependency"), ("関数", "function"), ("変数", "variable"), ("定数", "constant"), ("引数", "argument"),
    ("単位", "unit"), ("単体", "unit"), ("品質", "quality"), ("性能", "performance"),
    ("機能", "feature function"), ("画面", "screen page"), ("環境", "environment"), ("内容", "content"), ("対象", "target"), ("種類", "type kind"),
    ("意味", "semantic meaning"), ("意味的", "semantic"), ("派生", "derived descendant"), ("子孫", "descendant"),
    ("基底", "base"), ("最古", "oldest"), ("最新", "latest newest"), ("新規", "new"),
    ("関連", "related"), ("複数", "multiple"), ("作業", "work working task"),
    ("特定", "specific"), ("詳細", "detail"),
    ("概要", "overview summary"), ("規約", "convention rule"), ("規則", "rule"), ("準拠", "compliant conform"),
    ("名前", "name"), ("権限", "permission"),
    ("本番", "production"), ("議論", "discussion"), ("会議", "meeting"), ("順番", "order"),
    ("順序", "order"), ("構造", "structure"), ("設計書", "design document"), ("議事録", "minutes"), ("雛形", "template"),
    ("行列", "matrix"), ("次元", "dimension"), ("日付", "date"), ("日次", "daily"), ("週次", "weekly"), ("月次", "monthly"), ("今日", "today day"),
    ("本日", "today day"), ("明日", "tomorrow day"), ("先週", "last week"), ("今週", "week"), ("来週", "next week"), ("一番", ""), ("最初", "first"),
    ("最後", "last"), ("最近", "recent"), ("今後", "future"), ("予定", "plan schedule"), ("原因", "cause"), ("理由", "reason"), ("影響", "impact affect"),
    ("範囲", "range scope"), ("日本語", "japanese"), ("英語", "english"), ("和訳", "translate japanese"), ("英訳", "translate english"),
    ("直接", "direct"), ("言語", "language"), ("文言", "wording"), ("文章", "text"), ("用語", "term"), ("辞書", "dictionary"), ("画像", "image"),
    ("本体", "body"), ("本文", "body"), ("題名", "title"), ("見出", "heading"), ("目次", "contents"), ("索引", "index"), ("一括", "batch all"),
    ("順次", "sequentially"), ("連続", "sequentially"), ("近接", "proximity"), ("近接性", "proximity"), ("類似", "similar"), ("重複", "duplicate"),
    ("不要", "unused"), ("必要", "required"), ("必須", "required"), ("失敗", "fail failure"), ("成功", "success"), ("解決", "resolve"), ("解消", "resolve"),
    ("競合", "conflict"), ("衝突", "conflict"), ("取消", "cancel undo"), ("破棄", "discard"), ("変遷", "history"), ("経緯", "history"),
    ("責務", "responsibility"), ("方針", "policy"), ("方法", "method how"), ("手法", "method"), ("標準入力", "stdin"), ("標準出力", "stdout"),
    ("現在", "current"), ("現状", "current status"), ("状態", "state status"), ("状況", "status"), ("進捗", "progress status"), ("期限", "deadline"),
    ("担当", "assign"), ("担当者", "assignee"), ("開発者", "developer"), ("利用者", "user"), ("利用", "use"), ("使用", "use"), ("未使用", "unused"),
    ("脆弱性", "vulnerability security"), ("安全", "safe security"), ("高速化", "performance optimize"), ("速度", "performance speed"), ("遅延", "delay"),
    ("負荷", "load"), ("容量", "capacity"), ("整形", "format"), ("静的解析", "lint analyze"), ("動作", "behavior work"), ("挙動", "behavior"),
    ("再現", "reproduce"), ("復旧", "recover"), ("復元", "restore"), ("保守", "maintenance"), ("運用", "operation"), ("反映", "apply"),
    ("共有", "share"), ("投稿", "post"), ("返信", "reply"), ("回答", "answer"), ("質問", "question"), ("検討", "consider"), ("相談", "consult"),
    ("指示書", "instruction"), ("指示文", "instruction prompt"), ("手順書", "procedure"), ("仕様書", "specification"), ("報告書", "report"),
    ("作業中", "working"), ("作業内容", "task content"), ("先頭", "head"), ("末尾", "end"), ("最小", "minimal"), ("最大", "maximum"),
    ("分岐", "branch"), ("本流", "main"), ("次回", "next"), ("前回", "previous"), ("全部", "all"), ("全体", "all whole"), ("一部", "part"),
    ("部分", "part"), ("各種", "various"), ("大量", "many"), ("多数", "many"), ("個別", "individual"), ("単独", "single"), ("別々", "separate"),
    ("名称", "name"), ("命名規則", "naming convention"), ("項目", "item field"), ("属性", "attribute"), ("形式", "format"), ("書式", "format"),
    ("雛型", "template"), ("見本", "sample"), ("事例", "example"), ("新機能", "new feature"), ("新着", "new"), ("外部", "external"), ("内部", "internal"),
    ("公式", "official"), ("社内", "internal"), ("顧客", "customer"), ("製品", "product"), ("納品", "delivery"), ("祝日", "holiday"),
];

/// Words of one kanji, and what is added to words. They are met alone or beside words that are known: 日 is no part of 日本.
#[rustfmt::skip]
const SINGLES: &[(&str, &str)] = &[
    ("型", "type"), ("親", "parent base"), ("元", "base source"), ("子", "child"), ("次", "next"), ("前", "previous"), ("全", "all"),
    ("例", "example"), ("行", "line"), ("列", "column"), ("値", "value"), ("鍵", "key"), ("週", "week"), ("月", "month"), ("日", "day"),
    ("名", "name"), ("新", "new"), ("旧", "old"), ("的", ""), ("化", ""), ("用", ""), ("中", ""), ("毎", ""), ("別", "separate"), ("各", ""),
    ("再", ""), ("後", ""), ("時", ""), ("済", ""), ("版", "version"), ("表", "table"), ("図", "diagram"), ("者", ""),
];

/// What begins with kanji and is known by the kana after it: how it begins, and with what it may go on.
#[rustfmt::skip]
const STEMS: &[(&str, &str, &str)] = &[
    ("探", "さしすせそ", "find search"), ("選", "ばびぶべぼん", "select choose"), ("直", "さしすせそっ", "fix"), ("作", "らりるれろっ", "create"),
    ("消", "さしすせそえ", "delete"), ("戻", "さしすせそらりるれろっ", "revert back"), ("開", "かきくけこい", "open"), ("読", "まみむめもん", "read"),
    ("書", "かきくけこい", "write"), ("送", "らりるれろっ", "send"), ("使", "わいうえおっ", "use"), ("切", "らりるれろっ", "cut create"),
    ("古", "いくかけ", "old"), ("新し", "いくかさめ", "new"), ("最も古", "いくかけ", "oldest"), ("一番古", "いくかけ", "oldest"),
    ("最も新し", "いくかさ", "latest"), ("一番新し", "いくかさ", "latest"), ("見つけ", "", "find"), ("見つか", "", "find"), ("調べ", "", "investigate"),
    ("決め", "", "decide"), ("決ま", "", "decide"), ("分け", "", "split"), ("分かれ", "", "split"), ("取り込", "まみむめもん", "merge import"),
    ("取込", "まみむめもん", "merge import"), ("読み込", "まみむめもん", "load read"), ("読み取", "らりるれろっ", "read"),
    ("書き込", "まみむめもん", "write"), ("書き換", "え", "rewrite"), ("並べ替え", "", "sort"), ("絞り込", "まみむめもん", "filter"),
    ("名付け", "", "name"), ("進め", "", "proceed"), ("始め", "", "start"), ("始ま", "", "start"), ("終え", "", "finish"), ("終わ", "", "finish"),
    ("閉じ", "", "close"), ("見直", "さしすせそ", "review"), ("書き直", "さしすせそ", "rewrite"), ("作り直", "さしすせそ", "recreate"),
    ("元に戻", "さしすせそらりるれろっ", "revert undo"), ("取り消", "さしすせそ", "cancel undo"),
    ("付", "きくけい", ""), ("加え", "", "add"), ("足", "さしすせそ", "add"), ("増や", "", "add"), ("除", "いかきくけ", "remove"), ("外", "さしすせそ", "remove"),
    ("捨て", "", "discard delete"), ("壊れ", "", "broken bug"), ("動か", "", "run work"), ("落ち", "", "fail crash"), ("変え", "", "change"),
    ("変わ", "", "change"), ("替え", "", "replace"), ("置き換え", "", "replace"), ("比べ", "", "compare"), ("確かめ", "", "check verify"),
    ("試", "さしすせそ", "try test"), ("測", "らりるれろっ", "measure"), ("訳", "さしすせそ", "translate"), ("教え", "", "explain"),
    ("束ね", "", "group bundle"), ("揃え", "", "align format"), ("整え", "", "format organize"), ("片付け", "", "cleanup organize"),
    ("統べ", "", "manage"), ("見", "たてるせ", "show view"), ("速", "いくさめ", "fast performance"), ("遅", "いくさ", "slow performance"),
    ("重", "いくさ", "slow"), ("大き", "いくさ", "large"), ("小さ", "いくさ", "small"), 
    ("繋", "いがぎぐげ", "connect"), ("合わせ", "", "merge join"), ("写", "さしすせそ", "copy"), ("移", "さしすせそ", "move"), ("配", "らりるれろっ", "distribute"),
    ("溜ま", "", "pending many"), ("考え", "", "think"), ("与え", "", "give"), ("違", "いうわえおっ", "different"), ("似", "たてる", "similar"),
    ("良", "いくさ", "good improve"), ("守", "らりるれろっ", "conform protect"), ("割", "らりるれろっ", "split"), ("起こ", "", "cause raise"),
    ("出", "さしすせそ", "output"), ("入れ", "", "insert add"), ("抜き出", "さしすせそ", "extract"), ("洗い出", "さしすせそ", "list identify"),
    ("立て", "", "plan"), ("残", "らりるれろっ", "remaining"), ("含", "まみむめもん", "include"), ("知", "らりるれろっ", ""), ("言", "わいうえおっ", ""),
    ("思", "わいうえおっ", ""), ("行", "わいうえおなっ", ""), ("出来", "るたてま", ""), ("欲し", "", ""), ("下さ", "", ""), ("頂", "いかきくけ", ""),
];

/// Words that begin with kanji and go on with katakana.
const MIXED: &[(&str, &str)] = &[
    ("未ステージング", "unstaged"),
    ("未ステージ", "unstaged"),
    ("未コミット", "uncommitted"),
    ("未マージ", "unmerged"),
    ("未テスト", "untested"),
    ("未プッシュ", "unpushed"),
];

/// Words in hiragana, with the beginning of their ending. They are met where a word can begin.
#[rustfmt::skip]
const HIRAGANA: &[(&str, &str)] = &[
    ("つくる", "create"), ("つくり", "create"), ("つくっ", "create"), ("つくれ", "create"), ("つくろ", "create"), ("なおす", "fix"), ("なおし", "fix"),
    ("なおせ", "fix"), ("なおっ", "fix"), ("さがす", "find search"), ("さがし", "find search"), ("さがせ", "find search"), ("わける", "split"), ("わけて", "split"),
    ("わけた", "split"), ("しらべる", "investigate"), ("しらべて", "investigate"), ("しらべた", "investigate"), ("えらぶ", "select"), ("えらん", "select"),
    ("えらび", "select"), ("まとめ", "group summarize"), ("まとま", "group"), ("けす", "delete"), ("けして", "delete"), ("もどす", "revert"), ("もどし", "revert"),
    ("みつけ", "find"), ("きめる", "decide"), ("きめて", "decide"), ("きめた", "decide"), ("ふるい", "old"), ("あたらしい", "new"), ("いちばんふるい", "oldest"),
    ("いちばん古い", "oldest"), ("もっとも古い", "oldest"), ("いちばん", ""), ("もっとも", ""), ("すべて", "all"), ("ぜんぶ", "all"), ("たくさん", "many"),
    ("やり直し", "redo"), ("やり直す", "redo"), ("ためす", "try test"), ("ためし", "try test"), ("たしかめ", "check verify"), ("くらべ", "compare"),
    ("かえる", "change"), ("ふやす", "add"), ("ふやし", "add"), ("つける", "add"), ("つけて", "add"), ("ならべ", "sort"), ("しらせ", "notify"),
];

/// What asks for a decision, wherever it stands.
const WHETHER: &[&str] = &["べき", "かどうか"];

/// English words that mean the same here. Two words that are one in effect are written as one.
const SAME: &[&str] = &[
    "pr prs pullrequest mergerequest",
    "uncommitted unstaged workingtree",
    "doc docs documentation document",
    "repo repository",
    "config configuration setting configure",
    "dir directory folder",
    "delete remove erase drop",
    "fix repair",
    "find search",
    "run execute",
    "spec specification",
    "arg argument parameter param",
    "auth authentication authenticate",
    "db database",
    "dev development develop",
    "env environment",
    "perf performance",
    "dep dependency dependencies",
    "bug defect",
    "summary summarize summarise digest",
    "analyze analyse analysis",
    "select choose pick",
    "decide whether should judge determine",
    "revert undo rollback",
    "optimize optimise",
    "organize organise",
    "init initialize initialise",
    "old oldest older",
    "func function",
    "msg message",
    "info information",
    "app application",
    "commit checkin",
    "semantic semantics meaning",
];

/// English words that are often used for each other.
const ALIKE: &[&str] = &[
    "create add new make generate scaffold",
    "prompt instruction command",
    "list show display enumerate view",
    "check review verify validate confirm inspect audit",
    "change diff modification modify patch edit",
    "merge combine integrate join bring",
    "parent base upstream",
    "derived descendant child",
    "group organize organise bundle batch cluster classify",
    "many multiple several lot",
    "split divide separate break",
    "newest latest recent",
    "issue ticket task problem todo",
    "bug error failure issue broken crash",
    "find investigate research explore",
    "fix debug resolve solve correct",
    "release publish ship",
    "deploy ship rollout",
    "update upgrade bump",
    "history log changelog",
    "start begin init initialize setup",
    "refactor restructure cleanup improve simplify",
    "performance optimize fast slow speed",
    "security vulnerability",
    "plan schedule roadmap today",
    "day daily today",
    "week weekly",
    "month monthly",
    "convert transform",
    "migrate migration upgrade",
    "copy clone duplicate",
    "write draft compose",
    "explain describe",
    "echo repeat print",
    "measure benchmark profile",
    "package library dependency",
    "name rename call",
    "frontmatter metadata header",
    "lint linter style",
    "translate localize japanese english",
    "reset discard restore",
    "template skeleton scaffold",
    "large big huge",
    "old stale outdated obsolete",
    "folder path",
    "guide manual tutorial",
    "content text",
];

/// The longest entry in characters.
pub(super) const LONGEST: usize = 12;

/// How much a word counts that means the same as another, and one that is used for it.
const SAME_WEIGHT: f32 = 0.8;
const ALIKE_WEIGHT: f32 = 0.5;

type Table = HashMap<&'static str, &'static str>;

fn table(words: &[(&'static str, &'static str)]) -> Table {
    words.iter().copied().collect()
}

static LOANWORD_TABLE: LazyLock<Table> = LazyLock::new(|| table(LOANWORDS));
static WORD_TABLE: LazyLock<Table> = LazyLock::new(|| table(WORDS));
static SINGLE_TABLE: LazyLock<Table> = LazyLock::new(|| table(SINGLES));
static GROUP_TABLE: LazyLock<HashMap<String, Vec<(String, f32)>>> = LazyLock::new(|| {
    let mut groups: HashMap<String, Vec<(String, f32)>> = HashMap::new();
    let same = SAME.iter().map(|words| (words, SAME_WEIGHT));
    for (words, weight) in same.chain(ALIKE.iter().map(|words| (words, ALIKE_WEIGHT))) {
        let first = words.split(' ').next().unwrap_or_default();
        for word in words.split(' ') {
            let of = groups.entry(stem(word)).or_default();
            // No word has this character, so no word is taken for a group.
            let group = format!("={first}");
            if of.iter().all(|(other, _)| *other != group) {
                of.push((group, weight));
            }
        }
    }
    groups
});

/// The groups of words with the meaning of this stem, and how much each counts.
pub(super) fn groups(stem: &str) -> &'static [(String, f32)] {
    GROUP_TABLE.get(stem).map_or(&[], Vec::as_slice)
}

/// The loanword that a text is, with or without a long vowel at its end.
pub(super) fn loanword(text: &[char]) -> Option<&'static str> {
    let known = |text: &[char]| {
        (text.len() <= LONGEST).then(|| LOANWORD_TABLE.get(text.iter().collect::<String>().as_str()).copied())?
    };
    known(text).or_else(|| known(text.strip_suffix(&['ー'])?))
}

/// The word of several kanji that a text is.
pub(super) fn word(text: &[char]) -> Option<&'static str> {
    (text.len() <= LONGEST).then(|| WORD_TABLE.get(text.iter().collect::<String>().as_str()).copied())?
}

/// The word of one kanji.
pub(super) fn single(kanji: char) -> Option<&'static str> {
    SINGLE_TABLE.get(kanji.encode_utf8(&mut [0; 4]) as &str).copied()
}

fn begins(text: &[char], with: &str) -> Option<usize> {
    let mut length = 0;
    with.chars()
        .all(|c| {
            length += 1;
            text.get(length - 1) == Some(&c)
        })
        .then_some(length)
}

/// The longest stem with which a text begins, where its first kana comes after so many kanji: its characters and what it
/// stands for.
pub(super) fn longest_stem(text: &[char], kanji: usize) -> Option<(usize, &'static str)> {
    let stems = STEMS.iter().filter_map(|(stem, endings, english)| {
        let length = begins(text, stem)?;
        let fits = endings.is_empty() || endings.contains(*text.get(length)?);
        let kana = stem.chars().position(is_hiragana).unwrap_or(length);
        (fits && kana == kanji).then_some((length, *english))
    });
    let mixed = MIXED.iter().filter_map(|(word, english)| {
        let length = begins(text, word)?;
        (kanji == 1).then_some((length, *english))
    });
    stems.chain(mixed).max_by_key(|(length, _)| *length)
}

/// The longest word in hiragana with which a text begins.
pub(super) fn hiragana(text: &[char]) -> Option<(usize, &'static str)> {
    let words = HIRAGANA.iter().filter_map(|(word, english)| Some((begins(text, word)?, *english)));
    words.max_by_key(|(length, _)| *length)
}

/// Whether a text begins with what asks for a decision, and how long that is.
pub(super) fn whether(text: &[char]) -> Option<usize> {
    WHETHER.iter().find_map(|word| begins(text, word))
}

fn is_hiragana(c: char) -> bool {
    ('\u{3041}'..='\u{309f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::tokens, *};

    #[test]
    fn every_word_is_there_once_and_is_met() {
        let stems = STEMS.iter().map(|(stem, endings, english)| {
            (format!("{stem}{}", endings.chars().next().map(String::from).unwrap_or_default()), *english)
        });
        let plain = [LOANWORDS, WORDS, SINGLES, MIXED, HIRAGANA].concat();
        let all: Vec<(String, &str)> =
            plain.iter().map(|(word, english)| ((*word).to_owned(), *english)).chain(stems).collect();
        for (at, (word, english)) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|(other, _)| other != word), "{word} is there twice");
            assert!(word.chars().count() <= LONGEST, "{word}");
            assert!(!word.ends_with('ー') || word.chars().count() <= 4, "{word}");
            assert!(english.split(' ').all(|word| word.bytes().all(|b| b.is_ascii_lowercase())), "{english}");
            let found = tokens(word).words;
            match english.split_whitespace().next() {
                Some(first) => assert!(found.contains_key(&stem(first)), "{word}: {found:?}"),
                None => assert!(found.keys().all(|other| !other.is_ascii()), "{word}: {found:?}"),
            }
        }
    }

    #[test]
    fn every_group_has_words_once() {
        for words in SAME.iter().chain(ALIKE) {
            let all: Vec<&str> = words.split(' ').collect();
            assert!(
                all.len() > 1 && all.iter().all(|word| all.iter().filter(|other| *other == word).count() == 1),
                "{words}"
            );
        }
    }
}
