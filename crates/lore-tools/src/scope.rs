//! Which repositories a call is about, as whoever calls sees them.
//!
//! On one machine that is everything that is registered, by its name, and the project where nothing is named. On a team
//! server it is what the caller has activated, by their own names, and golden repositories: what another user has activated
//! is not there. Every tool that takes the name of a repository asks here.

use std::path::PathBuf;

use lore_core::team::{Asker, Shown, Team};
use lore_model::{Caller, Code, Failure, Repo, brief, closest};

use crate::Context;

/// Names of repositories that are told where one is not known.
const NAMES_MAX: usize = 20;

/// A repository that a call is about.
pub(crate) struct Found {
    /// The repository, on the branch that is meant.
    pub(crate) repo: Repo,
    /// The work tree to see it from, where that is not the registered one.
    pub(crate) place: Option<PathBuf>,
    /// What the caller calls it.
    pub(crate) alias: String,
    /// What a team server keeps of it.
    pub(crate) shown: Option<Box<Shown>>,
}

impl Found {
    fn local(repo: Repo, place: Option<PathBuf>) -> Self {
        Self { alias: repo.name().to_owned(), repo, place, shown: None }
    }

    fn team(shown: Shown) -> Self {
        let (repo, alias) = (shown.repo.clone(), shown.alias.to_string());
        Self { repo, place: None, alias, shown: Some(Box::new(shown)) }
    }

    /// The work tree or git directory to see it from.
    pub(crate) fn place(&self) -> PathBuf {
        self.place.clone().unwrap_or_else(|| self.repo.info.local_path.clone())
    }
}

/// The repositories that a question is about.
#[derive(Default)]
pub(crate) struct Searched {
    /// Which.
    pub(crate) repos: Vec<Found>,
    /// What the caller must know besides.
    pub(crate) notes: Vec<String>,
}

impl Context {
    /// The team and who calls, on a team server. Without a caller nothing is answered there.
    pub(crate) fn team(&self) -> Result<Option<(&Team, &Caller)>, Failure> {
        match (&self.team, &self.asked.caller) {
            (None, _) => Ok(None),
            (Some(team), Some(caller)) => Ok(Some((team, caller))),
            (Some(_), None) => Err(Failure::new(Code::Unauthenticated, "nobody is logged in").hint("log in first")),
        }
    }

    /// The same where a tool is there on a team server alone.
    pub(crate) fn on_server(&self) -> Result<(&Team, Asker), Failure> {
        let Some((team, caller)) = self.team()? else {
            return Err(Failure::new(Code::InvalidArgument, "this is for a team server, which this is not")
                .hint("`lore server` is one"));
        };
        Ok((team, Asker::user(caller.clone(), self.asked.address.clone())))
    }
}

/// The repository of that name, or the project's where none is named.
pub(crate) async fn find(context: &Context, alias: Option<&str>) -> Result<Found, Failure> {
    let alias = alias.map(str::trim).filter(|alias| !alias.is_empty());
    if let Some((team, caller)) = context.team()? {
        let Some(alias) = alias else {
            let mut all = team.all_visible(caller).await?.repos;
            // Where there is one only, that is meant.
            return match (all.pop(), all.is_empty()) {
                (Some(one), true) => Ok(Found::team(one)),
                _ => Err(Failure::new(Code::InvalidArgument, "no repository is named")
                    .hint("`list_repositories` and `discover_repositories` list what there is")),
            };
        };
        return team.visible_one(caller, alias).await.map(Found::team);
    }
    let project = context.lore.find_project(&context.folder().await).await;
    let repos = context.lore.history.repos().await?;
    let Some(alias) = alias else {
        return match project {
            Ok(project) => match project.repo {
                Some(repo) => Ok(Found::local(repo, Some(project.place))),
                None => Err(unnamed(format!("the project at {} is not registered", project.place.display()), &repos)),
            },
            Err(failure) if failure.code == Code::NotARepository => Err(unnamed(failure.message, &repos)),
            Err(failure) => Err(failure),
        };
    };
    let repo = repos.iter().find(|repo| repo.name() == alias).ok_or_else(|| unknown(alias, &repos))?.clone();
    // The project may be another work tree of the repository than the registered one.
    let of_project = project.ok().filter(|found| found.repo.as_ref().is_some_and(|known| known.id == repo.id));
    Ok(Found::local(repo, of_project.map(|project| project.place)))
}

