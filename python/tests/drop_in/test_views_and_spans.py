"""Views show flushed storage, page by page, without copying a timestamp."""

import array
import gc
import itertools
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Make = Callable[..., Any]
LEAST, GREATEST = -(2**63), 2**63 - 1
LETTERS = list(enumerate("abcdefghij"))


@pytest.fixture
def ten(log: Any) -> Any:
    """Rows 0 to 9, flushed."""
    log.extend(LETTERS)
    log.flush()
    return log


def settle(log: Any) -> None:
    log.flush()
    log.compact()
    while log.maint_step():
        pass


def rows(spans: Iterable[Any]) -> list[tuple[int, object]]:
    """All rows of spans, whose pages may overlap, by time."""
    found: list[tuple[int, object]] = []
    for span in spans:
        times, objects = span.copy_timestamps(), span.objects().copy()
        assert times == sorted(times)
        assert len(times) == len(objects) == len(span) > 0
        found += zip(times, objects, strict=True)
    return sorted(found, key=lambda row: row[0])


def test_only_what_is_flushed_is_shown(log: Any) -> None:
    log.extend(LETTERS)
    assert list(log.views()) == []
    log.flush()
    assert rows(log.views()) == LETTERS
    log.append(20, "recent")
    assert rows(log.views()) == LETTERS
    log.flush()
    assert rows(log.views()) == [*LETTERS, (20, "recent")]
    settle(log)
    assert rows(log.views()) == [*LETTERS, (20, "recent")]


def test_late_rows_are_shown_in_some_span(ten: Any) -> None:
    settle(ten)
    ten.extend([(3, "late"), (5, "later")])
    ten.flush()
    assert [time for time, _ in rows(ten.views())] == [0, 1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9]


def test_deletes_are_not_applied_before_a_compaction(ten: Any) -> None:
    ten.delete(2, 5)
    assert rows(ten.views()) == LETTERS
    ten.flush()
    assert rows(ten.views()) == LETTERS
    settle(ten)
    assert rows(ten.views()) == [*LETTERS[:2], *LETTERS[5:]]


def test_views_take_both_bounds_or_none(ten: Any) -> None:
    assert rows(ten.views(3, 6)) == LETTERS[3:6]
    assert rows(ten.views(t1=3, t2=6)) == LETTERS[3:6]
    assert rows(ten.views(None, None)) == LETTERS
    assert list(ten.views(20, 30)) == list(ten.views(3, 3)) == []
    for bounds in ((1,), (None, 1), (1, None)):
        with pytest.raises(ValueError, match="both"):
            ten.views(*bounds)
    for reversed_ in (ten.views, ten.page_spans):
        with pytest.raises(ValueError):
            reversed_(5, 3)
    with pytest.raises(TypeError, match="bool not allowed"):
        ten.views(False, 5)


def test_kinds_are_named(ten: Any) -> None:
    assert rows(ten.views(kind="segment")) == LETTERS
    assert rows(ten.page_spans(3, 6, kind="segment")) == LETTERS[3:6]
    for wrong in ("other", "", "Segment"):
        with pytest.raises(ValueError, match="kind"):
            ten.views(kind=wrong)
        with pytest.raises(ValueError, match="kind"):
            ten.page_spans(1, 2, kind=wrong)
    for no_text in (None, 5):
        with pytest.raises(TypeError):
            ten.views(kind=no_text)
    with pytest.raises(TypeError):
        ten.views(1, 2, "segment")


def test_a_view_is_of_the_storage_as_it_was(ten: Any) -> None:
    views = ten.views()
    ten.append(3, "late")
    ten.flush()
    ten.delete(0, 8)
    settle(ten)
    assert rows(views) == LETTERS
    assert rows(ten.views()) == LETTERS[8:]


def test_an_iterator_of_spans_is_read_once_and_closes(ten: Any) -> None:
    views = ten.views()
    assert iter(views) is views
    assert not views.closed
    spans = list(views)
    assert views.closed
    assert list(views) == []
    assert rows(spans) == LETTERS
    early = ten.views()
    assert early.close() is None
    early.close()
    assert early.closed
    assert list(early) == []
    with ten.views() as within:
        assert not within.closed
        next(within)
    assert within.closed


def test_a_span_tells_its_bounds_and_its_rows(ten: Any) -> None:
    (span,) = ten.views(2, 8)
    assert len(span) == 6
    assert span
    assert not span.closed
    assert (span.start_ts, span.end_ts, span.last_ts) == (2, 7, 7)
    assert span.copy_timestamps() == [2, 3, 4, 5, 6, 7]
    assert type(span.copy_timestamps()) is list
    with pytest.raises(TypeError):
        span[0]


