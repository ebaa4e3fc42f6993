"""Everything but scalars: tensors, histograms, images, … as tables and values, and the summary of each run."""
