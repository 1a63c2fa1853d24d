#!/usr/bin/env python3
"""Checks what a formatter does not: documents, sentences of comments, and the width of every line.

documents.py ROOT looks at all files that git knows. `documents.py ROOT --sentences N` only lists the
sentences of more than N words in documents and comments, for a writer who wants to see the longest ones.
"""

import argparse
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

WIDTH = 110
WORDS = 35  # of a sentence in a document
COMMENT_WORDS = 35

# A registry's address belongs into the configuration of the machine, not into the repository.
HOSTS = re.compile(
    r"(--(extra-)?index-url|https?://[^\s)>\"']*\b(registry|artifactory|nexus|mirror)\b|\bpypi\.(org|python)|"
    r"files\.pythonhosted|deb\.debian\.org|registry\.npmjs|crates\.io/api|proxy\.golang)",
    re.IGNORECASE,
)

# Translations word by word, history, and words that mean nothing to a newcomer. Each with what to write.
PHRASES = {
    r"\bwhoever\b": "name who: the first process, any rank",
    r"\bwhomever\b": "name who: this process, any process",
    r"\b(is|are) none of\b": "is not one of",
    r"\bleavings\b": "what a dead process left, unreferenced records",
    r"\bno longer so\b": "what is now; history is CHANGELOG.md's",
    r"\ba question what all\b": "a plain statement",
    r"\bwithout further ado\b": "at once",
    r"\bbeforehand\b": "before",
    r"\bhad to be\b.{0,40}\bat all\b": "a plain statement",
    r"\bas the case may be\b": "name the cases",
    r"\bthe like\b": "name them, or 'and others'",
    r"\bnot any ?more\b": "what is now",
    r"\bnot written any more\b": "what is now",
    r"\bto speak of\b": "a number",
    r"\bupon\b": "on",
    r"\bhitherto\b": "nothing",
    r"\bthereby\b": "by this",
    r"\btherein\b": "in it",
    r"\bwhereof\b": "of which",
    r"\bis to be (found|had|seen)\b": "is in",
    r"\bhas to be there\b": "must be given",
    r"\bby a line\b": "at all",
}

# Sentences of a document that begin with a clause and not with their subject. A question ends with '?'.
CLAUSES = {
    r"^(Only what|What|Only who|Who|Whom)\b": "the thing or the person: 'A killed writer', 'A user who'",
    r"^(Only where|Where)\b": "'If', or the place",
    r"\b(also|even|only|except) where\b": "'if'",
    r"\b(for|of|by|than|as) who\b": "the person: 'a user who'",
}

SOURCES = {".cc", ".h", ".c", ".py", ".sh", ".cmake", ".f90", ".in"}
# Licence texts and data are not ours to wrap.
SKIP = {"LICENSE"}


def tracked(root: Path) -> list[Path]:
    out = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True).stdout
    return [root / name for name in out.decode().split("\0") if name and (root / name).is_file()]


def is_source(path: Path) -> bool:
    return path.suffix in SOURCES or path.name in ("CMakeLists.txt", "Makefile")


