"""Automated machine learning: not here yet."""

from ferry.not_yet import missing_module

raise missing_module("Automated machine learning (azureml.train.automl)")
