"""The Azure ML SDK v1 names, served by Ferry."""
