"""Studies: many simulations side by side, in a folder that can be resumed, and what they show."""
