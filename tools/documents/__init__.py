"""The documents: their pages, the code in them, what of them is made, and the site."""
