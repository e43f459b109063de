"""The tables on the server and all SQL for them: implements the reader of search and the writer of sync."""
