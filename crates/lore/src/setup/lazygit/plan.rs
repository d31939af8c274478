//! Planning the setup of lazygit, and its undo: the new text of its file, and the notes for the user.

use std::path::Path;

use lore_model::{Code, Failure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    super::{
        change::Change,
        config_file::ConfigFile,
        document::Problem,
        hosts::{Place, Scope},
        record::{Previous, Record, SetupDetails, hash},
    },
    OWNER,
    entry::{self, Commenter, EntryCommand, EntryKind, KEY},
    key,
    list::{CommandList, Item},
    location,
};

/// What the setup of lazygit changed.
#[derive(Debug, Serialize, Deserialize)]
struct KeyDetails {
    /// The source of the list if it had no entries; `None` if there was no list.
    empty_list: Option<String>,
    /// What our two entries were.
    previous: [Previous; 2],
    /// The old program's entries that ours replaced.
    replaced: Vec<Item>,
}

impl SetupDetails for KeyDetails {
    fn merge(&mut self, later: Self) {
        for (known, later) in self.previous.iter_mut().zip(later.previous) {
            known.merge(later);
        }
        self.replaced.extend(later.replaced);
    }
}

fn open(place: &Place) -> Result<ConfigFile<KeyDetails>, Failure> {
    let path = location::file(place);
    let record = place.state_dir.join(format!("lazygit-{}.json", hash(&path.to_string_lossy())));
    ConfigFile::open(OWNER, Scope::User, path, record)
}

/// Plans to give lazygit the key; without a key an existing entry keeps its own.
pub(crate) fn plan(place: &Place, commenter: &Commenter, key: Option<&str>) -> Result<Change, Failure> {
    key.map_or(Ok(()), key::check)?;
    let file = open(place)?;
    let list = CommandList::read(file.text()).map_err(|problem| file.failure(problem))?;
    let own = list.entries().iter().find(|entry| entry::kind(entry).is_some());
    let own_key = own.and_then(|entry| entry::keys(entry).into_iter().next());
    let setup =
        KeySetup { commenter, asked: key, key: key.map(str::to_owned).or(own_key).unwrap_or_else(|| KEY.to_owned()) };
    setup.refuse_taken_key(&list, &file.path)?;
    let (edited, details) = setup.write(&list).map_err(|problem| file.failure(problem))?;
    let later = vec![format!("start lazygit (0.44 or later) anew and press {} on a file or in its lines", setup.key)];
    let notes = setup.notes(place, &file.path, &list);
    file.plan(edited.text(), details, own.is_some(), notes, later)
}

/// The entries to write.
struct KeySetup<'a> {
    commenter: &'a Commenter,
    asked: Option<&'a str>,
    key: String,
}

impl KeySetup<'_> {
    fn write(&self, old: &CommandList) -> Result<(CommandList, KeyDetails), Problem> {
        let mut list = old.clone();
        let mut missing = Vec::new();
        let mut previous = [Previous::Absent, Previous::Absent];
        for (previous, kind) in previous.iter_mut().zip(EntryKind::ALL) {
            let Some(index) = find(old, kind) else {
                missing.push(self.commenter.item(kind, &self.key));
                continue;
            };
            let mut changed = Vec::new();
            let key = self.asked.map(|key| ("key", key.to_owned()));
            for (field, value) in [("command", self.commenter.command(kind))].into_iter().chain(key) {
                if old.entries()[index][field] != *value {
                    list = list.set(index, field, &entry::scalar(&value))?;
                    changed.push((field.to_owned(), old.raw(index, field)));
                }
            }
            *previous = Previous::Fields(changed);
        }
        let taken = self.replaceable(old);
        let replaced = taken.iter().filter_map(|index| list.item(*index)).collect();
        if !(missing.is_empty() && taken.is_empty()) {
            list = list.put(&taken, &missing)?;
        }
        let empty_list = if old.entries().is_empty() { old.source() } else { Some("[]".to_owned()) };
        Ok((list, KeyDetails { empty_list, previous, replaced }))
    }

    /// The old program's entries with our key.
    fn replaceable(&self, list: &CommandList) -> Vec<usize> {
        let old = |entry: &Value| EntryCommand::of(entry).is_some_and(|runs| runs.is_old());
        indices(list, |entry| old(entry) && self.collides(entry))
    }

    /// Whether an entry has our key in a view of ours.
    fn collides(&self, entry: &Value) -> bool {
        let views = entry::contexts(entry);
        let is_shared = |kind: &EntryKind| {
            views.as_ref().is_none_or(|views| views.iter().any(|view| kind.contexts().contains(view)))
        };
        entry::keys(entry).iter().any(|own| key::same(own, &self.key)) && EntryKind::ALL.iter().any(is_shared)
    }

    /// Refuses a key that runs something else.
    fn refuse_taken_key(&self, list: &CommandList, file: &Path) -> Result<(), Failure> {
        // A user who has both of our entries has arranged for it.
        if self.asked.is_none() && EntryKind::ALL.iter().all(|kind| find(list, *kind).is_some()) {
            return Ok(());
        }
        let is_other = |entry: &&Value| {
            let runs = EntryCommand::of(entry);
            !runs.is_some_and(|runs| runs.is_old() || runs.kind().is_some()) && self.collides(entry)
        };
        let Some(entry) = list.entries().iter().find(is_other) else { return Ok(()) };
        let command = entry.get("command").or_else(|| entry.get("description")).and_then(Value::as_str);
        let command = command.unwrap_or("a menu").trim_end();
        Err(Failure::new(
            Code::InvalidConfig,
            format!("{} runs `{command}` already, says {}", self.key, file.display()),
        )
        .hint("nothing was written; choose another key: `lore setup lazygit --key '<c-k>'`"))
    }

    fn notes(&self, place: &Place, file: &Path, list: &CommandList) -> Vec<String> {
        let taken = self.replaceable(list);
        let mut notes = Vec::new();
        for (index, entry) in list.entries().iter().enumerate() {
            let Some(runs) = EntryCommand::of(entry).filter(EntryCommand::is_old) else { continue };
            let (keys, program) = (entry::keys(entry).join(", "), runs.program);
            notes.push(if taken.contains(&index) {
                format!("{keys} ran `{program}`; `lore setup lazygit --undo` brings that back")
            } else {
                format!("{keys} still runs `{program}`, whose comments Lore takes over too")
            });
        }
        if let Some(other) = location::passed_over(place, file) {
            notes.push(format!("lazygit reads {} and passes over {}", file.display(), other.display()));
        }
        notes
    }
}

