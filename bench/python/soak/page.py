"""The page of a soak: the verdict, what was done, how it is judged, and its pictures."""

from __future__ import annotations

from collections.abc import Iterator

from bench.python.common.report import readable
from bench.python.soak.pictures import titles
from bench.python.soak.results import SLOW_MEDIANS, WHY, Line, Results
from bench.python.soak.trend import SHARE_MAX, WINDOWS
from bench.python.soak.verdict import (
    LEFT_OUT_MAX,
    STEADY_SECONDS_MIN,
    TREE_BYTES_MAX,
    failed,
    verdict,
)

HEAD = """# A soak: hours of all five models

`make soak HOURS=n` puts a mixed load on all five models of one store, in one process, with retention, and looks for
what grows, what stalls and what is answered wrongly. How fast the store is is said on other pages: the rates here are
well under what the machine can do. `make soak` writes this page; nothing in it is typed.
"""
NONE = "No run yet: `make soak HOURS=2`.\n"
DONE = """## What is done

| load | what |
| --- | --- |
| timelog | values of a time that runs faster than the clock: one by one, in batches, late, some synced; ranges are deleted, and what is old is cut off. Read by range, by time, by length and from the end |
| table | metrics with tags and late rows, with retention by age; another with an upsert key, whose rows are replaced and deleted. Read by SQL, scans, counts, by key, and the newest a host |
| logs | entries one by one and in batches, late by their source's clock, some synced, with retention by age. Searched by word and by level, counted, followed by a tail |
| topic | single records and batches in two partitions, some synced, some with rows of two tables in the same commit, some said again; with retention by records. Read by offset and by range, with proofs that a partition begins with what it was |
| consumers | two members of a group, which read each record once, in order, and commit, half the time with a row of a table. They leave and come back, so that partitions change hands |
| graph | blocks put again and deleted, edges linked and taken away, several in one commit, some synced. Read by id, by neighbours in both directions, by walks of three edges |
| sql | queries over several models at one instant |
| store | in turns: a reader beside the writer, a check, a backup that is opened, a pin |

Each load is a thread that draws its steps by the seed and knows what its model has to answer: counts and sums of ranges,
what was just written, the order of offsets and of entries, edges and what can be reached along them. Of what retention
may have taken only the younger part is asked. At the end all of it is compared, and again after the store was closed and
opened. An answer that differs, or any error, ends the run as failed; so does an operation that is not over after two
minutes, and what the store itself reports as trouble.
"""
JUDGED = f"""## How it is judged

The first part of a run is its warm-up (grey in the pictures), until retention has let go of data about as old as it
keeps; nothing in it counts but the answers. What follows is the steady part. One of less than {STEADY_SECONDS_MIN:.0f} s is too short
to tell of growth.

- **Growth.** Each sample is the median of looks a second apart. The slope is that of Theil and Sen, over medians of {WINDOWS}
  windows of the steady part, with Sen's 95 % interval. A figure grows if the whole interval is above 0 *and* what
  the slope comes to over the steady part is more than the figure wavers: from the 10th to the 90th percentile of what is
  left of the windows without the slope, or {SHARE_MAX:.0%} of the median, or a small number (1 MiB, 2 files or threads, 4 files of the store)
  if that is more. So a leak of less than that in a whole run isn't seen; the table says how much that is.
- **Memory.** What is *in use* is what the program holds, by the word of the allocator, where it gives one. The rest of the
  anonymous memory is Python's own, or free: the allocator keeps it in a share for each thread, more of it the longer threads come and go.
- **Disk.** Bytes are blocks that files take. A topic keeps the hashes of records that have gone, so that proofs of them
  stay valid; these do grow, are left out of what may not, and may take {TREE_BYTES_MAX:.0f} B a record sent.
- **Stalls.** An operation is *slow* if it takes over {SLOW_MEDIANS} times the median of its kind over the steady part, or over {SLOW_MEDIANS}
  times the median of the disk's floor or the scheduler's, if that is more: what has to wait for one sync of somebody else's, or for a processor, can't be
  told from this by less. Four floors are measured all along. The *disk's* is a write of 512 bytes and fdatasync in
  a file of the same file system, about every 15 ms. The *scheduler's* is how late a thread of the same process wakes that sleeps
  for 1 ms, which includes waiting for Python's interpreter. The *processor's* is for how long that thread of the process, the store's own
  included, which waited longest had work and no processor, as the kernel counts it, every 50 ms. The *host's* is the same of virtual
  processors, which have work and are not run by the machine below (steal), by ticks of the kernel. If probes waited for at least half of the time that a slow
  operation took, within that time, it is counted under the floor that waited longer; else under none, and that fails. Of a
  kind the 200 longest are counted. A disk that
  stalls because the store itself writes much at once is not told from one that stalls by itself.
- **Pace.** At most {LEFT_OUT_MAX:.0%} of any load's steps were left out because it came too late for them.
"""


def text(results: Results | None) -> str:
    """The whole page."""
    if results is None:
        return f"{HEAD}\n{NONE}\n{DONE}\n{JUDGED}"
    parts = [
        HEAD,
        "\n".join(_run(results)),
        "\n".join(_verdict(results)),
        "\n".join(_pictures()),
        DONE,
        JUDGED,
    ]
    parts += ["\n".join(_kinds(results)), "\n".join(_floors(results))]
    if len(results.run["streams"]) == 2:
        parts.append("\n".join(_streams(*results.run["streams"])))
    if results.slow:
        parts.append("\n".join(_slow(results)))
    return "\n".join(parts)


