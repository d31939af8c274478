//! How far words are from each other: letters that are added, missing or others. Two letters that changed places are two.
//!
//! Words of up to 64 ASCII letters are compared a column at a time, in the bits of one number (after Myers); others letter by
//! letter.

/// One word that many others are compared with.
pub struct WordDistance {
    letters: Vec<char>,
    case_sensitive: bool,
    /// For each ASCII letter, the places where the word has it; none where the word is too long or not ASCII.
    places: Option<Box<[u64; 128]>>,
}

impl WordDistance {
    /// Compares others with this word; with capital letters as they are, or as small ones.
    pub fn new(word: &str, case_sensitive: bool) -> Self {
        let folded = if case_sensitive { word.to_owned() } else { word.to_lowercase() };
        let letters: Vec<char> = folded.chars().collect();
        let is_short = !letters.is_empty() && letters.len() <= 64 && folded.is_ascii();
        let places = is_short.then(|| {
            let mut places = Box::new([0_u64; 128]);
            for (at, byte) in folded.bytes().enumerate() {
                places[usize::from(byte)] |= 1 << at;
                if !case_sensitive {
                    places[usize::from(byte.to_ascii_uppercase())] |= 1 << at;
                }
            }
            places
        });
        Self { letters, case_sensitive, places }
    }

    /// How many letters the word has.
    pub fn len(&self) -> usize {
        self.letters.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// How many letters differ, where that is at most so many.
    pub fn to(&self, other: &str, most: usize) -> Option<usize> {
        // A letter has one to four bytes.
        if other.len() + most < self.letters.len() || other.len() > 4 * (self.letters.len() + most) {
            return None;
        }
        let column = self.column(other, most)?;
        column.last().filter(|distance| *distance <= most)
    }

    /// The same for the beginning of the word that is nearest to the other.
    pub fn from_beginning(&self, other: &str, most: usize) -> Option<usize> {
        self.column(other, usize::MAX)?.least().filter(|distance| *distance <= most)
    }

    /// How far each beginning of the word is from the other; none where it is known that none of the whole is near enough.
    fn column(&self, other: &str, most: usize) -> Option<Column> {
        let (Some(places), true) = (&self.places, other.is_ascii()) else { return self.slow_column(other, most) };
        if other.len().abs_diff(self.letters.len()) > most {
            return None;
        }
        let (mut up, mut down) = (u64::MAX, 0_u64);
        for byte in other.bytes() {
            let same = places[usize::from(byte)];
            let across = (((same & up).wrapping_add(up)) ^ up) | same;
            let more = down | !(across | up);
            let less = up & across;
            let (more, less) = (more << 1 | 1, less << 1);
            let along = same | down;
            up = less | !(along | more);
            down = more & along;
        }
        Some(Column::Bits { first: other.len(), length: self.letters.len(), up, down })
    }

    fn slow_column(&self, other: &str, most: usize) -> Option<Column> {
        let folded = if self.case_sensitive { other.to_owned() } else { other.to_lowercase() };
        let other: Vec<char> = folded.chars().collect();
        if other.len().abs_diff(self.letters.len()) > most {
            return None;
        }
        let mut column: Vec<usize> = (0..=self.letters.len()).collect();
        for (number, letter) in other.iter().enumerate() {
            let mut before = std::mem::replace(&mut column[0], number + 1);
            for (at, own) in self.letters.iter().enumerate() {
                let replaced = before + usize::from(own != letter);
                before = column[at + 1];
                column[at + 1] = replaced.min(column[at] + 1).min(before + 1);
            }
        }
        Some(Column::Numbers(column))
    }
}

/// Distances of the beginnings of the word, the empty one first.
enum Column {
    /// The first, and where each of the others is one more or one less than the one before.
    Bits {
        first: usize,
        length: usize,
        up: u64,
        down: u64,
    },
    Numbers(Vec<usize>),
}

impl Column {
    fn last(&self) -> Option<usize> {
        match self {
            Self::Bits { first, length, up, down } => {
                let mask = if *length == 64 { u64::MAX } else { (1 << length) - 1 };
                (first + (up & mask).count_ones() as usize).checked_sub((down & mask).count_ones() as usize)
            }
            Self::Numbers(column) => column.last().copied(),
        }
    }

    fn least(&self) -> Option<usize> {
        match self {
            Self::Bits { first, length, up, down } => {
                let (mut here, mut least) = (*first, *first);
                for at in 0..*length {
                    here = here + usize::from(up >> at & 1 == 1) - usize::from(down >> at & 1 == 1);
                    least = least.min(here);
                }
                Some(least)
            }
            Self::Numbers(column) => column.iter().min().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the book, for small letters.
    fn by_the_book(a: &str, b: &str) -> Vec<usize> {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                rows[i][j] = match (i, j) {
                    (0, j) => j,
                    (i, 0) => i,
                    (i, j) => {
                        let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                        replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
                    }
                };
            }
        }
        rows.iter().map(|row| row[b.len()]).collect()
    }

    #[test]
    fn distances_are_those_of_the_book() {
        let mut seed = 7_u64;
        let mut random = move |end: u64| -> usize {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((seed >> 33) % end).unwrap()
        };
        let mut word = |longest: u64| {
            let length = random(longest + 1);
            (0..length).map(|_| ["a", "b", "c", "_", "ä"][random(if longest > 20 { 5 } else { 4 })]).collect::<String>()
        };
        for round in 0..4000 {
            let longest = if round % 8 == 0 { 70 } else { 12 };
            let (a, b) = (word(longest), word(longest));
            let column = by_the_book(&a, &b);
            let (last, least) = (column[column.len() - 1], column.iter().min().copied());
            let distance = WordDistance::new(&a, true);
            assert_eq!(distance.to(&b, 1000), Some(last), "{a} {b}");
            assert_eq!(distance.to(&b, last), Some(last), "{a} {b}");
            assert_eq!(last.checked_sub(1).and_then(|most| distance.to(&b, most)), None, "{a} {b}");
            assert_eq!(distance.from_beginning(&b, 1000), least, "{a} {b}");
        }
    }

    #[test]
    fn capital_letters_count_or_not() {
        assert_eq!(WordDistance::new("GetX", false).to("getx", 0), Some(0));
        assert_eq!(WordDistance::new("getx", false).to("GETX", 0), Some(0));
        assert_eq!(WordDistance::new("GetX", true).to("getx", 3), Some(2));
        assert_eq!(WordDistance::new("GRÖSSE", false).to("größe", 3), Some(2));
        assert_eq!(WordDistance::new("", true).to("ab", 3), Some(2));
    }
}
