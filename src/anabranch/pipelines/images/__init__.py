"""Images: the inputs that a Lakefile declares, as an immutable tag, without copied objects."""
