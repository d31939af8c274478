//! Which commands a question means: cosine of TF-IDF vectors, 0 to 1.

use std::collections::{HashMap, HashSet};

use super::{
    Command, glossary,
    tokens::{Tokens, tokens},
};

/// How many commands are found at most.
pub(super) const FOUND_MAX: usize = 10;

/// How much the words of a name and of a usage count beside those of the description.
const NAME: f32 = 0.6;
const USAGE: f32 = 0.2;

/// How much of a word that is part of another remains.
const PART: f32 = 0.5;

/// The vectors of an agent's commands.
#[derive(Debug)]
pub(super) struct Index {
    /// How many commands there are.
    total: usize,
    /// In how many commands a token occurs.
    spread: HashMap<String, usize>,
    /// The two words of which a word would consist.
    joins: HashMap<String, [String; 2]>,
    /// Which command (the first of its name), its tokens and the length of its vector.
    documents: Vec<(usize, HashMap<String, f32>, f32)>,
}

impl Index {
    pub(super) fn new<'a>(commands: impl Iterator<Item = &'a Command>) -> Self {
        let mut seen = HashSet::new();
        let mut read = Vec::new();
        for (at, command) in commands.enumerate().filter(|(_, command)| seen.insert(&command.name)) {
            let mut words = tokens(&command.description);
            words.extend(tokens(&command.name.to_string()), NAME);
            words.extend(tokens(command.usage.as_deref().unwrap_or_default()), USAGE);
            read.push((at, words));
        }
        let known: HashSet<String> = read.iter().flat_map(|(_, words)| words.words.keys().cloned()).collect();
        let joins = read.iter().flat_map(|(_, words)| words.joins.iter().cloned()).collect();
        let read: Vec<_> =
            read.into_iter().map(|(at, words)| (at, joined(words, |word| known.contains(word)))).collect();
        let mut spread: HashMap<String, usize> = HashMap::new();
        for word in read.iter().flat_map(|(_, words)| words.keys()) {
            *spread.entry(word.clone()).or_default() += 1;
        }
        let mut index = Self { total: read.len(), spread, joins, documents: Vec::new() };
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
        let question = self.weighted(&self.asked(query));
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

    /// The words of a question as the commands write them.
    fn asked(&self, query: &str) -> HashMap<String, f32> {
        let mut asked = tokens(query);
        let apart: Vec<_> = asked.words.iter().filter(|(word, _)| !self.spread.contains_key(*word)).collect();
        let apart = apart.into_iter().filter_map(|(word, weight)| Some((word.clone(), *weight, self.joins.get(word)?)));
        for (whole, weight, parts) in apart.collect::<Vec<_>>() {
            asked.words.remove(&whole);
            for part in parts {
                asked.add(part.clone(), weight);
            }
        }
        let mut words = joined(asked, |word| self.spread.contains_key(word));
        // What a word has in common with others says nothing where there are no others.
        words.retain(|word, _| !word.starts_with('=') || self.spread.contains_key(word));
        words
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

/// The words with neighbours as one where somebody writes them as one, or where they mean something only together.
fn joined(read: Tokens, is_known: impl Fn(&str) -> bool) -> HashMap<String, f32> {
    let joins = read.joins.clone();
    let mut read = read;
    for (whole, parts) in joins {
        let is_known = is_known(&whole);
        if is_known {
            read.add(whole, 1.0);
        } else if glossary::groups(&whole).is_empty() {
            continue;
        } else {
            read.add_groups(&whole, 1.0);
        }
        for part in parts {
            if let Some(weight) = read.words.get_mut(&part) {
                *weight *= PART;
            }
        }
    }
    read.words
}

/// The length of a vector, added up in one order so that it is always the same.
fn length(vector: &HashMap<String, f32>) -> f32 {
    let mut squares: Vec<f32> = vector.values().map(|weight| weight * weight).collect();
    squares.sort_unstable_by(f32::total_cmp);
    squares.iter().sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests;