def _run(results: Results) -> Iterator[str]:
    run, settings = results.run, results.run["settings"]
    hours = run["seconds"] / 3600
    used = run["processor_seconds"] / run["seconds"] if run["seconds"] else 0.0
    yield f"{run['date']}, commit `{run['commit']}`, {run['machine']}.\n"
    yield (
        f"{hours:.2f} hours with seed {settings['seed']}, of which the first {settings['warm_up'] / 60:.1f} minutes are warm-up; "
        f"data is kept for {settings['kept_seconds']:.0f} s. The process used {used:.2f} processors, its own reckoning included. To "
        f"repeat it: `make soak HOURS={settings['seconds'] / 3600:g} SEED={settings['seed']}`. The seed draws the steps; when they are "
        "taken follows the clock.\n"
    )
    sizes = ", ".join(f"`{name}` {value}" for name, value in run["store"].items())
    yield f"The store has small sizes, so that what happens once an hour in others happens every few seconds: {sizes}.\n"


def _verdict(results: Results) -> Iterator[str]:
    criteria = verdict(results)
    word = "failed" if failed(criteria) else "passed"
    skipped = sum(criterion.passed is None for criterion in criteria)
    more = f", {skipped} of its criteria not judged in a run this short" if skipped else ""
    yield f"## The verdict: {word}{more}\n"
    yield "| criterion | verdict | figure | limit |"
    yield "| --- | --- | --- | --- |"
    for each in criteria:
        yield f"| {each.name} | {each.word} | {_cell(each.figure)} | {_cell(each.limit)} |"
    last = results.samples[-1] if results.samples else {}
    yield (
        f"\nIn that time the store flushed {last.get('flushes', 0):,} times and compacted {last.get('compactions', 0):,} "
        f"times, {readable(last.get('flush_bytes', 0))}B and {readable(last.get('compaction_bytes', 0))}B.\n"
    )


def _cell(value: str) -> str:
    return value.replace("|", "\\|").replace("\n", " ")


def _pictures() -> Iterator[str]:
    yield "## Over time\n"
    yield from (f"![{title}]({name}.svg)\n" for name, title in titles())


def _kinds(results: Results) -> Iterator[str]:
    yield "## By kind of operation\n"
    yield (
        f"Latencies of the steady part; to how much an operation is slow; how many were, by what stalled beside them; and how many "
        f"took over {SLOW_MEDIANS} times the median of their own kind alone, slow or not.\n"
    )
    yield "| kind | operations | p50 | p99 | longest | slow from | disk | scheduler | processor | host | none | over own |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for line in results.kinds:
        count, *taken = line["steady"]
        cells = " | ".join(_us(value) for value in taken)
        why = " | ".join(str(line["slow"].get(name, 0)) for name in WHY)
        yield f"| {line['name']} | {count:,} | {cells} | {line['limit_ms']:g} ms | {why} | {line['over_own']} |"
    yield ""


def _floors(results: Results) -> Iterator[str]:
    yield "| floor | probes | p50 | p99 | longest |"
    yield "| --- | --- | --- | --- | --- |"
    for name, line in results.run["floors"].items():
        count, *taken = line["steady"]
        yield f"| {name} | {count:,} | {' | '.join(_us(value) for value in taken)} |"
    yield ""


def _streams(first: dict[str, list[int]], last: dict[str, list[int]]) -> Iterator[str]:
    """What each stream had in runs when the steady part began, and at the end: which of them grew."""
    yield "## By stream\n"
    yield "What each stream had on disk when the steady part began, and at the end.\n"
    yield "| stream | runs | at the end | rows | at the end | bytes | at the end |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, ends in sorted(last.items()):
        begun = first.get(name, [0, 0, 0])
        cells = " | ".join(f"{a:,} | {b:,}" for a, b in zip(begun, ends, strict=True))
        yield f"| {name} | {cells} |"
    yield ""


def _slow(results: Results, most: int = 30) -> Iterator[str]:
    lines: list[Line] = sorted(results.slow, key=lambda line: bool(line["why"] != "neither"))[:most]
    yield "## Slow operations\n"
    yield (
        f"The {len(lines)} longest, first those beside which no floor stalled; for how much of its time each floor's probes waited too; and "
        "what the store told of its work meanwhile.\n"
    )
    yield "| kind | after | took | disk waited | scheduler waited | processor waited for | host waited | counted under | the store's work |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for line in lines:
        yield (
            f"| {line['kind']} | {line['at']:,.1f} s | {line['ms']:,.1f} ms | {line['disk_ms']:,.1f} ms | "
            f"{line['scheduler_ms']:,.1f} ms | {line['processor_ms']:,.1f} ms | {line.get('host_ms', 0):,.1f} ms | {line['why']} | {', '.join(line['events']) or '-'} |"
        )
    yield ""


def _us(value: float) -> str:
    return f"{readable(value / 1e3)} ms" if value >= 1e3 else f"{readable(value)} us"
