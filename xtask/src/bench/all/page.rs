//! `docs/benchmarks.md` and the figures of the README, made from `docs/benchmarks.json`; and the same for a terminal.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use super::super::table::grid;
use super::record::{HEAD, Kind, Part, Record, Row};

/// Where a run is kept, and what is made from it.
const RECORD: &str = "docs/benchmarks.json";
const PAGE: &str = "docs/benchmarks.md";
const README: &str = "README.md";

/// What people wrote into the page; it stays when the page is made again.
const NOTES: [&str; 2] = ["<!-- notes:begin -->\n", "<!-- notes:end -->"];
const FIGURES: [&str; 2] = ["<!-- figures:begin -->\n", "<!-- figures:end -->"];

/// The figures of the README: the kind of part, the name, and how the name of what it is compared with begins; nothing for a
/// figure that stands alone. Only the first part of a kind is looked at.
const SHOWN: [(Kind, &str, &str); 17] = [
    (Kind::History, "full sync, wall", "git log -p -M"),
    (Kind::History, "full sync, wall", "commitmux"),
    (Kind::History, "index size", ".git"),
    (Kind::History, "peak memory of a full sync", ""),
    (Kind::Code, "full index, wall", "semble"),
    (Kind::Code, "search from process start, p50", "semble"),
    (Kind::Code, "search from process start, p50", "probe"),
    (Kind::Code, "search from process start, p50", "ck"),
    (Kind::Code, "index size", "source"),
    (Kind::Code, "`lore serve`, peak memory", ""),
    (Kind::Code, "literal from process start, p50", "ripgrep"),
    (Kind::Lines, "literal, p50", "ripgrep"),
    (Kind::Lines, "regular expression, p50", "ripgrep"),
    (Kind::Lines, "hybrid, p50", ""),
    (Kind::Quality, "NDCG@10, all folders alone", "semble"),
    (Kind::Quality, "NDCG@10, functions", "semble"),
    (Kind::Server, "hybrid, p99", "alone"),
];

