"""What `anabranch doctor` looks at: one small check for each thing that can be wrong."""
