from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

from brim.content.logs import traces
from brim.errors import NotDecodable

LIB = "/usr/lib/python3.11/site-packages/"
PYTHON = (
    'Traceback (most recent call last):\n  File "/srv/app/store.py", line 22, in load\n    raise KeyError(key)\n'
    "           ^^^^^^^^\nKeyError: 'user:42'\n\n"
    "During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
    + "".join(
        f'  File "{LIB}web/layer{i}.py", line {i}, in call\n    return self.inner(request, {i})\n' for i in range(60)
    )
    + '  File "/srv/app/main.py", line 7, in main\n    raise StoreError("no user 42")\n'
    "app.errors.StoreError: no user 42\n"
)
JAVA = (
    'Exception in thread "main" java.lang.IllegalStateException: could not start\n'
    "\tat com.acme.App.start(App.java:42)\n"
    + "".join(f"\tat org.springframework.boot.Step{i}.run(Step.java:{i})\n" for i in range(60))
    + "\tat com.acme.App.main(App.java:11)\nCaused by: com.acme.ConfigException: missing key db.url\n"
    "\tat com.acme.Config.get(Config.java:9)\n\t... 12 more\n"
    "Caused by: java.io.FileNotFoundException: /etc/app.yml (No such file)\n"
    "\tat java.base/java.io.FileInputStream.open0(Native Method)\n\t... 14 more\n"
)
NODE = (
    "TypeError: Cannot read properties of undefined (reading 'id')\n    at getUser (/app/src/user.js:10:15)\n"
    + "".join(f"    at Layer.handle (/app/node_modules/express/lib/layer.js:{i}:5)\n" for i in range(60))
    + "    at async main (/app/src/index.js:3:3) {\n"
    "  [cause]: Error: db down\n      at connect (/app/src/db.js:4:9)\n}\n"
)
GO = (
    "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n"
    + "".join(f"net/http.(*conn).serve(0xc{i})\n\t/usr/local/go/src/net/http/server.go:{i} +0x5e\n" for i in range(60))
    + "main.pick(...)\n\t/home/me/app/main.go:12\n"
)
RUST = (
    "thread 'main' panicked at src/main.rs:4:5:\n"
    "index out of bounds: the len is 3 but the index is 99\nstack backtrace:\n"
    + "".join(f"   {i}: std::rt::step{i}\n             at /rustc/abc/library/std/src/rt.rs:{i}:5\n" for i in range(60))
    + "  60: app::pick\n             at ./src/main.rs:4:5\n"
)
CSHARP = (
    "Unhandled exception. System.InvalidOperationException: outer failed\n"
    " ---> System.ArgumentNullException: Value cannot be null. (Parameter 'name')\n"
    + "".join(f"   at System.Threading.Tasks.Task.Run{i}(Object o)\n" for i in range(60))
    + "   at Acme.Store.Load(String name) in /src/Store.cs:line 12\n   --- End of inner exception stack trace ---\n"
    "   at Acme.Program.Main() in /src/Program.cs:line 5\n"
)
STAYS = {
    "python": (
        PYTHON,
        [
            "KeyError: 'user:42'",
            "During handling of the above exception, another exception occurred:",
            "app.errors.StoreError: no user 42",
            '  File "/srv/app/store.py", line 22, in load',
            '  File "/srv/app/main.py", line 7, in main',
            '    raise StoreError("no user 42")',
        ],
    ),
    "java": (
        JAVA,
        [
            'Exception in thread "main" java.lang.IllegalStateException: could not start',
            "Caused by: com.acme.ConfigException: missing key db.url",
            "Caused by: java.io.FileNotFoundException: /etc/app.yml (No such file)",
            "\tat com.acme.App.start(App.java:42)",
            "\tat com.acme.App.main(App.java:11)",
            "\tat com.acme.Config.get(Config.java:9)",
        ],
    ),
    "node": (
        NODE,
        [
            "TypeError: Cannot read properties of undefined (reading 'id')",
            "  [cause]: Error: db down",
            "    at getUser (/app/src/user.js:10:15)",
            "      at connect (/app/src/db.js:4:9)",
        ],
    ),
    "go": (
        GO,
        ["panic: runtime error: index out of range [5] with length 3", "main.pick(...)", "\t/home/me/app/main.go:12"],
    ),
    "rust": (
        RUST,
        [
            "thread 'main' panicked at src/main.rs:4:5:",
            "index out of bounds: the len is 3 but the index is 99",
            "  60: app::pick",
            "             at ./src/main.rs:4:5",
        ],
    ),
    "c#": (
        CSHARP,
        [
            "Unhandled exception. System.InvalidOperationException: outer failed",
            " ---> System.ArgumentNullException: Value cannot be null. (Parameter 'name')",
            "   at Acme.Store.Load(String name) in /src/Store.cs:line 12",
            "   at Acme.Program.Main() in /src/Program.cs:line 5",
        ],
    ),
}
pieces = st.lists(
    st.one_of(
        st.sampled_from([line for text, _ in STAYS.values() for line in text.split("\n")]),
        st.text(alphabet="ab ¶2×3\t", max_size=8),
    ),
    max_size=60,
).map("\n".join)
recursion = (
    "Traceback (most recent call last):\n"
    + '  File "a.py", line 2, in f\n    return g(x)\n  File "a.py", line 5, in g\n    return f(x)\n' * 300
    + "RecursionError: maximum recursion depth exceeded\n"
)


