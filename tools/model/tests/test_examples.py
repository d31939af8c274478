"""From pairs to what is trained on."""

import random
import unittest
from dataclasses import replace

from lore_model import collect, examples

PAIR = collect.Pair(
    query="Reads a file whole",
    text="def read_all(path):\n    return read_all_of(path) or read_all(path)",
    name="read_all",
    container="Reader",
    rest="Returns its text.",
    package="pypi/reader",
    language="python",
)


class Examples(unittest.TestCase):
    def test_a_passage_begins_with_names(self) -> None:
        self.assertEqual(examples.passage(PAIR), f"read_all Reader\nReturns its text.\n{PAIR.text}")
        self.assertEqual(examples.passage(PAIR, rest=False), f"read_all Reader\n{PAIR.text}")

    def test_a_heading_that_is_asked_for_is_not_in_the_passage(self) -> None:
        section = replace(PAIR, language="docs", query="Cache how long", name="how long", container="Cache", rest="")
        self.assertEqual(examples.passage(section).split("\n")[0], " Cache")

    def test_a_name_is_masked_where_it_is_the_query(self) -> None:
        self.assertEqual(
            examples.nameless(PAIR, rest=False), "Reader\ndef  (path):\n    return read_all_of(path) or  (path)"
        )

    def test_names_that_say_little_are_no_queries(self) -> None:
        found = list(examples.examples([replace(PAIR, name="run"), replace(PAIR, query="")], random.Random(1)))
        self.assertEqual([example.group for example in found], ["python", "python names"])
        self.assertEqual(found[1].query, "read all")

    def test_held_out_packages_are_known_by_their_names(self) -> None:
        held = next(name for name in map(str, range(1000)) if collect.is_held_out(f"pypi/{name}"))
        self.assertTrue(collect.is_held_out(f"debian/python3-{held}"))


if __name__ == "__main__":
    unittest.main()
