"""TensorBoard's and tbparse's classes on this engine: change one import line, and nothing else."""
