//! Which repositories a call is about, as whoever calls sees them.
//!
//! On one machine that is everything that is registered, by its name, and the project where nothing is named. On a team
//! server it is what the caller has activated, by their own names, and golden repositories: what another user has activated
//! is not there. Every tool that takes the name of a repository asks here.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use lore_core::history::{Repos, few};
use lore_model::{Activation, Caller, Code, CommitId, Failure, Repo, RepoName, RepoPath, brief, closest};
use lore_team::{Asker, Shown, Team, Visible};
use serde_json::{Map, Value, json};

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

    /// One that is asked about by itself. A member of a composite is called what it is then: a composite has no branch, so
    /// its golden alias means the same.
    fn team(shown: Shown) -> Self {
        let repo = shown.repo.clone();
        let alias = if is_of_composite(&shown) { repo.name().to_owned() } else { shown.alias.to_string() };
        Self { repo, place: None, alias, shown: Some(Box::new(shown)) }
    }

    /// One that is asked about by the name of a composite, if it is one: that is the caller's name for it, and its paths
    /// begin with its own.
    fn asked(shown: Shown) -> Self {
        let (is_member, alias) = (is_of_composite(&shown), shown.alias.to_string());
        let mut found = Self { alias, ..Self::team(shown) };
        found.repo.mount = is_member.then(|| found.repo.info.name.clone());
        found
    }

    /// The repository under the name that the caller has for it, so that what an answer names can be asked about again: there
    /// may be several branches of it. The members of a composite keep their own, for there are several; [`Names`] has the
    /// caller's.
    pub(crate) fn named(self) -> Repo {
        let Self { mut repo, shown, .. } = self;
        if let Some(shown) = shown.filter(|shown| shown.activation.is_some() && !is_of_composite(shown)) {
            repo.info.name = shown.alias;
        }
        repo
    }

    /// The work tree or git directory to see it from.
    pub(crate) fn place(&self) -> PathBuf {
        self.place.clone().unwrap_or_else(|| self.repo.info.local_path.clone())
    }
}

fn is_of_composite(shown: &Shown) -> bool {
    shown.activation.as_ref().is_some_and(|own| own.composite)
}

/// How an answer names repositories and files, so that the caller can ask about them again: a member of a composite that
/// was named by the composite's alias, and its files with its own alias before them.
#[derive(Default)]
pub(crate) struct Names(HashMap<String, (String, String)>);

impl Names {
    /// Notes that the repository of this name is called so by the caller.
    pub(crate) fn note(&mut self, name: &str, alias: &str, prefix: String) {
        self.0.insert(name.to_owned(), (alias.to_owned(), prefix));
    }

    /// The names of one repository.
    pub(crate) fn one(name: &str, alias: &str, prefix: String) -> Self {
        let mut names = Self::default();
        names.note(name, alias, prefix);
        names
    }

    /// The names of these repositories.
    pub(crate) fn of<'a>(repos: impl IntoIterator<Item = &'a Found>) -> Self {
        let mut names = Self::default();
        for found in repos {
            names.note(found.repo.name(), &found.alias, found.repo.prefix());
        }
        names
    }

    /// What the caller calls a repository.
    pub(crate) fn repo<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, |(alias, _)| alias)
    }

    /// The path of a file of this repository.
    pub(crate) fn path(&self, name: &str, path: &str) -> String {
        let prefix = self.0.get(name).map_or("", |(_, prefix)| prefix);
        format!("{prefix}{path}")
    }
}

/// What a user calls several repositories.
pub(crate) struct Composite {
    /// What the user has made.
    pub(crate) activation: Activation,
    /// Its repositories, as far as they can be asked now.
    pub(crate) members: Vec<Found>,
    /// What the caller must know besides.
    pub(crate) notes: Vec<String>,
}

impl Composite {
    /// How a composite is told of, under the name of the field that has its name.
    pub(crate) fn head(&self, name: &str) -> Map<String, Value> {
        let golden: Vec<&str> = self.activation.golden.iter().map(RepoName::as_str).collect();
        let mut head = Map::new();
        head.insert(name.to_owned(), self.activation.alias.as_str().into());
        head.insert("is_composite".to_owned(), true.into());
        head.insert("golden_repo_aliases".to_owned(), json!(golden));
        if !self.notes.is_empty() {
            head.insert("notes".to_owned(), json!(self.notes));
        }
        head
    }

