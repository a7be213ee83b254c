"""The 43 queries of ClickBench, numbered from 0, in words that both sides know.

Many of them leave open which rows are given: `LIMIT` cuts among rows that are equal in what they are ordered by. So each
says which columns of its answer are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

FOR_COUNTER = "CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31'"
NO_REFRESH = f"{FOR_COUNTER} AND IsRefresh = 0"
HOST = r"REGEXP_REPLACE(Referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1')"
WIDTHS = ", ".join(["SUM(ResolutionWidth)", *(f"SUM(ResolutionWidth + {more})" for more in range(1, 90))])


@dataclass(frozen=True)
class Hits:
    """A query, and the places of the columns that have to be the same: all, or none but how many rows there are."""

    text: str
    places: tuple[int, ...] | None = None


def counted(columns: str, where: str = "", rest: str = "", *, count: str = "COUNT(*)") -> Hits:
    """The ten groups with the greatest counts; of equal ones any may be given, so only counts are compared."""
    place = columns.count(",") + 1
    condition = f"WHERE {where} " if where else ""
    text = (
        f"SELECT {columns}, {count} AS c{rest} FROM hits {condition}"
        f"GROUP BY {columns} ORDER BY c DESC LIMIT 10"
    )
    return Hits(text, (place,))


def views(columns: str, where: str, offset: int) -> Hits:
    """The same from some place on, within the pages of one counter."""
    found = counted(columns, where)
    return Hits(f"{found.text} OFFSET {offset}", found.places) if offset else found


USERS = "COUNT(DISTINCT UserID)"
SUMS = ", SUM(IsRefresh), AVG(ResolutionWidth)"
SEARCHED = "SearchPhrase <> ''"

QUERIES: tuple[Hits, ...] = (
    Hits("SELECT COUNT(*) FROM hits"),
    Hits("SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0"),
    Hits("SELECT SUM(AdvEngineID), COUNT(*), AVG(ResolutionWidth) FROM hits"),
    Hits("SELECT AVG(UserID) FROM hits"),
    Hits("SELECT COUNT(DISTINCT UserID) FROM hits"),
    Hits("SELECT COUNT(DISTINCT SearchPhrase) FROM hits"),
    Hits("SELECT MIN(EventDate), MAX(EventDate) FROM hits"),
    Hits(
        "SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 "
        "GROUP BY AdvEngineID ORDER BY COUNT(*) DESC"
    ),
    counted("RegionID", count=USERS),
    Hits(
        f"SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(ResolutionWidth), {USERS} "
        "FROM hits GROUP BY RegionID ORDER BY c DESC LIMIT 10",
        (2,),
    ),
    counted("MobilePhoneModel", "MobilePhoneModel <> ''", count=USERS),
    counted("MobilePhone, MobilePhoneModel", "MobilePhoneModel <> ''", count=USERS),
    counted("SearchPhrase", SEARCHED),
    counted("SearchPhrase", SEARCHED, count=USERS),
    counted("SearchEngineID, SearchPhrase", SEARCHED),
    counted("UserID"),
    counted("UserID, SearchPhrase"),
    Hits("SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase LIMIT 10", ()),
    Hits(
        "SELECT UserID, extract(minute FROM EventTime) AS m, SearchPhrase, COUNT(*) FROM hits "
        "GROUP BY UserID, m, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10",
        (3,),
    ),
    Hits("SELECT UserID FROM hits WHERE UserID = 435090932899640449"),
    Hits("SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%'"),
    Hits(
        "SELECT SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits "
        f"WHERE URL LIKE '%google%' AND {SEARCHED} GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10",
        (2,),
    ),
    Hits(
        f"SELECT SearchPhrase, MIN(URL), MIN(Title), COUNT(*) AS c, {USERS} FROM hits "
        f"WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND {SEARCHED} "
        "GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10",
        (3,),
    ),
    Hits("SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10"),
    Hits(f"SELECT SearchPhrase FROM hits WHERE {SEARCHED} ORDER BY EventTime LIMIT 10"),
    Hits(f"SELECT SearchPhrase FROM hits WHERE {SEARCHED} ORDER BY SearchPhrase LIMIT 10"),
    Hits(f"SELECT SearchPhrase FROM hits WHERE {SEARCHED} ORDER BY EventTime, SearchPhrase LIMIT 10"),
    Hits(
        "SELECT CounterID, AVG(length(URL)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' "
        "GROUP BY CounterID HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25"
    ),
    Hits(
        f"SELECT {HOST} AS k, AVG(length(Referer)) AS l, COUNT(*) AS c, MIN(Referer) FROM hits "
        "WHERE Referer <> '' GROUP BY k HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25"
    ),
    Hits(f"SELECT {WIDTHS} FROM hits"),
    counted("SearchEngineID, ClientIP", SEARCHED, SUMS),
    counted("WatchID, ClientIP", SEARCHED, SUMS),
    counted("WatchID, ClientIP", "", SUMS),
    counted("URL"),
    Hits("SELECT 1, URL, COUNT(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC LIMIT 10", (2,)),
    counted("ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3"),
    views("URL", f"{NO_REFRESH} AND DontCountHits = 0 AND URL <> ''", 0),
    views("Title", f"{NO_REFRESH} AND DontCountHits = 0 AND Title <> ''", 0),
    views("URL", f"{NO_REFRESH} AND IsLink <> 0 AND IsDownload = 0", 1000),
    Hits(
        "SELECT TraficSourceID, SearchEngineID, AdvEngineID, "
        "CASE WHEN (SearchEngineID = 0 AND AdvEngineID = 0) THEN Referer ELSE '' END AS Src, URL AS Dst, "
        f"COUNT(*) AS PageViews FROM hits WHERE {NO_REFRESH} "
        "GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst "
        "ORDER BY PageViews DESC LIMIT 10 OFFSET 1000",
        (5,),
    ),
    views(
        "URLHash, EventDate",
        f"{NO_REFRESH} AND TraficSourceID IN (-1, 6) AND RefererHash = 3594120000172545465",
        100,
    ),
    views(
        "WindowClientWidth, WindowClientHeight",
        f"{NO_REFRESH} AND DontCountHits = 0 AND URLHash = 2868770270353813622",
        10_000,
    ),
    Hits(
        "SELECT DATE_TRUNC('minute', EventTime) AS M, COUNT(*) AS PageViews FROM hits "
        "WHERE CounterID = 62 AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' "
        "AND IsRefresh = 0 AND DontCountHits = 0 GROUP BY DATE_TRUNC('minute', EventTime) "
        "ORDER BY DATE_TRUNC('minute', EventTime) LIMIT 10 OFFSET 1000"
    ),
)  # fmt: skip
