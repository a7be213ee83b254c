"""Hours of a mixed load on all five models of one store, and a verdict on what it showed.

What is looked for is what grows, what stalls and what is answered wrongly; how fast the store is is measured elsewhere,
so the load is well under what two processors can do.
"""
