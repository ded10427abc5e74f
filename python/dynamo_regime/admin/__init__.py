"""The admin API: look at a running router's policies and decisions, and swap its policies.

``server`` serves it inside the router's process, ``client`` calls it. Importing this package loads
neither, so that each side pays only for its own libraries. Reference: ``docs/admin-api.md``.
"""
