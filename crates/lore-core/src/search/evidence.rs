//! What the subjects of commits say about the files they changed: text about code that was written anyway.
//!
//! It is packed once after each sync of the history, kept by the store as it is, and asked for a file at a time.

use std::{collections::HashMap, sync::Arc};

use lore_model::{FileStatus, RepoId, RepoPath};
use lore_store::{AskWord, Subjects, for_each_token};

use super::query::is_stop_word;

/// A commit that changes more files says little about each.
pub(super) const MAX_FILES: usize = 50;

/// So many commits of a file count, the newest.
const MAX_COMMITS: usize = 100;

/// Counts up when something else is packed, or in another way.
const FORMAT: u32 = 1;

const MAGIC: &[u8; 8] = b"LORESAID";

/// BM25: how soon repetition stops to count, and how much files with many commits are held back.
const SATURATION: f32 = 1.0;
const LENGTH: f32 = 0.9;

/// A word that no subject has counts so much in what would be the best fit.
const UNSAID: f32 = 0.3;

/// Weights and lengths are kept as whole numbers of these.
const WEIGHT_UNIT: f32 = 1.0 / 16.0;
const LENGTH_UNIT: f32 = 1.0 / 8.0;

/// Everything that decides what is packed: the commits, and the trees whose files are spoken of.
pub(super) fn made_of(sync: &lore_model::SyncState, code: &lore_store::CodeState) -> String {
    let tips: Vec<String> = sync.tips.iter().map(|tip| tip.commit.to_hex()).collect();
    let trees: Vec<String> = code.snapshots.iter().map(|snapshot| snapshot.commit.to_hex()).collect();
    format!("{FORMAT} {} {} {} of {}", sync.fingerprint, sync.commit_count, tips.join(" "), trees.join(" "))
}

/// What is said about one file.
#[derive(Default)]
struct Said {
    commits: usize,
    words: HashMap<u32, f32>,
}

/// Packs what subjects say about the files that are there now, in any of the trees that are searched.
pub(super) fn pack(subjects: &Subjects, is_there: &dyn Fn(&RepoPath) -> bool) -> Vec<u8> {
    let is_there: Vec<bool> = subjects.paths.iter().map(is_there).collect();
    let is_there = |path: u32| is_there.get(path as usize).copied().unwrap_or(false);
    let (mut numbers, mut words) = (HashMap::<String, u32>::new(), Vec::<String>::new());
    // Which file of today a path of then is; `None` where it is gone.
    let mut today: HashMap<u32, Option<u32>> = HashMap::new();
    let mut said: HashMap<u32, Said> = HashMap::new();
    for commit in &subjects.commits {
        let mut tokens: Vec<u32> = Vec::new();
        if commit.file_count <= MAX_FILES {
            for_each_token(&commit.subject, |token| {
                if is_stop_word(token) || token.bytes().all(|byte| byte.is_ascii_digit()) {
                    return;
                }
                let number = numbers.get(token).copied().unwrap_or_else(|| {
                    words.push(token.to_owned());
                    let number = small(words.len() - 1);
                    numbers.insert(token.to_owned(), number);
                    number
                });
                tokens.push(number);
            });
        }
        // Once each: looked up among those before it, each word of a very long subject would take longer than the last.
        tokens.sort_unstable();
        tokens.dedup();
        #[expect(clippy::cast_precision_loss, reason = "a weight needs no precision")]
        let weight = 1.0 / (commit.file_count.max(1) as f32).sqrt();
        for file in &commit.files {
            let Some(file) = *today.entry(file.path).or_insert(is_there(file.path).then_some(file.path)) else {
                continue;
            };
            let said = said.entry(file).or_default();
            if tokens.is_empty() || said.commits == MAX_COMMITS {
                continue;
            }
            said.commits += 1;
            for &token in &tokens {
                *said.words.entry(token).or_default() += weight;
            }
        }
        // Before it was renamed, a file had its former path; unless a tree still has that, as other branches may. All of them
        // at once: numbers of migrations are moved up in one commit.
        let renamed = commit.files.iter().filter(|file| file.status == FileStatus::Renamed);
        let former: Vec<(u32, Option<u32>)> = renamed
            .filter_map(|file| Some((file.old_path.filter(|old| !is_there(*old))?, today.get(&file.path).copied()?)))
            .collect();
        today.extend(former);
    }
    write(subjects, &words, said)
}

