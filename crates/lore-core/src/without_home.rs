//! Failures without the paths of a server.

use std::path::Path;

/// A text without the folder of Lore: a clone is called by its name, and anything else by its place in that folder. Users of
/// a team server are told of its repositories, not of its disk.
pub(crate) fn without_home(text: &str, home: &Path) -> String {
    let real = home.canonicalize().ok();
    let mut homes = vec![home.to_string_lossy()];
    homes.extend(real.as_ref().map(|real| real.to_string_lossy()).filter(|real| *real != homes[0]));
    let mut told = text.to_owned();
    for home in homes.iter().map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty()) {
        told = told
            .split(home)
            .enumerate()
            .map(|(index, part)| if index == 0 { part.to_owned() } else { inside(home, part) })
            .collect();
    }
    told
}

/// What stands behind the name of a folder, without it.
fn inside(home: &str, rest: &str) -> String {
    let Some(below) = rest.strip_prefix('/') else {
        // Another folder may begin with the same letters.
        let is_longer = rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '_' | '.'));
        return if is_longer { format!("{home}{rest}") } else { format!("the server's folder{rest}") };
    };
    match below.strip_prefix("clones/").and_then(|clone| clone.split_once(".git")) {
        Some((name, behind)) if !name.is_empty() && !name.contains(['/', ' ']) => {
            format!("the clone of `{name}`{behind}")
        }
        _ => below.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_told_without_the_folder() {
        let home = Path::new("/srv/lore");
        for (text, expected) in [
            ("/srv/lore/clones/big.git does not exist", "the clone of `big` does not exist"),
            ("cannot read HEAD of /srv/lore/clones/a.b.git: no", "cannot read HEAD of the clone of `a.b`: no"),
            ("/srv/lore/code/12.seg is damaged (/srv/lore/x)", "code/12.seg is damaged (x)"),
            ("no /srv/lore/clones/.git", "no clones/.git"),
            ("no /srv/lore/clones/a b.git or /srv/lore/clones/a/b.git", "no clones/a b.git or clones/a/b.git"),
            ("move /srv/lore aside", "move the server's folder aside"),
            ("/srv/lore-2/x and /srv/lore.old", "/srv/lore-2/x and /srv/lore.old"),
            ("nothing of it", "nothing of it"),
        ] {
            assert_eq!(without_home(text, home), expected);
        }
        assert_eq!(without_home("/x", Path::new("/")), "/x");
    }
}
