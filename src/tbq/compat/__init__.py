"""TensorBoard's, TensorFlow's and tbparse's classes on tbq's engine: change one import, or none."""

from __future__ import annotations
