"""The types of hooks: what one hook does with one event.

`contract` says what a hook is given, `registry` makes hooks from the properties of action files.
"""
