//! Reads one JSON text strictly: a key stated twice is an error, and so is a text of too many values.
//!
//! `serde_json` alone keeps the last of two equal keys, so that a filter in front of Lore and Lore itself could see two
//! different requests in one message; and a few megabytes of `[0,0,…` would grow to half a gigabyte of values.
//! Depth is bounded by `serde_json` itself (128).

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::shown::shown;

/// Values a message may hold; a tool call has a few dozen.
const MAX_VALUES: usize = 100_000;

/// Why a text was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is not JSON, or states a key twice.
    Malformed(String),
    /// It holds more than [`MAX_VALUES`] values.
    TooManyValues,
}

/// Reads one JSON text.
pub(crate) fn parse(text: &[u8]) -> Result<Value, Unread> {
    let left = Cell::new(MAX_VALUES);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Strict { left: &left }.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    value.map_err(|error| match left.get() {
        0 => Unread::TooManyValues,
        _ => Unread::Malformed(error.to_string()),
    })
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    left: &'a Cell<usize>,
}

impl Strict<'_> {
    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        self.left.set(self.left.get().saturating_sub(1));
        if self.left.get() == 0 { Err(E::custom("too many values")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{}`", shown(&key))));
            }
            let value = entries.next_value_seed(self)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&match parse(text.as_bytes()) {
            Ok(value) => value.to_string(),
            Err(unread) => format!("{unread:?}"),
        });
    }

    #[test]
    fn values_are_read_as_they_are() {
        check(
            r#" {"b":[1,-2,3.5,1e3,true,null],"a":{"text":"\u00e9\n"},"big":18446744073709551616} "#,
            expect![[r#"{"b":[1,-2,3.5,1000.0,true,null],"a":{"text":"é\n"},"big":1.8446744073709552e+19}"#]],
        );
    }

    #[test]
    fn a_key_stated_twice_is_an_error_at_any_depth() {
        check(r#"{"a":{"b":1,"b":2}}"#, expect![[r#"Malformed("duplicate key `b` at line 1 column 15")"#]]);
        check(r#"{"a":1,"\u0061":2}"#, expect![[r#"Malformed("duplicate key `a` at line 1 column 15")"#]]);
    }

    #[test]
    fn what_follows_the_value_is_an_error() {
        check(r#"{"a":1}{"b":2}"#, expect![[r#"Malformed("trailing characters at line 1 column 8")"#]]);
    }

    #[test]
    fn depth_and_number_of_values_are_bounded() {
        check(&"[".repeat(100_000), expect![[r#"Malformed("recursion limit exceeded at line 1 column 128")"#]]);
        check(&format!("[{}0]", "0,".repeat(MAX_VALUES)), expect!["TooManyValues"]);
    }

    #[test]
    fn numbers_beyond_any_range_are_errors() {
        check("1e999", expect![[r#"Malformed("number out of range at line 1 column 5")"#]]);
        check(&"9".repeat(400), expect![[r#"Malformed("number out of range at line 1 column 400")"#]]);
    }
}