/// The file: sorted hashes of paths with the ends of their rows, sorted words with the number of files that have each, rows.
fn write(subjects: &Subjects, words: &[String], said: HashMap<u32, Said>) -> Vec<u8> {
    let mut files: Vec<(u64, Said)> = said
        .into_iter()
        .filter(|(_, said)| !said.words.is_empty())
        .filter_map(|(file, said)| Some((path_hash(subjects.paths.get(file as usize)?), said)))
        .collect();
    files.sort_unstable_by_key(|(hash, _)| *hash);
    files.dedup_by_key(|(hash, _)| *hash);
    let mut order: Vec<u32> = (0..small(words.len())).collect();
    order.sort_unstable_by(|a, b| words[*a as usize].cmp(&words[*b as usize]));
    let mut rank = vec![0_u32; words.len()];
    order.iter().enumerate().for_each(|(at, &word)| rank[word as usize] = small(at));
    let mut holders = vec![0_u32; words.len()];
    let (mut rows, mut ends, mut total) = (Vec::new(), Vec::new(), 0.0);
    for (_, said) in &files {
        let mut row: Vec<(u32, f32)> =
            said.words.iter().map(|(word, weight)| (rank[*word as usize], *weight)).collect();
        row.sort_unstable_by_key(|(word, _)| *word);
        let length: f32 = row.iter().map(|(_, weight)| weight).sum();
        total += f64::from(length);
        rows.extend(whole(length / LENGTH_UNIT, u16::MAX).to_le_bytes());
        let mut last = 0;
        for (word, weight) in row {
            holders[word as usize] += 1;
            push_varint(&mut rows, word - last);
            last = word;
            rows.extend(whole(weight / WEIGHT_UNIT, 255).to_le_bytes().first());
        }
        ends.push(small(rows.len()));
    }
    let mut out = MAGIC.to_vec();
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a mean needs no precision")]
    let mean = (total / files.len().max(1) as f64) as f32;
    let text_length: usize = words.iter().map(String::len).sum();
    for number in [small(files.len()), small(words.len()), mean.to_bits(), small(text_length)] {
        out.extend(number.to_le_bytes());
    }
    out.extend(files.iter().flat_map(|(hash, _)| hash.to_le_bytes()));
    out.extend(ends.iter().flat_map(|end: &u32| end.to_le_bytes()));
    let mut end = 0;
    for (&word, holders) in order.iter().zip(&holders) {
        end += words[word as usize].len();
        out.extend(small(end).to_le_bytes());
        out.extend(holders.to_le_bytes());
    }
    out.extend(order.iter().flat_map(|&word| words[word as usize].bytes()));
    out.extend(rows);
    out
}

/// What is kept for ranking, opened.
pub(super) struct Evidence {
    bytes: Vec<u8>,
    files: usize,
    words: usize,
    mean: f32,
    /// Where the words' texts begin, and the rows.
    texts: usize,
    rows: usize,
}

/// So many bytes are kept at hand. What is asked about is kept in any case.
const KEPT_BYTES: usize = 512 << 20;

/// What is at hand, by repository and with its number; the last used last.
#[derive(Default)]
pub(super) struct KeptEvidence(Vec<(RepoId, i64, Arc<Evidence>)>);

impl KeptEvidence {
    /// What was kept of a repository under this number.
    pub(super) fn find(&mut self, repo: RepoId, number: i64) -> Option<Arc<Evidence>> {
        let at = self.0.iter().position(|(of, known, _)| *of == repo && *known == number)?;
        self.0[at..].rotate_left(1);
        self.0.last().map(|(.., evidence)| Arc::clone(evidence))
    }

