"""The three coupled games of arXiv 2606.17081, each in a file of its own.

``routing`` (and its limit of many small requests, ``nonatomic``) is a library; ``split`` is behind
``dynamo-regime plan`` and ``cache`` behind ``dynamo-regime cache-game``. See docs/games.md.
"""
