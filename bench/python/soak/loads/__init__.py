"""What is done to each model, and what must come of it: each load knows what its model has to answer."""
