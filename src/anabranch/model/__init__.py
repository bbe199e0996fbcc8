"""What Anabranch talks about: frozen structures that know no store."""
