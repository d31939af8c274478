//! Repositories whose few bytes stand for more than any reader can hold: of paths, of folders, of parents, of bytes.
//!
//! Each begins with a commit that is as it should be, and ends with one, unless the bomb is to be what HEAD names.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, Result, ensure};

use super::{
    init,
    raw::{hash, unhex},
    stream::MAIN,
};
use crate::Git;

/// What makes it one, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bomb {
    /// Ten to the power of this many paths, all with the same content.
    Paths(u32),
    /// Folders within folders.
    Deep(usize),
    /// Names of this many bytes, ten in each of ten folders within folders.
    LongNames(usize),
    /// A commit with this many parents.
    Parents(usize),
    /// A tag of a tag of a tag.
    Tags(usize),
    /// So many versions of a file, each stored as a difference to the next.
    Deltas(usize),
    /// One line of this many bytes.
    Line(usize),
    /// A file of zeros: large to read, small on disk.
    Zeros(u64),
    /// An object that says it is small and unpacks to this many bytes.
    Inflating(u64),
    /// So many files that move to another folder and change.
    Moves(usize),
}

/// Whether the bomb is what HEAD names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is the newest commit.
    Tip,
    /// An ordinary commit came after it.
    Past,
}

/// A text of the ordinary commits, to be searched for.
pub const ORDINARY: &str = "ordinary_function_beside_the_bomb";

/// Makes the repository, without a work tree; the messages of its commits are `Begin`, `Bomb` and, in the past, `After`.
pub fn bomb(bomb: Bomb, place: Place, dir: &Path) -> Result<PathBuf> {
    let git = init(dir, "sha1")?;
    let code = hash(&git, "blob", format!("pub fn {ORDINARY}() {{}}\n").as_bytes())?;
    let ordinary = hash(&git, "tree", &entry("100644", b"lib.rs", &code)?)?;
    let begin = commit(&git, &ordinary, &[], "Begin")?;
    let tip = match bomb {
        Bomb::Paths(power) => {
            let mut tree = hash(&git, "tree", &many(10, "100644", &code, "f")?)?;
            for _ in 1..power {
                tree = hash(&git, "tree", &many(10, "40000", &tree, "d")?)?;
            }
            commit(&git, &tree, &[&begin], "Bomb")?
        }
        Bomb::LongNames(length) => {
            let name = "n".repeat(length);
            let mut tree = hash(&git, "tree", &many(10, "100644", &code, &name)?)?;
            for _ in 0..10 {
                tree = hash(&git, "tree", &many(10, "40000", &tree, &name)?)?;
            }
            commit(&git, &tree, &[&begin], "Bomb")?
        }
        Bomb::Deep(depth) => commit(&git, &deep_tree(&git, &ordinary, depth)?, &[&begin], "Bomb")?,
        Bomb::Parents(count) => {
            let parents = many_commits(&git, &code, count)?;
            let parents: Vec<&str> = std::iter::once(&begin).chain(&parents).map(String::as_str).collect();
            commit(&git, &ordinary, &parents, "Bomb")?
        }
        Bomb::Tags(depth) => {
            let bombed = commit(&git, &ordinary, &[&begin], "Bomb")?;
            tags(&git, &bombed, depth)?;
            bombed
        }
        Bomb::Deltas(count) => versions(&git, &begin, &ordinary, count)?,
        Bomb::Line(length) => {
            let line = "0123456789abcdef".repeat(length / 16 + 1);
            let blob = hash(&git, "blob", &line.as_bytes()[..length])?;
            commit(&git, &beside(&git, &code, "line.txt", &blob)?, &[&begin], "Bomb")?
        }
        Bomb::Zeros(size) => {
            let blob = zeros(&git, size)?;
            commit(&git, &beside(&git, &code, "zeros.bin", &blob)?, &[&begin], "Bomb")?
        }
        Bomb::Inflating(size) => {
            let blob = inflating(&git, size)?;
            commit(&git, &beside(&git, &code, "small.txt", &blob)?, &[&begin], "Bomb")?
        }
        Bomb::Moves(count) => moves(&git, &begin, count)?,
    };
    let tip = if place == Place::Past { commit(&git, &ordinary, &[&tip], "After")? } else { tip };
    git.bytes(&["update-ref", MAIN, &tip])?;
    // Work trees of bombs cannot be made: the repository is bare, so that nobody takes the missing files for changes.
    git.bytes(&["config", "core.bare", "true"])?;
    Ok(dir.join(".git"))
}

