"""Licence declarations."""

import unittest

from lore_model.licences import DebianCopyright, is_permissive, of_python_metadata

COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: somebody
License: Expat

Files: src/extra/*
Copyright: somebody else
License: GPL-3+

Files: debian/*
Copyright: a packager
License: GPL-2+
"""


class Licences(unittest.TestCase):
    def test_expressions(self) -> None:
        for text in [
            "MIT",
            "MIT OR GPL-3.0",
            "(MIT AND BSD-3-Clause) OR LGPL-2.1",
            "MIT/Apache-2.0",
            "BSD-3-clause~Google",
        ]:
            self.assertTrue(is_permissive(text), text)
        for text in ["", "GPL-3.0", "MIT AND GPL-3.0", "SEE LICENSE IN LICENSE", "(MIT", "MPL-2.0", "x" * 400]:
            self.assertFalse(is_permissive(text), text)

    def test_python_metadata(self) -> None:
        self.assertEqual(of_python_metadata("Name: a\nLicense-Expression: MIT\nLicense: other\n\nbody"), "MIT")
        classifier = "Classifier: License :: OSI Approved :: MIT License"
        self.assertEqual(of_python_metadata(f"Name: a\n{classifier}\n\nLicense: GPL"), "MIT")
        self.assertEqual(of_python_metadata("Name: a\n\nLicense: MIT"), "")

    def test_debian_copyright_speaks_of_single_files(self) -> None:
        found = DebianCopyright.parse(COPYRIGHT)
        assert found is not None
        self.assertEqual(found.main(), "Expat")
        self.assertTrue(found.permits("src/a.c"))
        self.assertFalse(found.permits("src/extra/b.c"))
        self.assertFalse(found.all_permissive())
        self.assertIsNone(DebianCopyright.parse("This package was debianized by somebody."))


if __name__ == "__main__":
    unittest.main()