@given(st.one_of(texts, pieces), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(traces.extract, text, tokens, query[:30])


@given(st.one_of(texts, pieces, pieces.map(lambda text: "\n".join([text] * 4))))
def test_the_dense_form_decodes_to_the_same_text(text):
    form = traces.dense(text)
    assert form is None or (traces.decode(form) == text and len(form) < len(text))


@pytest.mark.parametrize("language", STAYS)
def test_errors_causes_and_own_frames_stay_before_those_of_libraries(language):
    text, wanted = STAYS[language]
    got = traces.extract(text, room(170, handle="brim:3f2a")).split("\n")
    assert [line for line in wanted if line not in got] == []


@pytest.mark.parametrize("language", STAYS)
def test_kept_lines_are_lines_of_the_trace_and_the_mark_counts_the_others(language):
    text, _ = STAYS[language]
    lines = text.split("\n")
    got = traces.extract(text, room(150)).split("\n")
    kept = [line for line in got[:-1] if line != "…"]
    assert [line for line in kept if line not in lines] == []
    assert got[-1] == f"[… {len(lines) - len(kept):,} of {len(lines):,} lines left out]"


def test_frames_of_a_recursion_are_shown_once_with_their_number():
    got = traces.extract(recursion, room(50))
    assert got.count('File "a.py", line 5, in g') == 1
    assert "[×300]" in got
    assert "RecursionError: maximum recursion depth exceeded" in got


def test_a_recursion_is_written_without_loss_in_a_few_lines():
    form = traces.dense(recursion)
    assert form is not None
    assert traces.decode(form) == recursion
    assert count(form) < 120
    assert traces.extract(recursion, room(150)) == form


def test_frames_of_the_query_stay():
    assert 'layer33.py", line 33' in traces.extract(PYTHON, room(170, "what does layer33 do"))


@pytest.mark.parametrize("text", ["", "x", "#brim trace: ¶2×3 means\n¶9×2", "#brim trace: ¶2×3 means\na\n¶1×999999999"])
def test_what_is_no_dense_trace_is_not_decoded(text):
    with pytest.raises(NotDecodable):
        traces.decode(text)


@pytest.mark.parametrize(
    "text", ["  at " * 2_000_000, PYTHON * 2_000, "|" * 5_000_000], ids=["one line", "many", "bars"]
)
def test_huge_traces_take_no_more_than_moments(text):
    start = time.perf_counter()
    got = traces.extract(text, room(500))
    assert time.perf_counter() - start < 15
    assert 0 < count(got) <= 500
