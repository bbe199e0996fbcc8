"""A lake on a server: the operations of its parts as requests, and what sends them.

| module | subject |
|---|---|
| lake | `connect`, and the lake that it returns |
| asynchronous | the same for asyncio: its lake, parts, objects and threads |
| parts | the parts of a lake, whose methods wait for the response |
| snapshots | the objects of one commit: its tables, cached, and reads of many objects |
| remote_object | an object that is read by ranges |
| calls | each operation once: its request, and how the response becomes a result |
| call | requests with the way from a response to a result |
| lake_client | the REST client, whose errors are those of a lake in a folder |
| wire | the JSON of requests and responses |
"""
