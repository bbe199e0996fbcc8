"""What a lake offers, in a folder or on a server.

| module | subject |
|---|---|
| any_lake | the type of both |
| references, objects | the types of its parts |
| object_file | an object that is open for reading |
| repository_handle | a repository by its name |
| reference_handle, branch_handle | a reference or a branch by its name |
| paging | all items of a listing |
| transaction | changes that are merged whole or not at all |
| object_writer | a file that is uploaded when it is closed |
| snapshots | the objects of one commit, looked up and listed on this machine |
"""