def test_timestamps_are_a_read_only_view_of_64_bit_numbers(ten: Any) -> None:
    (span,) = ten.views()
    for view in (span.timestamps, memoryview(span)):
        assert type(view) is memoryview
        assert (view.format, view.ndim, view.itemsize) == ("q", 1, 8)
        assert (view.shape, view.nbytes, view.readonly) == ((10,), 80, True)
        assert view.c_contiguous
        assert view.tolist() == list(range(10))
        assert view[-1] == 9
        assert view == array.array("q", range(10))
        with pytest.raises(TypeError):
            view[0] = 5
        view.release()


def test_numpy_reads_timestamps_where_they_are(ten: Any, numpy: Any) -> None:
    (span,) = ten.views()
    for times in (numpy.asarray(span.timestamps), numpy.frombuffer(span, dtype="i8")):
        assert times.dtype == numpy.int64
        assert times.tolist() == list(range(10))
        assert not times.flags.writeable
        assert not times.flags.owndata
    again = numpy.asarray(span.timestamps)
    assert numpy.shares_memory(again, numpy.frombuffer(span, dtype="i8"))


def test_a_closed_span_gives_nothing(ten: Any) -> None:
    (span,) = ten.views()
    assert span.close() is None
    span.close()
    assert span.closed
    assert len(span) == 0
    uses: list[Callable[[], object]] = [
        lambda: span.timestamps,
        lambda: span.start_ts,
        lambda: span.end_ts,
        lambda: span.last_ts,
        lambda: span.copy_timestamps(),
        lambda: span.objects(),
        lambda: memoryview(span),
    ]
    for use in uses:
        with pytest.raises(ValueError, match="PageSpan is closed"):
            use()
    ten.close()


def test_a_span_does_not_close_under_a_buffer(ten: Any) -> None:
    (span,) = ten.views()
    view = span.timestamps
    with pytest.raises(BufferError):
        span.close()
    assert not span.closed
    assert view.tolist() == list(range(10))
    assert span.copy_timestamps() == list(range(10))
    view.release()
    span.close()
    assert span.closed


def test_with_closes_a_span_unless_a_buffer_is_out(ten: Any) -> None:
    with next(ten.views()) as span:
        assert len(span) == 10
    assert span.closed
    with next(ten.views()) as span:
        view = span.timestamps
    assert not span.closed
    assert view.tolist() == list(range(10))
    view.release()
    span.close()
    with pytest.raises(KeyError, match="body"):
        with next(ten.views()) as span:
            raise KeyError("body")
    assert span.closed


def test_a_buffer_outlives_every_name_of_its_span(ten: Any) -> None:
    view = next(ten.views()).timestamps
    settle(ten)
    ten.delete(LEAST, GREATEST)
    settle(ten)
    gc.collect()
    assert view.tolist() == list(range(10))


def test_objects_of_a_span_are_a_sequence(ten: Any) -> None:
    (span,) = ten.views()
    objects = span.objects()
    assert len(objects) == 10
    assert (objects[0], objects[9], objects[-1], objects[-10]) == ("a", "j", "j", "a")
    assert objects.copy() == list(objects) == list("abcdefghij")
    assert list(objects) == list(objects)
    for outside in (10, 2**40, -21, -(2**40)):
        with pytest.raises(IndexError):
            objects[outside]
    for wrong in (slice(0, 1), "a", 1.0, None):
        with pytest.raises(TypeError):
            objects[wrong]


@pytest.mark.ours("counts negative indices from the end twice")
def test_a_negative_index_is_not_wrapped_twice(ten: Any) -> None:
    objects = next(ten.views()).objects()
    for outside in (-11, -15, -20):
        with pytest.raises(IndexError):
            objects[outside]


def test_objects_of_a_span_are_the_ones_stored(log: Any) -> None:
    values = [object() for _ in range(5)]
    log.extend(enumerate(values))
    log.flush()
    (span,) = log.views()
    assert all(given is value for given, value in zip(span.objects(), values, strict=True))


def test_objects_of_a_closed_span_are_gone(ten: Any) -> None:
    (span,) = ten.views()
    objects, begun = span.objects(), iter(span.objects())
    assert next(begun) == "a"
    span.close()
    uses: list[Callable[[], object]] = [
        lambda: len(objects),
        lambda: objects[0],
        lambda: objects.copy(),
        lambda: list(objects),
        lambda: next(iter(objects)),
        lambda: next(begun),
    ]
    for use in uses:
        with pytest.raises(ValueError, match="PageSpan is closed"):
            use()