/// What is searched: one repository or composite, or all. The project's own work tree counts for the project.
pub(crate) async fn search(context: &Context, alias: Option<&str>) -> Result<Searched, Failure> {
    let alias = alias.map(str::trim).filter(|alias| !alias.is_empty());
    if let Some((team, caller)) = context.team()? {
        let visible = match alias {
            Some(alias) => team.visible(caller, alias).await?,
            None => team.all_visible(caller).await?,
        };
        return Ok(Searched { repos: visible.repos.into_iter().map(Found::team).collect(), notes: visible.notes });
    }
    if alias.is_some() {
        return Ok(Searched { repos: vec![find(context, alias).await?], notes: Vec::new() });
    }
    let all = context.lore.history.repos().await?;
    if all.is_empty() {
        return Err(Failure::new(Code::RepoNotFound, "no repository is registered").hint("run `lore add PATH` first"));
    }
    let project = context.lore.find_project(&context.folder().await).await.ok();
    let place = |repo: &Repo| {
        let is_it = |known: &Repo| known.id == repo.id;
        project.as_ref().filter(|found| found.repo.as_ref().is_some_and(is_it)).map(|found| found.place.clone())
    };
    let repos = all.into_iter().map(|repo| {
        let place = place(&repo);
        Found::local(repo, place)
    });
    Ok(Searched { repos: repos.collect(), notes: Vec::new() })
}

/// The name that the index has for what the caller calls so.
pub(crate) async fn indexed_name(context: &Context, name: String) -> Result<String, Failure> {
    match context.team()? {
        None => Ok(name),
        Some((team, caller)) => Ok(team.visible_one(caller, &name).await?.repo.name().to_owned()),
    }
}

/// The same where the project is meant if nothing is named. On a team server there is no project.
pub(crate) async fn indexed_name_or_project(
    context: &Context,
    name: Option<String>,
) -> Result<Option<String>, Failure> {
    match context.team()? {
        None => Ok(name),
        Some(_) => Ok(Some(find(context, name.as_deref()).await?.repo.name().to_owned())),
    }
}

/// The same for several, of which one may be a composite. Where none is named, on a team server it is all that the caller sees.
pub(crate) async fn indexed_names(context: &Context, names: Vec<String>) -> Result<Vec<String>, Failure> {
    let Some((team, caller)) = context.team()? else { return Ok(names) };
    let mut found = Vec::new();
    if names.is_empty() {
        found.extend(team.all_visible(caller).await?.repos);
    }
    for name in names {
        found.extend(team.visible(caller, &name).await?.repos);
    }
    let mut all: Vec<String> = Vec::new();
    for shown in found {
        if !all.iter().any(|known| known == shown.repo.name()) {
            all.push(shown.repo.name().to_owned());
        }
    }
    Ok(all)
}

/// The names of the repositories that an answer may speak of besides the one that is asked about; `None` for any.
pub(crate) async fn others(context: &Context) -> Result<Option<Vec<String>>, Failure> {
    match context.team()? {
        None => Ok(None),
        Some(_) => indexed_names(context, Vec::new()).await.map(Some),
    }
}

fn names(repos: &[Repo]) -> String {
    let mut names: Vec<String> = repos.iter().take(NAMES_MAX).map(|repo| repo.name().to_owned()).collect();
    if repos.len() > NAMES_MAX {
        names.push(format!("and {} more, which `list_repositories` lists", repos.len() - NAMES_MAX));
    }
    names.join(", ")
}

fn unnamed(message: String, repos: &[Repo]) -> Failure {
    let failure = Failure::new(Code::RepoNotFound, message);
    if repos.is_empty() {
        return failure.hint("no repository is registered: run `lore add PATH`");
    }
    failure.hint(format!("name one of the registered repositories ({}), or run `lore add PATH`", names(repos)))
}

fn unknown(alias: &str, repos: &[Repo]) -> Failure {
    let failure = Failure::new(Code::RepoNotFound, format!("no repository is called `{}`", brief(alias)));
    if repos.is_empty() {
        return failure.hint("no repository is registered: run `lore add PATH`");
    }
    let near = closest(alias, repos.iter().map(Repo::name)).map(|near| format!("did you mean `{near}`? "));
    let near = near.unwrap_or_default();
    failure.hint(format!("{near}Registered are: {}; `lore add PATH` registers another", names(repos)))
}
