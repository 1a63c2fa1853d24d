"""Data out of Stepstore and into it: NetCDF, HDF5, Zarr, BP and NumPy files. docs/moving.md.

table.py says what all formats have in common: variables with named dimensions, and attributes. A format is a
class that writes a table piece by piece, and one that reads it. outward.py and inward.py drive them.
"""
