"""The framework of all commands: declaration, parsing, context, help."""
