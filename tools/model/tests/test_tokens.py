"""Words, the vocabulary, and what a token counts."""

import math
import unittest

from lore_model import tokens
from lore_model.tokens import Tokenizer, corpus_vocabulary, cut

TOKENS = ["[UNK]", "parse", "http", "body", "2", "##r", "read", "a", "file"]


class Words(unittest.TestCase):
    def check(self, text: str, expected: str) -> None:
        self.assertEqual(" ".join(tokens.WORD.findall(text)).lower(), expected)

    def test_identifiers_are_split(self) -> None:
        self.check("parseHTTPBody2", "parse http body 2")
        self.check("snake_case::SCREAMING_CASE", "snake case screaming case")
        self.check("XMLs IDs aB AB A b 2nd", "xm ls i ds a b ab a b 2 nd")
        self.check("naïve Übung größe", "na ve bung gr e")


class Vocabulary(unittest.TestCase):
    def test_widespread_words_get_rows_and_the_rest_is_cut(self) -> None:
        spread = {"mutex": 9, "json": 8, "mutexes": 2, "jsonify": 1, "12345": 50}
        pieces = ["mu", "##tex", "js", "##on", "##es", "##if", "##y", "##ify"]
        found = corpus_vocabulary(spread, pieces, 73 + 2 + 2, 2)
        self.assertEqual(found[0], "[UNK]")
        self.assertEqual(found[73:], ["json", "mutex", "##es", "##ify"])
        rows = {token: row for row, token in enumerate(found)}
        self.assertEqual([found[row] for row in cut(rows, "mutexes")], ["mutex", "##es"])
        self.assertEqual([found[row] for row in cut(rows, "zz9")], ["z", "##z", "##9"])

    def test_a_word_with_an_unknown_part_is_one_unknown(self) -> None:
        rows = {token: row for row, token in enumerate(TOKENS)}
        self.assertEqual(cut(rows, "parser"), (1, 5))
        self.assertEqual(cut(rows, "parsez"), (0,))


class Counts(unittest.TestCase):
    def test_the_first_line_counts_more(self) -> None:
        tokenizer = Tokenizer(TOKENS, 1.5)
        self.assertEqual(tokenizer.ids("parseHTTP\nread_a file"), ([1, 2, 6, 7, 8], 2))
        found = tokenizer.counted("read\nread a file")
        self.assertEqual(found, [(6, (1 + math.log(2)) * 1.5), (7, 1.0), (8, 1.0)])
        self.assertEqual(tokenizer.counted("\n"), [])

    def test_tokens_past_the_limit_do_not_count(self) -> None:
        tokenizer = Tokenizer(TOKENS, 1.5)
        self.assertEqual(tokenizer.ids("read " * 599 + "parser http")[0][-2:], [6, 1])
        self.assertEqual(tokenizer.ids("read " * 700 + "\nfile"), ([6] * 600, 600))

    def test_bags_hold_what_is_counted(self) -> None:
        tokenizer = Tokenizer(TOKENS, 1.5)
        found = tokenizer.bags(["a", "", "file\nread"])
        self.assertEqual(found.toarray()[2, [6, 8]].tolist(), [1.0, 1.5])
        self.assertEqual(found.shape, (3, len(TOKENS)))


if __name__ == "__main__":
    unittest.main()
