"""Curves as pictures: figures in files, and braille canvases in terminals, with axes, ticks and colours."""
