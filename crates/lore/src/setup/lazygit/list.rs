//! The list `customCommands` of lazygit's file: finds its entries and changes only their bytes.
//!
//! Each change is made in the text and, apart from that, in the tree; the text is taken only if it
//! reads back as that tree.

use super::{
    super::{
        document::Problem,
        edit::{self, Edit},
    },
    place,
    yaml::{self, Kind, Node},
};

/// The key of the list.
pub(super) const LIST: &str = "customCommands";

/// An entry to put in, in the forms it can be written in.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its lines, the first with the dash in the first column.
    pub(super) block: Option<String>,
    /// What stands between brackets and commas.
    pub(super) flow: Option<String>,
    /// What it says.
    node: Node,
}

impl Item {
    /// An entry written as lines.
    pub(super) fn lines(block: String) -> Option<Self> {
        let node = only(&yaml::parse(&block).ok()?.0?)?;
        Some(Self { block: Some(block), flow: None, node })
    }

    /// An entry written for a list in brackets.
    pub(super) fn bracketed(flow: String) -> Option<Self> {
        let node = only(&yaml::parse(&format!("[{flow}]")).ok()?.0?)?;
        Some(Self { block: None, flow: Some(flow), node })
    }
}

fn only(list: &Node) -> Option<Node> {
    match list.items()? {
        [item] => Some(item.clone()),
        _ => None,
    }
}

/// What becomes of a list whose last entry goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Emptied {
    /// It goes too.
    Drop,
    /// It gets this text: what it was.
    Text(String),
}

/// lazygit's file and the list in it.
#[derive(Debug, Clone)]
pub(super) struct List {
    text: String,
    root: Option<Node>,
    end: usize,
}

