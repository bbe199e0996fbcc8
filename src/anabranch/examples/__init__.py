"""Examples of Anabranch's features; each can also be run as a program."""
