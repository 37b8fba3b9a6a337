"""Choices that dataset factories take."""

from __future__ import annotations

from enum import Enum

__all__ = ["FileHandlingOption", "HistogramCompareMethod", "LabeledDatasetTask", "PromoteHeadersBehavior"]


class PromoteHeadersBehavior(Enum):
    """Which files of a dataset have a first line of column names."""

    NO_HEADERS = 0
    ONLY_FIRST_FILE_HAS_HEADERS = 1
    COMBINE_ALL_FILES_HEADERS = 2
    ALL_FILES_HAVE_SAME_HEADERS = 3


class LabeledDatasetTask(Enum):
    """What a labeled dataset is for."""

    IMAGE_CLASSIFICATION = "ImageClassification"
    IMAGE_MULTI_LABEL_CLASSIFICATION = "ImageMultiLabelClassification"
    OBJECT_DETECTION = "ObjectDetection"
    IMAGE_INSTANCE_SEGMENTATION = "ImageInstanceSegmentation"
    TEXT_CLASSIFICATION_MULTI_CLASS = "TextClassificationMultiClass"
    TEXT_CLASSIFICATION_MULTI_LABEL = "TextClassificationMultiLabel"
    TEXT_NER = "TextNamedEntityRecognition"
    OTHER = "Other"


class FileHandlingOption(Enum):
    """How the files of a labeled dataset reach a data frame."""

    STREAM = "stream"
    DOWNLOAD = "download"
    MOUNT = "mount"


class HistogramCompareMethod(Enum):
    """How two histograms are compared."""

    WASSERSTEIN = "WASSERSTEIN"
    ENERGY = "ENERGY"
