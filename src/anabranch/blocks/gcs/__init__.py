"""Block store on Google Cloud Storage."""