    /// Keeps this in place of what was known of the repository, and gives what goes for it.
    pub(super) fn keep(&mut self, repo: RepoId, number: i64, new: &Arc<Evidence>) -> Vec<Arc<Evidence>> {
        let mut gone: Vec<_> = self.0.extract_if(.., |(of, ..)| *of == repo).map(|(.., former)| former).collect();
        self.0.push((repo, number, Arc::clone(new)));
        let mut bytes: usize = self.0.iter().map(|(.., evidence)| evidence.bytes.len()).sum();
        let mut too_many = 0;
        for (.., evidence) in &self.0[..self.0.len() - 1] {
            if bytes <= KEPT_BYTES {
                break;
            }
            bytes -= evidence.bytes.len();
            too_many += 1;
        }
        gone.extend(self.0.drain(..too_many).map(|(.., evidence)| evidence));
        gone
    }
}

const HEAD: usize = 24;

impl Evidence {
    /// Opens what [`pack`] made; `None` for anything else.
    pub(super) fn open(bytes: Vec<u8>) -> Option<Self> {
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let head = |at: usize| u32_at(&bytes, 8 + 4 * at);
        let (files, words, mean, text) = (head(0)? as usize, head(1)? as usize, head(2)?, head(3)? as usize);
        let texts = HEAD.checked_add(files.checked_mul(12)?)?.checked_add(words.checked_mul(8)?)?;
        let rows = texts.checked_add(text)?;
        (rows <= bytes.len()).then_some(Self { bytes, files, words, mean: f32::from_bits(mean), texts, rows })
    }

    /// What asks for these words.
    pub(super) fn asking(&self, words: &[AskWord]) -> Asking<'_> {
        let (mut found, mut most) = (Vec::new(), 0.0);
        for AskWord { token, weight } in words {
            let known = self.find_word(token);
            let holders = known.map_or(0, |(_, holders)| holders);
            #[expect(clippy::cast_precision_loss, reason = "a weight needs no precision")]
            let rarity = (1.0 + (self.files as f32 - holders as f32 + 0.5).max(0.0) / (holders as f32 + 0.5)).ln();
            most += weight * rarity * if known.is_some() { 1.0 } else { UNSAID };
            found.extend(known.map(|(word, _)| (word, weight * rarity)));
        }
        found.sort_unstable_by_key(|(word, _)| *word);
        Asking { evidence: self, words: found, most }
    }

    /// The number of a word, and how many files have it.
    fn find_word(&self, wanted: &str) -> Option<(u32, u32)> {
        let (mut low, mut high) = (0, self.words);
        while low < high {
            let middle = low.midpoint(high);
            match self.word(middle)?.cmp(wanted.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    return Some((small(middle), u32_at(&self.bytes, self.word_place(middle) + 4)?));
                }
            }
        }
        None
    }

    fn word_place(&self, word: usize) -> usize {
        HEAD + 12 * self.files + 8 * word
    }

    fn word(&self, word: usize) -> Option<&[u8]> {
        let end = |word: usize| u32_at(&self.bytes, self.word_place(word)).map(|end| end as usize);
        let from = if word == 0 { 0 } else { end(word - 1)? };
        self.bytes.get(self.texts + from..self.texts + end(word)?)
    }

    /// What is said about a file.
    fn row(&self, path: &RepoPath) -> Option<&[u8]> {
        let wanted = path_hash(path);
        let hash =
            |at: usize| Some(u64::from_le_bytes(self.bytes.get(HEAD + 8 * at..HEAD + 8 * at + 8)?.try_into().ok()?));
        let end = |at: usize| u32_at(&self.bytes, HEAD + 8 * self.files + 4 * at).map(|end| end as usize);
        let (mut low, mut high) = (0, self.files);
        while low < high {
            let middle = low.midpoint(high);
            if hash(middle)? < wanted { low = middle + 1 } else { high = middle }
        }
        if low == self.files || hash(low)? != wanted {
            return None;
        }
        let from = if low == 0 { 0 } else { end(low - 1)? };
        self.bytes.get(self.rows + from..self.rows + end(low)?)
    }
}

/// Words of a query, looked up once.
pub(super) struct Asking<'a> {
    evidence: &'a Evidence,
    /// Numbers and weights, by number.
    words: Vec<(u32, f32)>,
    /// What the best fit could have.
    most: f32,
}

