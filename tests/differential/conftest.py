"""TensorBoard as an oracle, without TensorFlow."""

from __future__ import annotations

import sys
import types

import tensorboard.compat

# TensorBoard's own switch: if TensorFlow is installed too, it would be imported for nothing.
_NOTF = "tensorboard.compat.notf"
tensorboard.compat.notf = sys.modules.setdefault(_NOTF, types.ModuleType(_NOTF))
