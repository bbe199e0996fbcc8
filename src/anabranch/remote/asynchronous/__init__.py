"""A lake on a server for asyncio, whose requests are sent by threads of its own."""
