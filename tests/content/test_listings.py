from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

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
    assert " files" in got
    assert got.count("brim:3f2a") == 1


def test_deep_folders_join_those_above_when_there_is_little_room():
    text = "".join(f"src/{i}/{j}/{k}/file.py\n" for i in range(3) for j in range(9) for k in range(9))
    got = listings.extract(text, room(60))
    assert got.count("\n") <= 3
    assert "files" in got


def test_a_drawn_tree_is_read_as_paths():
    assert listings.as_paths(DRAWN)[:4] == ["docs", "docs/guide.md", "docs/images", "docs/images/a.png"]


def test_other_text_is_not_decodable():
    with pytest.raises(NotDecodable):
        listings.decode("src/a.py\n")
