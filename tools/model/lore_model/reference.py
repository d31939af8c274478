"""Writes vectors of sample texts, computed from the exported file, for the test of the embedder in `lore-embed`."""

from __future__ import annotations

import json
from pathlib import Path

from .export import Table

SAMPLES = [
    "",
    " \n\t ",
    "...!?;",
    "a",
    "A",
    "7",
    "parseHTTPBody2",
    "HTTPServer",
    "XMLHttpRequest2Factory",
    "getURLs",
    "ABc",
    "aBC",
    "snake_case_identifier_v12",
    "SCREAMING_SNAKE_CASE",
    "__init__",
    "x86_64-unknown-linux-gnu",
    "0xDEADBEEF 1234567890123456789012345678901234567890",
    "naïve café Straße",
    "функция возвращает значение",
    "解析配置文件 parse config",
    "emoji 🦀 crab",
    "Größe\u0301e Ünïcode\u00a0space",
    "read a csv file into a data frame",
    "how do I retry a failed http request with exponential backoff",
    "where is the connection pool closed",
    "split a string on whitespace",
    "compute the sha256 checksum of a file",
    "the the the the cat sat on the the mat",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "supercalifragilisticexpialidocious" * 4,
    "def read_lines(path):\n    with open(path) as handle:\n        return [line.rstrip() for line in handle]\n",
    "class LruCache:\n    def __init__(self, size):\n        self._size = size\n        self._items = OrderedDict()\n",
    "pub fn checksum(bytes: &[u8]) -> u32 {\n    bytes.iter().fold(0, |sum, &b| sum.wrapping_mul(31) + b as u32)\n}\n",
    "impl<T: Clone> Iterator for Cycle<T> {\n    type Item = T;\n    fn next(&mut self) -> Option<T> { todo!() }\n}\n",
    "func (c *Client) Do(req *http.Request) (*http.Response, error) {\n\treturn c.transport.RoundTrip(req)\n}\n",
    "export async function fetchJson<T>(url: string): Promise<T> {\n  const res = await fetch(url);\n  return res.json();\n}\n",
    'public static List<String> splitWords(String text) {\n    return Arrays.asList(text.split("\\\\s+"));\n}\n',
    "int utf8_length(const char *s) {\n    int n = 0;\n    while (*s) n += (*s++ & 0xC0) != 0x80;\n    return n;\n}\n",
    "template <typename T>\nstd::vector<T> Unique(std::vector<T> v) {\n  std::sort(v.begin(), v.end());\n  return v;\n}\n",
    "public async Task<User?> FindUserAsync(Guid id) => await _context.Users.FindAsync(id);\n",
    "def each_slice(list, size)\n  list.each_with_index.group_by { |_, i| i / size }.values\nend\n",
    "<?php\nfunction slugify(string $title): string {\n    return trim(preg_replace('/\\W+/', '-', strtolower($title)), '-');\n}\n",
    "SELECT id, name FROM users WHERE created_at > NOW() - INTERVAL '7 days' ORDER BY name;\n",
    "read_lines FileReader\n    def read_lines(self):\n        return self.handle.read().splitlines()\n",
    "\nfirst line is empty, read this one\n",
    "## Configuration\n\nSettings are read from a file, then from the environment, then from the command line.\n",
    " ".join(f"wordNumber{n} token{n % 7}" for n in range(400)),
    "x" * 700,
]


def write(path: Path, table: Table) -> None:
    """Writes token rows and the first 16 components of each vector, rounded to five digits."""
    tokenizer = table.tokenizer()
    rows = []
    for text in SAMPLES:
        counted = tokenizer.counted(text)
        rows.append(
            {
                "text": text,
                "tokens": tokenizer.ids(text)[0],
                "query": [round(float(x), 5) + 0.0 for x in table.embed(counted, table.query)[:16]],
                "passage": [round(float(x), 5) + 0.0 for x in table.embed(counted, table.passage)[:16]],
            }
        )
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f'{{"model": {json.dumps(table.name)}, "samples": [\n{lines}\n]}}\n', encoding="utf-8")
