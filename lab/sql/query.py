"""Random queries: clauses of random expressions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lab.sql.expression import TYPES, Draw, Expr
from lab.sql.world import World

DEPTH = 3
LIMITS = (1, 3, 10, 50)
# Small answers of joins, whatever they join.
JOINED_ROWS_MAX = 200


@dataclass(frozen=True)
class Query:
    """The clauses of one statement; an empty one is left out."""

    select: tuple[Expr, ...]
    source: str
    where: tuple[Expr, ...] = ()
    group: tuple[int, ...] = ()
    having: tuple[Expr, ...] = ()
    distinct: bool = False
    # One direction for each column of the answer, all of them, so that only equal rows may change places.
    order: tuple[str, ...] = ()
    # What else comes before those: columns of the source.
    first: tuple[Expr, ...] = ()
    limit: str = ""
    # UNION and its like, and what stands behind it.
    others: tuple[tuple[str, Query], ...] = ()
    # Of the columns that must stay as they are: others refer to them.
    is_fixed: bool = field(default=False)

    @property
    def is_ordered(self) -> bool:
        return bool(self.order or self.first)

    def text(self) -> str:
        columns = ", ".join(f"{expr.text()} AS c{place}" for place, expr in enumerate(self.select))
        parts = [f"SELECT {'DISTINCT ' if self.distinct else ''}{columns} FROM {self.source}"]
        for word, conditions in (("WHERE", self.where), ("HAVING", self.having)):
            if word == "HAVING" and self.group:
                parts.append("GROUP BY " + ", ".join(str(place + 1) for place in self.group))
            if conditions:
                parts.append(f"{word} " + " AND ".join(condition.text() for condition in conditions))
        parts += [f"{word} {other.text()}" for word, other in self.others]
        order = [expr.text() for expr in self.first] + [f"{n + 1} {how}" for n, how in enumerate(self.order)]
        if order:
            parts.append("ORDER BY " + ", ".join(order))
        parts.append(self.limit)
        return " ".join(part for part in parts if part)

    def smaller(self) -> Iterator[Query]:
        """The same with less in it."""
        for name in ("others", "having", "where"):
            clause = getattr(self, name)
            for place in range(len(clause)):
                yield replace(self, **{name: clause[:place] + clause[place + 1 :]})
        if self.limit:
            yield replace(self, limit="")
        elif self.is_ordered:
            yield replace(self, order=(), first=())
        if self.distinct:
            yield replace(self, distinct=False)
        if not self.is_fixed and not self.others and len(self.select) > 1:
            for place in range(len(self.select)):
                yield self._without(place)
        for name in ("where", "having", "select"):
            clause = getattr(self, name)
            for place, expr in enumerate(clause):
                for less in expr.smaller():
                    yield replace(self, **{name: (*clause[:place], less, *clause[place + 1 :])})

    def _without(self, place: int) -> Query:
        group = tuple(at - (at > place) for at in self.group if at != place)
        order = self.order[:place] + self.order[place + 1 :]
        select = self.select[:place] + self.select[place + 1 :]
        return replace(self, select=select, group=group, order=order)


class Queries:
    """Draws queries over the tables of a world."""

    def __init__(self, rng: random.Random, of: World) -> None:
        self.rng, self.world = rng, of
        self.depth = rng.choice((1, 2, 2, DEPTH))
        self.subqueries_left = 2

    def draw(self) -> Query:
        shapes = (self.rows, self.rows, self.groups, self.groups, self.total, self.distinct, self.windows, self.united)
        return self.rng.choice(shapes)()

    # What they are of

    def source(self) -> tuple[str, list[Expr], str]:
        """The text, its columns, and the name of one that tells rows apart, if there is such."""
        kind = self.rng.random()
        if kind < 0.6:
            table = self.rng.choice(("t", "t", "u", "flights"))
            return table, self.world.columns(table), "" if table == "u" else "id"
        if kind < 0.8:
            return (*self._join(), "")
        return (*self._derived(), "")

    def _join(self) -> tuple[str, list[Expr]]:
        left, right = self.world.columns("t", "a."), self.world.columns("u", "b.")
        word = self.rng.choice(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        key = self.rng.choice(("k", "i", "s", "x", "d", "big", "dt", "b"))
        conditions = [f"a.{key} = b.{key}"]
        if key in ("k", "s", "b") or self.rng.random() < 0.3:
            conditions.append("a.i = b.i")
        # Of outer joins DuckDB takes comparisons beside the equalities only.
        if word == "JOIN" and self.rng.random() < 0.5:
            draw = Draw(self.rng, left + right)
            conditions.append(draw.comparison(1).text())
        elif self.rng.random() < 0.4:
            conditions.append(self.rng.choice(("a.id < b.id", "a.time > b.time", "a.f >= b.f")))
        self.rng.shuffle(conditions)
        return f"t a {word} u b ON {' AND '.join(conditions)}", left + right

    def _derived(self) -> tuple[str, list[Expr]]:
        inner = self.rows(is_inner=True) if self.rng.random() < 0.5 else self.groups(is_inner=True)
        columns = [Expr(expr.type, f"q.c{place}") for place, expr in enumerate(inner.select)]
        return f"({inner.text()}) AS q", columns

    def _draw(self, columns: list[Expr], unique: str = "") -> Draw:
        return Draw(self.rng, columns, self._subquery, unique)

    def _subquery(self, of_type: str, is_scalar: bool) -> Expr | None:
        if not self.subqueries_left or self.rng.random() < 0.5:
            return None
        self.subqueries_left -= 1
        columns = self.world.columns("u")
        draw = Draw(self.rng, columns)
        where = f" WHERE {draw.of('bool', 1).text()}" if self.rng.random() < 0.7 else ""
        if not is_scalar:
            return Expr(of_type, f"SELECT {draw.of(of_type, 1).text()} FROM u{where}")
        found = self.aggregate(Draw(self.rng, columns), of_type)
        return Expr(of_type, f"(SELECT {found.text()} FROM u{where})") if found.type == of_type else None

    # Shapes

    def _where(self, draw: Draw) -> tuple[Expr, ...]:
        draw.is_condition = True
        conditions = [draw.of("bool", self.depth) for _ in range(self.rng.choice((0, 1, 1, 2)))]
        draw.is_condition = False
        if self.rng.random() < 0.25 and (time := draw.column("time")):
            conditions.append(Expr("bool", f"({{}} {self.rng.choice(('>=', '<'))} {{}})", (
                time, draw.against("time", 0),
            )))
        return tuple(conditions)

    def _columns(self, draw: Draw, count: int, depth: int) -> tuple[Expr, ...]:
        return tuple(draw.of(self.rng.choice(TYPES), depth) for _ in range(count))

    def _ordered(self, query: Query, chance: float) -> Query:
        if self.rng.random() > chance:
            return query
        # Nulls come first here and last there where nothing is said.
        directions = tuple(
            f"{self.rng.choice(('ASC', 'DESC'))} NULLS {self.rng.choice(('FIRST', 'LAST'))}" for _ in query.select
        )
        limit = f"LIMIT {self.rng.choice(LIMITS)}" if self.rng.random() < 0.6 else ""
        if limit and self.rng.random() < 0.2:
            limit += f" OFFSET {self.rng.choice((1, 5))}"
        return replace(query, order=directions, limit=limit)

    def rows(self, is_inner: bool = False) -> Query:
        source, columns, unique = self._table() if is_inner else self.source()
        draw = self._draw(columns, unique)
        select = self._columns(draw, self.rng.randrange(1, 5), self.depth)
        query = Query(select, source, self._where(draw))
        if is_inner:
            return query
        if unique and self.rng.random() < 0.25:
            direction = self.rng.choice(("ASC", "DESC"))
            first = (Expr("time", f"{columns[0].text()} {direction}"), Expr("int", f"{unique} {direction}"))
            return replace(query, first=first, limit=f"LIMIT {self.rng.choice(LIMITS)}")
        if " JOIN " in source:
            return replace(self._ordered(query, 1.0), limit=f"LIMIT {JOINED_ROWS_MAX}")
        return self._ordered(query, 0.5)

    def _table(self) -> tuple[str, list[Expr], str]:
        table = self.rng.choice(("t", "u"))
        return table, self.world.columns(table), "id" if table == "t" else ""

    def distinct(self) -> Query:
        source, columns, _ = self.source()
        draw = self._draw(columns)
        query = Query(self._columns(draw, self.rng.randrange(1, 3), 1), source, self._where(draw), distinct=True)
        return self._ordered(query, 0.6)

    def groups(self, is_inner: bool = False) -> Query:
        source, columns, unique = self._table() if is_inner else self.source()
        draw = self._draw(columns, unique)
        keys = self._columns(draw, self.rng.choice((1, 1, 2)), self.rng.choice((0, 0, 1, 2)))
        aggregates = tuple(self.aggregate(draw) for _ in range(self.rng.randrange(1, 4)))
        having = ()
        if self.rng.random() < 0.25:
            counted = Expr("int", f"count(*) {self.rng.choice(('>', '<='))} {self.rng.randrange(1, 20)}")
            having = (counted,)
        query = Query((*keys, *aggregates), source, self._where(draw), tuple(range(len(keys))), having)
        return query if is_inner else self._ordered(query, 0.4)

    def total(self) -> Query:
        source, columns, unique = self.source()
        draw = self._draw(columns, unique)
        return Query(tuple(self.aggregate(draw) for _ in range(self.rng.randrange(1, 5))), source, self._where(draw))

    def windows(self) -> Query:
        table = self.rng.choice(("t", "t", "flights"))
        draw = self._draw(self.world.columns(table))
        over = tuple(self._window(draw) for _ in range(self.rng.randrange(1, 3)))
        return self._ordered(Query((Expr("int", "id"), *over), table, self._where(draw)), 0.4)

    def united(self) -> Query:
        types = tuple(self.rng.choice(TYPES) for _ in range(self.rng.randrange(1, 3)))

        def side() -> Query:
            table, columns, _ = self._table()
            draw = self._draw(columns)
            return Query(tuple(draw.of(of_type, 1) for of_type in types), table, self._where(draw), is_fixed=True)

        # Of INTERSECT ALL and EXCEPT ALL there is no notion of how many here.
        word = self.rng.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT"))
        return self._ordered(replace(side(), others=((word, side()),)), 0.4)

    # Aggregates

    def aggregate(self, draw: Draw, of_type: str = "") -> Expr:
        found = self._aggregate(draw, of_type or self.rng.choice(TYPES))
        if self.rng.random() < 0.25:
            condition = Draw(self.rng, draw.columns).of("bool", 1)
            return Expr(found.type, f"{found.form.replace('{}', '{0}')} FILTER (WHERE {{1}})", (
                *(found.parts or (Expr("int", "0"),)), condition,
            ))
        return found

    def _aggregate(self, draw: Draw, of_type: str) -> Expr:
        plain = Draw(self.rng, draw.columns)
        inner = lambda: plain.of(of_type, self.rng.choice((0, 0, 1)))  # noqa: E731
        kind = self.rng.randrange(6)
        if kind < 2:
            return Expr(of_type, self.rng.choice(("min({})", "max({})")), (inner(),)) if of_type != "bool" else Expr(
                "bool", self.rng.choice(("bool_and({})", "bool_or({})")), (inner(),)
            )
        if kind == 2:
            return Expr("int", self.rng.choice(("count({})", "count(DISTINCT {})")), (inner(),))
        if kind == 3:
            return Expr("int", "count(*)")
        if kind == 4:
            return self._sum(plain)
        return self._by_time(draw, inner())

    def _by_time(self, draw: Draw, value: Expr) -> Expr:
        """The earliest value, or the latest. Of several rows at one time any may be taken, so it is by the id."""
        if not draw.unique:
            return Expr("int", "count(*)")
        end = self.rng.choice(("first", "last"))
        way = "ASC" if end == "first" else "DESC"
        form = f"[[{end}_value({{0}} ORDER BY {draw.unique})|||first({{0}} ORDER BY {draw.unique} {way})]]"
        return Expr(value.type, form, (value,))

    def _sum(self, plain: Draw) -> Expr:
        kind = self.rng.randrange(5)
        if kind == 0 and (column := plain.column("dec")):
            return Expr("dec", self.rng.choice(("sum({})", "sum(DISTINCT {})")), (column,))
        if kind == 1 and (column := plain.column("int")):
            # Of those without room there is an error here, and a number of 128 bits there.
            return Expr("int", self.rng.choice(("sum({})", "sum(DISTINCT {})")), (column,))
        exact = [c for c in plain.columns if c.text().rpartition(".")[2] in ("f", "i", "k", "distance", "dep_delay")]
        if exact:
            form = self.rng.choice(("avg({})", "sum(CAST({} AS DOUBLE))", "stddev_samp({})", "var_pop({})", "median({})"))
            return Expr("float", form, (self.rng.choice(exact),))
        return Expr("int", "count(*)")

    # Windows

    def _window(self, draw: Draw) -> Expr:
        plain = Draw(self.rng, draw.columns)
        partition = ""
        if self.rng.random() < 0.6:
            partition = f"PARTITION BY {plain.of(self.rng.choice(TYPES), 0).text()} "
        key = plain.of(self.rng.choice(("int", "float", "time", "text", "dec")), 0).text()
        direction = f"{self.rng.choice(('ASC', 'DESC'))} NULLS {self.rng.choice(('FIRST', 'LAST'))}"
        total = f"ORDER BY {key} {direction}, id"
        of_type = self.rng.choice(TYPES)
        value = plain.of(of_type, 0)
        kind = self.rng.randrange(5)
        if kind == 0:
            return Expr("int", f"row_number() OVER ({partition}{total})")
        if kind == 1:
            word = self.rng.choice(("rank()", "dense_rank()", "ntile(3)"))
            order = total if "ntile" in word else f"ORDER BY {key} {direction}"
            return Expr("int", f"{word} OVER ({partition}{order})")
        if kind == 2:
            word = self.rng.choice(("lag", "lead"))
            return Expr(of_type, f"{word}({{}}, {self.rng.choice((1, 2))}) OVER ({partition}{total})", (value,))
        frame = self.rng.choice((
            "", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 1 PRECEDING AND 3 FOLLOWING",
            "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING",
        ))
        if kind == 3:
            word = self.rng.choice(("first_value", "last_value"))
            return Expr(of_type, f"{word}({{}}) OVER ({partition}{total} {frame})", (value,))
        return Expr("float", f"{self._windowed(draw)} OVER ({partition}{total} {frame})")

    def _windowed(self, draw: Draw) -> str:
        column = self.rng.choice([c for c in draw.columns if c.text() in ("f", "i", "k", "distance", "dep_delay")])
        other = self.rng.choice(draw.columns)
        return self.rng.choice((
            f"sum({column.text()})", f"avg({column.text()})", "count(*)", f"count({other.text()})",
            f"min({column.text()})", f"max({column.text()})",
        ))

