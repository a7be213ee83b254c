"""What an interpreter and a notebook show of tables and answers: a few rows, bounded and escaped."""

from typing import Any

import pytest

import timestrata


@pytest.fixture
def store() -> Any:
    with timestrata.open() as store:
        yield store


def filled(store: timestrata.Store, rows: int = 12) -> timestrata.Table:
    table = store.table("rooms", tags="room")
    table.append({"time": list(range(rows)), "room": ["hall"] * rows, "n": list(range(rows))})
    return table


def test_rows_show_the_first_of_them_and_say_how_many_there_are(store: timestrata.Store) -> None:
    table = filled(store)
    few = table.scan(columns=["room", "n"], limit=2)
    assert repr(few) == "<Rows room: Utf8, n: Int64>\nroom  n\nhall  0\nhall  1\n(2 rows)"
    # To look at them uses nothing up.
    assert repr(few) == repr(few)
    assert len(few.to_pylist()) == 2
    many = repr(table.scan(columns=["n"])).splitlines()
    assert many[1:3] == ["n", "0"]
    assert many[-2:] == ["9", "(the first 10 rows)"]
    assert repr(store.sql("SELECT 1 AS one")).endswith("one\n1\n(1 row)")
    assert repr(store.sql("SELECT n FROM rooms WHERE n < 0")) == "<Rows n: Int64>\n(0 rows)"


def test_a_table_shows_its_newest_rows(store: timestrata.Store) -> None:
    assert repr(store.table("none")) == "<Table \"none\" without columns yet>"
    assert store.table("none")._repr_html_() is None
    table = filled(store)
    shown = repr(table).splitlines()
    assert shown[0] == "<Table \"rooms\" columns=3 rows=12>"
    assert shown[1].split() == ["time", "room", "n"]
    assert [line.split()[-1] for line in shown[2:-1]] == [str(n) for n in range(2, 12)]
    assert shown[-1] == "(the last 10 of 12 rows)"
    html = table._repr_html_()
    assert html is not None
    assert html.count("<tr>") == 11
    assert "<th>n<br><small>Int64</small></th>" in html
    assert "the last 10 of 12 rows" in html


def test_what_rows_hold_is_escaped_and_cut(store: timestrata.Store) -> None:
    table = store.table("t")
    hostile = "<script>alert('x & \"y\"')</script>"
    table.append({"time": [1, 2], "text<b>": [hostile, "line\nline\x1b[31m" + "x" * 100_000]})
    html = table._repr_html_()
    assert html is not None
    assert "<script>" not in html
    assert "&lt;script&gt;alert(&#39;x &amp; &quot;y&quot;" in html
    assert "text&lt;b&gt;" in html
    for shown in (html, repr(table), repr(table.scan()), table.scan()._repr_html_()):
        assert len(shown) < 2_000
        assert "\x1b" not in shown
        assert "line\\nline\\u{1b}[31m" in shown
    wide = store.table("wide")
    wide.append({"time": [1], **{f"c{n}": [n] for n in range(300)}})
    assert "and 281 columns more" in repr(wide)
    assert wide.scan()._repr_html_().count("<th>") == 20


def test_what_can_not_be_read_is_told_and_not_raised() -> None:
    store = timestrata.open()
    table = filled(store)
    rows = table.scan()
    answer = store.sql("SELECT CAST(room AS INT) AS x FROM rooms")
    assert "hall" in repr(answer).splitlines()[-1]
    assert answer._repr_html_().startswith("<pre>&lt;Rows x: Int32&gt;")
    store.close()
    assert repr(table) == "<Table \"rooms\", closed>"
    assert repr(rows).startswith("<Rows time: ")
    assert table._repr_html_() is None