def test_iterators_of_a_span_go_their_own_ways_and_a_closed_one_ends_all(log: Any) -> None:
    values = [object() for _ in range(1000)]
    log.extend(enumerate(values))
    log.flush()
    counts = [sys.getrefcount(value) for value in values]
    (span,) = log.views()
    begun = {steps: iter(span.objects()) for steps in (0, 1, 7, 8, 9, 300, 999)}
    for steps, entries in begun.items():
        assert list(itertools.islice(entries, steps)) == values[:steps]
    again = iter(span.objects())
    assert list(again) == values and next(again, None) is None
    span.close()
    for entries in begun.values():
        with pytest.raises(ValueError, match="PageSpan is closed"):
            next(entries)
    del begun, entries, again, span
    assert [sys.getrefcount(value) for value in values] == counts


def test_a_span_is_closed_while_it_is_gone_through(log: Any) -> None:
    log.extend(enumerate(range(1000, 2000)))
    log.flush()
    (span,) = log.views()
    given = []
    with pytest.raises(ValueError, match="PageSpan is closed"):
        for value in span.objects():
            given.append(value)
            if value == 1500:
                span.close()
    assert given == list(range(1000, 1501))


def test_threads_that_share_an_iterator_get_each_object_once(log: Any) -> None:
    log.extend(enumerate(range(20_000)))
    log.flush()
    entries = itertools.chain.from_iterable(span.objects() for span in log.views())
    (first, *others) = [iter(span.objects()) for span in log.views()]
    taken: list[list[int]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=one.extend, args=(first,)) for one in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken.extend(list(other) for other in others)
    assert sorted(itertools.chain(*taken)) == sorted(entries) == list(range(20_000))


@pytest.mark.ours("has it in its stub and not in its class")
def test_a_view_of_objects_tells_whether_it_is_closed(ten: Any) -> None:
    (span,) = ten.views()
    objects = span.objects()
    assert not objects.closed
    span.close()
    assert objects.closed


def test_a_page_has_the_size_asked_for(make: Make) -> None:
    log = make(target_page_bytes=256)
    log.extend(range(100), range(100))
    log.flush()
    assert all(len(span) <= 16 for span in log.views())
    assert rows(log.views()) == [(n, n) for n in range(100)]
    assert log.stats()["storage"]["pages_total"] >= 7


def test_a_default_page_has_some_four_thousand_rows(log: Any) -> None:
    log.extend(range(20_000), range(20_000))
    log.flush()
    sizes = [len(span) for span in log.views()]
    assert sum(sizes) == 20_000
    assert max(sizes) <= 4_096
    assert len(sizes) <= 20


def test_pages_of_one_flush_follow_each_other(log: Any) -> None:
    log.extend(range(20_000), range(20_000))
    log.flush()
    times = [time for span in log.views() for time in span.copy_timestamps()]
    assert times == list(range(20_000))


def test_a_bounded_view_never_shows_the_greatest_timestamp(log: Any) -> None:
    log.extend([(LEAST, "first"), (0, "middle"), (GREATEST, "last")])
    log.flush()
    expected = [(LEAST, "first"), (0, "middle")]
    assert rows(log.views(LEAST, GREATEST)) == rows(log.page_spans(LEAST, GREATEST)) == expected


def test_the_least_timestamp_has_its_place_in_a_view(log: Any) -> None:
    log.append(LEAST, "first")
    log.flush()
    assert rows(log.views()) == [(LEAST, "first")]


@pytest.mark.ours("has physical views only")
def test_a_logical_view_is_of_what_is_visible(ten: Any) -> None:
    assert rows(ten.views(kind="logical")) == LETTERS
    ten.delete(2, 5)
    ten.append(3, "late")
    ten.append(20, "recent")
    expected = list(ten)
    assert expected == [*LETTERS[:2], (3, "late"), *LETTERS[5:], (20, "recent")]
    views = ten.views(kind="logical")
    part = ten.views(3, 8, kind="logical")
    raw = ten.page_spans(3, 8, kind="logical")
    ten.delete(LEAST, GREATEST)
    found = [
        (time, value)
        for span in views
        for time, value in zip(span.timestamps, span.objects(), strict=True)
    ]
    assert found == expected  # in order, as no span overlaps another
    assert rows(part) == rows(raw) == [(3, "late"), *LETTERS[5:8]]
    assert list(ten.views(kind="logical")) == []


@pytest.mark.ours("has physical views only")
def test_a_logical_view_needs_no_flush(make: Make) -> None:
    log = make(target_page_bytes=256)
    log.extend(range(99, -1, -1), range(100))
    spans = list(log.views(kind="logical"))
    assert [time for span in spans for time in span.timestamps] == list(range(100))
    assert all(len(span) <= 16 for span in spans)
    assert all(span.timestamps.readonly for span in spans)