    /// The member that the first folder of a path names, and the path within it.
    pub(crate) fn enter(self, path: &RepoPath) -> Result<(Found, RepoPath), Failure> {
        let mut parts = path.as_bytes().splitn(2, |byte| *byte == b'/');
        let (first, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let names: Vec<String> = self.members.iter().map(|member| format!("{}/", member.alias)).collect();
        let member = self.members.into_iter().find(|member| member.alias.as_bytes() == first);
        member.map(|member| (member, RepoPath::new(rest))).ok_or_else(|| {
            let (path, alias) = (path.to_text(), &self.activation.alias);
            let what = format!("`{}` begins with no repository of the composite `{alias}`", brief(&path));
            Failure::new(Code::InvalidArgument, what)
                .hint(format!("begin the path with one of these: {}", names.join(", ")))
        })
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
pub(crate) fn find(context: &Context, alias: Option<&str>) -> Result<Found, Failure> {
    let alias = alias.map(str::trim).filter(|alias| !alias.is_empty());
    if let Some((team, caller)) = context.team()? {
        return match alias {
            Some(alias) => team.visible_one(caller, alias).map(Found::team),
            None => the_only_one(team, caller).map(Found::team),
        };
    }
    let project = context.lore.find_project(&context.folder());
    let repos = context.lore.history.repos()?;
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
    let repo = repos.iter().find(|repo| repo.answers_to(alias)).ok_or_else(|| unknown(alias, &repos))?.clone();
    // The project may be another work tree of the repository than the registered one.
    let of_project = project.ok().filter(|found| found.repo.as_ref().is_some_and(|known| known.id == repo.id));
    Ok(Found::local(repo, of_project.map(|project| project.place)))
}

/// Where there is one only, that is meant.
fn the_only_one(team: &Team, caller: &Caller) -> Result<Shown, Failure> {
    let unnamed = |message: String| {
        Failure::new(Code::InvalidArgument, message)
            .hint("`list_repositories` and `discover_repositories` list what there is")
    };
    let mut all = team.all_visible(caller)?.repos;
    let (Some(one), true) = (all.pop(), all.is_empty()) else {
        return Err(unnamed("no repository is named".to_owned()));
    };
    // A user may have several branches of one repository, of which a question is about one.
    let mut own = team.activations(caller)?;
    own.retain(|own| own.golden.contains(&one.golden.alias));
    if own.len() > 1 {
        let names: Vec<String> = own.iter().take(NAMES_MAX).map(|own| format!("`{}`", own.alias)).collect();
        return Err(unnamed(format!("no repository is named, and you have several: {}", names.join(", "))));
    }
    Ok(one)
}

/// The composite of that name, where the caller has one.
pub(crate) fn composite(context: &Context, alias: Option<&str>) -> Result<Option<Composite>, Failure> {
    let alias = alias.map(str::trim).filter(|alias| !alias.is_empty());
    let (Some((team, caller)), Some(alias)) = (context.team()?, alias) else { return Ok(None) };
    let visible = team.visible(caller, alias)?;
    let activation = visible.repos.first().and_then(|shown| shown.activation.clone());
    let Some(activation) = activation.filter(|own| own.composite) else { return Ok(None) };
    let member = |shown: Shown| {
        let found = Found::asked(shown);
        Found { alias: found.repo.name().to_owned(), ..found }
    };
    let members = visible.repos.into_iter().map(member).collect();
    Ok(Some(Composite { activation, members, notes: visible.notes }))
}

/// What is searched: one repository or composite, or all. The project's own work tree counts for the project.
pub(crate) fn search(context: &Context, alias: Option<&str>) -> Result<Searched, Failure> {
    let alias = alias.map(str::trim).filter(|alias| !alias.is_empty());
    if let Some((team, caller)) = context.team()? {
        let (visible, found): (_, fn(Shown) -> Found) = match alias {
            Some(alias) => (team.visible(caller, alias)?, Found::asked),
            None => (team.all_visible(caller)?, Found::team),
        };
        return Ok(Searched { repos: visible.repos.into_iter().map(found).collect(), notes: visible.notes });
    }
    if alias.is_some() {
        return Ok(Searched { repos: vec![find(context, alias)?], notes: Vec::new() });
    }
    let all = context.lore.history.repos()?;
    if all.is_empty() {
        return Err(Failure::new(Code::RepoNotFound, "no repository is registered").hint("run `lore add PATH` first"));
    }
    let project = context.lore.find_project(&context.folder()).ok();
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

/// The repository of that name, for a question about one of its commits.
pub(crate) struct Holder {
    /// The repository, on the branch that the caller has of it. Of a composite it is the one that has the commit.
    pub(crate) repo: Repo,
    /// The work tree to see it from, where there is one.
    pub(crate) place: Option<PathBuf>,
    /// How the caller names it.
    pub(crate) names: Names,
}

/// Finds it. `missing` is what is told where no repository of a composite has the commit.
pub(crate) fn holder(
    context: &Context,
    name: &str,
    sha: &str,
    missing: fn(&str) -> Failure,
) -> Result<Holder, Failure> {
    let Some((team, caller)) = context.team()? else {
        let (repo, place) = context.lore.find_place(&context.folder(), Some(name))?;
        return Ok(Holder { repo, place: Some(place), names: Names::default() });
    };
    let Some(composite) = composite(context, Some(name))? else {
        let repo = Found::team(team.visible_one(caller, name)?).named();
        return Ok(Holder { repo, place: None, names: Names::default() });
    };
    let mut holders: Vec<(Repo, CommitId)> = Vec::new();
    for Found { repo, .. } in composite.members {
        match context.lore.history.commit(&repo, None, sha) {
            Ok(found) => holders.push((repo, found.commit.commit)),
            Err(failure) if failure.code == Code::CommitNotFound => {}
            Err(failure) => return Err(failure),
        }
    }
    let Some((repo, commit)) = holders.first() else {
        let what = std::iter::once(format!("{name}:{}", brief(sha))).chain(composite.notes);
        return Err(missing(&what.collect::<Vec<_>>().join("; ")));
    };
    if holders.iter().any(|(_, other)| other != commit) {
        let list: Vec<String> = holders.iter().map(|(repo, commit)| format!("{commit} of {}", repo.name())).collect();
        let message =
            format!("{} is another commit in each repository of {name}. Candidates: {}", brief(sha), list.join(", "));
        return Err(Failure::new(Code::AmbiguousCommit, message).hint("give the whole SHA of one of them"));
    }
    let names = Names::one(repo.name(), composite.activation.alias.as_str(), repo.prefix());
    Ok(Holder { repo: repo.clone(), place: None, names })
}

/// Repositories that are asked about together.
pub(crate) struct Histories {
    /// Which.
    pub(crate) repos: Repos,
    /// How the caller names them.
    pub(crate) names: Names,
    /// What the caller must know besides.
    pub(crate) notes: Vec<String>,
}

/// The repositories of these names, of which one may be a composite. Where none is named, on a team server it is all that the
/// caller sees.
pub(crate) fn histories(context: &Context, names: Vec<String>) -> Result<Histories, Failure> {
    let Some((team, caller)) = context.team()? else {
        return Ok(Histories { repos: names.into(), names: Names::default(), notes: Vec::new() });
    };
    let names = each_once(names);
    few("repos", &names)?;
    let as_found = if names.is_empty() { Found::team } else { Found::asked };
    let mut found = if names.is_empty() { team.all_visible(caller)? } else { Visible::default() };
    for name in names {
        let visible = team.visible(caller, &name)?;
        found.notes.extend(visible.notes);
        for shown in visible.repos {
            match found.repos.iter().find(|known| known.repo.id == shown.repo.id) {
                None => found.repos.push(shown),
                // Of one repository only one branch is asked about at a time.
                Some(known) if known.on() != shown.on() => found.notes.push(format!(
                    "`{}` and `{}` are branches of one repository: `{}` was asked; ask the other by itself",
                    known.alias, shown.alias, known.alias
                )),
                Some(_) => {}
            }
        }
    }
    let (mut repos, mut names) = (Vec::new(), Names::default());
    for found in found.repos.into_iter().map(as_found) {
        let (alias, prefix) = (found.alias.clone(), found.repo.prefix());
        let repo = found.named();
        names.note(repo.name(), &alias, prefix);
        repos.push(repo);
    }
    Ok(Histories { repos: Repos::Known(repos), names, notes: found.notes })
}

/// A repository under the name that a query takes, or why its history cannot be searched.
type NamedHistory = (String, Result<Found, Failure>);

/// Every repository whose history can be asked, under the name that a question takes, and why one cannot be asked. On a team
/// server it is all that the caller sees, each branch of a repository by itself.
pub(crate) fn each_history(context: &Context) -> Result<Vec<NamedHistory>, Failure> {
    let Some((team, caller)) = context.team()? else {
        let repos = context.lore.history.repos()?.into_iter();
        return Ok(repos.map(|repo| (repo.name().to_owned(), Ok(Found::local(repo, None)))).collect());
    };
    let mut all: Vec<NamedHistory> = Vec::new();
    // The members of a composite are called what they are, unless something else of the caller's is.
    let (composites, others): (Vec<_>, Vec<_>) = team
        .each_visible(caller)?
        .into_iter()
        .partition(|standing| standing.activation.as_ref().is_some_and(|own| own.composite));
    let others = others.into_iter().filter_map(|standing| Some((standing.alias, standing.repos.into_iter().next()?.1)));
    let members = composites.into_iter().flat_map(|standing| standing.repos);
    for (name, shown) in others.chain(members) {
        if !all.iter().any(|(known, _)| known == name.as_str()) {
            all.push((name.to_string(), shown.map(Found::team)));
        }
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(all)
}

/// Names in their order, each once: every one is looked up.
fn each_once(mut names: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    names.retain(|name| known.insert(name.trim().to_owned()));
    names
}

/// The repositories that an answer may speak of besides the one that is asked about; `None` for any.
pub(crate) fn others(context: &Context) -> Result<Option<Vec<Repo>>, Failure> {
    let Some((team, caller)) = context.team()? else { return Ok(None) };
    let all = team.all_visible(caller)?.repos;
    Ok(Some(all.into_iter().map(|shown| Found::team(shown).named()).collect()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_once_however_often_it_is_given() {
        let given = ["b", "a", " b", "b", "a ", "c"].map(str::to_owned).to_vec();
        assert_eq!(each_once(given), ["b", "a", "c"]);
    }
}
