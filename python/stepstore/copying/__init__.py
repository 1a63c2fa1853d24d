"""Copies between any two locations: pools, containers, streams of steps, datasets of fields, objects.

docs/moving.md says what can be copied; docs/design/copy.md says why it is done object by object.
"""
