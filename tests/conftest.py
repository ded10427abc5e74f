"""Settings of all tests."""

from hypothesis import settings

# Derandomised, so that the gate says the same of the same code; no deadline, so that a busy machine
# changes nothing.
settings.register_profile("gate", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("gate")
