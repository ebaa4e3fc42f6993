"""Everything but scalars: tensors, histograms, images, … as tables and values."""
