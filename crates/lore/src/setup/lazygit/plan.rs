//! Planning lazygit's setup: what its file would hold, and what there is to say about it.

use std::path::Path;

use lore_model::{Code, Failure};

use super::{
    super::{
        change::{Change, Memory},
        document::{MARK, Problem, decode},
        files,
        hosts::{Place, Scope},
    },
    NAME,
    entry::{self, Commenter, KEY, Runs, Which},
    key,
    list::List,
    location,
    record::{Kept, Previous, Record},
    which,
    yaml::Node,
};

/// Plans to give lazygit the key; where none is asked for, an entry that is there keeps its own.
pub(crate) fn plan(place: &Place, commenter: &Commenter, key: Option<&str>) -> Result<Change, Failure> {
    key.map_or(Ok(()), key::check)?;
    let file = location::file(place);
    let problem = |problem: Problem| problem.failure(NAME, &file);
    let before = files::read(&file)?;
    let (marked, text) = decode(before.as_deref().unwrap_or_default()).map_err(problem)?;
    let mark = if marked { MARK } else { "" };
    let list = List::read(text).map_err(problem)?;
    let wish = Wish { commenter, key };
    wish.refuse_taken_key(&list, &file)?;
    let draft = wish.draft(&list).map_err(problem)?;
    let mut notes = wish.notes(place, &file, &list);
    if before.is_some() && draft.list.text() == text {
        let after = before.clone();
        return Ok(Change { file, before, after, notes, scope: Scope::User, memory: Memory::Keep });
    }
    let folders = files::missing_folders(&file);
    if let Some(folder) = folders.first() {
        notes.push(format!("there is no folder {} yet: is lazygit installed?", folder.display()));
    }
    let keys = wish.key(&list);
    notes.push(format!("start lazygit (0.44 or later) anew and press {keys} on a file or in its lines"));
    let mut record = Record::new(&file, draft.previous);
    record.created_file = before.is_none();
    record.created_folders = folders.iter().map(|folder| folder.display().to_string()).collect();
    record.empty_list = match list.entries() {
        [] => list.value_text().map(str::to_owned),
        _ => Some("[]".to_owned()),
    };
    record.replaced = draft.replaced;
    let path = Record::path(place, &file);
    let ours = list.entries().iter().any(|entry| which(entry).is_some());
    let earlier = if ours { Record::read(&path)? } else { None };
    let (old, new) = (format!("{mark}{text}"), format!("{mark}{}", draft.list.text()));
    let memory = Memory::Write(path, record.after(earlier, &old, &new).to_bytes()?);
    Ok(Change { file, before, after: Some(new.into_bytes()), notes, scope: Scope::User, memory })
}

/// What is to be in the file.
struct Wish<'a> {
    commenter: &'a Commenter,
    key: Option<&'a str>,
}

/// The file as it would be, and what that took.
struct Draft {
    list: List,
    previous: [Previous; 2],
    replaced: Vec<Kept>,
}

impl Wish<'_> {
    /// The key of what is added: the one asked for, that of an entry of ours, or the usual one.
    fn key<'b>(&'b self, list: &'b List) -> &'b str {
        let own = list.entries().iter().find(|entry| which(entry).is_some());
        self.key.or_else(|| entry::keys(own?).first().copied()).unwrap_or(KEY)
    }

    fn draft(&self, old: &List) -> Result<Draft, Problem> {
        let mut list = old.clone();
        let mut previous = [Previous::Absent, Previous::Absent];
        let mut missing = Vec::new();
        for (previous, kind) in previous.iter_mut().zip(Which::ALL) {
            let Some(index) = find(old, kind) else {
                missing.push(self.commenter.item(kind, self.key(old)));
                continue;
            };
            let mut fields = vec![("command", self.commenter.command(kind))];
            fields.extend(self.key.map(|key| ("key", key.to_owned())));
            let mut changed = Vec::new();
            for (field, value) in fields {
                if old.entries()[index].get(field).and_then(Node::text) != Some(&value) {
                    list = list.set(index, field, &entry::scalar(&value))?;
                    changed.push((field.to_owned(), old.raw(index, field).unwrap_or_default().to_owned()));
                }
            }
            *previous = Previous::Fields(changed);
        }
        let taken = self.replaceable(old);
        let replaced = taken.iter().filter_map(|index| Kept::of(list.item(*index)?)).collect();
        if !(missing.is_empty() && taken.is_empty()) {
            list = list.put(&taken, &missing)?;
        }
        Ok(Draft { list, previous, replaced })
    }

    /// The entries of the old program that our key would have to be shared with.
    fn replaceable(&self, list: &List) -> Vec<usize> {
        let old = |entry: &Node| Runs::of(entry).is_some_and(|runs| runs.is_old());
        let entries = list.entries().iter().enumerate();
        entries.filter(|(_, entry)| old(entry) && self.collides(list, entry)).map(|(index, _)| index).collect()
    }

    /// Whether an entry has our key in a view of ours.
    fn collides(&self, list: &List, entry: &Node) -> bool {
        let wanted = self.key(list);
        let views = entry::contexts(entry);
        let shared =
            |kind: &Which| views.as_ref().is_none_or(|views| views.iter().any(|view| kind.contexts().contains(view)));
        entry::keys(entry).iter().any(|own| key::same(own, wanted)) && Which::ALL.iter().any(shared)
    }

    /// A key that runs something else is not taken from it.
    fn refuse_taken_key(&self, list: &List, file: &Path) -> Result<(), Failure> {
        // Somebody who has both has arranged for it.
        if self.key.is_none() && Which::ALL.iter().all(|kind| find(list, *kind).is_some()) {
            return Ok(());
        }
        let other = |entry: &&Node| {
            let runs = Runs::of(entry);
            !runs.is_some_and(|runs| runs.is_old() || runs.which().is_some()) && self.collides(list, entry)
        };
        let Some(entry) = list.entries().iter().find(other) else { return Ok(()) };
        let command =
            entry.get("command").or_else(|| entry.get("description")).and_then(Node::text).unwrap_or("a menu");
        Err(Failure::new(
            Code::InvalidConfig,
            format!("{} runs `{}` already, says {}", self.key(list), command.trim_end(), file.display()),
        )
        .hint("nothing was written; choose another key: `lore setup lazygit --key '<c-k>'`"))
    }

    fn notes(&self, place: &Place, file: &Path, list: &List) -> Vec<String> {
        let taken = self.replaceable(list);
        let mut notes = Vec::new();
        for (index, entry) in list.entries().iter().enumerate() {
            let Some(runs) = Runs::of(entry).filter(Runs::is_old) else { continue };
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

/// Where an entry of ours is.
pub(super) fn find(list: &List, kind: Which) -> Option<usize> {
    list.entries().iter().position(|entry| which(entry) == Some(kind))
}
