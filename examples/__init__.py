"""What one can do with dynamo-regime, to run and to read."""
