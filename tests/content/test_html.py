from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

import brim
from brim.content.documents import html, html_scan

SENTENCE = "The harbour was closed for the winter, and the ships stayed where the ice had found them that year. "
PAGE = (
    "<!doctype html><html><head><title>News</title><style>p{color:red}</style>"
    "<script>var a='<p>no</p>';</script></head>"
    "<body><nav><ul><li><a href='/'>Home</a></li><li><a href='/sport'>Sport</a></li></ul></nav><main><article>"
    "<h1>Harbour closed</h1>"
    + "".join(f"<p>{SENTENCE}Paragraph {i} &amp; <b>more</b>.</p>" for i in range(20))
    + "<h2>Outlook</h2><p>Spring will come to the harbour, as the pilot Maria Okafor said on Tuesday evening.</p>"
    "</article></main><aside><p>Subscribe to our letter today!</p></aside><footer>© 2024 Example</footer></body></html>"
) + "<!-- filler -->" * 200
marked_up = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("<p>", "</p>", "<nav>", "</nav>", "<script>", "</script>", "<!--", "-->", "<li>", "<td>", "<pre>"),
                *("</pre>", "<", "&amp;", "<h1>", "</h1>", "<![CDATA[", "<?x", "</", "<a href='", "<main>", "<svg>"),
                *("<br/>", "&#xD800;", "&#0;", "\x00", "\ud800"),
            ]
        ),
        st.text(max_size=20),
    ),
    max_size=80,
).map("".join)


@pytest.fixture(params=["with the extra", "without it"])
def either(request, monkeypatch):
    if request.param == "without it":
        monkeypatch.setattr(html, "main_content", None)
    elif html.main_content is None:
        pytest.skip("the extra html is not installed")


@given(st.one_of(texts, marked_up), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(html.extract, text, tokens, query[:30])


@given(st.text(alphabet=st.characters(exclude_characters="<&"), max_size=300), marked_up)
def test_words_without_markup_stay_and_words_in_a_script_never_do(words, around):
    assert html_scan.markdown(words).split() == words.split()
    assert "zzscriptzz" not in html_scan.markdown(f"<p>{words}</p><script>zzscriptzz</script>{around}")


@pytest.mark.usefixtures("either")
def test_the_article_becomes_markdown_and_the_rest_goes():
    got = html.markdown(PAGE)
    assert "Harbour closed" in got
    assert "## Outlook" in got
    assert "Paragraph 7 & " in got
    assert "Maria Okafor said on Tuesday evening." in got
    assert not any(word in got for word in ("Sport", "color:red", "var a", "Subscribe", "<p>"))


@pytest.mark.usefixtures("either")
def test_a_page_with_room_for_its_text_says_that_markup_is_missing():
    got = html.extract(PAGE, room(1_000, handle="brim:3f2a", recall=True))
    assert got.endswith(f"\n[… {len(PAGE) // 1000} KB HTML, recall brim:3f2a]")
    assert "Paragraph 19" in got


@pytest.mark.usefixtures("either")
def test_headings_and_what_the_query_asks_for_stay_when_paragraphs_go():
    got = html.extract(PAGE, room(200, "who is Maria Okafor"))
    assert "## Outlook" in got
    assert "Maria Okafor" in got
    assert got.split("\n")[-1].endswith("paragraphs and markup left out]")
    assert count(got) >= 150


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h3>A &lt;b&gt;</h3>x<br>y", "### A <b>\n\nx\n\ny"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>", "a | b\n\n1 | 2"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
        ("a < b and <b>c</b> > d", "a < b and c > d"),
        ("<script>never closed", "never closed"),
        ("<!-- never closed <p>x</p>", ""),
        ("plain words", "plain words"),
    ],
)
def test_a_scan_turns_markup_into_markdown(page, text):
    assert html_scan.markdown(page) == text


def test_a_page_without_text_is_only_a_mark():
    page = "<div><script>" + "x=1;" * 4_000 + "</script></div>"
    assert html.extract(page, room(60)) == f"[… {len(page) // 1000} KB HTML]"


@pytest.mark.parametrize(
    "page",
    ["<" * 3_000_000, "<a" * 2_000_000, "<!--" * 1_000_000, "<script>" * 700_000, "<div>" * 300_000, PAGE * 5_000],
)
def test_huge_and_broken_pages_take_no_more_than_moments(page):
    start = time.process_time()
    assert count(html.extract(page, room(200))) <= 200
    assert time.process_time() - start < 15


def test_a_page_begins_with_its_title():
    said = "".join(
        f"<p>The harbour opened its gate number {n} to ships of every size this morning.</p>" for n in range(90)
    )
    page = f"<html><head><title>Gates &amp; ships</title></head><body><article>{said}</article></body></html>"
    assert brim.compact(page, 300).text.startswith("[page: Gates & ships]\nThe harbour opened its gate number 0")


def test_a_fragment_is_read_without_a_tree(monkeypatch):
    read = []
    monkeypatch.setattr(html, "main_content", lambda page, **_: read.append(page))
    said = f"<p>{SENTENCE * 3}</p>" * 9
    assert "harbour" in html.markdown(f"<html><body>{said}</body></html>")
    assert len(read) == 1
    assert "harbour" in html.markdown(f"<div>{said}</div>")
    assert len(read) == 1
