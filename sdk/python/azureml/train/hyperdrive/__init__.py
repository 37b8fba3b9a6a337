"""Hyperparameter sweeps: not here yet."""

from ferry.not_yet import missing_module

raise missing_module("Hyperparameter tuning with HyperDrive (azureml.train.hyperdrive)", "Submit one run per set of parameters with ScriptRunConfig.")
