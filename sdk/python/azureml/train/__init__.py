"""Training: estimators, which are deprecated, and the names of later parts."""
