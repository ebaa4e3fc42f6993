"""Curves as pictures. Today in terminals: braille canvas, axes, ticks, numbers as people read them, colours."""
