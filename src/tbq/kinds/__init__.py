"""What is not a scalar: tensors, histograms, images, … as tables and values, and the summary of each run."""
