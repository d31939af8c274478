//! Which files are searched, as the next question would find them; and whether what is kept of them can be read.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::Arc,
};

use lore_model::{Failure, Repo, RepoPath};
use lore_store::{Accuracy, Ask, CodeView, DIMENSIONS, FieldWeight, SnapshotId, StoreError, ViewPart};

use super::{IndexReader, TRIES};
use crate::store_failure;

/// The files of one repository that are searched, uncommitted work included.
#[derive(Debug, Clone, Default)]
pub struct IndexedFiles {
    languages: HashMap<RepoPath, Arc<str>>,
    /// How many chunks are found by meaning.
    pub embeddings: usize,
}

impl IndexedFiles {
    /// The language of a file, where it is searched.
    pub fn language(&self, path: &RepoPath) -> Option<&str> {
        self.languages.get(path).map(|language| &**language)
    }

    /// How many files are searched.
    pub fn len(&self) -> usize {
        self.languages.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.languages.is_empty()
    }

    /// How many files there are in each language.
    pub fn by_language(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for language in self.languages.values() {
            *counts.entry(&**language).or_default() += 1;
        }
        counts
    }

    pub(super) fn of(view: &dyn CodeView) -> Result<Self, StoreError> {
        let mut languages = HashMap::new();
        for (number, file) in view.files().iter().enumerate() {
            // What was left out has a place and nothing in it. So has an empty file, of which nothing is missing.
            if !view.chunks_of(number).is_empty() || view.record(number)?.size == 0 {
                languages.insert(file.path.clone(), Arc::clone(&file.language));
            }
        }
        Ok(Self { languages, embeddings: view.meant().len() })
    }
}

impl IndexReader {
    /// The files of a repository that are searched, seen from one of its work trees.
    pub fn indexed_files(&self, repo: &Repo, place: Option<&Path>) -> Result<Arc<IndexedFiles>, Failure> {
        for tries in 1.. {
            let state = self.state(repo.id)?;
            let Some(part) = self.part(repo, &state, place, true)? else { break };
            let read = match self.load(&[part])? {
                Ok(loaded) => loaded.indexed(),
                Err(error) => Err(error),
            };
            match read {
                Ok(files) => return Ok(files),
                // What was read was replaced by a newer state meanwhile.
                Err(StoreError::Absent(_)) if tries < TRIES => {
                    self.views.forget(&[repo.id]);
                }
                Err(error) => return Err(store_failure(error)),
            }
        }
        Ok(Arc::default())
    }

    /// What a snapshot has.
    pub fn open_snapshot(&self, snapshot: SnapshotId) -> Result<Arc<dyn CodeView>, Failure> {
        self.open(snapshot).map_err(store_failure)
    }

    fn open(&self, snapshot: SnapshotId) -> Result<Arc<dyn CodeView>, StoreError> {
        self.store.open_view(vec![ViewPart::snapshot(snapshot)])
    }

    /// Reads a little of everything that is kept of a snapshot: words, vectors and a text.
    pub(crate) fn try_reading(&self, snapshot: SnapshotId) -> Result<(), Failure> {
        let view = match self.open(snapshot) {
            // Another one has taken its place, which says nothing against either.
            Err(StoreError::Absent(_)) => return Ok(()),
            other => other.map_err(store_failure)?,
        };
        let read = || {
            let mut vector = [0.0; DIMENSIONS];
            vector[0] = 1.0;
            let ask = Ask {
                words: &[],
                all_words: false,
                fields: [FieldWeight { weight: 1.0, length: 0.0 }; 3],
                vector: Some(&vector),
                boosts: &[],
                allowed: None,
                also: &[],
                top: 1,
                accuracy: Accuracy::Fast,
            };
            let found = view.search(&ask)?;
            found.first().map_or(Ok(()), |scored| view.text(scored.chunk).map(drop))
        };
        read().map_err(store_failure)
    }
}
