"""CSV, JSON lines, TMX and zip archives of sentence pairs."""

import gzip
import io
import tracemalloc
import zipfile

import pytest

from keras_transformer.data.pairs import read_pairs

PAIRS = [('say "go on", please', "mach weiter"), ("a dove", "die Taube")]
CSV = '"say ""go on"", please",mach weiter\na dove,die Taube\n'
JSON = '{"en": "say \\"go on\\", please", "de": "mach weiter"}\n{"en": "a dove", "de": "die Taube"}'
UNITS = """<tu><tuv xml:lang="{0}"><seg>say "go on",<bpt i="1">&lt;b&gt;</bpt>  please</seg></tuv>
<tuv xml:lang="{1}"><seg>mach weiter</seg></tuv></tu>
<tu><tuv lang="{0}"><seg>a <hi>dove</hi></seg></tuv><tuv lang="{1}"><prop>x</prop>
<seg>die Taube</seg></tuv></tu><tu><tuv xml:lang="fr"><seg>seul</seg></tuv></tu>"""
TMX = '<?xml version="1.0"?>{}<tmx version="1.4"><header srclang="{}"/><body>{}</body></tmx>'


def archive(compression=zipfile.ZIP_DEFLATED, **texts):
    """Returns the bytes of a zip archive; `__` in a name stands for a dot."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as opened:
        for name, text in texts.items():
            opened.writestr(name.replace("__", "."), text)
    return file.getvalue()


SIDES = {f"a__en-de__{x}": "\n".join(p[i] for p in PAIRS) for i, x in enumerate(("en", "de"))}
FILES = {
    "plain CSV": ("x.csv", CSV),
    "CSV with a header": ("x.csv", "id,English sentence,de\n" + "".join(
        f"{i},{line}\n" for i, line in enumerate(CSV.splitlines()))),
    "CSV with an index and spaces": ("x.csv", ",en,de\n" + "".join(
        f"{i}, {line.replace(',mach', ', mach')}\n"
        for i, line in enumerate(CSV.splitlines()))),
    "semicolons, line breaks, BOM": (
        "x.csv", "\ufeffSource;Target\r\n\"say \"\"go on\"\",\n please\";mach weiter\r\n"
        "a dove;die Taube"),
    "JSON lines": ("x.jsonl", JSON),
    "JSON lines of Hugging Face": ("x.json", "\n".join(
        f'{{"id": "7", "translation": {line}}}' for line in JSON.splitlines()) + "\n\n"),
    "texts and translations": (
        "x.jsonl", JSON.replace('"en"', '"text"').replace('"de"', '"translation"')),
    "two texts under any keys": ("x.ndjson", JSON.replace('"en"', '"a"').replace('"de"', '"b"')),
    "TMX": ("x.tmx", TMX.format("", "en", UNITS.format("en-US", "de"))),
    "TMX with a document type": (
        "x.tmx", TMX.format('<!DOCTYPE tmx SYSTEM "a.dtd">', "*all*", UNITS.format("en", "de"))),
    "texts of OPUS": ("x.zip", archive(README="Read me.", **SIDES, a__xml="<x/>")),
    "a zip of one file": ("x.zip", archive(x__csv=CSV, _about__txt="a\tb", README__txt="c\td")),
}  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("case", FILES)
def test_each_format_has_the_same_pairs(write, case):
    name, content = FILES[case]
    assert read_pairs(write(name, content)) == PAIRS
    if not name.endswith(".zip"):
        packed = gzip.compress(content.encode())
        assert read_pairs(write(f"{name}.gz", packed)) == PAIRS


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", "note,EN,de\n-,say on,weiter"),
        ("x.tsv", "note\ten\tDE\n-\tsay on\tweiter"),
        ("x.jsonl", '{"note": "-", "en": "say on", "de": "weiter"}'),
        ("x.tmx", TMX.format("", "de", UNITS.format("en-US", "de"))),
        ("x.zip", archive(a__de="weiter", a__en="say on", a__fr="va")),
    ],
)
def test_columns_are_chosen_by_name(write, name, content):
    source, target = read_pairs(write(name, content), columns=("en", "de"))[0]
    assert source.startswith("say") and target.endswith("weiter")
    assert read_pairs(write(name, content), columns=("de", "en"))[0] == (target, source)
    with pytest.raises(ValueError, match="Could not read sentence pairs"):
        read_pairs(write(name, content), columns=("en", "xx"))


def test_the_source_language_of_a_translation_memory_comes_first(write):
    path = write("x.tmx", TMX.format("", "de", UNITS.format("en", "de")))
    assert read_pairs(path) == [(target, source) for source, target in PAIRS]


def damaged(compression):
    """Returns an archive with a damaged byte in the middle of its file."""
    content = bytearray(archive(compression, x__csv=CSV * 100))
    content[len(content) // 3] ^= 0xFF
    return bytes(content)


ENTITY = '<!DOCTYPE tmx [<!ENTITY a "b"><!ENTITY x SYSTEM "file:///etc/passwd">]>'
DAMAGED = {
    "CSV, one column": ("x.csv", "a,b\nc\n", "line 2 has too few columns"),
    "CSV, open quote": ("x.csv", 'a,b\nc,"d\n', "line 2 is not valid CSV"),
    "JSON, number": ("x.jsonl", '{"en": "a", "de": "b"}\n{"en": "a", "de": 1}', "line 2 must have"),
    "JSON, list": ("x.jsonl", '["a", "b"]', "line 1 must be a JSON object"),
    "JSON, cut": ("x.jsonl", '{"en": "a", "de": ', "line 1 is not valid JSON"),
    "JSON, nested": ("x.jsonl", "[" * 90_000, "at most 50 nested"),
    "JSON, three": ("x.jsonl", '{"a": "b", "c": "d", "e": "f"}', "(--columns)"),
    "TMX, entities": ("x.tmx", TMX.format(ENTITY, "en", UNITS.format("&a;", "de")), "Entit"),
    "TMX, cut": ("x.tmx", TMX.format("", "en", UNITS)[:300], "is not valid XML"),
    "zip, cut": ("x.zip", archive(**SIDES)[:-30], "expected a zip archive"),
    "zip, damaged LZMA": ("x.zip", damaged(zipfile.ZIP_LZMA), "expected a zip archive"),
    "zip, damaged bzip2": ("x.zip", damaged(zipfile.ZIP_BZIP2), "expected a zip archive"),
    "zip, other lengths": ("x.zip", archive(a__en="a\nb", a__de="c"), "same number of lines"),
    "zip, nothing": ("x.zip", archive(a__png="a"), "one file of pairs, or two parallel"),
    "zip, several": ("x.zip", archive(**SIDES, b__en="a", b__de="b"), "several pairs of texts"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_errors_say_where_and_what_to_do(write, case):
    name, content, expected = DAMAGED[case]
    with pytest.raises(ValueError) as caught:
        read_pairs(write(name, content))
    message = str(caught.value)
    assert message.startswith("Could not read sentence pairs from") and expected in message
    assert "\n" not in message and len(message) < 1000


NAMES = archive(**{f"{i:040}": "" for i in range(15_000)})
HUGE = {
    "a text in TMX": ("x.tmx", TMX.format("", "en", "<tu><tuv><seg>" + "x" * (1 << 24))),
    "texts in TMX": ("x.tmx", TMX.format("", "en", "<tu>" + "<tuv>x</tuv>" * (1 << 20))),
    "pairs in TMX": ("x.tmx", TMX.format("", "en", UNITS.format("en", "de") * 10_000)),
    "a cell of CSV": ("x.csv", 'a,"' + "x\n" * 200_000),
    "zeros in a zip": ("x.zip", archive(a__en=bytes(1 << 26), a__de="a")),
    "names in a zip": ("x.zip", NAMES),
    "names in a zip with two ends": ("x.zip", NAMES[:-18] + b"PK\5\6" + NAMES[-14:]),
    "empty units of TMX": ("x.tmx", TMX.format("", "en", "<tu/>" * 100_000)),
}


@pytest.mark.parametrize("case", HUGE)
def test_huge_files_take_little_memory(write, case):
    path = write(*HUGE[case])
    tracemalloc.start()
    with pytest.raises(ValueError, match="Could not read sentence pairs"):
        read_pairs(path, data_limits=0.001)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24
