"""`timestrata.Timelog` beside `timelog-lib`, in the same run: `make bench SUITE=timelog`.

`README.md` in the folder above says what is measured and how. `groups` lists the measures,
one module a group; `race` lets both sides do the same in turns; `report` writes it down.
"""
