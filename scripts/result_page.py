#!/usr/bin/env python3
"""result_page.py PAGE: writes PAGE (docs/results/NAME.md) from a whole page on standard input, and beside it the tables that are too long to read.

A program prints every row that it measured. A line before a table says where its rows go, as JSON:

    <!-- csv {"file": "NAME-WHAT", "data": "a9a", "keep": "REGEX", "columns": ["row", "epsilon 1"]} -->

    file      the rows go to NAME-WHAT.csv; tables of one file have the same header
    keep      the rows that the page shows as well, by what their cells, joined by " | ", hold; without it none
    columns   the columns of these; without it all
    any other name is a column before the others with this value in each row

Tables of one file that follow one another are one table on the page. Cells are the same text in both places, but for the stars around one and for links within the page.
"""

import csv
import io
import json
import os
import re
import sys

MARK = re.compile(r"<!-- csv (\{.*\}) -->$")
RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+$")


def mark(file, keep=None, columns=None, **labels):
    """The line before a table of which FILE.csv has all rows."""
    said = {"file": file, **labels} | ({"keep": keep} if keep else {}) | ({"columns": columns} if columns else {})
    return f"<!-- csv {json.dumps(said)} -->"


def plain(cell):
    """Without the stars around it and without links to places of the page."""
    return re.sub(r"\[([^]]*)\]\(#[^)]*\)", r"\1", re.sub(r"^\*\*([^*]*)\*\*$", r"\1", cell))


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def shown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def folded(text):
    """The page and its tables, {name of the file: text}; the page has the name None.

    >>> text = mark("a-b", "^x", ["row", "1"], data="x") + "\\n| row | 1 | 2 |\\n|---|---|---|\\n| f | **1** | 2, 3 |\\n\\n"
    >>> text += mark("a-b", "^x", ["row", "1"], data="y") + "\\n| row | 1 | 2 |\\n|---|---|---|\\n| g | 4 | [5](#five) |\\n\\nEnd.\\n"
    >>> files = folded("# A\\n\\n" + text)
    >>> files[None]
    '# A\\n\\n| row | 1 |\\n|---|---|\\n| f | **1** |\\n\\nAll rows: [a-b.csv](a-b.csv).\\n\\nEnd.\\n'
    >>> files["a-b.csv"]
    'data,row,1,2\\nx,f,1,"2, 3"\\ny,g,4,5\\n'
    >>> folded(text.replace("| 4 |", "|"))
    Traceback (most recent call last):
    ValueError: a-b: 3 cells for 4 columns: | g | [5](#five) |
    >>> folded(text.replace("| row | 1 | 2 |", "| row | 1 | 1 |"))
    Traceback (most recent call last):
    ValueError: a-b: two columns have one name: ['data', 'row', '1', '1']
    """
    page, tables = [], {}
    waiting, file = [], None  # the rows that the page shows of the tables of `file` just read

    def flush():
        nonlocal waiting, file
        if file is None:
            return
        if len(waiting) > 1:
            page.extend(shown(waiting) + [""])
        link = f"[{file}.csv]({file}.csv)."
        if len(page) > 1 and not page[-1] and page[-2].startswith("All rows: ["):
            page[-2] = f"{page[-2][:-1]}, {link}"
        else:
            page.extend([f"All rows: {link}", ""])
        waiting, file = [], None

    lines = iter(text.splitlines())
    for line in lines:
        mark = MARK.match(line)
        if not mark:
            if line or file is None:
                flush()
                page.append(line)
            continue
        said = json.loads(mark[1])
        name, keep, columns = said.pop("file"), said.pop("keep", None), said.pop("columns", None)
        header = [*said, *cells_of(next(lines))]
        rule = next(lines)
        if not RULE.match(rule):
            raise ValueError(f"{name}: there is no table after the mark: {rule!r}")
        if len(set(header)) < len(header):
            raise ValueError(f"{name}: two columns have one name: {header}")
        table = tables.setdefault(name, [header])
        if table[0] != header:
            raise ValueError(f"{name}: the header is {header}, and was {table[0]}")
        places = [header.index(column) for column in columns] if columns else range(len(header))
        head = [header[place] for place in places]
        if file != name or waiting[0] != head:
            flush()
            file, waiting = name, [head]
        for row in lines:
            if not row.startswith("|"):
                break
            cells = [*said.values(), *cells_of(row)]
            if len(cells) != len(header):
                raise ValueError(f"{name}: {len(cells)} cells for {len(header)} columns: {row}")
            table.append([plain(cell) for cell in cells])
            if keep is not None and re.search(keep, " | ".join(cells)):
                waiting.append([cells[place] for place in places])
        else:
            row = ""
        if row:
            raise ValueError(f"{name}: there is no blank line after the table: {row}")
    flush()
    while page and not page[-1]:
        page.pop()
    files = {None: "\n".join(page) + "\n"}
    for name, table in tables.items():
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(table)
        files[f"{name}.csv"] = written.getvalue()
    return files


def write(path, text):
    """Writes the page and its tables; each stands whole or as it was."""
    for name, part in folded(text).items():
        target = os.fspath(path) if name is None else os.path.join(os.path.dirname(path), name)
        with open(target + ".new", "w") as out:
            out.write(part)
        os.replace(target + ".new", target)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    write(sys.argv[1], sys.stdin.read())
