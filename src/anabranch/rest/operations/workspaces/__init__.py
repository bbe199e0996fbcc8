"""Operations on workspaces."""