impl Record {
    /// Reads a run.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no run of `bench all`", file.display()))
    }

    /// Keeps a run.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// One table for a terminal, with a line for each part.
    pub(crate) fn text(&self) -> String {
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        for part in &self.parts {
            let busy = if part.busy().is_some() { ", NOT QUIET" } else { "" };
            rows.push(vec![format!("── {}{busy}", part.title)]);
            rows.extend(part.rows.iter().map(|row| row.cells().to_vec()));
        }
        // A title is longer than any name and would push all columns away.
        let titles: Vec<String> = rows.iter().filter(|row| row.len() == 1).map(|row| row[0].clone()).collect();
        rows.iter_mut().filter(|row| row.len() == 1).for_each(|row| row[0].clear());
        let mut titles = titles.into_iter();
        let line = |line: &str| if line.is_empty() { titles.next().unwrap_or_default() } else { line.to_owned() };
        let table = grid(&rows).lines().map(line).collect::<Vec<_>>().join("\n");
        format!("{table}\n\n{}", self.misses().join("\n"))
    }

    /// Everything that is behind a peer, or missed what was aimed at.
    fn misses(&self) -> Vec<String> {
        let miss = |part: &Part, row: &Row| {
            let [name, ratio, lore, against, aim, _] = row.cells();
            match row.met {
                Some(false) => Some(format!("{}: {name}: {lore} {ratio}; the aim is {aim}", part.title)),
                None if row.is_behind() && is_peer(row) => {
                    Some(format!("{}: {name}: {lore}, {ratio} of {against}", part.title))
                }
                _ => None,
            }
        };
        self.parts.iter().flat_map(|part| part.rows.iter().filter_map(move |row| miss(part, row))).collect()
    }

    /// The page, with what people wrote into the one that is there.
    fn page(&self, before: &str) -> String {
        let mut page = vec![String::from(
            "<!-- Made from benchmarks.json by `cargo xtask bench docs`; only what stands between the marks of the notes is \
             written by hand. -->\n\n# Benchmarks\n\n",
        )];
        page.push(self.head());
        if self.quick {
            page.push("This run was made at small sizes, to try the benchmark itself: do not quote it.\n\n".to_owned());
        }
        page.push(
            "*Ratio* is Lore's figure divided by the one that it stands against: times, memory and sizes are better \
                 below 1, quality (NDCG) above. Both were measured in this run, in turn. An aim is what we promised \
                 ourselves; [Measure Lore](guides/measuring.md) says how each figure is taken. Measure on your own \
                 machine and repository.\n\n"
                .to_owned(),
        );
        if !self.peers.is_empty() {
            page.push("Compared with:\n\n".to_owned());
            for peer in &self.peers {
                page.push(format!("- {}: {}\n", peer.name, peer.about));
            }
            page.push("\n".to_owned());
        }
        page.push(self.tables("##"));
        page.push("## Missed or behind\n\n".to_owned());
        let misses = self.misses();
        if misses.is_empty() {
            page.push("Nothing.\n".to_owned());
        }
        for miss in misses {
            page.push(format!("- {miss}\n"));
        }
        let notes = between(before, NOTES).unwrap_or("\n");
        format!("{}\n## Why, and what is left\n\n{}{notes}{}\n", page.concat(), NOTES[0], NOTES[1])
    }

    /// When, what and where, and the command.
    pub(in crate::bench) fn head(&self) -> String {
        let machine = &self.machine;
        let load = machine.load.map_or_else(String::new, |load| format!(", load {load} before"));
        format!(
            "{}, {}, on {} ({} cores, {} GB of memory, {}{load}). Printed by\n\n```sh\n{}\n```\n\n",
            self.date, self.lore, machine.processor, machine.cores, machine.memory_gb, machine.system, self.command
        )
    }

    /// A table for each part, below a heading of this level.
    pub(in crate::bench) fn tables(&self, heading: &str) -> String {
        let part = |part: &Part| {
            let busy = part.busy().map(|busy| format!(" **{busy}**")).unwrap_or_default();
            let table = table(&HEAD, part.rows.iter().map(Row::cells));
            format!("{heading} {}\n\n{}{busy}\n\n{table}\n", part.title, part.about)
        };
        self.parts.iter().map(part).collect()
    }

    /// The figures of the README.
    fn figures(&self) -> String {
        let picked = SHOWN.iter().filter_map(|(kind, name, against)| {
            let part = self.parts.iter().find(|part| part.kind == *kind)?;
            let row = part.rows.iter().find(|row| {
                let reference = row.reference.as_ref().map_or("", |reference| &reference.name);
                row.name == *name && reference.starts_with(against) && reference.is_empty() == against.is_empty()
            })?;
            let [name, ratio, lore, against, ..] = row.cells();
            Some([format!("{}: {name}", short(part)), ratio, lore, against])
        });
        let rows: Vec<[String; 4]> = picked.chain(self.growth()).collect();
        let machine = &self.machine;
        let mut text = format!(
            "{} on {} ({} cores), from [all figures](docs/benchmarks.md), which one command prints and writes:\n\n\
             ```sh\n{}\n```\n\n",
            self.date, machine.processor, machine.cores, self.command
        );
        if self.quick {
            text += "This run was made at small sizes, to try the benchmark itself: do not quote it.\n\n";
        }
        text += "*Ratio* is Lore's figure divided by the other one: below 1 is better for times and sizes, above 1 for NDCG.\n\n";
        text + &table(&["", "ratio", "Lore", "against"], rows)
    }

    /// What the largest corpus took.
    fn growth(&self) -> Vec<[String; 4]> {
        let Some(part) = self.parts.iter().rfind(|part| part.kind == Kind::Growth) else { return Vec::new() };
        let is_peer = |row: &&Row| row.reference.as_ref().is_some_and(|it| it.name.starts_with("ripgrep"));
        let peer = if part.rows.iter().any(|row| is_peer(&row)) { "ripgrep" } else { "" };
        let wanted = [("full index, wall", ""), ("hybrid, p50", ""), ("literal, p50", peer)];
        let rows = part.rows.iter().filter(|row| {
            let reference = row.reference.as_ref().map_or("", |reference| &reference.name);
            wanted.iter().any(|(name, against)| row.name == *name && reference.starts_with(against))
        });
        let cells = |row: &Row| {
            let [name, ratio, lore, against, ..] = row.cells();
            [format!("{}: {name}", short(part)), ratio, lore, against]
        };
        rows.map(cells).collect()
    }

    /// Writes the page and the README's figures.
    pub(crate) fn write_pages(&self, root: &Path) -> Result<()> {
        for (file, text) in self.pages(root)? {
            fs::write(root.join(file), text).with_context(|| format!("cannot write {file}"))?;
        }
        Ok(())
    }

    fn pages(&self, root: &Path) -> Result<[(&'static str, String); 2]> {
        let page = fs::read_to_string(root.join(PAGE)).unwrap_or_default();
        let readme = fs::read_to_string(root.join(README)).context("cannot read the README")?;
        let new = put_between(&readme, FIGURES, &self.figures()).context("the README has no marks for its figures")?;
        Ok([(PAGE, self.page(&page)), (README, new)])
    }
}

