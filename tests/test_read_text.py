from __future__ import annotations

import csv
import gzip
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyads import read
from dyads.sources import columns, text

ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
WORDS = st.text(LETTERS, min_size=1, max_size=8) | st.sampled_from(
    ['"', ",", "\n", "\r\n", " ", "''", "NA", "null", "nan"]
)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False)


def cells(ids):
    return st.dictionaries(st.tuples(ids, ids), VALUES, min_size=1, max_size=20)


def written(path, lines, **how):
    lone = any("\r" in str(cell) for line in lines for cell in line)  # csv.writer leaves it without quotes
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL if lone else csv.QUOTE_MINIMAL, **how).writerows(lines)
    return path


def put(folder, content, name="file.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def found(pairs):
    return {(user, item): value for user, item, value in pairs}


# --- what is written is read back ----------------------------------------------------------------------------------


# As a column of text is understood: whole numbers if all are written as such and fit in 64 bits.
def understood(table):
    sides = []
    for side in zip(*table, strict=True):
        whole = all(re.fullmatch("0|-?[1-9][0-9]*", str(one)) and -(2**63) <= int(one) < 2**63 for one in side)
        sides.append([int(one) for one in side] if whole else [str(one) for one in side])
    return dict(zip(zip(*sides, strict=True), table.values(), strict=True))


@given(cells(WORDS) | cells(NUMBERS), st.sampled_from(",;\t| "), st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(parent=ANY, max_examples=100)
def test_a_table_is_read_back(tmp_path, table, delimiter, end, packed):
    lines = [("rating", "who", "what"), *((repr(value), user, item) for (user, item), value in table.items())]
    path = written(tmp_path / "file.csv", lines, delimiter=delimiter, lineterminator=end)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert found(read(path, "who", "what", "rating", delimiter=delimiter)) == understood(table)


@given(cells(st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n:\x1f"), min_size=1, max_size=5)))
@ANY
def test_a_table_with_a_long_delimiter_is_read_back(tmp_path, table):
    lines = [f"u{user}::{value!r}::i{item}\n" for (user, item), value in table.items()]
    pairs = read(put(tmp_path, "".join(lines)), 0, 2, 1, delimiter="::", header=False)
    assert found(pairs) == {(f"u{user}", f"i{item}"): value for (user, item), value in table.items()}


@given(cells(WORDS), st.integers(1, 200), st.integers(1, 9))
@ANY
def test_blocks_meet_without_a_seam(tmp_path, monkeypatch, table, block, fold):
    lines = [("user", "item", "value"), *((user, item, repr(value)) for (user, item), value in table.items())]
    path = written(tmp_path / "file.csv", lines)
    whole = read(path, "user", "item", "value")
    monkeypatch.setattr(columns, "FOLD", fold)
    monkeypatch.setattr(text, "BLOCK", 200 + block)
    cut = read(path, "user", "item", "value")
    assert cut.fingerprint == whole.fingerprint


@pytest.mark.parametrize("block", range(20, 40))
def test_a_line_end_in_quotes_may_lie_across_two_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(text, "BLOCK", block)
    pairs = read(put(tmp_path, 'user,item\nann,1\nben,2\n"a\r\nb",3\n"\r",4\r\n"c\r\n",5\r\n'), header=True)
    assert pairs.users.ids().tolist() == ["ann", "ben", "a\r\nb", "\r", "c\r\n"]


def test_many_lines_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 1000)
    monkeypatch.setattr(columns, "FOLD", 50)
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 300, 5000), rng.integers(0, 40, 5000)
    lines = "".join(f"u{user},{item}\n" for user, item in zip(users, items, strict=True))
    counts = {}
    for user, item in zip(users.tolist(), items.tolist(), strict=True):
        counts[f"u{user}", item] = counts.get((f"u{user}", item), 0) + 1
    pairs = read(put(tmp_path, lines), header=False)
    assert found(pairs) == counts
    assert pairs.users.ids().tolist() == list(dict.fromkeys(f"u{user}" for user in users.tolist()))


@pytest.mark.parametrize("odd", ["007", "+7", " 7", "7 ", "7.0", "-0", "1e3", "٧", "9223372036854775808", "x"])
def test_a_column_is_whole_numbers_only_if_each_cell_writes_one(tmp_path, monkeypatch, odd):
    monkeypatch.setattr(text, "BLOCK", 100)
    monkeypatch.setattr(columns, "FOLD", 5)
    plain = [str(n % 60 - 5) for n in range(200)]
    for cells in ([odd, *plain], [*plain, odd], [*plain, odd, *plain]):
        pairs = read(put(tmp_path, "".join(f"{cell},1\n" for cell in cells)), header=False)
        assert pairs.users.ids().tolist() == list(dict.fromkeys(cells))
        assert pairs.items.ids().tolist() == [1]
        assert pairs.values().sum() == len(cells)
    pairs = read(put(tmp_path, "".join(f"{cell},1\n" for cell in plain)), header=False)
    assert pairs.users.ids().tolist() == list(range(-5, 55))


@pytest.mark.parametrize("delimiter", ["::", "-->", "||"])
def test_a_long_delimiter_may_stand_across_two_blocks(tmp_path, monkeypatch, delimiter):
    lines = [f"u{n}{delimiter}i{n % 13}{delimiter}{n}\n" for n in range(300)]
    expected = {(f"u{n}", f"i{n % 13}"): n for n in range(300)}
    for block in range(60, 75):
        monkeypatch.setattr(text, "BLOCK", block)
        path = put(tmp_path, "".join(lines))
        assert found(read(path, value=2, delimiter=delimiter, header=False)) == expected


# --- how a table is laid out ---------------------------------------------------------------------------------------

THREE = {(1, 10): 5.0, (2, 11): 3.5, (1, 11): 1.0}
LAID_OUT = {
    "commas": "1,10,5,97\n2,11,3.5,98\n1,11,1,99\n",
    "tabs": "1\t10\t5\t97\n2\t11\t3.5\t98\n1\t11\t1\t99\n",
    "blanks": "1 10 5 97\n2 11 3.5 98\n1 11 1 99\n",
    "MovieLens": "1::10::5::97\n2::11::3.5::98\n1::11::1::99\n",
    "semicolons": "1;10;5;97\n2;11;3.5;98\n1;11;1;99\n",
    "bars": "1|10|5|97\n2|11|3.5|98\n1|11|1|99\n",
    "a header": "userId,movieId,rating,timestamp\n1,10,5,97\n2,11,3.5,98\n1,11,1,99\n",
    "a header that is numbers below": "a,b,c,d\n1,10,5,97\n2,11,3.5,98\n1,11,1,99\n",
    "quotes": '"1","10","5","97"\n"2","11","3.5","98"\n"1","11","1","99"\n',
    "quoted commas": '1,10,5,"a, b"\n2,11,3.5,"c"\n1,11,1,"d, e, f"\n',
    "quoted lines": '1,10,5,"a\nb"\n2,11,3.5,"c"\n1,11,1,"d\n\ne"\n',
    "Windows": "1,10,5,97\r\n2,11,3.5,98\r\n1,11,1,99\r\n",
    "old Mac": "1,10,5,97\r2,11,3.5,98\r1,11,1,99\r",
    "no last line end": "1,10,5,97\n2,11,3.5,98\n1,11,1,99",
    "a byte order mark": b"\xef\xbb\xbf1,10,5,97\n2,11,3.5,98\n1,11,1,99\n",
    "empty lines": "\n\n1,10,5,97\n\n2,11,3.5,98\n1,11,1,99\n\n",
    "blanks around values": "1,10, 5 ,97\n2,11,\t3.5,98\n1,11,1 ,99\n",
    "exponents": "1,10,50e-1,97\n2,11,.35E+1,98\n1,11,1.,99\n",
    "titles in Latin-1": b"1,10,5,caf\xe9\n2,11,3.5,98\n1,11,1,99\n",
}


@pytest.mark.parametrize("case", LAID_OUT)
@pytest.mark.parametrize("name", ["file.csv", "file.data", "file.dat", "file"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_layout_is_found_out(tmp_path, case, name, packed):
    if (case, name) == ("blanks", "file.dat"):
        return  # baskets
    raw = LAID_OUT[case] if isinstance(LAID_OUT[case], bytes) else LAID_OUT[case].encode()
    path = put(tmp_path, gzip.compress(raw) if packed else raw, name + ".gz" * packed)
    assert found(read(path, value=2)) == THREE


def test_blank_separated_words_of_a_dat_file_are_a_table_when_it_is_said(tmp_path):
    path = put(tmp_path, LAID_OUT["blanks"], "u.dat")
    assert found(read(path, value=2, format="csv")) == THREE
    assert read(path).shape == (3, 9)


HEADERS = [
    ("user,item\nann,tea\n", True),
    ("Customer ID,product_name\nann,tea\n", True),
    ("user_id,song,plays\nann,tea,3\n", True),
    ("ann,tea\nbob,rye\n", False),
    ("user,tea\nbob,rye\n", False),
    ("1,2\n3,4\n", False),
    ("user,1\nbob,2\n", False),
    ("item,item\nitem,tea\n", False),
    ("user,item,\nann,tea,x\n", False),
]


@pytest.mark.parametrize(("content", "header"), HEADERS)
def test_a_header_is_known_by_its_looks_and_by_what_is_said(tmp_path, content, header):
    path, lines = put(tmp_path, content), content.count("\n")
    assert read(path).values().sum() == lines - header
    assert read(path, header=True).values().sum() == lines - 1
    assert read(path, header=False).values().sum() == lines
    names = content.split("\n")[0].split(",")
    if len(set(names)) == len(names):
        assert read(path, names[0], names[1]).values().sum() == lines - 1


def test_columns_go_by_name_or_number_in_any_order(tmp_path):
    path = put(tmp_path, "when, page ,visitor,stars\n9,/a,ann,4\n8,/b,bob,2\n")
    expected = {("ann", "/a"): 4.0, ("bob", "/b"): 2.0}
    assert found(read(path, "visitor", "page", "stars")) == expected
    assert found(read(path, 2, 1, 3)) == expected
    assert found(read(path, "visitor", 1, 3)) == expected
    assert set(found(read(path, "page", "visitor")).values()) == {1.0}


def test_the_delimiter_that_is_said_is_used(tmp_path):
    assert found(read(put(tmp_path, "a,1;b,2\nc,3;d,4\n"), delimiter=";")) == {("a,1", "b,2"): 1, ("c,3", "d,4"): 1}
    assert found(read(put(tmp_path, "a->b\nc->d\n"), delimiter="->")) == {("a", "b"): 1, ("c", "d"): 1}
    assert found(read(put(tmp_path, "a,x\tb\nc\td\n"), format="tsv")) == {("a,x", "b"): 1, ("c", "d"): 1}


# --- pairs that come again -----------------------------------------------------------------------------------------


def test_pairs_are_counted_and_ratings_refused_averaged_or_added(tmp_path):
    path = put(tmp_path, "ann,tea,4\nbob,tea,2\nann,tea,1\n")
    assert found(read(path)) == {("ann", "tea"): 2, ("bob", "tea"): 1}
    assert found(read(path, value=2, duplicates="sum")) == {("ann", "tea"): 5, ("bob", "tea"): 2}
    assert found(read(path, value=2, duplicates="mean")) == {("ann", "tea"): 2.5, ("bob", "tea"): 2}
    pairs = read(path, duplicates="mean")
    assert found(pairs) == {("ann", "tea"): 1, ("bob", "tea"): 1} and pairs.by_user.val is None
    negative = put(tmp_path, "ann,tea,-4\nbob,tea,2\n")
    assert found(read(negative, value=2)) == {("ann", "tea"): -4, ("bob", "tea"): 2}


def test_a_stored_zero_is_a_rating(tmp_path):
    assert found(read(put(tmp_path, "ann,tea,0\nbob,tea,2\n"), value=2)) == {("ann", "tea"): 0, ("bob", "tea"): 2}
