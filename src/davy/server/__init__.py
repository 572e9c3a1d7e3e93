"""The server put together: the app, its processes, and the commands that start them."""
