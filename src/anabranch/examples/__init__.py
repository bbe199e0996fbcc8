"""Stories that show what Anabranch does; each is a program of its own, too."""
