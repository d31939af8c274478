//! What the tools about reasons have in common: how a file is named, and how much room an answer has.

use std::path::PathBuf;

use lore_core::why::FileRequest;
use lore_model::{Code, Failure, Repo};
use serde_json::{Map, Value};

use crate::{Context, repositories::enter_file, scope::Names};

/// So many tokens an answer may have unless somebody says otherwise.
pub(crate) const MAX_TOKENS: usize = 1500;

/// The file that is meant, seen from the root of the repository, and how the answer names it.
pub(crate) fn file(context: &Context, repo: Option<String>, file: String) -> Result<(FileRequest, Names), Failure> {
    let (known, names, file) = match context.team()? {
        // On a team server there is no project, and a repository is asked about on the caller's branch.
        Some(_) => {
            let (known, names, path) = server_file(context, repo.as_deref(), "file", &file)?;
            (Some(known), names, path)
        }
        None => (None, Names::default(), PathBuf::from(file)),
    };
    Ok((FileRequest { folder: context.folder(), repo, known, from: None, file }, names))
}

/// The same on a team server: the repository, on the caller's branch, and the path in it. Elsewhere than below its root is the
/// server's own disk, and whether a file is there is nobody's business.
pub(crate) fn server_file(
    context: &Context,
    repo: Option<&str>,
    argument: &str,
    file: &str,
) -> Result<(Repo, Names, PathBuf), Failure> {
    let (found, path, before) = enter_file(context, repo, argument, file)?;
    let alias = found.alias.clone();
    let known = found.named();
    let names = Names::one(known.name(), &alias, before);
    Ok((known, names, PathBuf::from(&*path.to_text())))
}

/// How many tokens an answer may have.
pub(crate) fn room(max_tokens: Option<i64>) -> Result<usize, Failure> {
    let Some(tokens) = max_tokens else { return Ok(MAX_TOKENS) };
    usize::try_from(tokens).map_err(|_| {
        Failure::new(Code::InvalidArgument, "`max_tokens` is negative").hint(format!("leave it out for {MAX_TOKENS}"))
    })
}

/// The day of a commit as people write it, in UTC; none where git prints none.
pub(crate) fn day(seconds: Option<i64>) -> Value {
    let time = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or(Value::Null, |time| time.strftime("%Y-%m-%d").to_string().into())
}

/// An object that is built in the order of reading.
#[derive(Default)]
pub(crate) struct Fields(pub(crate) Map<String, Value>);

impl Fields {
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    pub(crate) fn put_some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// A number that says nothing where it is 0.
    pub(crate) fn put_count(&mut self, key: &str, count: usize) {
        self.put_some(key, (count > 0).then_some(count));
    }
}
