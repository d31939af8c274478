//! A transformer that runs here: all-MiniLM-L6-v2, from files that somebody has installed.
//!
//! Its forward pass is short enough to be ours (decision 017); multiplying matrices is `ndarray`'s. The files are read when
//! the first text is embedded, once for a process.

mod forward;
mod tokens;
mod weights;

use std::{
    num::NonZero,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use forward::Bert;
use lore_model::Cancel;
use tokens::Tokens;

use crate::{EmbedError, Embedder, MINILM, MINILM_FILES, MINILM_SPACE, Mode, ProviderConfig};

/// The length of its vectors.
const LENGTH: usize = 384;

/// Tokens after these do not count: it was trained on texts of this length.
const MOST_TOKENS: usize = 128;

/// More threads than this would only wait for memory.
const MOST_THREADS: usize = 8;

/// The transformer, read or not.
pub(crate) struct Transformer {
    folder: PathBuf,
    loaded: Arc<Mutex<Option<Arc<Model>>>>,
}

struct Model {
    tokens: Tokens,
    bert: Bert,
}

impl Transformer {
    pub(crate) fn new(config: &ProviderConfig) -> Result<Self, EmbedError> {
        if let Some(configured) = config.dimensions.filter(|length| *length != LENGTH) {
            let model = MINILM_SPACE.to_owned();
            return Err(EmbedError::WrongDimensions { model, expected: configured, got: LENGTH });
        }
        let folder = config.models.clone().unwrap_or_default().join(MINILM);
        Ok(Self { folder, loaded: Arc::default() })
    }
}

/// The model, read at first use. After a failure it is tried again: it may be installed meanwhile.
fn load(folder: &Path, loaded: &Mutex<Option<Arc<Model>>>) -> Result<Arc<Model>, EmbedError> {
    let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(model) = &*loaded {
        return Ok(Arc::clone(model));
    }
    if !folder.is_dir() {
        return Err(EmbedError::NotInstalled { model: MINILM.to_owned() });
    }
    let model = Model::read(folder).map_err(|what| EmbedError::BadModelFiles { what })?;
    Ok(Arc::clone(loaded.insert(Arc::new(model))))
}

impl Model {
    fn read(folder: &Path) -> Result<Self, String> {
        let [config, vocabulary, weights] = MINILM_FILES.map(|name| folder.join(name));
        let text = |path: &Path| std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
        let (config, vocabulary) = (text(&config)?, text(&vocabulary)?);
        let tokens = Tokens::read(&vocabulary)?;
        let bert = Bert::read(&config, &weights).map_err(|what| format!("{}: {what}", weights.display()))?;
        if bert.words() < tokens.count() {
            return Err("the vocabulary has more tokens than the weights".to_owned());
        }
        Ok(Self { tokens, bert })
    }

    /// The vectors of texts, computed on several threads: one text has not enough work for two.
    fn embed(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS).min(texts.len());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let at = next.fetch_add(1, Ordering::Relaxed)
                && let Some(text) = texts.get(at)
            {
                done.push((at, self.vector(text)));
            }
            done
        };
        let mut vectors = vec![Vec::new(); texts.len()];
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mine = work();
            let rest = others.into_iter().flat_map(|other| match other.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            mine.into_iter().chain(rest).for_each(|(at, vector)| vectors[at] = vector);
        });
        vectors
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let ids = self.tokens.of(text, MOST_TOKENS.min(self.bert.positions()));
        // Nothing but the marks of beginning and end.
        if ids.len() <= 2 { vec![0.0; self.bert.length()] } else { self.bert.embed(&ids) }
    }
}

impl Embedder for Transformer {
    fn model(&self) -> &str {
        MINILM_SPACE
    }

    fn dimensions(&self) -> usize {
        LENGTH
    }

    fn embed(&self, texts: &[&str], _: Mode) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(load(&self.folder, &self.loaded)?.embed(texts))
    }

    fn embed_query(&self, text: &str, limit: Duration) -> Result<Vec<f32>, EmbedError> {
        let (folder, loaded, text, cancel) =
            (self.folder.clone(), Arc::clone(&self.loaded), text.to_owned(), Cancel::current());
        let vectors =
            cancel.run_detached(limit, move || Ok(load(&folder, &loaded)?.embed(&[&text]))).unwrap_or_else(|| {
                Err(if cancel.is_cancelled() {
                    EmbedError::Cancelled
                } else {
                    EmbedError::Slow { model: MINILM.to_owned(), after: limit }
                })
            })?;
        Ok(vectors.into_iter().next().unwrap_or_default())
    }

    fn group(&self) -> usize {
        64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the real model may be installed.
    fn installed() -> Option<PathBuf> {
        let folder = PathBuf::from(option_env!("LORE_TEST_MODELS")?);
        folder.join(MINILM).is_dir().then_some(folder)
    }

    #[test]
    fn what_is_not_installed_is_told_with_what_to_do() {
        let models = tempfile::tempdir().unwrap();
        let config = ProviderConfig { models: Some(models.path().to_owned()), ..ProviderConfig::default() };
        let transformer = Transformer::new(&config).unwrap();
        let error = transformer.embed(&["x"], Mode::Passage).unwrap_err();
        assert_eq!(error, EmbedError::NotInstalled { model: MINILM.to_owned() });
        assert!(error.hint().contains("lore model install"));
        let folder = models.path().join(MINILM);
        std::fs::create_dir(&folder).unwrap();
        for content in ["", "{}", "\u{ff}", "{\"hidden_size\": 384}"] {
            for name in MINILM_FILES {
                std::fs::write(folder.join(name), content).unwrap();
            }
            let error = transformer.embed(&["x"], Mode::Passage).unwrap_err();
            assert!(matches!(error, EmbedError::BadModelFiles { .. }), "{error}");
        }
    }

    /// The numbers are those of an independent computation in Python.
    #[test]
    fn the_real_model_gives_the_reference_s_vectors() {
        let Some(models) = installed() else {
            #[expect(clippy::print_stderr, reason = "whoever runs the tests should know")]
            {
                eprintln!("skipped: LORE_TEST_MODELS names no folder with {MINILM}");
            }
            return;
        };
        let config = ProviderConfig { models: Some(models), ..ProviderConfig::default() };
        let transformer = Transformer::new(&config).unwrap();
        for (text, expected) in [
            ("where are retries limited", [0.00219, -0.01552, 0.039, -0.03578, -0.01254, 0.07782, -0.09202, -0.09851]),
            ("This is an example sentence", [0.06766, 0.0635, 0.04871, 0.0793, 0.03745, 0.00265, 0.03937, -0.0071]),
            (
                "parse the configuration file of a project and report what is wrong with it",
                [0.01987, 0.05644, -0.06561, -0.02378, 0.02039, -0.01533, 0.01422, 0.08629],
            ),
        ] {
            let vector = transformer.embed(&[text], Mode::Query).unwrap().remove(0);
            assert_eq!(vector.len(), LENGTH);
            for (found, expected) in vector.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-4, "{text}: {:?}", &vector[..8]);
            }
        }
    }
}
