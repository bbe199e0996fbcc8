"""The commands of `local`: a folder that is kept in step with a path of a branch."""
