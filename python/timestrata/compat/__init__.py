"""Timestrata under the names of other libraries, for programs that were written for those.

`timestrata.compat.timelog` stands in for the module ``timelog`` (PyPI ``timelog-lib``).
"""
