"""From documentation comments to queries."""

import unittest

from lore_model import prose


class Queries(unittest.TestCase):
    def check(self, documentation: str, name: str, expected: str | None) -> None:
        self.assertEqual(prose.query(documentation, name), expected)

    def test_the_first_sentence_is_the_query(self) -> None:
        self.check("Reads a file whole. And closes it.", "read", "Reads a file whole")
        self.check("Reads a `file` whole, e.g. a log\nin UTF-8", "read", "Reads a file whole, e.g. a log in UTF-8")
        self.check("Splits [`Text`](crate::Text) into words\n\nArgs:\n  text: it", "split", "Splits Text into words")

    def test_the_name_is_not_given_away(self) -> None:
        self.check("Open connects to the server", "Open", "connects to the server")
        self.check("Calls read_all on every file", "read_all", None)

    def test_what_says_nothing_is_dropped(self) -> None:
        for text in [
            "",
            "See above",
            "TODO write this down later",
            "Deprecated: use the other one",
            "x = y + z * 4 / 2",
        ]:
            self.check(text, "name", None)

    def test_comment_marks_are_removed(self) -> None:
        for raw in [
            "/** Reads a file whole. */",
            "/// Reads a file whole.",
            "# Reads a file whole.",
            "--- Reads a file whole.",
        ]:
            self.assertEqual(prose.first_sentence(prose.comment_text(raw)), "Reads a file whole.")
        self.assertEqual(prose.comment_text("/// <summary>Reads it.</summary>").strip(), "Reads it.")

    def test_the_rest_is_what_follows(self) -> None:
        sentence, rest = prose.sentence_and_rest("Reads a file. Closes it.\n\nReturns: its text")
        self.assertEqual((sentence, rest), ("Reads a file.", "Closes it. Returns: its text"))


if __name__ == "__main__":
    unittest.main()