/// An entry of a tree.
pub(super) fn entry(mode: &str, name: &[u8], id: &str) -> Result<Vec<u8>> {
    Ok([mode.as_bytes(), b" ", name, b"\0", &unhex(id)?].concat())
}

fn many(count: usize, mode: &str, id: &str, name: &str) -> Result<Vec<u8>> {
    let entries: Result<Vec<_>> = (0..count).map(|at| entry(mode, format!("{name}{at}").as_bytes(), id)).collect();
    Ok(entries?.concat())
}

/// A tree with the ordinary file and another one.
fn beside(git: &Git, code: &str, name: &str, blob: &str) -> Result<String> {
    hash(git, "tree", &[entry("100644", b"lib.rs", code)?, entry("100644", name.as_bytes(), blob)?].concat())
}

pub(super) fn commit(git: &Git, tree: &str, parents: &[&str], message: &str) -> Result<String> {
    let parents: String = parents.iter().flat_map(|parent| ["parent ", parent, "\n"]).collect();
    let person = "Ada Author <ada@example.com> 1600000000 +0000";
    let text = format!("tree {tree}\n{parents}author {person}\ncommitter {person}\n\n{message}\n");
    hash(git, "commit", text.as_bytes())
}

/// Folders within folders: one git makes them all, and names each before the next is asked for.
fn deep_tree(git: &Git, innermost: &str, depth: usize) -> Result<String> {
    let mut command = git.command();
    command.args(["mktree", "--batch", "--missing"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start git")?;
    let mut input = child.stdin.take().context("its input was piped")?;
    let mut output = BufReader::new(child.stdout.take().context("its output was piped")?);
    let mut tree = innermost.to_owned();
    for _ in 0..depth {
        input.write_all(format!("040000 tree {tree}\td\n\n").as_bytes())?;
        input.flush()?;
        tree.clear();
        output.read_line(&mut tree)?;
        tree.truncate(tree.trim_end().len());
    }
    drop(input);
    ensure!(child.wait()?.success() && tree.len() == 40, "git made no folders");
    Ok(tree)
}

/// So many commits without parents, each with a file of its own.
fn many_commits(git: &Git, code: &str, count: usize) -> Result<Vec<String>> {
    use std::fmt::Write as _;
    let mut stream = String::new();
    for at in 1..=count {
        write!(
            stream,
            "reset refs/heads/arm\n\ncommit refs/heads/arm\nmark :{at}\ncommitter A <a@b> {} +0000\ndata 4\nArm\n\
             M 100644 {code} f{at}.rs\n\n",
            1_600_000_000 + at
        )?;
    }
    for at in 1..=count {
        writeln!(stream, "get-mark :{at}")?;
    }
    stream.push_str("done\n");
    let printed = String::from_utf8(git.feed(&["fast-import", "--quiet", "--done"], stream.as_bytes())?)?;
    git.bytes(&["update-ref", "-d", "refs/heads/arm"])?;
    Ok(printed.lines().map(str::to_owned).collect())
}

fn tags(git: &Git, commit: &str, depth: usize) -> Result<()> {
    use std::fmt::Write as _;
    let (mut stream, mut above) = (String::new(), String::new());
    for at in 1..=depth {
        let from = if at == 1 { commit.to_owned() } else { format!(":{}", at - 1) };
        write!(stream, "tag deep-{at}\nmark :{at}\nfrom {from}\ntagger A <a@b> 1600000000 +0000\ndata 2\nx\n")?;
        if at < depth {
            writeln!(above, "delete refs/tags/deep-{at}")?;
        }
    }
    stream.push_str("done\n");
    git.feed(&["fast-import", "--quiet", "--done"], stream.as_bytes())?;
    // Each needs a name of its own to be made; the last one holds all of them.
    git.feed(&["update-ref", "--stdin"], above.as_bytes())?;
    Ok(())
}

/// Versions of one file that differ in a line, packed as deep as git packs.
fn versions(git: &Git, begin: &str, ordinary: &str, count: usize) -> Result<String> {
    use std::fmt::Write as _;
    let mut lines: Vec<String> = (0..200).map(|line| format!("let line_{line} = {line};")).collect();
    let mut stream = format!("reset refs/heads/main\nfrom {begin}\n\n");
    for at in 0..count {
        lines[at % 200] = format!("let line_{} = version({at});", at % 200);
        let content = lines.join("\n");
        write!(
            stream,
            "commit refs/heads/main\nmark :{}\ncommitter A <a@b> {} +0000\ndata 8\nVersion\n",
            at + 1,
            1_600_000_000 + at
        )?;
        write!(stream, "M 100644 inline versions.rs\ndata {}\n{content}\n", content.len())?;
    }
    write!(stream, "get-mark :{count}\ndone\n")?;
    let tip = git.feed(&["fast-import", "--quiet", "--done"], stream.as_bytes())?;
    let tip = String::from_utf8(tip)?.trim().to_owned();
    let bombed = commit(git, ordinary, &[&tip], "Bomb")?;
    git.bytes(&["update-ref", MAIN, &bombed])?;
    git.bytes(&["repack", "-adfq", "--depth=4095", "--window=5", "--threads=1"])?;
    Ok(bombed)
}

/// A blob of zeros, written by git itself piece by piece.
fn zeros(git: &Git, size: u64) -> Result<String> {
    let mut command = git.command();
    command.args(["hash-object", "-w", "--stdin"]);
    let file = tempfile::NamedTempFile::new()?;
    file.as_file().set_len(size)?;
    let output = command.stdin(file.reopen()?).output().context("cannot start git")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// A pack with one blob that says to have ten bytes, and whose stream goes on to this many.
fn inflating(git: &Git, size: u64) -> Result<String> {
    let real = zeros(git, size)?;
    let loose = git.dir().join(".git/objects").join(&real[..2]).join(&real[2..]);
    let folder = git.dir().join(".git/objects/pack");
    let stream = if loose.exists() {
        std::fs::read(&loose)?
    } else {
        // A large object is streamed into a pack of its own: its header of so many bytes, the stream, the checksum.
        let pack = std::fs::read_dir(&folder)?
            .flatten()
            .map(|found| found.path())
            .find(|path| path.extension().is_some_and(|extension| extension == "pack"))
            .context("git wrote the object somewhere")?;
        let bytes = std::fs::read(pack)?;
        let header = 12 + bytes[12..].iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
        bytes[header..bytes.len() - 20].to_vec()
    };
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x01\x3a".to_vec();
    pack.extend(stream);
    pack.extend([0; 20]);
    let id = [0xab; 20];
    let counts = (0..256_u32).flat_map(|first| u32::from(first >= 0xab).to_be_bytes());
    let mut index: Vec<u8> = b"\xfftOc\0\0\0\x02".iter().copied().chain(counts).chain(id).chain([0; 4]).collect();
    index.extend(12_u32.to_be_bytes().iter().chain(&[0; 40]));
    let name = format!("pack-{}", "ab".repeat(20));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{name}.pack")), pack)?;
    std::fs::write(folder.join(format!("{name}.idx")), index)?;
    Ok("ab".repeat(20))
}

fn moves(git: &Git, begin: &str, count: usize) -> Result<String> {
    use std::fmt::Write as _;
    let mut stream = format!("reset refs/heads/main\nfrom {begin}\n\n");
    for (mark, folder, more) in [(1, "from", ""), (2, "to", "and more\n")] {
        write!(stream, "commit refs/heads/main\nmark :{mark}\ncommitter A <a@b> 1600000000 +0000\ndata 5\nBomb\n")?;
        if mark == 2 {
            stream.push_str("D from\n");
        }
        for at in 0..count {
            let content = format!("file {at}\n{}{more}", format!("line of {}\n", at % 97).repeat(8));
            write!(stream, "M 100644 inline {folder}/f{at}.txt\ndata {}\n{content}\n", content.len())?;
        }
    }
    stream.push_str("get-mark :2\ndone\n");
    let tip = git.feed(&["fast-import", "--quiet", "--done"], stream.as_bytes())?;
    Ok(String::from_utf8(tip)?.trim().to_owned())
}
