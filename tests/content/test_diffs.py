from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

from brim.content import diffs as diff


def file_diff(path: str, hunks: int = 3, context: int = 6) -> str:
    out = f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"
    for number in range(hunks):
        at = 1 + number * 50
        around = "".join(f" unchanged line {at + i} of {path}\n" for i in range(context))
        size = 2 * context + 1
        out += f"@@ -{at},{size} +{at},{size + 1} @@ def part_{number}():\n{around}"
        out += f"-old value {number} in {path}\n+new value {number} in {path}\n+added {number} in {path}\n{around}"
    return out


PATCH = "".join(file_diff(f"src/module_{i}.py") for i in range(6)) + file_diff("package-lock.json", 8)
diffs = st.lists(
    st.builds(file_diff, st.sampled_from(["a.py", "b/c.md", "x y.txt"]), st.integers(0, 4), st.integers(0, 3)),
    max_size=5,
).map("".join)


@given(st.one_of(texts, diffs), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(diff.extract, text, tokens, query[:30])


def test_the_list_of_files_is_complete_and_counted():
    got = diff.extract(PATCH, room(400))
    assert got.startswith("[7 files changed: +52 -26]\n")
    for i in range(6):
        assert f"src/module_{i}.py +6 -3\n" in got
    assert "package-lock.json +16 -8\n" in got


def test_hunks_about_the_query_come_first_with_their_headers():
    got = diff.extract(PATCH, room(300, query="what changed in module_4"))
    assert "src/module_4.py +6 -3\n@@ -1,13 +1,14 @@ def part_0():\n" in got
    assert "+new value 0 in src/module_4.py\n" in got
    assert "+new value 0 in src/module_1.py\n" not in got


def test_changed_lines_stay_before_context_and_made_files_come_last():
    got = diff.extract(PATCH, room(900))
    assert "+added 0 in src/module_5.py\n" in got
    assert " unchanged line" not in got
    assert "in package-lock.json" not in got


def test_kept_lines_are_verbatim():
    got = diff.extract(file_diff("a.py", 30), room(300))
    head, _, body = got.partition("\n")
    assert head == "[1 file changed: +60 -30]"
    header, _, hunks = body.partition("\n")
    assert header == "a.py +60 -30"
    *kept, mark = hunks.split("\n")
    written = iter(file_diff("a.py", 30).split("\n"))
    assert all(line in written for line in kept)
    assert mark.startswith("[… ")


def test_what_is_missing_is_said_in_one_place():
    got = diff.extract(PATCH, room(300, handle="brim:3f2a"))
    assert got.count("…") == 1
    assert got.endswith(" lines, brim:3f2a]")


def test_the_commits_of_a_log_with_patches_keep_their_subjects():
    commits = "".join(
        f"commit {i:040x}\nAuthor: A <a@b.c>\nDate:   Mon\n\n    Change part {i}\n\n{file_diff(f'src/m{i}.py')}\n"
        for i in range(1, 9)
    )
    got = diff.extract(commits, room(500))
    for i in range(1, 9):
        assert f" Change part {i}\nsrc/m{i}.py +6 -3\n" in got


def test_many_files_are_listed_by_folder():
    text = "".join(file_diff(f"src/part_{i % 9}/module_{i}.py", 1) for i in range(300))
    got = diff.extract(text, room(300))
    assert got.startswith("[300 files changed: +600 -300]\n")
    assert " files" in got.split("\n", 2)[1]


def test_removed_lines_that_look_like_headers_stay_lines():
    text = "--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,2 @@\n keep\n--- a comment\n-gone\n+++ more\n"
    (file,) = diff.files(text.splitlines(keepends=True))
    assert (file.path, file.added, file.removed) == ("x.sql", 1, 2)


def test_new_deleted_renamed_and_binary_files_are_told():
    text = (
        "diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/o.py b/o.py\ndeleted file mode 100644\n--- a/o.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/p.py b/q.py\nsimilarity index 100%\nrename from p.py\nrename to q.py\n"
        "diff --git a/l.png b/l.png\nBinary files a/l.png and b/l.png differ\n"
    )
    assert [one.summary() for one in diff.files(text.splitlines(keepends=True))] == [
        "n.py +1 -0 (new)",
        "o.py +0 -1 (deleted)",
        "q.py +0 -0 (renamed from p.py)",
        "l.png +0 -0 (binary)",
    ]


def test_the_room_is_filled():
    assert count(diff.extract(PATCH, room(1000))) >= 900
