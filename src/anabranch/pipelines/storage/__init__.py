"""How much storage a repository's branches take, what they share, how that grew, and what garbage
collection found.
"""