impl Asking<'_> {
    /// How well the words fit what is said about a file: 0 to 1.
    pub(super) fn of(&self, path: &RepoPath) -> f32 {
        if self.words.is_empty() {
            return 0.0;
        }
        let Some((length, mut row)) = self.evidence.row(path).and_then(|row| row.split_first_chunk::<2>()) else {
            return 0.0;
        };
        let length = f32::from(u16::from_le_bytes(*length)) * LENGTH_UNIT;
        let held_back = SATURATION * (1.0 - LENGTH + LENGTH * length / self.evidence.mean.max(1e-6));
        let (mut sum, mut word, mut wanted) = (0.0, 0_u32, self.words.iter().peekable());
        while let (Some(step), Some((&weight, rest))) = (take_varint(&mut row), row.split_first()) {
            row = rest;
            word = word.saturating_add(step);
            while wanted.next_if(|(number, _)| *number < word).is_some() {}
            match wanted.peek() {
                None => break,
                Some((number, rarity)) if *number == word => {
                    let said = f32::from(weight) * WEIGHT_UNIT;
                    sum += rarity * said / (said + held_back);
                }
                Some(_) => {}
            }
        }
        (sum / self.most.max(1e-6)).min(1.0)
    }
}

fn path_hash(path: &RepoPath) -> u64 {
    let hash = blake3::hash(path.as_bytes());
    hash.as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The nearest whole number from 1 to `most`.
fn whole(value: f32, most: u16) -> u16 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 1 and the type's largest"
    )]
    let whole = value.round().clamp(1.0, f32::from(most)) as u16;
    whole
}

fn push_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 128 {
        out.extend((value & 127 | 128).to_le_bytes().first());
        value >>= 7;
    }
    out.extend(value.to_le_bytes().first());
}

