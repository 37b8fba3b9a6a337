"""The estimator of scikit-learn. It is deprecated; it is a ScriptRunConfig."""

from __future__ import annotations

from azureml.train.dnn import _Framework

__all__ = ["SKLearn"]


class SKLearn(_Framework):
    """A script of scikit-learn's, on one node. Further arguments are those of :class:`azureml.train.estimator.Estimator`."""

    _packages = ("scikit-learn", "scipy", "joblib")
    FRAMEWORK_NAME = "SKLearn"
