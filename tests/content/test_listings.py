from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

import brim
from brim.content import listings
from brim.errors import NotDecodable

PATHS = "".join(f"src/app/part_{i // 20}/module_{i}.py\n" for i in range(140)) + "README.md\nsrc/app/main.py\n"
DRAWN = """project
├── docs
│   ├── guide.md
│   └── images
│       ├── a.png
│       └── b.png
├── src
│   ├── app
│   │   ├── __init__.py
│   │   ├── main.py
│   │   └── views.py
│   └── lib
│       └── core.py
└── README.md

5 directories, 8 files
"""
LS = ".:\nREADME.md\nsrc\n\n./src:\napp.py\nweb\n\n./src/web:\nindex.html\nstyle.css\nmain.js\n" + "\n./empty:\n"

names = st.text(alphabet="abc. -_,|é", min_size=1, max_size=6)
paths = st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), min_size=1, max_size=40).map("\n".join)


@given(st.one_of(texts, paths), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(listings.extract, text, tokens, query[:30])


@given(st.one_of(paths, paths.map(lambda text: text + "\n"), paths.map(lambda text: text.replace("/", "\n\n")), texts))
def test_a_dense_form_decodes_to_the_same_text(text):
    made = listings.dense(text)
    assert made is None or (listings.decode(made) == text and made.count("\n") <= text.count("\n") + 1)


@pytest.mark.parametrize(
    "text", [PATHS, DRAWN.replace("project", "project" * 3), DRAWN.replace("│   ", "│\u00a0\u00a0 ")]
)
def test_paths_and_drawn_trees_have_a_dense_form(text):
    made = listings.dense(text)
    assert made is not None
    assert made.startswith("#brim tree ")
    assert listings.decode(made) == text


def test_a_listing_by_folder_has_a_dense_form():
    text = LS.replace("\n./empty:\n", "") * 1 + "\n./deep:\n" + "".join(f"file_{i}\n" for i in range(40))
    made = listings.dense(text)
    assert made is not None
    assert "./src: app.py web\n" in made
    assert listings.decode(made) == text


def test_a_dense_form_takes_less_than_half_of_the_tokens_of_a_file_list():
    assert count(listings.dense(PATHS) or PATHS) < 0.5 * count(PATHS)


def test_names_with_spaces_get_another_separator():
    text = "".join(f"my files/some folder/a {i}.txt\n" for i in range(30))
    made = listings.dense(text)
    assert made is not None
    assert "between commas" in made
    assert listings.decode(made) == text


def test_an_extract_keeps_every_folder_with_counts_and_the_asked_for_names():
    got = listings.extract(PATHS, room(220, query="module_77", handle="brim:3f2a"))
    for i in range(7):
        assert f"src/app/part_{i}: " in got
    assert "module_77.py" in got
    assert got.startswith("[")
    assert " files in " in got
    assert got.count("…") == 1
    assert got.count("brim:3f2a") == 1


def test_deep_folders_join_those_above_when_there_is_little_room():
    text = "".join(f"src/{i}/{j}/{k}/file.py\n" for i in range(3) for j in range(9) for k in range(9))
    got = listings.extract(text, room(60))
    assert got.count("\n") <= 3
    assert "files" in got


def test_a_drawn_tree_is_read_as_paths():
    assert [one.path for one in listings.as_entries(DRAWN)[:4]] == [
        "docs",
        "docs/guide.md",
        "docs/images",
        "docs/images/a.png",
    ]


def test_other_text_is_not_decodable():
    with pytest.raises(NotDecodable):
        listings.decode("src/a.py\n")


LONG = """/srv/app:
total 24
drwxr-xr-x  4 ana staff  4096 Nov 19 04:16 .
drwxr-xr-x 12 ana staff  4096 Nov 19 04:12 ..
-rw-r--r--  1 ana staff  3355 Nov 19 04:16 main file.py
lrwxrwxrwx  1 ana staff    11 Nov 19 04:16 now -> /etc/now.d
drwxr-xr-x  2 ana staff  4096 Nov 19 04:16 web

/srv/app/web:
total 8
drwxr-xr-x 2 ana staff 4096 Nov 19 04:16 .
drwxr-xr-x 4 ana staff 4096 Nov 19 04:16 ..
-rw-r--r-- 1 ana staff  917 Jan  2  2024 index.ts
"""


def test_a_long_listing_becomes_names_and_sizes_by_folder():
    assert [(one.path, one.size) for one in listings.as_entries(LONG)] == [
        ("/srv/app/main file.py", "3355"),
        ("/srv/app/now", "11"),
        ("/srv/app/web/", "4096"),
        ("/srv/app/web/index.ts", "917"),
    ]
    got = brim.compact(LONG, 60).text
    assert got == "[3 files in 2 folders under /srv/app/]\nmain file.py 3355, now 11\nweb: index.ts 917"


def test_what_find_lists_with_sizes_becomes_names():
    lines = [f"  {i}  4 -rw-r--r--   1 root  root  {i} Nov 16 09:01 /etc/app/part_{i}.conf" for i in range(90)]
    got = brim.compact("\n".join(lines), 600, archive={}).text
    assert got.startswith("[90 files in 1 folder under /etc/app/] [… names and sizes only, brim:")
    assert all(f"part_{i}.conf" in got for i in range(90))


def test_folders_that_do_not_fit_are_joined_at_the_root_under_their_whole_names():
    text = "".join(f"folder{n}/inner{n % 7}/file{n}.py\n" for n in range(400))
    got = listings.extract(text, room(40))
    assert "folder" in got
    assert " older" not in got
