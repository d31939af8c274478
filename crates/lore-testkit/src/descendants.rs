//! Which processes a process has started.

use std::fs;

/// The processes that this one has started, and those that they have; none where the system does not tell.
pub fn descendants(id: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            Some((id, parent_in(&stat)?))
        })
        .collect();
    let mut found = vec![id];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(id, _)| *id));
        next += 1;
    }
    found.split_off(1)
}

/// The parent in a line of `/proc/PID/stat`, whose second field is a name that may hold anything.
fn parent_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in("71 (git) S 70 71 5 0 -1"), Some(70));
        assert_eq!(parent_in("71 (a) b (c) R 12 71 5 0 -1"), Some(12));
        assert_eq!(parent_in(""), None);
    }
}