impl List {
    /// Reads a file.
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let (root, end) = yaml::parse(text)?;
        let list = Self { text: text.to_owned(), root, end };
        list.check_root()?;
        list.check_list()?;
        Ok(list)
    }

    /// The file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The entries.
    pub(super) fn entries(&self) -> &[Node] {
        self.list().and_then(|(_, list)| list.items()).unwrap_or_default()
    }

    /// What the list is if it has no entries: its text, and `None` when there is no list.
    pub(super) fn value_text(&self) -> Option<&str> {
        let (key, value) = self.list()?;
        Some(&self.text[place::value(&self.text, key, value)])
    }

    /// An entry as it can be put in again.
    pub(super) fn item(&self, index: usize) -> Option<Item> {
        let (_, list) = self.list()?;
        if list.flow {
            return Item::bracketed(self.text[list.items()?.get(index)?.span.clone()].to_owned());
        }
        let column = place::column(&self.text, list)?;
        let range = place::lines(&self.text, list, index)?;
        let lines = self.text[range].lines().map(|line| line.get(column..).unwrap_or_default());
        Item::lines(lines.collect::<Vec<_>>().join("\n"))
    }

    /// The exact text of a field of an entry.
    pub(super) fn raw(&self, index: usize, field: &str) -> Option<&str> {
        let (key, value) = self.entries().get(index)?.pair(field)?;
        Some(&self.text[place::value(&self.text, key, value)])
    }

    /// Gives a field of an entry a new text.
    pub(super) fn set(&self, index: usize, field: &str, raw: &str) -> Result<Self, Problem> {
        let entry = &self.entries()[index];
        let value = yaml::parse(&format!("x: {raw}"))?.0.and_then(|map| map.get("x").cloned());
        let Some((key, old)) = entry.pair(field).filter(|(_, old)| old.anchor == 0 && old.tag.is_none()) else {
            return Err(Problem::at(&self.text, entry.span.start, format!("Lore cannot change `{field}` here")));
        };
        let changed =
            edit::apply(&self.text, vec![Edit { range: place::value(&self.text, key, old), with: raw.to_owned() }]);
        let mut root = self.root.clone();
        if let Some(Kind::List(items)) = root.as_mut().and_then(list_of).map(|list| &mut list.kind)
            && let Kind::Map(pairs) = &mut items[index].kind
            && let Some(pair) = pairs.iter_mut().find(|(name, _)| name.text() == Some(field))
        {
            pair.1 = value.unwrap_or_else(|| Node::plain(""));
        }
        self.verified(&[changed], root.as_ref())
    }

    /// Puts entries in: in the place of those at `taken`, or at the end.
    pub(super) fn put(&self, taken: &[usize], items: &[Item]) -> Result<Self, Problem> {
        let mut kept: Vec<Node> = self.entries().to_vec();
        let at = taken.first().copied().unwrap_or(kept.len());
        for index in taken.iter().rev() {
            kept.remove(*index);
        }
        kept.splice(at..at, items.iter().map(|item| item.node.clone()));
        let mut root = self.root.clone().filter(|root| !root.is_null());
        let imagined = root.get_or_insert_with(|| Node::imagined(Kind::Map(Vec::new())));
        if let Some(list) = list_of(imagined) {
            *list = Node { anchor: list.anchor, tag: list.tag.clone(), ..Node::imagined(Kind::List(kept)) };
        } else if let Kind::Map(pairs) = &mut imagined.kind {
            pairs.push((Node::plain(LIST), Node::imagined(Kind::List(kept))));
        }
        let candidates = self.with(taken, items);
        self.verified(&candidates, root.as_ref())
    }

    /// Takes entries out.
    pub(super) fn take(&self, taken: &[usize], emptied: &Emptied) -> Result<Self, Problem> {
        if taken.len() < self.entries().len() {
            return self.put(taken, &[]);
        }
        let Some((key, value)) = self.list() else { return Ok(self.clone()) };
        let mut root = self.root.clone();
        let candidate = match emptied {
            Emptied::Text(was) => {
                if let Some(list) = root.as_mut().and_then(list_of) {
                    *list = yaml::parse(was)?.0.unwrap_or_else(|| Node::plain(""));
                }
                let edits = if value.flow {
                    Some(vec![Edit { range: value.span.clone(), with: was.clone() }])
                } else {
                    place::exchange_lines(&self.text, value, taken, "").map(|mut edits| {
                        let space = if was.is_empty() { "" } else { " " };
                        edits.push(Edit::insert(place::after_colon(&self.text, key), format!("{space}{was}")));
                        edits
                    })
                };
                edits.map(|edits| edit::apply(&self.text, edits))
            }
            Emptied::Drop => {
                if let Some(Kind::Map(pairs)) = root.as_mut().map(|root| &mut root.kind) {
                    pairs.retain(|(name, _)| name.text() != Some(LIST));
                }
                root = root.filter(|root| root.flow || root.pairs().is_none_or(|pairs| !pairs.is_empty()));
                self.root.as_ref().and_then(|root| place::without(&self.text, root, LIST))
            }
        };
        self.verified(candidate.as_slice(), root.as_ref())
    }

    fn list(&self) -> Option<&(Node, Node)> {
        self.root.as_ref()?.pair(LIST)
    }

    /// The texts that may have these entries in place of those taken, the nicest first.
    fn with(&self, taken: &[usize], items: &[Item]) -> Vec<String> {
        let text = &self.text;
        let column = |node: &Node| node.span.start - edit::line_start(text, node.span.start);
        let block = |column| place::indented(text, items, column);
        let flow = || items.iter().map(|item| item.flow.as_deref()).collect::<Option<Vec<_>>>();
        let edits: Vec<Option<Vec<Edit>>> = match (self.root.as_ref(), self.list()) {
            (Some(root), None) if root.flow => vec![flow().map(|items| {
                let comma = if root.pairs().is_some_and(<[_]>::is_empty) { "" } else { ", " };
                vec![Edit::insert(root.span.start + 1, format!("{LIST}: [{}]{comma}", items.join(", ")))]
            })],
            (root, None) => {
                let root = root.filter(|root| !root.is_null());
                let first = root.and_then(Node::pairs).and_then(<[_]>::first).map(|(key, _)| key);
                let indent = first.map_or(0, column);
                let lines = block(indent + 2)
                    .map(|lines| format!("{}{LIST}:{}{lines}", " ".repeat(indent), edit::newline(text)));
                let places = [Some(self.end), first.map(|key| edit::line_start(text, key.span.start))];
                places
                    .into_iter()
                    .flatten()
                    .map(|at| Some(vec![place::whole_lines(text, at, lines.as_ref()?)]))
                    .collect()
            }
            (_, Some((key, value))) if value.items().is_none() => {
                let range = place::value(text, key, value);
                if range.is_empty() {
                    let at = edit::line_end(text, key.span.end);
                    vec![block(column(key) + 2).map(|lines| vec![place::whole_lines(text, at, &lines)])]
                } else {
                    vec![flow().map(|items| vec![Edit { range, with: format!("[{}]", items.join(", ")) }])]
                }
            }
            (_, Some((_, list))) if list.flow => {
                vec![flow().and_then(|items| place::exchange_in_brackets(list, taken, &items.join(", ")))]
            }
            (_, Some((_, list))) => {
                let lines = place::column(text, list).and_then(block).unwrap_or_default();
                match taken {
                    [] => place::append_lines(text, list, &lines).into_iter().map(Some).collect(),
                    _ => vec![place::exchange_lines(text, list, taken, &lines)],
                }
            }
        };
        edits.into_iter().flatten().map(|edits| edit::apply(text, edits)).collect()
    }

    /// The first of the texts that says what it should.
    fn verified(&self, candidates: &[String], wanted: Option<&Node>) -> Result<Self, Problem> {
        let read = candidates.iter().find_map(|text| {
            let read = Self::read(text).ok()?;
            let said = read.root.as_ref().filter(|root| !root.is_null());
            says_the_same(said, wanted.filter(|root| !root.is_null())).then_some(read)
        });
        let at = self.list().map_or(0, |(key, _)| key.span.start);
        read.ok_or_else(|| {
            Problem::at(&self.text, at, format!("Lore cannot change `{LIST}` in a file written like this"))
        })
    }

    fn check_root(&self) -> Result<(), Problem> {
        match &self.root {
            Some(root) if root.pairs().is_none() && (!root.is_null() || !root.span.is_empty()) => Err(Problem::at(
                &self.text,
                root.span.start,
                "lazygit's file is a list of `key: value`, and this is not",
            )),
            _ => Ok(()),
        }
    }

    fn check_list(&self) -> Result<(), Problem> {
        let pairs = self.root.as_ref().and_then(Node::pairs).unwrap_or_default();
        let mut lists = pairs.iter().filter(|(key, _)| key.text() == Some(LIST));
        let Some((key, list)) = lists.next() else { return Ok(()) };
        let wrong = |at: &Node, what: &str| Err(Problem::at(&self.text, at.span.start, format!("`{LIST}` {what}")));
        if let Some((again, _)) = lists.next() {
            return wrong(again, "is there twice; lazygit does not read this file");
        }
        match &list.kind {
            _ if list.anchor != 0 || list.tag.is_some() => wrong(key, "has an anchor or a tag; Lore leaves it alone"),
            Kind::List(_) => Ok(()),
            Kind::Alias(_) => wrong(key, "is an alias; Lore leaves it alone"),
            _ if list.is_null() => Ok(()),
            _ => wrong(key, "is not a list"),
        }
    }
}

/// The list in a tree.
fn list_of(root: &mut Node) -> Option<&mut Node> {
    let Kind::Map(pairs) = &mut root.kind else { return None };
    pairs.iter_mut().find(|(key, _)| key.text() == Some(LIST)).map(|(_, list)| list)
}

/// Whether two files say the same, whatever the order of their keys.
fn says_the_same(one: Option<&Node>, other: Option<&Node>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one.is_none() == other.is_none() };
    match (one.pairs(), other.pairs()) {
        (Some(ours), Some(theirs)) => {
            ours.len() == theirs.len() && ours.iter().all(|pair| theirs.contains(pair)) && one.anchor == other.anchor
        }
        _ => one == other,
    }
}
