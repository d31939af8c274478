//! Which file was probably meant by a path that does not exist.

use std::cmp::Reverse;

use lore_model::closest;

/// The path with the most names in common from its end, else the one that is spelled most like it, else one whose file is.
pub(crate) fn nearest_path<'a>(wanted: &str, paths: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let wanted = wanted.trim_start_matches("./").trim_start_matches('/');
    let shared = |path: &str| path.rsplit('/').zip(wanted.rsplit('/')).take_while(|(a, b)| a == b).count();
    let ending_alike = paths.clone().filter(|path| shared(path) > 0);
    ending_alike
        .max_by_key(|path| (shared(path), Reverse(path.len())))
        .or_else(|| closest(wanted, paths.clone()))
        .or_else(|| {
            let near = closest(file_name(wanted), paths.clone().map(file_name))?;
            paths.filter(|path| file_name(path) == near).min_by_key(|path| path.len())
        })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_with_the_same_ending_is_nearer_than_one_that_is_spelled_alike() {
        let paths = ["tokio/src/loom/std/mutex.rs", "tokio/src/sync/mutex.rs", "src/sync/mutes.rs", "README.md"];
        for (wanted, near) in [
            ("src/sync/mutex.rs", Some("tokio/src/sync/mutex.rs")),
            ("/home/ada/src/tokio/src/sync/mutex.rs", Some("tokio/src/sync/mutex.rs")),
            ("./mutex.rs", Some("tokio/src/sync/mutex.rs")),
            ("tokio/src/sync/mutx.rs", Some("tokio/src/sync/mutex.rs")),
            ("REDME.md", Some("README.md")),
            ("mutess.rs", Some("src/sync/mutes.rs")),
            ("nothing/like/it.toml", None),
        ] {
            assert_eq!(nearest_path(wanted, paths.into_iter()), near, "{wanted}");
        }
    }
}
