//! The mailmap of a repository: who authors are, whatever name a commit spells.

use lore_model::Person;

/// A parsed `.mailmap`.
#[derive(Debug, Clone, Default)]
pub struct Mailmap {
    snapshot: gix::mailmap::Snapshot,
    digest: u64,
}

impl Mailmap {
    /// Reads the file's content; lines that make no sense are passed over, as git does.
    pub fn parse(content: &[u8]) -> Self {
        Self { snapshot: gix::mailmap::Snapshot::from_bytes(content), digest: fnv1a(content) }
    }

    /// A number that changes with the content, stable over processes.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Whether it changes nobody's name.
    pub fn is_empty(&self) -> bool {
        self.snapshot.iter().next().is_none()
    }

    /// The person under their proper name, or `None` where the mailmap does not change it.
    pub fn resolve(&self, person: &Person) -> Option<Person> {
        let signature = gix::actor::SignatureRef {
            name: person.name.as_bytes().into(),
            email: person.email.as_bytes().into(),
            time: "0 +0000",
        };
        let mapped = self.snapshot.try_resolve(signature)?;
        let mapped = Person { name: mapped.name.to_string(), email: mapped.email.to_string() };
        (mapped != *person).then_some(mapped)
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_mapped_as_git_does() {
        let map = Mailmap::parse(b"Proper Name <proper@x> <old@x>\nOther <o@x> Odd Name <shared@x>\n# comment\n");
        let person = |name: &str, email: &str| Person { name: name.into(), email: email.into() };
        assert_eq!(map.resolve(&person("whoever", "OLD@x")), Some(person("Proper Name", "proper@x")));
        assert_eq!(map.resolve(&person("odd name", "shared@x")), Some(person("Other", "o@x")));
        assert_eq!(map.resolve(&person("someone", "shared@x")), None);
    }
}
