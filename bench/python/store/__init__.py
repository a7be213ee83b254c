"""All models of one store together, beside the same without what holds them together: `make bench SUITE=store`."""