fn take_varint(from: &mut &[u8]) -> Option<u32> {
    let mut value = 0_u32;
    for shift in (0..32).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        value |= u32::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use lore_store::{CommitSubject, SubjectFile};

    use super::*;

    /// Status, path, and the path before a rename.
    type Change<'a> = (char, &'a str, Option<&'a str>);

    /// Commits, newest first.
    fn subjects(commits: &[(&str, &[Change<'_>])]) -> Subjects {
        let mut found = Subjects::default();
        let mut number = |path: &str| {
            let path = RepoPath::from(path);
            let at = found.paths.iter().position(|known| *known == path).unwrap_or_else(|| {
                found.paths.push(path);
                found.paths.len() - 1
            });
            small(at)
        };
        let commits: Vec<CommitSubject> = commits
            .iter()
            .map(|(subject, files)| CommitSubject {
                subject: (*subject).to_owned(),
                file_count: files.len(),
                files: files
                    .iter()
                    .map(|(status, path, old)| SubjectFile {
                        path: number(path),
                        status: FileStatus::from_letter(u8::try_from(*status).unwrap()).unwrap(),
                        old_path: old.map(&mut number),
                    })
                    .collect(),
            })
            .collect();
        found.commits = commits;
        found
    }

    fn score(evidence: &Evidence, words: &str, path: &str) -> f32 {
        let words: Vec<AskWord> =
            lore_store::tokens(words).into_iter().map(|token| AskWord { token, weight: 1.0 }).collect();
        evidence.asking(&words).of(&RepoPath::from(path))
    }

    #[test]
    fn a_file_is_found_by_what_its_commits_say() {
        let found = subjects(&[
            ("Retry uploads that time out (#12)", &[('M', "net.rs", None)]),
            ("Rename the client", &[('R', "net.rs", Some("http.rs")), ('M', "lib.rs", None)]),
            ("Speak the proxy protocol", &[('M', "http.rs", None)]),
            ("Drop the old parser", &[('D', "old.rs", None)]),
            ("Parse headers", &[('A', "old.rs", None), ('A', "lib.rs", None)]),
            ("Renumber", &[('R', "0001.sql", Some("0002.sql")), ('R', "0002.sql", Some("0003.sql"))]),
            ("Invoices", &[('A', "0003.sql", None)]),
            ("Gone on another branch", &[('D', "kept.rs", None)]),
            ("Keep zebras", &[('A', "kept.rs", None)]),
        ]);
        let there = ["net.rs", "lib.rs", "0001.sql", "0002.sql", "kept.rs"].map(RepoPath::from);
        let evidence = Evidence::open(pack(&found, &|path| there.contains(path))).unwrap();
        assert!(score(&evidence, "retries of uploads", "net.rs") > 0.2);
        assert!(score(&evidence, "proxy protocol", "net.rs") > 0.2, "it was called http.rs then");
        assert!(score(&evidence, "proxy protocol", "lib.rs") <= 0.0);
        assert!(score(&evidence, "proxy protocol", "http.rs") <= 0.0, "it is gone");
        assert!(score(&evidence, "parse headers", "old.rs") <= 0.0, "it is gone");
        assert!(score(&evidence, "parse headers", "lib.rs") > 0.2);
        assert!(score(&evidence, "invoices", "0002.sql") > 0.1, "it was 0003.sql");
        assert!(score(&evidence, "invoices", "0001.sql") <= 0.0);
        assert!(score(&evidence, "zebras", "kept.rs") > 0.1, "a tree that is searched still has it");
        assert!(score(&evidence, "12", "net.rs") <= 0.0, "numbers say nothing");
        let (only, among) = (score(&evidence, "proxy", "net.rs"), score(&evidence, "proxy elephants", "net.rs"));
        assert!(only > among && among > 0.0, "a word that nobody said makes the fit worse");
    }

    #[test]
    fn nothing_is_made_of_nothing_and_damage_is_no_evidence() {
        let evidence = Evidence::open(pack(&Subjects::default(), &|_| true)).unwrap();
        assert!(score(&evidence, "anything", "a.rs") <= 0.0);
        let found = subjects(&[("Some words about it", &[('A', "a", None), ('A', "b", None)])]);
        let whole = pack(&found, &|_| true);
        assert_eq!(pack(&found, &|_| true), whole, "the same every time");
        for length in 0..whole.len() {
            if let Some(evidence) = Evidence::open(whole[..length].to_vec()) {
                score(&evidence, "some words about", "a");
            }
        }
        for at in 0..whole.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= change;
                if let Some(evidence) = Evidence::open(damaged) {
                    let score = score(&evidence, "some words about", "a");
                    assert!((0.0..=1.0).contains(&score), "{score}");
                }
            }
        }
    }

    #[test]
    fn a_subject_may_have_very_many_words_and_each_counts_once() {
        let of = |subject: &str| pack(&subjects(&[(subject, &[('A', "a", None)])]), &|_| true);
        assert_eq!(of("Zebras eat grass and grass and zebras"), of("Zebras eat grass"));
        let words: Vec<String> = (0..100_000).map(|word| format!("w{word}")).collect();
        let evidence = Evidence::open(of(&words.join(" "))).unwrap();
        assert!(score(&evidence, "w99999", "a") > 0.0);
    }

    #[test]
    fn what_is_at_hand_is_bounded_and_one_for_each_repository() {
        let of = |bytes: usize| {
            let head = Evidence { bytes: Vec::new(), files: 0, words: 0, mean: 0.0, texts: 0, rows: 0 };
            // Nothing of it is touched, so that it takes no memory.
            Arc::new(Evidence { bytes: vec![0; bytes], ..head })
        };
        let mut kept = KeptEvidence::default();
        let held = |kept: &KeptEvidence| kept.0.iter().map(|(repo, number, _)| (repo.0, *number)).collect::<Vec<_>>();
        for repo in 1..=3 {
            assert!(kept.keep(RepoId(repo), 1, &of(KEPT_BYTES / 4)).is_empty());
        }
        assert_eq!(kept.keep(RepoId(2), 2, &of(KEPT_BYTES / 4)).len(), 1, "an older one of the same goes");
        assert!(kept.find(RepoId(2), 1).is_none() && kept.find(RepoId(1), 1).is_some());
        assert_eq!(held(&kept), [(3, 1), (2, 2), (1, 1)]);
        kept.keep(RepoId(4), 1, &of(KEPT_BYTES / 2));
        assert_eq!(held(&kept), [(2, 2), (1, 1), (4, 1)], "what was not asked for longest goes");
        kept.keep(RepoId(5), 1, &of(KEPT_BYTES + 1));
        assert_eq!(held(&kept), [(5, 1)]);
    }
}
