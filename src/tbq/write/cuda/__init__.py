"""CUDA kernels of our own, compiled at run time. Everything here has a slower way without it, in `tbq.write`."""
