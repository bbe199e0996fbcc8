"""Merges of trees, and the commits that are made by them: merges, reverts, cherry-picks, rebases.

`merge`, `revert` and `rebase` make the commits; `tree_merge` merges three trees for all of them,
settling conflicts by `rules` and `settlement`; `conflicts` lists them. `patches` compares what
commits change.
"""
