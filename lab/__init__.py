"""The lab: random seeds on and on over all models, with totals: `make lab HOURS=n`."""
