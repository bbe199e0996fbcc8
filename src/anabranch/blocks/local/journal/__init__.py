"""Write-ahead journal of small objects in the local block store."""