/// The positions of the entries that pass a test.
fn indices(list: &CommandList, test: impl Fn(&Value) -> bool) -> Vec<usize> {
    list.entries().iter().enumerate().filter(|(_, entry)| test(entry)).map(|(index, _)| index).collect()
}

/// The position of an entry of ours.
fn find(list: &CommandList, kind: EntryKind) -> Option<usize> {
    list.entries().iter().position(|entry| entry::kind(entry) == Some(kind))
}

/// Plans to take back the setup.
pub(crate) fn plan_undo(place: &Place) -> Result<Change, Failure> {
    let file = open(place)?;
    let path = file.path.clone();
    let undo = file.plan_undo(|text, record, notes| take_back(&CommandList::read(text)?, record, notes))?;
    undo.ok_or_else(|| {
        Failure::new(Code::InvalidArgument, format!("nothing to undo: no entry in {} runs Lore", path.display()))
            .hint("`lore setup lazygit` adds it; `lore doctor` shows where it is")
    })
}

/// Changes our entries only.
fn take_back(
    list: &CommandList,
    record: Option<&Record<KeyDetails>>,
    notes: &mut Vec<String>,
) -> Result<Option<String>, Problem> {
    let ours = indices(list, |entry| entry::kind(entry).is_some());
    let list = match record {
        None if ours.is_empty() => return Ok(None),
        None => {
            notes.push("there is no record of a setup; the entries that run Lore are taken out".to_owned());
            list.take(&ours, Some("[]"))?
        }
        Some(_) if ours.is_empty() => {
            notes.push("there is no entry any more that runs Lore".to_owned());
            list.clone()
        }
        Some(record) => restore(list.clone(), &record.details, notes)?,
    };
    let is_gone = record.is_some_and(|record| record.created_file) && list.text().trim().is_empty();
    Ok((!is_gone).then(|| list.text().to_owned()))
}

/// Restores our entries that existed before, and puts those of the old program in place of the others.
fn restore(mut list: CommandList, setup: &KeyDetails, notes: &mut Vec<String>) -> Result<CommandList, Problem> {
    let mut added = Vec::new();
    for (kind, previous) in EntryKind::ALL.into_iter().zip(&setup.previous) {
        let Previous::Fields(fields) = previous else {
            added.push(kind);
            continue;
        };
        for (field, raw) in fields {
            if let (Some(index), Some(raw)) = (find(&list, kind), raw) {
                list = list.set(index, field, raw)?;
            }
        }
    }
    let taken = indices(&list, |entry| entry::kind(entry).is_some_and(|kind| added.contains(&kind)));
    let restored = if setup.replaced.is_empty() { None } else { list.put(&taken, &setup.replaced).ok() };
    if restored.is_none() {
        let lost = setup.replaced.iter().map(Item::source);
        notes.extend(lost.map(|item| format!("this entry cannot be put back into a list written like that: {item}")));
    }
    let list = match restored {
        Some(restored) => restored,
        None if taken.is_empty() => list,
        None => list.take(&taken, setup.empty_list.as_deref())?,
    };
    notes.push("the file was changed since the setup; those changes stay".to_owned());
    Ok(list)
}