/// Pages that do not say what the kept run says.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let readme = fs::read_to_string(root.join(README)).context("cannot read the README")?;
    let is_empty = between(&readme, FIGURES).is_none_or(|figures| figures.trim().is_empty());
    if !root.join(RECORD).exists() && !root.join(PAGE).exists() && is_empty {
        // Nothing was measured and nothing is claimed.
        return Ok(Vec::new());
    }
    let record = Record::read(&root.join(RECORD))?;
    let mut problems = Vec::new();
    for (file, text) in record.pages(root)? {
        if fs::read_to_string(root.join(file)).unwrap_or_default() != text {
            problems.push(format!("{file} does not say what {RECORD} says: run `cargo xtask bench docs`"));
        }
    }
    Ok(problems)
}

/// The run that the pages are made from.
pub(crate) fn record_file(root: &Path) -> std::path::PathBuf {
    root.join(RECORD)
}

/// Whether the reference is another program that does the same or another build of Lore, and not a limit.
fn is_peer(row: &Row) -> bool {
    let peers = ["commitmux", "semble", "probe", "ck", "ripgrep", "git grep", "baseline"];
    row.reference.as_ref().is_some_and(|reference| peers.iter().any(|peer| reference.name.starts_with(peer)))
}

/// The beginning of a part's title: what was measured, without details.
fn short(part: &Part) -> &str {
    part.title.split(" (").next().unwrap_or(&part.title)
}

fn between<'a>(text: &'a str, marks: [&str; 2]) -> Option<&'a str> {
    let (_, rest) = text.split_once(marks[0])?;
    Some(rest.split_once(marks[1])?.0)
}

/// The text with something else between the marks; `None` where it does not have them.
pub(in crate::bench) fn put_between(text: &str, marks: [&str; 2], new: &str) -> Option<String> {
    let (before, rest) = text.split_once(marks[0])?;
    let (_, after) = rest.split_once(marks[1])?;
    Some([before, marks[0], new, marks[1], after].concat())
}

