"""From a trace and a cluster to a profile: search, profile, and proof on requests not seen."""
