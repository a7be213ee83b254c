"""Random expressions, as trees, so that they can be made smaller.

Where the two dialects write the same thing differently, a form has both: `[[ours|||theirs]]`. What means different
things in both is not drawn; the reasons stand where it would be.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

PAIR = re.compile(r"\[\[((?:(?!\[\[|\]\]).)*)\|\|\|((?:(?!\[\[|\]\]).)*)\]\]", re.DOTALL)
# Names of types, as casts have them in both.
SQL_TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "dec": "DECIMAL(18, 3)",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "time": "TIMESTAMPTZ",
    "naive": "TIMESTAMP",
    "date": "DATE",
}
TYPES = tuple(SQL_TYPES)
TEXTS = ("", "a", "b", "ab", "Zürich", "żółć", "日本", "naïve", "a'b", "A", "%", "_x", "🦀 crab", " pad ", "0", "-17")
INTS = (0, 1, 2, 3, -1, -4, 7, 10, 100)
WIDE_INTS = (9223372036854775807, -9223372036854775807, 4611686018427387904, 9007199254740993)
FLOATS = ("0.0", "0.5", "-1.5", "2.0", "12.25", "1e308", "-1e308", "5e-324")
DECIMALS = ("17.519", "0.001", "-0.001", "0.000", "12.500", "-999.999", "123456789012345.678")
# Exactly a column's value, between two of them, or outside of all.
LOOSE_DECIMALS = ("17.519", "17.5190", "17.5195", "-0.0005", "12.5", "1000000000000000000.5", "3")
TIMES = (
    "2024-01-01 00:00:00",
    "2024-01-01 12:30:00",
    "2024-01-02 03:04:05.678",
    "2024-02-29 23:59:59.999999",
    "1969-12-31 23:59:59.5",
    "1999-12-31 00:00:00",
)
FAR_TIMES = ("1600-01-01 00:00:00", "9999-12-31 00:00:00", "2300-06-01 12:00:00")
DAYS = ("2024-01-01", "2024-01-02", "2024-02-29", "1969-12-31", "1600-03-01", "9999-12-31")
WIDTHS = ("1 minute", "15 minutes", "1 hour", "7 hours", "1 day", "2 days", "1 week", "1 month", "3 months", "1 year")
PARTS = ("minute", "hour", "day", "week", "month", "quarter", "year")
# Zeros with a minus are kept within an expression here, but not by functions; to divide by them tells.
QUOTIENT = "({} / ({} + 0.0))"
FIELDS = ("year", "month", "day", "hour", "minute", "dow", "doy", "week", "quarter")


@dataclass(frozen=True)
class Expr:
    """A form with a place for each part."""

    type: str
    form: str
    parts: tuple[Expr, ...] = ()

    def text(self) -> str:
        return self.form.format(*(part.text() for part in self.parts))

    def smaller(self) -> Iterator[Expr]:
        """The same with less in it, the least first."""
        if self.parts:
            yield Expr(self.type, f"CAST(NULL AS {SQL_TYPES[self.type]})")
        for part in self.parts:
            if part.type == self.type:
                yield part
        for place, part in enumerate(self.parts):
            for less in part.smaller():
                yield Expr(self.type, self.form, (*self.parts[:place], less, *self.parts[place + 1 :]))


def ours(text: str) -> str:
    return _side(text, 1)


def theirs(text: str) -> str:
    return _side(text, 2)


def _side(text: str, side: int) -> str:
    while True:
        text, count = PAIR.subn(lambda found: found[side], text)
        if not count:
            return text


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Draw:
    """Draws expressions over columns; `subquery` gives a query of one column of a type, `unique` is a column
    that tells all rows apart."""

    def __init__(
        self,
        rng: random.Random,
        columns: list[Expr],
        subquery: Callable[[str, bool], Expr | None] = lambda of_type, is_scalar: None,
        unique: str = "",
    ) -> None:
        self.rng = rng
        self.columns = columns
        self.subquery = subquery
        self.unique = unique
        # Whether what is drawn stands in WHERE: nowhere else can there be `IN (SELECT ...)`, here.
        self.is_condition = False

    def column(self, of_type: str) -> Expr | None:
        found = [column for column in self.columns if column.type == of_type]
        return self.rng.choice(found) if found else None

    def of(self, of_type: str, depth: int) -> Expr:
        if depth <= 0 or self.rng.random() < 0.25:
            column = self.column(of_type)
            return column if column and self.rng.random() < 0.8 else self.literal(of_type)
        if self.rng.random() < 0.15:
            return self.any_type(of_type, depth - 1)
        drawn: Expr = getattr(self, f"_{of_type}")(depth - 1)
        return drawn

    def any_type(self, of_type: str, depth: int) -> Expr:
        """What there is for all types."""
        here = lambda: self.of(of_type, depth)  # noqa: E731
        truth = lambda: self.of("bool", depth)  # noqa: E731
        kind = self.rng.randrange(7)
        if kind == 0:
            return Expr(of_type, "CASE WHEN {} THEN {} ELSE {} END", (truth(), here(), here()))
        if kind == 1:
            return Expr(of_type, "CASE WHEN {} THEN {} WHEN {} THEN {} END", (truth(), here(), truth(), here()))
        if kind == 2:
            return Expr(of_type, "CASE {} WHEN {} THEN {} ELSE {} END", (here(), here(), here(), here()))
        if kind == 3:
            return Expr(of_type, "coalesce({}, {})", (here(), here()))
        if kind == 4:
            return Expr(of_type, "nullif({}, {})", (here(), here()))
        if kind == 5 and of_type not in ("bool",):
            form = self.rng.choice(("greatest({}, {})", "least({}, {})"))
            return Expr(of_type, form, (here(), here()))
        return self.subquery(of_type, True) or here()

    def literal(self, of_type: str) -> Expr:
        choose = self.rng.choice
        if self.rng.random() < 0.06:
            return Expr(of_type, f"CAST(NULL AS {SQL_TYPES[of_type]})")
        if of_type == "int":
            number = choose(WIDE_INTS) if self.rng.random() < 0.05 else choose(INTS)
            return Expr(of_type, f"({number})" if number < 0 else str(number))
        if of_type == "float":
            special = choose(("'NaN'", "'Infinity'", "'-Infinity'"))
            return Expr(of_type, f"CAST({special if self.rng.random() < 0.2 else choose(FLOATS)} AS DOUBLE)")
        if of_type == "dec":
            return Expr(of_type, f"CAST('{choose(DECIMALS)}' AS DECIMAL(18, 3))")
        if of_type == "text":
            return Expr(of_type, quoted(choose(TEXTS)))
        if of_type == "bool":
            return Expr(of_type, choose(("TRUE", "FALSE")))
        if of_type == "date":
            return Expr(of_type, f"DATE '{choose(DAYS)}'")
        time = choose(FAR_TIMES) if self.rng.random() < 0.08 else choose(TIMES)
        if of_type == "naive":
            return Expr(of_type, f"TIMESTAMP '{time}'")
        return Expr(of_type, f"TIMESTAMPTZ '{time}+00:00'")

    # By type

    def _int(self, depth: int) -> Expr:
        kind = self.rng.randrange(9)
        if kind < 3:
            sign = self.rng.choice("+-*")
            return Expr("int", f"({{}} {sign} {{}})", (self.of("int", depth), self.of("int", depth)))
        if kind == 3:
            # By zero it is an error here, and null there.
            return Expr("int", f"({{}} % {self.rng.choice((2, 3, 7))})", (self.of("int", depth),))
        if kind == 4:
            return Expr("int", self.rng.choice(("abs({})", "(- {})")), (self.of("int", depth),))
        if kind == 5:
            return Expr("int", "CAST({} AS INTEGER)", (self.of("bool", depth),))
        if kind == 6:
            return Expr("int", "length({})", (self.of("text", depth),))
        if kind == 7:
            of_type = self.rng.choice(("naive", "date"))
            field = self.rng.choice(FIELDS if of_type == "naive" else ("year", "month", "day", "dow"))
            return Expr("int", f"CAST(extract({field} FROM {{}}) AS BIGINT)", (self.of(of_type, depth),))
        return Expr("int", "strpos({}, {})", (self.of("text", depth), self.literal("text")))

    def _float(self, depth: int) -> Expr:
        kind = self.rng.randrange(8)
        here = lambda: self.of("float", depth)  # noqa: E731
        if kind < 3:
            sign = self.rng.choice("+-*/")
            return Expr("float", QUOTIENT if sign == "/" else f"({{}} {sign} {{}})", (here(), here()))
        if kind == 3:
            return Expr("float", "CAST({} AS DOUBLE)", (self.of(self.rng.choice(("int", "dec")), depth),))
        if kind == 4:
            return Expr("float", self.rng.choice(("abs({})", "(- {})", "sqrt(abs({}))")), (here(),))
        if kind == 5:
            return Expr("float", self.rng.choice(("floor({})", "ceil({})", "round({})")), (here(),))
        # A quotient of whole numbers is whole here, and a float there.
        whole = Expr("float", "CAST({} AS DOUBLE)", (self.of("int", depth),))
        return Expr("float", QUOTIENT, (whole, here()))

    def _dec(self, depth: int) -> Expr:
        # Products and quotients of decimals have other precisions here and there.
        kind = self.rng.randrange(3)
        here = lambda: self.of("dec", min(depth, 1))  # noqa: E731
        if kind == 0:
            # A sum has room for a digit more, and one more in each around it.
            sum_of = Expr("dec", f"({{}} {self.rng.choice('+-')} {{}})", (here(), here()))
            return Expr("dec", "CAST({} AS DECIMAL(24, 3))", (sum_of,))
        if kind == 1:
            return Expr("dec", self.rng.choice(("abs({})", "(- {})")), (here(),))
        return Expr("dec", "CAST({} AS DECIMAL(24, 3))", (self.column("int") or self.literal("int"),))

    def _text(self, depth: int) -> Expr:
        kind = self.rng.randrange(8)
        here = lambda: self.of("text", depth)  # noqa: E731
        small = lambda: str(self.rng.randrange(1, 5))  # noqa: E731
        if kind < 2:
            return Expr("text", "({} || {})", (here(), here()))
        if kind == 2:
            # Without letters that have no single one of the other case.
            return Expr("text", self.rng.choice(("upper({})", "lower({})")), (here(),))
        if kind == 3:
            return Expr("text", f"substr({{}}, {small()}, {small()})", (here(),))
        if kind == 4:
            return Expr("text", self.rng.choice(("trim({})", "ltrim({})", "rtrim({})")), (here(),))
        if kind == 5:
            return Expr("text", "replace({}, 'a', {})", (here(), self.literal("text")))
        if kind == 6:
            # Floats and times are written in other forms here and there.
            return Expr("text", "CAST({} AS VARCHAR)", (self.of(self.rng.choice(("int", "bool", "date")), depth),))
        return Expr("text", self.rng.choice((f"left({{}}, {small()})", "concat({}, '-')")), (here(),))

    def _time(self, depth: int) -> Expr:
        # In a column's own zone, `date_trunc` means days there here, and days of the session's zone there.
        column = self.column("time") or self.literal("time")
        utc = Expr("time", "{}", (column,)) if "wt" not in column.text() else self.literal("time")
        if column.text().startswith("q."):
            # Whatever zone the subquery gave it.
            utc = Expr("time", "[[({0} AT TIME ZONE 'UTC')|||{0}]]", (column,))
        kind = self.rng.randrange(4)
        if kind == 0:
            return Expr("time", f"date_trunc('{self.rng.choice(PARTS)}', {{}})", (utc,))
        if kind == 1:
            return self.bucket("time", column)
        if kind == 2:
            # Here it shows the same instant in another zone; there it would give the clock of that zone.
            return Expr("time", "[[({0} AT TIME ZONE 'Europe/Berlin')|||{0}]]", (self.of("time", depth),))
        return Expr("time", f"({{}} {self.rng.choice('+-')} INTERVAL '{self.step()}')", (utc,))

    def bucket(self, of_type: str, time: Expr) -> Expr:
        width = self.rng.choice(WIDTHS)
        if self.rng.random() < 0.4:
            # Not finer than the unit of any column here, or it is refused; for months the first of one, for
            # DuckDB takes any other for that.
            firsts = (TIMES[0], FAR_TIMES[0])
            is_of_months = "month" in width or "year" in width
            origin = self.rng.choice(firsts if is_of_months else (*firsts, TIMES[1], TIMES[5]))
            kind = "[[TIMESTAMP|||TIMESTAMPTZ]]" if of_type == "time" else "TIMESTAMP"
            return Expr(of_type, f"time_bucket(INTERVAL '{width}', {{}}, {kind} '{origin}')", (time,))
        return Expr(of_type, f"time_bucket(INTERVAL '{width}', {{}})", (time,))

    def step(self) -> str:
        return self.rng.choice(("1 day", "2 hours", "90 minutes", "1 month", "13 months", "1 second"))

    def _naive(self, depth: int) -> Expr:
        column = self.column("naive") or self.literal("naive")
        kind = self.rng.randrange(4)
        if kind == 0:
            return Expr("naive", f"date_trunc('{self.rng.choice(PARTS)}', {{}})", (column,))
        if kind == 1:
            return self.bucket("naive", column)
        if kind == 2:
            return Expr("naive", "CAST({} AS TIMESTAMP)", (self.of("date", depth),))
        return Expr("naive", f"({{}} {self.rng.choice('+-')} INTERVAL '{self.step()}')", (column,))

    def _date(self, depth: int) -> Expr:
        column = self.column("naive")
        if column and self.rng.random() < 0.5:
            return Expr("date", "CAST({} AS DATE)", (column,))
        return self.any_type("date", depth)

    def _bool(self, depth: int) -> Expr:
        kind = self.rng.randrange(12)
        truth = lambda: self.of("bool", depth)  # noqa: E731
        if kind < 3:
            return Expr("bool", f"({{}} {self.rng.choice(('AND', 'OR'))} {{}})", (truth(), truth()))
        if kind == 3:
            return Expr("bool", "(NOT {})", (truth(),))
        if kind == 4:
            test = self.rng.choice(("NULL", "NOT NULL"))
            return Expr("bool", f"({{}} IS {test})", (self.of(self.rng.choice(TYPES), depth),))
        if kind == 5:
            test = self.rng.choice(("TRUE", "FALSE", "NOT TRUE", "NOT FALSE"))
            return Expr("bool", f"({{}} IS {test})", (truth(),))
        if kind == 6:
            pattern = self.rng.choice(("'%a%'", "'_'", "'Z_rich'", "'%'", "'日%'", "'__'", "'%\\_%' ESCAPE '\\'"))
            word = self.rng.choice(("LIKE", "NOT LIKE", "ILIKE"))
            return Expr("bool", f"({{}} {word} {pattern})", (self.of("text", depth),))
        if kind == 7:
            return Expr("bool", self.rng.choice(("starts_with({}, {})", "contains({}, {})")), self._two_texts(depth))
        if kind == 8 and self.is_condition:
            found = self.subquery(self.rng.choice(TYPES), False)
            if found:
                asked = self.of(found.type, depth)
                return Expr("bool", f"({{}} {self.rng.choice(('IN', 'NOT IN'))} ({{}}))", (asked, found))
        if kind == 9:
            return Expr("bool", "isnan({})", (self.of("float", depth),))
        return self.comparison(depth)

    def _two_texts(self, depth: int) -> tuple[Expr, Expr]:
        return self.of("text", depth), self.literal("text")

    def comparison(self, depth: int) -> Expr:
        of_type = self.rng.choice(TYPES)
        left = self.of(of_type, depth)
        right = lambda: self.against(of_type, depth)  # noqa: E731
        kind = self.rng.randrange(6)
        if kind < 3:
            sign = self.rng.choice(("=", "<>", "<", "<=", ">", ">="))
            parts = (left, right()) if self.rng.random() < 0.8 else (right(), left)
            return Expr("bool", f"({{}} {sign} {{}})", parts)
        if kind == 3:
            return Expr("bool", f"({{}} {self.rng.choice(('', 'NOT '))}BETWEEN {{}} AND {{}})", (left, right(), right()))
        if kind == 4:
            word = self.rng.choice(("IS DISTINCT FROM", "IS NOT DISTINCT FROM"))
            return Expr("bool", f"({{}} {word} {{}})", (left, right()))
        values = [right() for _ in range(self.rng.randrange(1, 5))]
        if self.rng.random() < 0.15:
            values.append(Expr(of_type, "NULL"))
        places = ", ".join("{}" for _ in values)
        return Expr("bool", f"({{}} {self.rng.choice(('', 'NOT '))}IN ({places}))", (left, *values))

    def against(self, of_type: str, depth: int) -> Expr:
        """What a value of a type is compared with: mostly of that type, or what a person would write."""
        if self.rng.random() < 0.5:
            return self.of(of_type, depth)
        choose = self.rng.choice
        if of_type == "dec":
            return Expr("dec", choose(LOOSE_DECIMALS))
        if of_type == "float":
            return Expr("float", choose(("0.5", "1", "0", "-1.5", "12.25")))
        if of_type in ("time", "naive"):
            time = choose(TIMES + FAR_TIMES)
            if of_type == "time":
                forms = ("'{}'", "'{}+00:00'", "[[TIMESTAMP|||TIMESTAMPTZ]] '{}'", "'{}+05:30'")
                return Expr("time", choose(forms).format(time))
            return Expr("naive", choose(("'{}'", "TIMESTAMP '{}'")).format(time))
        if of_type == "date":
            return Expr("date", quoted(choose(DAYS)))
        return self.literal(of_type)
