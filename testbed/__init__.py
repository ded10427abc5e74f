"""Dynamo with simulated workers on this machine, and load for it: for demos, tests, benches."""
