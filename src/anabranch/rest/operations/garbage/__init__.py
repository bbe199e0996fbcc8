"""Operations of garbage collection."""