def anchors(text: str) -> set[str]:
    """The names that GitHub and most readers of Markdown give to headings."""
    names: set[str] = set()
    for heading in re.findall(r"^#+ +(.*)$", without_code(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        suffix = 0
        while (unique := name if suffix == 0 else f"{name}-{suffix}") in names:
            suffix += 1
        names.add(unique)
    return names


def without_code(text: str) -> str:
    """The text with empty lines in place of code blocks and comments, so that line numbers stay."""

    def blank(found: re.Match) -> str:
        return "\n" * found.group(0).count("\n")

    text = re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)
    text = re.sub(r"^( *)```.*?^\1```", blank, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^(?<=\n\n)((?: {4,}\S.*\n)+)", blank, text, flags=re.MULTILINE)


def paragraphs(text: str) -> list[tuple[int, str]]:
    """Line number and text of each paragraph, list item and cell of a table."""
    found: list[tuple[int, str]] = []
    current: list[str] = []
    begin = 0

    def end() -> None:
        if current:
            found.append((begin, " ".join(current)))
            current.clear()

    for number, line in enumerate(without_code(text).split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            end()
            continue
        if stripped.startswith("|"):
            end()
            if not re.fullmatch(r"[|\-: ]+", stripped):
                parts = re.split(r"(?<!\\)\||;", stripped)  # the parts of a list in a cell are sentences
                found += [(number, part.strip()) for part in parts if part.strip()]
            continue
        if re.match(r"([-*]|\d+\.) ", stripped):
            end()
            stripped = re.sub(r"^([-*]|\d+\.) ", "", stripped)
        if not current:
            begin = number
        current.append(stripped)
    end()
    return found


def sentences(text: str) -> list[tuple[int, int, str]]:
    """Line, number of words and text of each sentence. Code counts as one word."""
    result = []
    for line, paragraph in paragraphs(text):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
        plain = re.sub(r"`[^`]*`", "CODE", plain)
        for sentence in re.split(r"(?<=[.!?])[)*\"']*\s+(?=[\"'(*]*-?[A-Za-z0-9])", plain):
            words = re.findall(r"[^\s,;:()|]+", sentence)
            words = [word for word in words if re.search(r"\w", word)]
            result.append((line, len(words), sentence))
    return result


def python_as_comments(text: str) -> str:
    """Docstrings as lines of comment."""
    lines = text.split("\n")
    begins_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and begins_statement:
            for row in range(token.start[0] - 1, token.end[0]):
                lines[row] = "# " + lines[row].replace('"""', "").strip()
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return "\n".join(lines)


def c_as_line_comments(text: str) -> str:
    """Comments between /* and */ as lines of comment."""

    def convert(found: re.Match) -> str:
        lines = found.group(0).split("\n")
        return "\n".join("// " + re.sub(r"^[ \t]*/?\*+[!</]*|\*/$", "", line) for line in lines)

    return re.sub(r"/\*.*?\*/", convert, text, flags=re.DOTALL)


def comments(path: Path, text: str) -> str:
    """The comments of a source as paragraphs, each on its own line. What is drawn or aligned is left out."""
    marker = r"(?:^|\s)#(?!!)(.*)$"
    if path.suffix == ".py":
        text = python_as_comments(text)
    elif path.suffix in (".cc", ".h", ".c"):
        text = c_as_line_comments(text)
        marker = r"(?:^|\s)//[/!]?<?(.*)$"
    elif path.suffix == ".f90":
        marker = r"(?:^|\s)!(.*)$"
    lines = []
    beside_code = True
    for line in text.split("\n"):
        whole = re.match(r"\s*(//|#|!)", line) is not None
        found = re.search(marker, line if whole else re.sub(r'"(?:[^"\\]|\\.)*"', "CODE", line))
        comment = found.group(1).strip() if found else ""
        comment = re.sub(r"^[@\\](param|return|retval)\S*\s*", "- ", comment)
        if re.search(r" {3,}\S|[─│└→]|[;{}]$|^\[(in|out)", comment):
            comment = ""
        elif comment and beside_code:
            comment = "- " + comment  # a comment behind code, or the first one after it, begins a paragraph
        lines.append(comment)
        beside_code = not whole
    return "\n".join(lines)


class Findings:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.lines: list[str] = []

    def add(self, path: Path, line: int, text: str) -> None:
        self.lines.append(f"{path.relative_to(self.root)}:{line}: {text}")


def check_width(findings: Findings, path: Path, text: str) -> None:
    document = path.suffix == ".md"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > WIDTH and not (
            document and line.lstrip().startswith("|")
        ):  # a row of a table is one line
            findings.add(path, number, f"{len(line)} columns, at most {WIDTH}")


def check_words(findings: Findings, path: Path, text: str) -> None:
    joined = re.sub(r"\n[ \t]*(//|\*|#|!)?[ \t]*", lambda found: " " * len(found.group(0)), text)
    for pattern, instead in PHRASES.items():
        for found in re.finditer(re.sub(" ", r"\\s+", pattern), joined, re.IGNORECASE):
            words = " ".join(found.group(0).split())
            findings.add(path, text.count("\n", 0, found.start()) + 1, f"'{words}': write {instead}")
    for found in HOSTS.finditer(text):
        findings.add(
            path, text.count("\n", 0, found.start()) + 1, f"the address of a registry: {found.group(0)}"
        )


def check_clauses(findings: Findings, path: Path, text: str) -> None:
    for line, _, sentence in sentences(text):
        plain = sentence.lstrip("*_\"'( ")
        for pattern, instead in CLAUSES.items():
            found = re.search(pattern, plain)
            if found and not plain.rstrip("*_\"') ").endswith("?"):
                findings.add(path, line, f"'{found.group(0)} ...': write {instead}: {plain[:60]}")


def check_links(findings: Findings, path: Path, text: str) -> None:
    for found in re.finditer(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "CODE", without_code(text))):
        target = found.group(1)
        line = without_code(text).count("\n", 0, found.start()) + 1
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = (path.parent / name).resolve() if name else path
        if not other.exists():
            findings.add(path, line, f"link to {target}: there is no such file")
        elif anchor and other.suffix == ".md" and anchor not in anchors(other.read_text()):
            findings.add(path, line, f"link to {target}: there is no such heading")


def check_sentences(findings: Findings, path: Path, text: str, limit: int) -> None:
    for line, words, sentence in sentences(text):
        if words > limit:
            findings.add(path, line, f"a sentence of {words} words, at most {limit}: {sentence[:60]}...")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument(
        "--sentences", type=int, metavar="N", help="only list the sentences of more than N words"
    )
    arguments = parser.parse_args()
    findings = Findings(arguments.root.resolve())
    for path in tracked(findings.root):
        document = path.suffix == ".md"
        if path.name in SKIP or not (document or is_source(path)):
            continue
        text = path.read_text()
        limit = arguments.sentences or (WORDS if document else COMMENT_WORDS)
        check_sentences(findings, path, text if document else comments(path, text), limit)
        if arguments.sentences:
            continue
        check_width(findings, path, text)
        if path != Path(__file__).resolve():
            check_words(findings, path, text)
        if document:
            check_links(findings, path, text)
            check_clauses(findings, path, text)
    print("\n".join(findings.lines))
    print(f"{len(findings.lines)} findings")
    return 1 if findings.lines else 0


if __name__ == "__main__":
    sys.exit(main())
