"""Whether anything has become slower since a kept baseline: `make bench-check`, before each release.

`measures` has what is measured, each in turns with a floor or a peer; `judge` tells a regression from noise; `baseline` is
what is kept of a run to hold later ones against. Only ratios are compared.
"""
