"""The includes of src/ against the table in ARCHITECTURE.md, and that table against CMakeLists.txt."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
# What only one folder may include, besides tests and conformance suites.
WALLS = [
    ("os", re.compile(r"^(unistd|fcntl|poll|dirent|netdb|pwd|grp|sched|spawn|termios|signal|limits)\.h$|^(sys|netinet|arpa|linux)/")),
    ("http", re.compile(r"^boost/")),
    ("sqlite", re.compile(r"^sqlite3\.h$")),
    ("blob", re.compile(r"^zstd\.h$")),
    ("yaml", re.compile(r"^yaml-cpp/")),
]


def architecture():
    table = {}
    for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines():
        match = re.fullmatch(r"\| ([a-z0-9/]+) \|([a-z0-9/ ]*)\|", line)
        if match and match[1] != "folder":
            table[match[1]] = match[2].split()
    return table


def cmake():
    table = {}
    text = (ROOT / "CMakeLists.txt").read_text()
    for body in re.findall(r"^ferry_module\(([^)]*)\)", text, re.M):
        words = body.split()
        uses, current = [], None
        for word in words[1:]:
            if word in ("USES", "LIBRARIES", "TEST_USES", "FUZZ_USES"):
                current = word
            elif current == "USES":
                uses.append(word)
        table[words[0]] = uses
    return table


def sources():
    for path in sorted(SRC.rglob("*")):
        if path.suffix in (".h", ".cc"):
            yield path


def folder_of(path):
    return path.relative_to(SRC).parent.as_posix()


def is_test(path):
    return path.name.endswith(("_test.cc", "_fuzz.cc")) or path.name == "conformance.h" or path.name.startswith("test_")


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match[1] == '"', match[2]


def test_table_equals_cmake():
    table = architecture()
    main = table.pop("main")
    assert table == cmake()
    assert "cli" in main and "server" in main


def test_every_folder_is_in_the_table():
    assert {folder_of(p) for p in sources()} <= set(architecture())


def test_no_cycles():
    table = architecture()
    done = set()

    def visit(folder, above):
        assert folder not in above, " -> ".join([*above, folder])
        if folder not in done:
            for used in table[folder]:
                visit(used, [*above, folder])
            done.add(folder)

    for folder in table:
        visit(folder, [])


def test_includes():
    table = architecture()
    wrong = []
    for path in sources():
        folder = folder_of(path)
        for number, own, name in includes(path):
            if not own:
                continue
            used = name.rpartition("/")[0]
            where = f"{path.relative_to(ROOT)}:{number}"
            if not (SRC / name).exists():
                wrong.append(f"{where}: {name} is not a file below src/")
            elif used != folder and used not in table[folder] and not is_test(path):
                wrong.append(f"{where}: {folder} may not use {used}")
    assert not wrong, "\n".join(wrong)


def test_walls():
    wrong = []
    for path in sources():
        if is_test(path):
            continue
        folder = folder_of(path)
        for number, own, name in includes(path):
            for home, pattern in WALLS:
                if not own and pattern.search(name) and folder != home:
                    wrong.append(f"{path.relative_to(ROOT)}:{number}: <{name}> belongs to src/{home} alone")
    assert not wrong, "\n".join(wrong)
