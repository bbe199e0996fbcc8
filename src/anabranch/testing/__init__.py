"""What tests of Anabranch, and of what is built on it, need."""
