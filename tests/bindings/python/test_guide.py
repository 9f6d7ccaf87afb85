"""What docs/guides/python.md and index.md say of an installation, scripts/check-blocks and scripts/check-words. Doctests of these pages run by themselves (scripts/python)."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).parents[3]


def blocks(path: str, kind: str) -> list[str]:
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", (TREE / path).read_text(), re.DOTALL | re.MULTILINE)
    return [block for its, block in found if its == kind]


def section(name: str) -> set[str]:
    """The packages of a section of scripts/packages.txt."""
    found = re.search(rf"^\[{name}\][^\n]*\n(.*?)(?:^\[|\Z)", (TREE / "scripts" / "packages.txt").read_text(), re.DOTALL | re.MULTILINE)
    assert found
    return {line.split()[0] for line in found[1].splitlines() if line.strip() and not line.startswith("#")}


def test_the_guide_installs_the_tree_and_its_second_line_runs() -> None:
    [block] = blocks("docs/guides/python.md", "sh")
    install, ask = block.splitlines()
    # `scripts/python package` makes the wheel, and installs it into an environment like this one.
    assert shlex.split(install, comments=True) == ["python3", "-m", "venv", "~/surety", "&&", "~/surety/bin/pip", "install", "."]
    program, *words = shlex.split(ask)
    assert program == "~/surety/bin/python"
    said = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"\[1\.99[0-9]+, 1\.99[0-9]+\]\n", said)


def test_the_index_names_packages_of_the_list() -> None:
    pip, apt = blocks("bindings/python/index.md", "")
    assert pip == "pip install .\n"
    words = apt.split()
    assert words[:2] == ["apt", "install"] and len(words) > 10
    assert set(words[2:]) <= section("build") | section("python")
    # What the command and tests alone need is not there, nor what every machine with Python has.
    assert {word for word in section("build") if word.endswith("-dev")} - set(words) == {"libcli11-dev", "libopenmpi-dev"}


def found(tree: Path) -> list[str]:
    """What scripts/check-blocks prints of a tree."""
    return subprocess.run([sys.executable, str(TREE / "scripts" / "check-blocks"), str(tree)], capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("docs/guides/c.md", "```c\nint lost;\n```\n"),
        ("docs/guides/new.md", "# New\n\n```python\nimport surety\n```\n"),
        ("docs/guides/new.md", "# New\n\n```\nsurety release\n```\n"),
        ("docs/guides/new.md", "# New\n\n```sh\nsurety release\n```\n"),
        ("docs/guides/new.md", "# New\n\n    F.hash(owner)\n"),
        ("bindings/python/new.md", "```python\n>>> 1\n1\n```\n"),
        ("docs/guides/python.md", "```python\n>>> 1 # doctest: +SKIP\n2\n```\n"),
    ],
)
def test_a_block_that_nothing_runs_is_found(document: str, text: str, tmp_path: Path) -> None:
    listed = [line.split()[-1] for line in (TREE / "tests" / "blocks.txt").read_text().splitlines() if line and not line.startswith("#")]
    pages = [path.relative_to(TREE) for folder in ("docs/guides", "bindings/python") for path in (TREE / folder).glob("*.md")]
    for name in {*listed, *map(str, pages), "README.md", "tests/blocks.txt", "scripts/quickstart", "scripts/test"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(TREE / name, tmp_path / name)
    assert found(tmp_path) == []
    with (tmp_path / document).open("a") as file:
        file.write("\n" + text)
    assert len(found(tmp_path)) == 1 and document in found(tmp_path)[0]


def test_a_block_that_is_gone_and_a_test_that_does_not_read_it_are_found(tmp_path: Path) -> None:
    for folder in ("docs/guides", "bindings/python", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "README.md").touch()
    (tmp_path / "docs/guides/a.md").write_text("```c\nint i;\n```\n")
    (tmp_path / "tests/blind").touch()
    (tmp_path / "tests/blocks.txt").write_text("docs/guides/a.md c 1 tests/blind\ndocs/guides/b.md c 1 tests/blind\n")
    assert [line.split(": ")[1].split()[0] for line in found(tmp_path)] == ["tests/blind", "tests/blocks.txt"]


FOLDERS = "README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/decisions docs/guides docs/proofs docs/reference docs/results docs modules".split()


def words_tree(tree: Path, text: str) -> list[str]:
    """What scripts/check-words prints of a tree with one guide, whose folder may have 30 words, one long sentence and one long line."""
    for folder in ("docs/guides", "tests/words"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / "docs/guides/a.md").write_text(text)
    (tree / "tests/words/refused.txt").write_text("# comment\n\\bwhoever\\b -> anyone who\n")
    if not (tree / "tests/words/ceilings.txt").exists():
        (tree / "tests/words/ceilings.txt").write_text("".join(f"{name} {'30 1 1' if name == 'docs/guides' else '0 0 0'}\n" for name in FOLDERS))
    return subprocess.run([sys.executable, str(TREE / "scripts" / "check-words"), str(tree)], capture_output=True, text=True).stdout.splitlines()


LONG = "word " * 25 + "word."


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Short. " * 30, []),
        ("Short. " * 31, ["docs/guides: 31 words, must be at most 30"]),
        (LONG, []),
        # Code, tables and targets of links are neither sentences nor columns.
        (f"```\n{LONG}\n```\n", []),
        (f"[a](b{'b' * 200}) `{'c' * 20}`", []),
        ("\n\n".join(["x" * 141] * 2), ["docs/guides: 2 lines above 140 columns, must be at most 1"]),
        ("Whoever reads.", ["docs/guides/a.md:1: 'Whoever', must be 'anyone who'"]),
        ("`whoever` reads.", []),
    ],
)
def test_more_words_and_refused_phrases_are_found(text: str, wanted: list[str], tmp_path: Path) -> None:
    lines = words_tree(tmp_path, text)
    assert len(lines) == len(wanted) and all(part in line for part, line in zip(wanted, lines))


def test_long_sentences_are_counted_over_lines(tmp_path: Path) -> None:
    (tmp_path / "tests/words").mkdir(parents=True)
    (tmp_path / "tests/words/ceilings.txt").write_text("".join(f"{name} 999 0 0\n" for name in FOLDERS))
    assert words_tree(tmp_path, "word " * 13 + "\n" + "word " * 12 + "word.\n") == [
        "check-words: docs/guides: 1 sentences above 25 words, must be at most 0 (tests/words/ceilings.txt); shorten a document (scripts/check-words --list)"
    ]
    assert words_tree(tmp_path, "word " * 13 + ".\n" + "word " * 12 + "word.\n") == []


@pytest.mark.skipif(shutil.which("git") is None, reason="earlier ceilings are in git's history")
def test_a_ceiling_may_only_fall(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    assert words_tree(tmp_path, "Short.") == []
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *words], check=True)
    ceilings = tmp_path / "tests/words/ceilings.txt"
    ceilings.write_text(ceilings.read_text().replace("docs/guides 30", "docs/guides 31"))
    [line] = words_tree(tmp_path, "Short.")
    assert "docs/guides: the ceiling of words is 31, must be at most 30" in line
    ceilings.write_text(ceilings.read_text().replace("docs/guides 31", "docs/guides 29"))
    assert words_tree(tmp_path, "Short.") == []
