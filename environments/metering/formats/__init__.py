"""The wire formats that programs speak: requests and answers read, streams put together."""
