"""An installation: its keys, its files and the settings that its servers share."""
