"""Key-value stores, which hold references and staging areas."""
