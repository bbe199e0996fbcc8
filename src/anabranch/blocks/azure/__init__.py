"""Block store on Azure Blob Storage."""
