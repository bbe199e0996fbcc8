"""The client of the REST interface: connections, retries, errors from responses, and paging.

| module | subject |
|---|---|
| rest_client | requests below `/api/v1`, with retries |
| listing_pages | listings, fetched page by page |
| error_responses | errors from the responses of a server |
| retry_policy | how often a request is sent again, and when |
| settings | the server's address and the credentials, from their sources |
| authorization | the header of basic authentication or of a token |
| transport | HTTP/1.1, connections and proxies |

The command line, the Spark jobs and `anabranch.connect` use it. It imports the standard library's
client only, because a larger one takes longer to import than most commands take to run.
"""
