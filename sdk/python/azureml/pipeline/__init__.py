"""Pipelines: not here yet."""

from ferry.not_yet import missing_module

raise missing_module("Pipelines (azureml.pipeline)", "Submit each step with ScriptRunConfig.")
