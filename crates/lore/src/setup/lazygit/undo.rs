//! Taking lazygit's setup back: exactly, or, when others changed the file since, only our entries.

use std::path::Path;

use lore_model::{Code, Failure};

use super::{
    super::{
        change::{Change, Memory},
        document::{MARK, Problem, decode},
        files,
        hosts::{Place, Scope},
        record as steps,
    },
    NAME,
    entry::Which,
    list::{Emptied, List},
    location,
    plan::find,
    record::{Kept, Previous, Record},
    which,
};

/// Plans to take back what `plan` did.
pub(crate) fn plan_undo(place: &Place) -> Result<Change, Failure> {
    let file = location::file(place);
    let problem = |problem: Problem| problem.failure(NAME, &file);
    let path = Record::path(place, &file);
    let record = Record::read(&path)?;
    let before = files::read(&file)?;
    let mut notes = Vec::new();
    let (marked, text) = decode(before.as_deref().unwrap_or_default()).map_err(problem)?;
    let whole = |text: &str| format!("{}{text}", if marked { MARK } else { "" });
    let after = match &record {
        None => {
            let list = List::read(text).map_err(problem)?;
            let ours = ours(&list, &Which::ALL);
            if ours.is_empty() {
                return Err(nothing(&file));
            }
            notes.push("there is no record of a setup; the entries that run Lore are taken out".to_owned());
            Some(whole(list.take(&ours, &Emptied::Text("[]".to_owned())).map_err(problem)?.text()))
        }
        Some(_) if before.is_none() => {
            notes.push(format!("{} is gone already", file.display()));
            None
        }
        Some(record) => match exact(record, &whole(text)) {
            Some(_) if record.created_file => None,
            Some(text) => Some(text),
            None => {
                let list = List::read(text).map_err(problem)?;
                let list = least(record, list, &mut notes).map_err(problem)?;
                let gone = record.created_file && list.text().trim().is_empty();
                (!gone).then(|| whole(list.text()))
            }
        },
    };
    let memory = match record {
        Some(record) => Memory::Forget(path, record.created_folders),
        None => Memory::Keep,
    };
    Ok(Change { file, before, after: after.map(String::into_bytes), notes, scope: Scope::User, memory })
}

/// The bytes as they were, if nobody touched the file.
fn exact(record: &Record, text: &str) -> Option<String> {
    if steps::is_untouched(&record.steps, text) { steps::rewind(&record.steps, text) } else { None }
}

/// Changes our entries only.
fn least(record: &Record, mut list: List, notes: &mut Vec<String>) -> Result<List, Problem> {
    if ours(&list, &Which::ALL).is_empty() {
        notes.push("there is no entry any more that runs Lore".to_owned());
        return Ok(list);
    }
    let mut added = Vec::new();
    for (kind, previous) in Which::ALL.into_iter().zip(&record.previous) {
        match previous {
            Previous::Absent => added.push(kind),
            Previous::Fields(fields) => {
                for (field, raw) in fields {
                    if let Some(index) = find(&list, kind) {
                        list = list.set(index, field, raw)?;
                    }
                }
            }
        }
    }
    let taken = ours(&list, &added);
    list = bring_back(record, &list, &taken, notes)?;
    notes.push("the file was changed since the setup; those changes stay".to_owned());
    Ok(list)
}

/// Puts the entries of the old program where ours are, and takes ours out.
fn bring_back(record: &Record, list: &List, taken: &[usize], notes: &mut Vec<String>) -> Result<List, Problem> {
    let items: Option<Vec<_>> = record.replaced.iter().map(Kept::item).collect();
    if let Some(items) = items.filter(|items| !items.is_empty())
        && let Ok(list) = list.put(taken, &items)
    {
        return Ok(list);
    }
    for kept in &record.replaced {
        notes.push(format!("this entry cannot be put back into a list written like that: {}", kept.text()));
    }
    if taken.is_empty() {
        return Ok(list.clone());
    }
    list.take(taken, &record.empty_list.clone().map_or(Emptied::Drop, Emptied::Text))
}

/// Where the entries of these kinds are.
fn ours(list: &List, kinds: &[Which]) -> Vec<usize> {
    let entries = list.entries().iter().enumerate();
    entries
        .filter(|(_, entry)| which(entry).is_some_and(|kind| kinds.contains(&kind)))
        .map(|(index, _)| index)
        .collect()
}

fn nothing(file: &Path) -> Failure {
    Failure::new(Code::InvalidArgument, format!("nothing to undo: no entry in {} runs Lore", file.display()))
        .hint("`lore setup lazygit` adds it; `lore doctor` shows where it is")
}