/// A table as Markdown has it; columns without anything in them are left out.
fn table<const N: usize>(head: &[&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let used: Vec<usize> = (0..N).filter(|at| rows.iter().any(|row| !row[*at].is_empty())).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(used.iter().map(|at| head[*at].to_owned()).collect());
    text += &line(used.iter().map(|_| "---".to_owned()).collect()).replace(' ', "");
    for row in &rows {
        // A bar would end the cell.
        text += &line(used.iter().map(|at| row[*at].replace('|', "\\|")).collect());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{
        super::record::{Better, Machine, Peer},
        *,
    };

    fn record() -> Record {
        let rows = vec![
            Row {
                met: Some(true),
                aim: Some("≤ 0.9×".to_owned()),
                ..Row::against("full sync, wall", "s", 1.8, ("git log -p -M", 2.25))
            },
            Row::missing("against commitmux", "not measured: no peer given"),
        ];
        let part = |kind, title: &str, rows| Part {
            kind,
            title: title.to_owned(),
            about: "Medians.".to_owned(),
            seconds: 3.0,
            load_before: Some(0.1),
            load_after: Some(1.5),
            others: Some(0.0),
            rows,
        };
        let quality = Row { better: Better::More, ..Row::against("NDCG@10, functions", "", 0.3, ("semble", 0.4)) };
        let mut busy = part(Kind::Quality, "Answers", vec![quality]);
        busy.others = Some(1.25);
        Record {
            date: "2024-02-29".to_owned(),
            command: "cargo xtask bench all --repo tokio".to_owned(),
            quick: false,
            machine: Machine {
                processor: "a processor".to_owned(),
                cores: 2,
                memory_gb: 8.0,
                system: "linux 6".to_owned(),
                load: Some(0.0),
            },
            lore: "lore 0.1.0".to_owned(),
            peers: vec![Peer { name: "git".to_owned(), about: "2.40".to_owned() }],
            parts: vec![part(Kind::History, "History of tokio (4625 commits)", rows), busy],
        }
    }

    #[test]
    fn a_page_keeps_what_people_wrote() {
        let first = record().page("");
        assert!(
            first.contains("| full sync, wall | 0.800× | 1.80 s | 2.25 s (git log -p -M) | ≤ 0.9× | met |"),
            "{first}"
        );
        assert!(first.contains("not measured: no peer given"), "{first}");
        assert!(first.contains("**The machine was not quiet: others used 1.25 processors meanwhile.**"), "{first}");
        assert!(first.contains("- Answers: NDCG@10, functions: 0.300, 0.750× of 0.400 (semble)"), "{first}");
        let written = first.replace(NOTES[0], &format!("{}By hand.\n", NOTES[0]));
        let again = record().page(&written);
        assert_eq!(again, written);
        assert_eq!(record().page(&again), again);
    }

    #[test]
    fn the_readme_has_chosen_figures_between_its_marks() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("docs")).unwrap();
        let readme = dir.path().join(README);
        fs::write(&readme, format!("before\n{}old\n{}\nafter\n", FIGURES[0], FIGURES[1])).unwrap();
        assert!(check(dir.path()).is_err(), "figures without a run");
        record().write(&record_file(dir.path())).unwrap();
        assert_eq!(check(dir.path()).unwrap().len(), 2);
        record().write_pages(dir.path()).unwrap();
        assert_eq!(check(dir.path()).unwrap(), Vec::<String>::new());
        let text = fs::read_to_string(&readme).unwrap();
        assert!(text.starts_with("before\n") && text.ends_with("\nafter\n"), "{text}");
        assert!(
            text.contains("| History of tokio: full sync, wall | 0.800× | 1.80 s | 2.25 s (git log -p -M) |"),
            "{text}"
        );
        assert!(!text.contains("old"), "{text}");
        fs::write(&readme, text.replace("1.80 s", "1.20 s")).unwrap();
        let problems = check(dir.path()).unwrap();
        assert!(problems.len() == 1 && problems[0].starts_with("README.md does not say"), "{problems:?}");
    }

    #[test]
    fn titles_do_not_widen_the_columns() {
        let text = record().text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "── History of tokio (4625 commits)");
        assert!(lines[2].starts_with("full sync, wall     0.800×  1.80 s"), "{text}");
        assert!(lines.contains(&"── Answers, NOT QUIET"), "{text}");
    }
}
