"""Images: the inputs that a Lakefile declares become an immutable tag, without being copied."""
